/* Times of service; see server.h. */
#include "server.h"

#include <math.h>
#include <string.h>

#include "tightlink/base/time.h"

/* Radio: eight rates between the lowest and the highest, each held for a second and a half
 * in the mean; beside that the rate scatters every 20 ms, as fast fading and a scheduler's
 * grants make it (Winstein, Sivaraman, Balakrishnan 2013, found such links to change by half
 * within hundreds of milliseconds). */
#define LEVELS         8
#define LEVEL_MEAN_NS  (1.5 * TL_NS_PER_S)
#define LEVEL_JUMP     0.2 /* of the changes go by two */
#define FADING_STEP_NS (20 * TL_NS_PER_MS)
#define FADING_SIGMA   0.25
#define FADE_SHARE     0.05

/* LEO: satellites are handed out every 15 s; the change costs some tens of milliseconds. */
#define LEO_PERIOD_NS (15 * TL_NS_PER_S)
#define LEO_GAP_LEAST (60.0 * TL_NS_PER_MS)
#define LEO_GAP_MOST  (140.0 * TL_NS_PER_MS)
#define LEO_FARTHER   (15.0 * TL_NS_PER_MS)
#define LEO_STEP_NS   (100 * TL_NS_PER_MS)
#define LEO_SIGMA     0.1

/* Wi-Fi (IEEE 802.11-2020, 10.3 and 9.4.2.28): slots and the gap before contention of 5 GHz,
 * the first window, and what one turn may carry. */
#define SLOT_NS          9e3
#define GAP_NS           34e3
#define WINDOW_FIRST     16
#define WINDOW_LAST      1024
#define TURN_NS          4e6
#define TURN_BYTES       64e3
#define OTHER_TURN_LEAST 0.3e6
#define OTHER_TURN_MOST  2.5e6
#define TRIES            4 /* of one packet; hardware gives up after 4 to 7 */
#define AIR_LEVELS       5
#define AIR_MEAN_NS      (0.4 * TL_NS_PER_S)
static const double air_share[AIR_LEVELS] = {1, 0.78, 0.58, 0.39, 0.29};

static double uniform(struct tl_random *chance, double low, double high)
{
    return low + (high - low) * tl_random_unit(chance);
}

static int64_t exponential_ns(struct tl_random *chance, double mean_ns)
{
    return (int64_t)(-mean_ns * log1p(-tl_random_unit(chance)));
}

/* Near enough to a normal number for scatter: the sum of twelve uniform ones, less six. */
static double normal(struct tl_random *chance)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += tl_random_unit(chance);
    return sum;
}

enum tl_status tl_lab_server_init(struct tl_lab_server *server,
                                  const struct tl_lab_link_config *link, uint64_t seed,
                                  struct tl_error *reterr)
{
    memset(server, 0, sizeof *server);
    server->link = *link;
    tl_random_seed(&server->chance, seed);
    return link->service == TL_LAB_SERVICE_TRACE
               ? tl_lab_trace_load(&server->trace, link->trace, reterr)
               : TL_OK;
}

void tl_lab_server_finish(struct tl_lab_server *server)
{
    tl_lab_trace_finish(&server->trace);
}

/* The next time of something that comes at exponential intervals; never where they are 0. */
static int64_t next_event_ns(struct tl_lab_server *server, int64_t after_ns, int64_t every_ns)
{
    return every_ns > 0 ? after_ns + exponential_ns(&server->chance, (double)every_ns) : INT64_MAX;
}

static void plan_fade(struct tl_lab_server *server, int64_t after_ns)
{
    struct tl_lab_rate *rate = &server->rate;
    rate->fade_from_ns = next_event_ns(server, after_ns, server->link.fade_every_ns);
    if (rate->fade_from_ns != INT64_MAX)
        rate->fade_until_ns = rate->fade_from_ns +
                              exponential_ns(&server->chance, (double)server->link.fade_length_ns);
}

static void plan_handover(struct tl_lab_server *server, int64_t after_ns)
{
    struct tl_lab_rate *rate = &server->rate;
    rate->handover_from_ns = next_event_ns(server, after_ns, server->link.handover_every_ns);
    if (rate->handover_from_ns != INT64_MAX)
        rate->handover_until_ns =
            rate->handover_from_ns +
            (int64_t)((double)server->link.handover_length_ns * uniform(&server->chance, 0.5, 1.5));
}

