/* Defaults of a lab, what follows from them, and the limits of what can be made. */
#include "tightlink/lab/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/time.h"
#include "tightlink/base/units.h"

/* A queue below this holds up an ordinary window, which nobody asked for. */
#define QUEUE_MIN_PACKETS 32

#define BUFFER_MAX_BYTES  (INT64_C(64) << 20)
#define DEFAULT_PERIOD_NS (100 * TL_NS_PER_MS) /* the kernel's default for CPU quotas */
#define MTU_MIN           576                  /* RFC 1122 3.3.2; IPv6 needs 1280 */
#define MTU_MIN_IPV6      1280
#define MTU_MAX           9216
#define DELAY_MAX_NS      (10 * TL_NS_PER_S)
#define RATE_MIN_BPS      1e3
#define RATE_MAX_BPS      1e11
#define QUEUE_MAX_BYTES   (INT64_C(256) << 20)
#define CPU_PERIOD_MIN_NS (10 * TL_NS_PER_MS) /* a quota below 1 ms is refused by the kernel */
#define CPU_PERIOD_MAX_NS TL_NS_PER_S
#define RMEM_MIN_BYTES    2304 /* SOCK_MIN_RCVBUF of the kernel */
#define SOCKET_MEM_MAX    (INT64_C(1) << 30)
#define MEMBERS_MAX       256
#define MSS_MIN           88 /* TCP_MIN_MSS of the kernel */
#define SPLIT_PORT        5411
#define ICMP_INTERVAL_MAX (60 * TL_NS_PER_S)

const char *tl_lab_drop_text(enum tl_lab_drop drop)
{
    static const char *const texts[] = {
#define TL_LAB_DROP_TEXT(name, text) [TL_LAB_DROP_##name] = text,
        TL_LAB_DROP_MAP(TL_LAB_DROP_TEXT)
#undef TL_LAB_DROP_TEXT
    };
    return (unsigned)drop < TL_LAB_DROP_COUNT ? texts[drop] : "unknown";
}

static void link_init(struct tl_lab_link_config *ret_link, uint64_t seed)
{
    memset(ret_link, 0, sizeof *ret_link);
    ret_link->seed = seed;
}

/* The seed of a link that nobody touched; the main one has those of the first two. */
static uint64_t beside_seed(int at, int direction)
{
    return 16 + 2 * (uint64_t)at + (uint64_t)direction;
}

void tl_lab_config_init(struct tl_lab_config *ret_config)
{
    memset(ret_config, 0, sizeof *ret_config);
    for (int d = 0; d < TL_LAB_DIRECTION_COUNT; d++) {
        link_init(&ret_config->link[d], (uint64_t)d + 1);
        link_init(&ret_config->v6[d], (uint64_t)d + 1);
        for (int at = 0; at < TL_LAB_LINKS_MAX; at++)
            link_init(&ret_config->beside[at][d], beside_seed(at, d));
    }
    for (int h = 0; h < TL_LAB_HOST_COUNT; h++) {
        struct tl_lab_host_config *host = &ret_config->host[h];
        host->rmem_max_bytes = BUFFER_MAX_BYTES;
        host->wmem_max_bytes = BUFFER_MAX_BYTES;
        host->window_scaling = true;
        host->sack = true;
        host->timestamps = true;
        host->autotune = true;
        host->offloads = true;
        snprintf(host->cc, sizeof host->cc, "cubic");
        host->mtu = 1500;
        host->cpu_period_ns = DEFAULT_PERIOD_NS;
    }
    ret_config->routers = 2;
    ret_config->link_at = 1;
    ret_config->wan_mtu = 1500;
    ret_config->split_port = SPLIT_PORT;
    ret_config->family = TL_LAB_IPV4;
}

int tl_lab_link_count(const struct tl_lab_config *config)
{
    return config->routers + 1;
}

int tl_lab_main_link(const struct tl_lab_config *config)
{
    return config->link_at == TL_LAB_LINK_LAST ? config->routers : config->link_at;
}

