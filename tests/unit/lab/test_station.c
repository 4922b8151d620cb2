#include "station.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tightlink/base/time.h"

#define PACKET   1500
#define CAPACITY 4096

static struct tl_lab_link_config link_of(const char *spec)
{
    struct tl_lab_config config;
    struct tl_error err = {0};
    tl_lab_config_init(&config);
    cr_assert_eq(tl_lab_config_parse(spec, &config, &err), TL_OK, "%s", err.text);
    return config.link[TL_LAB_DOWN];
}

static struct tl_lab_station station_of(const char *spec)
{
    struct tl_lab_station station;
    struct tl_error err = {0};
    struct tl_lab_link_config link = link_of(spec);
    cr_assert(tl_lab_station_needed(&link));
    cr_assert_eq(tl_lab_station_init(&station, &link, link.queue_bytes, CAPACITY, link.seed, &err),
                 TL_OK, "%s", err.text);
    tl_lab_station_start(&station, 0);
    return station;
}

/* A closed loop: `window` packets are always in the queue; a loss or a mark takes one away for
 * good, down to `least`. What TCP does, without its growth. */
struct loop {
    int window, drops, marks, left;
    int64_t wait_ns, waited; /* of the last second */
};

static struct loop run_loop(struct tl_lab_station *station, int window, int least, bool can_mark,
                            int64_t until_ns)
{
    struct loop loop = {.window = window};
    int64_t came_ns[CAPACITY];
    uint32_t free_ticket = 0;
    int inside = 0;
    int64_t now = 0;
    while (now < until_ns) {
        bool mark = false;
        while (inside < loop.window) {
            uint32_t ticket = free_ticket++ % CAPACITY;
            came_ns[ticket] = now;
            enum tl_lab_drop drop =
                tl_lab_station_come(station, now, ticket, PACKET, 7, can_mark, &mark);
            loop.marks += mark;
            loop.drops += drop != TL_LAB_DROP_NONE;
            if ((drop != TL_LAB_DROP_NONE || mark) && loop.window > least)
                loop.window--;
            inside += drop == TL_LAB_DROP_NONE;
        }
        struct tl_lab_leaving leaving;
        cr_assert(tl_lab_station_serve(station, INT64_MAX, &leaving));
        inside--;
        bool struck = leaving.drop != TL_LAB_DROP_NONE || leaving.marked;
        loop.drops += leaving.drop != TL_LAB_DROP_NONE;
        loop.marks += leaving.marked;
        if (struck && loop.window > least)
            loop.window--;
        if (leaving.drop == TL_LAB_DROP_NONE) {
            now = leaving.done_ns;
            loop.left++;
            if (now > until_ns - TL_NS_PER_S) {
                loop.wait_ns += now - came_ns[leaving.ticket];
                loop.waited++;
            }
        }
    }
    return loop;
}

static double mean_wait_ms(const struct loop *loop)
{
    return (double)loop->wait_ns / (double)loop->waited / 1e6;
}

Test(lab_station, managed_queues_are_short_and_lose_no_rate)
{
    static const struct {
        const char *spec;
        double least_ms, most_ms;
    } cases[] = {
        {"rate=12M queue=300kB aqm=codel", 1.5, 8},
        {"rate=12M queue=300kB aqm=fq-codel", 1.5, 8},
        {"rate=12M queue=300kB aqm=pie", 2, 25},
        {"rate=12M queue=300kB aqm=red", 2, 45}, /* a sixth of 200 ms, and scatter */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tl_lab_station station = station_of(cases[i].spec);
        struct loop loop = run_loop(&station, 150, 3, false, 30 * TL_NS_PER_S);
        double ms = mean_wait_ms(&loop);
        cr_expect(ms > cases[i].least_ms && ms < cases[i].most_ms, "%s: %.1f ms", cases[i].spec,
                  ms);
        cr_expect(loop.drops > 50 && loop.marks == 0, "%s: %d drops", cases[i].spec, loop.drops);
        cr_expect(loop.left > 29990, "%s: %d left", cases[i].spec, loop.left);
        tl_lab_station_finish(&station);
    }
}

Test(lab_station, marks_instead_of_drops_for_those_who_understand)
{
    static const char *const specs[] = {
        "rate=12M queue=300kB aqm=codel,ecn", "rate=12M queue=300kB aqm=fq-codel,ecn",
        "rate=12M queue=300kB aqm=pie,ecn", "rate=12M queue=300kB aqm=red,ecn"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct tl_lab_station station = station_of(specs[i]);
        struct loop loop = run_loop(&station, 100, 3, true, 20 * TL_NS_PER_S);
        if (strstr(specs[i], "pie")) /* drops what it could mark where it strikes one in ten */
            cr_expect(loop.marks > 10, "%s: %d marks", specs[i], loop.marks);
        else
            cr_expect(loop.marks > 50 && loop.drops == 0, "%s: %d marks, %d drops", specs[i],
                      loop.marks, loop.drops);
        tl_lab_station_finish(&station);
        station = station_of(specs[i]);
        loop = run_loop(&station, 100, 3, false, 20 * TL_NS_PER_S);
        cr_expect(loop.marks == 0 && loop.drops > 50, "%s: %d marks, %d drops", specs[i],
                  loop.marks, loop.drops);
        tl_lab_station_finish(&station);
    }
}

