/* Two documents side by side. What is said of it in words is in compare_text.c. */
#include "tightlink/store/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "summary.h"
#include "tightlink/base/cause_name.h"
#include "tightlink/base/stats.h"
#include "tightlink/base/units.h"

/* Readings of one steady part that are looked at. */
#define READINGS_MAX 2048

const char *tl_beyond_noise_name(enum tl_beyond_noise beyond)
{
    static const char *const names[] = {"no", "yes", "cannot tell"};
    return names[beyond];
}

static void fill_side(const struct tl_summary *summary, struct tl_compare_side *side)
{
    snprintf(side->id, sizeof side->id, "%s", summary->id);
    snprintf(side->started, sizeof side->started, "%s", summary->started);
    snprintf(side->target, sizeof side->target, "%s", summary->target);
    snprintf(side->direction, sizeof side->direction, "%s", summary->direction);
    snprintf(side->state, sizeof side->state, "%s", summary->state);
    snprintf(side->cause, sizeof side->cause, "%s", summary->cause);
    snprintf(side->segment, sizeof side->segment, "%s", summary->segment);
    snprintf(side->quality, sizeof side->quality, "%s", summary->quality);
    snprintf(side->sentence, sizeof side->sentence, "%.255s", summary->sentence);
    side->measured_bps = summary->measured_bps;
    side->fixed_bps = summary->fixed_bps;
    side->measured_doubt_bps = summary->measured_doubt_bps;
    side->fixed_doubt_bps = summary->fixed_doubt_bps;
}

/* --- Quantities ------------------------------------------------------------------------------ */

struct bounded {
    double value, low, high;
};

static double doubt_of(const struct bounded *b)
{
    return b->high > b->low ? (b->high - b->low) / 2 : 0;
}

static bool has_bounds(const struct bounded *b)
{
    return isfinite(b->value) && b->low < b->high;
}

/* Bounds of a quotient from those of its parts: half widths add in squares. Of a share that may
 * be 0 only whether the bounds lie apart. */
static void judge_bounds(struct tl_compare_row *row, const struct bounded *a,
                         const struct bounded *b)
{
    if (!has_bounds(a) || !has_bounds(b))
        return;
    row->method = "bounds";
    if (!(a->value > 0) || !(b->value > 0)) {
        row->beyond = a->high < b->low || b->high < a->low ? TL_BEYOND_YES : TL_BEYOND_NO;
        return;
    }
    /* On a logarithmic scale, where a quotient's bounds stay above 0. */
    double quotient = b->value / a->value;
    double down = hypot(log(a->high / a->value), log(b->value / fmax(b->low, 0)));
    double up = hypot(log(a->value / fmax(a->low, 0)), log(b->high / b->value));
    row->low_ratio = quotient * exp(-down) - 1;
    row->high_ratio = quotient * exp(up) - 1;
}

/* Rates of the steady part of one stream, "samples"/direction/"rate_bps", where a document
 * has them. */
static size_t read_readings(const struct tl_json *doc, const char *direction, double *ret_values)
{
    struct tl_json_at root = tl_json_root(doc), at;
    size_t count = 0;
    if (!tl_json_find(&root, "samples", &at) || !tl_json_find(&at, direction, &at) ||
        !tl_json_find(&at, "rate_bps", &at))
        return 0;
    for (size_t i = 0; i < tl_json_count(&at) && count < READINGS_MAX; i++) {
        struct tl_json_at item = tl_json_item(&at, i);
        double value;
        if (tl_json_number(&item, &value, NULL) == TL_OK)
            ret_values[count++] = value;
    }
    return count;
}

static void judge_readings(struct tl_compare_row *row, const struct tl_json *a,
                           const struct tl_json *b, const char *direction)
{
    double first[READINGS_MAX], second[READINGS_MAX], low, high;
    size_t a_count = read_readings(a, direction, first);
    size_t b_count = read_readings(b, direction, second);
    tl_stats_bootstrap_ratio95(first, a_count, second, b_count, &low, &high);
    if (!isfinite(low) || !isfinite(high))
        return;
    row->method = "readings";
    row->low_ratio = low;
    row->high_ratio = high;
}

