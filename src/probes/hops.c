/* Stage hops: the routers on the way and their round trips, without load. About a second and
 * some kilobytes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "connect.h"
#include "outcome.h"
#include "tightlink/base/address.h"
#include "tightlink/base/stats.h"
#include "tightlink/engine/far.h"
#include "tightlink/engine/hops.h"
#include "tightlink/probes/probes.h"

/* limited: answers of that one are few by its own choice. */
static void keep_hop(struct tl_hop_record *record, int number, const struct tl_hop *hop,
                     bool limited, bool far_lost)
{
    *record = (struct tl_hop_record){
        .hop = number,
        .sent_count = (int)hop->sent_count,
        .answered_count = (int)hop->answered_count,
        .rtt_min_ns = tl_stats_min(hop->rtt_ns, hop->sample_count),
        .rtt_mean_ns = tl_stats_mean(hop->rtt_ns, hop->sample_count),
        .rtt_max_ns = tl_stats_max(hop->rtt_ns, hop->sample_count),
        .loaded_rtt_ns = (double)NAN,
    };
    if (!IN6_IS_ADDR_UNSPECIFIED(&hop->address))
        tl_address_text(&hop->address, record->address);
    bool some_missing = hop->answered_count < hop->sent_count;
    if (limited && hop->answered_count == 0)
        snprintf(record->note, sizeof record->note, "does not answer (ICMP filtered)");
    else if (limited && some_missing && !far_lost)
        snprintf(record->note, sizeof record->note, "answers limited: no loss behind it");
}

static void keep(const struct tl_probe *probe, const struct tl_hops_result *result)
{
    struct tl_run *run = probe->run;
    int answered = 0;
    bool known = result->count_known;
    /* A host refuses few datagrams a second; a responder answers all. */
    bool stranger = tl_far_kind(probe->far) != TL_FAR_TIGHTLINK;
    const struct tl_hop *far = &result->hops[result->count];
    bool far_lost = known && !stranger && far->answered_count < far->sent_count;
    for (int hop = 1; hop <= result->count; hop++)
        answered += hop != result->count && result->hops[hop].answered_count > 0;
    if (known)
        tl_facts_set_number(probe->facts, TL_PATH(hops_count), result->count,
                            stranger ? "smallest TTL that reached it" : "TTL as it arrived");
    tl_facts_set_number(probe->facts, TL_PATH(hops_answered_count), answered, "");
    if (result->ways_count > 0)
        tl_facts_set_number(probe->facts, TL_PATH(hops_ways_count), result->ways_count, "");
    else
        tl_facts_set_unknown(probe->facts, TL_PATH(hops_ways_count),
                             known && result->count == 1 ? "there is no router on the way"
                                                         : "no router answers (ICMP filtered)");
    if (!run)
        return;
    run->hop_count = result->count;
    for (int hop = 1; hop <= result->count && hop <= TL_RUN_HOPS_MAX; hop++)
        keep_hop(&run->hops[hop - 1], hop, &result->hops[hop],
                 stranger || !known || hop != result->count, far_lost);
    if (known)
        snprintf(run->hops[result->count - 1].address, sizeof run->hops[0].address, "%s",
                 tl_far_info(probe->far)->address);
}

enum tl_status tl_probe_hops(const struct tl_probe *probe, struct tl_probe_outcome *ret_outcome,
                             struct tl_error *reterr)
{
    struct tl_error error = {0};
    tl_outcome_begin(ret_outcome, "hops");
    struct tl_hops_result *result = calloc(1, sizeof *result);
    if (!result)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    struct tl_hops_spec spec = {.cancel_fd = -1,
                                .rtt_ns =
                                    (int64_t)tl_facts_number(probe->facts, TL_PATH(rtt_idle_ns),
                                                             (double)tl_connect_rtt_ns(probe->far)),
                                .beside_test = probe->beside};
    enum tl_status status = tl_far_hops(probe->far, &spec, result, &error);
    if (status == TL_OK || status == TL_TIMEOUT || status == TL_REFUSED)
        keep(probe, result);
    ret_outcome->record.sent_bytes = (long long)result->sent_bytes;
    ret_outcome->record.received_bytes = (long long)result->received_bytes;
    if (status == TL_CANCELLED)
        tl_outcome_state(ret_outcome, TL_STAGE_SKIPPED, TL_RUN_STOPPED);
    else if (status != TL_OK)
        tl_outcome_state(ret_outcome, TL_STAGE_LIMITED, "%s", error.text);
    free(result);
    tl_outcome_end(ret_outcome);
    if (status != TL_OK && reterr)
        *reterr = error;
    return status == TL_TIMEOUT || status == TL_REFUSED ? TL_OK : status;
}
