/* Responders on the way (--via): one stream to each, compared with the whole path. The first
 * prefix that shows the limit bounds the segment it lies in. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "prefixes.h"
#include "session_private.h"
#include "tightlink/base/units.h"

/* A part that carries so many times what the whole does is not what limits; more would only cost
 * bytes. */
#define HEADROOM 3

static double number(const struct tl_facts *facts, struct tl_fact_key key)
{
    return tl_facts_number(facts, key, (double)NAN);
}

static void take(const struct tl_facts *facts, enum tl_direction direction,
                 struct session_prefix *prefix)
{
    prefix->rate_bps = number(facts, TL_FLOW(direction, goodput_bps));
    prefix->loss_ratio = number(facts, TL_FLOW(direction, retrans_ratio));
    prefix->loss_count = number(facts, TL_FLOW(direction, retrans_count));
    prefix->rtt_ns = tl_facts_number(facts, TL_PATH(rtt_min_ns), (double)NAN);
}

/* The number of the router that answered probes with this address, 0 without one. */
static int hop_of(const struct tl_run *run, const char *address)
{
    for (int i = 0; i < run->hop_count; i++)
        if (*address && strcmp(run->hops[i].address, address) == 0)
            return i + 1;
    return 0;
}

/* Idle round trip and one stream, into a store of their own. */
static enum tl_status measure(struct tl_session *session, const char *host, struct tl_facts *facts,
                              enum tl_direction direction, struct tl_probe_outcome *outcome,
                              int *ret_hop, struct tl_error *reterr)
{
    struct tl_probe_target target = {.host = host,
                                     .port = session->config.port,
                                     .family = session->config.family,
                                     .key = session->config.key};
    struct tl_run ignored = {0};
    struct tl_far *far = NULL;
    struct tl_probe_outcome light = {0};
    enum tl_status status =
        tl_probe_connect(&target, session->cancel_fd, facts, &far, &ignored, reterr);
    if (status != TL_OK)
        return status;
    struct tl_probe probe = session_probe(session);
    probe.far = far;
    probe.facts = facts;
    probe.target = &target;
    *ret_hop = hop_of(&session->result.run, ignored.target_address);
    status = tl_probe_path(&probe, &light, reterr);
    if (status == TL_OK) {
        tl_facts_derive(facts);
        struct tl_probe_limits limits = {
            .duration_ns =
                tl_plan_stream_ns(tl_facts_number(facts, TL_PATH(rtt_min_ns), (double)NAN)),
            .bytes = session->plan.bytes_left,
            .max_bps =
                HEADROOM *
                fmax(0, number(session->result.facts,
                               TL_FLOW(direction, best_goodput_bps)))}; /* NAN: fmax gives 0 */
        status = tl_probe_stream(&probe, direction, &limits, outcome, reterr);
    }
    tl_facts_derive(facts);
    tl_probe_disconnect(far);
    return status;
}

static enum tl_status run_prefix(struct tl_session *session, size_t index,
                                 enum tl_direction direction)
{
    struct session_prefix *prefix = &session->prefixes[index];
    struct tl_probe_outcome outcome = {0};
    struct tl_error error = {0};
    char why[300], rate[TL_UNIT_TEXT_SIZE];
    snprintf(why, sizeof why, "the part of the way up to %s", session->via[index]);
    session_begin_stage(session, "via", &direction, 0, why);
    struct tl_facts *facts = tl_facts_create();
    enum tl_status status = facts ? TL_OK : TL_NOMEM;
    if (status == TL_OK && session->plan.bytes_left <= 0) {
        outcome.record.state = TL_STAGE_SKIPPED;
        snprintf(outcome.record.reason, sizeof outcome.record.reason,
                 "%.100s: the data budget is spent", session->via[index]);
    } else if (status == TL_OK) {
        status =
            measure(session, session->via[index], facts, direction, &outcome, &prefix->hop, &error);
        session->plan.bytes_left -= outcome.record.sent_bytes + outcome.record.received_bytes;
        take(facts, direction, prefix);
        if (status != TL_OK) {
            outcome.record.state = TL_STAGE_FAILED;
            snprintf(outcome.record.reason, sizeof outcome.record.reason, "%.250s", error.text);
        } else if (prefix->rate_bps > 0) {
            snprintf(outcome.record.reason, sizeof outcome.record.reason, "%.100s: %s",
                     session->via[index], tl_format_bps(prefix->rate_bps, rate));
        }
    }
    snprintf(outcome.record.id, sizeof outcome.record.id, "via");
    outcome.trust = (struct tl_trust){0}; /* a prefix that was disturbed spoils no verdict */
    session_end_stage(session, &outcome);
    tl_facts_destroy(facts);
    return status == TL_CANCELLED || status == TL_NOMEM ? status : TL_OK;
}