/* Whether anything was set on a link of `beside`. Structures were zeroed as a whole. */
static bool is_wire(const struct tl_lab_config *config, int at)
{
    for (int d = 0; d < TL_LAB_DIRECTION_COUNT; d++) {
        struct tl_lab_link_config wire;
        link_init(&wire, config->beside[at][d].seed);
        /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c) */
        if (memcmp(&wire, &config->beside[at][d], sizeof wire) != 0)
            return false;
    }
    return true;
}

int64_t tl_lab_rtt_ns(const struct tl_lab_config *config, enum tl_lab_family family)
{
    bool apart = config->v6_apart && family == TL_LAB_IPV6;
    int64_t rtt_ns = 0;
    for (int d = 0; d < TL_LAB_DIRECTION_COUNT; d++) {
        rtt_ns += apart ? config->v6[d].delay_ns : config->link[d].delay_ns;
        for (int at = 0; at < tl_lab_link_count(config); at++)
            rtt_ns += config->beside[at][d].delay_ns;
    }
    return rtt_ns;
}

static int64_t queue_of(const struct tl_lab_link_config *link, int64_t rtt_ns, int32_t mtu)
{
    if (link->queue_bytes > 0)
        return link->queue_bytes;
    double rate = link->rate_bps > 0     ? link->rate_bps
                  : link->shaper_bps > 0 ? link->shaper_bps
                                         : link->flow_shaper_bps;
    if (rate <= 0)
        return 0;
    int64_t bdp = (int64_t)tl_bytes_from_bps_ns(rate, (double)rtt_ns);
    int64_t least = QUEUE_MIN_PACKETS * (int64_t)mtu;
    int64_t queue = bdp > least ? bdp : least;
    return queue < QUEUE_MAX_BYTES ? queue : QUEUE_MAX_BYTES;
}

int64_t tl_lab_queue_bytes(const struct tl_lab_config *config, enum tl_lab_direction direction)
{
    return queue_of(&config->link[direction], tl_lab_rtt_ns(config, TL_LAB_IPV4), config->wan_mtu);
}

int64_t tl_lab_v6_queue_bytes(const struct tl_lab_config *config, enum tl_lab_direction direction)
{
    return queue_of(&config->v6[direction], tl_lab_rtt_ns(config, TL_LAB_IPV6), config->wan_mtu);
}

const struct tl_lab_link_config *tl_lab_link_at(const struct tl_lab_config *config, int at,
                                                enum tl_lab_direction direction,
                                                int64_t *ret_queue_bytes)
{
    bool is_main = at == tl_lab_main_link(config);
    if (!is_main && is_wire(config, at))
        return NULL;
    const struct tl_lab_link_config *link =
        is_main ? &config->link[direction] : &config->beside[at][direction];
    if (ret_queue_bytes)
        *ret_queue_bytes = queue_of(link, tl_lab_rtt_ns(config, TL_LAB_IPV4), config->wan_mtu);
    return link;
}

static bool ratio_ok(double ratio)
{
    return ratio >= 0 && ratio <= 1;
}

static bool rate_ok(double bps)
{
    return bps == 0 || (bps >= RATE_MIN_BPS && bps <= RATE_MAX_BPS);
}

static bool span_ok(int64_t ns)
{
    return ns >= 0 && ns <= DELAY_MAX_NS;
}

/* A token bucket that never holds one packet would pass nothing. */
static bool bucket_ok(double bps, int64_t burst_bytes)
{
    return rate_ok(bps) && (bps == 0 || (burst_bytes >= 1500 && burst_bytes <= INT64_C(1) << 32));
}

static enum tl_status check_outages(const struct tl_lab_link_config *link, struct tl_error *reterr)
{
    if (link->outage_count < 0 || link->outage_count > TL_LAB_OUTAGE_MAX)
        return tl_error_set(reterr, TL_RANGE, "at most %d outages a direction", TL_LAB_OUTAGE_MAX);
    for (int i = 0; i < link->outage_count; i++)
        if (link->outage[i].from_ns < 0 || link->outage[i].to_ns <= link->outage[i].from_ns)
            return tl_error_set(reterr, TL_RANGE, "an outage must end after it began");
    return TL_OK;
}