static void add_row(struct tl_comparison *comparison, const struct tl_json *a,
                    const struct tl_json *b, const char *id, const char *label, enum tl_unit unit,
                    const char *readings_of)
{
    struct bounded first, second;
    first.value = tl_summary_fact(a, id, &first.low, &first.high);
    second.value = tl_summary_fact(b, id, &second.low, &second.high);
    if (isnan(first.value) && isnan(second.value))
        return;
    struct tl_compare_row *row = &comparison->rows[comparison->row_count++];
    *row = (struct tl_compare_row){.unit = unit,
                                   .a = first.value,
                                   .b = second.value,
                                   .a_doubt = doubt_of(&first),
                                   .b_doubt = doubt_of(&second),
                                   .change_ratio = (double)NAN,
                                   .low_ratio = (double)NAN,
                                   .high_ratio = (double)NAN,
                                   .beyond = TL_BEYOND_CANNOT_TELL,
                                   .method = ""};
    snprintf(row->id, sizeof row->id, "%s", id);
    snprintf(row->label, sizeof row->label, "%s", label);
    if (first.value > 0)
        row->change_ratio = second.value / first.value - 1;
    judge_bounds(row, &first, &second);
    if (readings_of)
        judge_readings(row, a, b, readings_of);
    if (!isnan(row->low_ratio) && isfinite(row->change_ratio))
        row->beyond = (row->low_ratio > 0 || row->high_ratio < 0) &&
                              fabs(row->change_ratio) > TL_COMPARE_LEAST_RATIO
                          ? TL_BEYOND_YES
                          : TL_BEYOND_NO;
    else if (first.value == second.value) /* without bounds either: nothing changed */
        row->beyond = TL_BEYOND_NO;
}

static void add_rows(struct tl_comparison *comparison, const struct tl_json *a,
                     const struct tl_json *b)
{
    static const struct {
        const char *name, *label;
        enum tl_unit unit;
        bool has_readings;
    } flow[] = {{"goodput_bps", "one stream", TL_UNIT_BPS, true},
                {"streams_goodput_bps", "several streams", TL_UNIT_BPS, false},
                {"file_goodput_bps", "file to file", TL_UNIT_BPS, false},
                {"loaded_rtt_ns", "round trip, loaded", TL_UNIT_NS, false},
                {"retrans_ratio", "sent again", TL_UNIT_RATIO, false}};
    const char *direction = comparison->b.direction;
    char id[64];
    if (strcmp(comparison->a.direction, direction) == 0) {
        for (size_t i = 0; i < sizeof flow / sizeof *flow; i++) {
            snprintf(id, sizeof id, "%.15s.%s", direction, flow[i].name);
            add_row(comparison, a, b, id, flow[i].label, flow[i].unit,
                    flow[i].has_readings ? direction : NULL);
        }
    }
    add_row(comparison, a, b, "path.rtt_min_ns", "round trip, idle", TL_UNIT_NS, NULL);
    add_row(comparison, a, b, "path.mtu_bytes", "path MTU", TL_UNIT_BYTES, NULL);
}

/* --- Settings -------------------------------------------------------------------------------- */

/* The audit also reads what changes by itself. */
static bool is_volatile(const char *id)
{
    static const char *const parts[] = {".load_",           ".steal_",          ".pressure_",
                                        ".other_",          ".wifi_signal",     ".wifi_tx_bitrate",
                                        ".wifi_rx_bitrate", ".conntrack_count", "_used_",
                                        ".cpu_frequency_",  "_changes_count"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(id, parts[i]))
            return true;
    return false;
}

static enum tl_unit unit_named(const char *name)
{
    for (int unit = TL_UNIT_NUMBER; unit <= TL_UNIT_TEXT; unit++)
        if (strcmp(tl_unit_name((enum tl_unit)unit), name) == 0)
            return (enum tl_unit)unit;
    return TL_UNIT_NUMBER;
}

