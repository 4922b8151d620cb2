/* The facts of stage "derived": formulas over what was measured. The table gives
 * each formula in its meaning; why it is that one stands at the function.
 *
 * An unknown input makes the result unknown with a reason that names it, so that
 * the session can find the stage to run. */
#include <math.h>
#include <string.h>

#include "store.h"
#include "tightlink/base/units.h"

/* One result and its scope while it is being computed. */
struct target {
    struct tl_facts *facts;
    enum tl_scope scope;
};

/* A fact of the place that is being computed. */
static struct tl_fact_key here(const struct target *t, enum tl_fact_name fact)
{
    return TL_KEY(t->scope, fact);
}

static double number_in(const struct tl_facts *facts, struct tl_fact_key key)
{
    return tl_facts_number(facts, key, (double)NAN);
}

/* A fact of the flow itself. */
static double flow(const struct target *t, enum tl_fact_name fact)
{
    return number_in(t->facts, here(t, fact));
}

static void set(const struct target *t, enum tl_fact_name fact, double value, const char *method)
{
    tl_facts_set_number(t->facts, here(t, fact), value, method);
}

/* The result is unknown because the fact needed is. */
static void set_needs(const struct target *t, enum tl_fact_name fact, struct tl_fact_key needed)
{
    tl_facts_set_lacking(t->facts, here(t, fact), needed);
}

/* The largest known of some facts of the flow; *ret_name names it. NAN if none is known. */
static double largest(const struct target *t, const enum tl_fact_name *names, size_t count,
                      const char **ret_name)
{
    double most = (double)NAN;
    for (size_t i = 0; i < count; i++) {
        double value = flow(t, names[i]);
        if (!isnan(value) && !(most >= value)) {
            most = value;
            *ret_name = tl_fact_def(names[i])->name;
        }
    }
    return most;
}

/* The time of the handshake includes the accept delay of the other end, and a proxy
 * may answer it early: it only stands in where nothing else was measured. */
static void derive_rtt_min(struct tl_facts *facts)
{
    const struct tl_fact_key keys[] = {TL_PATH(rtt_idle_min_ns), TL_FLOW(TL_DOWNLOAD, rtt_min_ns),
                                       TL_FLOW(TL_UPLOAD, rtt_min_ns)};
    struct tl_fact_key from = TL_PATH(connect_rtt_ns);
    double least = (double)NAN;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        double value = number_in(facts, keys[i]);
        if (value > 0 && !(least <= value)) {
            least = value;
            from = keys[i];
        }
    }
    if (isnan(least))
        least = number_in(facts, from);
    struct target path = {facts, TL_SCOPE_PATH};
    char id[TL_FACT_ID_SIZE];
    if (least > 0)
        set(&path, TL_FACT_PATH_rtt_min_ns, least, tl_fact_id(from, id));
    else
        set_needs(&path, TL_FACT_PATH_rtt_min_ns, TL_PATH(rtt_idle_min_ns));
}

static void derive_quotient(const struct target *t, enum tl_fact_name name, enum tl_fact_name above,
                            enum tl_fact_name below)
{
    double a = flow(t, above), b = flow(t, below);
    if (isnan(a))
        set_needs(t, name, here(t, above));
    else if (!(b > 0))
        set_needs(t, name, here(t, below));
    else
        set(t, name, a / b, "");
}

static void derive_best(const struct target *t)
{
    static const enum tl_fact_name rates[] = {TL_FACT_FLOW_goodput_bps,
                                              TL_FACT_FLOW_streams_goodput_bps,
                                              TL_FACT_FLOW_window_goodput_bps};
    const char *from = "";
    double best = largest(t, rates, sizeof rates / sizeof *rates, &from);
    if (isnan(best))
        set_needs(t, TL_FACT_FLOW_best_goodput_bps, here(t, TL_FACT_FLOW_goodput_bps));
    else
        set(t, TL_FACT_FLOW_best_goodput_bps, best, from);
}

