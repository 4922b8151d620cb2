/* A test's connections whose payload the protocol moves by itself, on the caller's thread: what
 * streams and their sampler do for the others. near_half.h */
#include <sys/socket.h>

#include "near_half.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/sampler.h"

/* What waits in the send queue of an upload does not load the path after its end (P10). */
void near_half_add_hand(struct near_half *half, int fd)
{
    struct linger abort_at_close = {.l_onoff = 1, .l_linger = 0};
    if (half->spec->direction == TL_WIRE_UPLOAD)
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &abort_at_close, sizeof abort_at_close);
    half->hands[half->hand_count++] = (struct near_hand){.fd = fd, .first_ns = -1, .last_ns = -1};
}

void near_half_moved(struct near_half *half, unsigned index, size_t bytes)
{
    struct near_hand *hand = &half->hands[index];
    hand->last_ns = tl_now_ns() - half->start_ns;
    if (hand->first_ns < 0)
        hand->first_ns = hand->last_ns;
    hand->moved_bytes += bytes;
}

uint64_t near_hands_bytes(const struct near_half *half)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < half->hand_count; i++)
        bytes += half->hands[i].moved_bytes;
    return bytes;
}

/* One thread moves the payload of all connections, and waits for all of them at once. */
static void sample_thread(const struct near_half *half, struct tl_tcp_sample *sample)
{
    const struct tl_cpu_thread_reading *start = &half->thread_at_start;
    struct tl_cpu_thread_reading now;
    tl_cpu_thread_reading_take("", 0, &now);
    if (now.why == TL_HOST_WHY_KNOWN && start->why == TL_HOST_WHY_KNOWN) {
        tl_sample_set(sample, TL_SF_cpu_ns, now.running_ns - start->running_ns);
        tl_sample_set(sample, TL_SF_run_delay_ns, now.waiting_ns - start->waiting_ns);
    }
    if (!half->result->near_sends) /* a sender may wait for more than room in the socket */
        tl_sample_set(sample, TL_SF_wait_ns, (uint64_t)half->waited_ns);
}

static void sample_hand(struct near_half *half, unsigned index, int64_t now_ns, bool last)
{
    struct tl_tcp_sample sample = {
        .time_ns = now_ns - half->start_ns, .stream = index, .last = last};
    tl_sample_read_socket(half->hands[index].fd, &sample);
    tl_sample_set(&sample, TL_SF_app_bytes, half->hands[index].moved_bytes);
    sample_thread(half, &sample);
    near_half_own_sample(half, &sample);
}

void near_hands_sample(struct near_half *half, int64_t now_ns)
{
    if (half->streams || now_ns < half->sample_ns)
        return;
    half->sample_ns = now_ns + TL_STREAM_INTERVAL_NS;
    for (unsigned i = 0; i < half->hand_count; i++)
        sample_hand(half, i, now_ns, false);
}

static void complete_hand(struct near_half *half, unsigned index)
{
    struct tl_tcp_result *result = half->result;
    struct tl_tcp_side *side = result->near_sends ? &result->sender : &result->receiver;
    const struct near_hand *hand = &half->hands[index];
    sample_hand(half, index, half->start_ns + result->elapsed_ns, true);
    side->streams[index].end = TL_STREAM_END_STOPPED;
    side->streams[index].bytes = hand->moved_bytes;
    side->streams[index].first_byte_ns = hand->first_ns;
    side->streams[index].last_byte_ns = hand->last_ns;
    side->streams[index].end_ns = result->elapsed_ns;
}

void near_hands_complete(struct near_half *half)
{
    for (unsigned i = 0; i < half->hand_count; i++)
        complete_hand(half, i);
}
