/* The path screen: the segments of the run, the routers on the way as a list, where the limit
 * lies, and on wide terminals how the round trips were spread. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page_text.h"
#include "plot.h"
#include "tightlink/base/units.h"
#include "tightlink/base/utf8.h"
#include "view.h"
#include "zones.h"

/* Below so many columns the least that tells is shown. */
#define NARROW 76

/* The lowest tested rung of a segment in the verdict's direction; NULL without. */
static const struct tl_rung *lowest_rung(const struct tl_findings *findings, const char *segment)
{
    for (size_t i = 0; i < findings->rung_count; i++) {
        const struct tl_rung *rung = &findings->ladder[i];
        if (rung->tested && rung->direction == findings->verdict.direction &&
            strcmp(rung->segment, segment) == 0)
            return rung;
    }
    return NULL;
}

/* A mark, its ink, and a word of what is known of a part of the way. */
struct seen {
    const char *mark;
    enum tui_ink ink;
    const char *what;
};

struct row {
    const struct tl_run *run;
    const struct tl_segment_record *segment;
    const struct tl_rung *rung;
    double doubt_bps; /* of the rung, as the ladder tells it; NAN */
    struct seen seen;
};

/* What no rung says has been tested all the same where a rule ruled something out there. */
static struct seen seen_by_rules(const struct tl_findings *findings, const char *segment)
{
    bool ruled_out = false, open = false;
    for (size_t i = 0; i < findings->finding_count; i++) {
        const struct tl_finding *finding = &findings->findings[i];
        if (finding->direction != findings->verdict.direction ||
            strcmp(finding->segment, segment) != 0)
            continue;
        if (finding->result == TL_FOUND && finding->severity == TL_LIMITS)
            return (struct seen){"(!)", TUI_BAD, finding->title};
        ruled_out |= finding->result == TL_RULED_OUT;
        open |= finding->result == TL_CANNOT_TELL;
    }
    if (!ruled_out)
        return (struct seen){"--", TUI_PLAIN, "not tested"};
    return open ? (struct seen){"(?)", TUI_BOLD, "no limit seen, not all tested"}
                : (struct seen){"ok", TUI_GOOD, "no limit seen"};
}

/* Responders on the way cut the path into parts of their own; then they tell where. */
static bool limits_in(const struct tl_findings *findings, const struct tl_segment_record *segment)
{
    const struct tl_verdict *verdict = &findings->verdict;
    return segment->tight || (verdict->state == TL_LIMITED && verdict->segment &&
                              strcmp(verdict->segment, segment->id) == 0);
}

static struct seen see(const struct tl_findings *findings, const struct tl_segment_record *segment,
                       const struct tl_rung *rung)
{
    struct seen seen = rung                           ? (struct seen){"ok", TUI_GOOD, rung->label}
                       : segment->prefix_rate_bps > 0 ? (struct seen){"ok", TUI_GOOD, segment->name}
                                                      : seen_by_rules(findings, segment->id);
    if (limits_in(findings, segment)) {
        bool told = findings->verdict.state == TL_LIMITED;
        seen.mark = told ? "(!)" : "(?)"; /* a queue alone accuses nobody */
        seen.ink = told ? TUI_BAD : TUI_BOLD;
        seen.what = rung || told ? seen.what : "a queue grows here";
    }
    return seen;
}

static double doubt_of(const struct tl_session_result *result, const struct tl_rung *rung)
{
    return result->facts ? tl_told_doubt(result->facts, &result->findings->verdict, rung->direction,
                                         rung->bps, rung->low_bps, rung->high_bps)
                         : (double)NAN;
}

static void put_number(struct tui_grid *grid, int row, int col, double value,
                       const char *(*format)(double, char *))
{
    char text[TL_UNIT_TEXT_SIZE];
    tui_put_right(grid, row, col, 10, TUI_PLAIN, isnan(value) ? "-" : format(value, text));
}

