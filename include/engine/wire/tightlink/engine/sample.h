/* One reading of one TCP data socket: the kernel's TCP_INFO, the socket's
 * queues and memory, and what its worker thread has done so far.
 *
 * Every field is a uint64_t in the program's units, whatever width and unit the
 * kernel uses: times in ns, sizes in bytes, rates in bit/s. One table names
 * them, and the wire encoding, the facts and raw-sample files walk that table.
 * A kernel that is older than a field returns a shorter TCP_INFO; such a field
 * is absent, which is not the same as 0: ask tl_sample_has() before reading.
 *
 * Sources: include/uapi/linux/tcp.h (struct tcp_info, up to Linux 6.18),
 * net/ipv4/tcp.c tcp_get_info() for what each counter means. */
#ifndef TL_ENGINE_SAMPLE_H
#define TL_ENGINE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

/* X(member, unit, meaning). The order is the wire's order: new fields go to the
 * end, none is ever removed. Units: count, bytes, ns, bps, flags. */
#define TL_SAMPLE_FIELDS(X)                                                                        \
    /* What the worker did. */                                                                     \
    X(app_bytes, "bytes", "payload this end's application sent or received so far")                \
    X(cpu_ns, "ns", "CPU time of the stream's thread")                                             \
    X(run_delay_ns, "ns", "time the stream's thread waited for a CPU (schedstat)")                 \
    /* TCP_INFO, in the kernel's order. */                                                         \
    X(state, "count", "TCP state, 1 = established")                                                \
    X(ca_state, "count", "0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss")                          \
    X(retransmits, "count", "consecutive retransmission timeouts now")                             \
    X(probes, "count", "unanswered window probes now")                                             \
    X(backoff, "count", "RTO exponential backoff now")                                             \
    X(options, "flags", "negotiated: TL_TCP_OPT_*")                                                \
    X(snd_wscale_count, "count", "window scale the peer announced (applies to snd_wnd)")           \
    X(rcv_wscale_count, "count", "window scale this end announced")                                \
    X(app_limited, "flags", "1: delivery_rate was limited by the application")                     \
    X(fastopen_fail, "count", "TCP fast open failure reason")                                      \
    X(rto_ns, "ns", "retransmission timeout")                                                      \
    X(ato_ns, "ns", "delayed ACK timeout")                                                         \
    X(snd_mss_bytes, "bytes", "payload bytes in a full segment sent")                              \
    X(rcv_mss_bytes, "bytes", "estimate of the peer's segment payload")                            \
    X(unacked_count, "count", "segments sent and not acknowledged")                                \
    X(sacked_count, "count", "segments selectively acknowledged")                                  \
    X(lost_count, "count", "segments held for lost now")                                           \
    X(retrans_count, "count", "retransmitted segments in flight now")                              \
    X(fackets_count, "count", "always 0 since Linux 4.15")                                         \
    X(last_data_sent_ns, "ns", "since the last data segment was sent")                             \
    X(last_ack_sent_ns, "ns", "not kept by the kernel, 0")                                         \
    X(last_data_recv_ns, "ns", "since the last data segment arrived")                              \
    X(last_ack_recv_ns, "ns", "since the last ACK arrived")                                        \
    X(pmtu_bytes, "bytes", "path MTU in use")                                                      \
    X(rcv_ssthresh_bytes, "bytes", "receive window clamp now")                                     \
    X(rtt_ns, "ns", "smoothed RTT (RFC 6298)")                                                     \
    X(rttvar_ns, "ns", "RTT variation (RFC 6298)")                                                 \
    X(snd_ssthresh_count, "count", "slow start threshold, segments; 2^31-1 = none yet")            \
    X(snd_cwnd_count, "count", "congestion window, segments")                                      \
    X(advmss_bytes, "bytes", "MSS this end announced")                                             \
    X(reordering_count, "count", "reordering distance tolerated, segments")                        \
    X(rcv_rtt_ns, "ns", "RTT as the receiver estimates it, 0 = not yet")                           \
    X(rcv_space_bytes, "bytes", "receive buffer autotuning's target")                              \
    X(total_retrans_count, "count", "segments retransmitted so far")                               \
    X(pacing_bps, "bps", "pacing rate; 2^64-1 = unlimited")                                        \
    X(max_pacing_bps, "bps", "SO_MAX_PACING_RATE; 2^64-1 = unlimited")                             \
    X(bytes_acked, "bytes", "payload the peer acknowledged so far (+1 for the SYN)")               \
    X(bytes_received, "bytes", "payload received in order so far")                                 \
    X(segs_out_count, "count", "segments sent so far, ACKs too")                                   \
    X(segs_in_count, "count", "segments received so far, ACKs too")                                \
    X(notsent_bytes, "bytes", "written by the application, not sent yet")                          \
    X(min_rtt_ns, "ns", "lowest RTT in the kernel's window (5 min)")                               \
    X(data_segs_in_count, "count", "data segments received so far")                                \
    X(data_segs_out_count, "count", "data segments sent so far, retransmissions too")              \
    X(delivery_rate_bps, "bps", "recent delivery rate; no rate while app_limited")                 \
    X(busy_ns, "ns", "time with data to send; INCLUDES the next two")                              \
    X(rwnd_limited_ns, "ns", "of it, limited by the peer's receive window")                        \
    X(sndbuf_limited_ns, "ns", "of it, limited by the send buffer")                                \
    X(delivered_count, "count", "segments delivered so far")                                       \
    X(delivered_ce_count, "count", "of them, with a congestion mark echoed")                       \
    X(bytes_sent, "bytes", "payload sent so far, retransmissions too")                             \
    X(bytes_retrans, "bytes", "payload retransmitted so far")                                      \
    X(dsack_dups_count, "count", "duplicates the peer reported (D-SACK): needless retransmits")    \
    X(reord_seen_count, "count", "reordering events seen by the sender")                           \
    X(rcv_ooopack_count, "count", "segments received out of order")                                \
    X(snd_wnd_bytes, "bytes", "receive window the peer advertises, scaled")                        \
    X(rcv_wnd_bytes, "bytes", "receive window this end advertises, scaled")                        \
    X(rehash_count, "count", "flow label or hash changes after timeouts")                          \
    X(total_rto_count, "count", "retransmission timeouts so far")                                  \
    X(total_rto_recoveries_count, "count", "RTO recoveries so far")                                \
    X(total_rto_time_ns, "ns", "time spent in RTO recovery")                                       \
    X(received_ce_count, "count", "congestion-marked segments received")                           \
    X(delivered_e1_bytes, "bytes", "accurate ECN: delivered with ECT(1)")                          \
    X(delivered_e0_bytes, "bytes", "accurate ECN: delivered with ECT(0)")                          \
    X(delivered_ce_bytes, "bytes", "accurate ECN: delivered with CE")                              \
    X(received_e1_bytes, "bytes", "accurate ECN: received with ECT(1)")                            \
    X(received_e0_bytes, "bytes", "accurate ECN: received with ECT(0)")                            \
    X(received_ce_bytes, "bytes", "accurate ECN: received with CE")                                \
    /* The socket's queues (tcp(7) ioctls). */                                                     \
    X(inq_bytes, "bytes", "SIOCINQ: received, not yet read")                                       \
    X(outq_bytes, "bytes", "SIOCOUTQ: written, not yet acknowledged")                              \
    X(outq_notsent_bytes, "bytes", "SIOCOUTQNSD: written, not yet sent")                           \
    /* SO_MEMINFO (include/uapi/linux/sock_diag.h, SK_MEMINFO_*). */                               \
    X(mem_rmem_bytes, "bytes", "receive memory in use, with overhead")                             \
    X(mem_rcvbuf_bytes, "bytes", "SO_RCVBUF now (autotuning moves it)")                            \
    X(mem_wmem_bytes, "bytes", "send memory handed to the device")                                 \
    X(mem_sndbuf_bytes, "bytes", "SO_SNDBUF now (autotuning moves it)")                            \
    X(mem_fwd_bytes, "bytes", "memory reserved in advance")                                        \
    X(mem_wqueued_bytes, "bytes", "write queue memory, with overhead")                             \
    X(mem_optmem_bytes, "bytes", "option memory")                                                  \
    X(mem_backlog_bytes, "bytes", "received while the application held the socket")                \
    X(mem_drops_count, "count", "segments dropped by this socket for want of memory")              \
    /* The worker again (fields are only ever appended). */                                        \
    X(wait_ns, "ns", "time the stream's thread waited for room (sender) or for data (receiver)")   \
    X(waiting, "flags", "1: it was waiting when this was read")

