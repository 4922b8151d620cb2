/* Defaults: 25 s, 45 s without a sure verdict, and 1.5 GB; more where physics wants more. */
#include "budget.h"

#include <math.h>
#include <stdio.h>

#include "plan.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"

#define SETTLED_NS (25 * TL_NS_PER_S)
#define OPEN_NS    (45 * TL_NS_PER_S)

/* The default traffic suffices for a link of this speed; faster ones need their share
 * more for the same seconds. */
#define DATA_BUDGET_LINK_BPS 1e9

/* A virtual link may be as fast as the machine's memory; its nominal speed means nothing. */
#define VIRTUAL_LINK_BPS 40e9

static double rtt_ns(const struct tl_facts *facts)
{
    return tl_facts_number(facts, TL_PATH(rtt_min_ns), (double)NAN);
}

/* A long path needs two long streams: one as it is, one to see behind the first limit. */
static int64_t settled_time(const struct tl_facts *facts)
{
    int64_t one = tl_plan_stream_ns(rtt_ns(facts));
    return 2 * one > SETTLED_NS ? 2 * one : SETTLED_NS;
}

/* Who set a limit meant all of it. */
static int64_t open_time(const struct tl_session_config *config, const struct tl_facts *facts)
{
    int64_t settled_ns = settled_time(facts);
    return config->time_budget_ns > 0 || settled_ns > OPEN_NS ? 0 : OPEN_NS - settled_ns;
}

static int64_t time_budget(const struct tl_session_config *config, const struct tl_facts *facts)
{
    int64_t one = tl_plan_stream_ns(rtt_ns(facts));
    int64_t network = settled_time(facts) + open_time(config, facts);
    /* Who names a disk asks for its time too. */
    int64_t files = 4 * one * (config->download + config->upload) + TL_PROBE_DISK_NS;
    if (config->force >> TL_PLAN_BOTH_WAYS & 1)
        network += tl_plan_both_ways_ns(rtt_ns(facts));
    return config->directory || config->far_disk ? network + files : network;
}

static bool link_is_virtual(const struct tl_facts *facts)
{
    struct tl_fact kind;
    tl_facts_get(facts, TL_NEAR(link_kind), &kind);
    bool loopback = kind.text && kind.text[0] == 'l' && kind.text[1] == 'o';
    return loopback || tl_facts_number(facts, TL_NEAR(link_speed_nominal), 0) > 0;
}

/* What a virtual link carries shows only when it has carried it. */
static double virtual_link_bps(const struct tl_facts *facts)
{
    double download = tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, best_goodput_bps), 0);
    double seen = tl_facts_number(facts, TL_FLOW(TL_UPLOAD, best_goodput_bps), 0);
    seen = download > seen ? download : seen;
    return seen > 0 && seen < VIRTUAL_LINK_BPS ? seen : VIRTUAL_LINK_BPS;
}

static int64_t data_budget(const struct tl_facts *facts)
{
    double speed = link_is_virtual(facts)
                       ? virtual_link_bps(facts)
                       : tl_facts_number(facts, TL_NEAR(link_speed_bps), DATA_BUDGET_LINK_BPS);
    double factor = speed / DATA_BUDGET_LINK_BPS;
    return (int64_t)((double)TL_SESSION_DATA_BUDGET * (factor > 1 ? factor : 1));
}

/* At the full rate of the link, for the whole time. */
static int64_t watch_bytes(const struct tl_facts *facts, int64_t watch_ns)
{
    double bytes = (double)data_budget(facts) / (double)TL_SESSION_DATA_BUDGET *
                   DATA_BUDGET_LINK_BPS / 8 * (double)watch_ns / 1e9;
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX / 2;
}