/* Returns the rows used: a long name of what limits goes on in the next, most rows in all. */
static int draw_segment(struct tui_grid *grid, int at, const struct row *row, int most)
{
    const struct tl_segment_record *segment = row->segment;
    char mtu[16] = "-", hops[32] = "-", rate[TL_UNIT_TEXT_SIZE];
    bool prefix = segment->prefix_ceiling_bps > 0;
    double ceiling = prefix      ? segment->prefix_ceiling_bps
                     : row->rung ? row->rung->bps
                                 : (double)NAN;
    double doubt = prefix ? (double)NAN : row->doubt_bps;
    if (!isnan(segment->mtu_bytes))
        snprintf(mtu, sizeof mtu, "%.0f", segment->mtu_bytes);
    if (segment->last_hop > segment->first_hop)
        snprintf(hops, sizeof hops, "%d-%d", segment->first_hop, segment->last_hop);
    else if (segment->last_hop > 0)
        snprintf(hops, sizeof hops, "%d", segment->last_hop);
    (void)tui_put(grid, at, 1, 4, row->seen.ink, row->seen.mark);
    (void)tui_put(grid, at, 5, 10, TUI_PLAIN, tui_place(row->run, segment->id));
    tui_put_right(grid, at, 14, 5, TUI_PLAIN, hops);
    put_number(grid, at, 18, segment->rtt_add_ns, tl_format_ns);
    bool narrow = grid->cols < NARROW;
    if (!narrow) {
        put_number(grid, at, 29, segment->loaded_rtt_add_ns, tl_format_ns);
        tui_put_right(grid, at, 39, 6, TUI_PLAIN, mtu);
        put_number(grid, at, 44, segment->loss_ratio, tl_format_ratio);
    }
    tui_put_right(grid, at, narrow ? 28 : 54, 10, TUI_PLAIN,
                  isnan(ceiling) ? "-" : tl_format_bps_known(ceiling, doubt, rate));
    int col = narrow ? 40 : 66, columns = grid->cols - col - 1;
    int lines = tui_wrap(grid, 0, 0, 0, columns, TUI_PLAIN, row->seen.what);
    if (lines <= most)
        return tui_wrap(grid, at, col, lines, columns, TUI_PLAIN, row->seen.what);
    (void)tui_put_short(grid, at, col, columns, TUI_PLAIN, row->seen.what);
    return 1;
}

static double number(const struct tui_state *state, struct tl_fact_key key)
{
    return tl_facts_number(state->result->facts, key, (double)NAN);
}

/* A line for each thing that is known of the way, and why one is not. */
static int draw_way(const struct tui_state *state, struct tui_grid *grid, int row, int last)
{
    const struct {
        struct tl_fact_key key;
        const char *label;
    } lines[] = {{TL_PATH(rtt_min_ns), "round trip, least"},
                 {TL_PATH(mtu_bytes), "packet size, most"},
                 {TL_PATH(hops_count), "links on the way"},
                 {TL_PATH(hops_answered_count), "routers that answered"},
                 {TL_PATH(hops_ways_count), "ways of other flows"}};
    const int begin = row;
    for (size_t i = 0; i < sizeof lines / sizeof *lines && row < last; i++) {
        struct tl_fact fact;
        char text[TL_UNIT_TEXT_SIZE];
        tl_facts_get_lacking(state->result->facts, lines[i].key, &fact);
        if (fact.state != TL_FACT_KNOWN && state->result->run.hop_count)
            continue;
        (void)tui_put(grid, row, 1, 24, TUI_PLAIN, lines[i].label);
        if (fact.state != TL_FACT_KNOWN)
            (void)tui_putf(grid, row, 26, grid->cols - 27, TUI_DIM, "not known: %s", fact.reason);
        else if (fact.unit == TL_UNIT_NS)
            (void)tui_put(grid, row, 26, 20, TUI_PLAIN, tl_format_ns(fact.number, text));
        else
            (void)tui_putf(grid, row, 26, 20, TUI_PLAIN, "%.0f", fact.number);
        row++;
    }
    return row - begin;
}

