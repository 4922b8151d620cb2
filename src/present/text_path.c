/* The path of a run as a compact table: segments with what they add, then hops. */
#include <math.h>
#include <stdio.h>

#include "text_parts.h"
#include "text_words.h"
#include "tightlink/base/units.h"

#define MARK_COLUMNS  4
#define PLACE_COLUMNS 13
#define VALUE_COLUMNS 12

static void print_value(struct text *t, double ns)
{
    char value[TL_UNIT_TEXT_SIZE] = "-";
    if (isfinite(ns))
        tl_format_ns(ns > 0 ? ns : 0, value);
    tl_page_cell_right(t->page, value, VALUE_COLUMNS);
}

static const char *hops_text(const struct tl_segment_record *segment, char ret_text[24])
{
    snprintf(ret_text, 24, "-");
    if (segment->last_hop > segment->first_hop + 1)
        snprintf(ret_text, 24, "%d-%d", segment->first_hop + 1, segment->last_hop);
    else if (segment->last_hop > 0)
        snprintf(ret_text, 24, "%d", segment->last_hop);
    return ret_text;
}

static void print_segment(struct text *t, const struct tl_run *run,
                          const struct tl_segment_record *segment)
{
    char hops[24];
    hops_text(segment, hops);
    tl_page_cell(t->page, segment->tight ? "(!) " : "", MARK_COLUMNS);
    tl_page_cell(t->page, text_place(run, segment->id), PLACE_COLUMNS);
    tl_page_cell_right(t->page, hops, 6);
    print_value(t, segment->rtt_add_ns);
    print_value(t, segment->loaded_rtt_add_ns);
    text_newline(t);
}

/* What is odd about a hop, else what it is called. */
static const char *remark(const struct tl_hop_record *hop)
{
    return hop->note[0] ? hop->note : hop->name;
}

static void print_hop(struct text *t, const struct tl_hop_record *hop)
{
    char number[16];
    snprintf(number, sizeof number, "%d", hop->hop);
    tl_page_cell_right(t->page, number, MARK_COLUMNS - 1);
    tl_page_cell(t->page, "", 1);
    tl_page_cell(t->page, hop->address[0] ? hop->address : "*", 25);
    print_value(t, hop->rtt_min_ns);
    print_value(t, hop->loaded_rtt_ns);
    tl_page_cell(t->page, "", 2);
    (void)tl_page_add_cut(t->page, remark(hop), 30);
    text_newline(t);
}

static const char *value_text(double ns, char ret_text[TL_UNIT_TEXT_SIZE])
{
    return isfinite(ns) ? tl_format_ns(ns > 0 ? ns : 0, ret_text) : "-";
}

/* The same for readers with tables. */
static void print_tables(struct text *t, const struct tl_run *run)
{
    static const char *const parts[] = {"part", "hops", "adds", "adds under load"};
    static const char *const hops[] = {"hop", "address", "round trip", "under load",
                                       "name or note"};
    char a[TL_UNIT_TEXT_SIZE], b[TL_UNIT_TEXT_SIZE], number[24];
    text_table_begin(t, parts, 4);
    for (int i = 0; i < run->segment_count; i++) {
        const struct tl_segment_record *segment = &run->segments[i];
        if (segment->last_hop <= 0)
            continue;
        const char *cells[] = {text_place(run, segment->id), hops_text(segment, number),
                               value_text(segment->rtt_add_ns, a),
                               value_text(segment->loaded_rtt_add_ns, b)};
        text_table_row(t, cells, 4);
    }
    text_table_end(t);
    text_table_begin(t, hops, 5);
    for (int i = 0; i < run->hop_count; i++) {
        const struct tl_hop_record *hop = &run->hops[i];
        snprintf(number, sizeof number, "%d", hop->hop);
        const char *cells[] = {number, hop->address[0] ? hop->address : "*",
                               value_text(hop->rtt_min_ns, a), value_text(hop->loaded_rtt_ns, b),
                               remark(hop)};
        text_table_row(t, cells, 5);
    }
    text_table_end(t);
}

void text_path(struct text *t, const struct text_source *source)
{
    const struct tl_run *run = source->run;
    if (run->hop_count < 2)
        return;
    text_heading(t, "Path: what each part adds to the round trip, idle and under load");
    if (!t->sink->columns) {
        print_tables(t, run);
        return;
    }
    for (int i = 0; i < run->segment_count; i++)
        if (run->segments[i].last_hop > 0)
            print_segment(t, run, &run->segments[i]);
    for (int i = 0; i < run->hop_count; i++)
        print_hop(t, &run->hops[i]);
}
