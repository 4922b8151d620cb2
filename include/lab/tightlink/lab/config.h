/* What an emulated path is made of: the links' impairments in each direction,
 * the settings of the two hosts, and the text from which all of it can be read.
 *
 * Plain data: copied freely, no ownership. Nothing here touches the system.
 *
 *     c (near) --- r1 ===== emulator ===== r2 --- s (far)
 *
 * Links are numbered from c: 0 is the LAN, the last one the far LAN; with two
 * routers 1 is the WAN. Any of them may be emulated, one of them is the main link.
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
    X(MEMBER, "a bad member of a link bundle")                                                     \
    X(ICMP, "ICMP is filtered")                                                                    \
    X(POLICER, "above the policer's rate")                                                         \
    X(FLOW_POLICER, "above the rate of one connection")                                            \
    X(QUEUE, "the queue was full")                                                                 \
    X(AQM, "dropped early by the queue's management")                                              \
    X(AIR, "given up after its retries on the air")                                                \
    X(COLLISION, "collided with a packet of the other direction")                                  \
    X(EMULATOR, "the emulator could not keep up")

enum tl_lab_drop {
#define TL_LAB_DROP_ENUM(name, text) TL_LAB_DROP_##name,
    TL_LAB_DROP_MAP(TL_LAB_DROP_ENUM)
#undef TL_LAB_DROP_ENUM
        TL_LAB_DROP_COUNT
};

/* An interval of tl_lab_mark() time (see lab.h), in ns; nothing passes in [from, to). */
struct tl_lab_window {
    int64_t from_ns;
    int64_t to_ns;
};

#define TL_LAB_OUTAGE_MAX 8

/* From at_ns of tl_lab_mark() time on the delay is longer by extra_ns (shorter if negative). */
struct tl_lab_delay_step {
    int64_t at_ns;
    int64_t extra_ns;
};

#define TL_LAB_DELAY_STEP_MAX 4

/* Which connections a bad member of a link bundle carries: those whose near port
 * is odd or even, or (HASH) one share in `members` by a hash of the 5-tuple. */
enum tl_lab_member {
    TL_LAB_MEMBER_NONE,
    TL_LAB_MEMBER_ODD,
    TL_LAB_MEMBER_EVEN,
    TL_LAB_MEMBER_HASH
};

/* TCP options that a middlebox may remove from SYN segments. Bits. */
enum tl_lab_strip {
    TL_LAB_STRIP_WSCALE = 1,
    TL_LAB_STRIP_SACK = 2, /* SACK-permitted */
    TL_LAB_STRIP_TIMESTAMPS = 4,
    TL_LAB_STRIP_MSS = 8,
};

#define TL_LAB_CROSS_FLOWS_MAX 16
#define TL_LAB_OTHERS_MAX      64

/* How a link gives out its time. */
enum tl_lab_service {
    TL_LAB_SERVICE_RATE,  /* evenly, at rate_bps */
    TL_LAB_SERVICE_TRACE, /* by a file of delivery opportunities */
    TL_LAB_SERVICE_RADIO, /* a Markov-modulated rate with fades and handovers */
    TL_LAB_SERVICE_LEO,   /* another rate and delay every 15 s */
    TL_LAB_SERVICE_WIFI,  /* shared air: contention, retries, a rate that falls */
};

/* Who decides which packets a queue drops or marks before it is full. */
enum tl_lab_aqm {
    TL_LAB_AQM_NONE,
    TL_LAB_AQM_CODEL,    /* RFC 8289 */
    TL_LAB_AQM_FQ_CODEL, /* RFC 8290 */
    TL_LAB_AQM_PIE,      /* RFC 8033 */
    TL_LAB_AQM_RED,      /* Floyd, Jacobson 1993, gentle */
};

/* The name of a file of delivery opportunities, its NUL included. */
#define TL_LAB_TRACE_SIZE 256

/* One direction of a link. A zero turns each impairment off. They act in
 * this order (doc/lab.md): outage, length, loss, bad member, corruption, policers,
 * shaper, queue and serialisation (with the cross traffic), collisions, shaper of
 * each connection, grants, delay, reordering, duplication. */
struct tl_lab_link_config {
    enum tl_lab_service service;
    double rate_bps;   /* IP bits a second; 0: as fast as the machine carries, or another service */
    int64_t delay_ns;  /* propagation, one way, after the queue */
    int64_t jitter_ns; /* uniform in +-jitter around the delay; never reorders */
    int64_t scatter_ns; /* uniform in 0 to scatter on top; packets do overtake each other */
    /* Slow jitter that keeps order: the delay goes in straight lines from one value in 0 to
     * wander_ns to the next one, wander_time_ns later. */
    int64_t wander_ns;
    int64_t wander_time_ns;
    /* Behind the link everything waits for the next grant; the times between grants are
     * uniform between these two. */
    int64_t grant_least_ns;
    int64_t grant_most_ns;
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
    int64_t dropout_every_ns; /* besides, an outage at each multiple of this time after the mark */
    int64_t dropout_length_ns;
    int32_t delay_step_count;
    struct tl_lab_delay_step delay_step[TL_LAB_DELAY_STEP_MAX];