/* What the sender's TCP smoothed, less the path's empty time. */
static void derive_queue_delay(const struct target *t)
{
    static const enum tl_fact_name loaded[] = {TL_FACT_FLOW_rtt_mean_ns,
                                               TL_FACT_FLOW_streams_rtt_mean_ns,
                                               TL_FACT_FLOW_window_rtt_mean_ns};
    const char *from = "";
    double least = number_in(t->facts, TL_PATH(rtt_min_ns));
    double mean = largest(t, loaded, sizeof loaded / sizeof *loaded, &from);
    if (isnan(least))
        set_needs(t, TL_FACT_FLOW_queue_delay_ns, TL_PATH(rtt_min_ns));
    else if (isnan(mean))
        set_needs(t, TL_FACT_FLOW_queue_delay_ns, here(t, TL_FACT_FLOW_rtt_mean_ns));
    else
        set(t, TL_FACT_FLOW_queue_delay_ns, fmax(mean - least, 0), from);
}

/* Of a delay that scatters evenly three quarters lie within 0.75 of its range; with thirty probes
 * that is known to a tenth or so. Not a higher percentile: a host that hiccups for 150 ms delays a
 * quarter of them. Jitter that keeps the order lets no packet overtake a late one: in a dense
 * stream nearly all wait as long as the latest, which is the whole range. */
#define SCATTER_OF_P75 1.5

/* Jitter does not go away under load, and of an even scatter three quarters lie within one and a
 * half medians: idle probes that scatter by more than twice the median beside a load were disturbed
 * by something else. Half of that median is then as much as scatter may be, by judgement. Where the
 * idle median is about that of the load, both are the same jitter, and nothing was disturbed. Nor
 * was it where milliseconds are spread evenly: packets that come thinly wait for a grant, those of
 * a load are let through by the grants of their neighbours. A host that wakes late wakes earlier.
 */
#define DISTURBED_RATIO 2
#define UNDISTURBED     0.5
#define SAME_RATIO      1.5
#define GRANT_LEAST_NS  1e6
#define EVEN_LOW        1.2 /* 75th percentile over median: 1.5 in the mean of sixty probes */
#define EVEN_HIGH       1.75

static bool is_disturbed(double median_ns, double p75_ns, double loaded_ns)
{
    bool same = median_ns <= SAME_RATIO * loaded_ns && loaded_ns <= SAME_RATIO * median_ns;
    bool even = median_ns >= GRANT_LEAST_NS && p75_ns >= EVEN_LOW * median_ns &&
                p75_ns <= EVEN_HIGH * median_ns;
    return p75_ns > DISTURBED_RATIO * loaded_ns && !same && !even; /* not so for NAN */
}

static double scatter_of(const struct target *t, const enum tl_fact_name names[4])
{
    double median_ns = flow(t, names[0]), p75_ns = flow(t, names[1]);
    double scatter_ns = SCATTER_OF_P75 * p75_ns;
    for (int i = 2; i < 4; i++) {
        double loaded_ns = flow(t, names[i]);
        if (is_disturbed(median_ns, p75_ns, loaded_ns))
            scatter_ns = fmin(scatter_ns, UNDISTURBED * loaded_ns);
    }
    return scatter_ns;
}

