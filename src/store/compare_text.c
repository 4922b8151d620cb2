/* A comparison as text for people and as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/cause_name.h"
#include "tightlink/base/units.h"
#include "tightlink/base/utf8.h"
#include "tightlink/store/compare.h"

#define CELL 40

static const char *format_number(double value, enum tl_unit unit, char ret_text[CELL])
{
    char text[TL_UNIT_TEXT_SIZE];
    if (isnan(value))
        return "-";
    switch (unit) {
    case TL_UNIT_BPS:
        tl_format_bps(value, text);
        break;
    case TL_UNIT_NS:
        tl_format_ns(value, text);
        break;
    case TL_UNIT_RATIO:
        tl_format_ratio(value, text);
        break;
    case TL_UNIT_BOOL:
        return value != 0 ? "on" : "off";
    default: /* settings are written as they are set */
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
                    100 * row->low_ratio, 100 * row->high_ratio);
}

static void add_side(const char *letter, const struct tl_compare_side *side, struct tl_buf *out)
{
    char rate[CELL];
    tl_buf_addf(out, " %s %.8s  %.10s %.5s  %-9s %-22.22s %s\n", letter, side->id, side->started,
                side->started + (strlen(side->started) > 11 ? 11 : 0), side->direction,
                tl_cause_name(side->cause[0] ? side->cause : side->state),
                format_number(side->measured_bps, TL_UNIT_BPS, rate));
    if (strcmp(side->quality, "valid") != 0)
        tl_buf_addf(out, "   its measurements are %s\n", side->quality);
}

static void add_settings(const struct tl_comparison *comparison, struct tl_buf *out)
{
    char a[CELL], b[CELL];
    if (!comparison->setting_count) {
        tl_buf_adds(out, "No setting of either host differs.\n");
        return;
    }
    tl_buf_adds(out, "Settings that differ\n");
    for (size_t i = 0; i < comparison->setting_count; i++) {
        const struct tl_compare_setting *setting = &comparison->settings[i];
        bool text = setting->unit == TL_UNIT_TEXT;
        tl_buf_addf(out, "  %-34.34s %18.18s -> ", setting->id,
                    text ? setting->a_text : format_number(setting->a, setting->unit, a));
        tl_utf8_add_clean(out, text ? setting->b_text : format_number(setting->b, setting->unit, b),
                          true);
        tl_buf_adds(out, "\n");
    }
    if (comparison->setting_total > comparison->setting_count)
        tl_buf_addf(out, "  and %zu more\n", comparison->setting_total - comparison->setting_count);
}

void tl_compare_text(const struct tl_comparison *comparison, struct tl_buf *out)
{
    char a[CELL], b[CELL], change[CELL];
    tl_buf_adds(out, "Compare ");
    tl_utf8_add_clean(out, comparison->a.target, true);
    if (!comparison->same_target) {
        tl_buf_adds(out, " with ");
        tl_utf8_add_clean(out, comparison->b.target, true);
    }
    tl_buf_adds(out, "\n");
    add_side("A", &comparison->a, out);
    add_side("B", &comparison->b, out);
    tl_buf_addf(out, "\n%-19s %12s %12s %8s  %s\n", "", "A", "B", "change", "beyond noise? (95 %)");
    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct tl_compare_row *row = &comparison->rows[i];
        snprintf(change, sizeof change, "%+.0f %%", 100 * row->change_ratio);
        tl_buf_addf(out, "%-18s %11s %11s %8s  ", row->label, format_number(row->a, row->unit, a),
                    format_number(row->b, row->unit, b),
                    isfinite(row->change_ratio) ? change : "-");
        add_beyond(row, out);
        tl_buf_adds(out, "\n");
    }
    tl_buf_adds(out, "Noise within a run only: two hours may differ for other reasons.\n\n");
    add_settings(comparison, out);
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
