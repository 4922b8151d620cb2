/* Defaults of a lab and what follows from them; check.c has the limits of what can be made. */
#include "tightlink/lab/config.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"

/* A queue below this holds up an ordinary window, which nobody asked for. */
#define QUEUE_MIN_PACKETS 32

#define BUFFER_MAX_BYTES  (INT64_C(64) << 20)
#define DEFAULT_PERIOD_NS (100 * TL_NS_PER_MS) /* the kernel's default for CPU quotas */
#define SPLIT_PORT        5411

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

/* Structures were zeroed as a whole. */
bool tl_lab_is_wire(const struct tl_lab_config *config, int at)
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

/* A recording's rate is known only once it has been read. */
#define TRACE_QUEUE_PACKETS 256

/* The most that a link can carry, 0: as much as the machine does. */
static double highest_bps(const struct tl_lab_link_config *link)
{
    switch (link->service) {
    case TL_LAB_SERVICE_RADIO:
    case TL_LAB_SERVICE_LEO:
        return link->high_bps;
    case TL_LAB_SERVICE_WIFI:
        return link->air_bps;
    default:
        break;
    }
    return link->rate_bps > 0     ? link->rate_bps
           : link->shaper_bps > 0 ? link->shaper_bps
                                  : link->flow_shaper_bps;
}

static int64_t queue_of(const struct tl_lab_link_config *link, int64_t rtt_ns, int32_t mtu)
{
    if (link->queue_bytes > 0)
        return link->queue_bytes;
    if (link->service == TL_LAB_SERVICE_TRACE)
        return TRACE_QUEUE_PACKETS * (int64_t)mtu;
    double rate = highest_bps(link);
    if (rate <= 0)
        return 0;
    int64_t bdp = (int64_t)tl_bytes_from_bps_ns(rate, (double)rtt_ns);
    int64_t least = QUEUE_MIN_PACKETS * (int64_t)mtu;
    int64_t queue = bdp > least ? bdp : least;
    return queue < TL_LAB_QUEUE_MAX_BYTES ? queue : TL_LAB_QUEUE_MAX_BYTES;
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
    if (!is_main && tl_lab_is_wire(config, at))
        return NULL;
    const struct tl_lab_link_config *link =
        is_main ? &config->link[direction] : &config->beside[at][direction];
    if (ret_queue_bytes)
        *ret_queue_bytes = queue_of(link, tl_lab_rtt_ns(config, TL_LAB_IPV4), config->wan_mtu);
    return link;
}
