/* NUMA nodes, the card's one, and the choice of processors for a test. */
#include "tightlink/host/place.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc.h"
#include "stat.h"

#define NODES_MAX      64
#define CPUS_MIN       4    /* fewer leave nothing to choose between */
#define KEEP_MIN       2    /* a node of which only so few are free of interrupts is used whole */
#define IRQ_BUSY_RATIO 0.3  /* of a core's busy time: it serves the card's queue */
#define TICKS_MIN      1000 /* of a core's busy time, 10 s: less says nothing about interrupts */

/* One "first" or "first-last" of a cpulist; false at its end or at anything else. */
static bool take_range(const char **at, long *ret_first, long *ret_last)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    *ret_first = *ret_last = strtol(*at, &end, 10);
    if (*end == '-' && end[1] >= '0' && end[1] <= '9')
        *ret_last = strtol(end + 1, &end, 10);
    *at = *end == ',' ? end + 1 : end;
    return *ret_first <= *ret_last;
}

static void read_node(const char *root, int node, struct tl_host_place *place)
{
    char path[64], text[1024];
    const char *at = text;
    long first, last;
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
    if (tl_proc_read(root, path, text, sizeof text) != TL_HOST_WHY_KNOWN)
        return;
    while (take_range(&at, &first, &last))
        for (long cpu = first; cpu <= last && cpu < TL_CPU_CORES_MAX; cpu++)
            place->cpus[cpu].node = node;
}

static void read_nodes(const char *root, struct tl_host_place *place)
{
    char text[256];
    const char *at = text;
    long first, last;
    if (tl_proc_read(root, "/sys/devices/system/node/online", text, sizeof text) !=
        TL_HOST_WHY_KNOWN)
        return;
    while (take_range(&at, &first, &last))
        for (long node = first; node <= last && node < NODES_MAX; node++)
            read_node(root, (int)node, place);
}

static int read_card_node(const char *root, const char *interface)
{
    char path[128], text[32], *end;
    if (interface[0] == '\0' || strchr(interface, '/') || interface[0] == '.')
        return TL_HOST_NODE_UNKNOWN;
    snprintf(path, sizeof path, "/sys/class/net/%.15s/device/numa_node", interface);
    if (tl_proc_read(root, path, text, sizeof text) != TL_HOST_WHY_KNOWN)
        return TL_HOST_NODE_UNKNOWN;
    long node = strtol(text, &end, 10);
    return end != text && *end == '\0' && node >= 0 && node < NODES_MAX ? (int)node
                                                                        : TL_HOST_NODE_UNKNOWN;
}

static bool take_core(char *line, void *context)
{
    struct tl_host_place *place = context;
    struct tl_stat_core core;
    int number;
    if (!tl_stat_parse_line(line, &number, &core) || number < 0 || number >= TL_CPU_CORES_MAX)
        return strncmp(line, "cpu", 3) == 0; /* the cores' lines come first */
    uint64_t busy = core.total - core.idle;
    place->cpus[number].usable = true;
    place->cpus[number].irq_ratio = busy >= TICKS_MIN ? (double)core.softirq / (double)busy : 0;
    if ((unsigned)number >= place->cpu_end)
        place->cpu_end = (unsigned)number + 1;
    return true;
}

void tl_host_place_read(const char *root, const char *interface, struct tl_host_place *ret_place)
{
    *ret_place = (struct tl_host_place){.card_node = read_card_node(root, interface)};
    for (unsigned i = 0; i < TL_CPU_CORES_MAX; i++)
        ret_place->cpus[i].node = TL_HOST_NODE_UNKNOWN;
    if (tl_proc_each_line(root, "/proc/stat", take_core, ret_place) != TL_HOST_WHY_KNOWN)
        return;
    read_nodes(root, ret_place);
    cpu_set_t own;
    if (root[0] != '\0' || sched_getaffinity(0, sizeof own, &own) < 0)
        return;
    for (unsigned i = 0; i < ret_place->cpu_end; i++)
        ret_place->cpus[i].usable = ret_place->cpus[i].usable && CPU_ISSET(i, &own);
}

/* Processors of the card's node, all or those without interrupts. */
static unsigned mark(const struct tl_host_place *place, bool quiet, bool use[TL_CPU_CORES_MAX])
{
    unsigned count = 0;
    for (unsigned i = 0; i < TL_CPU_CORES_MAX; i++) {
        use[i] = i < place->cpu_end && place->cpus[i].usable &&
                 place->cpus[i].node == place->card_node &&
                 !(quiet && place->cpus[i].irq_ratio > IRQ_BUSY_RATIO);
        count += use[i];
    }
    return count;
}

unsigned tl_host_place_choose(const struct tl_host_place *place, bool ret_use[TL_CPU_CORES_MAX])
{
    unsigned usable = 0;
    bool elsewhere = false;
    memset(ret_use, 0, TL_CPU_CORES_MAX * sizeof *ret_use);
    for (unsigned i = 0; i < place->cpu_end; i++) {
        usable += place->cpus[i].usable;
        elsewhere |= place->cpus[i].usable && place->cpus[i].node != place->card_node;
    }
    if (place->card_node == TL_HOST_NODE_UNKNOWN || usable < CPUS_MIN || !elsewhere)
        return 0;
    unsigned count = mark(place, true, ret_use);
    return count >= KEEP_MIN ? count : mark(place, false, ret_use);
}
