/* A file of delivery opportunities, the format of mahimahi: one time a line in whole
 * milliseconds, never falling; at each of them 1504 bytes may leave. The last time is the
 * length of the recording, which then begins anew. Lines that begin with # and empty ones
 * are passed over. */
#ifndef TL_LAB_TRACE_H
#define TL_LAB_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

/* What an opportunity carries, and what a packet takes of it beside its IP bytes: mahimahi
 * counts the four bytes with which its TUN device begins each packet. */
#define TL_LAB_TRACE_BYTES  1504
#define TL_LAB_TRACE_HEADER 4

/* An hour at 300 Mb/s is 90 million lines; a recording of minutes is what makes sense. */
#define TL_LAB_TRACE_LINES_MAX 16000000

struct tl_lab_trace {
    uint32_t *at_ms; /* owned */
    size_t count;
};

/* Reads a whole file. TL_IO, TL_SYNTAX or TL_RANGE with the file's name and line. */
enum tl_status tl_lab_trace_load(struct tl_lab_trace *ret_trace, const char *file,
                                 struct tl_error *reterr) TL_WARN_UNUSED;
void tl_lab_trace_finish(struct tl_lab_trace *trace);

/* When opportunity `number` comes, in ns from the start; counts on over the end. */
int64_t tl_lab_trace_at_ns(const struct tl_lab_trace *trace, uint64_t number);

/* The number of the first opportunity at or after this time. */
uint64_t tl_lab_trace_find(const struct tl_lab_trace *trace, int64_t ns);

#endif
