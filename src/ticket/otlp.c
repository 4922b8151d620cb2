/* OTLP/HTTP in JSON (opentelemetry.io/docs/specs/otlp, opentelemetry-proto 1.x): gauges to
 * /v1/metrics and the verdict as a log record to /v1/logs. 64-bit integers are strings there. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sinks.h"

/* SeverityNumber of opentelemetry/proto/logs/v1. */
enum { SEVERITY_INFO = 9, SEVERITY_WARN = 13 };

static void add_attribute(struct tl_json_writer *w, const char *key, const char *value)
{
    if (!value[0])
        return;
    tl_json_begin_object(w, NULL);
    tl_json_add_string(w, "key", key);
    tl_json_begin_object(w, "value");
    tl_json_add_string(w, "stringValue", value);
    tl_json_end(w);
    tl_json_end(w);
}

static void add_attributes(struct tl_json_writer *w, const struct tl_telemetry_record *record,
                           bool all)
{
    struct telemetry_text texts[TELEMETRY_TEXTS];
    char key[64];
    telemetry_texts(record, texts);
    tl_json_begin_array(w, "attributes");
    for (size_t i = 0; i < TELEMETRY_TEXTS; i++) {
        /* Of a gauge only what does not change from run to run. */
        if (!all && strcmp(texts[i].key, "target") != 0 && strcmp(texts[i].key, "direction") != 0)
            continue;
        snprintf(key, sizeof key, "tightlink.%s", texts[i].key);
        add_attribute(w, key, texts[i].value);
    }
    tl_json_end(w);
}

static void add_time(struct tl_json_writer *w, const char *key, int64_t time_ns)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)time_ns);
    tl_json_add_string(w, key, text);
}

/* "resourceMetrics" or "resourceLogs" down to the scope; five levels to close. */
static void begin(struct tl_json_writer *w, const char *resource, const char *scope,
                  const struct tl_telemetry_record *record)
{
    tl_json_begin_object(w, NULL);
    tl_json_begin_array(w, resource);
    tl_json_begin_object(w, NULL);
    tl_json_begin_object(w, "resource");
    tl_json_begin_array(w, "attributes");
    add_attribute(w, "service.name", "tightlink");
    add_attribute(w, "service.version", record->tool_version);
    tl_json_end(w);
    tl_json_end(w);
    tl_json_begin_array(w, scope);
    tl_json_begin_object(w, NULL);
    tl_json_begin_object(w, "scope");
    tl_json_add_string(w, "name", "tightlink");
    tl_json_add_string(w, "version", record->tool_version);
    tl_json_end(w);
}

static void end(struct tl_json_writer *w)
{
    for (int i = 0; i < 5; i++)
        tl_json_end(w);
}

static void write_metrics(const struct tl_telemetry_record *record, struct tl_buf *out)
{
    struct telemetry_number numbers[TELEMETRY_NUMBERS];
    struct tl_json_writer w;
    tl_json_writer_init(&w, out, true);
    begin(&w, "resourceMetrics", "scopeMetrics", record);
    tl_json_begin_array(&w, "metrics");
    telemetry_numbers(record, numbers);
    for (size_t i = 0; i < TELEMETRY_NUMBERS; i++) {
        if (!isfinite(numbers[i].value))
            continue;
        tl_json_begin_object(&w, NULL);
        tl_json_add_string(&w, "name", numbers[i].otlp);
        tl_json_add_string(&w, "description", numbers[i].help);
        tl_json_add_string(&w, "unit", numbers[i].otlp_unit);
        tl_json_begin_object(&w, "gauge");
        tl_json_begin_array(&w, "dataPoints");
        tl_json_begin_object(&w, NULL);
        add_attributes(&w, record, false);
        add_time(&w, "timeUnixNano", record->time_ns);
        tl_json_add_number(&w, "asDouble", numbers[i].value);
        tl_json_end(&w);
        tl_json_end(&w);
        tl_json_end(&w);
        tl_json_end(&w);
    }
    tl_json_end(&w);
    end(&w);
}

static void write_log(const struct tl_telemetry_record *record, struct tl_buf *out)
{
    struct tl_json_writer w;
    tl_json_writer_init(&w, out, true);
    begin(&w, "resourceLogs", "scopeLogs", record);
    tl_json_begin_array(&w, "logRecords");
    tl_json_begin_object(&w, NULL);
    add_time(&w, "timeUnixNano", record->time_ns);
    tl_json_add_integer(&w, "severityNumber", record->moved ? SEVERITY_WARN : SEVERITY_INFO);
    tl_json_add_string(&w, "severityText", record->moved ? "WARN" : "INFO");
    tl_json_begin_object(&w, "body");
    tl_json_add_string(&w, "stringValue", record->sentence);
    tl_json_end(&w);
    add_attributes(&w, record, true);
    tl_json_end(&w);
    tl_json_end(&w);
    end(&w);
}

static enum tl_status post(struct ticket_job *job, const char *path,
                           void (*write)(const struct tl_telemetry_record *, struct tl_buf *),
                           const struct tl_telemetry_record *record, struct tl_error *reterr)
{
    struct ticket_request request = {
        .method = "POST", .content_type = "application/json", .any_reply = true};
    tl_buf_adds(&request.path, path);
    write(record, &request.body);
    enum tl_status status = ticket_http(job, &request, NULL, reterr);
    ticket_request_finish(&request);
    return status;
}

static enum tl_status send_otlp(const struct ticket_target *target,
                                const struct tl_telemetry_record *record, struct tl_error *reterr)
{
    struct ticket_job job = {.target = target};
    enum tl_status status = TL_OK;
    if (target->values[KEY_TOKEN_FILE][0])
        status = ticket_open_token(&job, "Authorization", "Bearer ", reterr);
    if (status == TL_OK)
        status = post(&job, "/v1/metrics", write_metrics, record, reterr);
    if (status == TL_OK)
        status = post(&job, "/v1/logs", write_log, record, reterr);
    explicit_bzero(&job, sizeof job);
    return status;
}

const struct telemetry_sink telemetry_otlp = {
    .name = "otlp", .needs = KEY(URL), .takes = KEY(TOKEN_FILE), .send = send_otlp};
