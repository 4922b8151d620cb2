/* Builds the path; see topology.h for who calls, row.h for names and addresses. */
#include "topology.h"

#include <stdio.h>
#include <string.h>

#include "row.h"
#include "tightlink/base/time.h"

/* A TUN device's default of 500 packets would drop bursts unseen by the emulator. */
#define WAN_TX_QUEUE_PACKETS 20000

struct build {
    const struct tl_lab_config *config;
    struct tl_lab_topology *topology;
    struct tl_error *reterr;
};

static struct tl_lab_ns *place(struct build *b, enum tl_lab_place which)
{
    return &b->topology->place[which];
}

/* Before the first link, because links copy these settings when they appear. */
static enum tl_status set_defaults(struct build *b)
{
    static const char *const settings[][2] = {
        {"ipv6/conf/default/accept_dad", "0"},
        {"ipv6/conf/default/accept_ra", "0"},
        {"ipv6/conf/default/router_solicitations", "0"},
    };
    if (!(b->config->family & TL_LAB_IPV6))
        return TL_OK;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        enum tl_status status = tl_lab_ns_sysctl(settings[i][0], settings[i][1], b->reterr);
        if (status != TL_OK)
            return status;
    }
    return TL_OK;
}

static enum tl_status make_place(struct build *b, enum tl_lab_place which)
{
    static const char *const names[] = {"c", "r1", "r2", "r3", "r4", "r5", "r6", "s", "wire"};
    enum tl_status status = tl_lab_ns_init(place(b, which), names[which], b->reterr);
    return status == TL_OK ? set_defaults(b) : status;
}

/* "minimum default maximum"; the first two never above the third. */
static enum tl_status set_buffers(const char *file, int64_t minimum, int64_t normal,
                                  int64_t maximum, struct tl_error *reterr)
{
    char text[80];
    snprintf(text, sizeof text, "%lld %lld %lld",
             (long long)(minimum < maximum ? minimum : maximum),
             (long long)(normal < maximum ? normal : maximum), (long long)maximum);
    return tl_lab_ns_sysctl(file, text, reterr);
}

/* The proxy's own connections must not be what limits. */
#define SPLITTER_BUFFER_BYTES (INT64_C(64) << 20)

static enum tl_status set_icmp_interval(struct build *b)
{
    char ms[24];
    int64_t interval_ns = b->config->icmp_interval_ns;
    if (interval_ns == 0)
        return TL_OK;
    snprintf(ms, sizeof ms, "%lld", (long long)((interval_ns + TL_NS_PER_MS - 1) / TL_NS_PER_MS));
    enum tl_status status = tl_lab_ns_sysctl("ipv4/icmp_ratelimit", ms, b->reterr);
    return status == TL_OK && (b->config->family & TL_LAB_IPV6)
               ? tl_lab_ns_sysctl("ipv6/icmp/ratelimit", ms, b->reterr)
               : status;
}

static enum tl_status set_router(struct build *b, enum tl_lab_place which)
{
    enum tl_status status = tl_lab_ns_enter(place(b, which), b->reterr);
    if (status == TL_OK)
        status = tl_lab_ns_sysctl("ipv4/ip_forward", "1", b->reterr);
    if (status == TL_OK && (b->config->family & TL_LAB_IPV6))
        status = tl_lab_ns_sysctl("ipv6/conf/all/forwarding", "1", b->reterr);
    if (status == TL_OK && b->config->split && which == TL_LAB_PLACE_R1) {
        status = set_buffers("ipv4/tcp_rmem", 4096, 131072, SPLITTER_BUFFER_BYTES, b->reterr);
        if (status == TL_OK)
            status = set_buffers("ipv4/tcp_wmem", 4096, 16384, SPLITTER_BUFFER_BYTES, b->reterr);
    }
    return status == TL_OK ? set_icmp_interval(b) : status;
}

static enum tl_status set_switches(const struct tl_lab_host_config *host, struct tl_error *reterr)
{
    const struct {
        const char *file;
        bool on;
    } all[] = {{"ipv4/tcp_window_scaling", host->window_scaling},
               {"ipv4/tcp_sack", host->sack},
               {"ipv4/tcp_timestamps", host->timestamps},
               {"ipv4/tcp_moderate_rcvbuf", host->autotune}};
    enum tl_status status = host->ecn ? tl_lab_ns_sysctl("ipv4/tcp_ecn", "1", reterr) : TL_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all && status == TL_OK; i++)
        status = tl_lab_ns_sysctl(all[i].file, all[i].on ? "1" : "0", reterr);
    return status;
}