void tl_lab_server_start(struct tl_lab_server *server, int64_t now_ns)
{
    struct tl_lab_rate *rate = &server->rate;
    server->started_ns = now_ns;
    *rate = (struct tl_lab_rate){.until_ns = now_ns, .level_until_ns = now_ns};
    rate->level = (int)(tl_random_unit(&server->chance) * LEVELS);
    server->air = (struct tl_lab_air){.bps = server->link.air_bps, .bps_until_ns = now_ns};
    server->opportunity_taken = false;
    if (server->link.service == TL_LAB_SERVICE_RADIO) {
        plan_fade(server, now_ns);
        plan_handover(server, now_ns);
    }
}

/* One change of the chain: to a neighbour, now and then to the one behind it. */
static void move_level(struct tl_lab_server *server)
{
    struct tl_lab_rate *rate = &server->rate;
    int by = tl_random_unit(&server->chance) < LEVEL_JUMP ? 2 : 1;
    rate->level += tl_random_unit(&server->chance) < 0.5 ? -by : by;
    if (rate->level < 0)
        rate->level = -rate->level;
    if (rate->level >= LEVELS)
        rate->level = 2 * (LEVELS - 1) - rate->level;
    rate->level_until_ns += exponential_ns(&server->chance, LEVEL_MEAN_NS) + 1;
}

/* The rate of the 20 ms that begin at until_ns. */
static void step_radio(struct tl_lab_server *server)
{
    const struct tl_lab_link_config *link = &server->link;
    struct tl_lab_rate *rate = &server->rate;
    int64_t at_ns = rate->until_ns;
    while (rate->level_until_ns <= at_ns)
        move_level(server);
    double share = (double)rate->level / (LEVELS - 1);
    double fading = exp(FADING_SIGMA * normal(&server->chance));
    rate->bps = link->low_bps * pow(link->high_bps / link->low_bps, share) * fading;
    rate->bps = fmin(fmax(rate->bps, link->low_bps / 2), link->high_bps);
    rate->until_ns = at_ns + FADING_STEP_NS;
    if (at_ns >= rate->fade_until_ns && at_ns >= rate->fade_from_ns)
        plan_fade(server, at_ns);
    if (at_ns >= rate->fade_from_ns)
        rate->bps *= FADE_SHARE;
    if (at_ns >= rate->handover_from_ns) {
        rate->bps = 0;
        if (at_ns >= rate->handover_until_ns) { /* another cell, another rate */
            rate->level = (int)(tl_random_unit(&server->chance) * LEVELS);
            plan_handover(server, at_ns);
        }
    }
}

static void step_leo(struct tl_lab_server *server)
{
    const struct tl_lab_link_config *link = &server->link;
    struct tl_lab_rate *rate = &server->rate;
    int64_t at_ns = rate->until_ns;
    if (at_ns >= rate->level_until_ns) {
        bool first = at_ns == server->started_ns;
        rate->satellite_bps = uniform(&server->chance, link->low_bps, link->high_bps);
        rate->extra_delay_ns = (int64_t)uniform(&server->chance, 0, LEO_FARTHER);
        double gap_ns = uniform(&server->chance, LEO_GAP_LEAST, LEO_GAP_MOST);
        rate->level_until_ns = at_ns + LEO_PERIOD_NS;
        rate->bps = 0;
        rate->until_ns = at_ns + (int64_t)(first ? 0 : gap_ns);
        if (!first)
            return;
    }
    rate->bps = rate->satellite_bps * exp(LEO_SIGMA * normal(&server->chance));
    rate->until_ns = at_ns + LEO_STEP_NS;
    if (rate->until_ns > rate->level_until_ns)
        rate->until_ns = rate->level_until_ns;
}

/* Through the pieces of constant rate, however many a packet needs. */
static int64_t done_by_rate(struct tl_lab_server *server, int64_t start_ns, uint32_t len_bytes)
{
    struct tl_lab_rate *rate = &server->rate;
    double bits = len_bytes * 8.0;
    int64_t at_ns = start_ns;
    for (;;) {
        while (rate->until_ns <= at_ns) {
            if (server->link.service == TL_LAB_SERVICE_RADIO)
                step_radio(server);
            else
                step_leo(server);
        }
        double fit = rate->bps * (double)(rate->until_ns - at_ns) / 1e9;
        if (fit >= bits)
            return at_ns + (int64_t)ceil(bits * 1e9 / rate->bps);
        bits -= fit;
        at_ns = rate->until_ns;
    }
}

