/* What the screen of a capture's connections asks for: rows, one over time, its verdict. */
#include <stdio.h>
#include <stdlib.h>

#include "screen.h"
#include "tightlink/app/open.h"
#include "tightlink/base/time.h"

/* Keys are answered between two slices. */
#define SLICE_NS (20 * TL_NS_PER_MS)

struct unpacked {
    struct tl_app_pcap_row rows[TUI_LIST_MAX]; /* the largest */
    size_t count, judged;
    struct tl_app_pcap_series series;
    size_t series_of; /* the number of its connection; 0: of none */
};

static void describe(const struct tl_app_pcap *pcap, struct tui_packets *packets)
{
    const struct tl_app_pcap_file *file = tl_app_pcap_file(pcap);
    snprintf(packets->file, sizeof packets->file, "%s, %llu packets, %zu flow%s", file->info.format,
             (unsigned long long)file->info.packets_count, packets->total,
             packets->total == 1 ? "" : "s");
    snprintf(packets->broken, sizeof packets->broken, "%.255s", file->broken);
}

/* Plots of the connection that is looked at. */
static void take_series(struct screen *screen)
{
    struct unpacked *unpacked = screen->unpacked;
    const struct tl_app_pcap_row *row = tui_packets_row(&screen->state);
    struct tl_error error = {0};
    if (row && unpacked->series_of != row->number) {
        unpacked->series_of = row->number;
        if (tl_app_pcap_over_time(screen->request->pcap, row->number, &unpacked->series, &error) !=
            TL_OK)
            unpacked->series.count = 0;
    }
    screen->state.packets.series = row && unpacked->series.count ? &unpacked->series : NULL;
}

void screen_open_packets(struct screen *screen)
{
    struct tl_app_pcap *pcap = screen->request->pcap;
    struct tui_packets *packets = &screen->state.packets;
    struct tl_error error = {0};
    struct unpacked *unpacked = calloc(1, sizeof *unpacked);
    if (!unpacked) {
        tui_say(&screen->state, "out of memory: the capture is not shown");
        return;
    }
    packets->total = tl_app_pcap_count(pcap);
    for (size_t i = 0; i < TUI_LIST_MAX && i < packets->total; i++, unpacked->count++)
        if (tl_app_pcap_row(pcap, i + 1, &unpacked->rows[i], &error) != TL_OK)
            break;
    describe(pcap, packets);
    packets->rows = unpacked->rows;
    packets->count = unpacked->count;
    screen->unpacked = unpacked;
    screen->state.screen = TUI_PACKETS;
    take_series(screen);
}

int screen_packets_wait(const struct screen *screen)
{
    const struct unpacked *unpacked = screen->unpacked;
    return unpacked && unpacked->judged < unpacked->count ? 0 : -1;
}

void screen_step_packets(struct screen *screen)
{
    struct unpacked *unpacked = screen->unpacked;
    int64_t end_ns = tl_now_ns() + SLICE_NS;
    while (screen_packets_wait(screen) == 0 && tl_now_ns() < end_ns) {
        struct tl_error error = {0};
        size_t at = unpacked->judged++;
        if (tl_app_pcap_judge(screen->request->pcap, at + 1, &unpacked->rows[at], &error) != TL_OK)
            tui_say(&screen->state, error.text);
        if (screen->state.packets.open.number == at + 1)
            screen->state.packets.open = unpacked->rows[at];
        screen->dirty = true;
    }
    screen->state.packets.judged = unpacked ? unpacked->judged : 0;
}

static void judge(struct screen *screen)
{
    struct tl_session_result result = {0};
    struct tl_error error = {0};
    if (tl_app_pcap_result(screen->request->pcap, screen->state.packets.open.number, &result,
                           &error) != TL_OK) {
        tui_say(&screen->state, error.text);
        tl_app_result_finish(&result);
        return;
    }
    screen_show_judged(screen, &result);
    screen->state.from_packets = true;
    if (screen->state.packets.export)
        screen_act_on_store(screen, tui_go_to(&screen->state, TUI_EXPORT));
}

void screen_act_on_packets(struct screen *screen, unsigned actions)
{
    if (!screen->unpacked || screen->state.screen != TUI_PACKETS)
        return;
    if (actions & TUI_DO_JUDGE && screen->session)
        tui_say(&screen->state, "a diagnosis is running: its verdict comes first");
    else if (actions & TUI_DO_JUDGE)
        judge(screen);
    take_series(screen);
}

void screen_finish_packets(struct screen *screen)
{
    free(screen->unpacked);
}