static void derive_scatter(struct tl_facts *facts)
{
    static const struct {
        enum tl_fact_name to, from[4];
    } rows[] = {{TL_FACT_FLOW_data_scatter_ns,
                 {TL_FACT_FLOW_idle_data_delay_ns, TL_FACT_FLOW_idle_data_delay_p75_ns,
                  TL_FACT_FLOW_loaded_data_delay_ns, TL_FACT_FLOW_streams_loaded_data_delay_ns}},
                {TL_FACT_FLOW_ack_scatter_ns,
                 {TL_FACT_FLOW_idle_ack_delay_ns, TL_FACT_FLOW_idle_ack_delay_p75_ns,
                  TL_FACT_FLOW_loaded_ack_delay_ns, TL_FACT_FLOW_streams_loaded_ack_delay_ns}}};
    struct target path = {facts, TL_SCOPE_PATH};
    for (int s = TL_SCOPE_DOWNLOAD; s <= TL_SCOPE_UPLOAD; s++) {
        struct target t = {facts, (enum tl_scope)s};
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            double scatter_ns = scatter_of(&t, rows[i].from);
            if (isnan(scatter_ns))
                set_needs(&t, rows[i].to, here(&t, rows[i].from[1]));
            else
                set(&t, rows[i].to, scatter_ns, "");
        }
    }
    struct target down = {facts, TL_SCOPE_DOWNLOAD}, up = {facts, TL_SCOPE_UPLOAD};
    double both_ns =
        fmin(flow(&down, TL_FACT_FLOW_data_scatter_ns) + flow(&down, TL_FACT_FLOW_ack_scatter_ns),
             flow(&up, TL_FACT_FLOW_data_scatter_ns) + flow(&up, TL_FACT_FLOW_ack_scatter_ns));
    if (isnan(both_ns)) /* probes that tell no directions: what others' hosts answer */
        both_ns = SCATTER_OF_P75 * (flow(&path, TL_FACT_PATH_rtt_idle_p75_ns) -
                                    flow(&path, TL_FACT_PATH_rtt_idle_min_ns));
    if (isnan(both_ns))
        set_needs(&path, TL_FACT_PATH_rtt_scatter_ns, TL_FLOW(TL_DOWNLOAD, data_scatter_ns));
    else
        set(&path, TL_FACT_PATH_rtt_scatter_ns, both_ns, "");
}

/* Rates of half seconds behind a standing queue scatter by some hundredths on a link of one rate.
 */
#define CHANGES_RATIO 0.3

/* What several measurements of the link's own rate say together; each may be missing. */
struct variation {
    double most, low, high; /* NAN: none was made */
};

static void add_rate(const struct target *t, enum tl_fact_name name, struct variation *variation)
{
    struct tl_fact fact;
    tl_facts_get(t->facts, here(t, name), &fact);
    if (fact.state != TL_FACT_KNOWN || !(fact.number > 0))
        return;
    double spread = (fact.high - fact.low) / fact.number;
    variation->most = fmax(variation->most, spread); /* fmax passes over NAN */
    variation->low = fmin(variation->low, fact.low);
    variation->high = fmax(variation->high, fact.high);
}

/* One connection twice, with the streams between: what differs is the link's doing. */
static double between_turns(const struct target *t)
{
    double first = flow(t, TL_FACT_FLOW_full_bps), again = flow(t, TL_FACT_FLOW_again_bps);
    return fabs(again - first) / fmax(first, again);
}

static void derive_variation(const struct target *t)
{
    static const char steady[] = "the link's rate does not change much";
    struct variation all = {NAN, NAN, NAN};
    add_rate(t, TL_FACT_FLOW_full_bps, &all);
    add_rate(t, TL_FACT_FLOW_streams_full_bps, &all);
    double most = fmax(all.most, between_turns(t)), again = flow(t, TL_FACT_FLOW_again_bps);
    double low = fmin(all.low, again), high = fmax(all.high, again); /* pass over NAN */
    if (isnan(most)) {
        set_needs(t, TL_FACT_FLOW_rate_variation_ratio, here(t, TL_FACT_FLOW_streams_full_bps));
        set_needs(t, TL_FACT_FLOW_link_low_bps, here(t, TL_FACT_FLOW_streams_full_bps));
        set_needs(t, TL_FACT_FLOW_link_high_bps, here(t, TL_FACT_FLOW_streams_full_bps));
        return;
    }
    set(t, TL_FACT_FLOW_rate_variation_ratio, most, "");
    if (most >= CHANGES_RATIO) {
        set(t, TL_FACT_FLOW_link_low_bps, low, "");
        set(t, TL_FACT_FLOW_link_high_bps, high, "");
    } else {
        tl_facts_set_unknown(t->facts, here(t, TL_FACT_FLOW_link_low_bps), steady);
        tl_facts_set_unknown(t->facts, here(t, TL_FACT_FLOW_link_high_bps), steady);
    }
}

