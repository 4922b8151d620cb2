/* UDP tests: datagrams at a rate, in bursts or in trains, one way, and what became of them.
 *
 *   tl_udp_spec_check -> tl_udp_worst_bytes -> tl_client_udp_test -> … -> tl_udp_result_finish
 *
 * The sender numbers and stamps each datagram and protects it by a CRC32C; the receiver
 * takes the kernel's time of arrival (SO_TIMESTAMPNS) and keeps the account. A test costs two
 * round trips before its first datagram and a short grace behind its last one, so that a
 * ladder of many tests of 0.3 s is cheap; all tests of a client use one local port, so that
 * a path that hashes its flows treats them alike.
 *
 * What the numbers rest on
 * - Rates are UDP payload bits a second: the whole datagram as the application sees it, our
 *   own head of 40 bytes included; IP and UDP headers (28 or 48 bytes) come on top.
 * - A datagram that the sender's kernel refused (ENOBUFS, EAGAIN) was not sent: it has no
 *   number. sent_count counts what the kernel took.
 * - missing_count = sent - unique arrivals, from the receiver's record of sequence numbers,
 *   after a grace: 100 ms (or two round trips) in which nothing more arrived, at most 3 s.
 *   lost_count, the network's part of it, is what is left after local drops (the receiving
 *   socket's own count of what it had no room for, SO_MEMINFO), after datagrams whose CRC did
 *   not fit and after those that the kernel refused for their UDP checksum.
 * - Reordering: RFC 4737, 4.1 (a datagram is reordered when a later one arrived before it),
 *   extent 4.2.1, late time offset 4.3.
 * - jitter_ns: interarrival jitter of RFC 3550, 6.4.1, over datagrams in the order of arrival,
 *   duplicates left out.
 * - Delay is arrival (receiver's clock) less departure (sender's clock); the unknown offset
 *   of the clocks falls out since only differences to the smallest one are given: queueing
 *   delay, "PDV" of RFC 5481. Skew of the clocks is removed before: lower convex hull of the
 *   points (departure, delay), the hull's segment above which the mean departure lies, which
 *   solves the linear program of Moon, Skelly and Towsley (INFOCOM 1999) as shown by Zhang,
 *   Liu and Xia (INFOCOM 2002). A queue that grows all through a test looks like skew. So
 *   the line is used only over 1 s and more, and only up to 500 ppm, which no clock of a
 *   computer exceeds and a growing queue soon does; skew_ppm is NAN where it was not used.
 * - Above TL_UDP_DELAYS_MAX datagrams the percentiles rest on a uniform sample of that size;
 *   counts, jitter, smallest and largest see every datagram. Datagrams that came in one GRO batch
 * share one time of arrival and count as one delay.
 *
 * A result is plain data of two ends merged; `valid` says whether both ends told the end of
 * it. Nothing here prints. */
#ifndef TL_ENGINE_UDP_H
#define TL_ENGINE_UDP_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/engine/udp_wire.h"
#include "tightlink/host/counters.h"
#include "tightlink/host/cpu.h"

#define TL_UDP_DATAGRAM_BYTES 1448 /* standard: as much as a TCP segment with time stamps */
#define TL_UDP_INTERVALS_MAX  610  /* 60 s by 100 ms, and the rest behind */
#define TL_UDP_RUN_CLASSES    16
#define TL_UDP_DELAYS_MAX     65536
#define TL_UDP_UNHEARD_NS     (1000 * INT64_C(1000000)) /* sending on without feedback (P4) */

/* What a receiver checks of each datagram. */
enum tl_udp_crc {
    TL_UDP_CRC_AUTO, /* WHOLE where a rate is asked for, HEAD for "as fast as possible" */
    TL_UDP_CRC_WHOLE,
    TL_UDP_CRC_HEAD, /* of our 40 bytes; the payload is not even copied to the receiver */
    TL_UDP_CRC_NONE  /* a stranger's datagrams have none: what was damaged is not known */
};

/* 0 leaves a field at its standard. Two patterns exist:
 *   rate    train_length 0: bursts of burst_count datagrams whose average is rate_bps,
 *           or rate_bps 0: as fast as the sender can
 *   trains  train_length 2 and up: train_count trains of so many datagrams back to back
 *           (each with its own send call and time), one each train_gap_ns; rate_bps is not
 *           used. The test ends behind the last train or after duration_ns. */
