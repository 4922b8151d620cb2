/* From path MTU searches and handshakes to facts. */
#include "path_facts.h"

#include <math.h>
#include <stdio.h>

#include "tightlink/base/address.h"
#include "tightlink/engine/sample.h"

const char *tl_path_segment(int first_hop, int last_hop, int hops)
{
    if (hops < 1 || first_hop < 0 || last_hop > hops || first_hop >= last_hop)
        return NULL;
    if (last_hop == 1)
        return "lan";
    if (first_hop == hops - 1)
        return "far-lan";
    return first_hop >= 1 && last_hop <= hops - 1 ? "path" : NULL;
}

/* --- Path MTU ----------------------------------------------------------------------------- */

static void set_mtu(struct tl_facts *facts, enum tl_direction direction,
                    const struct tl_pmtu_way *way, const char *method)
{
    if (way->tried_bytes > 0)
        tl_facts_set_number(facts, TL_FLOW(direction, mtu_tried_bytes), way->tried_bytes, method);
    struct tl_fact_key key = TL_FLOW(direction, path_mtu_bytes);
    if (way->mtu_bytes == 0) {
        const char *reason = way->tried_bytes > 0
                                 ? "no datagram of any size arrived in this direction"
                                 : "this far end sends no datagrams of a size that is asked for";
        tl_facts_set_unknown(facts, key, "%s", reason);
        tl_facts_set_unknown(facts, TL_FLOW(direction, mtu_black_hole), "%s", reason);
        return;
    }
    double high = way->failed_bytes > 0 ? way->failed_bytes - 1 : way->mtu_bytes;
    tl_facts_set_range(facts, key, way->mtu_bytes, way->mtu_bytes, high, method);
    tl_facts_set_bool(facts, TL_FLOW(direction, mtu_black_hole), way->black_hole, method);
}

static void set_report(struct tl_facts *facts, enum tl_direction direction,
                       const struct tl_pmtu_way *way)
{
    char text[INET6_ADDRSTRLEN];
    struct tl_fact_key key = TL_FLOW(direction, mtu_reported_bytes);
    if (way->reported_bytes > 0)
        tl_facts_set_number(facts, key, way->reported_bytes, "ICMP");
    else
        tl_facts_set_unknown(facts, key, "no router reported an MTU");
    key = TL_FLOW(direction, mtu_reporter);
    tl_address_text(&way->reporter, text);
    if (!IN6_IS_ADDR_UNSPECIFIED(&way->reporter))
        tl_facts_set_text(facts, key, text, "ICMP");
    else
        tl_facts_set_unknown(facts, key, "no router reported an MTU");
}

/* Hops of a way are counted from its sender, segments from this PC. Where the two ways have not
 * as many hops they are not the same, and only their ends can be named. */
static const char *hole_segment(enum tl_direction direction, const struct tl_pmtu_way *way)
{
    int hops = way->hops_count, first = way->hole_first_hop, last = way->hole_last_hop;
    return direction == TL_UPLOAD ? tl_path_segment(first, last, hops)
                                  : tl_path_segment(hops - last, hops - first, hops);
}

static void set_hole(struct tl_facts *facts, enum tl_direction direction,
                     const struct tl_pmtu_way *way)
{
    const struct tl_fact_key first = TL_FLOW(direction, mtu_hole_first_hop),
                             last = TL_FLOW(direction, mtu_hole_last_hop),
                             place = TL_FLOW(direction, mtu_hole_segment);
    const char *reason = "no packets vanish";
    bool anywhere = way->hole_first_hop <= 0 && way->hole_last_hop >= way->hops_count;
    if (way->black_hole)
        reason = way->hole_first_hop < 0 ? "the number of hops is not known"
                                         : "no router on the way answers (ICMP filtered)";
    if (!way->black_hole || way->hole_first_hop < 0 || (anywhere && way->hops_count != 1)) {
        tl_facts_set_unknown(facts, first, "%s", reason);
        tl_facts_set_unknown(facts, last, "%s", reason);
        tl_facts_set_unknown(facts, place, "%s", reason);
        return;
    }
    const char *method = "packets whose TTL ends at each router";
    tl_facts_set_number(facts, first, way->hole_first_hop, method);
    tl_facts_set_number(facts, last, way->hole_last_hop, method);
    const char *segment = hole_segment(direction, way);
    if (segment)
        tl_facts_set_text(facts, place, segment, method);
    else
        tl_facts_set_unknown(facts, place, "the routers around it do not answer (ICMP filtered)");
}

