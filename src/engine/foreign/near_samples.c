/* The samples of a TCP test with a stranger: from either end into the result. near_half.h */
#include "near_half.h"

static void add(struct tl_tcp_side *side, const struct tl_tcp_sample *sample, size_t max)
{
    if (tl_sample_log_add(&side->logs[sample->stream], sample, max) != TL_OK)
        side->samples_dropped++;
}

/* What was acknowledged at the sender is at the receiver's kernel. The SYN counts as one byte. */
static void mirror(struct near_half *half, const struct tl_tcp_sample *sample)
{
    struct tl_tcp_sample received = {
        .time_ns = sample->time_ns, .stream = sample->stream, .last = sample->last};
    if (!tl_sample_has(sample, TL_SF_bytes_acked))
        return;
    uint64_t acked = sample->bytes_acked;
    tl_sample_set(&received, TL_SF_app_bytes, acked > 0 ? acked - 1 : 0);
    add(&half->result->receiver, &received, half->log_max);
}

void near_half_own_sample(struct near_half *half, const struct tl_tcp_sample *sample)
{
    struct tl_tcp_result *result = half->result;
    add(result->near_sends ? &result->sender : &result->receiver, sample, half->log_max);
    if (result->near_sends)
        mirror(half, sample);
}

void near_half_far_sample(struct near_half *half, const struct tl_tcp_sample *sample)
{
    struct tl_tcp_result *result = half->result;
    add(result->near_sends ? &result->receiver : &result->sender, sample, half->log_max);
}