/* "Under load a queue grows between hop 2 and hop 3 (path): + 40 ms" */
static int draw_queue(const struct tui_state *state, struct tui_grid *grid, int row)
{
    int used = 0;
    for (int d = TL_DOWNLOAD; d <= TL_UPLOAD; d++) {
        enum tl_direction direction = (enum tl_direction)d;
        double first = number(state, TL_FLOW(direction, tight_first_hop));
        double last = number(state, TL_FLOW(direction, tight_last_hop));
        double rise_ns = number(state, TL_FLOW(direction, tight_rtt_rise_ns));
        char time[TL_UNIT_TEXT_SIZE], text[160];
        if (isnan(first) || isnan(last))
            continue;
        snprintf(text, sizeof text,
                 "%s: under load a queue grows between hop %.0f and hop %.0f%s%s",
                 tl_direction_name(direction), first, last, isnan(rise_ns) ? "" : ", + ",
                 isnan(rise_ns) ? "" : tl_format_ns(rise_ns, time));
        int lines = tui_wrap(grid, row, 1, 2, grid->cols - 2, TUI_BOLD, text);
        used += lines;
        row += lines;
    }
    return used;
}

/* What other flows do: routers that share the load send them other ways. */
static int draw_flows(const struct tui_state *state, struct tui_grid *grid, int row, int last)
{
    struct tl_fact fact;
    char text[200];
    if (row >= last)
        return 0;
    tl_facts_get_lacking(state->result->facts, TL_PATH(hops_ways_count), &fact);
    if (fact.state != TL_FACT_KNOWN)
        snprintf(text, sizeof text,
                 "Whether flows of other ports take other ways is not known: %.100s", fact.reason);
    else if (fact.number > 1)
        snprintf(text, sizeof text,
                 "Flows of other ports take %.0f ways: a router shares the load, so another "
                 "connection may see another path.",
                 fact.number);
    else
        snprintf(text, sizeof text, "Flows of other ports that were tried took the same way.");
    int used = tui_wrap(grid, row, 1, last - row, grid->cols - 2, TUI_BOLD, text);
    return used < last - row ? used : last - row;
}

/* --- the routers --- */

#define NAME_COLUMN 6

/* From so many columns on there is room for the counts beside the share that was lost. */
#define WITH_COUNTS 90

static int name_columns(int columns)
{
    return columns >= 110 ? 44 : columns >= WITH_COUNTS ? 30 : columns >= NARROW ? 26 : 16;
}

/* "60 %": probes that this router did not answer; "-" where it never does. */
static const char *lost(const struct tl_hop_record *hop, char ret_text[16])
{
    int sent = hop->sent_count, answered = hop->answered_count;
    if (sent <= 0 || answered <= 0)
        return "-";
    snprintf(ret_text, 16, "%.0f %%", 100.0 * (sent - answered) / sent);
    return ret_text;
}

/* Round trips of one router on an axis they share: from least to most, the mean marked. */
static void draw_range(const struct tl_hop_record *hop, double top, struct tui_grid *grid, int row,
                       int col, int columns)
{
    if (isnan(hop->rtt_min_ns) || !(top > 0))
        return;
    const double values[] = {hop->rtt_min_ns, hop->rtt_max_ns, hop->rtt_mean_ns};
    int at[3];
    for (int i = 0; i < 3; i++)
        at[i] = (int)lround(fmin(fmax(values[i] / top, 0), 1) * (columns - 1));
    for (int c = at[0]; c <= at[1]; c++)
        (void)tui_put(grid, row, col + c, 1, TUI_GOOD, grid->utf8 ? "─" : "-");
    (void)tui_put(grid, row, col + at[2], 1, TUI_BOLD, grid->utf8 ? "●" : "o");
    if (!isnan(hop->loaded_rtt_ns)) {
        int loaded = (int)lround(fmin(hop->loaded_rtt_ns / top, 1) * (columns - 1));
        (void)tui_put(grid, row, col + loaded, 1, TUI_BAD, "L");
    }
}