    /* What service needs that is not RATE. */
    char trace[TL_LAB_TRACE_SIZE]; /* TRACE: one time in ms a line, 1504 bytes each, looped */
    double low_bps, high_bps;      /* RADIO, LEO: between these */
    int64_t fade_every_ns;         /* RADIO: mean of exponential times; 0: no fades */
    int64_t fade_length_ns;        /* a twentieth of the rate, mean of exponential times */
    int64_t handover_every_ns;     /* RADIO: the same; nothing passes, but it waits */
    int64_t handover_length_ns;    /* half to one and a half of this */
    double air_bps;                /* WIFI: rate on the air at its best */
    int32_t air_others;            /* WIFI: stations that always have something to send */
    double air_fail_ratio;         /* WIFI: of the attempts to send a frame */

    enum tl_lab_aqm aqm;
    bool aqm_ecn; /* marks packets of flows that can be marked, instead of dropping them */

    /* Each connection (5-tuple) by itself. */
    double flow_policer_bps;
    int64_t flow_policer_burst_bytes;
    double flow_shaper_bps; /* what exceeds it waits in a queue of its own, as long as the link's */
    int64_t flow_shaper_burst_bytes;
    enum tl_lab_member member; /* the connections of this member lose ... */
    int32_t member_count;      /* HASH only */
    double member_loss_ratio;  /* ... this share of their packets */

    /* Other traffic: phantom packets of 1500 bytes that occupy queue and rate. */
    double cross_bps;    /* while it is on */
    int64_t cross_on_ns; /* mean of exponential times; both 0: always on */
    int64_t cross_off_ns;
    int32_t cross_flows; /* besides, so many flows with the window of RFC 5681 and always data */
    /* Real TCP connections of other hosts through the link, which are there first. */
    int32_t others;
    int64_t others_on_ns; /* mean of exponential times; both 0: always on */
    int64_t others_off_ns;

    /* What a middlebox does to headers; checksums are mended. */
    int32_t mss_max_bytes; /* larger MSS options of SYN segments are lowered to this */
    int32_t clamp_bytes;   /* or to what fits an IP packet of this length, in either family */
    uint32_t strip;        /* TL_LAB_STRIP_*: replaced by no-operations in SYN segments */
    bool dscp_set;
    int32_t dscp; /* every packet gets this class (RFC 2474); ECN stays */

    /* A duplex mismatch: a packet on the wire while the other direction sends, too,
     * is lost with this chance. */
    double collision_ratio;
    /* Both directions take one medium in turn, a packet at a time, first come, first served. */
    bool half_duplex;
    uint64_t seed; /* the same seed and packets give the same fates */
};

#define TL_LAB_CC_SIZE 16

/* One end. */
struct tl_lab_host_config {
    int64_t rmem_max_bytes;  /* third number of tcp_rmem; the first two shrink to fit */
    int64_t wmem_max_bytes;  /* third number of tcp_wmem */
    bool window_scaling;     /* tcp_window_scaling */
    bool sack;               /* tcp_sack */
    bool timestamps;         /* tcp_timestamps */
    bool autotune;           /* tcp_moderate_rcvbuf */
    bool offloads;           /* TSO, GSO, GRO and checksums of the host's interface */
    bool unprivileged;       /* its processes have no capability; as root they become nobody */
    bool ecn;                /* asks for ECN (RFC 3168); it always grants it */
    char cc[TL_LAB_CC_SIZE]; /* congestion control, by route metric (RTAX_CC_ALGO) */
    int32_t mtu;             /* of the host's interface */
    int32_t lan_mtu;         /* of the router's interface on the same wire; 0: as mtu */
    bool disk;               /* a directory on a disk of its own, see tl_lab_disk_directory() */
    double disk_read_bps;    /* the device is held to it; 0: it is not */
    double disk_write_bps;   /* likewise */
    double cpu_ratio;        /* share of one processor for the host's processes; 0: all */
    int64_t cpu_period_ns;   /* period over which the share is enforced */
};

/* What carries packets between r1 and r2. */
enum tl_lab_carrier {
    TL_LAB_CARRIER_AUTO,   /* TUN where /dev/net/tun opens, else PACKET */
    TL_LAB_CARRIER_TUN,    /* two TUN devices */
    TL_LAB_CARRIER_PACKET, /* packet sockets over veth pairs: needs no device node */
};

