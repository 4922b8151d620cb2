/* The kernel's network counters: their table, and what grew between two readings. */
#include "counters.h"

#include <math.h>
#include <string.h>

#include "tightlink/base/time.h"

const struct tl_counter_row tl_counter_rows[] = {
#define TL_HOST_COUNTER_ROW(id, row_name, row_unit, row_source, row_key)                           \
    {.name = (row_name), .unit = (row_unit), .key = (row_key), .source = TL_COUNTER_##row_source},
    TL_HOST_COUNTER_MAP(TL_HOST_COUNTER_ROW)
#undef TL_HOST_COUNTER_ROW
};

const char *tl_host_counter_name(unsigned id)
{
    return id < TL_HOST_COUNTER_COUNT ? tl_counter_rows[id].name : NULL;
}

/* Everything else tells what is lost or held up. */
bool tl_host_counter_open(unsigned id)
{
    switch (id) {
    case TL_HOST_COUNTER_SOFTNET_PROCESSED: /* for the machine, not for our interface */
    case TL_HOST_COUNTER_TCP_IN_SEGS:
    case TL_HOST_COUNTER_TCP_OUT_SEGS:
    case TL_HOST_COUNTER_TCP_RETRANS_SEGS:
    case TL_HOST_COUNTER_TCP_TIMEOUTS:
    case TL_HOST_COUNTER_TCP_DSACK_RECV:
    case TL_HOST_COUNTER_TCP_OFO_QUEUE:
    case TL_HOST_COUNTER_TCP_LISTEN_DROPS:
    case TL_HOST_COUNTER_IP_REASM_FAILS:
    case TL_HOST_COUNTER_IP_IN_CE_PACKETS:
    case TL_HOST_COUNTER_CONNTRACK_ENTRIES:
        return false;
    default:
        return id < TL_HOST_COUNTER_COUNT;
    }
}

void tl_counters_set(struct tl_host_counters *counters, unsigned id, uint64_t count)
{
    counters->counts[id] = count;
    counters->why[id] = TL_HOST_WHY_KNOWN;
}

void tl_counters_begin(struct tl_host_counters *ret_counters, int ifindex)
{
    memset(ret_counters, 0, sizeof(*ret_counters));
    for (unsigned i = 0; i < TL_HOST_COUNTER_COUNT; i++)
        ret_counters->why[i] = TL_HOST_WHY_ABSENT;
    ret_counters->taken_ns = tl_now_ns();
    ret_counters->ifindex = ifindex;
}

/* A level that is read, not counted. */
static bool is_gauge(unsigned id)
{
    return tl_counter_rows[id].source == TL_COUNTER_GAUGE ||
           strcmp(tl_counter_rows[id].unit, "bps") == 0;
}

static bool is_of_link(unsigned id)
{
    return tl_counter_rows[id].source == TL_COUNTER_LINK ||
           tl_counter_rows[id].source == TL_COUNTER_NIC ||
           tl_counter_rows[id].source == TL_COUNTER_QDISC ||
           tl_counter_rows[id].source == TL_COUNTER_STATION;
}

/* Counters of 32 bits in the kernel, which may turn over. */
static bool is_short(unsigned id)
{
    return tl_counter_rows[id].source == TL_COUNTER_SOFTNET ||
           tl_counter_rows[id].source == TL_COUNTER_QDISC ||
           tl_counter_rows[id].source == TL_COUNTER_TRACK ||
           tl_counter_rows[id].source == TL_COUNTER_STATION;
}

/* No test counts that much: a larger growth is a counter that began again. */
#define TURN_GROWTH_MAX (UINT64_C(1) << 31)

static struct tl_host_value growth_of(const struct tl_host_counters *before,
                                      const struct tl_host_counters *after, unsigned id)
{
    uint64_t turn = 0, from = before->counts[id], to = after->counts[id];

    if (before->why[id] != TL_HOST_WHY_KNOWN)
        return tl_host_unknown(before->why[id]);
    if (after->why[id] != TL_HOST_WHY_KNOWN)
        return tl_host_unknown(after->why[id]);
    if (is_of_link(id) && before->ifindex != after->ifindex)
        return tl_host_unknown(TL_HOST_WHY_RESTARTED);
    if (is_gauge(id))
        return tl_host_known((double)(from > to ? from : to));
    if (to < from) {
        if (!is_short(id))
            return tl_host_unknown(TL_HOST_WHY_RESTARTED);
        turn = UINT64_C(1) << 32; /* one core's counter; a second turn would take hours */
        if (to + turn < from || to + turn - from > TURN_GROWTH_MAX)
            return tl_host_unknown(TL_HOST_WHY_RESTARTED);
    }
    return tl_host_known((double)(to + turn - from));
}

void tl_host_counters_between(const struct tl_host_counters *before,
                              const struct tl_host_counters *after,
                              struct tl_host_counters_growth *ret_growth)
{
    ret_growth->elapsed_ns = after->taken_ns - before->taken_ns;
    for (unsigned i = 0; i < TL_HOST_COUNTER_COUNT; i++)
        ret_growth->values[i] = growth_of(before, after, i);
}

/* Ethernet 14, IPv6 40, TCP 20 with timestamps 12 (RFC 7323). */
#define HEADERS_MAX_BYTES 86

double tl_host_other_traffic_ratio(double link_bytes, double payload_bytes, double retrans_bytes,
                                   double mss_bytes)
{
    double ours = payload_bytes + retrans_bytes;

    if (!(link_bytes > 0) || !(mss_bytes > 0))
        return 0;
    ours += ceil(ours / mss_bytes) * HEADERS_MAX_BYTES;
    return ours < link_bytes ? (link_bytes - ours) / link_bytes : 0;
}
