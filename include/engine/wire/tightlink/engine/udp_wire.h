/* Messages and datagrams of a UDP test: TEST_UDP, UDP_START, UDP_REPORT, UDP_SERIES and the
 * datagram types DATA and FEEDBACK. The rules of wire.h hold: encoders write whole frames,
 * decoders check everything, nothing allocates. doc/wire.md has the layouts.
 *
 *   TEST_UDP -> (BUSY …) -> READY -> UDP_START -> STARTED -> datagrams
 *            -> UDP_REPORT of the sender -> UDP_REPORT of the receiver -> TEST_END
 *
 * A report is a set of numbers, each present or not, from a table that only grows. */
#ifndef TL_ENGINE_UDP_WIRE_H
#define TL_ENGINE_UDP_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/engine/wire.h"

#define TL_UDP_DATAGRAM_MIN 48   /* UDP payload */
#define TL_UDP_DATAGRAM_MAX 9216 /* likewise; fits a jumbo frame's 9000 with room to fail */
#define TL_UDP_BURST_MAX    1024
#define TL_UDP_GSO_MAX      64 /* UDP_MAX_SEGMENTS of kernels before 6.9 */
#define TL_UDP_TRAIN_MAX    64 /* datagrams a train */
#define TL_UDP_TRAINS_MAX   256
/* From one train's begin to the next: what 32 datagrams take at 3.7 Gb/s. */
#define TL_UDP_TRAIN_GAP_MIN_US 100

struct tl_wire_test_udp {
    enum tl_wire_direction direction;
    bool gro;                /* the receiver may take several datagrams as one */
    bool head_crc;           /* the CRC of a datagram covers its head alone */
    uint16_t datagram_bytes; /* UDP payload: TL_UDP_DATAGRAM_MIN to _MAX; refused outside */
    uint32_t duration_ms;    /* clamped: TL_LIMIT_DURATION_MS */
    uint64_t max_bytes;      /* UDP payload, 0: no cap of the client's own */
    uint64_t rate_bps;       /* UDP payload; 0: as fast as possible; clamped */
    uint16_t burst_count;    /* datagrams back to back; 0, 1: none */
    uint8_t gso_segments;    /* 0, 1: off */
    uint8_t dscp;            /* 0 to 63 */
    uint32_t interval_us;    /* of the series; clamped: TL_LIMIT_SAMPLE_INTERVAL_US */
    uint32_t rcvbuf_bytes;   /* SO_RCVBUF; 0: as the receiver likes */
    uint16_t train_length;   /* 0: a rate test; else 2 to TL_UDP_TRAIN_MAX */
    uint16_t train_count;    /* 1 to TL_UDP_TRAINS_MAX with a train_length */
    uint32_t train_gap_us;   /* from begin to begin */
    uint16_t grace_ms;       /* silence after which a receiver stops waiting, 0: 100 */
};

/* Instead of START. The tuple that proved itself with this challenge takes part. */
struct tl_wire_udp_start {
    uint32_t test_id;
    uint64_t cookie; /* tl_wire_udp_cookie() of the tuple's challenge */
};

/* name, unit, meaning. Append only; a signed number (_ppb) is 2 n, or -2 n - 1 below zero. */
#define TL_UDP_SENDER_FIELDS(X)                                                                    \
    X(sent_count, "count", "datagrams that the kernel took")                                       \
    X(sent_bytes, "bytes", "their UDP payload")                                                    \
    X(elapsed_ns, "ns", "start to last datagram, plus one interval of the pace")                   \
    X(largest_burst_count, "count", "datagrams that left closer than half their pace")             \
    X(blocked_count, "count", "times that the send buffer was full")                               \
    X(local_drop_count, "count", "datagrams that the sender's queue discipline refused")           \
    X(forfeited_ns, "ns", "pace given up since it was too far behind")                             \
    X(gso_segments_count, "count", "datagrams a GSO send, 1 = off")                                \
    X(end, "number", "0 time, 1 bytes, 2 stopped, 3 unheard, 4 nothing arrives, 5 failed")         \
    X(errnum, "number", "errno of a failed socket")                                                \
    X(cpu_ns, "ns", "CPU time of the sender's thread")                                             \
    X(run_delay_ns, "ns", "time that this thread waited for a CPU")