Test(lab_station, codel_drops_faster_by_the_square_root)
{
    /* RFC 8289, 5.3: 100 ms after the first packet that waited too long, then at intervals of
     * 100, 71, 58 ms. */
    struct tl_lab_codel codel = {0};
    int64_t drops[4];
    int count = 0;
    for (int64_t ms = 1; count < 4; ms++) {
        int64_t now = ms * TL_NS_PER_MS;
        bool may = tl_lab_codel_may_drop(&codel, now, 20 * TL_NS_PER_MS, 30000);
        if (tl_lab_codel_drops(&codel, now, may, false))
            drops[count++] = now;
    }
    cr_assert_eq(drops[0], 101 * TL_NS_PER_MS);
    cr_assert_eq(drops[1], 201 * TL_NS_PER_MS);
    cr_assert_float_eq((double)(drops[2] - drops[1]), 1e8 / sqrt(2), 1e6);
    cr_assert_float_eq((double)(drops[3] - drops[2]), 1e8 / sqrt(3), 1e6);
    /* One packet that waited for less ends it; so does a queue of one packet. */
    cr_assert_not(tl_lab_codel_may_drop(&codel, drops[3] + 1, TL_NS_PER_MS, 30000));
    cr_assert_not(tl_lab_codel_may_drop(&codel, drops[3] + 2, 20 * TL_NS_PER_MS, 1500));
}

Test(lab_station, fair_queues_hold_up_nobody_else)
{
    struct tl_lab_station station = station_of("rate=12M queue=300kB aqm=fq-codel");
    bool mark;
    for (uint32_t i = 0; i < 60; i++)
        tl_lab_station_come(&station, 0, i, PACKET, 1, false, &mark);
    tl_lab_station_come(&station, 0, 100, 100, 2, false, &mark);
    struct tl_lab_leaving leaving;
    int before = 0;
    while (tl_lab_station_serve(&station, INT64_MAX, &leaving) && leaving.ticket != 100)
        before++;
    cr_assert(before <= 2, "%d packets of the other connection went first", before);
    tl_lab_station_finish(&station);
}

Test(lab_station, full_fair_queue_makes_room_in_the_longest)
{
    struct tl_lab_station station = station_of("rate=12M queue=15kB aqm=fq-codel");
    struct tl_lab_leaving leaving;
    bool mark;
    for (uint32_t i = 0; i < 10; i++)
        cr_assert_eq(tl_lab_station_come(&station, 0, i, PACKET, 1, false, &mark),
                     TL_LAB_DROP_NONE);
    cr_assert_eq(tl_lab_station_come(&station, 0, 10, PACKET, 2, false, &mark), TL_LAB_DROP_NONE);
    cr_assert(tl_lab_station_serve(&station, 0, &leaving));
    cr_assert_eq(leaving.ticket, 0, "the head of the long queue");
    cr_assert_eq(leaving.drop, TL_LAB_DROP_AQM);
    tl_lab_station_finish(&station);
}

Test(lab_station, unmanaged_queue_drops_its_tail_in_order)
{
    struct tl_lab_station station = station_of("radio=12M-12M fades=0/0 handovers=0/0 queue=15kB");
    struct tl_lab_leaving leaving;
    bool mark;
    for (uint32_t i = 0; i < 12; i++)
        cr_assert_eq(tl_lab_station_come(&station, 0, i, PACKET, i, false, &mark),
                     i < 10 ? TL_LAB_DROP_NONE : TL_LAB_DROP_QUEUE);
    cr_assert_eq(tl_lab_station_next_ns(&station), 0);
    for (uint32_t i = 0; i < 10; i++) {
        cr_assert(tl_lab_station_serve(&station, INT64_MAX, &leaving));
        cr_assert_eq(leaving.ticket, i);
    }
    cr_assert_not(tl_lab_station_serve(&station, INT64_MAX, &leaving));
    cr_assert_eq(tl_lab_station_next_ns(&station), INT64_MAX);
    tl_lab_station_finish(&station);
}

Test(lab_station, nobody_is_served_before_his_time)
{
    struct tl_lab_station station = station_of("rate=12M queue=150kB aqm=pie");
    struct tl_lab_leaving leaving;
    bool mark;
    for (uint32_t i = 0; i < 3; i++)
        tl_lab_station_come(&station, 5 * TL_NS_PER_MS, i, PACKET, 1, false, &mark);
    cr_assert(tl_lab_station_serve(&station, 5 * TL_NS_PER_MS, &leaving));
    cr_assert_eq(leaving.done_ns, 6 * TL_NS_PER_MS);
    cr_assert_not(tl_lab_station_serve(&station, 6 * TL_NS_PER_MS - 1, &leaving));
    cr_assert_eq(tl_lab_station_next_ns(&station), 6 * TL_NS_PER_MS);
    cr_assert(tl_lab_station_serve(&station, 6 * TL_NS_PER_MS, &leaving));
    tl_lab_station_finish(&station);
}
