/* A file's way: disks and memories at both ends, two by two. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text_parts.h"
#include "text_words.h"
#include "tightlink/base/units.h"

#define ROW_COLUMNS  28
#define RATE_COLUMNS 24

static const char *rate_text(const struct text_source *source, struct tl_fact_key key,
                             char ret_rate[TL_UNIT_TEXT_SIZE])
{
    enum tl_direction direction = key.scope == tl_scope_of(TL_UPLOAD) ? TL_UPLOAD : TL_DOWNLOAD;
    struct tl_fact rate;
    tl_facts_get(source->facts, key, &rate);
    if (rate.state != TL_FACT_KNOWN)
        return "--";
    double doubt = tl_told_doubt(source->facts, &source->findings->verdict, direction, rate.number,
                                 rate.low, rate.high);
    return tl_format_bps_known(rate.number, doubt, ret_rate);
}

static void print_row(struct text *t, const struct text_source *source, const char *from,
                      struct tl_fact_key into_memory, struct tl_fact_key to_disk)
{
    char label[48], memory[TL_UNIT_TEXT_SIZE], disk[TL_UNIT_TEXT_SIZE];
    snprintf(label, sizeof label, "%sfrom %s", t->sink->columns ? "  " : "", from);
    const char *cells[] = {label, rate_text(source, into_memory, memory),
                           rate_text(source, to_disk, disk)};
    if (!t->sink->columns) {
        text_table_row(t, cells, 3);
        return;
    }
    tl_page_cell(t->page, cells[0], ROW_COLUMNS);
    tl_page_cell(t->page, cells[1], RATE_COLUMNS);
    tl_page_cell(t->page, cells[2], RATE_COLUMNS);
    text_newline(t);
}

/* The names of the columns, beside the heading where there are columns. */
static void print_columns(struct text *t, size_t heading_columns, const char *to)
{
    const char *const cells[] = {"", "into memory", to};
    if (!t->sink->columns) {
        text_newline(t);
        text_table_begin(t, cells, 3);
        return;
    }
    tl_page_cell(t->page, "", ROW_COLUMNS - heading_columns); /* shorter than that */
    tl_page_cell(t->page, cells[1], RATE_COLUMNS);
    tl_page_cell(t->page, to, RATE_COLUMNS + 4);
    text_newline(t);
}

static void print_waits(struct text *t, const struct text_source *source,
                        enum tl_direction direction)
{
    struct tl_buf line = TL_BUF_INIT;
    char ratio[TL_UNIT_TEXT_SIZE];
    double sender = text_number(source->facts, TL_FLOW(direction, file_sender_wait_ratio));
    double receiver = text_number(source->facts, TL_FLOW(direction, file_receiver_wait_ratio));
    if (!isnan(sender))
        tl_buf_addf(&line, "The sender waited for its disk %s of the time.",
                    tl_format_ratio(sender, ratio));
    if (!isnan(receiver))
        tl_buf_addf(&line, "%sThe receiver waited for its disk %s of the time.",
                    line.len ? " " : "", tl_format_ratio(receiver, ratio));
    if (line.len)
        text_item(t, 2, tl_buf_text(&line));
    text_keep_status(t, line.status);
    tl_buf_finish(&line);
}

void text_file_matrix(struct text *t, const struct text_source *source, enum tl_direction direction)
{
    char heading[64], to[48], from[48];
    const char *sender = direction == TL_DOWNLOAD ? "the far end" : "this PC";
    const char *receiver = direction == TL_DOWNLOAD ? "this PC" : "the far end";
    if (isnan(text_number(source->facts, TL_FLOW(direction, file_goodput_bps))))
        return;
    snprintf(heading, sizeof heading, "A file's way, %s", tl_direction_name(direction));
    text_heading_begin(t, heading);
    snprintf(to, sizeof to, "to the disk of %s", receiver);
    print_columns(t, strlen(heading), to);
    print_row(t, source, "memory", TL_FLOW(direction, file_memory_bps),
              TL_FLOW(direction, file_write_bps));
    snprintf(from, sizeof from, "%s's disk", sender);
    print_row(t, source, from, TL_FLOW(direction, file_read_bps),
              TL_FLOW(direction, file_disk_bps));
    if (!t->sink->columns)
        text_table_end(t);
    print_waits(t, source, direction);
}
