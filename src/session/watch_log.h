/* What a long watch keeps: seconds in a file of bounded size, their distribution, a graph, the
 * outages. Memory and file stay the same however long it lasts. Private to the session.
 *
 * The file (doc/watch.md): a header of 64 bytes, then records of 32, in this machine's byte
 * order. When it is full, neighbours are merged two by two and the step doubles. */
#ifndef TL_SESSION_WATCH_LOG_H
#define TL_SESSION_WATCH_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/facts/run.h"

/* A day of seconds: 2.7 MB. */
#define TL_WATCH_RECORDS_MAX 86400

#define TL_WATCH_OUTAGE    1u /* no byte came in (a part of) this step */
#define TL_WATCH_BEGINNING 2u /* a transfer began in it: not in the percentiles */

struct tl_watch_header {
    char magic[8]; /* "TLWATCH1" */
    uint32_t record_bytes, records_max;
    int64_t start_ns; /* CLOCK_REALTIME */
    int64_t step_ns;  /* of a record */
    uint64_t records; /* that follow */
    uint8_t unused[24];
};

struct tl_watch_sample {
    int64_t offset_ns; /* since the start */
    double rate_bps;   /* payload that arrived */
    double rtt_ns;     /* smoothed, newest; NAN where unknown */
    uint32_t flags;
    uint32_t retrans_count;
};

/* Rates from 1 kb/s to 1 Tb/s in steps of 4 %. */
#define TL_WATCH_BINS 540

struct tl_watch_log {
    int fd; /* -1: no file */
    struct tl_watch_header header;
    uint32_t records_max;        /* smaller in tests */
    struct tl_watch_sample half; /* of a record that is not full yet */
    uint32_t half_count, per_record;
    uint64_t bins[TL_WATCH_BINS];
    struct tl_watch_record *record; /* borrowed: the summary */
    uint32_t graph_per, graph_half;
    double graph_sum;
    bool write_failed;
    /* outages */
    bool out;
    int64_t progress_ns, out_ns, patience_ns; /* monotonic */
};

/* Makes the file, which must not exist; path may be NULL. *record is set to nothing seen.
 * TL_IO with a sentence. patience_ns: silence that is no outage yet. */
enum tl_status tl_watch_log_init(struct tl_watch_log *log, const char *path, int64_t start_ns,
                                 int64_t now_ns, int64_t patience_ns,
                                 struct tl_watch_record *record,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* One second. */
void tl_watch_log_add(struct tl_watch_log *log, const struct tl_watch_sample *sample);

/* Bytes came, or none did; now_ns is monotonic and start_ns the wall clock's start. True when an
 * outage began or ended by it. */
bool tl_watch_log_progress(struct tl_watch_log *log, int64_t now_ns, bool came);

/* Percentiles and the graph; closes the file and what outage is open. */
void tl_watch_log_finish(struct tl_watch_log *log, int64_t now_ns);

#endif
