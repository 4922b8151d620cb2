/* A file for node_exporter's textfile collector
 * (prometheus.io/docs/instrumenting/exposition_formats): written beside its place and renamed, so
 * that nobody reads half of it. The collector takes no timestamps: the run's own time is a gauge.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sinks.h"

/* Of a label's value: backslash, quote and newline (text format 0.0.4). */
static void add_label(struct tl_buf *out, const char *name, const char *value)
{
    tl_buf_addf(out, "%s=\"", name);
    for (; *value; value++) {
        if (*value == '\\' || *value == '"')
            tl_buf_adds(out, "\\");
        if (*value == '\n')
            tl_buf_adds(out, "\\n");
        else
            tl_buf_add(out, value, 1);
    }
    tl_buf_adds(out, "\"");
}

static void add_gauge(struct tl_buf *out, const char *name, const char *help,
                      const struct tl_telemetry_record *record, bool verdict, double value)
{
    tl_buf_addf(out, "# HELP %s %s\n# TYPE %s gauge\n%s{", name, help, name, name);
    add_label(out, "target", record->target);
    tl_buf_adds(out, ",");
    add_label(out, "direction", record->direction);
    if (verdict) {
        tl_buf_adds(out, ",");
        add_label(out, "state", record->state);
        tl_buf_adds(out, ",");
        add_label(out, "cause", record->cause);
        tl_buf_adds(out, ",");
        add_label(out, "segment", record->segment);
    }
    tl_buf_addf(out, "} %.17g\n", value);
}

static void write_file_text(const struct tl_telemetry_record *record, struct tl_buf *out)
{
    struct telemetry_number numbers[TELEMETRY_NUMBERS];
    telemetry_numbers(record, numbers);
    for (size_t i = 0; i < TELEMETRY_NUMBERS; i++)
        if (isfinite(numbers[i].value))
            add_gauge(out, numbers[i].prometheus, numbers[i].help, record, false, numbers[i].value);
    add_gauge(out, "tightlink_verdict", "The verdict, by its labels.", record, true, 1);
    add_gauge(out, "tightlink_verdict_moved", "1 when it differs from the run before.", record,
              false, record->moved);
    add_gauge(out, "tightlink_run_timestamp_seconds", "When the run began.", record, false,
              floor((double)record->time_ns * 1e-9));
}

static enum tl_status fail(const char *path, struct tl_error *reterr)
{
    return tl_error_set(reterr, tl_status_from_errno(errno), "%.300s: %s", path, strerror(errno));
}

static enum tl_status send_prometheus(const struct ticket_target *target,
                                      const struct tl_telemetry_record *record,
                                      struct tl_error *reterr)
{
    const char *path = target->values[KEY_FILE];
    struct tl_buf text = TL_BUF_INIT;
    char beside[TICKET_VALUE_SIZE + 16];
    snprintf(beside, sizeof beside, "%s.tmp-XXXXXX", path); /* not *.prom: never collected */
    write_file_text(record, &text);
    if (text.status != TL_OK) {
        tl_buf_finish(&text);
        return tl_error_set(reterr, TL_NOMEM, "no memory for %.300s", path);
    }
    enum tl_status status = TL_OK;
    int fd = mkostemp(beside, O_CLOEXEC);
    if (fd < 0)
        status = fail(beside, reterr);
    else if (write(fd, text.data, text.len) != (ssize_t)text.len || fchmod(fd, 0644) < 0 ||
             fsync(fd) < 0)
        status = fail(beside, reterr);
    if (fd >= 0 && close(fd) < 0 && status == TL_OK)
        status = fail(beside, reterr);
    if (status == TL_OK && rename(beside, path) < 0)
        status = fail(path, reterr);
    if (status != TL_OK && fd >= 0)
        (void)unlink(beside);
    tl_buf_finish(&text);
    return status;
}

const struct telemetry_sink telemetry_prometheus = {
    .name = "prometheus", .needs = KEY(FILE), .send = send_prometheus};
