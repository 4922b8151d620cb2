/* A connection of a capture as a run: its facts, judged. */
#include <math.h>
#include <stdio.h>

#include "capture_run.h"
#include "overheard.h"
#include "tightlink/base/units.h"
#include "tightlink/facts/trust.h"
#include "tightlink/flow/limits.h"
#include "tightlink/probes/packet_flow.h"
#include "tightlink/session/record.h"

/* Shares of what was acknowledged and is not in the capture. */
#define UNSEEN_DEGRADED 0.01
#define UNSEEN_INVALID  0.2

/* What the capture lacks is no loss of the path's; and it lowers what can be said. */
static void find_quality(const struct tl_app_pcap *pcap, const struct tl_packet_brief *brief,
                         struct tl_run *run)
{
    const struct tl_packet_flow *flow = brief->flow;
    const struct tl_packet_half *half = &flow->halves[tl_packet_sender(flow)];
    double unseen =
        (double)half->unseen_bytes / fmax((double)(half->payload_bytes + half->unseen_bytes), 1);
    char share[TL_UNIT_TEXT_SIZE], time[TL_UNIT_TEXT_SIZE];
    if (unseen > UNSEEN_DEGRADED)
        tl_trust_lower_run(
            run, unseen > UNSEEN_INVALID ? TL_QUALITY_INVALID : TL_QUALITY_DEGRADED,
            "the capture missed %s of what was acknowledged: the capturing machine dropped "
            "packets, or they went another way",
            tl_format_ratio(unseen, share));
    if (pcap->file.info.dropped_known && pcap->file.info.dropped_count > 0)
        tl_trust_lower_run(run, TL_QUALITY_DEGRADED,
                           "the capturing system says that it dropped %llu packets",
                           (unsigned long long)pcap->file.info.dropped_count);
    if (pcap->file.broken[0])
        tl_trust_lower_run(run, TL_QUALITY_DEGRADED, "%.200s; what stood before is judged",
                           pcap->file.broken);
    if (flow->backwards)
        tl_trust_lower_run(
            run, TL_QUALITY_DEGRADED,
            "times in the capture run backwards: its clock was set, or files were merged");
    if (half->unanswered_ns > OVERHEARD_UNANSWERED_NS)
        tl_trust_lower_run(run, TL_QUALITY_DEGRADED,
                           "for its last %s nothing that was sent was answered",
                           tl_format_ns((double)half->unanswered_ns, time));
    if (!flow->halves[TL_CLIENT].syn_seen)
        tl_trust_lower_run(run, TL_QUALITY_DEGRADED,
                           "the beginning of the connection was not captured");
}

static void begin_run(const struct tl_app_pcap *pcap, const struct tl_packet_brief *brief,
                      struct tl_run *run)
{
    char client[64], server[64];
    overheard_begin(&(struct overheard){.kind = "pcap",
                                        .begin_ns = brief->first_ns,
                                        .span_ns = brief->last_ns - brief->first_ns,
                                        .direction = tl_packet_flow_direction(brief->flow),
                                        .peer = &brief->addresses[TL_SERVER]},
                    run);
    overheard_format_end(&brief->addresses[TL_CLIENT], brief->ports[TL_CLIENT], client,
                         sizeof client);
    overheard_format_end(&brief->addresses[TL_SERVER], brief->ports[TL_SERVER], server,
                         sizeof server);
    snprintf(run->target_name, sizeof run->target_name, "%s", server);
    tl_run_add_segment(run, "near-host", client);
    tl_run_add_segment(run, "far-host", server);
    run->sent_bytes = (long long)brief->payload_bytes[TL_CLIENT];
    run->received_bytes = (long long)brief->payload_bytes[TL_SERVER];
    find_quality(pcap, brief, run);
    struct tl_stage_record *stage = &run->stages[run->stage_count++];
    *stage = (struct tl_stage_record){.state = TL_STAGE_DONE, .duration_ns = run->duration_ns};
    snprintf(stage->id, sizeof stage->id, "stream");
    snprintf(stage->reason, sizeof stage->reason, "from a capture %s",
             tl_packet_place_name(tl_packet_place(brief->flow, tl_packet_sender(brief->flow))));
}

enum tl_status pcap_no_detail(struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_LIMIT,
                        "only the size of this flow is known: it had to make room for larger "
                        "ones, or its packets make more work than those of a transfer. Cut the "
                        "capture down to it (tcpdump -r FILE -w PART 'port ...') to judge it");
}

enum tl_status pcap_judge(struct tl_app_pcap *pcap, const struct tl_packet_brief *brief,
                          struct tl_session_result *ret_result, struct tl_error *reterr)
{
    if (!brief->flow)
        return pcap_no_detail(reterr);
    begin_run(pcap, brief, &ret_result->run);
    ret_result->answered = true;
    ret_result->facts = tl_facts_create();
    if (!ret_result->facts || tl_packet_flow_facts(brief->flow, ret_result->facts) != TL_OK)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    tl_packet_aggregate_facts(pcap->packets, brief->flow, ret_result->facts);
    return tl_record_judge(pcap->rules, ret_result, reterr);
}
