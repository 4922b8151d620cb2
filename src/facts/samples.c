/* Readings of transfers: a growing list, and its lines in a file. */
#include "tightlink/facts/samples.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/grow.h"
#include "tightlink/base/json.h"
#include "tightlink/base/json_write.h"

/* From this share on the kernel's chronometer is worth an early word. */
#define WAITS_RATIO 0.5

/* The numbers of a reading and their names in a file. */
static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
#define NUMBER(field)                                                                              \
    {                                                                                              \
#field, offsetof(struct tl_reading, field)                                                 \
    }
    NUMBER(elapsed_ns),
    NUMBER(rate_bps),
    NUMBER(rtt_ns),
    NUMBER(bytes),
    NUMBER(cwnd_bytes),
    NUMBER(snd_wnd_bytes),
    NUMBER(retrans_count),
    NUMBER(app_ratio),
    NUMBER(sndbuf_ratio),
    NUMBER(rwnd_ratio),
    NUMBER(network_ratio),
    NUMBER(inflight_bytes)
#undef NUMBER
};
#define NUMBER_COUNT (sizeof numbers / sizeof *numbers)

static double *number_of(struct tl_reading *reading, size_t index)
{
    return (double *)(void *)((char *)reading + numbers[index].offset);
}

void tl_samples_finish(struct tl_samples *samples)
{
    free(samples->items);
    *samples = (struct tl_samples){0};
}

const char *tl_reading_waits_for(const struct tl_reading *reading, double *ret_ratio)
{
    const struct {
        double ratio;
        const char *what;
    } parts[] = {{reading->app_ratio, "the sending program has nothing to send"},
                 {reading->sndbuf_ratio, "the send buffer is full"},
                 {reading->rwnd_ratio, "the receive window is full"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].ratio >= WAITS_RATIO) {
            *ret_ratio = parts[i].ratio;
            return parts[i].what;
        }
    }
    return NULL;
}

void tl_samples_add(struct tl_samples *samples, const struct tl_reading *reading)
{
    if (samples->count == TL_SAMPLES_MAX ||
        !tl_grow(&samples->items, samples->count, &samples->capacity, 256,
                 sizeof *samples->items)) {
        samples->cut = true;
        return;
    }
    samples->items[samples->count++] = *reading;
}

void tl_samples_write(const struct tl_samples *samples, struct tl_buf *out)
{
    for (size_t i = 0; i < samples->count; i++) {
        struct tl_reading *reading = &samples->items[i];
        struct tl_json_writer w;
        tl_json_writer_init(&w, out, true);
        tl_json_begin_object(&w, NULL);
        tl_json_add_string(&w, "stage", reading->stage);
        if (reading->has_direction)
            tl_json_add_string(&w, "direction", tl_direction_name(reading->direction));
        for (size_t n = 0; n < NUMBER_COUNT; n++)
            tl_json_add_number(&w, numbers[n].name, *number_of(reading, n));
        tl_json_end(&w);
    }
}

static enum tl_status read_direction(const struct tl_json_at *root, struct tl_reading *reading,
                                     struct tl_error *reterr)
{
    struct tl_json_at at;
    const char *text;
    if (!tl_json_find(root, "direction", &at))
        return TL_OK;
    enum tl_status status = tl_json_string(&at, &text, reterr);
    if (status != TL_OK)
        return status;
    reading->has_direction = true;
    if (strcmp(text, "download") == 0)
        reading->direction = TL_DOWNLOAD;
    else if (strcmp(text, "upload") == 0)
        reading->direction = TL_UPLOAD;
    else
        return tl_json_error(&at, reterr, TL_UNKNOWN, "neither download nor upload");
    return TL_OK;
}

static enum tl_status read_reading(const struct tl_json_at *root, struct tl_reading *reading,
                                   struct tl_error *reterr)
{
    struct tl_json_at at;
    const char *stage;
    enum tl_status status = tl_json_get_string(root, "stage", &stage, reterr);
    if (status != TL_OK)
        return status;
    (void)tl_json_find(root, "stage", &at);
    if (strlen(stage) >= sizeof reading->stage)
        return tl_json_error(&at, reterr, TL_LIMIT, "longer than %zu bytes",
                             sizeof reading->stage - 1);
    memcpy(reading->stage, stage, strlen(stage) + 1);
    status = read_direction(root, reading, reterr);
    for (size_t n = 0; status == TL_OK && n < NUMBER_COUNT; n++) {
        double *number = number_of(reading, n);
        *number = NAN;
        if (!tl_json_find(root, numbers[n].name, &at))
            continue;
        status = tl_json_number(&at, number, reterr);
        if (status == TL_OK && *number < 0)
            status = tl_json_error(&at, reterr, TL_RANGE, "%g is below 0", *number);
    }
    return status;
}

static enum tl_status read_line(const char *line, size_t len, struct tl_samples *samples,
                                struct tl_error *reterr)
{
    static const struct tl_json_limits limits = {TL_SAMPLES_LINE_MAX, 64, 3};
    struct tl_reading reading = {0};
    struct tl_json *doc;
    enum tl_status status = tl_json_parse(line, len, &limits, &doc, reterr);
    if (status != TL_OK)
        return status;
    struct tl_json_at root = tl_json_root(doc);
    status = read_reading(&root, &reading, reterr);
    tl_json_destroy(doc);
    if (status == TL_OK && samples->count == TL_SAMPLES_MAX)
        return tl_error_set(reterr, TL_LIMIT, "more than %d readings", TL_SAMPLES_MAX);
    if (status == TL_OK)
        tl_samples_add(samples, &reading);
    if (status == TL_OK && samples->cut)
        return tl_error_set(reterr, TL_NOMEM, "%s", tl_status_text(TL_NOMEM));
    return status;
}

enum tl_status tl_samples_read(const char *text, size_t len, struct tl_samples *ret_samples,
                               struct tl_error *reterr)
{
    struct tl_samples samples = {0};
    enum tl_status status = TL_OK;
    size_t at = 0, number = 0;
    while (status == TL_OK && at < len) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t size = end ? (size_t)(end - text) - at : len - at;
        number++;
        if (size)
            status = read_line(text + at, size, &samples, reterr);
        at += size + 1;
    }
    if (status != TL_OK) {
        tl_error_prefix(reterr, "line %zu", number);
        tl_samples_finish(&samples);
        return status;
    }
    *ret_samples = samples;
    return TL_OK;
}
