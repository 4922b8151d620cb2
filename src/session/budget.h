/* How much time and traffic a diagnosis may use, and the sentence that says so. */
#ifndef TL_SESSION_BUDGET_H
#define TL_SESSION_BUDGET_H

#include "tightlink/session/session.h"

struct tl_budget {
    int64_t time_ns;     /* of the loading stages */
    int64_t trial_ns;    /* of it the trial's own, which the plan may not use … */
    int64_t open_ns;     /* … and what only one without a sure verdict may */
    int64_t bytes;       /* both directions together */
    int64_t worst_bytes; /* with what follows the verdict (--for) */
    bool worst_is_open;  /* of a link whose speed nobody knows, and the user set no limit */
    char sentence[256];
};

/* From what the user set and, where nothing was set, from RTT and link speed; of a virtual
 * link, whose speed is only a name, from the highest rate it has carried so far. Facts of a
 * later moment never give more bytes than those of before the first stream. */
void tl_budget_make(const struct tl_session_config *config, const struct tl_facts *facts,
                    struct tl_budget *ret_budget);

/* For the trial of a remedy alone: one stream, at most at the speed of this host's link and within
 * what the user set. predicted_bps: what it shall bring; NAN where that is not known. */
void tl_budget_make_trial(const struct tl_session_config *config, const struct tl_facts *facts,
                          double predicted_bps, struct tl_budget *ret_budget);

/* What a loading stage took of the time budget. Who set none agreed to a load for so long: the time
 * in which an outage carried nothing was no load, and would leave less to explain what it met. */
int64_t tl_budget_spent_ns(const struct tl_session_config *config, int64_t took_ns,
                           const struct tl_probe_outcome *outcome);

#endif