static void set_class(struct tl_facts *facts, enum tl_direction direction,
                      const struct tl_pmtu_way *way)
{
    const char *reason = "the receiver's kernel does not tell it, or no such datagram arrived";
    if (way->class_known) {
        tl_facts_set_bool(facts, TL_FLOW(direction, dscp_changed),
                          way->class_received != TL_PMTU_CLASS, "");
        tl_facts_set_number(facts, TL_FLOW(direction, dscp_received), way->class_received >> 2, "");
    } else {
        tl_facts_set_unknown(facts, TL_FLOW(direction, dscp_changed), "%s", reason);
        tl_facts_set_unknown(facts, TL_FLOW(direction, dscp_received), "%s", reason);
    }
    struct tl_fact_key key = TL_FLOW(direction, ecn_lost);
    if (way->ecn_known) /* a mark of congestion is no loss of it */
        tl_facts_set_bool(facts, key, way->ecn_received == 0, "");
    else
        tl_facts_set_unknown(facts, key, "%s", reason);
}

void tl_path_facts_pmtu(struct tl_facts *facts, const struct tl_pmtu_result *result)
{
    for (int d = 0; d < 2; d++) {
        enum tl_direction direction = (enum tl_direction)d;
        const struct tl_pmtu_way *way = direction == TL_UPLOAD ? &result->up : &result->down;
        set_mtu(facts, direction, way, "datagrams of given size (RFC 8899)");
        set_report(facts, direction, way);
        set_hole(facts, direction, way);
        set_class(facts, direction, way);
    }
}

void tl_path_facts_segments(struct tl_facts *facts, enum tl_direction direction,
                            const struct tl_pmtu_way *way)
{
    set_mtu(facts, direction, way, "TCP connections of given segment size");
    set_report(facts, direction, way);
    set_hole(facts, direction, way);
}

void tl_path_facts_no_pmtu(struct tl_facts *facts, const char *reason)
{
    static const enum tl_fact_name names[] = {
        TL_FACT_FLOW_path_mtu_bytes,    TL_FACT_FLOW_mtu_tried_bytes,
        TL_FACT_FLOW_mtu_black_hole,    TL_FACT_FLOW_mtu_reported_bytes,
        TL_FACT_FLOW_mtu_reporter,      TL_FACT_FLOW_mtu_hole_first_hop,
        TL_FACT_FLOW_mtu_hole_last_hop, TL_FACT_FLOW_mtu_hole_segment,
        TL_FACT_FLOW_dscp_changed,      TL_FACT_FLOW_dscp_received,
        TL_FACT_FLOW_ecn_lost};
    for (int d = 0; d < 2; d++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            tl_facts_set_unknown(facts, TL_KEY(tl_scope_of((enum tl_direction)d), names[i]), "%s",
                                 reason);
}

/* --- Handshake ----------------------------------------------------------------------------- */

static bool is_on(const struct tl_facts *facts, struct tl_fact_key key)
{
    return tl_facts_number(facts, key, 0) > 0;
}

/* Options in our SYN, by this host's settings; false when these are not known. */
static bool options_sent(const struct tl_facts *facts, unsigned *ret_options)
{
    const struct tl_fact_key ids[] = {TL_NEAR(tcp_window_scaling), TL_NEAR(tcp_sack),
                                      TL_NEAR(tcp_timestamps)};
    static const unsigned bits[] = {TL_WIRE_SYN_WSCALE, TL_WIRE_SYN_SACK, TL_WIRE_SYN_TIMESTAMPS};
    *ret_options = TL_WIRE_SYN_MSS; /* in every SYN of every kernel */
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        if (isnan(tl_facts_number(facts, ids[i], (double)NAN)))
            return false;
        *ret_options |= is_on(facts, ids[i]) ? bits[i] : 0;
    }
    return true;
}