static enum tl_status check_steps(const struct tl_lab_link_config *link, struct tl_error *reterr)
{
    if (link->delay_step_count < 0 || link->delay_step_count > TL_LAB_DELAY_STEP_MAX)
        return tl_error_set(reterr, TL_RANGE, "at most %d steps of the delay a direction",
                            TL_LAB_DELAY_STEP_MAX);
    int64_t delay_ns = link->delay_ns;
    for (int i = 0; i < link->delay_step_count; i++) {
        delay_ns += link->delay_step[i].extra_ns;
        if (link->delay_step[i].at_ns < 0 || !span_ok(delay_ns))
            return tl_error_set(reterr, TL_RANGE, "a step of the delay must leave it at 0 to 10 s");
    }
    return TL_OK;
}

/* What concerns connections and other traffic. */
static enum tl_status check_flows(const struct tl_lab_link_config *link, struct tl_error *reterr)
{
    if (!bucket_ok(link->flow_policer_bps, link->flow_policer_burst_bytes) ||
        !bucket_ok(link->flow_shaper_bps, link->flow_shaper_burst_bytes))
        return tl_error_set(reterr, TL_RANGE,
                            "the limit of each connection needs a rate of 1 kb/s to 100 Gb/s and "
                            "a burst of 1500 B or more");
    if (!ratio_ok(link->member_loss_ratio) ||
        (link->member == TL_LAB_MEMBER_HASH &&
         (link->member_count < 2 || link->member_count > MEMBERS_MAX)))
        return tl_error_set(reterr, TL_RANGE, "a link bundle has 2 to %d members", MEMBERS_MAX);
    bool crossed = link->cross_bps > 0 || link->cross_flows > 0;
    if (!rate_ok(link->cross_bps) || link->cross_flows < 0 ||
        link->cross_flows > TL_LAB_CROSS_FLOWS_MAX || !span_ok(link->cross_on_ns) ||
        !span_ok(link->cross_off_ns))
        return tl_error_set(reterr, TL_RANGE,
                            "cross traffic is 1 kb/s to 100 Gb/s, in bursts of up to 10 s, or up "
                            "to %d flows",
                            TL_LAB_CROSS_FLOWS_MAX);
    if ((link->cross_on_ns > 0) != (link->cross_off_ns > 0) ||
        (link->cross_on_ns > 0 && link->cross_bps <= 0))
        return tl_error_set(reterr, TL_RANGE, "cross-burst needs cross=RATE and two times above 0");
    if (crossed && (link->rate_bps <= 0 || link->shaper_bps > 0))
        return tl_error_set(reterr, TL_RANGE,
                            "cross traffic needs a link with a rate and without a shaper");
    if (link->collision_ratio > 0 && link->rate_bps <= 0)
        return tl_error_set(reterr, TL_RANGE, "collisions need a link with a rate");
    return TL_OK;
}

static enum tl_status check_link(const struct tl_lab_link_config *link, struct tl_error *reterr)
{
    if (!rate_ok(link->rate_bps))
        return tl_error_set(reterr, TL_RANGE, "a link's rate must be 1 kb/s to 100 Gb/s");
    if (!span_ok(link->delay_ns) || !span_ok(link->jitter_ns) || !span_ok(link->reorder_extra_ns))
        return tl_error_set(reterr, TL_RANGE, "delay, jitter and reordering must be 0 to 10 s");
    if (link->queue_bytes < 0 || link->queue_bytes > QUEUE_MAX_BYTES)
        return tl_error_set(reterr, TL_RANGE, "a queue must be 0 to 256 MiB");
    if (!bucket_ok(link->policer_bps, link->policer_burst_bytes))
        return tl_error_set(reterr, TL_RANGE,
                            "a policer needs a rate of 1 kb/s to 100 Gb/s and a burst of 1500 B "
                            "or more");
    if (!bucket_ok(link->shaper_bps, link->shaper_burst_bytes))
        return tl_error_set(reterr, TL_RANGE,
                            "a shaper needs a rate of 1 kb/s to 100 Gb/s and a burst of 1500 B "
                            "or more");
    if (!ratio_ok(link->loss_ratio) || !ratio_ok(link->burst_enter_ratio) ||
        !ratio_ok(link->burst_leave_ratio) || !ratio_ok(link->reorder_ratio) ||
        !ratio_ok(link->duplicate_ratio) || !ratio_ok(link->corrupt_ratio))
        return tl_error_set(reterr, TL_RANGE, "a ratio must be 0 to 1 (or 0 %% to 100 %%)");
    if (link->burst_enter_ratio > 0 && link->burst_leave_ratio <= 0)
        return tl_error_set(reterr, TL_RANGE, "burst loss that is entered must also be left");
    if (!ratio_ok(link->collision_ratio))
        return tl_error_set(reterr, TL_RANGE, "a ratio must be 0 to 1 (or 0 %% to 100 %%)");
    if (link->maxlen_bytes < 0 || (link->maxlen_bytes > 0 && link->maxlen_bytes < 68))
        return tl_error_set(reterr, TL_RANGE, "maxlen must be 68 bytes or more (RFC 791)");
    if (link->mss_max_bytes < 0 || (link->mss_max_bytes > 0 && link->mss_max_bytes < MSS_MIN))
        return tl_error_set(reterr, TL_RANGE, "an MSS must be %d bytes or more", MSS_MIN);
    if (link->dscp < 0 || link->dscp > 63)
        return tl_error_set(reterr, TL_RANGE, "a DSCP must be 0 to 63");
    enum tl_status status = check_flows(link, reterr);
    if (status == TL_OK)
        status = check_steps(link, reterr);
    return status == TL_OK ? check_outages(link, reterr) : status;
}