/* Segments are named from this PC, rules speak of sender and receiver. */
static void derive_tight_lans(const struct target *t)
{
    struct tl_fact tight;
    bool download = t->scope == TL_SCOPE_DOWNLOAD;
    tl_facts_get(t->facts, here(t, TL_FACT_FLOW_tight_segment), &tight);
    bool known = tight.state == TL_FACT_KNOWN;
    bool near = known && strcmp(tight.text, "lan") == 0;
    bool far = known && strcmp(tight.text, "far-lan") == 0;
    if (!known) {
        set_needs(t, TL_FACT_FLOW_sender_lan_queue_ratio, here(t, TL_FACT_FLOW_tight_segment));
        set_needs(t, TL_FACT_FLOW_receiver_lan_queue_ratio, here(t, TL_FACT_FLOW_tight_segment));
        return;
    }
    set(t, TL_FACT_FLOW_sender_lan_queue_ratio, (download ? far : near) ? 1 : 0, "");
    set(t, TL_FACT_FLOW_receiver_lan_queue_ratio, (download ? near : far) ? 1 : 0, "");
}

static void derive_bdp(const struct target *t)
{
    double rate = flow(t, TL_FACT_FLOW_best_goodput_bps);
    double rtt = number_in(t->facts, TL_PATH(rtt_min_ns));
    if (isnan(rate))
        set_needs(t, TL_FACT_FLOW_bdp_bytes, here(t, TL_FACT_FLOW_goodput_bps));
    else if (isnan(rtt))
        set_needs(t, TL_FACT_FLOW_bdp_bytes, TL_PATH(rtt_min_ns));
    else
        set(t, TL_FACT_FLOW_bdp_bytes, tl_bytes_from_bps_ns(rate, rtt), "");
}

/* The kernel takes a buffer that a program asks for twice (socket(7)), autotuning's not. */
#define ASKED_IS_DOUBLED 2

static void derive_window_reach(const struct target *t, enum tl_direction direction)
{
    struct tl_fact_key one = here(t, TL_FACT_FLOW_goodput_bps);
    bool by_sender =
        flow(t, TL_FACT_FLOW_ledger_sndbuf_ratio) > flow(t, TL_FACT_FLOW_ledger_rwnd_ratio);
    struct tl_fact_key asked = by_sender ? TL_HOST_OF(direction, TL_SENDER, core_wmem_max_bytes)
                                         : TL_HOST_OF(direction, TL_RECEIVER, core_rmem_max_bytes);
    struct tl_fact_key tuned = by_sender ? TL_HOST_OF(direction, TL_SENDER, tcp_wmem_max_bytes)
                                         : TL_HOST_OF(direction, TL_RECEIVER, tcp_rmem_max_bytes);
    double one_bps = number_in(t->facts, one), asked_bytes = number_in(t->facts, asked),
           tuned_bytes = number_in(t->facts, tuned);
    if (isnan(one_bps))
        set_needs(t, TL_FACT_FLOW_window_reach_bps, one);
    else if (isnan(asked_bytes))
        set_needs(t, TL_FACT_FLOW_window_reach_bps, asked);
    else if (!(tuned_bytes > 0))
        set_needs(t, TL_FACT_FLOW_window_reach_bps, tuned);
    else
        set(t, TL_FACT_FLOW_window_reach_bps,
            one_bps * ASKED_IS_DOUBLED * asked_bytes / tuned_bytes, "");
}

