/* The screen of a capture's connections: order, selection, cursor, and what its keys ask for. */
#include <criterion/criterion.h>
#include <locale.h>
#include <string.h>

#include "grid.h"
#include "script.h"
#include "view.h"

static void begin(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
}

static struct tui_state *make(struct scene *scene)
{
    scene_make(script_named("packets"), scene);
    cr_assert(scene->state.packets.count == 3);
    return &scene->state;
}

Test(packets, they_are_sorted_by_size_or_by_the_time_held_back, .init = begin)
{
    struct scene scene;
    struct tui_state *state = make(&scene);
    size_t index[TUI_LIST_MAX];
    cr_assert(tui_list_packets(state, index) == 3 && index[0] == 0 && index[1] == 1);
    cr_expect(tui_state_key(state, ' ') == TUI_DO_NOTHING && state->packets.by_held);
    cr_assert(tui_list_packets(state, index) == 3);
    cr_expect(index[0] == 1 && index[1] == 0 && index[2] == 2);
    cr_expect(tui_packets_row(state)->number == 2, "the first of the new order is selected");
    (void)tui_state_key(state, ' ');
    cr_expect(tui_packets_row(state)->number == 1);
    scene_finish(&scene);
}

Test(packets, a_filter_finds_addresses_and_causes_and_goes_with_escape, .init = begin)
{
    struct scene scene;
    struct tui_state *state = make(&scene);
    const char *keys = "/db8\n";
    size_t index[TUI_LIST_MAX];
    for (; *keys; keys++)
        (void)tui_state_key(state, *keys);
    cr_assert(tui_list_packets(state, index) == 1 && index[0] == 1);
    (void)tui_state_key(state, TUI_KEY_ESCAPE);
    cr_expect(tui_list_packets(state, index) == 3 && state->screen == TUI_PACKETS);
    (void)tui_state_key(state, TUI_KEY_ESCAPE);
    cr_expect(state->screen == TUI_PACKETS && state->message[0], "it is the first screen");
    scene_finish(&scene);
}

Test(packets, enter_opens_plots_then_asks_for_the_verdict_and_e_hands_it_on, .init = begin)
{
    struct scene scene;
    struct tui_state *state = make(&scene);
    (void)tui_state_key(state, 'j');
    cr_expect(tui_state_key(state, 'e') == TUI_DO_JUDGE && state->packets.export);
    cr_expect(tui_state_key(state, TUI_KEY_ENTER) == TUI_DO_NOTHING);
    cr_assert(state->page.kind == TUI_PAGE_PACKETS && state->packets.open.number == 2);
    cr_expect(tui_state_key(state, TUI_KEY_ENTER) == TUI_DO_JUDGE && !state->packets.export);
    for (int plot = TUI_PLOT_SEQUENCE; plot <= TUI_PLOTS; plot++) {
        (void)tui_state_key(state, 'g');
        cr_expect_eq((int)state->packets.plot, plot % TUI_PLOTS);
    }
    scene_finish(&scene);
}

/* The cursor stays within the connection and the picture stays one. */
Test(packets, the_cursor_and_the_zoom_end_at_the_ends, .init = begin)
{
    struct scene scene;
    struct tui_state *state = make(&scene);
    int count = (int)state->packets.series->count;
    (void)tui_state_key(state, TUI_KEY_ENTER);
    (void)tui_state_key(state, TUI_KEY_RIGHT);
    cr_expect(state->page.cursor > count / 2, "it begins in the middle");
    for (int i = 0; i < 100; i++)
        (void)tui_state_key(state, '>');
    cr_expect_eq(state->page.cursor, count - 1);
    for (int i = 0; i < 100; i++)
        (void)tui_state_key(state, TUI_KEY_UP);
    cr_expect(count >> state->packets.zoom >= 16 && state->packets.zoom > 2);
    for (int i = 0; i < 1000; i++)
        (void)tui_state_key(state, TUI_KEY_LEFT);
    cr_expect_eq(state->page.cursor, 0);
    for (int i = 0; i < 100; i++)
        (void)tui_state_key(state, TUI_KEY_DOWN);
    cr_expect_eq(state->packets.zoom, 0);
    scene_finish(&scene);
}

/* Without what plots need the page says so and does not fall over; nor does a tiny terminal. */
Test(packets, every_size_and_a_connection_without_plots_can_be_drawn, .init = begin)
{
    struct scene scene;
    struct tui_state *state = make(&scene);
    for (int page = 0; page < 2; page++) {
        for (int rows = 1; rows < 50; rows += 3) {
            for (int cols = 1; cols < 200; cols += 13) {
                struct tui_grid grid;
                cr_assert_eq(tui_grid_init(&grid, rows, cols, true), TL_OK);
                for (int plot = 0; plot < TUI_PLOTS; plot++) {
                    state->packets.plot = (enum tui_packets_plot)plot;
                    tui_view(state, &grid);
                }
                tui_grid_finish(&grid);
            }
        }
        state->packets.series = NULL;
        (void)tui_state_key(state, TUI_KEY_ENTER);
        cr_expect(state->page.kind == TUI_PAGE_PACKETS);
    }
    (void)tui_state_key(state, TUI_KEY_RIGHT);
    (void)tui_state_key(state, TUI_KEY_UP);
    cr_expect(state->page.cursor < 0 && state->packets.zoom == 0);
    scene_finish(&scene);
}
