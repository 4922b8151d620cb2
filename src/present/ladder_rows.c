/* The rows of the ladder and the parts of the ledger, for whoever draws them. */
#include <math.h>
#include <stdio.h>

#include "text_parts.h"
#include "text_words.h"
#include "tightlink/base/units.h"

/* A linear axis shows nothing of rungs that are this much lower than the highest. */
#define LINEAR_SPAN_MAX 30

#define MEASURED_COUNT 5
static const enum tl_fact_name measured_names[MEASURED_COUNT] = {
    TL_FACT_FLOW_goodput_bps, TL_FACT_FLOW_streams_goodput_bps, TL_FACT_FLOW_window_goodput_bps,
    TL_FACT_FLOW_file_goodput_bps, TL_FACT_FLOW_both_goodput_bps};

static void widen(double value, double *least, double *most)
{
    if (!(value > 0) || isinf(value))
        return;
    *least = fmin(*least, value);
    *most = fmax(*most, value);
}

static struct tl_fact_key measured(enum tl_direction direction, size_t row)
{
    return TL_KEY(tl_scope_of(direction), measured_names[row]);
}

void text_ladder_scale(const struct text_source *source, enum tl_direction direction,
                       double *ret_low, double *ret_high)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < source->findings->rung_count; i++) {
        const struct tl_rung *rung = &source->findings->ladder[i];
        if (rung->direction == direction && rung->tested)
            widen(rung->bps, &least, &most);
    }
    for (size_t i = 0; i < MEASURED_COUNT; i++)
        widen(text_number(source->facts, measured(direction, i)), &least, &most);
    *ret_high = most;
    *ret_low = most > LINEAR_SPAN_MAX * least ? pow(10, floor(log10(least))) : 0;
}

double text_ladder_position(double low, double high, double bps)
{
    if (!(bps > 0) || !(high > 0))
        return 0;
    if (low > 0)
        return log(bps / low) / log(high / low);
    return bps / high;
}

size_t text_ladder_rows(const struct text_source *source, enum tl_direction direction,
                        struct ladder_row ret_rows[LADDER_ROWS_MAX])
{
    double streams = text_number(source->facts, TL_FLOW(direction, streams_count));
    char several[32] = "several streams";
    size_t count = 0;
    if (!isnan(streams))
        snprintf(several, sizeof several, "%.0f streams", streams);
    const char *labels[MEASURED_COUNT] = {"one stream", several, "large buffers",
                                          "a file, disks included", "one stream, one back"};
    for (size_t i = 0; i < source->findings->rung_count; i++) {
        const struct tl_rung *rung = &source->findings->ladder[i];
        if (rung->direction != direction || !rung->tested || count == LADDER_ROWS_MAX)
            continue;
        struct ladder_row *row = &ret_rows[count++];
        *row =
            (struct ladder_row){text_place(source->run, rung->segment),
                                "",
                                rung->bps,
                                rung->high_bps,
                                tl_told_doubt(source->facts, &source->findings->verdict, direction,
                                              rung->bps, rung->low_bps, rung->high_bps),
                                rung->limits,
                                false};
        snprintf(row->label, sizeof row->label, "%s", rung->label);
    }
    for (size_t i = 0; i < MEASURED_COUNT; i++) {
        struct tl_fact rate;
        tl_facts_get(source->facts, measured(direction, i), &rate);
        if (rate.state != TL_FACT_KNOWN || count == LADDER_ROWS_MAX)
            continue;
        struct ladder_row *row = &ret_rows[count++];
        *row = (struct ladder_row){
            "measured", "", rate.number, (double)NAN, (rate.high - rate.low) / 2, false, true};
        snprintf(row->label, sizeof row->label, "%s", labels[i]);
    }
    return count;
}

double text_ladder_doubt(const struct ladder_row *rows, size_t count, double bps)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].bps == bps)
            return rows[i].doubt_bps;
    return (double)NAN;
}

const char *text_ladder_heading(enum tl_direction direction)
{
    return direction == TL_DOWNLOAD ? "Ladder, download: the lowest rung counts"
                                    : "Ladder, upload: the lowest rung counts";
}

/* A kept run may say anything; what is no part of the time is not known. */
static double part_of(double ratio)
{
    return ratio >= 0 && ratio <= 1.01 ? ratio : (double)NAN;
}

void text_ledger_parts(const struct tl_ledger_row *row, struct ledger_part ret_parts[LEDGER_PARTS])
{
    ret_parts[0] = (struct ledger_part){"the receiver's window", part_of(row->rwnd_ratio)};
    ret_parts[1] = (struct ledger_part){"the network", part_of(row->network_ratio)};
    ret_parts[2] = (struct ledger_part){"the sender's buffer", part_of(row->sndbuf_ratio)};
    ret_parts[3] = (struct ledger_part){"the sending program", part_of(row->app_ratio)};
}

void text_add_ledger_heading(const struct tl_ledger_row *row, struct tl_buf *out)
{
    char time[TL_UNIT_TEXT_SIZE];
    tl_buf_addf(out, "What one stream waited for, %s%s%s", tl_direction_name(row->direction),
                isfinite(row->duration_ns) ? ", in " : "",
                isfinite(row->duration_ns) ? tl_format_ns(row->duration_ns, time) : "");
}
