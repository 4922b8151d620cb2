/* The start screen: whom, what hurts, what is wanted, and what finding out would cost. */
#include <stdio.h>
#include <string.h>

#include "tightlink/base/units.h"
#include "tightlink/base/utf8.h"
#include "view.h"
#include "zones.h"

/* Below so many columns the same is said in fewer words. */
#define NARROW 76

/* A text field: "[ text_____ ]"; of a long text its end. */
static void draw_field(struct tui_grid *grid, int row, int col, int columns, const char *text,
                       bool focus)
{
    int inner = columns - 4;
    while ((int)tl_utf8_width(text) > inner - 1 && *text) {
        size_t len = tl_utf8_decode(text, strlen(text), NULL);
        text += len ? len : 1;
    }
    (void)tui_put(grid, row, col, 2, TUI_PLAIN, "[ ");
    int used = tui_put(grid, row, col + 2, inner, focus ? TUI_BOLD : TUI_PLAIN, text);
    for (int i = used; i < inner; i++)
        (void)tui_put(grid, row, col + 2 + i, 1, TUI_DIM, "_");
    (void)tui_put(grid, row, col + columns - 2, 2, TUI_PLAIN, " ]");
    if (focus)
        tui_ink_cells(grid, row, col + 2, inner, TUI_FOCUS);
}

static void draw_label(const struct tui_start *start, struct tui_grid *grid, int row,
                       enum tui_field field, const char *label)
{
    bool focus = start->field == field;
    (void)tui_put(grid, row, 0, 2, TUI_BOLD, focus ? "> " : "  ");
    (void)tui_put(grid, row, 2, 14, focus ? TUI_BOLD : TUI_PLAIN, label);
    tui_zone_add(grid, row, 0, grid->cols, TUI_ZONE_FIELD, (int)field);
}

static void draw_direction(const struct tui_start *start, struct tui_grid *grid, int row)
{
    static const char *const names[] = {"Download is slow", "Upload is slow", "Both / not sure"};
    static const char *const brief[] = {"Download", "Upload", "Both"};
    int at = start->download && start->upload ? 2 : start->upload ? 1 : 0, col = 17;
    for (int i = 0; i < 3; i++) {
        enum tui_ink ink = i != at                         ? TUI_PLAIN
                           : start->field == TUI_DIRECTION ? TUI_FOCUS
                                                           : TUI_BOLD;
        col += tui_putf(grid, row, col, grid->cols - col, ink, "(%c) %s", i == at ? 'x' : ' ',
                        grid->cols < NARROW ? brief[i] : names[i]);
        col += 2;
    }
}

static bool is_on(const struct tui_start *start, size_t index)
{
    const struct tl_session_stage *stage = &start->preview.stages[index];
    uint32_t bit = UINT32_C(1) << index;
    if (stage->choice == TL_STAGE_TRIAL)
        return start->verify;
    if (start->skip & bit)
        return false;
    return start->force & bit || stage->choice == TL_STAGE_PLANNED;
}

/* Where the columns of the plan are. */
struct columns {
    int name, time, bytes, when, needs, needs_width,
        what; /* time and bytes end there; what 0: no */
};

static struct columns lay_out(int cols)
{
    if (cols < NARROW)
        return (struct columns){18, 25, 33, 35, 50, cols - 51, 0};
    if (cols < 100)
        return (struct columns){19, 27, 36, 38, 54, cols - 55, 0};
    return (struct columns){19, 27, 36, 38, 54, 21, 76};
}

static void draw_stage(const struct tui_start *start, struct tui_grid *grid, int row, size_t index)
{
    const struct tl_session_stage *stage = &start->preview.stages[index];
    char time[TL_UNIT_TEXT_SIZE], bytes[TL_UNIT_TEXT_SIZE];
    bool focus = start->field == TUI_STAGES && start->stage == index;
    tl_format_ns((double)stage->time_ns, time);
    tl_format_traffic((double)stage->bytes, bytes);
    tui_zone_add(grid, row, 0, grid->cols, TUI_ZONE_STAGE, (int)index);
    (void)tui_putf(grid, row, 0, 6, TUI_PLAIN, "%c [%c] ", focus ? '>' : ' ',
                   is_on(start, index) ? 'x' : ' ');
    struct columns at = lay_out(grid->cols);
    (void)tui_put(grid, row, 6, at.name - 6, TUI_PLAIN, stage->id);
    tui_put_right(grid, row, at.name, at.time - at.name, TUI_PLAIN, time);
    tui_put_right(grid, row, at.time, at.bytes - at.time, TUI_PLAIN, stage->bytes ? bytes : "-");
    (void)tui_put(grid, row, at.when, at.needs - at.when - 1, TUI_PLAIN, stage->when);
    (void)tui_put_short(grid, row, at.needs, at.needs_width, TUI_PLAIN,
                        stage->needs[0] ? stage->needs : "-");
    if (at.what)
        (void)tui_put(grid, row, at.what, grid->cols - at.what - 1, TUI_DIM, stage->what);
    if (focus)
        tui_ink_cells(grid, row, 0, grid->cols, TUI_FOCUS);
}

