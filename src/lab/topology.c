/* Builds the path; see topology.h.
 *
 *   c eth0 ------ lan0 r1 wan0 ==== wan0 r2 lan0 ------ eth0 s
 *   10.99.1.2   10.99.1.1  10.99.2.1  10.99.2.2  10.99.3.1   10.99.3.2
 *   fd00:99:1::2  ...:1::1  ...:2::1   ...:2::2   ...:3::1   ...:3::2
 *
 * A plain path has c and s alone: 10.99.1.2 and 10.99.1.3 on one wire. */
#include "topology.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* A TUN device's default of 500 packets would drop bursts unseen by the emulator. */
#define WAN_TX_QUEUE_PACKETS 20000

struct family_plan {
    enum tl_lab_family family;
    int af;
    unsigned prefix_bits, host_bits;
    const char *c, *r1_lan, *r1_wan, *r2_wan, *r2_lan, *s; /* of the routed path */
    const char *lan_near, *lan_far;                        /* networks */
    const char *s_plain;
};

static const struct family_plan plans[] = {
    {TL_LAB_IPV4, AF_INET, 24, 32, "10.99.1.2", "10.99.1.1", "10.99.2.1", "10.99.2.2", "10.99.3.1",
     "10.99.3.2", "10.99.1.0", "10.99.3.0", "10.99.1.3"},
    {TL_LAB_IPV6, AF_INET6, 64, 128, "fd00:99:1::2", "fd00:99:1::1", "fd00:99:2::1", "fd00:99:2::2",
     "fd00:99:3::1", "fd00:99:3::2", "fd00:99:1::", "fd00:99:3::", "fd00:99:1::3"},
};
#define PLAN_COUNT (sizeof plans / sizeof *plans)

const char *tl_lab_topology_address(const struct tl_lab_config *config, enum tl_lab_host host,
                                    enum tl_lab_family family)
{
    for (size_t i = 0; i < PLAN_COUNT; i++)
        if (plans[i].family == family && (config->family & family))
            return host == TL_LAB_NEAR ? plans[i].c : config->plain ? plans[i].s_plain : plans[i].s;
    return NULL;
}

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
    static const char *const names[] = {"c", "r1", "r2", "s", "wire"};
    enum tl_status status = tl_lab_ns_init(place(b, which), names[which], b->reterr);
    return status == TL_OK ? set_defaults(b) : status;
}

static enum tl_status set_router(struct build *b, enum tl_lab_place which)
{
    enum tl_status status = tl_lab_ns_enter(place(b, which), b->reterr);
    if (status == TL_OK)
        status = tl_lab_ns_sysctl("ipv4/ip_forward", "1", b->reterr);
    if (status == TL_OK && (b->config->family & TL_LAB_IPV6))
        status = tl_lab_ns_sysctl("ipv6/conf/all/forwarding", "1", b->reterr);
    return status;
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
        status = tl_lab_ns_sysctl("ipv4/tcp_window_scaling", host->window_scaling ? "1" : "0",
                                  b->reterr);
    if (status == TL_OK)
        status = tl_lab_ns_sysctl("ipv4/tcp_sack", host->sack ? "1" : "0", b->reterr);
    /* Refused where the first namespace does not list it as allowed; the route's
     * metric then chooses alone, and it is what counts in any case. */
    (void)!tl_lab_ns_sysctl("ipv4/tcp_congestion_control", host->cc, NULL);
    return status;
}

/* One wire between a host and its router, or between the two hosts. */
static enum tl_status make_wire(struct build *b, enum tl_lab_place host_place,
                                const struct tl_lab_host_config *host, enum tl_lab_place other,
                                const char *other_link, int32_t other_mtu)
{
    struct tl_lab_link_settings near = {.mtu = host->mtu, .up = true};
    struct tl_lab_link_settings far = {.mtu = other_mtu, .up = true};
    /* A veth hands over GSO packets of any MTU; single ones too long for the
     * other end are dropped there, silently, as a switch would. */
    if (other_mtu < host->mtu)
        near.gso_max_segs = 1;
    if (host->mtu < other_mtu)
        far.gso_max_segs = 1;
    enum tl_status status =
        tl_lab_ns_veth(place(b, host_place), "eth0", place(b, other), other_link, b->reterr);
    if (status == TL_OK)
        status = tl_lab_ns_link(place(b, host_place), "eth0", &near, b->reterr);
    return status == TL_OK ? tl_lab_ns_link(place(b, other), other_link, &far, b->reterr) : status;
}

