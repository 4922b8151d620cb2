/* The sending end: windows, loss detection, recovery, timeouts, and whose time it was. */
#include <math.h>
#include <stdlib.h>

#include "model.h"

#define SEGMENTS_MAX  65536u
#define CWND_FIRST    10.0
#define CUBIC_C       0.4
#define CUBIC_BETA    0.7
#define RENO_BETA     0.5
#define TIMEOUT_LEAST 200e6

enum { HELD_APP, HELD_SNDBUF, HELD_RWND, HELD_NETWORK };

static struct model_segment *segment_at(const struct model_sender *sender, uint32_t index)
{
    return &sender->segments[(sender->head + index) & (SEGMENTS_MAX - 1)];
}

/* --- Whose time ------------------------------------------------------------------------------- */

static void hold(struct model *model, int reason)
{
    struct model_sender *sender = &model->sender;
    sender->held_ns[sender->held] += (double)(model->now_ns - sender->held_since_ns);
    sender->held = reason;
    sender->held_since_ns = model->now_ns;
}

/* --- Sending ---------------------------------------------------------------------------------- */

static double pipe_of(const struct model_sender *sender)
{
    uint32_t pipe = 0;
    if (!sender->marked)
        return sender->count;
    for (uint32_t i = 0; i < sender->count; i++) {
        const struct model_segment *segment = segment_at(sender, i);
        pipe += !segment->sacked && (!segment->lost || segment->again);
    }
    return pipe;
}

static void arm(struct model *model)
{
    struct model_sender *sender = &model->sender;
    double wait_ns = sender->srtt_ns > 0
                         ? fmax(sender->srtt_ns + 4 * sender->rttvar_ns, TIMEOUT_LEAST)
                         : NS_PER_S;
    sender->timeout_ns = model->now_ns + (int64_t)(wait_ns * pow(2, sender->backoffs));
    model_at(model, sender->timeout_ns, EVENT_TIMEOUT, NULL);
}

static void emit(struct model *model, struct model_segment *segment, bool again)
{
    struct model_packet packet = {.data = true,
                                  .flags = 0x10,
                                  .seq = segment->seq,
                                  .len = segment->len,
                                  .ect = model->spec.ecn_sender > 0,
                                  .tsval = (uint32_t)(model->now_ns / 1000000),
                                  .tsecr = model->sender.tsrecent,
                                  .id = ++model->next_id};
    segment->sent_ns = model->now_ns;
    segment->again = again;
    model->sender.again_count += again;
    tap_see(model, 0, &packet);
    path_send(model, &packet);
    if (model->sender.timeout_ns == 0)
        arm(model);
}

static bool send_lost(struct model *model)
{
    struct model_sender *sender = &model->sender;
    for (uint32_t i = 0; i < sender->count; i++) {
        struct model_segment *segment = segment_at(sender, i);
        if (segment->lost && !segment->again && !segment->sacked) {
            emit(model, segment, true);
            return true;
        }
    }
    return false;
}

static void fill_buffer(struct model *model);

static bool send_new(struct model *model)
{
    struct model_sender *sender = &model->sender;
    fill_buffer(model);
    uint64_t left = sender->written - sender->next;
    uint32_t len = left < MSS ? (uint32_t)left : MSS;
    if (len == 0 || sender->next + len > sender->right || sender->count == SEGMENTS_MAX)
        return false;
    if (len < MSS && sender->small_end > sender->una) /* Nagle as Linux has it (Minshall 1999) */
        return false;
    if (len < MSS)
        sender->small_end = sender->next + len;
    struct model_segment *segment = segment_at(sender, sender->count++);
    *segment = (struct model_segment){.seq = sender->next, .len = len};
    sender->next += len;
    emit(model, segment, false);
    return true;
}

