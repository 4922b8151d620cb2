/* The facts of stage "derived": formulas over what was measured. The table gives
 * each formula in its meaning; why it is that one stands at the function.
 *
 * An unknown input makes the result unknown with a reason that names it, so that
 * the session can find the stage to run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store.h"
#include "tightlink/base/units.h"

/* One result and its scope while it is being computed. */
struct target {
    struct tl_facts *facts;
    enum tl_scope scope;
};

static const char *id_in(char id[TL_FACT_ID_SIZE], enum tl_scope scope, const char *name)
{
    snprintf(id, TL_FACT_ID_SIZE, "%s.%s", tl_scope_name(scope), name);
    return id;
}

static double number_in(const struct tl_facts *facts, enum tl_scope scope, const char *name)
{
    char id[TL_FACT_ID_SIZE];
    return tl_facts_number(facts, id_in(id, scope, name), (double)NAN);
}

/* A fact of the flow itself. */
static double flow(const struct target *t, const char *name)
{
    return number_in(t->facts, t->scope, name);
}

static void set(const struct target *t, const char *name, double value, const char *method)
{
    char id[TL_FACT_ID_SIZE];
    tl_facts_set_number(t->facts, id_in(id, t->scope, name), value, method);
}

/* The result is unknown because the fact needed (in scope) is. */
static void set_needs(const struct target *t, const char *name, enum tl_scope scope,
                      const char *needed)
{
    char id[TL_FACT_ID_SIZE], needed_id[TL_FACT_ID_SIZE];
    struct tl_fact fact;
    tl_facts_get(t->facts, id_in(needed_id, scope, needed), &fact);
    id_in(id, t->scope, name);
    if (fact.state == TL_FACT_KNOWN)
        tl_facts_set_unknown(t->facts, id, "%s is zero", needed_id);
    else
        tl_facts_set_unknown(t->facts, id, "needs %s (%s)", needed_id, fact.reason);
}

/* The largest known of several facts of the flow; *ret_name names it. NAN if none is known. */
static double largest(const struct target *t, const char *const *names, const char **ret_name)
{
    double most = (double)NAN;
    for (; *names; names++) {
        double value = flow(t, *names);
        if (!isnan(value) && !(most >= value)) {
            most = value;
            *ret_name = *names;
        }
    }
    return most;
}

/* The time of the handshake includes the accept delay of the other end, and a proxy
 * may answer it early: it only stands in where nothing else was measured. */
static void derive_rtt_min(struct tl_facts *facts)
{
    static const char *const ids[] = {"path.rtt_idle_min_ns", "download.rtt_min_ns",
                                      "upload.rtt_min_ns"};
    const char *from = "path.connect_rtt_ns";
    double least = (double)NAN;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        double value = tl_facts_number(facts, ids[i], (double)NAN);
        if (value > 0 && !(least <= value)) {
            least = value;
            from = ids[i];
        }
    }
    if (isnan(least))
        least = tl_facts_number(facts, from, (double)NAN);
    struct target path = {facts, TL_SCOPE_PATH};
    if (least > 0)
        set(&path, "rtt_min_ns", least, from);
    else
        set_needs(&path, "rtt_min_ns", TL_SCOPE_PATH, "rtt_idle_min_ns");
}

static void derive_quotient(const struct target *t, const char *name, const char *above,
                            const char *below)
{
    double a = flow(t, above), b = flow(t, below);
    if (isnan(a))
        set_needs(t, name, t->scope, above);
    else if (!(b > 0))
        set_needs(t, name, t->scope, below);
    else
        set(t, name, a / b, "");
}

static void derive_best(const struct target *t)
{
    static const char *const rates[] = {"goodput_bps", "streams_goodput_bps", "window_goodput_bps",
                                        NULL};
    const char *from = "";
    double best = largest(t, rates, &from);
    if (isnan(best))
        set_needs(t, "best_goodput_bps", t->scope, "goodput_bps");
    else
        set(t, "best_goodput_bps", best, from);
}

