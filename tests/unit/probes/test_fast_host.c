/* Hosts with cards that nobody here has: readings as a kernel gives them at 100 and 400 Gb/s, under
 * a clock of our own, go the whole way to a verdict. Where the program's own thread fills its core,
 * this PC is named and not the path, at any rate; where the card is full, it is the card. */
#include <criterion/criterion.h>
#include <math.h>

#include "flow_facts.h"
#include "tightlink/base/time.h"
#include "tightlink/rules/rules.h"

#define STEP_NS      (10 * TL_NS_PER_MS)
#define SECONDS      5
#define SEGMENT      8948 /* payload of a jumbo frame */
#define RTT_NS       60000
#define WINDOW_BYTES 64000000

/* One second of a sender on the card. */
struct speed {
    double card_bps, one_bps, many_bps;
    double thread_ratio; /* of its core */
    uint64_t rtt_ns;     /* under load */
};

static struct tl_rate_point workspace[TL_STEADY_POINTS_MAX];

static void add_reading(struct tl_sample_log *log, const struct speed *speed, int64_t at_ns)
{
    struct tl_tcp_sample sample = {.time_ns = at_ns};
    uint64_t bytes = (uint64_t)(speed->one_bps / 8e9 * (double)at_ns);
    uint64_t in_flight = (uint64_t)(speed->one_bps / 8e9 * (double)speed->rtt_ns);
    tl_sample_set(&sample, TL_SF_app_bytes, bytes);
    tl_sample_set(&sample, TL_SF_cpu_ns, (uint64_t)(speed->thread_ratio * (double)at_ns));
    tl_sample_set(&sample, TL_SF_run_delay_ns, 0);
    tl_sample_set(&sample, TL_SF_options, TL_TCP_OPT_WSCALE | TL_TCP_OPT_SACK);
    tl_sample_set(&sample, TL_SF_snd_mss_bytes, SEGMENT);
    tl_sample_set(&sample, TL_SF_rtt_ns, speed->rtt_ns);
    tl_sample_set(&sample, TL_SF_min_rtt_ns, RTT_NS);
    tl_sample_set(&sample, TL_SF_snd_cwnd_count, 2 * in_flight / SEGMENT);
    tl_sample_set(&sample, TL_SF_bytes_acked, bytes);
    tl_sample_set(&sample, TL_SF_bytes_sent, bytes + in_flight);
    tl_sample_set(&sample, TL_SF_bytes_retrans, 0);
    tl_sample_set(&sample, TL_SF_total_retrans_count, 0);
    tl_sample_set(&sample, TL_SF_data_segs_out_count, bytes / SEGMENT);
    tl_sample_set(&sample, TL_SF_reord_seen_count, 0);
    tl_sample_set(&sample, TL_SF_dsack_dups_count, 0);
    tl_sample_set(&sample, TL_SF_snd_wnd_bytes, WINDOW_BYTES);
    tl_sample_set(&sample, TL_SF_busy_ns, (uint64_t)at_ns);
    tl_sample_set(&sample, TL_SF_rwnd_limited_ns, 0);
    tl_sample_set(&sample, TL_SF_sndbuf_limited_ns, 0);
    cr_assert_eq(tl_sample_log_add(log, &sample, 2 * SECONDS * 1000), TL_OK);
}

