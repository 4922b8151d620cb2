/* Runs with findings, made by hand. */
#include "fixtures.h"

#include <math.h>
#include <string.h>

#define NONE         ((double)NAN)
#define COUNT(array) (sizeof(array) / sizeof *(array))

const char *const fixture_names[] = {"limited", "capacity", "goal-met", "inconclusive",
                                     "invalid", "both",     NULL};

/* --- receive window --- */

static struct tl_evidence_value window_values[] = {
    {.key = {TL_SCOPE_DOWNLOAD, TL_FACT_FLOW_ledger_rwnd_ratio}, .known = true, .number = 0.91},
    {.key = {TL_SCOPE_DOWNLOAD, TL_FACT_FLOW_cc}, .known = true, .number = NONE, .text = "cubic"},
    {.key = {TL_SCOPE_DOWNLOAD, TL_FACT_FLOW_window_goodput_bps}, .known = false, .number = NONE},
};

static struct tl_evidence window_evidence[] = {
    {.id = "window-limited",
     .say = "the sender waited for the receive window 91 % of the time",
     .test = "flow.ledger_rwnd_ratio > 0.1",
     .truth = TL_TRUE,
     .is_for = true,
     .values = window_values,
     .value_count = 3},
    {.id = "no-queue",
     .say = "the round-trip time stayed flat, 42.3 ms: no queue on the way",
     .test = "flow.rtt_mean_ns <= 1.3 * flow.rtt_min_ns",
     .truth = TL_TRUE,
     .is_for = true},
    {.id = "window-full",
     .say = "the window was full in only 40 % of the readings",
     .test = "flow.window_full_ratio >= 0.5",
     .truth = TL_FALSE,
     .is_for = false},
    {.id = "larger-window-helps",
     .say = "not tested: stage window would tell",
     .test = "flow.window_goodput_bps / flow.goodput_bps >= 1.15",
     .truth = TL_UNKNOWN_TRUTH,
     .is_for = true},
};

static struct tl_remedy window_remedies[] = {
    {.where = "near-host",
     .os = "linux",
     .needs = "root",
     .does = "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 16777216\"",
     .undo = "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 524288\"",
     .persist = "echo 'net.ipv4.tcp_rmem = 4096 131072 16777216' > "
                "/etc/sysctl.d/60-tcp-buffers.conf",
     .why = "930 Mb/s over 42 ms keeps 4.66 MiB on the way; the kernel keeps a share of the "
            "buffer for its own bookkeeping, so the maximum is twice that, rounded up.",
     .risk = "Each busy connection may use up to that much memory.",
     .predicted = {930e6, NAN, NAN},
     .promised = true,
     .trial = {TL_TRIAL_RCVBUF, 16777216, ""}},
    {.where = "flow",
     .os = "",
     .needs = "user",
     .does = "Until then transfer with several connections at once, where the program can (for "
             "instance 8).",
     .undo = "",
     .persist = "",
     .why = "The limit holds for each connection; 8 together reached 768 Mb/s.",
     .risk = "",
     .predicted = {768e6, NAN, NAN},
     .promised = true},
};

static char *window_references[] = {"RFC 7323, section 2 (window scale)"};
static struct tl_fact_key loss_missing[] = {{TL_SCOPE_DOWNLOAD, TL_FACT_FLOW_paced_retrans_ratio},
                                            {TL_SCOPE_PATH, TL_FACT_PATH_rtt_min_ns}};