static bool cc_ok(const char *cc)
{
    size_t len = strnlen(cc, TL_LAB_CC_SIZE);
    return len > 0 && len < TL_LAB_CC_SIZE &&
           strspn(cc, "abcdefghijklmnopqrstuvwxyz0123456789_-") == len;
}

/* A block of a test is 1 MiB: what is slower is not seen in its time. */
#define DISK_MIN_BPS 8e6

static enum tl_status check_host(const struct tl_lab_host_config *host, int32_t mtu_min,
                                 struct tl_error *reterr)
{
    if (host->rmem_max_bytes < RMEM_MIN_BYTES || host->rmem_max_bytes > SOCKET_MEM_MAX ||
        host->wmem_max_bytes < RMEM_MIN_BYTES * 2 || host->wmem_max_bytes > SOCKET_MEM_MAX)
        return tl_error_set(reterr, TL_RANGE, "rmem must be 2304 B to 1 GiB, wmem 4608 B to 1 GiB");
    if (!cc_ok(host->cc))
        return tl_error_set(reterr, TL_RANGE, "that is no name of a congestion control");
    if (host->mtu < mtu_min || host->mtu > MTU_MAX ||
        (host->lan_mtu != 0 && (host->lan_mtu < mtu_min || host->lan_mtu > MTU_MAX)))
        return tl_error_set(reterr, TL_RANGE, "an MTU must be %d to %d", mtu_min, MTU_MAX);
    if (!(host->cpu_ratio >= 0 && host->cpu_ratio <= 1) ||
        host->cpu_period_ns < CPU_PERIOD_MIN_NS || host->cpu_period_ns > CPU_PERIOD_MAX_NS)
        return tl_error_set(reterr, TL_RANGE, "a CPU share must be 0 to 1, over 10 ms to 1 s");
    if (host->cpu_ratio > 0 && host->cpu_ratio * (double)host->cpu_period_ns < (double)TL_NS_PER_MS)
        return tl_error_set(reterr, TL_RANGE,
                            "a CPU share must be 1 ms of each period or more: use a longer "
                            "cpu-period");
    if ((host->disk_read_bps > 0 && host->disk_read_bps < DISK_MIN_BPS) ||
        (host->disk_write_bps > 0 && host->disk_write_bps < DISK_MIN_BPS) ||
        !rate_ok(host->disk_read_bps) || !rate_ok(host->disk_write_bps))
        return tl_error_set(reterr, TL_RANGE, "a disk's rate must be 1 MB/s to 1 Tb/s");
    return TL_OK;
}

