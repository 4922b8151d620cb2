/* How far what was measured can be trusted: from plain numbers to a quality and the sentence that
 * says why. Probes fill in what they saw, the session adds up stages; what that is worth is judged
 * here and nowhere else (doc/architecture.md, "Faults during a diagnosis").
 *
 * Pure: no clock, no socket, no store. What nobody told is NAN, and speaks against nothing. */
#ifndef TL_FACTS_TRUST_H
#define TL_FACTS_TRUST_H

#include <stdbool.h>

#include "tightlink/base/status.h"
#include "tightlink/base/tcp_end.h"
#include "tightlink/facts/run.h"

/* Of one stage. All zero: valid. */
struct tl_trust {
    enum tl_quality quality;
    char reason[256]; /* a half sentence, "" while nothing speaks against it */
};

/* Lowers it; the first reason of the lowest quality stays. */
void tl_trust_lower(struct tl_trust *trust, enum tl_quality quality, const char *fmt, ...)
    TL_PRINTF(3, 4);
/* The same for what explains others of the same quality (the link went down, and so the path was
 * dead): its reason takes their place. */
void tl_trust_explain(struct tl_trust *trust, enum tl_quality quality, const char *fmt, ...)
    TL_PRINTF(3, 4);
/* The run is as good as its worst part; reasons are kept once each, while there is room. The one
 * that made it as bad as it is stands first: the verdict names that one. */
void tl_trust_lower_run(struct tl_run *run, enum tl_quality quality, const char *fmt, ...)
    TL_PRINTF(3, 4);

/* A program that waits for a core more than a tenth of the time, and has work half of it, may hold
 * the rate itself. Ratios of the time; NAN starves nobody. */
bool tl_trust_is_starved(double run_ratio, double wait_ratio);

/* One end of a transfer. */
struct tl_trust_end {
    double steal_ratio;           /* of a core's time, taken by a hypervisor */
    double run_ratio, wait_ratio; /* of the transfer's thread: on a core, waiting for one */
};

/* A transfer as it was seen here. */
struct tl_trust_transfer {
    enum tl_tcp_end end;
    bool failed;                /* it did not come to its end */
    bool end_signed;            /* the far end's own word of the end came */
    bool host_answered;         /* silent, while the far host's kernel acknowledged all the time */
    double held_up_ns;          /* the longest time without a turn for this program */
    double elapsed_ns;          /* of the transfer */
    double last_arrival_ns;     /* into it, when something last came */
    double received_bytes;      /* of payload, by the receiver's count */
    double ends_agree_ratio;    /* difference of the two ends' counts, of the larger */
    double other_traffic_ratio; /* of the traffic on this PC's interface, that was not ours */
    struct tl_trust_end sender, receiver;
};

/* False where this program was not there to see it: nothing else is judged then, since a far end
 * that seemed to break off is not to blame. */
bool tl_trust_transfer(struct tl_trust *trust, const struct tl_trust_transfer *seen);

/* A transfer that moved less than this, over a time that lets every kernel repeat itself often. */
#define TL_TRUST_STILL_BYTES (64 * 1024)

/* Whether it stood still because packets of full size vanish, as they are known to: to the data
 * connection that looks like a dead path, while the control connection, whose segments are small,
 * goes on, and the far end signs its word. */
bool tl_trust_stood_still(const struct tl_trust_transfer *seen);
/* Whether it may have, at a far end whose own word may be held up by the hole. */
bool tl_trust_seems_still(const struct tl_trust_transfer *seen);

/* What a sender far away tells of a stream that this PC received, and what this PC saw of it. A far
 * end may be wrong, or lie: what it says of the path is not believed where this PC knows better. */
struct tl_trust_told {
    double rtt_min_ns;       /* told: the shortest round trip */
    double beside_rtt_ns;    /* seen: the median of probes beside the transfer */
    double lost_count;       /* told: segments sent again that were needed */
    double loss_event_count; /* told: at so many times */
    double ooo_count;        /* seen: segments out of order */
};

void tl_trust_told(struct tl_trust *trust, const struct tl_trust_told *told);

#endif