/* A sender in need of window sends whole segments (RFC 9293, section 3.8.6.2.1, avoidance of
 * silly windows): what is left beside them stays unused, and of a window of a few segments
 * that is much. */
static void derive_usable_window(const struct target *t)
{
    double window = flow(t, TL_FACT_FLOW_snd_wnd_max_bytes), mss = flow(t, TL_FACT_FLOW_mss_bytes);
    if (isnan(window))
        set_needs(t, TL_FACT_FLOW_usable_window_bytes, here(t, TL_FACT_FLOW_snd_wnd_max_bytes));
    else if (!(mss > 0) || window < mss)
        set(t, TL_FACT_FLOW_usable_window_bytes, window, "as advertised");
    else
        set(t, TL_FACT_FLOW_usable_window_bytes, floor(window / mss) * mss, "");
}

/* From this share on, packet processing in interrupts is what fills a core. */
#define SOFTIRQ_OWNS_CORE 0.5

/* How near the processor was to its limit: the largest of
 * - running + waiting of the data thread: the share of time in which it had work and
 *   either had a core or was refused one, by other threads or by the control group's
 *   throttle. At 1 it never waited for the network. Cut at 1: the two counters are
 *   read one after the other.
 * - the share of the control group's quota that was used.
 * - the busiest core, but only where interrupts take half of it: receive processing
 *   then fills a core that the thread need not even run on. A core that is busy with
 *   other programs says nothing: if they are in the way, the thread is seen waiting. */
static void derive_cpu(const struct target *t, enum tl_direction direction, enum tl_end end)
{
    double running = number_in(t->facts, TL_END(direction, end, thread_cpu_ratio));
    double waiting = number_in(t->facts, TL_END(direction, end, cpu_wait_ratio));
    double quota = number_in(t->facts, TL_END(direction, end, quota_used_ratio));
    double busiest = number_in(t->facts, TL_END(direction, end, core_busy_ratio));
    double softirq = number_in(t->facts, TL_END(direction, end, softirq_ratio));
    double thread = isnan(waiting) ? running : fmin(running + waiting, 1);
    double core = softirq >= SOFTIRQ_OWNS_CORE ? busiest : (double)NAN;
    double most = fmax(fmax(thread, quota), core); /* fmax leaves NANs out */
    const char *method = most == thread  ? "running and waiting share of the data thread"
                         : most == quota ? "use of the control group's quota"
                                         : "busiest core, filled by interrupts";
    struct tl_fact_key result = TL_END(direction, end, cpu_ratio);
    if (isnan(most))
        tl_facts_set_lacking(t->facts, result, TL_END(direction, end, thread_cpu_ratio));
    else
        tl_facts_set_number(t->facts, result, most, method);
}

/* Ethernet: preamble 8, header 14, FCS 4, gap 12 (IEEE 802.3, clause 3 and 4.4.2). */
#define ETHERNET_EXTRA_BYTES 38
/* IPv4 20 + TCP 20 is the least, IPv6 40 + TCP 60 the most that headers can take. */
#define HEADERS_LEAST_BYTES 40
#define HEADERS_MOST_BYTES  100
/* IPv4 20 + TCP 20 + timestamps 12, where the MTU does not tell. */
#define HEADERS_USUAL_BYTES 52

/* The packet is as large as the MTU only where the MTU set the segment size; a segment
 * size that was clamped on the way leaves smaller packets with the usual headers. */
static void derive_payload_ratio(const struct target *t)
{
    double mss = flow(t, TL_FACT_FLOW_mss_bytes), mtu = number_in(t->facts, TL_PATH(mtu_bytes));
    if (!(mss > 0)) {
        set_needs(t, TL_FACT_FLOW_payload_ratio, here(t, TL_FACT_FLOW_mss_bytes));
        return;
    }
    double headers = mtu - mss;
    bool fits = headers >= HEADERS_LEAST_BYTES && headers <= HEADERS_MOST_BYTES;
    if (!fits)
        headers = HEADERS_USUAL_BYTES;
    set(t, TL_FACT_FLOW_payload_ratio, mss / (mss + headers + ETHERNET_EXTRA_BYTES),
        fits ? "" : "headers of 52 bytes assumed");
}

