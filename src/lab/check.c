/* The limits of what a lab can be, each with a sentence. */
#include "check.h"

#include <string.h>

#include "tightlink/base/time.h"

#define MTU_MIN           576 /* RFC 1122 3.3.2; IPv6 needs 1280 */
#define MTU_MIN_IPV6      1280
#define MTU_MAX           9216
#define DELAY_MAX_NS      (10 * TL_NS_PER_S)
#define RATE_MIN_BPS      1e3
#define RATE_MAX_BPS      1e11
#define CPU_PERIOD_MIN_NS (10 * TL_NS_PER_MS) /* a quota below 1 ms is refused by the kernel */
#define CPU_PERIOD_MAX_NS TL_NS_PER_S
#define RMEM_MIN_BYTES    2304 /* SOCK_MIN_RCVBUF of the kernel */
#define SOCKET_MEM_MAX    (INT64_C(1) << 30)
#define MEMBERS_MAX       256
#define MSS_MIN           88 /* TCP_MIN_MSS of the kernel */
#define ICMP_INTERVAL_MAX (60 * TL_NS_PER_S)
#define EVERY_MAX_NS      (3600 * TL_NS_PER_S)
#define AIR_OTHERS_MAX    32
#define CLAMP_MIN         (MSS_MIN + 60)

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

/* Of what comes now and then: both times, or neither. */
static bool events_ok(int64_t every_ns, int64_t length_ns)
{
    return every_ns >= 0 && every_ns <= EVERY_MAX_NS && span_ok(length_ns) &&
           (every_ns > 0) == (length_ns > 0) && (every_ns == 0 || length_ns < every_ns);
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
    if (!events_ok(link->dropout_every_ns, link->dropout_length_ns))
        return tl_error_set(reterr, TL_RANGE,
                            "dropouts last up to 10 s and end before the next one begins");
    return TL_OK;
}

/* A link that serves in a way of its own, or whose queue is managed, holds its packets itself:
 * what reckons with an even rate cannot stand beside it. */
static enum tl_status check_service(const struct tl_lab_link_config *link, struct tl_error *reterr)
{
    bool even = link->service == TL_LAB_SERVICE_RATE;
    bool two_rates = link->service == TL_LAB_SERVICE_RADIO || link->service == TL_LAB_SERVICE_LEO;
    if (!even && link->rate_bps > 0)
        return tl_error_set(reterr, TL_RANGE, "a link has one of rate, trace, radio, leo and wifi");
    if (two_rates && !(rate_ok(link->low_bps) && rate_ok(link->high_bps) && link->low_bps > 0 &&
                       link->low_bps <= link->high_bps))
        return tl_error_set(
            reterr, TL_RANGE,
            "a changing rate goes from a lower to a higher one, 1 kb/s to 100 Gb/s");
    if (!events_ok(link->fade_every_ns, link->fade_length_ns) ||
        !events_ok(link->handover_every_ns, link->handover_length_ns))
        return tl_error_set(reterr, TL_RANGE,
                            "fades and handovers last up to 10 s and end before the next ones");
    if (link->service == TL_LAB_SERVICE_WIFI &&
        (!(link->air_bps >= RATE_MIN_BPS) || !rate_ok(link->air_bps) ||
         link->air_others > AIR_OTHERS_MAX || !(link->air_fail_ratio <= 0.9)))
        return tl_error_set(reterr, TL_RANGE,
                            "Wi-Fi has a rate, up to %d other stations and up to 90 %% of failed "
                            "attempts",
                            AIR_OTHERS_MAX);
    if (even && link->aqm != TL_LAB_AQM_NONE && link->rate_bps <= 0)
        return tl_error_set(reterr, TL_RANGE, "aqm needs a link with a rate");
    bool station = !even || link->aqm != TL_LAB_AQM_NONE;
    if (station && (link->shaper_bps > 0 || link->flow_shaper_bps > 0 || link->cross_bps > 0 ||
                    link->cross_flows > 0 || link->collision_ratio > 0 || link->half_duplex))
        return tl_error_set(
            reterr, TL_RANGE,
            "shapers, cross traffic, collisions and half duplex need a plain rate: no aqm, "
            "trace, radio, leo or wifi (others= goes with all of them)");
    return TL_OK;
}