static void send_all(struct model *model)
{
    struct model_sender *sender = &model->sender;
    double pipe = pipe_of(sender), room = sender->cwnd;
    while (pipe < room) {
        if (!(sender->recovery && send_lost(model)) && !send_new(model))
            break;
        pipe++;
        sender->prr_out++;
    }
    bool full = model->spec.write_kb <= 0 ||
                model->spec.sndbuf_kb * 1e3 <= (double)(sender->written - sender->una);
    int reason = pipe + 0.5 >= room || sender->recovery  ? HELD_NETWORK
                 : sender->next + MSS <= sender->written ? HELD_RWND
                 : full                                  ? HELD_SNDBUF
                 : sender->count == 0                    ? HELD_APP
                                                         : HELD_NETWORK;
    hold(model, reason);
}

/* --- The program ------------------------------------------------------------------------------ */

static uint64_t wanted; /* that the program has tried to write */
static bool sleeping;

static void fill_buffer(struct model *model)
{
    struct model_sender *sender = &model->sender;
    uint64_t edge = sender->una + (uint64_t)(model->spec.sndbuf_kb * 1e3);
    /* A program that waits is woken once a third is free (sk_stream_write_space). */
    if (sender->written > sender->una &&
        (double)(edge - sender->written) * 3 < model->spec.sndbuf_kb * 1e3 &&
        wanted > sender->written && sender->written + MSS > sender->next + MSS)
        return;
    if (model->spec.write_kb <= 0) { /* whole segments, as Linux fills its buffer */
        edge -= edge % MSS;
        sender->written = edge > sender->written ? edge : sender->written;
        return;
    }
    if (edge > wanted)
        edge = wanted;
    if (edge > sender->written)
        sender->written = edge;
    if (sender->written == wanted && !sleeping) {
        sleeping = true;
        double sleep_ms = model->spec.write_gap_ms * (0.9 + 0.2 * model_chance(model));
        model_at(model, model->now_ns + (int64_t)(sleep_ms * 1e6), EVENT_WRITE, NULL);
    }
}

void sender_write(struct model *model)
{
    sleeping = false;
    wanted += (uint64_t)(model->spec.write_kb * 1e3);
    send_all(model);
}

/* --- Congestion control ----------------------------------------------------------------------- */

static void reduce(struct model *model)
{
    struct model_sender *sender = &model->sender;
    double beta = model->spec.reno > 0 ? RENO_BETA : CUBIC_BETA;
    sender->events_count++;
    sender->w_max = sender->cwnd < sender->w_max ? sender->cwnd * (1 + beta) / 2 : sender->cwnd;
    sender->ssthresh = fmax(sender->cwnd * beta, 2);
    sender->epoch_ns = 0;
    sender->w_est = sender->ssthresh;
}

static void grow(struct model *model, double acked)
{
    struct model_sender *sender = &model->sender;
    if (sender->held != HELD_NETWORK) /* not used: not grown */
        return;
    if (sender->cwnd < sender->ssthresh) {
        sender->cwnd += acked;
        return;
    }
    if (model->spec.reno > 0) {
        sender->cwnd += acked / sender->cwnd;
        return;
    }
    if (sender->epoch_ns <= 0) {
        sender->epoch_ns = (double)model->now_ns;
        sender->k_s =
            sender->cwnd < sender->w_max ? cbrt((sender->w_max - sender->cwnd) / CUBIC_C) : 0;
        if (sender->cwnd > sender->w_max)
            sender->w_max = sender->cwnd;
        sender->w_est = sender->cwnd;
    }
    double t_s = ((double)model->now_ns - sender->epoch_ns + sender->rtt_min_ns) / NS_PER_S;
    double target = sender->w_max + CUBIC_C * pow(t_s - sender->k_s, 3);
    sender->w_est += 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA) * acked / sender->cwnd;
    target = fmin(fmax(target, sender->w_est), 1.5 * sender->cwnd);
    if (target > sender->cwnd)
        sender->cwnd += (target - sender->cwnd) / sender->cwnd * acked;
}