static enum tl_status make_leg(struct build *b, enum tl_lab_host which)
{
    const struct tl_lab_host_config *host = &b->config->host[which];
    bool near = which == TL_LAB_NEAR;
    return make_wire(b, near ? TL_LAB_PLACE_C : TL_LAB_PLACE_S, host,
                     near ? TL_LAB_PLACE_R1 : TL_LAB_PLACE_R2, "lan0",
                     host->lan_mtu ? host->lan_mtu : host->mtu);
}

static enum tl_status make_tun(struct build *b, enum tl_lab_host which, enum tl_lab_place router)
{
    enum tl_status status = tl_lab_ns_enter(place(b, router), b->reterr);
    return status == TL_OK ? tl_lab_port_tun(&b->topology->ports.port[which], "wan0", b->reterr)
                           : status;
}

/* The router's veth does segmentation and checksums in software: what arrives
 * at the packet socket are the packets of a wire. */
static enum tl_status make_packet(struct build *b, enum tl_lab_host which, enum tl_lab_place router)
{
    const char *link = which == TL_LAB_NEAR ? "near0" : "far0";
    struct tl_lab_link_settings wire = {.mtu = b->config->wan_mtu, .no_arp = true, .up = true};
    struct tl_lab_link_settings same = {.mac = tl_lab_port_mac};
    enum tl_status status =
        tl_lab_ns_veth(place(b, router), "wan0", place(b, TL_LAB_PLACE_WIRE), link, b->reterr);
    if (status == TL_OK)
        status = tl_lab_ns_link(place(b, router), "wan0", &same, b->reterr);
    if (status == TL_OK) /* enters the router's namespace as well */
        status = tl_lab_ns_offloads_off("wan0", b->reterr);
    if (status == TL_OK)
        status = tl_lab_ns_link(place(b, TL_LAB_PLACE_WIRE), link, &wire, b->reterr);
    return status == TL_OK ? tl_lab_port_packet(&b->topology->ports.port[which], link,
                                                (size_t)b->config->wan_mtu, b->reterr)
                           : status;
}

static enum tl_status make_wan(struct build *b, enum tl_lab_host which)
{
    enum tl_lab_place router = which == TL_LAB_NEAR ? TL_LAB_PLACE_R1 : TL_LAB_PLACE_R2;
    struct tl_lab_link_settings wan = {.mtu = b->config->wan_mtu,
                                       .tx_queue_packets = WAN_TX_QUEUE_PACKETS,
                                       .no_arp = true,
                                       .up = true};
    enum tl_status status = b->topology->carrier == TL_LAB_CARRIER_TUN
                                ? make_tun(b, which, router)
                                : make_packet(b, which, router);
    return status == TL_OK ? tl_lab_ns_link(place(b, router), "wan0", &wan, b->reterr) : status;
}

static enum tl_status address_routed(struct build *b, const struct family_plan *p)
{
    const struct {
        enum tl_lab_place place;
        const char *link, *text;
    } all[] = {
        {TL_LAB_PLACE_C, "eth0", p->c},       {TL_LAB_PLACE_R1, "lan0", p->r1_lan},
        {TL_LAB_PLACE_R1, "wan0", p->r1_wan}, {TL_LAB_PLACE_R2, "wan0", p->r2_wan},
        {TL_LAB_PLACE_R2, "lan0", p->r2_lan}, {TL_LAB_PLACE_S, "eth0", p->s},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        enum tl_status status = tl_lab_ns_address(place(b, all[i].place), all[i].link, all[i].text,
                                                  p->prefix_bits, b->reterr);
        if (status != TL_OK)
            return status;
    }
    return TL_OK;
}

