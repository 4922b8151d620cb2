/* A comparison as text for people and as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tightlink/base/cause_name.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/base/utf8.h"
#include "tightlink/store/compare.h"
#include "tightlink/store/history.h"

#define CELL 40
/* Narrower than this the rows are lines. */
#define TABLE_COLUMNS 76
/* An MTU is 1500 B, not 1.46 KiB; buffers are larger. */
#define ODD_BYTES_MAX 65536

static const char *format_number(double value, double doubt, enum tl_unit unit, char ret_text[CELL])
{
    char text[TL_UNIT_TEXT_SIZE];
    if (isnan(value))
        return "-";
    switch (unit) {
    case TL_UNIT_BPS:
        tl_format_bps_known(value, doubt, text);
        break;
    case TL_UNIT_NS:
        tl_format_ns_known(value, doubt, text);
        break;
    case TL_UNIT_BYTES:
        if (value < ODD_BYTES_MAX && fmod(value, 1024) != 0)
            snprintf(text, sizeof text, "%.0f B", value);
        else
            tl_format_bytes(value, text);
        break;
    case TL_UNIT_RATIO:
        tl_format_ratio(value, text);
        break;
    case TL_UNIT_BOOL:
        return value != 0 ? "on" : "off";
    default:
        snprintf(text, sizeof text, "%.12g", value);
        break;
    }
    snprintf(ret_text, CELL, "%s", text);
    return ret_text;
}

/* "yes (+840 to +860 %)"; small changes with a digit more. */
static void add_beyond(const struct tl_compare_row *row, struct tl_buf *out)
{
    tl_buf_adds(out, tl_beyond_noise_name(row->beyond));
    if (isfinite(row->low_ratio) && isfinite(row->high_ratio))
        tl_buf_addf(out,
                    row->high_ratio - row->low_ratio < 0.1 ? " (%+.1f to %+.1f %%)"
                                                           : " (%+.0f to %+.0f %%)",
                    100 * tl_compare_known_ratio(row, row->low_ratio),
                    100 * tl_compare_known_ratio(row, row->high_ratio));
}

/* Local time, as in the list of runs. */
static const char *when(const char *started, char ret_text[CELL])
{
    int64_t ns;
    struct tm parts;
    if (tl_history_time(started, &ns) != TL_OK)
        return "-";
    time_t seconds = (time_t)(ns / TL_NS_PER_S);
    if (!localtime_r(&seconds, &parts) || !strftime(ret_text, CELL, "%Y-%m-%d %H:%M", &parts))
        return "-";
    return ret_text;
}

/* What a document says, for a column of so many bytes: a kept run is a stranger's file. */
#define COLUMN(bytes) ((bytes) + 1)

static const char *column(const char *text, char *ret_text, size_t size)
{
    tl_utf8_clean(text, strlen(text), ret_text, size);
    return ret_text;
}

static void add_side(const char *letter, const struct tl_compare_side *side, bool narrow,
                     struct tl_buf *out)
{
    char rate[CELL], started[CELL], id[COLUMN(8)], cause[COLUMN(22)], quality[COLUMN(22)];
    const char *name = tl_cause_name(side->cause[0] ? side->cause : side->state);
    tl_buf_addf(out, narrow ? " %s %s %s, %s, %s, %s\n" : " %s %s  %-16s  %-9s %-22s %s\n", letter,
                column(side->id, id, sizeof id), when(side->started, started), side->direction,
                column(name, cause, sizeof cause),
                format_number(side->measured_bps, side->measured_doubt_bps, TL_UNIT_BPS, rate));
    if (strcmp(side->quality, "valid") != 0)
        tl_buf_addf(out, "   its measurements are %s\n",
                    column(side->quality, quality, sizeof quality));
}

/* In units that people read; as they are set where those would hide the difference. */
static void add_setting(const struct tl_compare_setting *setting, bool narrow, struct tl_buf *out)
{
    char name[COLUMN(80)], a[CELL], b[CELL], was[COLUMN(18)];
    const char *before = setting->a_text, *after = setting->b_text;
    if (setting->unit != TL_UNIT_TEXT) {
        before = format_number(setting->a, 0, setting->unit, a);
        after = format_number(setting->b, 0, setting->unit, b);
        if (strcmp(before, after) == 0) {
            before = format_number(setting->a, 0, TL_UNIT_NUMBER, a);
            after = format_number(setting->b, 0, TL_UNIT_NUMBER, b);
        }
    }
    bool here = strncmp(setting->id, "near.", 5) == 0, there = strncmp(setting->id, "far.", 4) == 0;
    snprintf(name, sizeof name, "%s%s",
             here    ? "this PC: "
             : there ? "far end: "
                     : "",
             setting->id + (here    ? 5
                            : there ? 4
                                    : 0));
    tl_buf_addf(out, narrow ? "  %s %s -> " : "  %-34s %18s -> ", name,
                column(before, was, sizeof was));
    tl_utf8_add_clean(out, after, true);
    tl_buf_adds(out, "\n");
}

static void add_settings(const struct tl_comparison *comparison, bool narrow, struct tl_buf *out)
{
    if (!comparison->setting_count) {
        tl_buf_adds(out, "No setting of either host differs.\n");
        return;
    }
    tl_buf_adds(out, "Settings that differ\n");
    for (size_t i = 0; i < comparison->setting_count; i++)
        add_setting(&comparison->settings[i], narrow, out);
    if (comparison->setting_total > comparison->setting_count)
        tl_buf_addf(out, "  and %zu more\n", comparison->setting_total - comparison->setting_count);
}