/* TL_SF_rtt_ns and so on: index into tl_sample_fields and bit in `present`. */
enum tl_sample_field {
#define TL_SAMPLE_ENUM(member, unit, meaning) TL_SF_##member,
    TL_SAMPLE_FIELDS(TL_SAMPLE_ENUM)
#undef TL_SAMPLE_ENUM
        TL_SAMPLE_FIELD_COUNT
};

/* Bits of `options` (TCPI_OPT_*). */
enum {
    TL_TCP_OPT_TIMESTAMPS = 1,
    TL_TCP_OPT_SACK = 2,
    TL_TCP_OPT_WSCALE = 4,
    TL_TCP_OPT_ECN = 8,       /* negotiated at the handshake */
    TL_TCP_OPT_ECN_SEEN = 16, /* a packet with ECT arrived */
    TL_TCP_OPT_SYN_DATA = 32, /* data in the SYN was acknowledged */
};

#define TL_SAMPLE_PRESENT_WORDS 2 /* room for 128 fields */

/* Plain data, copied freely. */
struct tl_tcp_sample {
    int64_t time_ns;                           /* since the test's start at this end */
    uint32_t stream;                           /* index in the test, from 0 */
    bool last;                                 /* the stream's final reading */
    uint64_t present[TL_SAMPLE_PRESENT_WORDS]; /* bit TL_SF_x: field x was read */
#define TL_SAMPLE_MEMBER(member, unit, meaning) uint64_t member;
    TL_SAMPLE_FIELDS(TL_SAMPLE_MEMBER)
#undef TL_SAMPLE_MEMBER
};

