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

const char *tl_lab_drop_text(enum tl_lab_drop drop)
{
    static const char *const texts[] = {
#define TL_LAB_DROP_TEXT(name, text) [TL_LAB_DROP_##name] = text,
        TL_LAB_DROP_MAP(TL_LAB_DROP_TEXT)
#undef TL_LAB_DROP_TEXT
    };
    return (unsigned)drop < TL_LAB_DROP_COUNT ? texts[drop] : "unknown";
}

void tl_lab_config_init(struct tl_lab_config *ret_config)
{
    memset(ret_config, 0, sizeof *ret_config);
    for (int d = 0; d < TL_LAB_DIRECTION_COUNT; d++)
        ret_config->link[d].seed = (uint64_t)d + 1;
    for (int h = 0; h < TL_LAB_HOST_COUNT; h++) {
        struct tl_lab_host_config *host = &ret_config->host[h];
        host->rmem_max_bytes = BUFFER_MAX_BYTES;
        host->wmem_max_bytes = BUFFER_MAX_BYTES;
        host->window_scaling = true;
        host->sack = true;
        snprintf(host->cc, sizeof host->cc, "cubic");
        host->mtu = 1500;
        host->cpu_period_ns = DEFAULT_PERIOD_NS;
    }
    ret_config->wan_mtu = 1500;
    ret_config->family = TL_LAB_IPV4;
}

int64_t tl_lab_queue_bytes(const struct tl_lab_config *config, enum tl_lab_direction direction)
{
    const struct tl_lab_link_config *link = &config->link[direction];
    if (link->queue_bytes > 0)
        return link->queue_bytes;
    double rate = link->rate_bps > 0 ? link->rate_bps : link->shaper_bps;
    if (rate <= 0)
        return 0;
    double rtt_ns =
        (double)config->link[TL_LAB_UP].delay_ns + (double)config->link[TL_LAB_DOWN].delay_ns;
    int64_t bdp = (int64_t)tl_bytes_from_bps_ns(rate, rtt_ns);
    int64_t least = QUEUE_MIN_PACKETS * (int64_t)config->wan_mtu;
    int64_t queue = bdp > least ? bdp : least;
    return queue < QUEUE_MAX_BYTES ? queue : QUEUE_MAX_BYTES;
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
    if (link->maxlen_bytes < 0 || (link->maxlen_bytes > 0 && link->maxlen_bytes < 68))
        return tl_error_set(reterr, TL_RANGE, "maxlen must be 68 bytes or more (RFC 791)");
    return check_outages(link, reterr);
}

static bool cc_ok(const char *cc)
{
    size_t len = strnlen(cc, TL_LAB_CC_SIZE);
    return len > 0 && len < TL_LAB_CC_SIZE &&
           strspn(cc, "abcdefghijklmnopqrstuvwxyz0123456789_-") == len;
}

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
        if (memcmp(&link, &clean.link[d], sizeof link) != 0)
            return tl_error_set(reterr, TL_RANGE,
                                "a plain path has no emulator: it takes host settings only");
    }
    if (config->icmp_off || config->wan_mtu != clean.wan_mtu)
        return tl_error_set(reterr, TL_RANGE, "a plain path has no routers and no WAN");
    return TL_OK;
}

enum tl_status tl_lab_config_check(const struct tl_lab_config *config, struct tl_error *reterr)
{
    if (config->family < TL_LAB_IPV4 || config->family > TL_LAB_BOTH)
        return tl_error_set(reterr, TL_RANGE, "the family must be 4, 6 or both");
    int32_t mtu_min = config->family & TL_LAB_IPV6 ? MTU_MIN_IPV6 : MTU_MIN;
    if (config->wan_mtu < mtu_min || config->wan_mtu > MTU_MAX)
        return tl_error_set(reterr, TL_RANGE, "the WAN's MTU must be %d to %d", mtu_min, MTU_MAX);
    for (int d = 0; d < TL_LAB_DIRECTION_COUNT; d++) {
        enum tl_status status = check_link(&config->link[d], reterr);
        if (status != TL_OK)
            return status;
    }
    for (int h = 0; h < TL_LAB_HOST_COUNT; h++) {
        enum tl_status status = check_host(&config->host[h], mtu_min, reterr);
        if (status != TL_OK)
            return status;
    }
    return config->plain ? check_plain(config, reterr) : TL_OK;
}
