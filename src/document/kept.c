/* The readings of a run beside its document, written and read. */
#include "tightlink/document/kept.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/json.h"
#include "tightlink/base/json_write.h"
#include "tightlink/base/units.h"

/* A number of a reading. */
struct number {
    const char *name;
    size_t offset;
};
/* Kept of every reading. */
static const struct number columns[] = {
    {"elapsed_ns", offsetof(struct tl_reading, elapsed_ns)},
    {"rate_bps", offsetof(struct tl_reading, rate_bps)},
    {"rtt_ns", offsetof(struct tl_reading, rtt_ns)},
    {"retrans_count", offsetof(struct tl_reading, retrans_count)}};
#define COLUMN_COUNT (sizeof columns / sizeof *columns)
/* Kept of the last one. */
static const struct number rest[] = {{"bytes", offsetof(struct tl_reading, bytes)},
                                     {"cwnd_bytes", offsetof(struct tl_reading, cwnd_bytes)},
                                     {"snd_wnd_bytes", offsetof(struct tl_reading, snd_wnd_bytes)},
                                     {"app_ratio", offsetof(struct tl_reading, app_ratio)},
                                     {"sndbuf_ratio", offsetof(struct tl_reading, sndbuf_ratio)},
                                     {"rwnd_ratio", offsetof(struct tl_reading, rwnd_ratio)},
                                     {"network_ratio", offsetof(struct tl_reading, network_ratio)}};
#define REST_COUNT (sizeof rest / sizeof *rest)

static double *number_of(struct tl_reading *reading, const struct number *number)
{
    return (double *)(void *)((char *)reading + number->offset);
}

/* --- writing --- */

static void add_rates(const struct tl_samples *samples, const struct tl_facts *facts,
                      enum tl_direction direction, struct tl_json_writer *w)
{
    struct tl_fact_key id = TL_FLOW(direction, warmup_ns);
    const struct tl_reading *before = NULL;
    double from_ns = tl_facts_number(facts, id, (double)NAN);
    if (isnan(from_ns))
        return;
    tl_json_begin_object(w, tl_direction_name(direction));
    tl_json_begin_array(w, "rate_bps");
    for (size_t i = 0; i < samples->count; i++) {
        const struct tl_reading *reading = &samples->items[i];
        if (strcmp(reading->stage, "stream") != 0 || !reading->has_direction ||
            reading->direction != direction || !(reading->elapsed_ns >= from_ns))
            continue;
        double ns = before ? reading->elapsed_ns - before->elapsed_ns : 0;
        double rate_bps = ns > 0 ? tl_bps_from_bytes_ns(reading->bytes - before->bytes, ns) : -1;
        if (isfinite(rate_bps) && rate_bps >= 0)
            tl_json_add_number(w, NULL, rate_bps);
        before = reading;
    }
    tl_json_end(w);
    tl_json_end(w);
}

/* A transfer ends where stage or direction change, or where its clock begins again. */
static size_t transfer_end(const struct tl_samples *samples, size_t first)
{
    const struct tl_reading *a = &samples->items[first];
    size_t i = first + 1;
    for (; i < samples->count; i++) {
        const struct tl_reading *b = &samples->items[i];
        if (strcmp(a->stage, b->stage) != 0 || a->has_direction != b->has_direction ||
            (a->has_direction && a->direction != b->direction) || b->elapsed_ns < b[-1].elapsed_ns)
            break;
    }
    return i;
}

static void add_transfer(const struct tl_samples *samples, size_t first, size_t end,
                         struct tl_json_writer *w)
{
    const struct tl_reading *head = &samples->items[first];
    size_t stride = 1;
    while ((end - first + stride - 1) / stride > TL_KEPT_READINGS_MAX)
        stride *= 2;
    tl_json_begin_object(w, NULL);
    tl_json_add_string(w, "stage", head->stage);
    if (head->has_direction)
        tl_json_add_string(w, "direction", tl_direction_name(head->direction));
    for (size_t c = 0; c < COLUMN_COUNT; c++) {
        tl_json_begin_array(w, columns[c].name);
        for (size_t i = first + (end - first - 1) % stride; i < end; i += stride)
            tl_json_add_number(w, NULL, round(*number_of(&samples->items[i], &columns[c])));
        tl_json_end(w);
    }
    tl_json_begin_object(w, "last");
    for (size_t i = 0; i < REST_COUNT; i++)
        tl_json_add_number(w, rest[i].name, *number_of(&samples->items[end - 1], &rest[i]));
    tl_json_end(w);
    tl_json_end(w);
}

static void add_readings(const struct tl_samples *samples, struct tl_json_writer *w)
{
    tl_json_begin_array(w, "readings");
    int transfers = 0;
    for (size_t first = 0, end; first < samples->count && transfers < TL_KEPT_TRANSFERS_MAX;
         first = end, transfers++) {
        end = transfer_end(samples, first);
        add_transfer(samples, first, end, w);
    }
    tl_json_end(w);
}

