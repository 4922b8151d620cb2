#include "gate.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tightlink/base/time.h"

static struct tl_lab_link_config link_of(const char *spec)
{
    struct tl_lab_config config;
    struct tl_error err = {0};
    tl_lab_config_init(&config);
    cr_assert_eq(tl_lab_config_parse(spec, &config, &err), TL_OK, "%s", err.text);
    return config.link[TL_LAB_DOWN];
}

static struct tl_lab_gate gate_of(const char *spec)
{
    struct tl_lab_gate gate;
    struct tl_lab_link_config link = link_of(spec);
    tl_lab_gate_init(&gate, &link, 1);
    tl_lab_gate_start(&gate, 0);
    return gate;
}

Test(lab_gate, nothing_then_all_at_the_grant)
{
    struct tl_lab_gate gate = gate_of("grants=8ms");
    int64_t last = -1, bursts = 0, most = 0;
    for (int64_t now = 1; now < 2 * TL_NS_PER_S; now += 100 * TL_NS_PER_US) {
        int64_t through = tl_lab_gate_pass(&gate, now);
        cr_assert_geq(through, now);
        cr_assert_geq(through, last);
        bursts += through != last;
        most = through - now > most ? through - now : most;
        last = through;
    }
    cr_expect_float_eq((double)bursts, 250, 2, "%ld", (long)bursts);
    cr_expect(most > 7900000 && most <= 8000001, "%ld", (long)most);
}

Test(lab_gate, times_between_grants_scatter_in_their_range)
{
    struct tl_lab_gate gate = gate_of("grants=2ms-10ms");
    int64_t last = 0, least = INT64_MAX, most = 0, count = 0;
    for (int64_t now = 1; now < 6 * TL_NS_PER_S; now += 50 * TL_NS_PER_US) {
        int64_t through = tl_lab_gate_pass(&gate, now);
        if (through == last)
            continue;
        int64_t gap = through - last;
        if (last > 0) {
            least = gap < least ? gap : least;
            most = gap > most ? gap : most;
        }
        last = through;
        count++;
    }
    cr_expect(least >= 2000000 && least < 2200000, "%ld", (long)least);
    cr_expect(most <= 10000001 && most > 9800000, "%ld", (long)most);
    cr_expect_float_eq((double)count, 1000, 60, "%ld", (long)count);
}

Test(lab_gate, long_pause_costs_no_time)
{
    struct tl_lab_gate gate = gate_of("grants=100us");
    int64_t later = INT64_C(1000000) * TL_NS_PER_S;
    int64_t through = tl_lab_gate_pass(&gate, later);
    cr_expect(through >= later && through <= later + 200000);
}

Test(lab_gate, without_grants_nobody_waits)
{
    struct tl_lab_gate gate = gate_of("rate=10M");
    cr_expect_eq(tl_lab_gate_pass(&gate, 12345), 12345);
}

Test(lab_gate, wandering_delay_is_slow_and_stays_in_its_range)
{
    struct tl_lab_wander wander;
    struct tl_lab_link_config link = link_of("wander=6ms/40ms");
    tl_lab_wander_init(&wander, &link, 1);
    tl_lab_wander_start(&wander, 0);
    int64_t before = tl_lab_wander_at(&wander, 0), least = INT64_MAX, most = 0;
    for (int64_t now = 0; now < 20 * TL_NS_PER_S; now += TL_NS_PER_MS) {
        int64_t extra = tl_lab_wander_at(&wander, now);
        cr_assert(llabs(extra - before) <= 160000, "at most 6 ms in 40 ms");
        least = extra < least ? extra : least;
        most = extra > most ? extra : most;
        before = extra;
    }
    cr_expect(least >= 0 && least < 600000 && most > 5400000 && most <= 6000000, "%ld to %ld",
              (long)least, (long)most);
}
