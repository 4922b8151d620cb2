/* CoDel, PIE and RED; see aqm.h. */
#include "aqm.h"

#include <math.h>

#include "tightlink/base/time.h"

#define MEAN_PACKET_BYTES 1500.0

bool tl_lab_codel_may_drop(struct tl_lab_codel *codel, int64_t now_ns, int64_t waited_ns,
                           double left_bytes)
{
    if (waited_ns < TL_LAB_CODEL_TARGET_NS || left_bytes <= MEAN_PACKET_BYTES) {
        codel->first_above_ns = 0;
        return false;
    }
    if (codel->first_above_ns == 0) {
        codel->first_above_ns = now_ns + TL_LAB_CODEL_INTERVAL_NS;
        return false;
    }
    return now_ns >= codel->first_above_ns;
}

/* RFC 8289, 5.3: the next drop comes earlier with the square root of their number. */
static int64_t control_law(int64_t from_ns, uint32_t count)
{
    return from_ns + (int64_t)((double)TL_LAB_CODEL_INTERVAL_NS / sqrt(count));
}

static void begin_dropping(struct tl_lab_codel *codel, int64_t now_ns)
{
    uint32_t delta = codel->count - codel->last_count;
    codel->dropping = true;
    codel->count = 1;
    /* It dropped a moment ago: begin near the rate that was needed then. */
    if (delta > 1 && now_ns - codel->drop_next_ns < 16 * TL_LAB_CODEL_INTERVAL_NS)
        codel->count = delta;
    codel->drop_next_ns = control_law(now_ns, codel->count);
    codel->last_count = codel->count;
}

bool tl_lab_codel_drops(struct tl_lab_codel *codel, int64_t now_ns, bool may_drop, bool marks)
{
    if (!codel->dropping) {
        if (may_drop)
            begin_dropping(codel, now_ns);
        return may_drop;
    }
    if (!may_drop) {
        codel->dropping = false;
        return false;
    }
    if (now_ns < codel->drop_next_ns)
        return false;
    codel->count++;
    codel->drop_next_ns = control_law(marks ? now_ns : codel->drop_next_ns, codel->count);
    return true;
}

/* RFC 8033, 4.2 and 5.1, and the table of 4.2 that scales small probabilities. */
#define PIE_TARGET_NS   (15 * TL_NS_PER_MS)
#define PIE_UPDATE_NS   (15 * TL_NS_PER_MS)
#define PIE_BURST_NS    (150 * TL_NS_PER_MS)
#define PIE_ALPHA       0.125
#define PIE_BETA        1.25
#define PIE_CATCH_UP_NS TL_NS_PER_S

static double pie_scale(double ratio)
{
    static const struct {
        double below, scale;
    } table[] = {{0.000001, 1.0 / 2048}, {0.00001, 1.0 / 512}, {0.0001, 1.0 / 128},
                 {0.001, 1.0 / 32},      {0.01, 1.0 / 8},      {0.1, 1.0 / 2}};
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
        if (ratio < table[i].below)
            return table[i].scale;
    return 1;
}

static void pie_update(struct tl_lab_pie *pie)
{
    double excess_s = (double)(pie->delay_ns - PIE_TARGET_NS) / 1e9;
    double growth_s = (double)(pie->delay_ns - pie->delay_before_ns) / 1e9;
    double step = (PIE_ALPHA * excess_s + PIE_BETA * growth_s) * pie_scale(pie->drop_ratio);
    if (pie->drop_ratio >= 0.1 && step > 0.02) /* no jumps where it drops much already */
        step = 0.02;
    pie->drop_ratio += step;
    if (pie->delay_ns == 0 && pie->delay_before_ns == 0)
        pie->drop_ratio *= 1 - 1.0 / 64;
    pie->drop_ratio = fmin(fmax(pie->drop_ratio, 0), 1);
    if (pie->delay_ns < PIE_TARGET_NS / 2 && pie->delay_before_ns < PIE_TARGET_NS / 2 &&
        pie->drop_ratio == 0)
        pie->burst_left_ns = PIE_BURST_NS;
    else if (pie->burst_left_ns > 0)
        pie->burst_left_ns -= PIE_UPDATE_NS;
    pie->delay_before_ns = pie->delay_ns;
}

void tl_lab_pie_start(struct tl_lab_pie *pie, int64_t now_ns)
{
    *pie = (struct tl_lab_pie){.burst_left_ns = PIE_BURST_NS, .update_ns = now_ns};
}

bool tl_lab_pie_drops(struct tl_lab_pie *pie, int64_t now_ns, double backlog_bytes,
                      struct tl_random *chance)
{
    if (backlog_bytes <= 0)
        pie->delay_ns = 0;
    if (now_ns - pie->update_ns > PIE_CATCH_UP_NS) /* nobody was there: an idle queue forgets */
        tl_lab_pie_start(pie, now_ns);
    for (; pie->update_ns <= now_ns; pie->update_ns += PIE_UPDATE_NS)
        pie_update(pie);
    bool spared = pie->burst_left_ns > 0 || backlog_bytes <= 2 * MEAN_PACKET_BYTES ||
                  (pie->delay_before_ns < PIE_TARGET_NS / 2 && pie->drop_ratio < 0.2);
    return !spared && tl_random_unit(chance) < pie->drop_ratio;
}

/* RED: thresholds at a sixth and at half of the queue, a tenth at the upper one, and the
 * weight of the authors for the mean. */
#define RED_LOW       (1.0 / 6)
#define RED_HIGH      (1.0 / 2)
#define RED_MOST      0.1
#define RED_WEIGHT    0.002
#define RED_PACKET_NS (100 * TL_NS_PER_US) /* by which an idle queue's mean falls */

static double red_ratio(double mean_share)
{
    if (mean_share < RED_LOW)
        return 0;
    if (mean_share < RED_HIGH)
        return RED_MOST * (mean_share - RED_LOW) / (RED_HIGH - RED_LOW);
    double above = (mean_share - RED_HIGH) / RED_HIGH; /* gentle: up to all at twice that */
    return fmin(1, RED_MOST + (1 - RED_MOST) * above);
}

bool tl_lab_red_drops(struct tl_lab_red *red, int64_t now_ns, double backlog_bytes,
                      double queue_bytes, struct tl_random *chance)
{
    if (backlog_bytes <= 0 && red->idle_ns > 0) {
        double packets = (double)(now_ns - red->idle_ns) / (double)RED_PACKET_NS;
        red->mean_bytes *= pow(1 - RED_WEIGHT, packets);
    } else {
        red->mean_bytes += RED_WEIGHT * (backlog_bytes - red->mean_bytes);
    }
    red->idle_ns = 0;
    double ratio = red_ratio(red->mean_bytes / queue_bytes);
    if (ratio <= 0) {
        red->since_drop = 0;
        return false;
    }
    /* Evenly spread: the longer ago the last one was, the likelier this one is. */
    double spread = red->since_drop * ratio;
    red->since_drop++;
    if (spread < 1 && tl_random_unit(chance) >= ratio / (1 - spread))
        return false;
    red->since_drop = 0;
    return true;
}