/* On a plain path nothing stands between the hosts that could impair anything. */
static enum tl_status check_plain(const struct tl_lab_config *config, struct tl_error *reterr)
{
    struct tl_lab_config clean;
    tl_lab_config_init(&clean);
    for (int d = 0; d < TL_LAB_DIRECTION_COUNT; d++) {
        struct tl_lab_link_config link = config->link[d];
        link.seed = clean.link[d].seed;
        /* As is_wire(). NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c) */
        if (memcmp(&link, &clean.link[d], sizeof link) != 0)
            return tl_error_set(reterr, TL_RANGE,
                                "a plain path has no emulator: it takes host settings only");
    }
    bool other_links =
        config->v6_apart || config->routers != clean.routers || config->link_at != clean.link_at;
    for (int at = 0; at < TL_LAB_LINKS_MAX; at++)
        other_links |= !is_wire(config, at);
    if (other_links || config->icmp_off || config->silent || config->icmp_interval_ns > 0 ||
        config->split || config->wan_mtu != clean.wan_mtu)
        return tl_error_set(reterr, TL_RANGE, "a plain path has no routers and no WAN");
    return TL_OK;
}

static enum tl_status check_links(const struct tl_lab_config *config, struct tl_error *reterr)
{
    int main_link = tl_lab_main_link(config);
    if (config->routers < 2 || config->routers > TL_LAB_ROUTERS_MAX)
        return tl_error_set(reterr, TL_RANGE, "a path has 2 to %d routers", TL_LAB_ROUTERS_MAX);
    if (main_link < 0 || main_link > config->routers)
        return tl_error_set(reterr, TL_RANGE, "with %d routers, link-at is 1 to %d",
                            (int)config->routers, tl_lab_link_count(config));
    if (!is_wire(config, main_link))
        return tl_error_set(reterr, TL_RANGE,
                            "link %d is the main one: set it without a prefix, or move the main "
                            "one by link-at",
                            main_link + 1);
    enum tl_status status = TL_OK;
    for (int d = 0; d < TL_LAB_DIRECTION_COUNT && status == TL_OK; d++) {
        status = check_link(&config->link[d], reterr);
        if (status == TL_OK && config->v6_apart)
            status = check_link(&config->v6[d], reterr);
        for (int at = 0; at < TL_LAB_LINKS_MAX && status == TL_OK; at++) {
            status = check_link(&config->beside[at][d], reterr);
            if (status == TL_OK && at > config->routers && !is_wire(config, at))
                status = tl_error_set(reterr, TL_RANGE, "with %d routers there is no link %d",
                                      (int)config->routers, at + 1);
        }
    }
    return status;
}

enum tl_status tl_lab_config_check(const struct tl_lab_config *config, struct tl_error *reterr)
{
    if (config->family < TL_LAB_IPV4 || config->family > TL_LAB_BOTH)
        return tl_error_set(reterr, TL_RANGE, "the family must be 4, 6 or both");
    int32_t mtu_min = config->family & TL_LAB_IPV6 ? MTU_MIN_IPV6 : MTU_MIN;
    if (config->wan_mtu < mtu_min || config->wan_mtu > MTU_MAX)
        return tl_error_set(reterr, TL_RANGE, "the WAN's MTU must be %d to %d", mtu_min, MTU_MAX);
    if (config->v6_apart && !(config->family & TL_LAB_IPV6))
        return tl_error_set(reterr, TL_RANGE, "v6. needs family=6 or family=both");
    if (config->icmp_interval_ns < 0 || config->icmp_interval_ns > ICMP_INTERVAL_MAX)
        return tl_error_set(reterr, TL_RANGE, "icmp-interval must be 0 to 60 s");
    if (config->split_port < 1 || config->split_port > 65535)
        return tl_error_set(reterr, TL_RANGE, "split-port must be 1 to 65535");
    /* Without privileges the caller could not leave its control group at the end. */
    if (config->host[TL_LAB_NEAR].unprivileged && config->host[TL_LAB_NEAR].cpu_ratio > 0)
        return tl_error_set(reterr, TL_RANGE,
                            "the near host takes either a CPU share or unprivileged=on");
    enum tl_status status = check_links(config, reterr);
    for (int h = 0; h < TL_LAB_HOST_COUNT && status == TL_OK; h++)
        status = check_host(&config->host[h], mtu_min, reterr);
    return status == TL_OK && config->plain ? check_plain(config, reterr) : status;
}