static void set_loss_segment(struct tl_session *session, enum tl_direction direction)
{
    struct tl_fact_key key = TL_FLOW(direction, loss_segment);
    const char *segment = session_prefix_loss_segment(session->prefixes, session->config.via_count,
                                                      session->result.run.hop_count);
    if (segment)
        tl_facts_set_text(session->result.facts, key, segment, "responders on the way");
    else
        tl_facts_set_unknown(session->result.facts, key,
                             "too few packets were lost, or the responders on the way do not "
                             "stand around a segment");
}

enum tl_status session_run_prefixes(struct tl_session *session, struct tl_error *reterr)
{
    enum tl_direction direction = session->result.findings->verdict.direction;
    for (size_t i = 0; i < session->config.via_count; i++) {
        session->prefixes[i] =
            (struct session_prefix){(double)NAN, (double)NAN, (double)NAN, (double)NAN, 0};
        session->prefix_count = i + 1;
        enum tl_status status = run_prefix(session, i, direction);
        if (status != TL_OK)
            return tl_error_set(reterr, status, "%s",
                                status == TL_NOMEM ? "out of memory" : TL_RUN_STOPPED);
    }
    take(session->result.facts, direction, &session->prefixes[session->config.via_count]);
    set_loss_segment(session, direction);
    return TL_OK;
}

static bool prefix_shows(const struct session_prefix *prefix, const struct session_prefix *whole,
                         bool by_loss)
{
    if (!(prefix->rate_bps > 0) || !(whole->rate_bps > 0))
        return false;
    /* What loss costs depends on the round-trip time, which a prefix has less of: the loss itself
     * is compared. */
    if (by_loss)
        return prefix->loss_count >= LOSSES_MIN &&
               prefix->loss_ratio >= LOSS_SHARE * whole->loss_ratio;
    return prefix->rate_bps <= SAME_RATE * whole->rate_bps;
}

size_t session_prefix_tight(const struct session_prefix *prefixes, size_t count, bool by_loss)
{
    for (size_t i = 0; i < count; i++)
        if (prefix_shows(&prefixes[i], &prefixes[count], by_loss))
            return i;
    for (size_t i = 0; i < count; i++)
        if (!(prefixes[i].rate_bps > 0)) /* a hole in the chain: nobody can say */
            return SIZE_MAX;
    return count;
}

const char *session_prefix_loss_segment(const struct session_prefix *prefixes, size_t count,
                                        int hops)
{
    if (!(prefixes[count].loss_count >= LOSSES_MIN))
        return NULL;
    size_t tight = session_prefix_tight(prefixes, count, true);
    if (tight == SIZE_MAX)
        return NULL;
    int first = tight == 0 ? 0 : prefixes[tight - 1].hop;
    int last = tight == count ? hops : prefixes[tight].hop;
    if ((tight > 0 && first == 0) || last <= first)
        return NULL;
    if (last == 1)
        return "lan";
    if (first == hops - 1)
        return "far-lan";
    return first >= 1 && last < hops ? "path" : NULL;
}

static void add_part(const struct tl_session *session, size_t index, struct tl_run *run)
{
    size_t count = session->config.via_count;
    const struct session_prefix *prefix = &session->prefixes[index];
    double before_ns = index ? session->prefixes[index - 1].rtt_ns : 0;
    struct tl_segment_record *part = &run->segments[run->segment_count++];
    *part = (struct tl_segment_record){.rtt_add_ns = prefix->rtt_ns - before_ns,
                                       .mtu_bytes = (double)NAN,
                                       .loss_ratio = prefix->loss_ratio,
                                       .loaded_rtt_add_ns = (double)NAN,
                                       .prefix_rate_bps = prefix->rate_bps,
                                       .prefix_ceiling_bps = (double)NAN,
                                       .prefix_rtt_ns = prefix->rtt_ns,
                                       .kind = "path"};
    snprintf(part->id, sizeof part->id, "path-%zu", index + 1);
    snprintf(part->name, sizeof part->name, "%.60s to %.60s",
             index ? session->via[index - 1] : "this PC",
             index < count ? session->via[index] : run->target_name);
}

static bool is_on_the_way(const char *segment)
{
    return strcmp(segment, "path") == 0 || strcmp(segment, "lan") == 0 ||
           strcmp(segment, "far-lan") == 0;
}

void session_add_parts(const struct tl_session *session, struct tl_run *run)
{
    const struct tl_findings *findings = session->result.findings;
    size_t count = session->config.via_count;
    int first = run->segment_count;
    if (!count || session->prefix_count < count || first + (int)count + 1 > TL_RUN_SEGMENTS_MAX)
        return;
    for (size_t i = 0; i <= count; i++)
        add_part(session, i, run);
    const struct tl_verdict *verdict = findings ? &findings->verdict : NULL;
    if (!verdict || verdict->state != TL_LIMITED || verdict->broken ||
        !is_on_the_way(verdict->segment))
        return;
    bool by_loss = strstr(verdict->cause, "loss") != NULL;
    size_t tight = session_prefix_tight(session->prefixes, count, by_loss);
    if (tight == SIZE_MAX)
        return;
    run->segments[first + (int)tight].tight = true;
    run->segments[first + (int)tight].prefix_ceiling_bps = verdict->ceiling_bps;
}