#define TL_LAB_ROUTERS_MAX 6
#define TL_LAB_LINKS_MAX   (TL_LAB_ROUTERS_MAX + 1)
#define TL_LAB_LINK_LAST   (-1) /* for link_at: the far LAN, however many routers there are */

struct tl_lab_config {
    struct tl_lab_link_config link[TL_LAB_DIRECTION_COUNT]; /* the main link */
    int32_t routers;                                        /* 2 to TL_LAB_ROUTERS_MAX */
    int32_t link_at; /* which link is the main one: 0 the LAN ... or TL_LAB_LINK_LAST */
    /* The other links, which are plain wires unless something is set here. */
    struct tl_lab_link_config beside[TL_LAB_LINKS_MAX][TL_LAB_DIRECTION_COUNT];
    bool v6_apart; /* IPv6 takes a main link of its own ... */
    struct tl_lab_link_config v6[TL_LAB_DIRECTION_COUNT]; /* ... this one */
    struct tl_lab_host_config host[TL_LAB_HOST_COUNT];
    int32_t wan_mtu; /* of the main link between two routers; other such links take 1500 or more */
    bool icmp_off;   /* the routers originate no ICMP and no ICMPv6 errors */
    bool silent;     /* that, and no ICMP message of anybody crosses the main link */
    int64_t
        icmp_interval_ns; /* least time between a router's errors to one host; 0: the kernel's */
    bool split;           /* a proxy at r1 ends TCP connections to split_port and makes new ones */
    int32_t split_port;
    bool plain;                /* c and s on one veth: no routers, no emulator */
    enum tl_lab_family family; /* addresses that the hosts get */
    enum tl_lab_carrier carrier;
};

/* A clean unlimited path: two routers, no delay, buffers up to 64 MiB at both ends,
 * cubic, MTU 1500, IPv4. */
void tl_lab_config_init(struct tl_lab_config *ret_config);

/* Links of the path, and which of them is the main one (0 the LAN). */
int tl_lab_link_count(const struct tl_lab_config *config);
int tl_lab_main_link(const struct tl_lab_config *config);

/* What link `at` does in a direction; NULL where it is a plain wire. The main link
 * is never a plain wire. *ret_queue_bytes (may be NULL) as of tl_lab_queue_bytes. */
const struct tl_lab_link_config *tl_lab_link_at(const struct tl_lab_config *config, int at,
                                                enum tl_lab_direction direction,
                                                int64_t *ret_queue_bytes);

/* The time that all links together delay a packet and its answer, for one family. */
int64_t tl_lab_rtt_ns(const struct tl_lab_config *config, enum tl_lab_family family);

/* The main link's queue of a direction in bytes: as configured, else one BDP (rate
 * x the RTT of the whole path), at least 32 full packets; 0 where the rate is
 * unlimited and there is no shaper. tl_lab_v6_queue_bytes: of IPv6's own link. */
int64_t tl_lab_queue_bytes(const struct tl_lab_config *config, enum tl_lab_direction direction);
int64_t tl_lab_v6_queue_bytes(const struct tl_lab_config *config, enum tl_lab_direction direction);

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
 *   duplicate=1% corrupt=0.3% maxlen=1300 outage=6s-9s delay-step=5s:+30ms
 *   trace=FILE radio=4M-40M fades=12s/300ms handovers=25s/120ms leo=30M-120M
 *   wifi=150M/2/30% aqm=fq-codel,ecn grants=2ms-10ms wander=3ms/30ms scatter=1ms
 *   dropout=8s/1.6s others=24 others-burst=2s/1s clamp=1492
 *   flow-policer=20M/50kB flow-shaper=20M/50kB port-loss=odd:5% port-loss=1/4:5%
 *   cross=60M cross-burst=300ms/200ms cross-flows=2 collision=30% half-duplex=on
 *   mss=900 strip=wscale,sack,timestamps dscp=0
 *       a direction: bare for both, or "down." / "up." before the key; and before
 *       that a link: bare for the main one, "lan." "far-lan." "link1." "link2." ...
 *       for another one, "v6." for what is different over IPv6
 *   rmem=64KiB wmem=128KiB wscale=off sack=off timestamps=off autotune=off cc=bbr
 *   mtu=9000 lan-mtu=1500 cpu=15% cpu-period=100ms offloads=off ecn=on
 *   unprivileged=on stock=on
 *       a host: bare for both, or "near." / "far." before the key
 *   link-at=lan|wan|far-lan|1..7 routers=2..6
 *   wan-mtu=1300 icmp=off|silent icmp-interval=1s family=4|6|both plain=on
 *   split=on split-port=5411 pppoe=on carrier=tun|packet
 *
 * delay is one way. TL_SYNTAX, TL_UNKNOWN (key) or TL_RANGE, the sentence names
 * the pair. */
enum tl_status tl_lab_config_parse(const char *spec, struct tl_lab_config *config,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

#endif
