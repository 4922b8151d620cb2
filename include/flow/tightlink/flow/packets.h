/* Connections as packets show them: who held what up, and when.
 *
 * A table of connections that segments go into, in the order of the capture. Each connection has
 * two halves, one a direction of data. What a half knows of its sender is computed for the sender's
 * own place: an acknowledgement that passed the capturing machine counts once it can have reached
 * the sender (the round trip between the two is known from handshake and timestamps). So one
 * account serves a capture at either end and in the middle.
 *
 * Memory is bounded: TL_PACKETS_FLOWS_MAX connections are counted, TL_PACKETS_TRACKED_MAX of them
 * followed in all detail, in at most TL_PACKETS_DETAIL_BYTES_MAX together; of those the small ones
 * make room first. So is time: a connection whose packets make more work than packets of any
 * transfer do (TL_PACKETS_STEPS_EACH) is followed no further. Nothing depends on the length of the
 * capture. What cannot be known is NAN, or said by a flag; a number is never made up.
 * One thread at a time. */
#ifndef TL_FLOW_PACKETS_H
#define TL_FLOW_PACKETS_H

#include "tightlink/flow/segment.h"

#define TL_PACKETS_FLOWS_MAX        (1u << 20) /* of 125 bytes each */
#define TL_PACKETS_TRACKED_MAX      (1u << 14)
#define TL_PACKETS_DETAIL_BYTES_MAX (UINT64_C(256) << 20)
/* Steps through the lists of a connection (packets in flight, blocks of SACK): those that a
 * capture has from the beginning, two seconds of them, and those that each packet brings. What is
 * sent again costs several. */
#define TL_PACKETS_STEPS_FIRST INT64_C(500000000)
#define TL_PACKETS_STEPS_EACH  INT64_C(4096)
/* Of one direction. */
#define TL_PACKETS_BINS_MAX     2048u
#define TL_PACKETS_LOSSES_MAX   8192u
#define TL_PACKETS_SLOTS_MAX    8192u
#define TL_PACKETS_PASSAGES_MAX 65536u
#define TL_PACKETS_GAPS_MAX     4096u

/* One interval of a direction, all of the same width. */
struct tl_packet_bin {
    uint64_t sent_bytes, acked_bytes;       /* new payload that passed; acknowledged */
    uint64_t delivered_bytes;               /* acknowledged first, in order or selectively */
    uint32_t segments_count, retrans_count; /* of one MSS each; sent again */
    uint32_t dsack_count, late_count;
    uint32_t vain_bytes;          /* sent again, and lost once more */
    float rtt_min_ns, rtt_sum_ns; /* both halves of the way together */
    uint32_t rtt_count;
    uint32_t flight_max_bytes, window_max_bytes, window_min_bytes; /* window_min UINT32_MAX: none */
    /* Of the interval, by what kept the sender from sending. */
    float idle_ns;     /* all was acknowledged and the window open: nothing to send */
    float slack_ns;    /* far less in flight than the same sender had there before */
    float rwnd_ns;     /* no full segment fits into the receive window */
    float recovery_ns; /* what was lost is being sent again */
    float wait_ns; /* data in flight, the window open: congestion window, send buffer or program */
    /* Of the two, while what was sent last was no full segment: then there was no more of it. */
    float spent_slack_ns, spent_wait_ns;
};

/* A segment that was sent twice, or found missing. */
struct tl_packet_loss {
    int64_t time_ns;            /* when it was sent the first time, or what came before its gap */
    uint64_t offset_bytes;      /* in the stream */
    uint32_t rtt_ns;            /* when it was sent; 0: unknown */
    uint32_t far_rtt_ns;        /* the part of it behind the capturing machine */
    uint32_t flight_bytes;      /* then */
    uint32_t next_flight_bytes; /* when what was seen next was sent; the same but for a gap */
    uint32_t backlog_bytes; /* that packets sent together would make before a link; 0: unknown */
    uint32_t len_bytes;
    bool upstream; /* before it came here: what was sent first is in no count */
    bool needless; /* the first one had arrived (DSACK, timestamps, acknowledgement) */
};

/* What came by at one time. Of the first packets; while none is lost of the latest only. */
struct tl_packet_passage {
    uint32_t time_us;         /* from bins_begin_ns on; none runs backwards */
    uint32_t passed_bytes;    /* payload, also what was sent again */
    uint32_t lost_bytes;      /* came by and was lost, or was missing behind what came by */
    uint32_t near_us, far_us; /* how long the way to the sender and back took then, and that to the
                               * receiver; 0: not timed */
};