/* TCP_INFO's bits as those of a SYN. */
static unsigned negotiated(unsigned options)
{
    return (options & TL_TCP_OPT_WSCALE ? TL_WIRE_SYN_WSCALE : 0u) |
           (options & TL_TCP_OPT_SACK ? TL_WIRE_SYN_SACK : 0u) |
           (options & TL_TCP_OPT_TIMESTAMPS ? TL_WIRE_SYN_TIMESTAMPS : 0u);
}

static void name_options(unsigned options, char *ret_text, size_t size)
{
    static const struct {
        unsigned bit;
        const char *name;
    } all[] = {{TL_WIRE_SYN_WSCALE, "window scaling"},
               {TL_WIRE_SYN_SACK, "SACK"},
               {TL_WIRE_SYN_TIMESTAMPS, "timestamps"},
               {TL_WIRE_SYN_MSS, "MSS"}};
    size_t len = 0;
    ret_text[0] = '\0';
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (options & all[i].bit && len < size)
            len +=
                (size_t)snprintf(ret_text + len, size - len, "%s%s", len ? ", " : "", all[i].name);
}

/* Lost on the way there: in our SYN but not in the one that came. Lost on the way back: the far
 * end agreed to it, we never heard so. */
static void set_options(struct tl_facts *facts, const struct tl_syn_result *result)
{
    unsigned sent, lost = negotiated(result->far.negotiated) & ~negotiated(result->negotiated);
    bool known = result->far.saved && options_sent(facts, &sent);
    char names[80];
    if (known)
        lost |= sent & ~(unsigned)result->far.options;
    name_options(lost, names, sizeof names);
    for (int d = 0; d < 2; d++) {
        enum tl_direction direction = (enum tl_direction)d;
        struct tl_fact_key key = TL_FLOW(direction, syn_options_lost);
        if (known || lost)
            tl_facts_set_bool(facts, key, lost != 0, "saved SYN, TCP_INFO of both ends");
        else
            tl_facts_set_unknown(facts, key, "the far end's kernel keeps no SYN");
        key = TL_FLOW(direction, syn_options_lost_names);
        if (lost)
            tl_facts_set_text(facts, key, names, "");
        else
            tl_facts_set_unknown(facts, key, "none was lost");
    }
}

static void set_bytes(struct tl_facts *facts, struct tl_fact_key key, double value,
                      const char *reason)
{
    if (value > 0)
        tl_facts_set_number(facts, key, value, "");
    else
        tl_facts_set_unknown(facts, key, "%s", reason);
}

/* The MSS in a SYN bounds what the one who gets it sends: ours bounds the download. */
static void set_mss(struct tl_facts *facts, const struct tl_syn_result *result, bool ipv6)
{
    const char *reason = "the kernel does not tell it";
    bool came = result->far.saved && result->far.options & TL_WIRE_SYN_MSS;
    set_bytes(facts, TL_FLOW(TL_DOWNLOAD, mss_sent_bytes), result->advmss_bytes, reason);
    set_bytes(facts, TL_FLOW(TL_DOWNLOAD, mss_received_bytes), came ? result->far.mss_bytes : 0,
              "the far end's kernel keeps no SYN");
    set_bytes(facts, TL_FLOW(TL_UPLOAD, mss_sent_bytes), result->far.advmss_bytes, reason);
    set_bytes(facts, TL_FLOW(TL_UPLOAD, mss_received_bytes), tl_syn_mss_received(result, ipv6),
              reason);
}