/* The list scrolls so that the selected stage stays on it. */
static void draw_plan(const struct tui_start *start, struct tui_grid *grid, int first, int last)
{
    char time[TL_UNIT_TEXT_SIZE], bytes[TL_UNIT_TEXT_SIZE];
    struct columns at = lay_out(grid->cols);
    (void)tui_put(grid, first, 2, at.name - 2, TUI_BOLD, "Plan");
    tui_put_right(grid, first, at.name, at.time - at.name, TUI_BOLD, "at most");
    tui_put_right(grid, first, at.time, at.bytes - at.time, TUI_BOLD, "sends");
    (void)tui_put(grid, first, at.when, at.needs - at.when, TUI_BOLD, "when");
    (void)tui_put(grid, first, at.needs, at.needs_width, TUI_BOLD, "needs");
    if (at.what)
        (void)tui_put(grid, first, at.what, grid->cols - at.what - 1, TUI_BOLD, "what this does");
    int rows = last - first - 2, top = 0, count = (int)start->preview.count;
    if (start->field == TUI_STAGES && (int)start->stage >= rows)
        top = (int)start->stage - rows + 1;
    for (int i = 0; i < rows && top + i < count; i++)
        draw_stage(start, grid, first + 1 + i, (size_t)top + (size_t)i);
    if (top + rows < count)
        tui_put_right(grid, first - 1, 0, grid->cols, TUI_DIM,
                      grid->utf8 ? " ↓ more " : " v more ");
    tl_format_ns((double)start->preview.time_ns, time);
    tl_format_traffic((double)start->preview.bytes, bytes);
    (void)tui_putf(grid, last - 1, 0, grid->cols, TUI_BOLD,
                   "  %s at most %s and %s%s; others may notice.",
                   grid->cols < NARROW ? "Loading" : "All loading together", time, bytes,
                   start->download && start->upload ? " each way" : "");
}

#define KEY_COLUMNS 24

/* "recent: srv-b, backup1 (^N)" and the key, on the row of the rule below the fields. */
static void draw_recent(const struct tui_start *start, struct tui_grid *grid, int row)
{
    bool has_key = start->key[0] || start->key_count;
    int col = 2, room = grid->cols - (has_key ? KEY_COLUMNS : 1);
    if (start->recent_count)
        col += tui_put(grid, row, col, grid->cols - col, TUI_DIM, "recent (^N): ");
    for (int i = 0; i < start->recent_count && room - col > 4; i++)
        col +=
            2 + tui_put_short(grid, row, col, room - col,
                              i + 1 == start->recent_at ? TUI_BOLD : TUI_PLAIN, start->recent[i]);
    if (has_key) {
        char text[80];
        snprintf(text, sizeof text, "key%s: %.50s ", start->key_count ? " (^K)" : "",
                 start->key[0] ? start->key : "none");
        tui_put_right(grid, row, grid->cols - KEY_COLUMNS, KEY_COLUMNS, TUI_PLAIN, text);
    }
}

static void draw_no_plan(const struct tui_start *start, struct tui_grid *grid, int first, int last)
{
    (void)tui_wrap(grid, first, 2, last - first, grid->cols - 4, TUI_PLAIN,
                   start->looking_up ? "Looking up the other end ..."
                   : start->target[0]
                       ? "Tab shows the plan: what would be measured, and the most it would cost. "
                         "Nothing is sent before you agree."
                       : "Type the name or address of the other end, where `tightlink serve "
                         "--open` runs. No responder there? Enter tells what can be seen "
                         "without one. Esc, then 5: the runs that were kept.");
}

void tui_view_start(struct tui_state *state, struct tui_grid *grid, int first, int last)
{
    const struct tui_start *start = &state->start;
    int width = grid->cols - 19;
    draw_label(start, grid, first, TUI_TARGET, "Other end");
    draw_field(grid, first, 17, width > 50 ? 50 : width, start->target, start->field == TUI_TARGET);
    draw_label(start, grid, first + 1, TUI_DIRECTION, "What hurts?");
    draw_direction(start, grid, first + 1);
    draw_label(start, grid, first + 2, TUI_GOAL, "Goal");
    draw_field(grid, first + 2, 17, 24, start->goal, start->field == TUI_GOAL);
    (void)tui_put(grid, first + 2, 42, grid->cols - 42, TUI_DIM,
                  grid->cols < NARROW ? "900M, or empty" : "900M, 11 MB/s; may be empty");
    draw_label(start, grid, first + 3, TUI_BUDGET, "Data budget");
    draw_field(grid, first + 3, 17, 24, start->budget, start->field == TUI_BUDGET);
    (void)tui_put(grid, first + 3, 42, grid->cols - 42, TUI_DIM,
                  grid->cols < NARROW ? "2GB, or empty" : "2GB; empty: as below");
    bool more = start->recent_count || start->key[0] || start->key_count;
    if (more)
        draw_recent(start, grid, first + 4);
    tui_rule(grid, first + 4 + more);
    if (start->has_preview)
        draw_plan(start, grid, first + 5 + more, last);
    else
        draw_no_plan(start, grid, first + 5 + more, last);
}