/* A row as a table has it, or as a line where a table has no room. */
static void add_row(const struct tl_compare_row *row, bool narrow, struct tl_buf *out)
{
    char a[CELL], b[CELL], change[CELL] = "-";
    double percent = round(100 * tl_compare_known_ratio(row, row->change_ratio));
    if (isfinite(row->change_ratio))
        snprintf(change, sizeof change, "%+.0f %%", percent + 0.0); /* never "-0" */
    tl_buf_addf(out, narrow ? " %s: %s -> %s, %s; beyond noise: " : "%-18s %11s %11s %8s  ",
                row->label, format_number(row->a, row->a_doubt, row->unit, a),
                format_number(row->b, row->b_doubt, row->unit, b), change);
    add_beyond(row, out);
    tl_buf_adds(out, "\n");
}

void tl_compare_text(const struct tl_comparison *comparison, int columns, struct tl_buf *out)
{
    bool narrow = columns < TABLE_COLUMNS;
    tl_buf_adds(out, "Compare ");
    tl_utf8_add_clean(out, comparison->a.target, true);
    if (!comparison->same_target) {
        tl_buf_adds(out, " with ");
        tl_utf8_add_clean(out, comparison->b.target, true);
    }
    tl_buf_adds(out, "\n");
    add_side("A", &comparison->a, narrow, out);
    add_side("B", &comparison->b, narrow, out);
    if (narrow)
        tl_buf_adds(out, "\n");
    else
        tl_buf_addf(out, "\n%-19s %12s %12s %8s  %s\n", "", "A", "B", "change",
                    "beyond noise? (95 %)");
    for (size_t i = 0; i < comparison->row_count; i++)
        add_row(&comparison->rows[i], narrow, out);
    tl_buf_adds(out, "Noise within a run only: two hours may differ for other reasons.\n\n");
    add_settings(comparison, narrow, out);
    tl_buf_adds(out, "\n");
    char first = comparison->sentence[0];
    if (first >= 'a' && first <= 'z')
        first = (char)(first - 'a' + 'A');
    tl_buf_addf(out, "%c%s\n", first, comparison->sentence + 1);
}

static void add_side_json(struct tl_json_writer *w, const char *key,
                          const struct tl_compare_side *side)
{
    tl_json_begin_object(w, key);
    tl_json_add_string(w, "id", side->id);
    tl_json_add_string(w, "started", side->started);
    tl_json_add_string(w, "target", side->target);
    tl_json_add_string(w, "direction", side->direction);
    tl_json_add_string(w, "state", side->state);
    if (side->cause[0])
        tl_json_add_string(w, "cause", side->cause);
    if (side->segment[0])
        tl_json_add_string(w, "segment", side->segment);
    tl_json_add_string(w, "quality", side->quality);
    tl_json_add_number(w, "measured_bps", side->measured_bps);
    tl_json_end(w);
}

void tl_compare_json(const struct tl_comparison *comparison, struct tl_json_writer *w)
{
    tl_json_begin_object(w, NULL);
    tl_json_add_string(w, "format", "tightlink.comparison/1");
    tl_json_add_string(w, "sentence", comparison->sentence);
    add_side_json(w, "a", &comparison->a);
    add_side_json(w, "b", &comparison->b);
    tl_json_add_bool(w, "same_target", comparison->same_target);
    tl_json_add_bool(w, "verdict_moved", comparison->verdict_moved);
    tl_json_begin_array(w, "rows");
    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct tl_compare_row *row = &comparison->rows[i];
        tl_json_begin_object(w, NULL);
        tl_json_add_string(w, "id", row->id);
        tl_json_add_string(w, "unit", tl_unit_name(row->unit));
        tl_json_add_number(w, "a", row->a);
        tl_json_add_number(w, "b", row->b);
        tl_json_add_number(w, "change_ratio", row->change_ratio);
        tl_json_add_number(w, "low_ratio", row->low_ratio);
        tl_json_add_number(w, "high_ratio", row->high_ratio);
        tl_json_add_string(w, "beyond_noise", tl_beyond_noise_name(row->beyond));
        if (row->method[0])
            tl_json_add_string(w, "method", row->method);
        tl_json_end(w);
    }
    tl_json_end(w);
    tl_json_begin_array(w, "settings");
    for (size_t i = 0; i < comparison->setting_count; i++) {
        const struct tl_compare_setting *setting = &comparison->settings[i];
        tl_json_begin_object(w, NULL);
        tl_json_add_string(w, "id", setting->id);
        if (setting->unit == TL_UNIT_TEXT) {
            tl_json_add_string(w, "a", setting->a_text);
            tl_json_add_string(w, "b", setting->b_text);
        } else {
            tl_json_add_number(w, "a", setting->a);
            tl_json_add_number(w, "b", setting->b);
        }
        tl_json_end(w);
    }
    tl_json_end(w);
    if (comparison->predicted) {
        tl_json_begin_object(w, "prediction");
        tl_json_add_number(w, "predicted_bps", comparison->predicted_bps);
        tl_json_add_number(w, "measured_bps", comparison->got_bps);
        tl_json_add_bool(w, "hit", comparison->hit);
        tl_json_end(w);
    }
    tl_json_end(w);
}
