/* Defaults: 25 s and 1.5 GB, more where physics wants more. */
#include "budget.h"

#include <math.h>
#include <stdio.h>

#include "plan.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"

#define TIME_BUDGET_NS (25 * TL_NS_PER_S)

/* The default traffic suffices for a link of this speed; faster ones need their share
 * more for the same seconds. */
#define DATA_BUDGET_LINK_BPS 1e9

/* A virtual link is as fast as the machine's memory; its nominal speed means nothing. */
#define VIRTUAL_LINK_BPS 40e9

/* A long path needs two long streams: one as it is, one to see behind the first limit. */
static int64_t time_budget(const struct tl_facts *facts)
{
    int64_t two = 2 * tl_plan_stream_ns(tl_facts_number(facts, "path.rtt_min_ns", (double)NAN));
    return two > TIME_BUDGET_NS ? two : TIME_BUDGET_NS;
}

static int64_t data_budget(const struct tl_facts *facts)
{
    double speed = tl_facts_number(facts, "near.link_speed_bps", DATA_BUDGET_LINK_BPS);
    struct tl_fact kind;
    bool loopback = tl_facts_get(facts, "near.link_kind", &kind) && kind.text &&
                    kind.text[0] == 'l' && kind.text[1] == 'o';
    if (loopback || tl_facts_number(facts, "near.link_speed_nominal", 0) > 0)
        speed = VIRTUAL_LINK_BPS;
    double factor = speed / DATA_BUDGET_LINK_BPS;
    return (int64_t)((double)TL_SESSION_DATA_BUDGET * (factor > 1 ? factor : 1));
}

void tl_budget_make(const struct tl_session_config *config, const struct tl_facts *facts,
                    struct tl_budget *ret_budget)
{
    char bytes[TL_UNIT_TEXT_SIZE], ns[TL_UNIT_TEXT_SIZE];
    ret_budget->time_ns = config->time_budget_ns > 0 ? config->time_budget_ns : time_budget(facts);
    ret_budget->bytes =
        config->data_budget_bytes > 0 ? config->data_budget_bytes : data_budget(facts);
    tl_format_traffic((double)ret_budget->bytes, bytes);
    tl_format_ns((double)ret_budget->time_ns, ns);
    snprintf(ret_budget->sentence, sizeof ret_budget->sentence,
             "This loads the path to its limit for up to %s and sends at most %s; others on the "
             "same path may notice. On a 100 Mb/s path it is about %.0f MB.",
             ns, bytes,
             fmin((double)ret_budget->bytes / 1e6, (double)ret_budget->time_ns / 1e9 * 12.5));
}