/* Both delays are what the sender's TCP smoothed, less the path's empty time. */
static void derive_queue_delays(const struct target *t)
{
    static const char *const loaded[] = {"rtt_mean_ns", "streams_rtt_mean_ns", "window_rtt_mean_ns",
                                         NULL};
    const char *from = "";
    double least = number_in(t->facts, TL_SCOPE_PATH, "rtt_min_ns");
    double mean = largest(t, loaded, &from), at_loss = flow(t, "rtt_at_loss_ns");
    if (isnan(least)) {
        set_needs(t, "queue_delay_ns", TL_SCOPE_PATH, "rtt_min_ns");
        set_needs(t, "queue_delay_at_loss_ns", TL_SCOPE_PATH, "rtt_min_ns");
        return;
    }
    if (isnan(mean))
        set_needs(t, "queue_delay_ns", t->scope, "rtt_mean_ns");
    else
        set(t, "queue_delay_ns", fmax(mean - least, 0), from);
    if (isnan(at_loss))
        set_needs(t, "queue_delay_at_loss_ns", t->scope, "rtt_at_loss_ns");
    else
        set(t, "queue_delay_at_loss_ns", fmax(at_loss - least, 0), "");
}

/* Of a delay that scatters evenly three quarters lie within 0.75 of its range; with thirty probes
 * that is known to a tenth or so. Not a higher percentile: a host that hiccups for 150 ms delays a
 * quarter of them. Jitter that keeps the order lets no packet overtake a late one: in a dense
 * stream nearly all wait as long as the latest, which is the whole range. */
#define SCATTER_OF_P75 1.5

/* Jitter does not go away under load, and of an even scatter three quarters lie within one and a
 * half medians: idle probes that scatter by more than twice the median beside a load were disturbed
 * by something else. Half of that median is then as much as scatter may be, by judgement. */
#define DISTURBED_RATIO 2
#define UNDISTURBED     0.5

static double scatter_of(const struct target *t, const char *const names[3])
{
    double p75_ns = flow(t, names[0]), scatter_ns = SCATTER_OF_P75 * p75_ns;
    for (int i = 1; i < 3; i++) {
        double loaded_ns = flow(t, names[i]);
        if (p75_ns > DISTURBED_RATIO * loaded_ns) /* not so for NAN */
            scatter_ns = fmin(scatter_ns, UNDISTURBED * loaded_ns);
    }
    return scatter_ns;
}

static void derive_scatter(struct tl_facts *facts)
{
    static const struct {
        const char *to, *from[3];
    } rows[] = {
        {"data_scatter_ns",
         {"idle_data_delay_p75_ns", "loaded_data_delay_ns", "streams_loaded_data_delay_ns"}},
        {"ack_scatter_ns",
         {"idle_ack_delay_p75_ns", "loaded_ack_delay_ns", "streams_loaded_ack_delay_ns"}}};
    struct target path = {facts, TL_SCOPE_PATH};
    for (int s = TL_SCOPE_DOWNLOAD; s <= TL_SCOPE_UPLOAD; s++) {
        struct target t = {facts, (enum tl_scope)s};
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            double scatter_ns = scatter_of(&t, rows[i].from);
            if (isnan(scatter_ns))
                set_needs(&t, rows[i].to, t.scope, rows[i].from[0]);
            else
                set(&t, rows[i].to, scatter_ns, "");
        }
    }
    struct target down = {facts, TL_SCOPE_DOWNLOAD}, up = {facts, TL_SCOPE_UPLOAD};
    double both_ns = fmin(flow(&down, "data_scatter_ns") + flow(&down, "ack_scatter_ns"),
                          flow(&up, "data_scatter_ns") + flow(&up, "ack_scatter_ns"));
    if (isnan(both_ns))
        set_needs(&path, "rtt_scatter_ns", TL_SCOPE_DOWNLOAD, "data_scatter_ns");
    else
        set(&path, "rtt_scatter_ns", both_ns, "");
}

