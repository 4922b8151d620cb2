/* From a document of findings.schema.json to the row that lists show. The document may be
 * hostile: texts are cut, numbers checked, what has the wrong type is refused. */
#include "summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tightlink/base/time.h"
#include "tightlink/base/utf8.h"
#include "tightlink/document/document.h"
#include "tightlink/facts/told.h"
#include "tightlink/store/history.h"

/* As the reader of saved runs (document/read.c). */
#define VALUES_MAX 50000
#define DEPTH_MAX  16

enum tl_status tl_summary_parse(const char *text, size_t len, struct tl_json **ret_doc,
                                struct tl_error *reterr)
{
    static const struct tl_json_limits limits = {
        .bytes_max = TL_DOCUMENT_BYTES_MAX, .values_max = VALUES_MAX, .depth_max = DEPTH_MAX};
    return tl_json_parse(text, len, &limits, ret_doc, reterr);
}

/* --- Time --------------------------------------------------------------------------------- */

static bool take_digits(const char **text, int count, int *ret_number)
{
    int number = 0;
    for (int i = 0; i < count; i++) {
        if ((*text)[i] < '0' || (*text)[i] > '9')
            return false;
        number = number * 10 + (*text)[i] - '0';
    }
    *text += count;
    *ret_number = number;
    return true;
}

static bool take(const char **text, char c)
{
    if (**text != c)
        return false;
    ++*text;
    return true;
}

/* "Z", "+02:00", "-05:30": minutes east. */
static bool take_offset(const char **text, int *ret_minutes)
{
    int hours, minutes, sign = **text == '-' ? -1 : 1;
    if (take(text, 'Z')) {
        *ret_minutes = 0;
        return true;
    }
    if (!take(text, '+') && !take(text, '-'))
        return false;
    if (!take_digits(text, 2, &hours) || !take(text, ':') || !take_digits(text, 2, &minutes) ||
        hours > 23 || minutes > 59)
        return false;
    *ret_minutes = sign * (60 * hours + minutes);
    return true;
}

enum tl_status tl_history_time(const char *text, int64_t *ret_ns)
{
    struct tm tm = {0};
    int64_t fraction = 0, unit = TL_NS_PER_S;
    int minutes;
    bool good = take_digits(&text, 4, &tm.tm_year) && take(&text, '-') &&
                take_digits(&text, 2, &tm.tm_mon) && take(&text, '-') &&
                take_digits(&text, 2, &tm.tm_mday) && take(&text, 'T') &&
                take_digits(&text, 2, &tm.tm_hour) && take(&text, ':') &&
                take_digits(&text, 2, &tm.tm_min) && take(&text, ':') &&
                take_digits(&text, 2, &tm.tm_sec);
    if (good && take(&text, '.'))
        for (; *text >= '0' && *text <= '9'; text++) {
            unit /= 10;
            fraction += unit * (*text - '0');
        }
    if (!good || !take_offset(&text, &minutes) || *text || tm.tm_year < 1970 || tm.tm_year > 2200 ||
        tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 ||
        tm.tm_min > 59 || tm.tm_sec > 60)
        return TL_SYNTAX;
    tm.tm_year -= 1900;
    tm.tm_mon--;
    *ret_ns = ((int64_t)timegm(&tm) - minutes * 60) * TL_NS_PER_S + fraction;
    return TL_OK;
}

/* --- Members -------------------------------------------------------------------------------- */

/* Copies a text, cut at a character's end. */
static void copy_text(const char *text, char *ret_text, size_t size)
{
    size_t at = 0, len = strlen(text);
    while (at < len) {
        size_t step = tl_utf8_decode(text + at, len - at, NULL);
        if (step == 0 || at + step >= size)
            break;
        at += step;
    }
    memcpy(ret_text, text, at);
    ret_text[at] = '\0';
}

static enum tl_status need_text(const struct tl_json_at *object, const char *key, char *ret_text,
                                size_t size, struct tl_error *reterr)
{
    const char *text;
    enum tl_status status = tl_json_get_string(object, key, &text, reterr);
    if (status == TL_OK)
        copy_text(text, ret_text, size);
    return status;
}

/* "" where it is absent or null. */
static enum tl_status may_text(const struct tl_json_at *object, const char *key, char *ret_text,
                               size_t size, struct tl_error *reterr)
{
    struct tl_json_at at;
    if (tl_json_find(object, key, &at) && tl_json_type(&at) != TL_JSON_NULL)
        return need_text(object, key, ret_text, size, reterr);
    return TL_OK;
}

static enum tl_status may_number(const struct tl_json_at *object, const char *key,
                                 double *ret_number, struct tl_error *reterr)
{
    struct tl_json_at at;
    *ret_number = (double)NAN;
    if (tl_json_find(object, key, &at) && tl_json_type(&at) != TL_JSON_NULL)
        return tl_json_number(&at, ret_number, reterr);
    return TL_OK;
}