/* A known fact of the audit as number or text. */
static bool read_setting(const struct tl_json_at *fact, double *ret_number, char ret_text[64],
                         enum tl_unit *ret_unit)
{
    struct tl_json_at value;
    const char *text;
    bool yes;
    if (tl_json_get_string(fact, "stage", &text, NULL) != TL_OK || strcmp(text, "hosts") != 0 ||
        !tl_json_find(fact, "value", &value))
        return false;
    *ret_number = (double)NAN;
    ret_text[0] = '\0';
    *ret_unit = TL_UNIT_TEXT;
    if (tl_json_string(&value, &text, NULL) == TL_OK) {
        snprintf(ret_text, 64, "%.63s", text);
        return true;
    }
    *ret_unit =
        tl_json_get_string(fact, "unit", &text, NULL) == TL_OK ? unit_named(text) : TL_UNIT_NUMBER;
    if (tl_json_bool(&value, &yes, NULL) == TL_OK) {
        *ret_number = yes;
        *ret_unit = TL_UNIT_BOOL;
        return true;
    }
    return tl_json_number(&value, ret_number, NULL) == TL_OK;
}

static void add_settings(struct tl_comparison *comparison, const struct tl_json *a,
                         const struct tl_json *b)
{
    struct tl_json_at a_root = tl_json_root(a), b_root = tl_json_root(b), a_facts, b_facts, fact,
                      other;
    const char *id;
    if (!tl_json_find(&a_root, "facts", &a_facts) || !tl_json_find(&b_root, "facts", &b_facts) ||
        tl_json_type(&a_facts) != TL_JSON_OBJECT)
        return;
    struct tl_json_members members = tl_json_members(&a_facts);
    while (tl_json_next(&members, &id, &fact)) {
        struct tl_compare_setting setting = {0};
        enum tl_unit unit;
        if (is_volatile(id) || !tl_json_find(&b_facts, id, &other) ||
            !read_setting(&fact, &setting.a, setting.a_text, &setting.unit) ||
            !read_setting(&other, &setting.b, setting.b_text, &unit) || unit != setting.unit ||
            (unit == TL_UNIT_TEXT ? strcmp(setting.a_text, setting.b_text) == 0
                                  : setting.a == setting.b))
            continue;
        comparison->setting_total++;
        if (comparison->setting_count == TL_COMPARE_SETTINGS_MAX)
            continue;
        snprintf(setting.id, sizeof setting.id, "%.63s", id);
        comparison->settings[comparison->setting_count++] = setting;
    }
}

/* --- The whole ------------------------------------------------------------------------------- */

static void score_prediction(struct tl_comparison *comparison)
{
    const struct tl_compare_side *a = &comparison->a, *b = &comparison->b;
    comparison->predicted_bps = comparison->got_bps = (double)NAN;
    if (!comparison->same_target || strcmp(a->direction, b->direction) != 0 || !a->cause[0] ||
        strcmp(a->cause, b->cause) == 0 || !(a->fixed_bps > 0) || !(b->measured_bps > 0))
        return;
    comparison->predicted = true;
    comparison->predicted_bps = a->fixed_bps;
    comparison->got_bps = b->measured_bps;
    comparison->hit = fabs(b->measured_bps / a->fixed_bps - 1) <= 0.1;
}

double tl_compare_known_ratio(const struct tl_compare_row *row, double ratio)
{
    return tl_round_known(ratio, (row->high_ratio - row->low_ratio) / 2);
}

static const char *verdict_word(const struct tl_compare_side *side)
{
    return tl_cause_name(side->cause[0] ? side->cause : side->state);
}

/* "; 930 Mb/s were predicted, 912 Mb/s came: a hit" */
static void say_prediction(const struct tl_comparison *comparison, struct tl_buf *out)
{
    char a[TL_UNIT_TEXT_SIZE], b[TL_UNIT_TEXT_SIZE];
    tl_buf_addf(out, "; %s were predicted, %s came: %s",
                tl_format_bps_known(comparison->predicted_bps, comparison->a.fixed_doubt_bps, a),
                tl_format_bps_known(comparison->got_bps, comparison->b.measured_doubt_bps, b),
                comparison->hit ? "a hit" : "a miss");
}