/* Between two acknowledgements of what left closer together than it was acknowledged: on the way
 * the later part waited for the earlier one. */
struct tl_packet_gap {
    float byte_ns; /* how long a byte took */
    uint32_t bytes;
};

/* Round-trip times by size: eight classes an octave from 1 us on. */
#define TL_PACKETS_RTT_CLASSES 256
/* Shares in steps of 1/32. */
#define TL_PACKETS_SHARES 33

/* One direction of data. Counts are of segments of one MSS: a packet that offload joined counts as
 * many. */
struct tl_packet_half {
    /* From the sender's SYN; unknown where it was not captured. */
    bool syn_seen, has_wscale, sack_permitted, has_timestamps;
    bool syn_cut; /* the snap length cut its options: what is not among them is unknown */
    uint8_t wscale, ttl;
    uint16_t syn_mss_bytes; /* 0: none */
    uint32_t syn_count;     /* more than one: it was sent again */
    uint32_t mss_bytes;     /* in use, by what was sent */

    uint64_t packets_count, data_packets_count, segments_count;
    uint64_t payload_bytes; /* new, without what was sent again */
    uint64_t acked_bytes;
    int64_t first_data_ns, last_data_ns; /* 0: none */
    uint64_t retrans_count, retrans_bytes;
    uint64_t dsack_count, late_count; /* told by the receiver; overtaken by later segments */
    uint64_t loss_events_count;       /* at most one a round trip */
    uint64_t small_count;             /* data packets of less than one MSS, more following */
    uint64_t unseen_bytes;            /* acknowledged, but not in the capture */
    uint64_t ce_count, ece_count;     /* marked on the way; echoed by the receiver */
    uint64_t cut_count;               /* packets whose options the snap length cut */
    uint32_t largest_acked_packet, smallest_stuck_packet; /* IP bytes; 0: none */
    uint32_t stuck_count;                                 /* times that one was sent */
    int64_t stuck_ns;                                     /* how long, in vain */

    /* The receiver's window. */
    bool window_scaled;      /* by the handshake, or more was sent than an unscaled one allows */
    bool window_scale_known; /* by the handshake; else the least scale that what was sent allows */
    uint8_t window_scale;    /* that it was read with */
    uint64_t window_max_bytes;
    uint64_t window_count; /* acknowledgements that announced one */
    /* Since it was about as large as its largest: integral, time, and the time in which it was
     * fully open, less 3 segments. */
    double window_bytes_ns, window_ns, window_open_ns;
    uint64_t zero_window_count;
    int64_t shut_longest_ns; /* that it was closed to nothing while the sender tried to send */
    /* The capture ends with the oldest data sent again and again and no packet of the other end:
     * for so long; 0: it does not. */
    int64_t unanswered_ns;

    /* The sender's account, ns; the fields of a bin, summed. */
    double idle_ns, slack_ns, rwnd_ns, recovery_ns, wait_ns, spent_slack_ns, spent_wait_ns;
    /* Time between two moments, at most half a second apart, at which what was to be sent had run
     * out: as much was sent in it as was written. */
    double dry_ns;
    uint64_t dry_count;     /* of those moments */
    double brim_ns;         /* of slack and wait: the window had room, but perhaps for no train */
    uint64_t partial_count; /* data packets whose last segment was not a full one */
    uint64_t flight_max_bytes;
    uint32_t flight_classes[TL_PACKETS_RTT_CLASSES]; /* segments, by what was then in flight */
    /* The same by what would wait before a link half as fast again as the flow: how much was sent
     * together. */
    uint32_t backlog_classes[TL_PACKETS_RTT_CLASSES];
    double flight_bytes_ns; /* integral over the time with data in flight */
    double flight_ns;
    uint64_t echoes_count;   /* timestamps that came back with data: the way to the sender */
    double stall_longest_ns; /* longest time with data in flight and no progress */
    double ack_late_ns;      /* what was here waited for 5 ms and longer, with no gap in it */
    double ack_bout_ns; /* the same beyond the least way to the receiver and back, and then all that
                         * was on the way was acknowledged at once */
    /* Whether acknowledgements make it send: of the trains of packets (more than 300 us behind the
     * packet before) those that began within 200 us of an acknowledgement, and how many of them
     * would by chance, by the share of time that lies so near one. */
    uint64_t trains_count, clocked_count;
    double clocked_by_chance;
    uint64_t
        turns_count; /* of those trains: nothing was in flight, and the other end had sent data */
    uint64_t bursts_count; /* of packets that left in no time, with no acknowledgement in between */