struct tl_udp_spec {
    enum tl_wire_direction direction;
    int64_t duration_ns;     /* 100 ms to 60 s; the responder may grant less */
    uint64_t max_bytes;      /* UDP payload; 0 = no cap but duration and rate */
    uint64_t rate_bps;       /* UDP payload bits a second; 0 = as fast as possible */
    unsigned datagram_bytes; /* UDP payload; 0 = TL_UDP_DATAGRAM_BYTES */
    unsigned burst_count;    /* datagrams back to back; 0 = 1 */
    unsigned gso_segments;   /* datagrams that the sender's kernel may get as one; 0, 1 = off */
    bool gro;                /* the receiver may get them as one (as fast as possible only) */
    unsigned train_length, train_count;
    int64_t train_gap_ns;  /* from one train's begin to the next; 0 = 10 ms */
    unsigned dscp;         /* 0 to 63 */
    enum tl_udp_crc crc;   /* */
    int rcvbuf_bytes;      /* SO_RCVBUF at the receiver; 0 = 4 MiB; the kernel may give less */
    int64_t interval_ns;   /* of the series, 10 to 100 ms; 0 = 100 ms, or a 20th of the test */
    int64_t queue_wait_ns; /* when the responder is busy; 0 = TL_CLIENT_QUEUE_NS */
};

