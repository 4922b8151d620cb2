/* Whose an interruption is: interrupt.h.
 *
 * A receiver that gets nothing sees the same whether the path failed or the sender's program
 * paused. The sender's kernel knows: on a dead path something is on its way, unacknowledged; a
 * program that paused has nothing on its way, or was not there to read its socket at all. Where
 * nobody tells of the sender, probes beside the transfer that are answered show a path alive. */

#include "interrupt.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/facts/trust.h"

/* Around it the last bytes are still on their way, and the two ends' clocks began within a round
 * trip of one another. */
#define EDGE_NS (50 * TL_NS_PER_MS)
/* Readings come every 100 ms at most, those of many streams every 200 ms. */
#define HOLE_NS (250 * TL_NS_PER_MS)
/* So many answers are no chance. */
#define ANSWERS 3

struct span {
    int64_t from_ns, to_ns;
};

/* The part in which whatever was on its way is through. */
static struct span inside(const struct tl_tcp_result *result, const struct tl_interruption *at)
{
    int64_t edge_ns = EDGE_NS + (result->data_rtt_ns > 0 ? result->data_rtt_ns : 0);
    return (struct span){at->from_ns + edge_ns, at->to_ns - edge_ns};
}

/* Nobody read the socket for half of it and more: the sender's program was not there. */
static bool has_hole(const struct tl_sample_log *log, const struct tl_interruption *at)
{
    for (size_t i = 1; i < log->count; i++) {
        int64_t from_ns = log->samples[i - 1].time_ns, to_ns = log->samples[i].time_ns;
        int64_t since_ns = from_ns > at->from_ns ? from_ns : at->from_ns;
        int64_t until_ns = to_ns < at->to_ns ? to_ns : at->to_ns;
        if (to_ns - from_ns > HOLE_NS && 2 * (until_ns - since_ns) > at->to_ns - at->from_ns)
            return true;
    }
    return false;
}

/* What one sender's readings say. */
static enum tl_silence by_sender(const struct tl_sample_log *log, struct span span)
{
    bool read = false;
    for (size_t i = 0; i < log->count; i++) {
        const struct tl_tcp_sample *sample = &log->samples[i];
        if (sample->time_ns < span.from_ns || sample->time_ns > span.to_ns ||
            !tl_sample_has(sample, TL_SF_unacked_count))
            continue;
        if (sample->unacked_count > 0)
            return TL_SILENCE_OF_PATH;
        read = true;
    }
    return read ? TL_SILENCE_OF_PROGRAM : TL_SILENCE_OF_NOBODY;
}

static enum tl_silence by_senders(const struct tl_tcp_result *result,
                                  const struct tl_interruption *at)
{
    enum tl_silence whose = TL_SILENCE_OF_NOBODY;
    for (unsigned i = 0; i < result->streams; i++) {
        const struct tl_sample_log *log = &result->sender.logs[i];
        if (result->sender.samples_dropped == 0 && has_hole(log, at))
            return TL_SILENCE_OF_PROGRAM;
        enum tl_silence one = by_sender(log, inside(result, at));
        if (one == TL_SILENCE_OF_PATH)
            return one;
        if (one != TL_SILENCE_OF_NOBODY)
            whose = one;
    }
    return whose;
}

static enum tl_silence by_probes(const struct tl_echo_result *echo, int64_t start_ns,
                                 struct span span)
{
    unsigned sent = 0, answered = 0;
    for (unsigned i = 0; echo && i < echo->sent_count && i < TL_ECHO_MAX; i++) {
        int64_t at_ns = echo->start_ns - start_ns + echo->probes[i].sent_ns;
        if (at_ns < span.from_ns || at_ns > span.to_ns)
            continue;
        sent++;
        answered += echo->probes[i].rtt_ns >= 0;
    }
    /* A silence outlasts its outage: what is sent again waits, and probes of before and behind it
     * are answered. */
    if (answered >= ANSWERS)
        return 2 * answered < sent ? TL_SILENCE_OF_PATH : TL_SILENCE_OF_PROGRAM;
    /* A host that answers no probe at all says nothing by its silence. */
    bool answers = echo && echo->answered_count >= ANSWERS;
    return answers && answered == 0 && sent >= ANSWERS ? TL_SILENCE_OF_PATH : TL_SILENCE_OF_NOBODY;
}

void tl_interruptions_place(const struct tl_tcp_result *result, const struct tl_echo_result *echo,
                            int64_t start_ns, struct tl_interruptions *interruptions)
{
    bool told = false;
    for (unsigned i = 0; i < result->streams; i++)
        told = told || result->sender.logs[i].count > 0;
    for (unsigned i = 0; i < interruptions->count; i++) {
        struct tl_interruption *at = &interruptions->at[i];
        at->whose = by_senders(result, at);
        if (at->whose == TL_SILENCE_OF_NOBODY)
            at->whose = by_probes(echo, start_ns, inside(result, at));
        /* A responder's readings that end with the path, and connections that open late. */
        if (at->whose == TL_SILENCE_OF_NOBODY && told)
            at->whose = TL_SILENCE_OF_PATH;
    }
}

enum tl_silence tl_silence_at_end(const struct tl_tcp_result *result,
                                  const struct tl_echo_result *echo, int64_t start_ns,
                                  int64_t silent_ns)
{
    struct tl_interruptions last = {
        .count = 1,
        .at = {{.from_ns = result->elapsed_ns - silent_ns, .to_ns = result->elapsed_ns}}};
    if (tl_tcp_result_program_silent(result))
        return TL_SILENCE_OF_PROGRAM;
    if (result->unacked_ns >= 0) /* a responder was asked all the time */
        return TL_SILENCE_OF_PATH;
    tl_interruptions_place(result, echo, start_ns, &last);
    return last.at[0].whose;
}

void tl_interruptions_trust(const struct tl_tcp_result *result,
                            const struct tl_interruptions *found, struct tl_trust *trust)
{
    int64_t senders_ns = 0, nobodys_ns = 0;
    char text[TL_UNIT_TEXT_SIZE];
    for (unsigned i = 0; i < found->count; i++) {
        const struct tl_interruption *at = &found->at[i];
        senders_ns += at->whose == TL_SILENCE_OF_PROGRAM ? at->to_ns - at->from_ns : 0;
        nobodys_ns += at->whose == TL_SILENCE_OF_NOBODY ? at->to_ns - at->from_ns : 0;
    }
    if (senders_ns > 0)
        tl_trust_lower(trust, TL_QUALITY_DEGRADED,
                       "nothing arrived for %s, and nothing was on its way: the %s "
                       "program paused, or nobody took what it sent",
                       tl_format_ns((double)senders_ns, text),
                       result->near_sends ? "near" : "far end's");
    if (nobodys_ns > 0)
        tl_trust_lower(trust, TL_QUALITY_DEGRADED,
                       "nothing arrived for %s: whether the path failed or the far end's program "
                       "paused is not known, since it tells nothing of its own",
                       tl_format_ns((double)nobodys_ns, text));
}