static double smaller_known(double known, double value)
{
    return isnan(known) || value < known ? value : known;
}

static void set_rtt(struct tl_facts *facts, struct tl_fact_key key, int64_t rtt_ns,
                    const char *method)
{
    if (rtt_ns > 0)
        tl_facts_set_number(facts, key,
                            smaller_known(tl_facts_number(facts, key, (double)NAN), (double)rtt_ns),
                            method);
}

void tl_path_facts_syn(struct tl_facts *facts, const struct tl_syn_result *result, bool ipv6)
{
    set_options(facts, result);
    set_mss(facts, result, ipv6);
    set_rtt(facts, TL_PATH(app_rtt_min_ns), result->answer_rtt_ns,
            "question and answer over one TCP connection");
    set_rtt(facts, TL_PATH(tcp_rtt_min_ns), result->handshake_rtt_ns, "SYN to SYN-ACK");
    set_rtt(facts, TL_PATH(far_tcp_rtt_min_ns), (int64_t)result->far.rtt_ns, "SYN-ACK to ACK");
    tl_facts_set_bool(facts, TL_PATH(far_sees_other_address), !result->far_sees_our_address, "");
}

void tl_path_facts_no_syn(struct tl_facts *facts, const char *reason)
{
    const struct tl_fact_key ids[] = {TL_FLOW(TL_DOWNLOAD, syn_options_lost),
                                      TL_FLOW(TL_UPLOAD, syn_options_lost),
                                      TL_FLOW(TL_DOWNLOAD, mss_sent_bytes),
                                      TL_FLOW(TL_DOWNLOAD, mss_received_bytes),
                                      TL_FLOW(TL_UPLOAD, mss_sent_bytes),
                                      TL_FLOW(TL_UPLOAD, mss_received_bytes),
                                      TL_PATH(app_rtt_min_ns),
                                      TL_PATH(tcp_rtt_min_ns),
                                      TL_PATH(far_tcp_rtt_min_ns),
                                      TL_PATH(far_sees_other_address)};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        tl_facts_set_unknown(facts, ids[i], "%s", reason);
}

/* --- A proxy that acknowledges ---------------------------------------------------------------- */

#define AHEAD_MARGIN_NS 50000000 /* between readings, and for timers that are late */

static bool received_by(const struct tl_sample_log *log, int64_t time_ns, uint64_t *ret_bytes)
{
    for (size_t i = 0; i < log->count; i++) {
        const struct tl_tcp_sample *sample = &log->samples[i];
        if (sample->time_ns < time_ns)
            continue;
        *ret_bytes =
            tl_sample_has(sample, TL_SF_bytes_received)
                ? tl_sample_get(sample, TL_SF_bytes_received)
                : tl_sample_get(sample, TL_SF_app_bytes) + tl_sample_get(sample, TL_SF_inq_bytes);
        return true;
    }
    return false;
}

double tl_path_acked_ahead(const struct tl_tcp_result *result)
{
    const struct tl_sample_log *sender = &result->sender.logs[0];
    const struct tl_sample_log *receiver = &result->receiver.logs[0];
    int64_t rtt_ns = result->data_rtt_ns > 0 ? result->data_rtt_ns : 0;
    double mean_ns = result->steady.sender_whole.rtt_mean_ns;
    if (mean_ns > (double)rtt_ns)
        rtt_ns = (int64_t)mean_ns;
    double most = (double)NAN;
    for (size_t i = 0; i < sender->count; i++) {
        uint64_t received, acked = tl_sample_get(&sender->samples[i], TL_SF_bytes_acked);
        int64_t at_ns = sender->samples[i].time_ns + rtt_ns + AHEAD_MARGIN_NS;
        if (!tl_sample_has(&sender->samples[i], TL_SF_bytes_acked) ||
            !received_by(receiver, at_ns, &received))
            continue;
        double ahead = acked > received ? (double)(acked - received) : 0;
        most = isnan(most) || ahead > most ? ahead : most;
    }
    return most;
}