/* The document ends with "}" and a newline: the member goes before. */
static void add_samples(const struct tl_samples *samples, const struct tl_facts *facts, bool pretty,
                        size_t begin, struct tl_buf *out)
{
    struct tl_buf text = TL_BUF_INIT;
    struct tl_json_writer w;
    size_t end = out->len;
    while (end > begin && out->data[end - 1] != '}')
        end--;
    while (end > begin + 1 && (out->data[end - 2] == '\n' || out->data[end - 2] == ' '))
        end--;
    tl_json_writer_init(&w, &text, true);
    tl_json_begin_object(&w, NULL);
    add_rates(samples, facts, TL_DOWNLOAD, &w);
    add_rates(samples, facts, TL_UPLOAD, &w);
    add_readings(samples, &w);
    tl_json_end(&w);
    if (text.status == TL_OK && end > begin) {
        out->len = end - 1;
        int len = (int)strcspn(tl_buf_text(&text), "\n"); /* the writer ends a line */
        tl_buf_addf(out, ",%s\"samples\":%.*s%s}\n", pretty ? "\n " : "", len, tl_buf_text(&text),
                    pretty ? "\n" : "");
    }
    if (text.status != TL_OK)
        out->status = text.status;
    tl_buf_finish(&text);
}

enum tl_status tl_kept_write(const struct tl_run *run, const struct tl_facts *facts,
                             const struct tl_findings *findings, const struct tl_samples *samples,
                             bool pretty, struct tl_buf *out)
{
    size_t begin = out->len;
    enum tl_status status = tl_document_write(run, facts, findings, pretty, out);
    if (status == TL_OK && samples && samples->count)
        add_samples(samples, facts, pretty, begin, out);
    return status == TL_OK ? out->status : status;
}

/* --- reading --- */

static bool read_head(const struct tl_json_at *transfer, struct tl_reading *ret_head)
{
    struct tl_json_at at;
    const char *stage, *direction;
    *ret_head = (struct tl_reading){0};
    if (tl_json_get_string(transfer, "stage", &stage, NULL) != TL_OK ||
        strlen(stage) >= sizeof ret_head->stage)
        return false;
    snprintf(ret_head->stage, sizeof ret_head->stage, "%s", stage);
    if (!tl_json_find(transfer, "direction", &at))
        return true;
    ret_head->has_direction = true;
    if (tl_json_string(&at, &direction, NULL) != TL_OK)
        return false;
    ret_head->direction = strcmp(direction, "upload") == 0 ? TL_UPLOAD : TL_DOWNLOAD;
    return strcmp(direction, tl_direction_name(ret_head->direction)) == 0;
}

static double read_number(const struct tl_json_at *at)
{
    double value;
    return tl_json_number(at, &value, NULL) == TL_OK && value >= 0 ? value : (double)NAN;
}

static void read_last(const struct tl_json_at *transfer, struct tl_reading *reading)
{
    struct tl_json_at last, at;
    if (tl_json_get_object(transfer, "last", &last, NULL) != TL_OK)
        return;
    for (size_t i = 0; i < REST_COUNT; i++)
        if (tl_json_find(&last, rest[i].name, &at))
            *number_of(reading, &rest[i]) = read_number(&at);
}

static void read_transfer(const struct tl_json_at *transfer, struct tl_samples *samples)
{
    struct tl_json_at column[COLUMN_COUNT];
    struct tl_reading head;
    if (!read_head(transfer, &head))
        return;
    for (size_t c = 0; c < COLUMN_COUNT; c++)
        if (tl_json_get_array(transfer, columns[c].name, &column[c], NULL) != TL_OK ||
            tl_json_count(&column[c]) != tl_json_count(&column[0]))
            return;
    double before_ns = 0;
    size_t count = tl_json_count(&column[0]);
    for (size_t i = 0; i < count && i < TL_KEPT_READINGS_MAX; i++) {
        struct tl_reading reading = head;
        for (size_t c = 0; c < COLUMN_COUNT; c++) {
            struct tl_json_at item = tl_json_item(&column[c], i);
            *number_of(&reading, &columns[c]) = read_number(&item);
        }
        for (size_t r = 0; r < REST_COUNT; r++)
            *number_of(&reading, &rest[r]) = (double)NAN;
        reading.inflight_bytes = (double)NAN; /* of captures, which are not kept */
        if (i + 1 == count)
            read_last(transfer, &reading);
        if (!(reading.elapsed_ns >= before_ns))
            return;
        before_ns = reading.elapsed_ns;
        tl_samples_add(samples, &reading);
    }
}

void tl_kept_read_samples(const char *text, size_t len, struct tl_samples *ret_samples)
{
    static const struct tl_json_limits limits = {TL_DOCUMENT_BYTES_MAX, 50000, 16};
    struct tl_json *doc;
    struct tl_json_at at;
    *ret_samples = (struct tl_samples){0};
    if (tl_json_parse(text, len, &limits, &doc, NULL) != TL_OK)
        return;
    at = tl_json_root(doc);
    if (tl_json_find(&at, "samples", &at) && tl_json_find(&at, "readings", &at))
        for (size_t i = 0; i < tl_json_count(&at) && i < TL_KEPT_TRANSFERS_MAX; i++) {
            /* Other types than an array of objects have no items that are transfers. */
            if (tl_json_type(&at) != TL_JSON_ARRAY)
                break;
            struct tl_json_at transfer = tl_json_item(&at, i);
            read_transfer(&transfer, ret_samples);
        }
    tl_json_destroy(doc);
}
