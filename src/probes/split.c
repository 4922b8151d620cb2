/* Stage split: whether something on the way answers TCP in the far end's place. A few
 * handshakes and questions: the smallest of each count. */
#include "outcome.h"
#include "path_facts.h"
#include "tightlink/engine/far.h"
#include "tightlink/probes/probes.h"

#define HANDSHAKES 4

enum tl_status tl_probe_split(const struct tl_probe *probe, struct tl_probe_outcome *ret_outcome,
                              struct tl_error *reterr)
{
    struct tl_syn_result result;
    struct tl_error error = {0};
    enum tl_status status = TL_OK;
    tl_outcome_begin(ret_outcome, "split");
    for (int i = 0; i < HANDSHAKES && status == TL_OK; i++) {
        status = tl_far_syn(probe->far, false, &result, &error);
        if (status == TL_OK)
            tl_path_facts_syn(probe->facts, &result, tl_far_info(probe->far)->family == 6);
    }
    if (status == TL_CANCELLED)
        tl_outcome_state(ret_outcome, TL_STAGE_SKIPPED, TL_RUN_STOPPED);
    else if (status != TL_OK)
        tl_outcome_state(ret_outcome, TL_STAGE_LIMITED, "%s", error.text);
    tl_outcome_end(ret_outcome);
    if (status != TL_OK && reterr)
        *reterr = error;
    return status == TL_CANCELLED || status == TL_NOMEM ? status : TL_OK;
}