/* TL_RANGE with a sentence. Pure. */
enum tl_status tl_udp_spec_check(const struct tl_udp_spec *spec,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* The most that a test can send, in bytes on the wire (IPv6 and UDP headers included);
 * UINT64_MAX for "as fast as possible" without max_bytes. Pure. */
uint64_t tl_udp_worst_bytes(const struct tl_udp_spec *spec);

/* Why a test ended. */
#define TL_UDP_END_MAP(X)                                                                          \
    X(NOT_RUN, "the test did not begin")                                                           \
    X(TIME, "its time was over")                                                                   \
    X(BYTES, "its bytes or its trains were sent")                                                  \
    X(CANCELLED, "it was cancelled")                                                               \
    X(UNHEARD, "the sender stopped: nothing came back for 1 s")                                    \
    X(BLACKHOLE, "the sender stopped: nothing arrived any more")                                   \
    X(REBOUND, "the address of the client's datagrams changed on the way (NAT)")                   \
    X(LOST, "the far end closed the connection without an end")                                    \
    X(FAILED, "a socket failed")

enum tl_udp_end {
#define TL_UDP_END_ENUM(name, text) TL_UDP_END_##name,
    TL_UDP_END_MAP(TL_UDP_END_ENUM)
#undef TL_UDP_END_ENUM
};

const char *tl_udp_end_text(enum tl_udp_end end);

/* The sender's own account. */
struct tl_udp_sender {
    uint64_t sent_count, sent_bytes;
    int64_t elapsed_ns;            /* start to last datagram, plus one interval of the pace */
    double offered_bps;            /* as granted; NAN for "as fast as possible" and trains */
    double achieved_bps;           /* sent over elapsed; NAN without */
    uint64_t largest_burst_count;  /* datagrams that left closer than half of their pace */
    uint64_t blocked_count;        /* EAGAIN: its own send buffer was full */
    uint64_t local_drop_count;     /* ENOBUFS: its own queue discipline refused (not in sent) */
    int64_t forfeited_ns;          /* pace given up since it was too far behind */
    unsigned gso_segments;         /* in use; 1 = off, also where the kernel has none */
    uint64_t cpu_ns, run_delay_ns; /* of its thread; run_delay: waited for a processor;
                                    * UINT64_MAX = not known */
};

/* Lengths of runs of missing datagrams: class k counts runs of 2^k to 2^(k+1) - 1, the last
 * class all longer ones. */
struct tl_udp_runs {
    uint64_t run_count;
    uint64_t longest_count;
    uint64_t classes[TL_UDP_RUN_CLASSES];
};

/* Queueing delay: over the smallest delay of the test, skew removed. NAN = not known. */
struct tl_udp_delay {
    uint64_t sample_count;
    double p10_ns, median_ns, p90_ns, p99_ns, max_ns;
    double jitter_ns;
    double skew_ppm; /* removed; NAN: none was */
    /* Of the datagram that arrived last before each gap: high with a full queue, as low as
     * the median with a policer or random loss. NAN without losses. */
    double before_loss_median_ns, before_loss_p10_ns;
    uint64_t gap_count; /* gaps that this rests on */
    bool clock_stepped; /* the receiver's clock was set during the test: no delay is known */
};

/* What arrived. */
struct tl_udp_receiver {
    /* A stranger that told counts and jitter alone: lost_count has in it what its own socket had no
     * room for; what came late or twice, when, and in what runs it was lost is not known. */
    bool totals_only;
    uint64_t received_count, received_bytes; /* unique and intact */
    uint64_t came_bytes;    /* whatever came, repeated, damaged or another's; 0: a far receiver */
    double received_bps;    /* payload, first to last arrival (its first datagram left out); NAN */
    int64_t span_ns;        /* first to last arrival */
    uint64_t missing_count; /* sent but never delivered to the receiving program */
    uint64_t local_drop_count;     /* of them: the receiving socket had no room; with GRO an
                                    * estimate, since it drops and counts whole batches */
    uint64_t checksum_error_count; /* of them: refused by the kernel for the UDP checksum */
    uint64_t damaged_count;        /* of them: arrived, but the CRC32C did not fit */
    uint64_t lost_count;           /* the rest: lost in the network. A host's receive
                                    * backlog counts for all its programs: see
                                    * host_softnet_drop_count */
    uint64_t duplicate_count;
    uint64_t reordered_count;
    uint64_t reorder_extent_max_count;
    int64_t reorder_late_max_ns;
    uint64_t foreign_count; /* not of this test: other content or number; never counted in */
    struct tl_udp_runs runs;
    struct tl_udp_delay delay;
    int rcvbuf_bytes;              /* as the kernel gave it */
    bool gro;                      /* in use */
    enum tl_udp_crc crc;           /* WHOLE, HEAD or NONE: what was checked */
    uint64_t cpu_ns, run_delay_ns; /* of its thread */
    /* Growth of this host's counters during the test, all programs of its network namespace;
     * UINT64_MAX = not known. */
    uint64_t host_rcvbuf_error_count, host_checksum_error_count, host_softnet_drop_count;
};

/* One piece of time, by the sender's clock: what was sent in it and what became of that. */
struct tl_udp_interval {
    int64_t start_ns; /* since the sender's start */
    uint64_t sent_count, sent_bytes;
    uint64_t received_count, received_bytes; /* of those sent in this interval */
    uint64_t arrived_bytes; /* arrived in it, by the receiver's clock, shifted by the delay of the
                             * first datagram */
    double delay_min_ns, delay_mean_ns, delay_max_ns; /* queueing, skew removed; NAN */
};

/* One train. Dispersion is first to last: of `received` datagrams the bytes behind the first
 * one in that time give the rate. */
struct tl_udp_train {
    unsigned sent_count, received_count;
    int64_t sent_ns;       /* first to last departure: the train's own rate */
    int64_t dispersion_ns; /* first to last arrival; -1 below two arrivals */
    int64_t gap_min_ns;    /* between neighbours of the train; -1 */
    int64_t gap_median_ns;
    int64_t delay_first_ns; /* queueing delay of its first datagram: found a queue; -1 */
    bool in_order;          /* none missing, none overtaken */
    /* What came with less than half the mean gap between is of one bundle: near received_count
     * from a link that serves evenly, 1 of a grant. 0 below two neighbours. */
    unsigned bundle_count;
};

struct tl_udp_result {
    struct tl_udp_spec spec; /* as asked */
    bool near_sends;
    int64_t granted_ns;
    uint64_t granted_bytes;    /* 0 = no cap */
    uint64_t granted_rate_bps; /* 0 = as fast as possible */
    enum tl_udp_end end;
    bool end_signed; /* TEST_END came with our token, and both ends' totals */
    bool valid;      /* end_signed, and the window is whole: not REBOUND, LOST, CANCELLED … */
    int64_t queued_ns, elapsed_ns; /* near clock: for our turn, start to end */
    struct tl_udp_sender sender;
    struct tl_udp_receiver receiver;
    double loss_ratio;                      /* lost over sent; NAN when nothing was sent */
    double loss_low_ratio, loss_high_ratio; /* 95 % bounds (Poisson, Garwood) of the runs, by
                                             * their mean length */
    unsigned interval_count;
    struct tl_udp_interval *intervals; /* owned */
    unsigned train_count;
    struct tl_udp_train *trains; /* owned */
    /* How much longer a word that was sent behind the last datagram was on its way than one before
     * the test: a queue that still stands, where the receiver tells no delays. NAN: not known. */
    double wait_behind_ns;
    /* Of the whole hosts; unknown where not told. */
    struct tl_cpu_usage sender_cpu, receiver_cpu;
    struct tl_host_counters_growth sender_counters, receiver_counters;
    char note[256]; /* what could not be done as asked ("no UDP_SEGMENT here …"), else "" */
};

/* Frees intervals and trains. */
void tl_udp_result_finish(struct tl_udp_result *result);

/* How long a train would take were all its gaps as the middle one: near its dispersion where it
 * came evenly, near 0 in bundles. Of a train of two and more. Pure. */
double tl_udp_train_even_ns(const struct tl_udp_train *train);

/* Whether a train's dispersion tells a rate: it arrived whole and in order, or at least three
 * quarters of it did, evenly spaced. Pure. */
bool tl_udp_train_tells(const struct tl_udp_train *train);

/* The rate that most trains (or pairs, length 2) agree on: (received - 1) datagrams over the
 * dispersion for each train that tells one, then the half-sample mode
 * (Bickel and Fruehwirth 2006) of their logarithms. The mode of pairs is the capacity of the
 * narrowest link where no other traffic disturbs most of them; long trains tend to the
 * average dispersion rate, which is lower (Dovrolis, Ramanathan and Moore, 2001, 2004). NAN
 * below 5 good trains. *ret_sender_limited (may be NULL): the trains left no faster than they
 * arrived, so that the rate is only a lower bound. Pure. */
double tl_udp_train_rate(const struct tl_udp_train *trains, unsigned count, unsigned datagram_bytes,
                         bool *ret_sender_limited);

#endif