static enum tl_status read_target(const struct tl_json_at *target, struct tl_summary *summary,
                                  struct tl_error *reterr)
{
    char name[256], proxy[256] = "";
    enum tl_status status = need_text(target, "name", name, sizeof name, reterr);
    if (status == TL_OK)
        status = may_text(target, "proxy", proxy, sizeof proxy, reterr);
    if (status == TL_OK)
        status =
            need_text(target, "kind", summary->target_kind, sizeof summary->target_kind, reterr);
    if (status == TL_OK)
        snprintf(summary->target, sizeof summary->target, "%s%s%s", name,
                 proxy[0] ? TL_HISTORY_VIA : "", proxy);
    return status;
}

static enum tl_status read_run(const struct tl_json_at *root, struct tl_summary *summary,
                               struct tl_error *reterr)
{
    struct tl_json_at run, target, quality, at;
    enum tl_status status = tl_json_get_object(root, "run", &run, reterr);
    if (status == TL_OK)
        status = need_text(&run, "id", summary->id, sizeof summary->id, reterr);
    if (status == TL_OK && (strlen(summary->id) != 26 ||
                            strspn(summary->id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != 26)) {
        (void)tl_json_find(&run, "id", &at);
        status = tl_json_error(&at, reterr, TL_SYNTAX, "this is no ULID");
    }
    if (status == TL_OK)
        status = need_text(&run, "started", summary->started, sizeof summary->started, reterr);
    if (status == TL_OK && tl_history_time(summary->started, &summary->started_ns) != TL_OK) {
        (void)tl_json_find(&run, "started", &at);
        status = tl_json_error(&at, reterr, TL_SYNTAX, "this is no RFC 3339 time");
    }
    if (status == TL_OK)
        status =
            tl_json_get_integer(&run, "duration_ns", 0, INT64_MAX, &summary->duration_ns, reterr);
    if (status == TL_OK)
        status = tl_json_get_object(&run, "target", &target, reterr);
    if (status == TL_OK)
        status = read_target(&target, summary, reterr);
    if (status == TL_OK)
        status = tl_json_get_object(&run, "quality", &quality, reterr);
    if (status == TL_OK)
        status = need_text(&quality, "status", summary->quality, sizeof summary->quality, reterr);
    return status;
}

/* Without a verdict's own direction: the one that was asked for. */
static enum tl_status read_direction(const struct tl_json_at *root,
                                     const struct tl_json_at *verdict, struct tl_summary *summary,
                                     struct tl_error *reterr)
{
    struct tl_json_at run, directions, first;
    const char *text;
    enum tl_status status =
        may_text(verdict, "direction", summary->direction, sizeof summary->direction, reterr);
    if (status != TL_OK || summary->direction[0])
        return status;
    status = tl_json_get_object(root, "run", &run, reterr);
    if (status == TL_OK)
        status = tl_json_get_array(&run, "directions", &directions, reterr);
    if (status != TL_OK || tl_json_count(&directions) == 0)
        return status;
    first = tl_json_item(&directions, 0);
    status = tl_json_string(&first, &text, reterr);
    if (status == TL_OK)
        copy_text(text, summary->direction, sizeof summary->direction);
    return status;
}

static enum tl_status read_verdict(const struct tl_json_at *root, struct tl_summary *summary,
                                   struct tl_error *reterr)
{
    struct tl_json_at verdict, at;
    enum tl_status status = tl_json_get_object(root, "verdict", &verdict, reterr);
    if (status == TL_OK)
        status = need_text(&verdict, "state", summary->state, sizeof summary->state, reterr);
    if (status == TL_OK)
        status =
            need_text(&verdict, "sentence", summary->sentence, sizeof summary->sentence, reterr);
    if (status == TL_OK)
        status = may_text(&verdict, "cause", summary->cause, sizeof summary->cause, reterr);
    if (status == TL_OK)
        status = may_text(&verdict, "segment", summary->segment, sizeof summary->segment, reterr);
    if (status == TL_OK)
        status = may_number(&verdict, "confidence", &summary->confidence, reterr);
    if (status == TL_OK)
        status = may_number(&verdict, "measured_bps", &summary->measured_bps, reterr);
    if (status == TL_OK)
        status = may_number(&verdict, "fixed_bps", &summary->fixed_bps, reterr);
    if (status == TL_OK && tl_json_find(&verdict, "fixed_at_least", &at))
        summary->fixed_bps = (double)NAN; /* a lower bound predicts no rate */
    bool promised = true;                 /* documents of before say nothing about it */
    if (status == TL_OK && tl_json_find(&verdict, "fixed_promised", &at))
        status = tl_json_get_bool(&verdict, "fixed_promised", &promised, reterr);
    if (!promised)
        summary->fixed_bps = (double)NAN;
    if (status == TL_OK)
        status = read_direction(root, &verdict, summary, reterr);
    return status;
}

/* The remedy that was tried: the first one is that of the verdict. */
static enum tl_status read_tried(const struct tl_json_at *root, struct tl_summary *summary,
                                 struct tl_error *reterr)
{
    struct tl_json_at findings, verified;
    bool hit = false;
    char score[16] = "";
    summary->hit = -1;
    summary->tried_predicted_bps = summary->tried_measured_bps = (double)NAN;
    enum tl_status status = tl_json_get_array(root, "findings", &findings, reterr);
    for (size_t i = 0; status == TL_OK && i < tl_json_count(&findings) && summary->hit < 0; i++) {
        struct tl_json_at finding = tl_json_item(&findings, i);
        if (!tl_json_find(&finding, "verified", &verified) ||
            tl_json_type(&verified) == TL_JSON_NULL)
            continue;
        status = tl_json_get_bool(&verified, "hit", &hit, reterr);
        if (status == TL_OK)
            status = may_number(&verified, "predicted_bps", &summary->tried_predicted_bps, reterr);
        if (status == TL_OK)
            status = may_number(&verified, "measured_bps", &summary->tried_measured_bps, reterr);
        if (status == TL_OK)
            status = may_text(&verified, "score", score, sizeof score, reterr);
        if (strcmp(score, "bound") == 0) /* nothing was predicted that could be a hit or a miss */
            break;
        summary->hit = hit || strcmp(score, "inside") == 0;
    }
    return status;
}

double tl_summary_fact(const struct tl_json *doc, const char *id, double *ret_low, double *ret_high)
{
    struct tl_json_at root = tl_json_root(doc), facts, fact, at;
    double value = (double)NAN;
    if (ret_low)
        *ret_low = *ret_high = value;
    if (!tl_json_find(&root, "facts", &facts) || !tl_json_find(&facts, id, &fact) ||
        !tl_json_find(&fact, "value", &at) || tl_json_number(&at, &value, NULL) != TL_OK)
        return (double)NAN;
    if (ret_low) {
        *ret_low = *ret_high = value;
        double bound;
        if (tl_json_find(&fact, "low", &at) && tl_json_number(&at, &bound, NULL) == TL_OK)
            *ret_low = bound;
        if (tl_json_find(&fact, "high", &at) && tl_json_number(&at, &bound, NULL) == TL_OK)
            *ret_high = bound;
    }
    return value;
}

static double flow_fact(const struct tl_json *doc, const struct tl_summary *summary,
                        const char *name)
{
    char id[96];
    snprintf(id, sizeof id, "%s.%s", summary->direction, name);
    return tl_summary_fact(doc, id, NULL, NULL);
}

/* A rate of the direction, and half of what it may be off by; each NAN where it is not known. */
static double rate_of(const struct tl_json *doc, const char *direction, const char *name,
                      double *ret_doubt)
{
    char id[96];
    double low, high;
    snprintf(id, sizeof id, "%.15s.%s", direction, name);
    double value = tl_summary_fact(doc, id, &low, &high);
    *ret_doubt = high > low ? (high - low) / 2 : (double)NAN;
    return value;
}

/* That of a rate which was measured; else that of a prediction. */
static double told_doubt(const struct tl_json *doc, const char *direction, double bps)
{
    for (size_t i = 0; i < TL_TOLD_RATES; i++) {
        double doubt;
        if (rate_of(doc, direction, tl_fact_def(tl_told_rates[i])->name, &doubt) == bps)
            return doubt;
    }
    return TL_PREDICTION_DOUBT * bps;
}

static void read_rates(const struct tl_json *doc, struct tl_summary *summary)
{
    const char *direction = summary->direction;
    summary->stream_bps = rate_of(doc, direction, "goodput_bps", &summary->stream_doubt_bps);
    summary->streams_bps =
        rate_of(doc, direction, "streams_goodput_bps", &summary->streams_doubt_bps);
    summary->measured_doubt_bps = told_doubt(doc, direction, summary->measured_bps);
    summary->fixed_doubt_bps = told_doubt(doc, direction, summary->fixed_bps);
    summary->tried_doubt_bps = told_doubt(doc, direction, summary->tried_predicted_bps);
}

enum tl_status tl_summary_read(const struct tl_json *doc, struct tl_summary *ret_summary,
                               struct tl_error *reterr)
{
    struct tl_json_at root = tl_json_root(doc);
    struct tl_summary summary = {0};
    const char *format;
    enum tl_status status = tl_json_get_string(&root, "format", &format, reterr);
    if (status == TL_OK && strcmp(format, "tightlink.findings/1") != 0)
        status = tl_error_set(reterr, TL_VERSION,
                              "the document has another format than tightlink.findings/1: was it "
                              "written by a newer tightlink?");
    if (status == TL_OK)
        status = read_run(&root, &summary, reterr);
    if (status == TL_OK)
        status = read_verdict(&root, &summary, reterr);
    if (status == TL_OK)
        status = read_tried(&root, &summary, reterr);
    if (status != TL_OK)
        return status;
    read_rates(doc, &summary);
    summary.loaded_rtt_ns = flow_fact(doc, &summary, "loaded_rtt_ns");
    summary.retrans_ratio = flow_fact(doc, &summary, "retrans_ratio");
    summary.rtt_ns = tl_summary_fact(doc, "path.rtt_min_ns", NULL, NULL);
    *ret_summary = summary;
    return TL_OK;
}