#define TL_UDP_RECEIVER_FIELDS(X)                                                                  \
    X(received_count, "count", "unique intact datagrams")                                          \
    X(received_bytes, "bytes", "their UDP payload")                                                \
    X(first_bytes, "bytes", "of the datagram that arrived first")                                  \
    X(span_ns, "ns", "first to last arrival")                                                      \
    X(missing_count, "count", "numbers that never arrived, of those known to be sent")             \
    X(local_drop_count, "count", "datagrams for which the receiving socket had no room")           \
    X(checksum_error_count, "count", "datagrams that its kernel refused for their checksum")       \
    X(damaged_count, "count",                                                                      \
      "datagrams whose CRC32C did not fit, of numbers that came no other way")                     \
    X(duplicate_count, "count", "datagrams that came again")                                       \
    X(reordered_count, "count", "datagrams that came behind a later one")                          \
    X(reorder_extent_max_count, "count", "largest extent (RFC 4737, 4.2.1)")                       \
    X(reorder_extent_sum_count, "count", "sum of the extents")                                     \
    X(reorder_late_max_ns, "ns", "largest late time offset (RFC 4737, 4.3)")                       \
    X(foreign_count, "count", "datagrams that were not of this test")                              \
    X(run_count, "count", "runs of missing datagrams")                                             \
    X(run_longest_count, "count", "the longest of them")                                           \
    X(runs_0_count, "count", "runs of 1")                                                          \
    X(runs_1_count, "count", "runs of 2 and 3")                                                    \
    X(runs_2_count, "count", "runs of 4 to 7")                                                     \
    X(runs_3_count, "count", "runs of 8 to 15")                                                    \
    X(runs_4_count, "count", "runs of 16 to 31")                                                   \
    X(runs_5_count, "count", "runs of 32 to 63")                                                   \
    X(runs_6_count, "count", "runs of 64 to 127")                                                  \
    X(runs_7_count, "count", "runs of 128 to 255")                                                 \
    X(runs_8_count, "count", "runs of 256 to 511")                                                 \
    X(runs_9_count, "count", "runs of 512 to 1023")                                                \
    X(runs_10_count, "count", "runs of 1024 to 2047")                                              \
    X(runs_11_count, "count", "runs of 2048 to 4095")                                              \
    X(runs_12_count, "count", "runs of 4096 to 8191")                                              \
    X(runs_13_count, "count", "runs of 8192 to 16383")                                             \
    X(runs_14_count, "count", "runs of 16384 to 32767")                                            \
    X(runs_15_count, "count", "runs of 32768 and more")                                            \
    X(delay_sample_count, "count", "datagrams that the percentiles rest on")                       \
    X(delay_p10_ns, "ns", "queueing delay: over the smallest, skew removed")                       \
    X(delay_median_ns, "ns", "its median")                                                         \
    X(delay_p90_ns, "ns", "its 90th percentile")                                                   \
    X(delay_p99_ns, "ns", "its 99th percentile")                                                   \
    X(delay_max_ns, "ns", "its maximum")                                                           \
    X(jitter_ns, "ns", "interarrival jitter (RFC 3550, 6.4.1)")                                    \
    X(skew_ppb, "signed", "skew of the clocks that was removed, parts in 10^9")                    \
    X(before_loss_median_ns, "ns", "queueing delay of the datagram before each gap, median")       \
    X(before_loss_p10_ns, "ns", "its 10th percentile")                                             \
    X(gap_count, "count", "gaps that this rests on")                                               \
    X(clock_stepped, "bool", "the receiver's clock was set during the test")                       \
    X(rcvbuf_bytes, "bytes", "SO_RCVBUF as the kernel gave it")                                    \
    X(gro, "bool", "UDP_GRO was in use")                                                           \
    X(head_crc, "bool", "the heads alone were checked")                                            \
    X(cpu_ns, "ns", "CPU time of the receiver's thread")                                           \
    X(run_delay_ns, "ns", "time that this thread waited for a CPU")                                \
    X(host_rcvbuf_error_count, "count", "the host's Udp:RcvbufErrors during the test")             \
    X(host_checksum_error_count, "count", "the host's Udp:InCsumErrors during the test")           \
    X(host_softnet_drop_count, "count", "the host's backlog drops during the test")

#define TL_UDP_INTERVAL_FIELDS(X)                                                                  \
    X(index, "number", "of the interval, from 0")                                                  \
    X(sent_count, "count", "datagrams sent in it (sender)")                                        \
    X(sent_bytes, "bytes", "their UDP payload (sender)")                                           \
    X(received_count, "count", "of those sent in it, arrived (receiver)")                          \
    X(received_bytes, "bytes", "their UDP payload (receiver)")                                     \
    X(arrived_bytes, "bytes", "that arrived in it, whenever sent (receiver)")                      \
    X(delay_min_ns, "ns", "queueing delay, smallest (receiver)")                                   \
    X(delay_mean_ns, "ns", "mean")                                                                 \
    X(delay_max_ns, "ns", "largest")

#define TL_UDP_TRAIN_FIELDS(X)                                                                     \
    X(index, "number", "of the train, from 0")                                                     \
    X(sent_count, "count", "datagrams that left (sender)")                                         \
    X(sent_ns, "ns", "first to last departure (sender)")                                           \
    X(received_count, "count", "datagrams that arrived (receiver)")                                \
    X(dispersion_ns, "ns", "first to last arrival (receiver)")                                     \
    X(gap_min_ns, "ns", "smallest between neighbours (receiver)")                                  \
    X(gap_median_ns, "ns", "median between neighbours (receiver)")                                 \
    X(delay_first_ns, "ns", "queueing delay of its first datagram (receiver)")                     \
    X(in_order, "bool", "none missing, none overtaken (receiver)")                                 \
    X(bundle_count, "count", "bundles that they came in (receiver)")

