/* What was seen after the verdict (run --for): rates, outages, a graph. */
#include <math.h>
#include <stdio.h>

#include "text_parts.h"
#include "tightlink/base/units.h"

#define LABEL_COLUMNS 10
#define ROWS          5

static void print_rates(struct text *t, const struct tl_watch_record *watch)
{
    char a[TL_UNIT_TEXT_SIZE], b[TL_UNIT_TEXT_SIZE], c[TL_UNIT_TEXT_SIZE], text[192];
    if (!watch->seconds_count) {
        text_entry(t, "rate", LABEL_COLUMNS, "no whole second counted");
        return;
    }
    snprintf(text, sizeof text, "half of the seconds above %s; 5 %% below %s, 5 %% above %s",
             tl_format_bps(watch->p50_bps, a), tl_format_bps(watch->p5_bps, b),
             tl_format_bps(watch->p95_bps, c));
    text_entry(t, "rate", LABEL_COLUMNS, text);
    snprintf(text, sizeof text, "least %s, most %s, %lld s counted",
             tl_format_bps(watch->least_bps, a), tl_format_bps(watch->most_bps, b),
             watch->seconds_count);
    text_entry(t, "", LABEL_COLUMNS, text);
}

static void print_outages(struct text *t, const struct tl_watch_record *watch)
{
    char length[TL_UNIT_TEXT_SIZE], text[160];
    long long listed =
        watch->outage_count < TL_WATCH_OUTAGES_MAX ? watch->outage_count : TL_WATCH_OUTAGES_MAX;
    if (!watch->outage_count)
        text_entry(t, "outages", LABEL_COLUMNS, "none");
    for (long long i = 0; i < listed; i++) {
        snprintf(text, sizeof text, "%s for %s%s", watch->outages[i].start,
                 tl_format_ns((double)watch->outages[i].length_ns, length),
                 watch->outages[i].open ? ", and not over at the end" : "");
        text_entry(t, "outage", LABEL_COLUMNS, text);
    }
    if (listed < watch->outage_count) {
        snprintf(text, sizeof text, "and %lld more; %s in all", watch->outage_count - listed,
                 tl_format_ns((double)watch->outage_ns, length));
        text_entry(t, "", LABEL_COLUMNS, text);
    }
}

/* Columns of '#', the highest at the top row; a column of nothing is an outage or no traffic. */
static void print_graph(struct text *t, const struct tl_watch_record *watch)
{
    double most = 0;
    char label[TL_UNIT_TEXT_SIZE], step[TL_UNIT_TEXT_SIZE];
    for (int i = 0; i < watch->graph_count; i++)
        most = fmax(most, watch->graph_bps[i]);
    if (!(most > 0) || !t->sink->columns)
        return;
    for (int row = ROWS; row > 0; row--) {
        tl_page_space(t->page, 2);
        tl_page_cell_right(t->page,
                           row == ROWS ? tl_format_bps(most, label)
                           : row == 1  ? "0"
                                       : "",
                           11);
        text_add(t, TL_SAID_PLAIN, " |");
        for (int i = 0; i < watch->graph_count; i++)
            text_add(t, TL_SAID_PLAIN,
                     watch->graph_bps[i] > (row - 1 + 0.25) * most / ROWS
                         ? (t->page->utf8 ? "█" : "#")
                         : " ");
        text_newline(t);
    }
    tl_page_addf(t->page, TL_SAID_PLAIN, "              %s a column",
                 tl_format_ns(watch->graph_step_ns, step));
    text_newline(t);
}

void text_watch(struct text *t, const struct text_source *source)
{
    const struct tl_watch_record *watch = &source->run->watch;
    char length[TL_UNIT_TEXT_SIZE], heading[96];
    if (!watch->ran)
        return;
    snprintf(heading, sizeof heading, "Watched for %s after that",
             tl_format_ns((double)watch->duration_ns, length));
    text_heading(t, heading);
    print_rates(t, watch);
    print_outages(t, watch);
    if (watch->ended[0])
        text_entry(t, "ended", LABEL_COLUMNS, watch->ended);
    if (watch->path[0])
        text_entry(t, "samples", LABEL_COLUMNS, watch->path);
    print_graph(t, watch);
}
