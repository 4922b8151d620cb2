/* Where a queue grew: hops of made-up paths, with the noise that real ones have. */
#include <criterion/criterion.h>
#include <math.h>

#include "../key_of.h"
#include "hops_rise.h"

#define MS     1e6
#define SILENT ((double)NAN)

/* The load adds rise to every hop from `tight` on; each answers every round. */
static void make_path(struct tl_hop_load *hops, int count, int tight, double rise_ns)
{
    for (int hop = 1; hop <= count; hop++) {
        double loaded_ns = hop * 5 * MS + (hop >= tight ? rise_ns : 0.2 * MS);
        hops[hop] = (struct tl_hop_load){.idle_rtt_ns = hop * 5 * MS,
                                         .loaded_rtt_ns = loaded_ns,
                                         .loaded_count = 6,
                                         .both_rtt_ns = loaded_ns,
                                         .both_high_rtt_ns = loaded_ns,
                                         .both_far_rtt_ns = count * 5 * MS + rise_ns,
                                         .both_count = 6};
    }
}

static void hush(struct tl_hop_load *hop)
{
    *hop = (struct tl_hop_load){hop->idle_rtt_ns, SILENT, 0, SILENT, SILENT, SILENT, 0};
}

Test(hops_rise, finds_the_link_wherever_it_is)
{
    for (int count = 1; count <= 8; count++)
        for (int tight = 1; tight <= count; tight++) {
            struct tl_hop_load hops[TL_HOPS_MAX + 1];
            make_path(hops, count, tight, 30 * MS);
            struct tl_hops_rise rise = tl_hops_rise(hops, count, SILENT);
            cr_expect(rise.known);
            cr_expect_eq(rise.first_hop, tight - 1, "%d of %d", tight, count);
            cr_expect_eq(rise.last_hop, tight, "%d of %d", tight, count);
            cr_expect_float_eq(rise.rise_ns, 30 * MS, 1);
        }
}

Test(hops_rise, noise_of_a_third_does_not_move_it)
{
    struct tl_hop_load hops[5];
    make_path(hops, 4, 3, 30 * MS);
    hops[2].both_rtt_ns += 7 * MS;
    hops[2].both_high_rtt_ns += 8 * MS;
    hops[3].both_rtt_ns -= 10 * MS;
    struct tl_hops_rise rise = tl_hops_rise(hops, 4, SILENT);
    cr_expect(rise.known && rise.first_hop == 2 && rise.last_hop == 3);
}

Test(hops_rise, silent_hops_widen_the_bounds)
{
    struct tl_hop_load hops[5];
    make_path(hops, 4, 3, 30 * MS);
    hush(&hops[2]);
    struct tl_hops_rise rise = tl_hops_rise(hops, 4, SILENT);
    cr_expect(rise.known && rise.first_hop == 1 && rise.last_hop == 3);
    hush(&hops[1]);
    hush(&hops[3]);
    rise = tl_hops_rise(hops, 4, SILENT);
    cr_expect(rise.known && rise.first_hop == 0 && rise.last_hop == 4, "the path as a whole");
}

Test(hops_rise, a_router_that_is_slow_to_answer_is_passed_over)
{
    struct tl_hop_load hops[5];
    make_path(hops, 4, 4, 30 * MS);
    hops[2].both_rtt_ns += 60 * MS; /* hop 3 is flat, so nothing stays risen behind hop 2 */
    struct tl_hops_rise rise = tl_hops_rise(hops, 4, SILENT);
    cr_expect(rise.known && rise.first_hop == 3 && rise.last_hop == 4);
}

