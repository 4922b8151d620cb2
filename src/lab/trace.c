/* Reading and asking recordings; see trace.h. */
#include "trace.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/grow.h"
#include "tightlink/base/time.h"

/* With remarks and blank lines, of which a device has no end. */
#define LINES_READ_MAX (2 * TL_LAB_TRACE_LINES_MAX)

static enum tl_status append(struct tl_lab_trace *trace, size_t *room, uint32_t at_ms)
{
    if (!tl_grow(&trace->at_ms, trace->count, room, 4096, sizeof *trace->at_ms))
        return TL_NOMEM;
    trace->at_ms[trace->count++] = at_ms;
    return TL_OK;
}

/* One line: false when it holds anything but one whole number. */
static bool read_line(const char *line, uint32_t *ret_at_ms)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(line, &end, 10);
    end += strspn(end, " \t\r\n");
    *ret_at_ms = (uint32_t)value;
    return line[0] >= '0' && line[0] <= '9' && errno == 0 && *end == '\0' && value < UINT32_MAX;
}

static enum tl_status read_lines(struct tl_lab_trace *trace, FILE *stream, const char *file,
                                 struct tl_error *reterr)
{
    char line[64];
    size_t room = 0;
    for (int number = 1; fgets(line, sizeof line, stream); number++) {
        uint32_t at_ms;
        if (number > LINES_READ_MAX || line[0] == '\0')
            return tl_error_set(reterr, TL_LIMIT,
                                "%.150s is no trace: a file of text with one time a line", file);
        if (line[0] == '#' || line[strspn(line, " \t\r\n")] == '\0')
            continue;
        if (!read_line(line, &at_ms))
            return tl_error_set(reterr, TL_SYNTAX,
                                "%.150s, line %d: a trace has one time in whole milliseconds a "
                                "line",
                                file, number);
        if (trace->count > 0 && at_ms < trace->at_ms[trace->count - 1])
            return tl_error_set(reterr, TL_RANGE,
                                "%.150s, line %d: the times of a trace never fall", file, number);
        if (trace->count == TL_LAB_TRACE_LINES_MAX)
            return tl_error_set(reterr, TL_RANGE, "%.150s: a trace has at most %d lines", file,
                                TL_LAB_TRACE_LINES_MAX);
        if (append(trace, &room, at_ms) != TL_OK)
            return tl_error_set(reterr, TL_NOMEM, "no memory for a trace");
    }
    if (trace->count == 0 || trace->at_ms[trace->count - 1] == 0)
        return tl_error_set(reterr, TL_RANGE,
                            "%.150s: a trace needs a time above 0, which is also its length", file);
    return TL_OK;
}

enum tl_status tl_lab_trace_load(struct tl_lab_trace *ret_trace, const char *file,
                                 struct tl_error *reterr)
{
    struct tl_lab_trace trace = {0};
    FILE *stream = fopen(file, "re");
    if (!stream)
        return tl_error_set(reterr, TL_IO, "cannot read the trace %.150s: %s", file,
                            strerror(errno));
    enum tl_status status = read_lines(&trace, stream, file, reterr);
    fclose(stream);
    if (status == TL_OK)
        *ret_trace = trace;
    else
        tl_lab_trace_finish(&trace);
    return status;
}

void tl_lab_trace_finish(struct tl_lab_trace *trace)
{
    free(trace->at_ms);
    memset(trace, 0, sizeof *trace);
}

static int64_t length_ns(const struct tl_lab_trace *trace)
{
    return (int64_t)trace->at_ms[trace->count - 1] * TL_NS_PER_MS;
}

int64_t tl_lab_trace_at_ns(const struct tl_lab_trace *trace, uint64_t number)
{
    int64_t round = (int64_t)(number / trace->count);
    return round * length_ns(trace) + (int64_t)trace->at_ms[number % trace->count] * TL_NS_PER_MS;
}

uint64_t tl_lab_trace_find(const struct tl_lab_trace *trace, int64_t ns)
{
    int64_t round = ns > 0 ? ns / length_ns(trace) : 0;
    uint64_t low = (uint64_t)round * trace->count, high = low + trace->count;
    /* The end of a round and the start of the next one are one instant. */
    if (round > 0 && ns == round * length_ns(trace))
        low -= trace->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (tl_lab_trace_at_ns(trace, middle) < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
