/* On which processors a test's threads should run: those of the card's NUMA node that are not
 * busy with its interrupts, where the machine is large enough for that to matter.
 *
 * On small machines and where the card belongs to no node (loopback, veth, most virtual
 * machines) threads are left to the scheduler: pinned by hand on two cores, sender and receiver
 * apart, one stream carried no more than unpinned, and several carried less. */
#ifndef TL_HOST_PLACE_H
#define TL_HOST_PLACE_H

#include <stdbool.h>

#include "tightlink/host/cpu.h"

#define TL_HOST_NODE_UNKNOWN (-1)

struct tl_host_place {
    struct {
        bool usable;      /* online, and this process may run there */
        int node;         /* NUMA node, or TL_HOST_NODE_UNKNOWN */
        double irq_ratio; /* share of its busy time since boot that went into interrupts */
    } cpus[TL_CPU_CORES_MAX];
    unsigned cpu_end; /* one more than the highest number */
    int card_node;    /* of the interface's device, or TL_HOST_NODE_UNKNOWN */
};

/* Reads /sys/devices/system/node, /sys/class/net/<interface>/device/numa_node and /proc/stat;
 * root as in host.h ("" also asks for this process's own processors). Never fails: what cannot be
 * read is unknown. Some 10 files; any thread. */
void tl_host_place_read(const char *root, const char *interface, struct tl_host_place *ret_place);

/* The processors to keep to; returns how many, 0 = leave it to the scheduler. Pure. */
unsigned tl_host_place_choose(const struct tl_host_place *place, bool ret_use[TL_CPU_CORES_MAX]);

#endif
