/* A connection that this program did not make, as a run: who, when, and what the rules say. */
#include "overheard.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/random.h"
#include "tightlink/base/time.h"
#include "tightlink/session/question.h"

void overheard_begin(const struct overheard *seen, struct tl_run *run)
{
    if (tl_ulid_make(run->id) != TL_OK)
        memset(run->id, '0', sizeof run->id - 1);
    tl_time_format_utc(seen->begin_ns, run->started);
    run->duration_ns = seen->span_ns;
    snprintf(run->tool_version, sizeof run->tool_version, "%s", TL_VERSION_TEXT);
    snprintf(run->target_kind, sizeof run->target_kind, "%s", seen->kind);
    if (seen->peer) {
        tl_flow_address_format(seen->peer, run->target_address);
        run->target_family = tl_flow_address_is_v4(seen->peer) ? 4 : 6;
    }
    run->download = seen->direction == TL_DOWNLOAD;
    run->upload = seen->direction == TL_UPLOAD;
    run->goal_bps = run->goal_rtt_ns = run->goal_loss_ratio = run->goal_rtt_max_ns = (double)NAN;
    run->goal_mtu_bytes = run->goal_bytes = run->goal_time_ns = (double)NAN;
}

enum tl_status overheard_judge(const struct tl_rules *rules, struct tl_session_result *result,
                               struct tl_error *reterr)
{
    struct tl_question question;
    tl_facts_derive(result->facts);
    enum tl_status status = tl_facts_status(result->facts);
    if (status != TL_OK)
        return tl_error_set(reterr, status, "out of memory");
    tl_question_of_run(&result->run, &question);
    tl_rules_version(rules, result->rules_version);
    return tl_rules_judge(rules, result->facts, &question, &result->findings, reterr);
}

void overheard_format_end(const struct tl_flow_address *address, uint16_t port, char *ret_text,
                          size_t size)
{
    char text[TL_FLOW_ADDRESS_SIZE];
    tl_flow_address_format(address, text);
    snprintf(ret_text, size, tl_flow_address_is_v4(address) ? "%s:%u" : "[%s]:%u", text, port);
}
