/* What an emulated path is made of: the link's impairments in each direction,
 * the settings of the two hosts, and the text from which all of it can be read.
 *
 * Plain data: copied freely, no ownership. Nothing here touches the system.
 *
 *     c (near) --- r1 ===== emulator ===== r2 --- s (far)
 *
 * Rates count the bits of IP packets (header included), because that is what
 * the emulator sees; a TCP payload rate is some 4 to 6 % lower. */
#ifndef TL_LAB_CONFIG_H
#define TL_LAB_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"

/* The way of a packet: upload goes from near to far. Indexes tl_lab_config.link. */
enum tl_lab_direction { TL_LAB_UP, TL_LAB_DOWN, TL_LAB_DIRECTION_COUNT };

/* The two ends. Indexes tl_lab_config.host. */
enum tl_lab_host { TL_LAB_NEAR, TL_LAB_FAR, TL_LAB_HOST_COUNT };

/* Bits, so that BOTH is their sum. */
enum tl_lab_family { TL_LAB_IPV4 = 1, TL_LAB_IPV6 = 2, TL_LAB_BOTH = 3 };

/* Why the emulator dropped a packet. name, sentence part for people */
#define TL_LAB_DROP_MAP(X)                                                                         \
    X(NONE, "passed")                                                                              \
    X(OUTAGE, "the link was down")                                                                 \
    X(MAXLEN, "longer than the link takes")                                                        \
    X(LOSS, "independent loss")                                                                    \
    X(BURST, "burst loss")                                                                         \
    X(POLICER, "above the policer's rate")                                                         \
    X(QUEUE, "the queue was full")                                                                 \
    X(EMULATOR, "the emulator could not keep up")

enum tl_lab_drop {
#define TL_LAB_DROP_ENUM(name, text) TL_LAB_DROP_##name,
    TL_LAB_DROP_MAP(TL_LAB_DROP_ENUM)
#undef TL_LAB_DROP_ENUM
        TL_LAB_DROP_COUNT
};

/* The sentence part of TL_LAB_DROP_MAP, never NULL. */
const char *tl_lab_drop_text(enum tl_lab_drop drop);

/* An interval of tl_lab_mark() time (see lab.h), in ns; nothing passes in [from, to). */
struct tl_lab_window {
    int64_t from_ns;
    int64_t to_ns;
};

#define TL_LAB_OUTAGE_MAX 8

/* One direction of the WAN link. A zero turns each impairment off. They act in
 * this order (doc/lab.md): outage, length, loss, corruption, policer, shaper,
 * queue and serialisation, delay, reordering, duplication. */
struct tl_lab_link_config {
    double rate_bps;     /* IP bits a second; 0: as fast as the machine carries */
    int64_t delay_ns;    /* propagation, one way, after the queue */
    int64_t jitter_ns;   /* uniform in +-jitter around the delay; never reorders */
    int64_t queue_bytes; /* drop-tail, IP bytes waiting or in service; 0: tl_lab_queue_bytes() */
    double policer_bps;  /* token rate; what exceeds it is dropped */
    int64_t policer_burst_bytes;
    double shaper_bps; /* sustained rate of a token bucket in front of the link; excess waits */
    int64_t shaper_burst_bytes;
    double loss_ratio;        /* each packet independently */
    double burst_enter_ratio; /* Gilbert-Elliott: good -> bad, per packet */
    double burst_leave_ratio; /* bad -> good, per packet; all packets in bad are lost */
    double reorder_ratio;     /* this share of packets is held back ... */
    int64_t reorder_extra_ns; /* ... by this much, so that later ones overtake */
    double duplicate_ratio;   /* a second copy follows at once */
    double corrupt_ratio;     /* one bit behind the IP header is flipped */
    int32_t maxlen_bytes;     /* longer IP packets vanish without an ICMP message */
    int32_t outage_count;
    struct tl_lab_window outage[TL_LAB_OUTAGE_MAX];
    uint64_t seed; /* the same seed and packets give the same fates */
};

#define TL_LAB_CC_SIZE 16

/* One end. */
struct tl_lab_host_config {
    int64_t rmem_max_bytes;  /* third number of tcp_rmem; the first two shrink to fit */
    int64_t wmem_max_bytes;  /* third number of tcp_wmem */
    bool window_scaling;     /* tcp_window_scaling */
    bool sack;               /* tcp_sack */
    char cc[TL_LAB_CC_SIZE]; /* congestion control, by route metric (RTAX_CC_ALGO) */
    int32_t mtu;             /* of the host's interface */
    int32_t lan_mtu;         /* of the router's interface on the same wire; 0: as mtu */
    double cpu_ratio;        /* share of one processor for the host's processes; 0: all */
    int64_t cpu_period_ns;   /* period over which the share is enforced */
};

/* What carries packets between r1 and r2. */
enum tl_lab_carrier {
    TL_LAB_CARRIER_AUTO,   /* TUN where /dev/net/tun opens, else PACKET */
    TL_LAB_CARRIER_TUN,    /* two TUN devices */
    TL_LAB_CARRIER_PACKET, /* packet sockets over veth pairs: needs no device node */
};

struct tl_lab_config {
    struct tl_lab_link_config link[TL_LAB_DIRECTION_COUNT];
    struct tl_lab_host_config host[TL_LAB_HOST_COUNT];
    int32_t wan_mtu;           /* of both routers' WAN interfaces */
    bool icmp_off;             /* the routers originate no ICMP and no ICMPv6 errors */
    bool plain;                /* c and s on one veth: no routers, no emulator */
    enum tl_lab_family family; /* addresses that the hosts get */
    enum tl_lab_carrier carrier;
};

/* A clean unlimited path: no delay, buffers up to 64 MiB at both ends, cubic,
 * MTU 1500, IPv4. */
void tl_lab_config_init(struct tl_lab_config *ret_config);

/* The queue of a direction in bytes: as configured, else one BDP (rate x the
 * sum of both delays), at least 32 full packets; 0 where the rate is unlimited
 * and there is no shaper. */
int64_t tl_lab_queue_bytes(const struct tl_lab_config *config, enum tl_lab_direction direction);

/* TL_RANGE with a sentence for a number outside what the lab can make, or for
 * settings that contradict each other (impairments on a plain path). */
enum tl_status tl_lab_config_check(const struct tl_lab_config *config,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

/* Reads a specification: KEY=VALUE pairs between blanks, applied from left to
 * right to what is already in *config (call tl_lab_config_init first), then
 * checked. On failure *config is untouched.
 *
 *   rate=200M delay=20ms jitter=1ms queue=500kB loss=0.1% seed=7
 *   policer=40M/150kB shaper=30M/5MB burst-loss=0.01%/30% reorder=3%/5ms
 *   duplicate=1% corrupt=0.3% maxlen=1300 outage=6s-9s
 *       a direction: bare for both, or "down." / "up." before the key
 *   rmem=64KiB wmem=128KiB wscale=off sack=off cc=bbr mtu=9000 lan-mtu=1500
 *   cpu=15% cpu-period=100ms
 *       a host: bare for both, or "near." / "far." before the key
 *   wan-mtu=1300 icmp=off family=4|6|both plain=on carrier=tun|packet
 *
 * delay is one way. TL_SYNTAX, TL_UNKNOWN (key) or TL_RANGE, the sentence names
 * the pair. */
enum tl_status tl_lab_config_parse(const char *spec, struct tl_lab_config *config,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

#endif
