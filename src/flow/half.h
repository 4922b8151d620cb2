/* One direction of a connection while it is followed. Private to src/flow.
 *
 *   sender ---- data ----> capturing machine ---- data ----> receiver
 *   sender <--- acks ----- capturing machine <--- acks ----- receiver
 *
 * half_data() takes what the sender sends, half_ack() what comes back. Sequence numbers are 64 bits
 * wide here (unwrapped). */
#ifndef TL_FLOW_HALF_H
#define TL_FLOW_HALF_H

#include "tightlink/flow/packets.h"

#define HALF_UNWRAP_BASE (UINT64_C(1) << 32)
/* A longer jump is a gap of the capture; so is one over more segments than the packets that were
 * captured can have had lost between them. */
#define HALF_GAP_MAX     (UINT64_C(16) << 20)
#define HALF_HOLES_FIRST (HALF_GAP_MAX / 1448)
#define HALF_HOLES_EACH  16u
#define HALF_PIECES_MAX  65536u /* packets in flight that are followed */
#define HALF_ACKS_MAX    8192u  /* acknowledgements on their way to the sender */

enum piece_state {
    PIECE_SACKED = 1,
    PIECE_HOLE = 2,    /* not seen: lost before it came here, overtaken, or not captured */
    PIECE_STAMPED = 4, /* has timestamps */
};

/* A data packet in flight. */
struct piece {
    uint64_t begin;
    int64_t first_ns, last_ns; /* of a hole: when it was seen; when what stands before it came */
    uint32_t len, tsval, rtt_ns, far_rtt_ns, flight_bytes, next_flight_bytes, backlog_bytes;
    uint16_t ip_id, checksum;
    uint8_t sent_count, state;
    uint16_t packet_bytes;
};

/* An acknowledgement on its way to the sender. */
struct pending_ack {
    int64_t time_ns; /* when it reaches the sender */
    uint64_t ack, right;
    uint64_t sacked_bytes; /* beyond it, of all that was acknowledged selectively until then */
    bool has_data;
};

struct ring {
    uint32_t head, count, room; /* room is a power of two or 0 */
};

/* A bin that was used last. Those that widened are no longer the ones that it knows. */
struct bin_place {
    int64_t begin_ns, bin_ns; /* bin_ns 0: none yet */
    uint32_t index;
};

struct half {
    struct tl_packet_half *out;
    struct bin_place bin_here, bin_there; /* of what passes here; at the sender's place and time */
    bool started, mss_told;               /* mss_told: by the other end's SYN */
    uint64_t first, next, una;            /* as the capturing machine sees them */
    uint64_t sacked_to;                   /* highest byte that was acknowledged selectively */
    uint64_t sacked_bytes;                /* of the pieces */
    struct { /* whose pieces are marked: blocks come again and again, most of them grown */
        uint64_t begin, end;
    } sacked[TL_SEGMENT_SACKS_MAX];
    uint8_t sacked_next;               /* of them: the one to give way */
    uint64_t holes_count, steps_count; /* segments jumped over; list elements that were walked */
    uint64_t fin;                      /* behind the last byte; 0: not seen */
    uint8_t scale;                     /* of the receiver's window */
    uint8_t beyond_count;        /* acknowledgements in a row whose window is less than was sent */
    uint32_t last_segment_bytes; /* where no SYN tells the MSS: of the data packet before */
    uint32_t odd_segment_bytes;  /* of the data packet before; 0: it was a multiple of the MSS */

    struct piece *pieces;
    struct ring piece_ring;
    struct pending_ack *acks;
    struct ring ack_ring;