/* What an opportunity has left when nobody waits is gone; a packet may need several. */
static int64_t done_by_trace(struct tl_lab_server *server, int64_t start_ns, uint32_t len_bytes)
{
    double bytes = len_bytes + TL_LAB_TRACE_HEADER;
    int64_t since_ns = start_ns - server->started_ns;
    if (!server->opportunity_taken ||
        tl_lab_trace_at_ns(&server->trace, server->opportunity) < since_ns) {
        server->opportunity = tl_lab_trace_find(&server->trace, since_ns);
        server->opportunity_left = TL_LAB_TRACE_BYTES;
        server->opportunity_taken = true;
    }
    while (bytes > server->opportunity_left) {
        bytes -= server->opportunity_left;
        server->opportunity++;
        server->opportunity_left = TL_LAB_TRACE_BYTES;
    }
    server->opportunity_left -= bytes;
    return server->started_ns + tl_lab_trace_at_ns(&server->trace, server->opportunity);
}

/* What passes before this station may send, after so many attempts of its own. */
static double contention_ns(struct tl_lab_server *server, int window)
{
    double ns = GAP_NS + SLOT_NS * uniform(&server->chance, 0, window);
    int turns = (int)uniform(&server->chance, 0, 2 * server->link.air_others + 1);
    for (int i = 0; i < turns; i++)
        ns += GAP_NS + uniform(&server->chance, OTHER_TURN_LEAST, OTHER_TURN_MOST);
    return ns;
}

/* Wins the air: failed attempts cost a frame's time, widen the window and halve this turn's
 * rate. */
static void begin_turn(struct tl_lab_server *server, int64_t start_ns)
{
    const struct tl_lab_link_config *link = &server->link;
    struct tl_lab_air *air = &server->air;
    while (air->bps_until_ns <= start_ns) {
        int level = (int)(tl_random_unit(&server->chance) * AIR_LEVELS);
        air->bps = link->air_bps * air_share[level];
        air->bps_until_ns += exponential_ns(&server->chance, AIR_MEAN_NS) + 1;
    }
    double ns = contention_ns(server, WINDOW_FIRST);
    int window = WINDOW_FIRST;
    air->turn_bps = air->bps;
    for (int i = 1; i < TRIES && tl_random_unit(&server->chance) < link->air_fail_ratio; i++) {
        window = window < WINDOW_LAST ? window * 2 : WINDOW_LAST;
        ns += uniform(&server->chance, OTHER_TURN_LEAST, OTHER_TURN_MOST) +
              contention_ns(server, window);
        air->turn_bps = fmax(air->turn_bps / 2, link->air_bps * air_share[AIR_LEVELS - 1] / 4);
    }
    air->turn_end_ns = start_ns + (int64_t)ns;
    air->turn_left_bytes = fmin(TURN_BYTES, air->turn_bps * TURN_NS / 8e9);
}

static int64_t done_on_air(struct tl_lab_server *server, int64_t start_ns, uint32_t len_bytes,
                           bool *ret_lost)
{
    struct tl_lab_air *air = &server->air;
    bool waited = start_ns <= air->turn_end_ns; /* it was in the queue: part of the aggregate */
    if (!waited || air->turn_left_bytes < len_bytes)
        begin_turn(server, start_ns);
    air->turn_left_bytes -= len_bytes;
    air->turn_end_ns += (int64_t)(len_bytes * 8e9 / air->turn_bps);
    *ret_lost = tl_random_unit(&server->chance) < pow(server->link.air_fail_ratio, TRIES);
    return air->turn_end_ns;
}

/* In integers, so that no rounding adds up over millions of packets. */
static int64_t done_evenly(struct tl_lab_server *server, int64_t start_ns, uint32_t len_bytes)
{
    uint64_t rate_bps = (uint64_t)llround(server->link.rate_bps);
    uint64_t work = (uint64_t)len_bytes * 8 * UINT64_C(1000000000) + server->remainder;
    server->remainder = work % rate_bps;
    return start_ns + (int64_t)(work / rate_bps);
}

int64_t tl_lab_server_done_ns(struct tl_lab_server *server, int64_t start_ns, uint32_t len_bytes,
                              bool *ret_lost)
{
    *ret_lost = false;
    switch (server->link.service) {
    case TL_LAB_SERVICE_TRACE:
        return done_by_trace(server, start_ns, len_bytes);
    case TL_LAB_SERVICE_RADIO:
    case TL_LAB_SERVICE_LEO:
        return done_by_rate(server, start_ns, len_bytes);
    case TL_LAB_SERVICE_WIFI:
        return done_on_air(server, start_ns, len_bytes, ret_lost);
    case TL_LAB_SERVICE_RATE:
        break;
    }
    return done_evenly(server, start_ns, len_bytes);
}

int64_t tl_lab_server_extra_delay_ns(const struct tl_lab_server *server)
{
    return server->rate.extra_delay_ns;
}
