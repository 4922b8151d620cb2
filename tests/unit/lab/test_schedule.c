#include "schedule.h"

#include <criterion/criterion.h>
#include <string.h>

#include "shared.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

Test(lab_schedule, leaves_by_time_then_by_arrival)
{
    struct tl_lab_schedule schedule;
    struct tl_random rng;
    cr_assert_eq(tl_lab_schedule_init(&schedule, 1000, 64), TL_OK);
    tl_random_seed(&rng, 3);
    cr_assert_eq(tl_lab_schedule_next_ns(&schedule), INT64_MAX);
    for (uint32_t i = 0; i < 1000; i++)
        tl_lab_schedule_push(&schedule, tl_lab_schedule_take(&schedule), i,
                             (int64_t)(tl_random_next(&rng) % 50));
    struct tl_lab_entry last = {.depart_ns = -1};
    for (int i = 0; i < 1000; i++) {
        int64_t next = tl_lab_schedule_next_ns(&schedule);
        struct tl_lab_entry entry = tl_lab_schedule_pop(&schedule);
        cr_assert_eq(entry.depart_ns, next);
        cr_assert(entry.depart_ns > last.depart_ns ||
                  (entry.depart_ns == last.depart_ns && entry.len_bytes > last.len_bytes));
        tl_lab_schedule_release(&schedule, entry.slot);
        last = entry;
    }
    cr_assert_eq(schedule.free_count, 1000);
    tl_lab_schedule_finish(&schedule);
}

Test(lab_schedule, slots_are_distinct_and_run_out)
{
    struct tl_lab_schedule schedule;
    bool seen[8] = {false};
    cr_assert_eq(tl_lab_schedule_init(&schedule, 8, 128), TL_OK);
    for (int i = 0; i < 8; i++) {
        uint32_t slot = tl_lab_schedule_take(&schedule);
        cr_assert_lt(slot, 8);
        cr_assert_not(seen[slot]);
        seen[slot] = true;
        memset(tl_lab_schedule_memory(&schedule, slot), i, 128);
    }
    cr_assert_eq(tl_lab_schedule_take(&schedule), UINT32_MAX);
    tl_lab_schedule_release(&schedule, 5);
    cr_assert_eq(tl_lab_schedule_take(&schedule), 5);
    tl_lab_schedule_finish(&schedule);
}

Test(lab_counters, percentiles_of_the_delay_error)
{
    static struct tl_lab_live live;
    struct tl_lab_counters counters;
    tl_lab_live_read(&live, &counters);
    cr_assert_eq(counters.delay_error_p50_ns, 0);
    for (int i = 0; i < 980; i++)
        tl_lab_live_delay_error(&live, 50 * TL_NS_PER_US);
    for (int i = 0; i < 20; i++)
        tl_lab_live_delay_error(&live, 3 * TL_NS_PER_MS);
    tl_lab_live_read(&live, &counters);
    cr_assert_eq(counters.delay_samples, 1000);
    /* A bucket is a quarter octave wide and answers with its upper edge. */
    cr_assert(counters.delay_error_p50_ns >= 50000 && counters.delay_error_p50_ns <= 60000);
    cr_assert(counters.delay_error_p99_ns >= 3000000 && counters.delay_error_p99_ns <= 3600000);
    cr_assert_eq(counters.delay_error_max_ns, 3 * TL_NS_PER_MS);
}

/* Of a thousand packets so many left 8 ms late; the other direction was in time. */
static bool held_up_by(int late, uint64_t dropped, char ret_reason[TL_LAB_HELD_UP_SIZE])
{
    struct tl_lab_live live[TL_LAB_DIRECTION_COUNT] = {0};
    struct tl_lab_counters counters[TL_LAB_DIRECTION_COUNT];
    for (int i = 0; i < 1000; i++) {
        tl_lab_live_delay_error(&live[TL_LAB_UP], 50 * TL_NS_PER_US);
        tl_lab_live_delay_error(&live[TL_LAB_DOWN],
                                i < late ? 8 * TL_NS_PER_MS : 50 * TL_NS_PER_US);
    }
    tl_lab_count(&live[TL_LAB_UP].drops[TL_LAB_DROP_EMULATOR], dropped);
    for (int way = 0; way < TL_LAB_DIRECTION_COUNT; way++)
        tl_lab_live_read(&live[way], &counters[way]);
    return tl_lab_held_up(counters, ret_reason);
}

Test(lab_counters, an_emulator_that_was_late_or_dropped_says_so)
{
    char reason[TL_LAB_HELD_UP_SIZE] = "";
    cr_expect(!held_up_by(0, 0, reason));
    cr_expect(!held_up_by(9, 0, reason), "less than one in a hundred");
    cr_expect_str_eq(reason, "");
    cr_expect(held_up_by(20, 0, reason));
    cr_expect(strstr(reason, "too busy to emulate that path") && strstr(reason, "8.") &&
                  !strstr(reason, "dropped"),
              "%s", reason);
    cr_expect(held_up_by(0, 3, reason));
    cr_expect(strstr(reason, "3 packets were dropped") && !strstr(reason, "late or later"), "%s",
              reason);
}