    /* The sender's place. */
    int64_t now_ns; /* accounted up to here; 0: not yet */
    uint64_t sender_una, sender_right;
    uint64_t sender_gone;     /* sender_una, and as many bytes as were acknowledged beyond it */
    uint64_t data_gone;       /* the same when it sent what was seen last */
    bool right_known, filled; /* filled: another packet like the last one did not fit the window */
    bool spent;               /* what was sent last was no full segment: no more was there */
    uint64_t train_bytes, train_end; /* what left the sender together */
    int64_t last_ack_ns;             /* that made progress reached the sender */
    bool answered;                   /* data of the other end has, since it sent last */
    uint64_t flight_behind;          /* what was sent last, that included */
    int64_t dry_ns;                  /* when its program had written nothing more, last; 0: never */
    double ack_delay_ns;             /* from here to the sender and back */
    uint64_t peak;                   /* most in flight of late, since the last loss or restart */
    uint64_t peak_next;              /* the same since peak_ns */
    int64_t peak_ns;
    uint64_t peak_before; /* that loss */
    uint64_t recovery_to; /* in recovery below */
    bool in_recovery;
    int64_t reach_ns;
    double reached_ns, clock_ns; /* time within reach of an acknowledgement; all of it */

    double backlog_bytes; /* before a link of somewhat more than the flow's own rate */
    int64_t backlog_ns;   /* as of then */

    double far_rtt_ns;   /* from here to the receiver and back, last sample */
    double far_least_ns; /* the least of them; NAN: none */
    double near_rtt_ns;  /* from here to the sender and back, by timestamps, of late */
    double echo_least_ns, echo_last_ns;
    int64_t echo_ns; /* when the last one came, which took echo_sample_ns */
    double echo_sample_ns;
    int64_t echo_begin_ns, echo_steady_ns; /* of the last sample that needed no correction */
    uint32_t last_rtt_ns, last_far_ns;     /* last sample; the part of it from here on */
    uint64_t window;
    int64_t last_data_ns, zero_since_ns, last_move_ns, window_since_ns;
    int64_t timed_ns; /* when what the last progress told was sent; 0: it tells no time */
    bool tried;       /* to send, since zero_since_ns: its sender has more */
    bool last_was_small;
    uint32_t stuck_count;
};

void half_init(struct half *half, struct tl_packet_half *out);
void half_finish(struct half *half); /* frees what is private; out stays */

/* The sender's SYN: where its numbers begin. */
void half_begin(struct half *half, uint32_t first_seq);
/* Least round trips between the capturing machine and each end; NAN unknown. */
void half_data(struct half *half, const struct tl_segment *segment, double near_rtt_ns,
               double far_rtt_ns);
void half_ack(struct half *half, const struct tl_segment *segment, double near_rtt_ns);
/* A sample of the way between here and the sender, and the least one so far. */
void half_echo(struct half *half, int64_t time_ns, double sample_ns, double least_ns);
/* Accounts the rest, up to the last packet of either end, and of the other end. */
void half_end(struct half *half, int64_t last_ns, int64_t other_last_ns);
/* The window was shut until then, or the capture was over. */
void half_end_shut(struct half *half, int64_t time_ns);

/* Without a SYN numbers begin where the first packet stands. */
static inline void half_begin_in_middle(struct half *half, uint32_t seq)
{
    if (!half->started)
        half_begin(half, seq);
}
/* A segment was overtaken by later ones. */
void half_count_late(struct half *half, int64_t time_ns);

/* In flight when the sender has sent up to end and that many bytes had left the way: what is
 * acknowledged selectively has arrived (RFC 6675, pipe), or a sender that mends a gap would seem to
 * have far more on the way than at the loss. */
static inline uint64_t half_flight(uint64_t end, uint64_t gone)
{
    return end > gone ? end - gone : 0;
}

/* --- pieces.c ------------------------------------------------------------------------------- */

/* That much passes here now: what it would leave waiting before a link that is somewhat faster than
 * the flow, packets that come together the more. 0 until a round trip is known. */
uint32_t pieces_queue(struct half *half, int64_t time_ns, uint32_t bytes);
/* For the caller to fill. NULL only without memory: then what is in flight is followed less
 * closely. */
struct piece *pieces_append(struct half *half);
/* What was jumped over up to end, a segment each. */
void pieces_append_holes(struct half *half, int64_t time_ns, uint64_t end);
void pieces_drop_first(struct half *half);
/* Index of the first piece that ends behind that byte. */
uint32_t pieces_find(const struct half *half, uint64_t byte);
/* A piece that offload joined, or that is acknowledged in part, becomes two. */
void pieces_split(struct half *half, uint64_t byte);

/* --- bins.c ------------------------------------------------------------------------------- */