static enum tl_status route_routed(struct build *b, const struct family_plan *p)
{
    const struct tl_lab_host_config *host = b->config->host;
    enum tl_status status = tl_lab_ns_route(place(b, TL_LAB_PLACE_C), "eth0", NULL, 0, p->r1_lan,
                                            host[TL_LAB_NEAR].cc, b->reterr);
    if (status == TL_OK)
        status = tl_lab_ns_route(place(b, TL_LAB_PLACE_S), "eth0", NULL, 0, p->r2_lan,
                                 host[TL_LAB_FAR].cc, b->reterr);
    if (status == TL_OK)
        status = tl_lab_ns_route(place(b, TL_LAB_PLACE_R1), "wan0", p->lan_far, p->prefix_bits,
                                 p->r2_wan, NULL, b->reterr);
    return status == TL_OK ? tl_lab_ns_route(place(b, TL_LAB_PLACE_R2), "wan0", p->lan_near,
                                             p->prefix_bits, p->r1_wan, NULL, b->reterr)
                           : status;
}

static enum tl_status silence_routers(struct build *b, const struct family_plan *p)
{
    if (!b->config->icmp_off)
        return TL_OK;
    enum tl_status status = tl_lab_ns_silence(place(b, TL_LAB_PLACE_R1), p->af, b->reterr);
    return status == TL_OK ? tl_lab_ns_silence(place(b, TL_LAB_PLACE_R2), p->af, b->reterr)
                           : status;
}

/* Host routes, more specific than the network's own, carry the congestion control. */
static enum tl_status connect_plain(struct build *b, const struct family_plan *p)
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
    for (size_t i = 0; i < PLAN_COUNT && status == TL_OK; i++) {
        const struct family_plan *p = &plans[i];
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
    }
    return status;
}

static enum tl_status build_plain(struct build *b)
{
    enum tl_status status = make_place(b, TL_LAB_PLACE_C);
    if (status == TL_OK)
        status = make_place(b, TL_LAB_PLACE_S);
    return status == TL_OK ? make_wire(b, TL_LAB_PLACE_C, &b->config->host[TL_LAB_NEAR],
                                       TL_LAB_PLACE_S, "eth0", b->config->host[TL_LAB_FAR].mtu)
                           : status;
}

static enum tl_status build_routed(struct build *b)
{
    enum tl_status status = TL_OK;
    b->topology->carrier = b->config->carrier;
    if (b->topology->carrier == TL_LAB_CARRIER_AUTO)
        b->topology->carrier = tl_lab_port_tun_opens() ? TL_LAB_CARRIER_TUN : TL_LAB_CARRIER_PACKET;
    for (int p = 0; p < TL_LAB_PLACE_COUNT && status == TL_OK; p++)
        if (p != TL_LAB_PLACE_WIRE || b->topology->carrier == TL_LAB_CARRIER_PACKET)
            status = make_place(b, (enum tl_lab_place)p);
    for (int h = 0; h < TL_LAB_HOST_COUNT && status == TL_OK; h++) {
        status = make_leg(b, (enum tl_lab_host)h);
        if (status == TL_OK)
            status = make_wan(b, (enum tl_lab_host)h);
    }
    if (status == TL_OK)
        status = set_router(b, TL_LAB_PLACE_R1);
    return status == TL_OK ? set_router(b, TL_LAB_PLACE_R2) : status;
}

enum tl_status tl_lab_topology_init(struct tl_lab_topology *topology,
                                    const struct tl_lab_config *config, struct tl_error *reterr)
{
    struct build b = {config, topology, reterr};
    memset(topology, 0, sizeof *topology);
    for (int p = 0; p < TL_LAB_PLACE_COUNT; p++)
        topology->place[p] = (struct tl_lab_ns)TL_LAB_NS_NONE;
    for (int h = 0; h < TL_LAB_HOST_COUNT; h++)
        topology->ports.port[h] = (struct tl_lab_port)TL_LAB_PORT_NONE;

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

void tl_lab_topology_overruns(struct tl_lab_topology *topology, enum tl_lab_host host,
                              uint64_t *total)
{
    enum tl_lab_place router = host == TL_LAB_NEAR ? TL_LAB_PLACE_R1 : TL_LAB_PLACE_R2;
    *total += tl_lab_port_overruns(&topology->ports.port[host]);
    if (topology->carrier == TL_LAB_CARRIER_TUN)
        (void)!tl_lab_ns_tx_dropped(&topology->place[router], "wan0", total);
}

void tl_lab_topology_finish(struct tl_lab_topology *topology)
{
    for (int h = 0; h < TL_LAB_HOST_COUNT; h++)
        tl_lab_port_finish(&topology->ports.port[h]);
    for (int p = 0; p < TL_LAB_PLACE_COUNT; p++)
        tl_lab_ns_finish(&topology->place[p]);
}