/* Rates of half seconds behind a standing queue scatter by some hundredths on a link of one rate.
 */
#define CHANGES_RATIO 0.3

/* What several measurements of the link's own rate say together; each may be missing. */
struct variation {
    double most, low, high; /* NAN: none was made */
};

static void add_rate(const struct target *t, const char *name, struct variation *variation)
{
    struct tl_fact fact;
    char id[TL_FACT_ID_SIZE];
    tl_facts_get(t->facts, id_in(id, t->scope, name), &fact);
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
    double first = flow(t, "full_bps"), again = flow(t, "again_bps");
    return fabs(again - first) / fmax(first, again);
}

static void derive_variation(const struct target *t)
{
    static const char steady[] = "the link's rate does not change much";
    struct variation all = {NAN, NAN, NAN};
    char id[TL_FACT_ID_SIZE];
    add_rate(t, "full_bps", &all);
    add_rate(t, "streams_full_bps", &all);
    double most = fmax(all.most, between_turns(t)), low = all.low, high = all.high;
    if (isnan(most)) {
        set_needs(t, "rate_variation_ratio", t->scope, "streams_full_bps");
        set_needs(t, "link_low_bps", t->scope, "streams_full_bps");
        set_needs(t, "link_high_bps", t->scope, "streams_full_bps");
        return;
    }
    set(t, "rate_variation_ratio", most, "");
    if (most >= CHANGES_RATIO) {
        set(t, "link_low_bps", low, "");
        set(t, "link_high_bps", high, "");
    } else {
        tl_facts_set_unknown(t->facts, id_in(id, t->scope, "link_low_bps"), steady);
        tl_facts_set_unknown(t->facts, id_in(id, t->scope, "link_high_bps"), steady);
    }
}

/* Segments are named from this PC, rules speak of sender and receiver. */
static void derive_tight_lans(const struct target *t)
{
    struct tl_fact tight;
    char id[TL_FACT_ID_SIZE];
    bool download = t->scope == TL_SCOPE_DOWNLOAD;
    tl_facts_get(t->facts, id_in(id, t->scope, "tight_segment"), &tight);
    bool known = tight.state == TL_FACT_KNOWN;
    bool near = known && strcmp(tight.text, "lan") == 0;
    bool far = known && strcmp(tight.text, "far-lan") == 0;
    if (!known) {
        set_needs(t, "sender_lan_queue_ratio", t->scope, "tight_segment");
        set_needs(t, "receiver_lan_queue_ratio", t->scope, "tight_segment");
        return;
    }
    set(t, "sender_lan_queue_ratio", (download ? far : near) ? 1 : 0, "");
    set(t, "receiver_lan_queue_ratio", (download ? near : far) ? 1 : 0, "");
}

static void derive_bdp(const struct target *t)
{
    double rate = flow(t, "best_goodput_bps");
    double rtt = number_in(t->facts, TL_SCOPE_PATH, "rtt_min_ns");
    if (isnan(rate))
        set_needs(t, "bdp_bytes", t->scope, "goodput_bps");
    else if (isnan(rtt))
        set_needs(t, "bdp_bytes", TL_SCOPE_PATH, "rtt_min_ns");
    else
        set(t, "bdp_bytes", tl_bytes_from_bps_ns(rate, rtt), "");
}

/* A sender in need of window sends whole segments (RFC 9293, section 3.8.6.2.1, avoidance of
 * silly windows): what is left beside them stays unused, and of a window of a few segments
 * that is much. */