/* HyStart: slow start ends where round trips rise (RFC 9406, section 4.2). */
static void watch_round(struct model *model, double sample_ns)
{
    struct model_sender *sender = &model->sender;
    if (sender->una >= sender->round_end) {
        sender->round_end = sender->next;
        sender->round_least_ns = INFINITY;
    }
    sender->round_least_ns = fmin(sender->round_least_ns, sample_ns);
    double rise = fmin(fmax(sender->rtt_min_ns / 8, 4e6), 16e6);
    if (model->spec.reno <= 0 && sender->cwnd < sender->ssthresh && sender->cwnd > 16 &&
        sender->round_least_ns > sender->rtt_min_ns + rise)
        sender->ssthresh = sender->cwnd;
}

static void take_rtt(struct model *model, double sample_ns)
{
    struct model_sender *sender = &model->sender;
    sender->rtt_min_ns = fmin(sender->rtt_min_ns, sample_ns);
    if (sender->srtt_ns <= 0) {
        sender->srtt_ns = sample_ns;
        sender->rttvar_ns = sample_ns / 2;
    } else {
        sender->rttvar_ns += 0.25 * (fabs(sample_ns - sender->srtt_ns) - sender->rttvar_ns);
        sender->srtt_ns += 0.125 * (sample_ns - sender->srtt_ns);
    }
    watch_round(model, sample_ns);
}

/* --- Acknowledgements ------------------------------------------------------------------------- */

static unsigned take_sacks(struct model_sender *sender, const struct model_packet *ack)
{
    unsigned fresh = 0;
    for (int i = 0; i < ack->sack_count; i++) {
        if (ack->sacks[i][1] <= ack->ack) { /* DSACK: it was sent again in vain */
            sender->reorder_wait = fmin(sender->reorder_wait + 1, 8);
            continue;
        }
        for (uint32_t at = 0; at < sender->count; at++) {
            struct model_segment *segment = segment_at(sender, at);
            if (segment->sacked || segment->seq < ack->sacks[i][0] ||
                segment->seq + segment->len > ack->sacks[i][1])
                continue;
            segment->sacked = sender->marked = true;
            fresh++;
            if (segment->sent_ns > sender->rack_ns)
                sender->rack_ns = segment->sent_ns;
        }
    }
    return fresh;
}

/* RACK: what was sent a while before something that has arrived is lost. */
static bool find_lost(struct model_sender *sender)
{
    unsigned sacked = 0;
    bool any = false;
    if (!sender->marked)
        return false;
    sender->marked = false;
    for (uint32_t i = 0; i < sender->count; i++) {
        const struct model_segment *segment = segment_at(sender, i);
        sacked += segment->sacked;
        sender->marked |= segment->sacked || segment->lost;
    }
    double wait = sender->reorder_wait;
    if (wait <= 1 && sacked >= 3)
        wait = 0;
    int64_t wait_ns = (int64_t)(wait * sender->rtt_min_ns / 4);
    for (uint32_t i = 0; i < sender->count && sacked > 0; i++) {
        struct model_segment *segment = segment_at(sender, i);
        if (segment->sacked || segment->sent_ns + wait_ns >= sender->rack_ns)
            continue;
        if (!segment->lost || segment->again)
            any = true;
        segment->lost = sender->marked = true;
        segment->again = false;
    }
    return any;
}

/* Drops what is acknowledged; how many, and the round trip of the latest that was sent once. */
static unsigned forget(struct model *model, const struct model_packet *ack, double *ret_sample_ns)
{
    struct model_sender *sender = &model->sender;
    unsigned count = 0;
    *ret_sample_ns = 0;
    while (sender->count > 0) {
        struct model_segment *segment = segment_at(sender, 0);
        if (segment->seq + segment->len > ack->ack)
            break;
        if (!segment->again && !segment->lost && !segment->sacked)
            *ret_sample_ns = (double)(model->now_ns - segment->sent_ns);
        if (segment->sent_ns > sender->rack_ns)
            sender->rack_ns = segment->sent_ns;
        count += !segment->sacked;
        sender->head++;
        sender->count--;
    }
    sender->una = ack->ack;
    sender->backoffs = 0;
    return count;
}