Test(hops_rise, without_a_queue_there_is_no_rise)
{
    struct tl_hop_load hops[4];
    make_path(hops, 3, 2, 0.5 * MS);
    struct tl_hops_rise rise = tl_hops_rise(hops, 3, SILENT);
    cr_expect_not(rise.known);
    cr_expect_str_eq(rise.reason, "no queue grew under load");
    make_path(hops, 3, 2, 30 * MS);
    hush(&hops[3]);
    cr_expect_not(tl_hops_rise(hops, 3, SILENT).known, "the far end itself must answer");
    cr_expect_not(tl_hops_rise(hops, 0, SILENT).known);
}

/* FQ-CoDel: the probes of the far end share a queue with the transfer by chance, and neither the
 * routers' answers nor another flow to the same far end do. */
Test(hops_rise, what_only_one_flow_waited_for_is_placed_nowhere)
{
    struct tl_hop_load hops[4];
    make_path(hops, 3, 3, 6 * MS);
    cr_expect(tl_hops_rise(hops, 3, 21 * MS).known, "its packets waited as well");
    cr_expect(tl_hops_rise(hops, 3, 17.5 * MS).known, "at times, a queue that comes and goes");
    struct tl_hops_rise rise = tl_hops_rise(hops, 3, 15.4 * MS);
    cr_expect_not(rise.known);
    cr_expect_neq(rise.reason[0], 0);
}

/* A queue that comes and goes with others' bursts: two of the router's three answers met it next to
 * empty, and one of the far end's. */
Test(hops_rise, low_answers_by_chance_do_not_put_a_router_before_the_queue)
{
    const int64_t end_ns = (int64_t)(1000 * MS);
    struct tl_hop idle = {.rtt_ns = {5 * MS}, .sample_count = 1};
    struct tl_hop router = {.rtt_ns = {5 * MS, 6 * MS, 21 * MS},
                            .sent_ns = {0, end_ns / 3, 2 * end_ns / 3},
                            .sample_count = 3};
    struct tl_hop far = router;
    far.rtt_ns[0] = 23 * MS;
    struct tl_hop_load hops[3];
    hops[1] = tl_hop_load(&idle, &router, &far, 0, end_ns);
    hops[2] = tl_hop_load(&idle, &far, &far, 0, end_ns);
    struct tl_hops_rise rise = tl_hops_rise(hops, 2, SILENT);
    cr_expect(rise.known && rise.first_hop == 0 && rise.last_hop == 2, "%d to %d", rise.first_hop,
              rise.last_hop);
}

Test(hops_rise, takes_the_probes_of_the_loaded_time_alone)
{
    struct tl_hop idle = {.rtt_ns = {11 * MS, 10 * MS}, .sample_count = 2};
    struct tl_hop loaded = {.rtt_ns = {12 * MS, 50 * MS, 60 * MS, 40 * MS, 12 * MS},
                            .sent_ns = {0, 100, 200, 300, 400},
                            .sample_count = 5};
    struct tl_hop_load load = tl_hop_load(&idle, &loaded, &loaded, 100, 300);
    cr_expect_float_eq(load.loaded_rtt_ns, 50 * MS, 1);
    cr_expect_eq(load.loaded_count, 3);
    cr_expect_float_eq(load.idle_rtt_ns, 10 * MS, 1);
}

/* A router answers a burst of probes and then one a second; a queue of a long path has not grown
 * when the burst is over. Its link is behind the queue all the same. */
Test(hops_rise, a_router_is_compared_with_the_far_end_at_the_same_time)
{
    const int64_t round_ns = (int64_t)(350 * MS), gap_ns = (int64_t)(3 * MS);
    struct tl_hop idle = {.rtt_ns = {600 * MS}, .sample_count = 1}, router = {0}, far = {0};
    for (int round = 0; round < 24; round++) {
        double queue_ns = round * 10 * MS;
        far.rtt_ns[far.sample_count] = 600 * MS + queue_ns;
        far.sent_ns[far.sample_count++] = round * round_ns + gap_ns;
        if (round >= 6 && round % 6 != 0)
            continue;
        router.rtt_ns[router.sample_count] = 600 * MS + queue_ns;
        router.sent_ns[router.sample_count++] = round * round_ns;
    }
    struct tl_hop_load hops[3];
    hops[1] = tl_hop_load(&idle, &router, &far, 0, 24 * round_ns);
    hops[2] = tl_hop_load(&idle, &far, &far, 0, 24 * round_ns);
    cr_expect_eq(hops[1].both_count, 9);
    struct tl_hops_rise rise = tl_hops_rise(hops, 2, SILENT);
    cr_expect(rise.known && rise.first_hop == 0 && rise.last_hop == 1, "%d to %d", rise.first_hop,
              rise.last_hop);
}