static enum tl_status set_host(struct build *b, enum tl_lab_host which)
{
    const struct tl_lab_host_config *host = &b->config->host[which];
    struct tl_lab_ns *ns = place(b, which == TL_LAB_NEAR ? TL_LAB_PLACE_C : TL_LAB_PLACE_S);
    enum tl_status status = tl_lab_ns_enter(ns, b->reterr);
    if (status == TL_OK) /* the kernel's own minima and defaults */
        status = set_buffers("ipv4/tcp_rmem", 4096, 131072, host->rmem_max_bytes, b->reterr);
    if (status == TL_OK)
        status = set_buffers("ipv4/tcp_wmem", 4096, 16384, host->wmem_max_bytes, b->reterr);
    if (status == TL_OK)
        status = set_switches(host, b->reterr);
    if (status == TL_OK && !host->offloads)
        status = tl_lab_ns_offloads_off("eth0", b->reterr);
    /* Refused where the first namespace does not list it as allowed; the route's
     * metric then chooses alone, and it is what counts in any case. */
    (void)!tl_lab_ns_sysctl("ipv4/tcp_congestion_control", host->cc, NULL);
    return status;
}

/* One side of a wire. A veth hands over GSO packets of any MTU; single ones too long
 * for the other end are dropped there, silently, as a switch would. */
static enum tl_status set_side(struct build *b, enum tl_lab_place which, const char *link,
                               int32_t mtu, int32_t other_mtu)
{
    struct tl_lab_link_settings settings = {.mtu = mtu, .up = true};
    if (other_mtu < mtu)
        settings.gso_max_segs = 1;
    return tl_lab_ns_link(place(b, which), link, &settings, b->reterr);
}

/* A link without an emulator. */
static enum tl_status make_wire(struct build *b, enum tl_lab_place near, const char *near_link,
                                int32_t near_mtu, enum tl_lab_place far, const char *far_link,
                                int32_t far_mtu)
{
    enum tl_status status =
        tl_lab_ns_veth(place(b, near), near_link, place(b, far), far_link, b->reterr);
    if (status == TL_OK)
        status = set_side(b, near, near_link, near_mtu, far_mtu);
    return status == TL_OK ? set_side(b, far, far_link, far_mtu, near_mtu) : status;
}

static enum tl_status make_tun(struct build *b, int at, enum tl_lab_host side)
{
    enum tl_status status =
        tl_lab_ns_enter(place(b, tl_lab_row_place_at(b->config, at, side)), b->reterr);
    return status == TL_OK ? tl_lab_port_tun(&b->topology->ports[at].port[side],
                                             tl_lab_row_interface(b->config, at, side), b->reterr)
                           : status;
}

/* One side of an emulated link by packet socket: what arrives there are the packets of
 * a wire. A router's veth does segmentation and checksums in software; a host keeps its
 * offloads, because a diagnosis looks at them: it sends single packets, and the port
 * completes their checksums. */
static enum tl_status make_packet(struct build *b, int at, enum tl_lab_host side)
{
    char wire_link[16];
    enum tl_lab_place owner = tl_lab_row_place_at(b->config, at, side);
    const char *link = tl_lab_row_interface(b->config, at, side);
    bool of_host = tl_lab_row_host(b->config, at, side) != NULL;
    size_t packet_max = b->topology->ports[at].packet_max;
    snprintf(wire_link, sizeof wire_link, "%s%d", side == TL_LAB_NEAR ? "near" : "far", at);
    struct tl_lab_link_settings wire = {.mtu = (int32_t)packet_max, .no_arp = true, .up = true};
    struct tl_lab_link_settings same = {.mac = tl_lab_port_mac, .gso_max_segs = of_host ? 1 : 0};
    enum tl_status status =
        tl_lab_ns_veth(place(b, owner), link, place(b, TL_LAB_PLACE_WIRE), wire_link, b->reterr);
    if (status == TL_OK)
        status = tl_lab_ns_link(place(b, owner), link, &same, b->reterr);
    if (status == TL_OK && !of_host) /* tl_lab_ns_link entered the router's namespace */
        status = tl_lab_ns_offloads_off(link, b->reterr);
    if (status == TL_OK)
        status = tl_lab_ns_link(place(b, TL_LAB_PLACE_WIRE), wire_link, &wire, b->reterr);
    return status == TL_OK ? tl_lab_port_packet(&b->topology->ports[at].port[side], wire_link,
                                                packet_max, b->reterr)
                           : status;
}

