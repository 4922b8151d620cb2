/* Where a queue grew: hops of made-up paths, with the noise that real ones have. */
#include <criterion/criterion.h>
#include <math.h>

#include "tightlink/engine/hops.h"

#define MS     1e6
#define SILENT ((double)NAN)

/* Three routers and the far end; the load adds rise to every hop from `tight` on. */
static void make_path(struct tl_hop_load *hops, int count, int tight, double rise_ns)
{
    for (int hop = 1; hop <= count; hop++)
        hops[hop] = (struct tl_hop_load){.idle_rtt_ns = hop * 5 * MS,
                                         .loaded_rtt_ns =
                                             hop * 5 * MS + (hop >= tight ? rise_ns : 0.2 * MS),
                                         .loaded_count = 6};
}

static void hush(struct tl_hop_load *hop)
{
    hop->loaded_rtt_ns = SILENT;
    hop->loaded_count = 0;
}

Test(hops_blame, finds_the_link_wherever_it_is)
{
    for (int count = 1; count <= 8; count++)
        for (int tight = 1; tight <= count; tight++) {
            struct tl_hop_load hops[TL_HOPS_MAX + 1];
            make_path(hops, count, tight, 30 * MS);
            struct tl_hops_blame blame = tl_hops_blame(hops, count);
            cr_expect(blame.known);
            cr_expect_eq(blame.first_hop, tight - 1, "%d of %d", tight, count);
            cr_expect_eq(blame.last_hop, tight, "%d of %d", tight, count);
            cr_expect_float_eq(blame.rise_ns, 30 * MS, 1);
        }
}

Test(hops_blame, noise_of_a_third_does_not_move_it)
{
    struct tl_hop_load hops[5];
    make_path(hops, 4, 3, 30 * MS);
    hops[2].loaded_rtt_ns += 7 * MS;
    hops[3].loaded_rtt_ns -= 10 * MS;
    struct tl_hops_blame blame = tl_hops_blame(hops, 4);
    cr_expect(blame.known && blame.first_hop == 2 && blame.last_hop == 3);
}

Test(hops_blame, silent_hops_widen_the_bounds)
{
    struct tl_hop_load hops[5];
    make_path(hops, 4, 3, 30 * MS);
    hush(&hops[2]);
    struct tl_hops_blame blame = tl_hops_blame(hops, 4);
    cr_expect(blame.known && blame.first_hop == 1 && blame.last_hop == 3);
    hush(&hops[1]);
    hush(&hops[3]);
    blame = tl_hops_blame(hops, 4);
    cr_expect(blame.known && blame.first_hop == 0 && blame.last_hop == 4, "the path as a whole");
}

Test(hops_blame, a_router_that_is_slow_to_answer_is_passed_over)
{
    struct tl_hop_load hops[5];
    make_path(hops, 4, 4, 30 * MS);
    hops[2].loaded_rtt_ns += 60 * MS; /* hop 3 is flat, so nothing stays risen behind hop 2 */
    struct tl_hops_blame blame = tl_hops_blame(hops, 4);
    cr_expect(blame.known && blame.first_hop == 3 && blame.last_hop == 4);
}

Test(hops_blame, without_a_queue_there_is_no_blame)
{
    struct tl_hop_load hops[4];
    make_path(hops, 3, 2, 0.5 * MS);
    struct tl_hops_blame blame = tl_hops_blame(hops, 3);
    cr_expect_not(blame.known);
    cr_expect_str_eq(blame.reason, "no queue grew under load");
    make_path(hops, 3, 2, 30 * MS);
    hush(&hops[3]);
    cr_expect_not(tl_hops_blame(hops, 3).known, "the far end itself must answer");
    cr_expect_not(tl_hops_blame(hops, 0).known);
}

Test(hops_blame, takes_the_probes_of_the_loaded_time_alone)
{
    struct tl_hop idle = {.rtt_ns = {11 * MS, 10 * MS}, .sample_count = 2};
    struct tl_hop loaded = {.rtt_ns = {12 * MS, 50 * MS, 60 * MS, 40 * MS, 12 * MS},
                            .sent_ns = {0, 100, 200, 300, 400},
                            .sample_count = 5};
    struct tl_hop_load load = tl_hop_load(&idle, &loaded, 100, 300);
    cr_expect_float_eq(load.loaded_rtt_ns, 50 * MS, 1);
    cr_expect_eq(load.loaded_count, 3);
    cr_expect_float_eq(load.idle_rtt_ns, 10 * MS, 1);
}
