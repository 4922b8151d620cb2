/* A file's way: disks and memories at both ends, two by two. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text_parts.h"
#include "text_words.h"
#include "tightlink/base/units.h"

#define ROW_COLUMNS  28
#define RATE_COLUMNS 24

static void print_rate(struct text *t, const struct text_source *source,
                       enum tl_direction direction, const char *name)
{
    char rate[TL_UNIT_TEXT_SIZE];
    double bps = text_flow_number(source->facts, direction, name);
    text_cell(t, isnan(bps) ? "--" : tl_format_bps(bps, rate), RATE_COLUMNS);
}

static void print_row(struct text *t, const struct text_source *source, enum tl_direction direction,
                      const char *from, const char *into_memory, const char *to_disk)
{
    char label[48];
    snprintf(label, sizeof label, "  from %s", from);
    text_cell(t, label, ROW_COLUMNS);
    print_rate(t, source, direction, into_memory);
    print_rate(t, source, direction, to_disk);
    text_newline(t);
}

static void print_waits(struct text *t, const struct text_source *source,
                        enum tl_direction direction)
{
    struct tl_buf line = TL_BUF_INIT;
    char ratio[TL_UNIT_TEXT_SIZE];
    double sender = text_flow_number(source->facts, direction, "file_sender_wait_ratio");
    double receiver = text_flow_number(source->facts, direction, "file_receiver_wait_ratio");
    if (!isnan(sender))
        tl_buf_addf(&line, "The sender waited for its disk %s of the time.",
                    tl_format_ratio(sender, ratio));
    if (!isnan(receiver))
        tl_buf_addf(&line, "%sThe receiver waited for its disk %s of the time.",
                    line.len ? " " : "", tl_format_ratio(receiver, ratio));
    if (line.len) {
        tl_buf_adds(t->out, "  ");
        text_wrap(t, 2, 2, tl_buf_text(&line));
    }
    if (line.status != TL_OK)
        t->out->status = line.status;
    tl_buf_finish(&line);
}

void text_file_matrix(struct text *t, const struct text_source *source, enum tl_direction direction)
{
    char heading[64], to[48], from[48];
    const char *sender = direction == TL_DOWNLOAD ? "the far end" : "this PC";
    const char *receiver = direction == TL_DOWNLOAD ? "this PC" : "the far end";
    if (isnan(text_flow_number(source->facts, direction, "file_goodput_bps")))
        return;
    snprintf(heading, sizeof heading, "A file's way, %s", tl_direction_name(direction));
    text_heading(t, heading);
    text_cell(t, "", ROW_COLUMNS - strlen(heading)); /* shorter than that */
    text_cell(t, "into memory", RATE_COLUMNS);
    snprintf(to, sizeof to, "to the disk of %s", receiver);
    text_cell(t, to, RATE_COLUMNS + 4);
    text_newline(t);
    print_row(t, source, direction, "memory", "file_memory_bps", "file_write_bps");
    snprintf(from, sizeof from, "%s's disk", sender);
    print_row(t, source, direction, from, "file_read_bps", "file_disk_bps");
    print_waits(t, source, direction);
}