static enum tl_status check_waits(const struct tl_lab_link_config *link, struct tl_error *reterr)
{
    if (!span_ok(link->delay_ns) || !span_ok(link->jitter_ns) || !span_ok(link->scatter_ns) ||
        !span_ok(link->reorder_extra_ns))
        return tl_error_set(reterr, TL_RANGE, "delay, jitter and reordering must be 0 to 10 s");
    if (!span_ok(link->wander_ns) || !span_ok(link->wander_time_ns) ||
        (link->wander_ns > 0) != (link->wander_time_ns > 0))
        return tl_error_set(reterr, TL_RANGE, "wander has two times above 0 and up to 10 s");
    if (!span_ok(link->grant_least_ns) || !span_ok(link->grant_most_ns) ||
        link->grant_least_ns > link->grant_most_ns)
        return tl_error_set(reterr, TL_RANGE, "grants come after a lower to a higher time");
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
    if (link->others < 0 || link->others > TL_LAB_OTHERS_MAX || !span_ok(link->others_on_ns) ||
        !span_ok(link->others_off_ns) || (link->others_on_ns > 0) != (link->others_off_ns > 0))
        return tl_error_set(reterr, TL_RANGE,
                            "others are up to %d connections, in bursts of up to 10 s",
                            TL_LAB_OTHERS_MAX);
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
    if (link->half_duplex && (link->rate_bps <= 0 || crossed || link->collision_ratio > 0))
        return tl_error_set(reterr, TL_RANGE,
                            "a half-duplex link needs a rate, without cross traffic and "
                            "collisions");
    return TL_OK;
}

static enum tl_status check_link(const struct tl_lab_link_config *link, struct tl_error *reterr)
{
    if (!rate_ok(link->rate_bps))
        return tl_error_set(reterr, TL_RANGE, "a link's rate must be 1 kb/s to 100 Gb/s");
    if (link->queue_bytes < 0 || link->queue_bytes > TL_LAB_QUEUE_MAX_BYTES)
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
    if (link->clamp_bytes < 0 || (link->clamp_bytes > 0 && link->clamp_bytes < CLAMP_MIN))
        return tl_error_set(reterr, TL_RANGE, "clamp must be %d bytes or more", CLAMP_MIN);
    enum tl_status status = check_flows(link, reterr);
    if (status == TL_OK)
        status = check_service(link, reterr);
    if (status == TL_OK)
        status = check_waits(link, reterr);
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
        /* As tl_lab_is_wire().
         * NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c) */
        if (memcmp(&link, &clean.link[d], sizeof link) != 0)
            return tl_error_set(reterr, TL_RANGE,
                                "a plain path has no emulator: it takes host settings only");
    }
    bool other_links =
        config->v6_apart || config->routers != clean.routers || config->link_at != clean.link_at;
    for (int at = 0; at < TL_LAB_LINKS_MAX; at++)
        other_links |= !tl_lab_is_wire(config, at);
    if (other_links || config->icmp_off || config->silent || config->icmp_interval_ns > 0 ||
        config->split || config->wan_mtu != clean.wan_mtu)
        return tl_error_set(reterr, TL_RANGE, "a plain path has no routers and no WAN");
    return TL_OK;
}

enum tl_status tl_lab_check_routers(const struct tl_lab_config *config, struct tl_error *reterr)
{
    if (config->routers < 2 || config->routers > TL_LAB_ROUTERS_MAX)
        return tl_error_set(reterr, TL_RANGE, "a path has 2 to %d routers", TL_LAB_ROUTERS_MAX);
    return TL_OK;
}

static enum tl_status check_links(const struct tl_lab_config *config, struct tl_error *reterr)
{
    enum tl_status status = tl_lab_check_routers(config, reterr);
    if (status != TL_OK)
        return status;
    int main_link = tl_lab_main_link(config);
    if (main_link < 0 || main_link > config->routers)
        return tl_error_set(reterr, TL_RANGE, "with %d routers, link-at is 1 to %d",
                            (int)config->routers, tl_lab_link_count(config));
    if (!tl_lab_is_wire(config, main_link))
        return tl_error_set(reterr, TL_RANGE,
                            "link %d is the main one: set it without a prefix, or move the main "
                            "one by link-at",
                            main_link + 1);
    bool inner = main_link > 0 && main_link < config->routers;
    for (int d = 0; d < TL_LAB_DIRECTION_COUNT && status == TL_OK; d++) {
        status = check_link(&config->link[d], reterr);
        if (status == TL_OK && config->link[d].others > 0 && !inner)
            status = tl_error_set(reterr, TL_RANGE, "others need a main link between two routers");
        if (status == TL_OK && config->v6_apart)
            status = check_link(&config->v6[d], reterr);
        for (int at = 0; at < TL_LAB_LINKS_MAX && status == TL_OK; at++) {
            status = check_link(&config->beside[at][d], reterr);
            if (status == TL_OK && config->beside[at][d].others > 0)
                status = tl_error_set(reterr, TL_RANGE, "others cross the main link only");
            if (status == TL_OK && at > config->routers && !tl_lab_is_wire(config, at))
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
    enum tl_status status = check_links(config, reterr);
    for (int h = 0; h < TL_LAB_HOST_COUNT && status == TL_OK; h++)
        status = check_host(&config->host[h], mtu_min, reterr);
    return status == TL_OK && config->plain ? check_plain(config, reterr) : status;
}