static double slowest(const struct tl_run *run)
{
    double most = (double)NAN;
    for (int i = 0; i < run->hop_count; i++)
        most = fmax(most, fmax(run->hops[i].rtt_max_ns, run->hops[i].loaded_rtt_ns));
    return most;
}

static void draw_hop(const struct tui_state *state, const struct tl_hop_record *hop,
                     struct tui_grid *grid, int row, int columns, bool selected)
{
    char name[256], rtt[TL_UNIT_TEXT_SIZE], share[16];
    int names = name_columns(columns), at = NAME_COLUMN + names + 1;
    (void)tui_putf(grid, row, 1, 4, TUI_PLAIN, "%3d", hop->hop);
    if (!hop->address[0])
        snprintf(name, sizeof name, "no answer");
    else if (state->private_names)
        snprintf(name, sizeof name, "<hidden>");
    else if (columns < NARROW && hop->name[0]) /* Enter tells the address */
        snprintf(name, sizeof name, "%s", hop->name);
    else
        snprintf(name, sizeof name, "%s%s%s", hop->name, hop->name[0] ? " " : "", hop->address);
    (void)tui_put_short(grid, row, NAME_COLUMN, names, hop->address[0] ? TUI_PLAIN : TUI_DIM, name);
    if (columns >= WITH_COUNTS) {
        (void)tui_putf(grid, row, at, 8, TUI_PLAIN, "%3d/%d", hop->answered_count, hop->sent_count);
        at += 8;
    }
    if (columns >= NARROW) {
        tui_put_right(grid, row, at, 6, TUI_PLAIN, lost(hop, share));
        at += 7;
    }
    if (state->hop_chart) {
        draw_range(hop, slowest(&state->result->run), grid, row, at, columns - at - 1);
    } else {
        const double values[] = {hop->rtt_min_ns, hop->rtt_mean_ns, hop->rtt_max_ns,
                                 hop->loaded_rtt_ns};
        for (int i = 0; i < 4; i++, at += 9)
            tui_put_right(grid, row, at, 8, TUI_PLAIN,
                          isnan(values[i]) ? "-" : tl_format_ns(values[i], rtt));
        if (columns - at > 8)
            (void)tui_put(grid, row, at + 1, columns - at - 2, TUI_PLAIN, hop->note);
    }
    if (selected)
        tui_select_row(grid, row, columns);
}

static void draw_hop_head(const struct tui_state *state, struct tui_grid *grid, int row,
                          int columns)
{
    int names = name_columns(columns), at = NAME_COLUMN + names + 1;
    char top[TL_UNIT_TEXT_SIZE];
    (void)tui_put(grid, row, 1, 4, TUI_BOLD, "  #");
    (void)tui_putf(grid, row, NAME_COLUMN, names, TUI_BOLD, "host%s%s",
                   state->hops.filter[0] ? ", filter: " : "", state->hops.filter);
    if (columns >= WITH_COUNTS) {
        (void)tui_put(grid, row, at, 8, TUI_BOLD, "answers");
        at += 8;
    }
    if (columns >= NARROW) {
        tui_put_right(grid, row, at, 6, TUI_BOLD, "loss*");
        at += 7;
    }
    if (state->hop_chart) {
        double most = slowest(&state->result->run);
        (void)tui_putf(grid, row, at, columns - at, TUI_BOLD, "0");
        tui_put_right(grid, row, at + 1, columns - at - 2, TUI_BOLD,
                      isnan(most) ? "-" : tl_format_ns(most, top));
        return;
    }
    static const char *const heads[] = {"least", "mean", "most", "loaded"};
    for (int i = 0; i < 4; i++, at += 9)
        tui_put_right(grid, row, at, 8, TUI_BOLD, heads[i]);
}