static struct tl_finding window_findings[] = {
    {.rule = "receive-window",
     .cause = "receive-window",
     .title = "The receiver's TCP buffer is too small for this path",
     .segment = "near-host",
     .result = TL_FOUND,
     .severity = TL_LIMITS,
     .confidence = 0.93,
     .ceiling_bps = 99.9e6,
     .ceiling_low_bps = 96e6,
     .ceiling_high_bps = NONE,
     .sentence = "This PC limits the download: its TCP receive buffer lets only 512 KiB be on the "
                 "way at once, and over a 42 ms path that carries at most 99.9 Mb/s; 96.1 Mb/s "
                 "were seen.",
     .send_to = "desktop support (this PC)",
     .evidence = window_evidence,
     .evidence_count = COUNT(window_evidence),
     .remedies = window_remedies,
     .remedy_count = COUNT(window_remedies),
     .references = window_references,
     .reference_count = 1,
     .would_change = "A larger window that does not raise the rate would speak against this."},
    {.rule = "sack-off",
     .cause = "sack-off",
     .title = "Selective acknowledgement is off",
     .segment = "far-host",
     .result = TL_FOUND,
     .severity = TL_NOTE,
     .confidence = 0.6,
     .ceiling_bps = NONE,
     .ceiling_low_bps = NONE,
     .ceiling_high_bps = NONE,
     .sentence = "Selective acknowledgement is switched off at the far end; nothing was lost, so "
                 "it did no harm here.",
     .would_change = ""},
    {.rule = "random-loss",
     .cause = "random-loss",
     .title = "Packets are lost regardless of load",
     .segment = "path",
     .result = TL_CANNOT_TELL,
     .ceiling_bps = NONE,
     .ceiling_low_bps = NONE,
     .ceiling_high_bps = NONE,
     .sentence = "Packets were lost (0.002 %); whether the path loses them at low rates too was "
                 "not measured.",
     .missing = loss_missing,
     .missing_count = COUNT(loss_missing),
     .would_change = ""},
    {.rule = "cpu-receiver",
     .cause = "cpu",
     .title = "One processor core is saturated",
     .segment = "near-host",
     .result = TL_RULED_OUT,
     .ceiling_bps = NONE,
     .ceiling_low_bps = NONE,
     .ceiling_high_bps = NONE,
     .sentence = "The processor of this PC is not the limit: 11 % used."},
    {.rule = "send-buffer",
     .cause = "send-buffer",
     .title = "The sender's TCP buffer is too small for this path",
     .segment = "far-host",
     .result = TL_RULED_OUT,
     .ceiling_bps = NONE,
     .ceiling_low_bps = NONE,
     .ceiling_high_bps = NONE,
     .sentence = "The send buffer of the far end does not limit: it held the sender back 3 % of "
                 "the time, far less than the window did."},
    {.rule = "window-scaling-off",
     .cause = "window-scaling-off",
     .title = "TCP window scaling is off",
     .segment = "near-host",
     .result = TL_NOT_APPLICABLE,
     .ceiling_bps = NONE,
     .ceiling_low_bps = NONE,
     .ceiling_high_bps = NONE,
     .sentence = ""},
};

static struct tl_rung window_ladder[] = {
    {"receive-window", "near-host", TL_DOWNLOAD, true, 99.9e6, 96e6, NONE, "receive buffer", "",
     true, false, NULL, 0},
    {"capacity", "path", TL_DOWNLOAD, true, 930e6, 920e6, 936e6, "one and 8 connections agree", "",
     false, false, NULL, 0},
    {"nic-speed", "near-host", TL_DOWNLOAD, true, 941e6, NONE, NONE, "network card at 1 Gb/s", "",
     false, false, NULL, 0},
    {"random-loss", "path", TL_DOWNLOAD, false, NONE, NONE, NONE, "loss",
     "no loss that stays at low rates: none in 1000000 packets says only that it is below 0.0003 %",
     false, false, NULL, 0},
};

static struct tl_ledger_row window_ledger[] = {{TL_DOWNLOAD, 0.0, 0.03, 0.91, 0.06, 5e9}};

/* --- the path is full --- */

static struct tl_evidence capacity_evidence[] = {
    {.id = "streams-agree",
     .say = "8 connections together get no more: 47.8 Mb/s",
     .test = "flow.streams_scale_ratio <= 1.1",
     .truth = TL_TRUE,
     .is_for = true},
};

static struct tl_remedy capacity_remedies[] = {
    {.where = "path",
     .os = "",
     .needs = "network-team",
     .does = "Ask for more capacity on the path, or find out which link of it carries 47.9 Mb/s.",
     .undo = "",
     .persist = "",
     .why = "One connection and several reach the same rate; nothing at the two hosts holds them "
            "back.",
     .risk = "",
     .predicted = {9.4e9, NAN, NAN}},
};

