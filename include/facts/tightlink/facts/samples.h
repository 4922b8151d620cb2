/* What the transfers of a run read as they went: rate, round trip, windows, losses, several times
 * a second. Facts are formed from finer samples that are gone once a stage ends; these readings
 * are kept so that a report can draw what happened, and a person can doubt it. Rules never look
 * at them. */
#ifndef TL_FACTS_SAMPLES_H
#define TL_FACTS_SAMPLES_H

#include "tightlink/base/buf.h"
#include "tightlink/facts/facts.h"

/* Numbers that were not known are NAN. */
struct tl_reading {
    char stage[24];
    bool has_direction;
    enum tl_direction direction;
    double elapsed_ns; /* since the stage began */
    double rate_bps;   /* payload that arrived, of all streams */
    double rtt_ns;     /* smoothed, of the first stream */
    double bytes;      /* that arrived in this stage so far */
    double retrans_count, cwnd_bytes, snd_wnd_bytes;
    double inflight_bytes; /* sent and not acknowledged, the most since the reading before: of a
                              capture */
    double app_ratio, sndbuf_ratio, rwnd_ratio, network_ratio; /* of the stage so far */
};

/* What a running stream seems to wait for, half of its time or more; NULL: nothing that one could
 * name. Not a verdict: the rules have not seen it. *ret_ratio is untouched then. */
const char *tl_reading_waits_for(const struct tl_reading *reading, double *ret_ratio);

/* Ten a second for a quarter of an hour: more than any plan loads. Watching (run --for) has its
 * own file. */
#define TL_SAMPLES_MAX 10000

/* Zero-initialised is empty. */
struct tl_samples {
    struct tl_reading *items; /* owned; in the order of time */
    size_t count, capacity;
    bool cut; /* there were more, or memory ended */
};

/* What does not fit is left out, and cut says so. */
void tl_samples_add(struct tl_samples *samples, const struct tl_reading *reading);
void tl_samples_finish(struct tl_samples *samples);

/* Adds one JSON object a line, numbers named as above. TL_NOMEM in out->status. */
void tl_samples_write(const struct tl_samples *samples, struct tl_buf *out);

#define TL_SAMPLES_LINE_MAX 1024
/* Reads such lines back; they may be hostile. Keys that are not known are skipped. *ret_samples
 * is untouched on failure; the error names the line (TL_SYNTAX, TL_RANGE, TL_LIMIT, TL_UNKNOWN,
 * TL_NOMEM). */
enum tl_status tl_samples_read(const char *text, size_t len, struct tl_samples *ret_samples,
                               struct tl_error *reterr) TL_WARN_UNUSED;

#endif
