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
    text_cell_right(t, value, VALUE_COLUMNS);
}

static void print_segment(struct text *t, const struct tl_segment_record *segment)
{
    char hops[24] = "-";
    if (segment->last_hop > segment->first_hop + 1)
        snprintf(hops, sizeof hops, "%d-%d", segment->first_hop + 1, segment->last_hop);
    else if (segment->last_hop > 0)
        snprintf(hops, sizeof hops, "%d", segment->last_hop);
    text_cell(t, segment->tight ? "(!) " : "", MARK_COLUMNS);
    text_cell(t, text_place(segment->id), PLACE_COLUMNS);
    text_cell_right(t, hops, 6);
    print_value(t, segment->rtt_add_ns);
    print_value(t, segment->loaded_rtt_add_ns);
    text_newline(t);
}

static void print_hop(struct text *t, const struct tl_hop_record *hop)
{
    char number[16];
    snprintf(number, sizeof number, "%d", hop->hop);
    text_cell_right(t, number, MARK_COLUMNS - 1);
    text_cell(t, "", 1);
    text_cell(t, hop->address[0] ? hop->address : "*", 25);
    print_value(t, hop->rtt_min_ns);
    print_value(t, hop->loaded_rtt_ns);
    text_cell(t, "", 2);
    text_clean(t, hop->note, 30);
    text_newline(t);
}

void text_path(struct text *t, const struct text_source *source)
{
    const struct tl_run *run = source->run;
    if (run->hop_count < 2)
        return;
    text_heading(t, "Path: what each part adds to the round trip, idle and under load");
    text_newline(t);
    for (int i = 0; i < run->segment_count; i++)
        if (run->segments[i].last_hop > 0)
            print_segment(t, &run->segments[i]);
    for (int i = 0; i < run->hop_count; i++)
        print_hop(t, &run->hops[i]);
}