/* How the round trips of the newest samples were spread; what a saved file does not keep. */
static void draw_histogram(const struct tui_state *state, struct tui_grid *grid, int row, int rows,
                           int col, int columns)
{
    const struct tui_stage *stage =
        state->run.sampled >= 0 ? &state->run.stages[state->run.sampled] : NULL;
    int counts[32], bins = rows - 2 > 12 ? 12 : rows - 2, most = 1, count = 0;
    double low = (double)NAN, high = (double)NAN;
    for (int i = 0; stage && i < stage->samples.count; i++) {
        low = fmin(low, stage->samples.rtt_ns[i]);
        high = fmax(high, stage->samples.rtt_ns[i]);
        count += !isnan(stage->samples.rtt_ns[i]);
    }
    if (bins < 3)
        return;
    (void)tui_putf(grid, row, col, columns, TUI_BOLD, "Round trips%s%s", stage ? " in " : "",
                   stage ? stage->id : "");
    if (count < 2) {
        (void)tui_wrap(grid, row + 1, col, rows - 1, columns, TUI_DIM,
                       "No readings were kept of this run; g draws each hop from least to most.");
        return;
    }
    if (!(high > low))
        high = low + 1000; /* all alike: one bin of a microsecond */
    struct tui_series series = {stage->samples.rtt_ns, stage->samples.count, 1};
    tui_histogram(&series, low, high, bins, counts);
    for (int i = 0; i < bins; i++)
        most = counts[i] > most ? counts[i] : most;
    for (int i = 0; i < bins; i++) {
        char text[TL_UNIT_TEXT_SIZE];
        int bar = (int)lround((double)counts[i] / most * (columns - 17));
        tui_put_right(grid, row + 1 + i, col, 9, TUI_DIM,
                      tl_format_ns(low + (high - low) * (i + 0.5) / bins, text));
        for (int c = 0; c < bar; c++)
            (void)tui_put(grid, row + 1 + i, col + 10 + c, 1, TUI_GOOD, grid->utf8 ? "█" : "#");
        if (counts[i])
            (void)tui_putf(grid, row + 1 + i, col + 11 + bar, 6, TUI_DIM, "%d", counts[i]);
    }
}

static void draw_hops(struct tui_state *state, struct tui_grid *grid, int row, int last)
{
    size_t index[TUI_LIST_MAX];
    const struct tl_run *run = &state->result->run;
    int count = (int)tui_list_hops(state, index);
    bool wide = grid->cols >= TUI_WIDE_COLS;
    int columns = wide ? grid->cols * 3 / 4 : grid->cols;
    int rows = last - row - 1;
    state->rows_shown = rows > 0 ? rows : 0;
    if (state->hops.selected >= count)
        state->hops.selected = count ? count - 1 : 0;
    if (rows < 1)
        return;
    if (wide)
        draw_histogram(state, grid, row, rows + 1, columns + 2, grid->cols - columns - 3);
    if (!run->hop_count) {
        (void)tui_put(grid, row, 1, columns - 2, TUI_DIM,
                      "the routers on the way were not looked at in this run");
        return;
    }
    draw_hop_head(state, grid, row, columns);
    int top = tui_list_top(state->hops.selected, rows, count);
    for (int i = 0; i < rows && top + i < count; i++) {
        draw_hop(state, &run->hops[index[top + i]], grid, row + 1 + i, columns,
                 top + i == state->hops.selected);
        tui_zone_add(grid, row + 1 + i, 0, columns, TUI_ZONE_ROW, top + i);
    }
    if (!count)
        (void)tui_put(grid, row + 1, 1, columns - 2, TUI_PLAIN,
                      "nothing matches; / changes the filter");
}