/* "one stream went from 96 Mb/s to 910 Mb/s (+850 %), beyond noise; " */
static void say_rates(const struct tl_compare_row *row, struct tl_buf *out)
{
    static const char *const words[] = {[TL_BEYOND_NO] = "within noise",
                                        [TL_BEYOND_YES] = "beyond noise",
                                        [TL_BEYOND_CANNOT_TELL] =
                                            "and nothing tells whether that is noise"};
    char a[TL_UNIT_TEXT_SIZE], b[TL_UNIT_TEXT_SIZE];
    tl_format_bps_known(row->a, row->a_doubt, a);
    tl_format_bps_known(row->b, row->b_doubt, b);
    if (strcmp(a, b) == 0)
        tl_buf_addf(out, "%s got %s in both; ", row->label, a);
    else
        tl_buf_addf(out, "%s went from %s to %s (%+.0f %%), %s; ", row->label, a, b,
                    100 * tl_compare_known_ratio(row, row->change_ratio), words[row->beyond]);
}

static enum tl_status say(struct tl_comparison *comparison, struct tl_error *reterr)
{
    struct tl_buf text = TL_BUF_INIT;
    const struct tl_compare_row *row = comparison->row_count ? &comparison->rows[0] : NULL;
    if (row && row->unit == TL_UNIT_BPS && isfinite(row->change_ratio))
        say_rates(row, &text);
    if (comparison->verdict_moved && strcmp(comparison->a.cause, comparison->b.cause) == 0 &&
        comparison->a.cause[0])
        tl_buf_addf(&text, "the verdict is still %s, but moved from %s to %s",
                    verdict_word(&comparison->b), comparison->a.segment, comparison->b.segment);
    else if (comparison->verdict_moved)
        tl_buf_addf(&text, "the verdict moved from %s to %s", verdict_word(&comparison->a),
                    verdict_word(&comparison->b));
    else
        tl_buf_addf(&text, "the verdict is still %s", verdict_word(&comparison->b));
    if (comparison->predicted)
        say_prediction(comparison, &text);
    snprintf(comparison->sentence, sizeof comparison->sentence, "%.318s.", tl_buf_text(&text));
    enum tl_status status = text.status;
    tl_buf_finish(&text);
    return status == TL_OK ? TL_OK : tl_error_set(reterr, status, "no memory for a sentence");
}

static enum tl_status open_side(const char *text, size_t len, const char *which,
                                struct tl_json **ret_doc, struct tl_compare_side *ret_side,
                                struct tl_error *reterr)
{
    struct tl_summary summary;
    enum tl_status status = tl_summary_parse(text, len, ret_doc, reterr);
    if (status == TL_OK)
        status = tl_summary_read(*ret_doc, &summary, reterr);
    if (status == TL_OK)
        fill_side(&summary, ret_side);
    else
        tl_error_prefix(reterr, "the %s run", which);
    return status;
}

enum tl_status tl_compare_documents(const char *a, size_t a_len, const char *b, size_t b_len,
                                    struct tl_comparison *ret_comparison, struct tl_error *reterr)
{
    struct tl_json *first = NULL, *second = NULL;
    struct tl_comparison comparison = {0};
    enum tl_status status = open_side(a, a_len, "first", &first, &comparison.a, reterr);
    if (status == TL_OK)
        status = open_side(b, b_len, "second", &second, &comparison.b, reterr);
    if (status == TL_OK) {
        comparison.same_target = strcmp(comparison.a.target, comparison.b.target) == 0;
        comparison.verdict_moved = strcmp(comparison.a.state, comparison.b.state) != 0 ||
                                   strcmp(comparison.a.cause, comparison.b.cause) != 0 ||
                                   strcmp(comparison.a.segment, comparison.b.segment) != 0;
        add_rows(&comparison, first, second);
        add_settings(&comparison, first, second);
        score_prediction(&comparison);
        status = say(&comparison, reterr);
    }
    if (status == TL_OK)
        *ret_comparison = comparison;
    tl_json_destroy(first);
    tl_json_destroy(second);
    return status;
}