/* Finds the bin of that time; widens all when there would be too many. NULL: out of memory. */
struct tl_packet_bin *bins_find(struct tl_packet_half *out, struct bin_place *place,
                                int64_t time_ns);
void bins_add_loss(struct tl_packet_half *out, const struct tl_packet_loss *loss);
/* The list with room for so many items, of which it holds `has`, or NULL where it is new: the room
 * doubles, from `first` on. NULL without memory: it is as it was. */
void *bins_with_room(struct tl_packet_half *out, void *list, uint32_t has, uint32_t count,
                     uint32_t first, size_t size);
/* What came by, and what of it is found to have been lost. Behind the first bin. */
void bins_add_passed(struct tl_packet_half *out, int64_t time_ns, uint32_t bytes);
void bins_take_passed(struct tl_packet_half *out, int64_t time_ns, uint32_t bytes);
/* What came by at that time was timed: to the sender and back, or to the receiver. */
enum bins_side { BINS_NEAR, BINS_FAR };
void bins_time_passed(struct tl_packet_half *out, int64_t time_ns, enum bins_side side, double ns);
/* That loss, a copy of one of the list, was none. */
void bins_restore_loss(struct tl_packet_half *out, const struct tl_packet_loss *loss);
/* The window was larger than it was taken for, by so many bits: no time so far was closed. */
void bins_open_window(struct tl_packet_half *out, unsigned bits);
/* From bins_begin_ns on: when the packets left whose shortest round trip that bin timed; before 0:
 * earlier than all bins. NAN: it timed none. */
double bins_sent_ns(const struct tl_packet_half *half, uint32_t index);
void bins_add_class(uint32_t classes[TL_PACKETS_RTT_CLASSES], double value_ns);

/* --- dispersion.c ---------------------------------------------------------------------------- */

/* So much more is acknowledged at that time, the newest of it sent at sent_ns. */
void dispersion_add(struct half *half, int64_t time_ns, int64_t sent_ns, uint64_t bytes);

/* --- account.c: what kept the sender from sending ------------------------------------------- */

/* Lets acknowledgements reach the sender up to that time and accounts until then. */
void account_until(struct half *half, int64_t time_ns);
/* An acknowledgement passed here, at its time_ns: it reaches the sender later. */
void account_ack(struct half *half, struct pending_ack ack);
/* The sender sent payload up to end. */
void account_sent(struct half *half, int64_t time_ns, uint64_t begin, uint64_t end);
void account_loss(struct half *half);

/* Copies of a mirror port, or of several interfaces, follow each other so closely; where nothing
 * numbers the packets, sooner than a host sends one again. */
static inline int64_t half_copy_ns(const struct tl_segment *segment)
{
    return segment->ip_id ? INT64_C(20000000) : INT64_C(1000000);
}

static inline uint64_t half_unwrap(uint64_t near_value, uint32_t seq)
{
    return near_value + (uint64_t)(int64_t)(int32_t)(seq - (uint32_t)near_value);
}

static inline uint32_t half_mss(const struct half *half)
{
    return half->out->mss_bytes ? half->out->mss_bytes : 1448;
}

static inline uint32_t half_segments(const struct half *half, uint32_t bytes)
{
    uint32_t mss = half_mss(half);
    return bytes <= mss ? 1 : (bytes + mss - 1) / mss;
}

/* Nearly all follow each other in one bin: that saves the division. */
static inline struct tl_packet_bin *bins_at_place(struct tl_packet_half *out,
                                                  struct bin_place *place, int64_t time_ns)
{
    if ((uint64_t)(time_ns - place->begin_ns) < (uint64_t)place->bin_ns &&
        place->bin_ns == out->bin_ns)
        return &out->bins[place->index];
    return bins_find(out, place, time_ns);
}

/* The bin of what passes here at that time; NULL: out of memory. */
static inline struct tl_packet_bin *bins_at(struct half *half, int64_t time_ns)
{
    return bins_at_place(half->out, &half->bin_here, time_ns);
}

static inline struct piece *half_piece(const struct half *half, uint32_t index)
{
    const struct ring *ring = &half->piece_ring;
    return &half->pieces[(ring->head + index) & (ring->room - 1)];
}

#endif
