/* The receiving end: what arrives, what it announces, when it acknowledges. */
#include <string.h>

#include "model.h"

#define DELAYED_NS INT64_C(40000000)
#define QUICK      16 /* segments that are acknowledged at once at the beginning */
#define SCALE      7
#define ECHOES     8 /* of a mark: until the sender tells that it slowed down (RFC 3168) */

uint64_t receiver_window(const struct model *model)
{
    const struct model_receiver *receiver = &model->receiver;
    uint64_t unread = receiver->next - receiver->read;
    uint64_t room = unread < receiver->buffer ? receiver->buffer - unread : 0;
    uint64_t right = receiver->next + room;
    /* Small steps are not announced (silly window, RFC 9293, section 3.8.6.2.2). */
    if (right < receiver->right + (receiver->buffer / 2 < MSS ? receiver->buffer / 2 : MSS))
        right = receiver->right;
    return right > receiver->next ? (right - receiver->next) >> SCALE << SCALE : 0;
}

static void acknowledge(struct model *model, const uint64_t *duplicate)
{
    struct model_receiver *receiver = &model->receiver;
    struct model_packet ack = {.flags = 0x10,
                               .ack = receiver->next,
                               .window = receiver_window(model),
                               .tsval = (uint32_t)(model->now_ns / 1000000),
                               .tsecr = receiver->tsrecent,
                               .id = ++model->next_id};
    if (receiver->ce)
        receiver->echo_count = ECHOES;
    receiver->ce = false;
    if (receiver->echo_count > 0 && model->spec.ecn_sender > 0) {
        ack.flags |= 0x40;
        receiver->echo_count--;
    }
    if (duplicate) {
        memcpy(ack.sacks[0], duplicate, sizeof ack.sacks[0]);
        ack.sack_count = 1;
    }
    for (int i = 0; i < receiver->range_count && ack.sack_count < SACKS_MAX; i++) {
        ack.sacks[ack.sack_count][0] = receiver->ranges[i].begin;
        ack.sacks[ack.sack_count++][1] = receiver->ranges[i].end;
    }
    if (receiver->next + ack.window > receiver->right)
        receiver->right = receiver->next + ack.window;
    receiver->closed = ack.window < MSS;
    receiver->unacked_count = 0;
    receiver->timer_ns = 0;
    tap_see(model, 2, &ack);
    model_at(model,
             model->now_ns + (int64_t)(model->spec.delay_ms * 1e6 * (1 - model->spec.middle_share)),
             EVENT_ACK_MIDDLE, &ack);
}

/* Joins a range to those out of order; the one that it became stands first. */
static void keep_range(struct model_receiver *receiver, uint64_t begin, uint64_t end)
{
    for (int i = 0; i < receiver->range_count; i++) {
        struct model_range *range = &receiver->ranges[i];
        if (end < range->begin || begin > range->end)
            continue;
        begin = range->begin < begin ? range->begin : begin;
        end = range->end > end ? range->end : end;
        memmove(range, range + 1, (size_t)(--receiver->range_count - i) * sizeof *range);
        i--;
    }
    if (receiver->range_count == RANGES_MAX)
        receiver->range_count--;
    memmove(receiver->ranges + 1, receiver->ranges,
            (size_t)receiver->range_count++ * sizeof *receiver->ranges);
    receiver->ranges[0] = (struct model_range){begin, end};
}

static void take_ranges(struct model_receiver *receiver)
{
    for (int i = 0; i < receiver->range_count; i++) {
        struct model_range *range = &receiver->ranges[i];
        if (range->begin > receiver->next)
            continue;
        if (range->end > receiver->next)
            receiver->next = range->end;
        memmove(range, range + 1, (size_t)(--receiver->range_count - i) * sizeof *range);
        i = -1;
    }
}

static bool is_kept(const struct model_receiver *receiver, uint64_t begin, uint64_t end)
{
    for (int i = 0; i < receiver->range_count; i++)
        if (begin >= receiver->ranges[i].begin && end <= receiver->ranges[i].end)
            return true;
    return end <= receiver->next;
}

void receiver_data(struct model *model, const struct model_packet *packet)
{
    struct model_receiver *receiver = &model->receiver;
    uint64_t begin = packet->seq, end = packet->seq + packet->len;
    uint64_t range[2] = {begin, end};
    receiver->ce |= packet->ce;
    if (is_kept(receiver, begin, end)) {
        acknowledge(model, range);
        return;
    }
    if (begin <= receiver->next)
        receiver->tsrecent = packet->tsval;
    bool gap = begin > receiver->next, had_gap = receiver->range_count > 0;
    if (gap) {
        keep_range(receiver, begin, end);
    } else {
        receiver->next = end;
        take_ranges(receiver);
    }
    if (model->spec.read_kb <= 0) /* the program takes all at once */
        receiver->read = receiver->next;
    receiver->unacked_count++;
    if (receiver->quick_count < QUICK)
        receiver->quick_count++;
    if (gap || had_gap || receiver->unacked_count >= 2 || receiver->quick_count < QUICK ||
        receiver->ce) {
        acknowledge(model, NULL);
    } else if (receiver->timer_ns == 0) {
        receiver->timer_ns = model->now_ns + DELAYED_NS;
        model_at(model, receiver->timer_ns, EVENT_DELAYED_ACK, NULL);
    }
}

void receiver_timer(struct model *model)
{
    if (model->receiver.timer_ns == model->now_ns)
        acknowledge(model, NULL);
}

void receiver_read(struct model *model)
{
    struct model_receiver *receiver = &model->receiver;
    uint64_t unread = receiver->next - receiver->read, most = (uint64_t)(model->spec.read_kb * 1e3);
    receiver->read += unread < most ? unread : most;
    if (receiver->closed || receiver->next + receiver_window(model) >= receiver->right + 2 * MSS)
        if (receiver_window(model) >= MSS &&
            receiver->next + receiver_window(model) > receiver->right)
            acknowledge(model, NULL);
    double sleep_ms = model->spec.read_gap_ms * (0.9 + 0.2 * model_chance(model));
    model_at(model, model->now_ns + (int64_t)(sleep_ms * 1e6), EVENT_READ, NULL);
}

void receiver_begin(struct model *model)
{
    struct model_receiver *receiver = &model->receiver;
    receiver->buffer = (uint64_t)(model->spec.rcvbuf_kb * 1e3);
    receiver->right = receiver->buffer;
    if (model->spec.read_kb > 0)
        model_at(model, model->now_ns, EVENT_READ, NULL);
}
