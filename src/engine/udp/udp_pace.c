/* The schedule of a sender and its naps. */
#include "udp_pace.h"

#include <time.h>

#include "tightlink/base/time.h"

#define FAST_BPS        1e9  /* above it bursts get longer */
#define FAST_BURST_NS   10e3 /* of about this much of the pace */
#define FAST_BURST_MAX  64u
#define CATCH_UP_BURST  4u
#define LATE_NS         TL_NS_PER_MS
#define CROWDED_NS      20e3 /* a pace at which send calls may take most of the time */
#define MARGIN_FIRST_NS (60 * TL_NS_PER_US)
#define MARGIN_MAX_NS   (300 * TL_NS_PER_US)

void udp_pace_init(struct udp_pace *ret_pace, uint64_t rate_bps, unsigned datagram_bytes,
                   unsigned burst_count, int64_t start_ns)
{
    struct udp_pace pace = {.interval_ns = datagram_bytes * 8e9 / (double)rate_bps,
                            .burst = burst_count > 1 ? burst_count : 1,
                            .base_ns = start_ns,
                            .last_ns = INT64_MIN / 2,
                            .margin_ns = MARGIN_FIRST_NS};
    if ((double)rate_bps > FAST_BPS) {
        unsigned fast = (unsigned)(FAST_BURST_NS / pace.interval_ns) + 1;
        fast = fast < FAST_BURST_MAX ? fast : FAST_BURST_MAX;
        pace.burst = pace.burst > fast ? pace.burst : fast;
        pace.catch_up = pace.burst;
    } else {
        pace.catch_up = pace.burst > CATCH_UP_BURST ? pace.burst : CATCH_UP_BURST;
    }
    *ret_pace = pace;
}

unsigned udp_pace_due(struct udp_pace *pace, int64_t now_ns, int64_t *ret_due_ns)
{
    int64_t due_ns = pace->base_ns + (int64_t)((double)pace->sent_count * pace->interval_ns);
    int64_t debt_ns = now_ns - due_ns;
    if (debt_ns > UDP_DEBT_MAX_NS) {
        pace->forfeited_ns += debt_ns - UDP_DEBT_MAX_NS;
        pace->base_ns += debt_ns - UDP_DEBT_MAX_NS;
        due_ns += debt_ns - UDP_DEBT_MAX_NS;
        debt_ns = UDP_DEBT_MAX_NS;
    }
    int64_t room_ns =
        pace->last_ns + (int64_t)(pace->last_count * pace->interval_ns / UDP_CATCH_UP);
    *ret_due_ns = due_ns > room_ns ? due_ns : room_ns;
    if (now_ns < *ret_due_ns)
        return 0;
    bool late = debt_ns > LATE_NS && pace->interval_ns < CROWDED_NS;
    return late ? pace->catch_up : pace->burst;
}

void udp_pace_sent(struct udp_pace *pace, unsigned count, int64_t now_ns)
{
    pace->sent_count += count;
    pace->last_ns = now_ns;
    pace->last_count = count;
}

/* Follows the lateness that one nap in five exceeds. */
static void learn_margin(struct udp_pace *pace, int64_t late_ns)
{
    if (late_ns > pace->margin_ns)
        pace->margin_ns += pace->margin_ns / 8 + 500;
    else
        pace->margin_ns -= pace->margin_ns / 32;
    if (pace->margin_ns > MARGIN_MAX_NS)
        pace->margin_ns = MARGIN_MAX_NS;
}

static int64_t nap_until(struct udp_pace *pace, int64_t until_ns)
{
    struct timespec at = {.tv_sec = until_ns / TL_NS_PER_S, .tv_nsec = until_ns % TL_NS_PER_S};
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    int64_t now_ns = tl_now_ns();
    learn_margin(pace, now_ns - until_ns);
    return now_ns;
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

int64_t udp_pace_wait(struct udp_pace *pace, int64_t due_ns, int64_t harmless_ns,
                      const atomic_bool *stop)
{
    int64_t now_ns = tl_now_ns();
    if (due_ns - now_ns > UDP_NAP_MAX_NS)
        return nap_until(pace, now_ns + UDP_NAP_MAX_NS);
    int64_t margin_ns = pace->margin_ns <= harmless_ns ? 0 : pace->margin_ns;
    if (due_ns - now_ns > margin_ns + 5 * TL_NS_PER_US)
        now_ns = nap_until(pace, due_ns - margin_ns);
    while (now_ns < due_ns && !atomic_load_explicit(stop, memory_order_relaxed)) {
        relax();
        now_ns = tl_now_ns();
    }
    return now_ns;
}