Test(hops_rise, a_router_that_answered_before_the_queue_alone_says_nothing)
{
    struct tl_hop_load hops[5];
    make_path(hops, 4, 2, 30 * MS);
    hops[3].both_rtt_ns = hops[3].both_high_rtt_ns = hops[3].idle_rtt_ns + 0.1 * MS;
    hops[3].both_far_rtt_ns = hops[4].idle_rtt_ns + 0.3 * MS;
    struct tl_hops_rise rise = tl_hops_rise(hops, 4, SILENT);
    cr_expect(rise.known && rise.first_hop == 1 && rise.last_hop == 2);
}

Test(hops_rise, a_router_behind_a_queue_that_others_keep_says_nothing)
{
    struct tl_hop_load hops[4];
    make_path(hops, 3, 2, 20 * MS);
    hops[2].idle_rtt_ns += 20 * MS; /* while the far end was reached without a wait once */
    struct tl_hops_rise rise = tl_hops_rise(hops, 3, SILENT);
    cr_expect(rise.known && rise.first_hop == 1 && rise.last_hop == 3, "%d to %d", rise.first_hop,
              rise.last_hop);
}

/* --- The facts of two transfers -------------------------------------------------------------- */

static void expect_place(const struct tl_facts *facts, const char *segment, double rise_ns)
{
    struct tl_fact fact;
    tl_facts_get(facts, key_of("download.tight_segment"), &fact);
    cr_expect_str_eq(fact.state == TL_FACT_KNOWN ? fact.text : "", segment);
    cr_expect_float_eq(tl_facts_number(facts, key_of("download.tight_rtt_rise_ns"), 0), rise_ns, 1);
}

static struct tl_hops_rise between(int first_hop, int last_hop, double rise_ns)
{
    return (struct tl_hops_rise){true, first_hop, last_hop, rise_ns, ""};
}

Test(hops_rise, a_short_transfer_that_places_its_rise_less_well_replaces_nothing)
{
    struct tl_facts *facts = tl_facts_create();
    struct tl_hops_rise one = between(0, 1, 19 * MS), several = between(0, 3, 20 * MS);
    tl_hops_rise_set(facts, TL_DOWNLOAD, &one, 3);
    tl_hops_rise_set(facts, TL_DOWNLOAD, &several, 3);
    expect_place(facts, "lan", 19 * MS);
    tl_facts_destroy(facts);
}

Test(hops_rise, what_is_placed_better_or_rises_much_more_replaces_what_was_before)
{
    struct tl_facts *facts = tl_facts_create();
    struct tl_hops_rise wide = between(0, 3, 20 * MS), close = between(2, 3, 18 * MS);
    struct tl_hops_rise small = between(0, 1, 5 * MS), large = between(0, 2, 50 * MS);
    tl_hops_rise_set(facts, TL_DOWNLOAD, &wide, 3);
    tl_hops_rise_set(facts, TL_DOWNLOAD, &close, 3);
    expect_place(facts, "far-lan", 18 * MS);
    tl_hops_rise_set(facts, TL_DOWNLOAD, &small, 3);
    expect_place(facts, "far-lan", 18 * MS);
    tl_hops_rise_set(facts, TL_DOWNLOAD, &large, 3);
    expect_place(facts, "", 50 * MS);
    tl_facts_destroy(facts);
}
