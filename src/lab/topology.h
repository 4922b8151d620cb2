/* The hosts of the path, their wires and their settings: built by the guard. */
#ifndef TL_LAB_TOPOLOGY_H
#define TL_LAB_TOPOLOGY_H

#include "emulator.h"
#include "ns.h"
#include "tightlink/lab/config.h"

/* c, the routers from R1 on, s, and WIRE, where the packet sockets live; a place that
 * the configuration does not need stays empty. */
enum tl_lab_place {
    TL_LAB_PLACE_C,
    TL_LAB_PLACE_R1,
    TL_LAB_PLACE_S = TL_LAB_PLACE_R1 + TL_LAB_ROUTERS_MAX,
    TL_LAB_PLACE_WIRE,
    TL_LAB_PLACE_COUNT
};

struct tl_lab_topology {
    struct tl_lab_ns place[TL_LAB_PLACE_COUNT];
    struct tl_lab_ports ports[TL_LAB_LINKS_MAX]; /* of emulated links */
    enum tl_lab_carrier carrier;                 /* of the main link; AUTO on a plain path */
};

/* Address text of an end; the same for every lab of that kind. NULL when the
 * configuration does not give it that family. */
const char *tl_lab_topology_address(const struct tl_lab_config *config, enum tl_lab_host host,
                                    enum tl_lab_family family);

/* Builds all; the calling process ends up in some namespace of the path. On
 * failure what was built is removed. */
enum tl_status tl_lab_topology_init(struct tl_lab_topology *topology,
                                    const struct tl_lab_config *config,
                                    struct tl_error *reterr) TL_WARN_UNUSED;

/* Whether a link has ports for the emulator. */
bool tl_lab_topology_emulated(const struct tl_lab_topology *topology, int at);

/* The caller's copies of the ports; whoever forked before keeps its own. */
void tl_lab_topology_close_ports(struct tl_lab_topology *topology);

/* Packets that were lost between an interface of link `at` and its port, since the
 * last call for a packet socket, since the start for a TUN device: adds up in *total. */
void tl_lab_topology_overruns(struct tl_lab_topology *topology, const struct tl_lab_config *config,
                              int at, enum tl_lab_host side, uint64_t *total);

/* Lets go; the kernel removes what nobody else holds. */
void tl_lab_topology_finish(struct tl_lab_topology *topology);

#endif