static void recover(struct model *model, unsigned delivered)
{
    struct model_sender *sender = &model->sender;
    if (!sender->recovery) {
        reduce(model);
        sender->recovery = true;
        sender->recovery_to = sender->next;
        sender->prr_pipe = fmax((double)sender->count, 1);
        sender->prr_delivered = sender->prr_out = 0;
    }
    sender->prr_delivered += delivered;
    double pipe = pipe_of(sender), send;
    if (pipe > sender->ssthresh)
        send = ceil(sender->prr_delivered * sender->ssthresh / sender->prr_pipe) - sender->prr_out;
    else
        send = fmin(sender->ssthresh - pipe,
                    fmax(sender->prr_delivered - sender->prr_out, delivered) + 1);
    if (sender->prr_out == 0 && send < 1)
        send = 1;
    sender->cwnd = pipe + fmax(send, 0);
}

void sender_ack(struct model *model, const struct model_packet *ack)
{
    struct model_sender *sender = &model->sender;
    double sample_ns = 0;
    unsigned delivered = take_sacks(sender, ack);
    sender->tsrecent = ack->tsval > sender->tsrecent ? ack->tsval : sender->tsrecent;
    if (ack->ack + ack->window > sender->right)
        sender->right = ack->ack + ack->window;
    if (ack->ack > sender->una) {
        delivered += forget(model, ack, &sample_ns);
        if (sample_ns > 0)
            take_rtt(model, sample_ns);
        sender->timeout_ns = 0;
        if (sender->count > 0)
            arm(model);
    }
    if (sender->recovery && sender->una >= sender->recovery_to) {
        sender->recovery = false;
        sender->cwnd = fmax(sender->cwnd, 2);
        if (sender->cwnd > sender->ssthresh || sender->prr_pipe > 0)
            sender->cwnd = sender->ssthresh;
    }
    bool lost = find_lost(sender);
    if (ack->flags & 0x40 && sender->una > sender->reduced_to && !sender->recovery) {
        reduce(model);
        sender->cwnd = sender->ssthresh;
        sender->reduced_to = sender->next;
    }
    if (lost || (sender->recovery && sender->prr_pipe > 0))
        recover(model, delivered);
    else
        grow(model, delivered);
    send_all(model);
}

void sender_timeout(struct model *model)
{
    struct model_sender *sender = &model->sender;
    if (sender->timeout_ns != model->now_ns || sender->count == 0)
        return;
    reduce(model);
    sender->timeouts_count++;
    sender->marked = true;
    for (uint32_t i = 0; i < sender->count; i++) {
        struct model_segment *segment = segment_at(sender, i);
        segment->lost |= !segment->sacked;
        segment->again = false;
    }
    sender->recovery = true;
    sender->recovery_to = sender->next;
    sender->prr_pipe = 0; /* slow start, until all that was in flight is acknowledged */
    sender->cwnd = 1;
    if (sender->backoffs < 8)
        sender->backoffs++;
    sender->timeout_ns = 0;
    send_all(model);
    if (sender->timeout_ns == 0)
        arm(model);
}

void sender_begin(struct model *model)
{
    struct model_sender *sender = &model->sender;
    sender->segments = calloc(SEGMENTS_MAX, sizeof *sender->segments);
    if (!sender->segments)
        abort();
    sender->cwnd = CWND_FIRST;
    sender->ssthresh = INFINITY;
    sender->rtt_min_ns = sender->round_least_ns = INFINITY;
    sender->reorder_wait = 1;
    sender->held = HELD_APP;
    sender->held_since_ns = model->now_ns;
    sender->right = receiver_window(model) < 65535 ? receiver_window(model) : 65535;
    wanted = 0;
    sleeping = false;
    if (model->spec.write_kb > 0)
        sender_write(model);
    else
        wanted = UINT64_MAX / 2;
    send_all(model);
}