void tl_budget_make(const struct tl_session_config *config, const struct tl_facts *facts,
                    struct tl_budget *ret_budget)
{
    char bytes[TL_UNIT_TEXT_SIZE], ns[TL_UNIT_TEXT_SIZE];
    ret_budget->time_ns =
        config->time_budget_ns > 0 ? config->time_budget_ns : time_budget(config, facts);
    /* What is asked for beside the plan goes on top, where the user set no limit. */
    ret_budget->trial_ns =
        config->verify && config->time_budget_ns <= 0 ? tl_plan_trial_ns(rtt_ns(facts)) : 0;
    ret_budget->open_ns = open_time(config, facts);
    ret_budget->time_ns += ret_budget->trial_ns;
    ret_budget->bytes =
        config->data_budget_bytes > 0 ? config->data_budget_bytes : data_budget(facts);
    ret_budget->worst_bytes = ret_budget->bytes;
    if (config->watch_ns > 0 && config->data_budget_bytes <= 0)
        ret_budget->worst_bytes += watch_bytes(facts, config->watch_ns);
    ret_budget->worst_is_open = config->data_budget_bytes <= 0 && link_is_virtual(facts);
    tl_format_traffic((double)ret_budget->bytes, bytes);
    tl_format_ns((double)ret_budget->time_ns, ns);
    snprintf(
        ret_budget->sentence, sizeof ret_budget->sentence,
        ret_budget->worst_is_open
            ? "This loads the path to its limit for up to %1$s: at most %3$.0f MB on a 100 Mb/s "
              "path, and never more than %2$s; others on the same path may notice."
            : "This loads the path to its limit for up to %1$s and sends at most %2$s; others "
              "on the same path may notice. On a 100 Mb/s path that is %3$.0f MB at most.",
        ns, bytes, fmin((double)ret_budget->bytes / 1e6, (double)ret_budget->time_ns / 1e9 * 12.5));
    if (config->watch_ns <= 0)
        return;
    tl_format_traffic((double)ret_budget->worst_bytes, bytes);
    tl_format_ns((double)config->watch_ns, ns);
    snprintf(ret_budget->sentence, sizeof ret_budget->sentence,
             "This loads the path to its limit, first to find the cause, then with one stream for "
             "%s: at most %s in all%s; others on the same path may notice.",
             ns, bytes, config->data_budget_bytes > 0 ? "" : " (--data-budget holds it down)");
}

int64_t tl_budget_spent_ns(const struct tl_session_config *config, int64_t took_ns,
                           const struct tl_probe_outcome *outcome)
{
    int64_t idle_ns = config->time_budget_ns > 0 ? 0 : outcome->interrupted_ns;
    return idle_ns < took_ns ? took_ns - idle_ns : 0;
}

/* What a link of this host can carry in a time; of a virtual one nobody knows. */
static double link_bytes(const struct tl_facts *facts, double seconds)
{
    double speed_bps = tl_facts_number(facts, TL_NEAR(link_speed_bps), (double)NAN);
    return link_is_virtual(facts) ? (double)NAN : speed_bps / 8 * seconds;
}

void tl_budget_make_trial(const struct tl_session_config *config, const struct tl_facts *facts,
                          double predicted_bps, struct tl_budget *ret_budget)
{
    char bytes[TL_UNIT_TEXT_SIZE], ns[TL_UNIT_TEXT_SIZE], rate[TL_UNIT_TEXT_SIZE],
        expected[TL_UNIT_TEXT_SIZE], about[120] = "";
    tl_budget_make(config, facts, ret_budget);
    ret_budget->time_ns = tl_plan_stream_ns(rtt_ns(facts));
    double seconds = (double)ret_budget->time_ns / 1e9, most = link_bytes(facts, seconds);
    if (most < (double)ret_budget->bytes)
        ret_budget->bytes = (int64_t)most;
    ret_budget->worst_bytes = ret_budget->bytes;
    if (predicted_bps / 8 * seconds < (double)ret_budget->bytes)
        snprintf(about, sizeof about, ", about %s where it brings the %s that are predicted",
                 tl_format_traffic(predicted_bps / 8 * seconds, expected),
                 tl_format_bps(predicted_bps, rate));
    snprintf(ret_budget->sentence, sizeof ret_budget->sentence,
             "This tries the remedy with one stream for up to %s and moves at most %s%s; others on "
             "the same path may notice. No setting is changed.",
             tl_format_ns(seconds * 1e9, ns), tl_format_traffic((double)ret_budget->bytes, bytes),
             about);
}