static struct tl_finding capacity_findings[] = {
    {.rule = "capacity",
     .cause = "capacity",
     .title = "The slowest link is full: this is the path's rate",
     .segment = "path",
     .result = TL_FOUND,
     .severity = TL_LIMITS,
     .confidence = 0.71,
     .ceiling_bps = 47.9e6,
     .ceiling_low_bps = 47.5e6,
     .ceiling_high_bps = 48.3e6,
     .sentence = "The path itself is full: 47.9 Mb/s is what its slowest link carries for the "
                 "download, with one connection as with several. No setting of the far end or "
                 "this PC will make it faster.",
     .send_to = "the network team",
     .evidence = capacity_evidence,
     .evidence_count = 1,
     .remedies = capacity_remedies,
     .remedy_count = 1,
     .would_change = ""},
    {.rule = "bufferbloat",
     .cause = "bufferbloat",
     .title = "The bottleneck's buffer is too large",
     .segment = "path",
     .result = TL_FOUND,
     .severity = TL_CONTRIBUTES,
     .ceiling_bps = NONE,
     .ceiling_low_bps = NONE,
     .ceiling_high_bps = NONE,
     .sentence = "While the download runs, everything else on this path waits: the round-trip "
                 "time rises from 20.4 ms to 640 ms."},
};

static struct tl_rung capacity_ladder[] = {
    {"capacity", "path", TL_DOWNLOAD, true, 47.9e6, 47.5e6, 48.3e6, "one and 8 connections agree",
     "", true, false, NULL, 0},
    {"receive-window", "near-host", TL_DOWNLOAD, true, 9.4e9, 48e6, NONE,
     "receive buffer, opened to its maximum", "", false, false, NULL, 0},
};

static struct tl_ledger_row capacity_ledger[] = {{TL_DOWNLOAD, 0.001, 0.0, 0.009, 0.99, 4.2e9}};

/* --- nobody can say yet --- */

static struct tl_fact_key open_missing[] = {{TL_SCOPE_UPLOAD, TL_FACT_FLOW_streams_goodput_bps},
                                            {TL_SCOPE_UPLOAD, TL_FACT_FLOW_streams_scale_ratio}};
static struct tl_fact_key open_deciding[] = {{TL_SCOPE_UPLOAD, TL_FACT_FLOW_streams_goodput_bps}};

static struct tl_finding open_findings[] = {
    {.rule = "capacity",
     .cause = "capacity",
     .title = "The slowest link is full: this is the path's rate",
     .segment = "path",
     .direction = TL_UPLOAD,
     .result = TL_CANNOT_TELL,
     .ceiling_bps = NONE,
     .ceiling_low_bps = NONE,
     .ceiling_high_bps = NONE,
     .sentence = "The path may be full.",
     .missing = open_missing,
     .missing_count = COUNT(open_missing)},
};

static struct tl_rung open_ladder[] = {
    {"capacity", "path", TL_UPLOAD, false, NONE, NONE, NONE, "several connections",
     "not tested: stage streams would tell", false, false, NULL, 0},
};

/* --- runs --- */

static struct tl_stage_record done(const char *id, long long ns, long long received)
{
    struct tl_stage_record stage = {
        .state = TL_STAGE_DONE, .duration_ns = ns, .received_bytes = received};
    strcpy(stage.id, id);
    return stage;
}