/* The stream as its stage leaves it in the facts; an upload: this PC sends. */
static void measure_one(struct tl_facts *facts, const struct speed *speed)
{
    struct tl_sample_log sent = {0}, got = {0};
    struct tl_steady steady;
    struct tl_cpu_usage usage = {.elapsed_ns = SECONDS * TL_NS_PER_S};
    for (int64_t at_ns = 0; at_ns <= SECONDS * TL_NS_PER_S; at_ns += STEP_NS) {
        add_reading(&sent, speed, at_ns);
        add_reading(&got, speed, at_ns);
    }
    tl_steady_analyse(&sent, &got, 1, "cubic", workspace, &steady);
    cr_assert(steady.rate.valid && steady.rate.long_enough);
    cr_expect_float_eq(steady.rate.goodput_bps / speed->one_bps, 1, 0.001, "%g b/s",
                       steady.rate.goodput_bps);
    tl_flow_set_stream(facts, TL_UPLOAD, &steady, "cubic");
    usage.values[TL_CPU_CORE_BUSY] = tl_host_known(fmin(speed->thread_ratio + 0.01, 1));
    usage.values[TL_CPU_SOFTIRQ] = tl_host_known(0.1);
    tl_flow_set_cpu(facts, TL_UPLOAD, TL_SENDER, &usage, steady.sender.thread_cpu_ratio, 0);
    tl_sample_log_finish(&sent);
    tl_sample_log_finish(&got);
}

static void judge(const struct speed *speed, struct tl_findings **ret_findings)
{
    struct tl_rules *rules = NULL;
    struct tl_error error = {0};
    struct tl_facts *facts = tl_facts_create();
    struct tl_question question = {
        .upload = true, .goal_bps = (double)NAN, .goal_rtt_ns = (double)NAN, .quality_reason = ""};
    cr_assert_eq(tl_rules_load_builtin(&rules, &error), TL_OK, "%s", error.text);
    tl_facts_set_number(facts, TL_PATH(rtt_min_ns), RTT_NS, "");
    tl_facts_set_number(facts, TL_PATH(rtt_idle_ns), RTT_NS, "");
    tl_facts_set_number(facts, TL_NEAR(link_speed_bps), speed->card_bps, "");
    tl_facts_set_bool(facts, TL_NEAR(link_speed_nominal), false, "");
    measure_one(facts, speed);
    tl_facts_set_number(facts, TL_FLOW(TL_UPLOAD, streams_count), 8, "");
    tl_facts_set_number(facts, TL_FLOW(TL_UPLOAD, streams_goodput_bps), speed->many_bps, "");
    tl_facts_set_number(facts, TL_FLOW(TL_UPLOAD, streams_rtt_mean_ns), (double)speed->rtt_ns, "");
    tl_facts_set_number(facts, TL_FLOW(TL_UPLOAD, streams_retrans_ratio), 0, "");
    tl_facts_derive(facts);
    cr_assert_eq(tl_rules_judge(rules, facts, &question, ret_findings, &error), TL_OK, "%s",
                 error.text);
    tl_facts_destroy(facts);
    tl_rules_destroy(rules);
}

static void expect(const struct speed *speed, const char *cause)
{
    struct tl_findings *findings;
    judge(speed, &findings);
    const struct tl_verdict *verdict = &findings->verdict;
    cr_expect(verdict->state == TL_LIMITED && verdict->cause && strcmp(verdict->cause, cause) == 0,
              "%g Gb/s on %g: %s, %s", speed->one_bps / 1e9, speed->card_bps / 1e9,
              verdict->cause ? verdict->cause : "no cause", verdict->sentence);
    cr_expect(!verdict->segment || strcmp(verdict->segment, "near-host") == 0, "%s",
              verdict->segment);
    tl_findings_destroy(findings);
}

Test(fast_host, a_thread_that_fills_its_core_is_the_limit_at_any_rate)
{
    expect(&(struct speed){10e9, 8.1e9, 9.4e9, 0.99, RTT_NS + 20000}, "cpu");
    expect(&(struct speed){100e9, 41e9, 93e9, 0.99, RTT_NS + 20000}, "cpu");
    expect(&(struct speed){400e9, 88e9, 310e9, 0.99, RTT_NS + 20000}, "cpu");
}

Test(fast_host, an_idle_thread_is_not)
{
    struct speed full = {400e9, 370e9, 372e9, 0.4, 5 * RTT_NS};
    struct tl_findings *findings;
    judge(&full, &findings);
    cr_expect(!findings->verdict.cause || strcmp(findings->verdict.cause, "cpu") != 0, "%s",
              findings->verdict.sentence);
    tl_findings_destroy(findings);
}