/* A host's interface is never a TUN device: a diagnosis would rightly call it a tunnel. */
static enum tl_lab_carrier carrier_at(const struct build *b, int at)
{
    return tl_lab_row_inner(b->config, at) ? b->topology->carrier : TL_LAB_CARRIER_PACKET;
}

static enum tl_status make_emulated(struct build *b, int at)
{
    int32_t mtus[] = {tl_lab_row_mtu(b->config, at, TL_LAB_NEAR),
                      tl_lab_row_mtu(b->config, at, TL_LAB_FAR)};
    enum tl_status status = TL_OK;
    b->topology->ports[at].packet_max = (size_t)(mtus[0] > mtus[1] ? mtus[0] : mtus[1]);
    for (int side = 0; side < TL_LAB_HOST_COUNT && status == TL_OK; side++) {
        struct tl_lab_link_settings settings = {.mtu = mtus[side],
                                                .tx_queue_packets = WAN_TX_QUEUE_PACKETS,
                                                .no_arp = true,
                                                .up = true};
        status = carrier_at(b, at) == TL_LAB_CARRIER_TUN
                     ? make_tun(b, at, (enum tl_lab_host)side)
                     : make_packet(b, at, (enum tl_lab_host)side);
        if (status == TL_OK)
            status = tl_lab_ns_link(
                place(b, tl_lab_row_place_at(b->config, at, (enum tl_lab_host)side)),
                tl_lab_row_interface(b->config, at, (enum tl_lab_host)side), &settings, b->reterr);
    }
    return status;
}

static enum tl_status make_link(struct build *b, int at)
{
    const struct tl_lab_config *config = b->config;
    if (tl_lab_link_at(config, at, TL_LAB_UP, NULL))
        return make_emulated(b, at);
    return make_wire(
        b, tl_lab_row_place_at(config, at, TL_LAB_NEAR),
        tl_lab_row_interface(config, at, TL_LAB_NEAR), tl_lab_row_mtu(config, at, TL_LAB_NEAR),
        tl_lab_row_place_at(config, at, TL_LAB_FAR), tl_lab_row_interface(config, at, TL_LAB_FAR),
        tl_lab_row_mtu(config, at, TL_LAB_FAR));
}

static enum tl_status address_routed(struct build *b, const struct tl_lab_plan *p)
{
    enum tl_status status = TL_OK;
    for (int at = 0; at < tl_lab_link_count(b->config); at++)
        for (int side = 0; side < TL_LAB_HOST_COUNT && status == TL_OK; side++) {
            char text[TL_LAB_ADDRESS_SIZE];
            tl_lab_row_address(p, at, (enum tl_lab_host)side, text);
            status = tl_lab_ns_address(
                place(b, tl_lab_row_place_at(b->config, at, (enum tl_lab_host)side)),
                tl_lab_row_interface(b->config, at, (enum tl_lab_host)side), text, p->prefix_bits,
                b->reterr);
        }
    return status;
}

/* A router's ways to the networks that it has no part in: by its neighbour on that side. */
static enum tl_status route_router(struct build *b, const struct tl_lab_plan *p, int number)
{
    enum tl_status status = TL_OK;
    for (int to = 0; to < tl_lab_link_count(b->config) && status == TL_OK; to++) {
        char network[TL_LAB_ADDRESS_SIZE], via[TL_LAB_ADDRESS_SIZE];
        if (to == number - 1 || to == number)
            continue;
        bool towards_c = to < number;
        int by = towards_c ? number - 1 : number;
        tl_lab_row_network(p, to, network);
        tl_lab_row_address(p, by, towards_c ? TL_LAB_NEAR : TL_LAB_FAR, via);
        status = tl_lab_ns_route(
            place(b, tl_lab_row_place(b->config, number)),
            tl_lab_row_interface(b->config, by, towards_c ? TL_LAB_FAR : TL_LAB_NEAR), network,
            p->prefix_bits, via, NULL, b->reterr);
    }
    return status;
}