static void make_run(struct tl_run *run)
{
    *run = (struct tl_run){
        .id = "01J9ZK5V8Q2M4N6P8R0T2W4Y6Z",
        .host_mark = "0dd97b94703a20d57b29c69f743f2ed3",
        .started = "2026-11-20T20:41:07.123Z",
        .duration_ns = 14200000000,
        .tool_version = "0.1.0",
        .target_name = "srv-b.example.net",
        .target_address = "203.0.113.33",
        .target_family = 4,
        .target_kind = "tightlink",
        .download = true,
        .goal.bps = 900e6,
        .goal.rtt_ns = NONE,
        .complaint = "download is slow",
        .sent_bytes = 3200000,
        .received_bytes = 512345678,
        .stage_count = 3,
        .segment_count = 2,
    };
    run->stages[0] = done("hosts", 1000000000, 12000);
    run->stages[1] = done("path", 2800000000, 900000);
    run->stages[2] = done("stream", 6000000000, 72000000);
    for (int i = 0; i < 2; i++) {
        struct tl_segment_record *segment = &run->segments[i];
        segment->rtt_add_ns = segment->mtu_bytes = segment->loss_ratio = NONE;
        segment->loaded_rtt_add_ns = segment->prefix_rate_bps = NONE;
        segment->prefix_ceiling_bps = segment->prefix_rtt_ns = NONE;
    }
    strcpy(run->segments[0].id, "near-host");
    strcpy(run->segments[0].kind, "near-host");
    strcpy(run->segments[0].name, "this PC");
    run->segments[0].mtu_bytes = 1500;
    strcpy(run->segments[1].id, "path");
    strcpy(run->segments[1].kind, "path");
    run->segments[1].rtt_add_ns = 40.9e6;
    run->segments[1].loss_ratio = 0.00002;
    run->segments[1].loaded_rtt_add_ns = 0.3e6;
}

static void make_facts(struct tl_facts *facts)
{
    tl_facts_set_text(facts, TL_NEAR(os), "linux", NULL);
    tl_facts_set_number(facts, TL_NEAR(tcp_rmem_max_bytes), 524288, "");
    tl_facts_set_number(facts, TL_PATH(rtt_idle_min_ns), 42e6, "udp echo");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 96.1e6, NULL);
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, warmup_ns), 1e9, NULL);
    tl_facts_set_range(facts, TL_FLOW(TL_DOWNLOAD, retrans_ratio), 2e-5, 1e-5, 4e-5, "TCP_INFO");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, streams_count), 8, NULL);
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, streams_goodput_bps), 768e6, NULL);
    tl_facts_derive(facts);
}

static void make_limited(struct fixture *f)
{
    f->findings = (struct tl_findings){
        .verdict = {.state = TL_LIMITED,
                    .cause = "receive-window",
                    .segment = "near-host",
                    .confidence = 0.93,
                    .confidence_reasons = "3 of 4 tests had their facts; one speaks against",
                    .sentence = window_findings[0].sentence,
                    .measured_bps = 96.1e6,
                    .ceiling_bps = 99.9e6,
                    .fixed_bps = 930e6,
                    .fixed_promised = true,
                    .next_cause = "capacity",
                    .send_to = "desktop support (this PC)"},
        .findings = window_findings,
        .finding_count = COUNT(window_findings),
        .ladder = window_ladder,
        .rung_count = COUNT(window_ladder),
        .ledger = window_ledger,
        .ledger_count = 1};
}

static void make_capacity(struct fixture *f)
{
    f->run.goal.bps = NONE;
    f->run.complaint[0] = '\0';
    f->run.quality = TL_QUALITY_DEGRADED;
    strcpy(f->run.reasons[f->run.reason_count++],
           "other traffic on eth0 used 7 % of what was received");
    f->run.stages[f->run.stage_count++] = (struct tl_stage_record){
        .id = "window", .state = TL_STAGE_SKIPPED, .reason = "no window is suspected"};
    tl_facts_set_number(f->facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 47.9e6, NULL);
    tl_facts_set_number(f->facts, TL_FLOW(TL_DOWNLOAD, streams_goodput_bps), 47.8e6, NULL);
    tl_facts_set_number(f->facts, TL_PATH(rtt_idle_min_ns), 20.4e6, NULL);
    tl_facts_derive(f->facts);
    f->findings = (struct tl_findings){.verdict = {.state = TL_LIMITED,
                                                   .cause = "capacity",
                                                   .segment = "path",
                                                   .confidence = 0.71,
                                                   .confidence_reasons = "other traffic ran beside",
                                                   .sentence = capacity_findings[0].sentence,
                                                   .measured_bps = 47.9e6,
                                                   .ceiling_bps = 47.9e6,
                                                   .fixed_bps = 9.4e9,
                                                   .next_cause = "receive-window",
                                                   .send_to = "the network team"},
                                       .findings = capacity_findings,
                                       .finding_count = COUNT(capacity_findings),
                                       .ladder = capacity_ladder,
                                       .rung_count = COUNT(capacity_ladder),
                                       .ledger = capacity_ledger,
                                       .ledger_count = 1};
}

