/* Where a test's threads should run, on recorded topologies. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/host/place.h"

static unsigned choose(const char *recording, const char *interface, bool use[TL_CPU_CORES_MAX])
{
    struct tl_host_place place;
    char root[256];
    snprintf(root, sizeof root, "%s/%s", HOST_TEST_DATA, recording);
    tl_host_place_read(root, interface, &place);
    return tl_host_place_choose(&place, use);
}

/* Two nodes of eight; cpu4 and cpu5 serve the queues of the card at node 1. */
Test(place, threads_go_to_the_cards_node_beside_its_interrupts)
{
    bool use[TL_CPU_CORES_MAX];
    cr_assert_eq(choose("numa2", "eth1", use), 6);
    for (unsigned i = 0; i < TL_CPU_CORES_MAX; i++)
        cr_expect_eq(use[i], i == 6 || i == 7 || (i >= 12 && i <= 15), "cpu%u", i);
}

Test(place, what_belongs_to_no_node_is_left_to_the_scheduler)
{
    bool use[TL_CPU_CORES_MAX];
    cr_expect_eq(choose("numa2", "lo", use), 0);
    cr_expect_eq(choose("numa2", "", use), 0);
    cr_expect_eq(choose("numa2", "../../../proc", use), 0);
    cr_expect_eq(choose("numa2-idle", "virt0", use), 0, "a virtual card says -1");
    cr_expect_eq(choose("debian12", "eth0", use), 0, "no nodes are recorded");
    cr_expect_eq(choose("no such recording", "eth1", use), 0);
    for (unsigned i = 0; i < TL_CPU_CORES_MAX; i++)
        cr_expect_not(use[i]);
}

static struct tl_host_place machine(unsigned cpus, unsigned nodes, int card_node)
{
    struct tl_host_place place = {.cpu_end = cpus, .card_node = card_node};
    for (unsigned i = 0; i < cpus; i++) {
        place.cpus[i].usable = true;
        place.cpus[i].node = (int)(i % nodes);
    }
    return place;
}

Test(place, small_machines_and_single_nodes_are_left_to_the_scheduler)
{
    bool use[TL_CPU_CORES_MAX];
    struct tl_host_place two = machine(2, 2, 0), one_node = machine(64, 1, 0);
    cr_expect_eq(tl_host_place_choose(&two, use), 0);
    cr_expect_eq(tl_host_place_choose(&one_node, use), 0);
    struct tl_host_place eight = machine(8, 2, 1);
    cr_expect_eq(tl_host_place_choose(&eight, use), 4);
}

Test(place, processors_that_this_process_may_not_use_are_left_out)
{
    bool use[TL_CPU_CORES_MAX];
    struct tl_host_place place = machine(16, 2, 1);
    for (unsigned i = 0; i < 8; i++)
        place.cpus[i].usable = false;
    cr_expect_eq(tl_host_place_choose(&place, use), 4);
    for (unsigned i = 0; i < 8; i++)
        cr_expect_not(use[i]);
    /* Bound to the other node by who started it: that is not ours to undo. */
    for (unsigned i = 9; i < 16; i += 2)
        place.cpus[i].usable = false;
    cr_expect_eq(tl_host_place_choose(&place, use), 0);
}

Test(place, a_node_that_serves_interrupts_everywhere_is_used_whole)
{
    bool use[TL_CPU_CORES_MAX];
    struct tl_host_place place = machine(8, 2, 0);
    for (unsigned i = 0; i < 8; i++)
        place.cpus[i].irq_ratio = 0.8;
    cr_expect_eq(tl_host_place_choose(&place, use), 4);
}

Test(place, this_machine_can_be_read)
{
    struct tl_host_place place;
    bool use[TL_CPU_CORES_MAX];
    tl_host_place_read("", "lo", &place);
    cr_expect_gt(place.cpu_end, 0);
    cr_expect_eq(place.card_node, TL_HOST_NODE_UNKNOWN);
    cr_expect_eq(tl_host_place_choose(&place, use), 0);
}