static void derive_usable_window(const struct target *t)
{
    double window = flow(t, "snd_wnd_max_bytes"), mss = flow(t, "mss_bytes");
    if (isnan(window))
        set_needs(t, "usable_window_bytes", t->scope, "snd_wnd_max_bytes");
    else if (!(mss > 0) || window < mss)
        set(t, "usable_window_bytes", window, "as advertised");
    else
        set(t, "usable_window_bytes", floor(window / mss) * mss, "");
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
static void derive_cpu(const struct target *t, const char *role)
{
    static const char *const parts[] = {"thread_cpu", "cpu_wait", "quota_used", "core_busy",
                                        "softirq"};
    double value[5];
    char name[TL_FACT_NAME_SIZE], result[TL_FACT_NAME_SIZE];
    for (size_t i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "%s_%s_ratio", role, parts[i]);
        value[i] = flow(t, name);
    }
    double thread = isnan(value[1]) ? value[0] : fmin(value[0] + value[1], 1);
    double core = value[4] >= SOFTIRQ_OWNS_CORE ? value[3] : (double)NAN;
    double most = fmax(fmax(thread, value[2]), core); /* fmax leaves NANs out */
    const char *method = most == thread     ? "running and waiting share of the data thread"
                         : most == value[2] ? "use of the control group's quota"
                                            : "busiest core, filled by interrupts";
    snprintf(result, sizeof result, "%s_cpu_ratio", role);
    snprintf(name, sizeof name, "%s_thread_cpu_ratio", role);
    if (isnan(most))
        set_needs(t, result, t->scope, name);
    else
        set(t, result, most, method);
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
    double mss = flow(t, "mss_bytes"), mtu = number_in(t->facts, TL_SCOPE_PATH, "mtu_bytes");
    if (!(mss > 0)) {
        set_needs(t, "payload_ratio", t->scope, "mss_bytes");
        return;
    }
    double headers = mtu - mss;
    bool fits = headers >= HEADERS_LEAST_BYTES && headers <= HEADERS_MOST_BYTES;
    if (!fits)
        headers = HEADERS_USUAL_BYTES;
    set(t, "payload_ratio", mss / (mss + headers + ETHERNET_EXTRA_BYTES),
        fits ? "" : "headers of 52 bytes assumed");
}

/* Either direction's share will do: the framing is the same. */
static void derive_link_payload(struct tl_facts *facts, enum tl_scope host)
{
    struct target t = {facts, host};
    double share = number_in(facts, TL_SCOPE_DOWNLOAD, "payload_ratio");
    if (isnan(share))
        share = number_in(facts, TL_SCOPE_UPLOAD, "payload_ratio");
    double speed = number_in(facts, host, "link_speed_bps");
    char id[TL_FACT_ID_SIZE];
    if (number_in(facts, host, "link_speed_nominal") == 1)
        tl_facts_set_unknown(facts, id_in(id, host, "link_payload_bps"),
                             "the interface's speed is only a name");
    else if (!(speed > 0))
        set_needs(&t, "link_payload_bps", host, "link_speed_bps");
    else if (isnan(share))
        set_needs(&t, "link_payload_bps", TL_SCOPE_DOWNLOAD, "mss_bytes");
    else
        set(&t, "link_payload_bps", speed * share, "");
}

void tl_facts_derive(struct tl_facts *facts)
{
    derive_rtt_min(facts);
    derive_scatter(facts);
    for (int s = TL_SCOPE_DOWNLOAD; s <= TL_SCOPE_UPLOAD; s++) {
        struct target t = {facts, (enum tl_scope)s};
        derive_quotient(&t, "streams_scale_ratio", "streams_goodput_bps", "goodput_bps");
        derive_quotient(&t, "window_scale_ratio", "window_goodput_bps", "goodput_bps");
        derive_best(&t);
        derive_variation(&t);
        derive_tight_lans(&t);
        derive_queue_delays(&t);
        derive_bdp(&t);
        derive_usable_window(&t);
        derive_cpu(&t, "sender");
        derive_cpu(&t, "receiver");
        derive_payload_ratio(&t);
    }
    derive_link_payload(facts, TL_SCOPE_NEAR);
    derive_link_payload(facts, TL_SCOPE_FAR);
}