/* The samples of one stream at one end, in time order. Zero-initialised is empty. */
struct tl_sample_log {
    struct tl_tcp_sample *samples; /* owned */
    size_t count, cap;
};

/* Appends a copy. TL_LIMIT when the log holds max already (a hostile peer may send
 * samples without end), TL_NOMEM. */
enum tl_status tl_sample_log_add(struct tl_sample_log *log, const struct tl_tcp_sample *sample,
                                 size_t max) TL_WARN_UNUSED;
void tl_sample_log_finish(struct tl_sample_log *log);

struct tl_sample_field_info {
    const char *name; /* the member's name */
    const char *unit; /* "count", "bytes", "ns", "bps" or "flags" */
    const char *meaning;
    size_t offset; /* of the uint64_t in struct tl_tcp_sample */
};

/* Indexed by enum tl_sample_field. */
extern const struct tl_sample_field_info tl_sample_fields[TL_SAMPLE_FIELD_COUNT];

bool tl_sample_has(const struct tl_tcp_sample *sample, enum tl_sample_field field);
/* The value, 0 when absent. */
uint64_t tl_sample_get(const struct tl_tcp_sample *sample, enum tl_sample_field field);
/* Stores the value and marks it present. */
void tl_sample_set(struct tl_tcp_sample *sample, enum tl_sample_field field, uint64_t value);

/* The least round trip that the sample tells of in ns, NAN where it tells none. One of whole
 * milliseconds on a connection with timestamps may come from them (RFC 7323, section 4: Linux ticks
 * once a millisecond, tcp_rtt_tsopt_us()) and is rounded down: a millisecond more is returned,
 * which it was at most. The smallest of all readings is that of the finest. */
double tl_sample_least_rtt_ns(const struct tl_tcp_sample *sample);

/* Payload bytes between the oldest unacknowledged byte and the newest sent one
 * (snd_nxt - snd_una): the number that a receive window or a congestion window
 * bounds. From bytes_sent - bytes_retrans - bytes_acked, which the kernel reads
 * in one go; else SIOCOUTQ - SIOCOUTQNSD; else unacked * MSS. False when none
 * of these is present. */
bool tl_sample_in_flight(const struct tl_tcp_sample *sample, uint64_t *ret_bytes);

#endif