static enum tl_status route_routed(struct build *b, const struct tl_lab_plan *p)
{
    const struct tl_lab_host_config *host = b->config->host;
    int last = b->config->routers;
    char first_router[TL_LAB_ADDRESS_SIZE], last_router[TL_LAB_ADDRESS_SIZE];
    tl_lab_row_address(p, 0, TL_LAB_FAR, first_router);
    tl_lab_row_address(p, last, TL_LAB_NEAR, last_router);
    enum tl_status status = tl_lab_ns_route(place(b, TL_LAB_PLACE_C), "eth0", NULL, 0, first_router,
                                            host[TL_LAB_NEAR].cc, b->reterr);
    if (status == TL_OK)
        status = tl_lab_ns_route(place(b, TL_LAB_PLACE_S), "eth0", NULL, 0, last_router,
                                 host[TL_LAB_FAR].cc, b->reterr);
    for (int number = 1; number <= last && status == TL_OK; number++)
        status = route_router(b, p, number);
    return status;
}

static enum tl_status silence_routers(struct build *b, const struct tl_lab_plan *p)
{
    enum tl_status status = TL_OK;
    if (!b->config->icmp_off && !b->config->silent)
        return TL_OK;
    for (int number = 1; number <= b->config->routers && status == TL_OK; number++)
        status = tl_lab_ns_silence(place(b, tl_lab_row_place(b->config, number)), p->af, b->reterr);
    return status;
}

/* What belongs to the proxy goes to r1 itself: requests from c, answers from s. */
static enum tl_status divert_to_splitter(struct build *b, const struct tl_lab_plan *p)
{
    struct tl_lab_ns *r1 = place(b, TL_LAB_PLACE_R1);
    uint16_t port = (uint16_t)b->config->split_port;
    if (!b->config->split)
        return TL_OK;
    enum tl_status status = tl_lab_ns_divert(r1, p->af, "lan0", port, TL_LAB_NS_TO_PORT, b->reterr);
    return status == TL_OK
               ? tl_lab_ns_divert(r1, p->af, "wan0", port, TL_LAB_NS_FROM_PORT, b->reterr)
               : status;
}

/* Host routes, more specific than the network's own, carry the congestion control. */
static enum tl_status connect_plain(struct build *b, const struct tl_lab_plan *p)
{
    struct tl_lab_ns *c = place(b, TL_LAB_PLACE_C), *s = place(b, TL_LAB_PLACE_S);
    enum tl_status status = tl_lab_ns_address(c, "eth0", p->c, p->prefix_bits, b->reterr);
    if (status == TL_OK)
        status = tl_lab_ns_address(s, "eth0", p->s_plain, p->prefix_bits, b->reterr);
    if (status == TL_OK)
        status = tl_lab_ns_route(c, "eth0", p->s_plain, p->host_bits, NULL,
                                 b->config->host[TL_LAB_NEAR].cc, b->reterr);
    return status == TL_OK ? tl_lab_ns_route(s, "eth0", p->c, p->host_bits, NULL,
                                             b->config->host[TL_LAB_FAR].cc, b->reterr)
                           : status;
}

static enum tl_status connect_all(struct build *b)
{
    enum tl_status status = TL_OK;
    for (size_t i = 0; i < TL_LAB_PLAN_COUNT && status == TL_OK; i++) {
        const struct tl_lab_plan *p = &tl_lab_plans[i];
        if (!(b->config->family & p->family))
            continue;
        if (b->config->plain) {
            status = connect_plain(b, p);
            continue;
        }
        status = address_routed(b, p);
        if (status == TL_OK)
            status = route_routed(b, p);
        if (status == TL_OK)
            status = silence_routers(b, p);
        if (status == TL_OK)
            status = divert_to_splitter(b, p);
    }
    return status;
}