static void make_goal_met(struct fixture *f)
{
    make_capacity(f);
    f->run.goal.bps = 40e6;
    f->run.quality = TL_QUALITY_VALID;
    f->run.reason_count = 0;
    f->run.stage_count = 3;
    f->findings.verdict = (struct tl_verdict){
        .state = TL_GOAL_MET,
        .sentence = "The goal is met: the download reaches 47.9 Mb/s, 40 Mb/s was asked for.",
        .measured_bps = 47.9e6,
        .ceiling_bps = NONE,
        .fixed_bps = NONE};
}

static void make_inconclusive(struct fixture *f)
{
    f->run.download = false;
    f->run.upload = true;
    f->run.goal.bps = NONE;
    f->run.strange_facts = 2;
    strcpy(f->run.strange_fact, "near.later_fact_count");
    f->run.stages[f->run.stage_count++] = (struct tl_stage_record){
        .id = "streams", .state = TL_STAGE_SKIPPED, .reason = "the data budget is spent"};
    tl_facts_set_number(f->facts, TL_FLOW(TL_UPLOAD, goodput_bps), 12.4e6, NULL);
    tl_facts_set_unknown(f->facts, TL_FLOW(TL_UPLOAD, rtt_at_loss_ns), "no loss was seen");
    tl_facts_derive(f->facts);
    f->findings = (struct tl_findings){
        .verdict = {.state = TL_INCONCLUSIVE,
                    .direction = TL_UPLOAD,
                    .undecided = true,
                    .sentence = "Cannot tell yet what holds the upload at 12.4 Mb/s. The path may "
                                "be full. The streams stage would decide.",
                    .measured_bps = 12.4e6,
                    .ceiling_bps = NONE,
                    .fixed_bps = NONE,
                    .deciding = open_deciding,
                    .deciding_count = 1},
        .findings = open_findings,
        .finding_count = 1,
        .ladder = open_ladder,
        .rung_count = 1};
}

static void make_invalid(struct fixture *f)
{
    f->run.quality = TL_QUALITY_INVALID;
    strcpy(f->run.reasons[f->run.reason_count++], "the link of wlan0 went down at 7.2 s");
    f->run.stages[2].state = TL_STAGE_FAILED;
    strcpy(f->run.stages[2].reason, "no data for 5 s");
    make_limited(f);
    f->findings.verdict = (struct tl_verdict){
        .state = TL_VERDICT_INVALID,
        .sentence = "The measurement of the download cannot be used: the link of wlan0 went down "
                    "at 7.2 s.",
        .measured_bps = 96.1e6,
        .ceiling_bps = NONE,
        .fixed_bps = NONE};
}

/* Two directions, the upload without findings of its own but with a rate. */
static void make_both(struct fixture *f)
{
    make_limited(f);
    f->run.upload = true;
    f->run.target_family = 6;
    strcpy(f->run.target_address, "2001:db8::33");
    tl_facts_set_number(f->facts, TL_FLOW(TL_UPLOAD, goodput_bps), 880e6, NULL);
}

bool fixture_make(const char *name, struct fixture *ret_fixture)
{
    static void (*const makers[])(struct fixture *) = {
        make_limited, make_capacity, make_goal_met, make_inconclusive, make_invalid, make_both};
    *ret_fixture = (struct fixture){.facts = tl_facts_create()};
    if (!ret_fixture->facts)
        return false;
    make_run(&ret_fixture->run);
    make_facts(ret_fixture->facts);
    for (size_t i = 0; fixture_names[i]; i++) {
        if (strcmp(fixture_names[i], name) == 0) {
            makers[i](ret_fixture);
            return true;
        }
    }
    fixture_finish(ret_fixture);
    return false;
}

void fixture_finish(struct fixture *fixture)
{
    tl_facts_destroy(fixture->facts);
    fixture->facts = NULL;
}