enum tl_udp_sender_field {
#define TL_UDP_FIELD_ENUM(name, unit, meaning) TL_US_##name,
    TL_UDP_SENDER_FIELDS(TL_UDP_FIELD_ENUM)
#undef TL_UDP_FIELD_ENUM
        TL_US_COUNT
};
enum tl_udp_receiver_field {
#define TL_UDP_FIELD_ENUM(name, unit, meaning) TL_UR_##name,
    TL_UDP_RECEIVER_FIELDS(TL_UDP_FIELD_ENUM)
#undef TL_UDP_FIELD_ENUM
        TL_UR_COUNT
};
enum tl_udp_interval_field {
#define TL_UDP_FIELD_ENUM(name, unit, meaning) TL_UI_##name,
    TL_UDP_INTERVAL_FIELDS(TL_UDP_FIELD_ENUM)
#undef TL_UDP_FIELD_ENUM
        TL_UI_COUNT
};
enum tl_udp_train_field {
#define TL_UDP_FIELD_ENUM(name, unit, meaning) TL_UT_##name,
    TL_UDP_TRAIN_FIELDS(TL_UDP_FIELD_ENUM)
#undef TL_UDP_FIELD_ENUM
        TL_UT_COUNT
};

#define TL_UDP_FIELDS_MAX 64

/* Numbers of one of these tables; bit i of present: values[i] is known. */
struct tl_udp_fields {
    uint64_t present;
    uint64_t values[TL_UDP_FIELDS_MAX];
};

static inline void tl_udp_field_set(struct tl_udp_fields *fields, unsigned field, uint64_t value)
{
    fields->present |= UINT64_C(1) << field;
    fields->values[field] = value;
}

static inline bool tl_udp_field_has(const struct tl_udp_fields *fields, unsigned field)
{
    return fields->present >> field & 1;
}

enum tl_udp_role { TL_UDP_ROLE_SENDER, TL_UDP_ROLE_RECEIVER };

/* One end's account: the sender's final one, or the receiver's, final or so far (then only
 * the first two fields and span_ns are present). */
struct tl_wire_udp_report {
    uint32_t test_id;
    enum tl_udp_role role;
    bool is_final;
    struct tl_udp_fields fields;
};

enum tl_udp_series_kind { TL_UDP_SERIES_INTERVALS, TL_UDP_SERIES_TRAINS };

#define TL_UDP_SERIES_MAX 32 /* records a frame */

struct tl_wire_udp_series {
    uint32_t test_id;
    enum tl_udp_series_kind kind;
    uint8_t count; /* 1 to TL_UDP_SERIES_MAX */
    struct tl_udp_fields records[TL_UDP_SERIES_MAX];
};

#define TL_WIRE_UDP_MESSAGE_MAP(X)                                                                 \
    X(test_udp, TEST_UDP)                                                                          \
    X(udp_start, UDP_START)                                                                        \
    X(udp_report, UDP_REPORT)                                                                      \
    X(udp_series, UDP_SERIES)

/* As in wire.h. 32 records of a series fit into a frame whatever their numbers are. */
#define TL_WIRE_UDP_PROTOTYPES(name, NAME)                                                         \
    size_t tl_wire_encode_##name(const struct tl_wire_##name *msg,                                 \
                                 uint8_t ret_frame[TL_WIRE_FRAME_MAX]);                            \
    enum tl_status tl_wire_decode_##name(const uint8_t *payload, size_t len,                       \
                                         struct tl_wire_##name *ret_msg, struct tl_error *reterr)  \
        TL_WARN_UNUSED;
TL_WIRE_UDP_MESSAGE_MAP(TL_WIRE_UDP_PROTOTYPES)
#undef TL_WIRE_UDP_PROTOTYPES

/* --- Datagrams --------------------------------------------------------------------------- */

#define TL_WIRE_UDP_DATA_HEAD     40
#define TL_WIRE_UDP_FEEDBACK_SIZE 64

/* DATA: from the sender. */
struct tl_wire_udp_data {
    bool head_crc;  /* the CRC covers the first 40 bytes alone */
    uint16_t bytes; /* length of the datagram */
    uint64_t cookie;
    uint32_t test_id;
    uint64_t sequence; /* from 0 */
    uint64_t sent_ns;  /* sender's monotonic clock since its start */
};

/* FEEDBACK: from the receiver, ten a second. */
struct tl_wire_udp_feedback {
    uint64_t cookie;
    uint32_t test_id;
    uint64_t received_count, received_bytes;
    uint64_t next_sequence; /* one more than the highest that came */
    uint64_t elapsed_ns;    /* receiver's time since its start */
};

size_t tl_wire_encode_udp_feedback(const struct tl_wire_udp_feedback *msg,
                                   uint8_t ret_datagram[TL_WIRE_UDP_FEEDBACK_SIZE]);
/* A wrong CRC is TL_PROTOCOL too: damaged feedback is none. */
enum tl_status tl_wire_decode_udp_feedback(const uint8_t *datagram, size_t len,
                                           struct tl_wire_udp_feedback *ret_msg,
                                           struct tl_error *reterr) TL_WARN_UNUSED;

#endif