    /* Pauses of more than 12 ms between data packets; of those as long as a retransmission timer.
     */
    uint64_t pauses_count;
    double pauses_ns, long_pauses_ns;
    uint32_t pause_classes[TL_PACKETS_RTT_CLASSES];
    uint64_t nagle_count; /* small segments that waited for a delayed acknowledgement */

    uint32_t rtt_classes[TL_PACKETS_RTT_CLASSES];
    double rtt_min_ns, rtt_sum_ns;
    uint64_t rtt_count;
    uint32_t backoff_shares[TL_PACKETS_SHARES]; /* flight behind a recovery over that before it */

    int64_t bins_begin_ns, bin_ns;
    struct tl_packet_bin *bins;
    uint32_t bins_count;
    struct tl_packet_loss *losses;
    uint32_t losses_count;
    /* Payload that came by in each 2^slot_shift ns from bins_begin_ns on, also what was sent again,
     * but not what was lost after having been sent again. */
    uint32_t *slots;
    uint32_t slots_count;
    uint8_t slot_shift;
    struct tl_packet_passage *passages;
    uint32_t passages_count, passages_room, passages_found; /* found: the one looked for last */
    struct tl_packet_gap *gaps;                             /* the first ones */
    uint32_t gaps_count;
    uint64_t held_bytes; /* in memory, for this direction's lists */
};

enum { TL_CLIENT, TL_SERVER }; /* who opened the connection, and who answered */

struct tl_packet_flow {
    struct tl_flow_address addresses[2]; /* by TL_CLIENT, TL_SERVER */
    uint16_t ports[2];
    int64_t first_ns, last_ns;
    bool client_known;                  /* its SYN was seen; else guessed from the ports */
    bool fin_seen, rst_seen, backwards; /* backwards: times in the capture run backwards */
    /* Round trip between the capturing machine and each end, and over all; NAN unknown. */
    double near_rtt_ns[2], handshake_rtt_ns;
    uint16_t router_mtu_bytes; /* a router reported that it takes no more; 0: none did */
    uint64_t too_big_count;
    uint64_t packets_count, wire_bytes;
    bool tracked; /* the halves are filled beyond their counts; else it had to make room */
    /* halves[TL_CLIENT]: data that the client sent. */
    struct tl_packet_half halves[2];
};

struct tl_packets;

struct tl_packets *tl_packets_create(void); /* NULL: out of memory */
void tl_packets_destroy(struct tl_packets *packets);

/* One number for both directions of a connection. Any thread may form it. */
uint32_t tl_packets_hash(const struct tl_segment *segment);

/* hash: tl_packets_hash() of the segment. TL_NOMEM: this segment's connection is not followed; the
 * others are. */
enum tl_status tl_packets_add(struct tl_packets *packets, const struct tl_segment *segment,
                              uint32_t hash) TL_WARN_UNUSED;
void tl_packets_add_too_big(struct tl_packets *packets, const struct tl_segment *quoted,
                            const struct tl_too_big *too_big);

/* Behind the last segment: closes what is open. Call once. */
void tl_packets_finish(struct tl_packets *packets);

/* A connection in brief, as all have it. */
struct tl_packet_brief {
    struct tl_flow_address addresses[2];
    uint16_t ports[2];
    int64_t first_ns, last_ns;
    uint64_t payload_bytes[2], packets_count[2], wire_bytes;
    bool client_known;
    const struct tl_packet_flow *flow; /* NULL where it had to make room */
};

size_t tl_packets_count(const struct tl_packets *packets);
/* After finish: sorted by payload, the largest first. False behind the last one. */
bool tl_packets_at(const struct tl_packets *packets, size_t index,
                   struct tl_packet_brief *ret_brief);
uint64_t tl_packets_left_out(const struct tl_packets *packets); /* segments of flows not counted */

/* --- Reading the classes ------------------------------------------------------------------ */

/* The value below which that share of the counts lies; NAN without any. */
double tl_packet_classes_quantile(const uint32_t classes[TL_PACKETS_RTT_CLASSES], double share);

/* The class of flight_classes that an amount belongs to; classes rise with it. */
unsigned tl_packet_flight_class(uint64_t bytes);

#endif