/* The note of the selected router, else what the marks mean. */
static void draw_foot(const struct tui_state *state, struct tui_grid *grid, int row)
{
    size_t index[TUI_LIST_MAX];
    size_t count = tui_list_hops(state, index);
    const struct tl_hop_record *hop = (size_t)state->hops.selected < count
                                          ? &state->result->run.hops[index[state->hops.selected]]
                                          : NULL;
    if (hop && hop->note[0])
        (void)tui_putf(grid, row, 1, grid->cols - 2, TUI_BOLD, "hop %d: %s", hop->hop, hop->note);
    else
        (void)tui_put(grid, row, 1, grid->cols - 2, TUI_DIM,
                      state->hop_chart ? "from least to most, the mean marked; L: under load"
                                       : "* loss counts only if it goes on to the last hop");
}

/* "this PC -> srv-b        2 segments, 5 hops   192.0.2.7" */
static void draw_title(const struct tui_state *state, struct tui_grid *grid, int row)
{
    const struct tl_run *run = &state->result->run;
    char address[96], way[TUI_TEXT_SIZE + 16];
    bool narrow = grid->cols < NARROW; /* the last hop tells the address */
    snprintf(address, sizeof address, "%d segments, %d hops %s%s ", run->segment_count,
             run->hop_count, narrow ? "" : "  ",
             narrow ? "" : tui_name(state, run->target_address));
    int right = (int)tl_utf8_width(address);
    snprintf(way, sizeof way, "%s %s %s", tui_place(run, "near-host"), grid->utf8 ? "→" : "->",
             tui_name(state, state->title));
    (void)tui_put_short(grid, row, 1, grid->cols - right - 2, TUI_BOLD, way);
    tui_put_right(grid, row, grid->cols - right, right, TUI_PLAIN, address);
}

/* Rows that the next of so many segments may have: the routers below keep theirs. */
static int rows_for(const struct tui_grid *grid, int room, int segments)
{
    int rows = room - 4 - segments, most = grid->rows >= 20 ? 3 : 2;
    return rows < 1 ? 1 : rows > most ? most : rows;
}

void tui_view_path(struct tui_state *state, struct tui_grid *grid, int first, int last)
{
    const struct tl_session_result *result = state->result;
    if (!result)
        return;
    int count = result->run.segment_count, row = first;
    draw_title(state, grid, row);
    tui_rule(grid, row + 1);
    if (grid->cols >= NARROW)
        (void)tui_putf(grid, row + 2, 5, grid->cols - 5, TUI_BOLD, "%-9s%5s%9s%11s%6s%9s%10s  %s",
                       "segment", "hops", "RTT add", "under load", "MTU", "loss*", "ceiling", "by");
    else
        (void)tui_putf(grid, row + 2, 5, grid->cols - 5, TUI_BOLD, "%-9s%5s%9s%10s  %s", "segment",
                       "hops", "RTT add", "ceiling", "by");
    row += 3;
    for (int i = 0; i < count && row < last - 4 && result->findings; i++) {
        struct row line = {.run = &result->run, .segment = &result->run.segments[i]};
        line.rung = lowest_rung(result->findings, line.segment->id);
        line.doubt_bps = line.rung ? doubt_of(result, line.rung) : (double)NAN;
        line.seen = see(result->findings, line.segment, line.rung);
        row += draw_segment(grid, row, &line, rows_for(grid, last - row, count - i));
    }
    if (!count)
        (void)tui_put(grid, row++, 1, grid->cols - 1, TUI_PLAIN,
                      "no segment was measured in this run");
    tui_rule(grid, row++);
    if (!result->facts || !result->findings)
        return;
    row += draw_queue(state, grid, row);
    if (state->flows)
        row += draw_flows(state, grid, row, last);
    bool roomy = last - row > result->run.hop_count + 8;
    if (roomy || !result->run.hop_count)
        row += draw_way(state, grid, row, last);
    int foot = result->run.hop_count && last - row > 4 ? 1 : 0;
    draw_hops(state, grid, row, last - foot);
    if (foot)
        draw_foot(state, grid, last - 1);
}