/* Either direction's share will do: the framing is the same. */
static void derive_link_payload(struct tl_facts *facts, enum tl_scope host)
{
    struct target t = {facts, host};
    double share = number_in(facts, TL_FLOW(TL_DOWNLOAD, payload_ratio));
    if (isnan(share))
        share = number_in(facts, TL_FLOW(TL_UPLOAD, payload_ratio));
    double speed = number_in(facts, TL_HOST(host, link_speed_bps));
    if (number_in(facts, TL_HOST(host, link_speed_nominal)) == 1)
        tl_facts_set_unknown(facts, TL_HOST(host, link_payload_bps),
                             "the interface's speed is only a name");
    else if (!(speed > 0))
        set_needs(&t, TL_FACT_HOST_link_payload_bps, TL_HOST(host, link_speed_bps));
    else if (isnan(share))
        set_needs(&t, TL_FACT_HOST_link_payload_bps, TL_FLOW(TL_DOWNLOAD, mss_bytes));
    else
        set(&t, TL_FACT_HOST_link_payload_bps, speed * share, "");
}

/* Programs before the card below was looked for tell the interface alone: where that is a card it
 * is the one. */
static void derive_card(struct tl_facts *facts, enum tl_scope host)
{
    static const char *const cards[] = {"ethernet", "wireless", "paravirtual"};
    static const char source[] = "the interface itself";
    struct tl_fact kind, card, name;

    tl_facts_get(facts, TL_HOST(host, link_card_kind), &card);
    tl_facts_get(facts, TL_HOST(host, link_kind), &kind);
    tl_facts_get(facts, TL_HOST(host, link_name), &name);
    if (card.state == TL_FACT_KNOWN || kind.state != TL_FACT_KNOWN)
        return;
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        if (strcmp(kind.text, cards[i]) != 0)
            continue;
        tl_facts_set_text(facts, TL_HOST(host, link_card_kind), cards[i], source);
        if (name.state == TL_FACT_KNOWN)
            tl_facts_set_text(facts, TL_HOST(host, link_card_name), name.text, source);
    }
    if (strcmp(kind.text, "veth") == 0 || strcmp(kind.text, "loopback") == 0)
        tl_facts_set_text(facts, TL_HOST(host, link_card_kind), "none", source);
}

void tl_facts_derive(struct tl_facts *facts)
{
    derive_rtt_min(facts);
    derive_scatter(facts);
    for (int d = TL_DOWNLOAD; d <= TL_UPLOAD; d++) {
        enum tl_direction direction = (enum tl_direction)d;
        struct target t = {facts, tl_scope_of(direction)};
        derive_quotient(&t, TL_FACT_FLOW_streams_scale_ratio, TL_FACT_FLOW_streams_goodput_bps,
                        TL_FACT_FLOW_goodput_bps);
        derive_quotient(&t, TL_FACT_FLOW_window_scale_ratio, TL_FACT_FLOW_window_goodput_bps,
                        TL_FACT_FLOW_goodput_bps);
        derive_best(&t);
        derive_variation(&t);
        derive_tight_lans(&t);
        derive_queue_delay(&t);
        derive_bdp(&t);
        derive_usable_window(&t);
        derive_window_reach(&t, direction);
        derive_cpu(&t, direction, TL_SENDER);
        derive_cpu(&t, direction, TL_RECEIVER);
        derive_payload_ratio(&t);
    }
    derive_link_payload(facts, TL_SCOPE_NEAR);
    derive_link_payload(facts, TL_SCOPE_FAR);
    derive_card(facts, TL_SCOPE_NEAR);
    derive_card(facts, TL_SCOPE_FAR);
}
