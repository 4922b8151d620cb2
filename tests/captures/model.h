/* A TCP transfer over a modelled path, in its own time, for captures whose cause is known.
 *
 *   sender -> NIC -> (tap near) -> delay -> (tap middle) -> trouble -> delay -> (tap far) ->
 * receiver
 *
 * The same numbers give the same bytes: chance comes from one seed. The sender is what a Linux host
 * is in outline: CUBIC (RFC 9438) or Reno with SACK, RACK (RFC 8985), proportional rate reduction
 * (RFC 6937) and retransmission timeouts; the receiver delays acknowledgements and announces what
 * its buffer has left. Times are ns from the SYN on, sizes bytes. */
#ifndef TL_TESTS_CAPTURES_MODEL_H
#define TL_TESTS_CAPTURES_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define NS_PER_S  1e9
#define MSS       1448u
#define SACKS_MAX 3
#define TAPS      3        /* near, middle, far */
#define FIRST_SEQ 1000000u /* of either end's SYN */
#define HEADERS   52u      /* IPv4 and TCP with timestamps */

/* What a case sets; 0 is none unless said otherwise. */
struct model_spec {
    double seed, seconds;
    /* The way. */
    double delay_ms;                 /* one way, whole; default 20 */
    double middle_share;             /* of it before the trouble; default 0.5 */
    double nic_mbps;                 /* default 1000 */
    double jitter_ms;                /* uniform, order kept */
    double link_mbps, queue_kb;      /* the slowest link and its tail-drop queue; default 200 kB */
    double codel_ms, ecn;            /* CoDel with that target instead; marks */
    double others_ratio;             /* share of the link that others' packets take */
    double police_mbps, bucket_kb;   /* token bucket that drops */
    double loss_ratio;               /* single packets, by chance */
    double burst_ratio, burst_count; /* share of packets at which that many in a row vanish */
    double reorder_ratio, reorder_ms;
    double hole_bytes; /* IP packets above it vanish */
    double syn_lost_count;
    /* The sender. */
    double reno, ecn_sender, sndbuf_kb;
    double write_kb, write_gap_ms; /* writes so much, then sleeps; 0: all at once */
    double tso;                    /* segments that offload joins at the near tap; default 10 */
    /* The receiver. */
    double rcvbuf_kb;            /* its window at most; default 6144 */
    double read_kb, read_gap_ms; /* reads so much, then sleeps */
    double gro;                  /* segments that offload joins at the far tap; default 10 */
    /* The capture. */
    double snap_bytes, drop_ratio, skip_seconds, one_way; /* one_way: 1 data, 2 acknowledgements */
};

struct model_packet {
    bool data;
    uint8_t flags;
    bool ce, ect;
    uint64_t seq, ack; /* offsets in the stream; a SYN is -1 */
    uint32_t len;
    uint64_t window;
    uint64_t sacks[SACKS_MAX][2];
    int sack_count;
    uint32_t tsval, tsecr;
    uint16_t id;
};

enum model_event_kind {
    EVENT_AT_MIDDLE,   /* data passes the middle tap and meets the trouble */
    EVENT_AT_FAR,      /* data reaches the receiver */
    EVENT_OTHERS,      /* a packet of others enters the queue */
    EVENT_ACK_MIDDLE,  /* an acknowledgement passes the middle tap */
    EVENT_ACK_NEAR,    /* and reaches the sender */
    EVENT_WRITE,       /* the sending program writes */
    EVENT_READ,        /* the receiving program reads */
    EVENT_DELAYED_ACK, /* the receiver's timer */
    EVENT_TIMEOUT,     /* the sender's */
};

struct model;

/* --- events.c: what happens when, and chance ------------------------------------------------ */
void model_at(struct model *model, int64_t time_ns, enum model_event_kind kind,
              const struct model_packet *packet);
bool model_next(struct model *model, enum model_event_kind *ret_kind,
                struct model_packet *ret_packet);
double model_chance(struct model *model); /* [0, 1) */

/* --- path.c --------------------------------------------------------------------------------- */
void path_send(struct model *model, const struct model_packet *packet); /* data leaves the NIC */
void path_trouble(struct model *model, struct model_packet *packet);
void path_others(struct model *model);

/* --- sender.c, receiver.c ------------------------------------------------------------------- */
void sender_begin(struct model *model);
void sender_write(struct model *model);
void sender_ack(struct model *model, const struct model_packet *ack);
void sender_timeout(struct model *model);
void receiver_begin(struct model *model);
void receiver_data(struct model *model, const struct model_packet *packet);
void receiver_read(struct model *model);
void receiver_timer(struct model *model);
uint64_t receiver_window(const struct model *model);

/* --- tap.c ---------------------------------------------------------------------------------- */
bool tap_open(struct model *model, const char *directory);
void tap_see(struct model *model, int tap, const struct model_packet *packet);
bool tap_close(struct model *model);

/* A segment that was sent and is not yet acknowledged. */
struct model_segment {
    uint64_t seq;
    uint32_t len;
    int64_t sent_ns;
    bool sacked, lost, again;
};

struct model_sender {
    uint64_t una, next, written, right;
    uint64_t small_end;             /* of the last segment that was not full */
    struct model_segment *segments; /* a ring of SEGMENTS_MAX */
    uint32_t head, count;
    bool marked;           /* some of them may be sacked or lost */
    double cwnd, ssthresh; /* segments */
    bool recovery, reordered;
    uint64_t recovery_to;
    double prr_delivered, prr_out, prr_pipe;
    double srtt_ns, rttvar_ns, rtt_min_ns, round_least_ns;
    uint64_t round_end, reduced_to;
    int64_t rack_ns, timeout_ns;
    unsigned backoffs;
    uint32_t tsrecent;
    double w_max, epoch_ns, k_s, w_est; /* CUBIC */
    double reorder_wait;                /* RACK's window, in quarters of the least round trip */
    /* Kept for the truth. */
    uint64_t again_count, events_count, timeouts_count;
    double held_ns[4]; /* app, sndbuf, rwnd, network */
    int held;
    int64_t held_since_ns;
};

struct model_range {
    uint64_t begin, end;
};

#define RANGES_MAX 1024
struct model_receiver {
    uint64_t next, read, right;
    struct model_range ranges[RANGES_MAX]; /* out of order, the latest first */
    int range_count;
    unsigned unacked_count, quick_count;
    int64_t timer_ns;
    uint32_t tsrecent;
    int echo_count; /* acknowledgements that still echo a mark */
    bool ce, closed;
    uint64_t buffer;
};

struct model_path {
    int64_t nic_free_ns, link_free_ns, last_out_ns;
    double tokens, tokens_ns;
    int burst_left;
    /* CoDel (RFC 8289). */
    int64_t above_ns, drop_next_ns;
    bool dropping;
    unsigned drop_count;
    uint64_t dropped_count;
};

struct model_tap {
    FILE *file;
    struct model_packet held; /* data that offload may join to the next */
    unsigned held_count;
    int64_t held_ns, held_since_ns;
    uint64_t packets_count;
};

struct model_event {
    int64_t time_ns;
    uint64_t order;
    enum model_event_kind kind;
    struct model_packet packet;
};

struct model {
    struct model_spec spec;
    int64_t now_ns;
    uint64_t random;
    struct model_event *events;
    size_t event_count, event_room;
    uint64_t event_order;
    struct model_sender sender;
    struct model_receiver receiver;
    struct model_path path;
    struct model_tap taps[TAPS];
    uint16_t next_id;
};

#endif