static enum tl_status build_plain(struct build *b)
{
    enum tl_status status = make_place(b, TL_LAB_PLACE_C);
    if (status == TL_OK)
        status = make_place(b, TL_LAB_PLACE_S);
    return status == TL_OK ? make_wire(b, TL_LAB_PLACE_C, "eth0", b->config->host[TL_LAB_NEAR].mtu,
                                       TL_LAB_PLACE_S, "eth0", b->config->host[TL_LAB_FAR].mtu)
                           : status;
}

/* Whether any emulated link has packet sockets. */
static bool needs_wire(const struct build *b)
{
    for (int at = 0; at < tl_lab_link_count(b->config); at++)
        if (tl_lab_link_at(b->config, at, TL_LAB_UP, NULL) &&
            carrier_at(b, at) == TL_LAB_CARRIER_PACKET)
            return true;
    return false;
}

static enum tl_status build_routed(struct build *b)
{
    const struct tl_lab_config *config = b->config;
    enum tl_status status = TL_OK;
    b->topology->carrier = config->carrier;
    if (b->topology->carrier == TL_LAB_CARRIER_AUTO)
        b->topology->carrier = tl_lab_port_tun_opens() ? TL_LAB_CARRIER_TUN : TL_LAB_CARRIER_PACKET;
    for (int number = 0; number <= config->routers + 1 && status == TL_OK; number++)
        status = make_place(b, tl_lab_row_place(config, number));
    if (status == TL_OK && needs_wire(b))
        status = make_place(b, TL_LAB_PLACE_WIRE);
    for (int at = 0; at < tl_lab_link_count(config) && status == TL_OK; at++)
        status = make_link(b, at);
    for (int number = 1; number <= config->routers && status == TL_OK; number++)
        status = set_router(b, tl_lab_row_place(config, number));
    b->topology->carrier = carrier_at(b, tl_lab_main_link(config));
    return status;
}

enum tl_status tl_lab_topology_init(struct tl_lab_topology *topology,
                                    const struct tl_lab_config *config, struct tl_error *reterr)
{
    struct build b = {config, topology, reterr};
    memset(topology, 0, sizeof *topology);
    for (int p = 0; p < TL_LAB_PLACE_COUNT; p++)
        topology->place[p] = (struct tl_lab_ns)TL_LAB_NS_NONE;
    for (int at = 0; at < TL_LAB_LINKS_MAX; at++)
        for (int h = 0; h < TL_LAB_HOST_COUNT; h++)
            topology->ports[at].port[h] = (struct tl_lab_port)TL_LAB_PORT_NONE;

    enum tl_status status = config->plain ? build_plain(&b) : build_routed(&b);
    if (status == TL_OK)
        status = connect_all(&b);
    if (status == TL_OK)
        status = set_host(&b, TL_LAB_NEAR);
    if (status == TL_OK)
        status = set_host(&b, TL_LAB_FAR);
    if (status != TL_OK)
        tl_lab_topology_finish(topology);
    return status;
}

bool tl_lab_topology_emulated(const struct tl_lab_topology *topology, int at)
{
    return topology->ports[at].packet_max > 0;
}

void tl_lab_topology_overruns(struct tl_lab_topology *topology, const struct tl_lab_config *config,
                              int at, enum tl_lab_host side, uint64_t *total)
{
    const struct tl_lab_ports *ports = &topology->ports[at];
    if (ports->packet_max == 0)
        return;
    if (ports->port[side].is_tun)
        (void)!tl_lab_ns_tx_dropped(&topology->place[tl_lab_row_place_at(config, at, side)],
                                    tl_lab_row_interface(config, at, side), total);
    else
        *total += tl_lab_port_overruns(&ports->port[side]);
}

void tl_lab_topology_close_ports(struct tl_lab_topology *topology)
{
    for (int at = 0; at < TL_LAB_LINKS_MAX; at++)
        for (int h = 0; h < TL_LAB_HOST_COUNT; h++)
            tl_lab_port_finish(&topology->ports[at].port[h]);
}

void tl_lab_topology_finish(struct tl_lab_topology *topology)
{
    tl_lab_topology_close_ports(topology);
    for (int p = 0; p < TL_LAB_PLACE_COUNT; p++)
        tl_lab_ns_finish(&topology->place[p]);
}
