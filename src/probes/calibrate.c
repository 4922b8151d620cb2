/* Stage calibrate: what this machine can do without a network. The far end's own is told by
 * `tightlink audit` there: it is not for strangers to use up its processor. */
#include <math.h>

#include "outcome.h"
#include "tightlink/engine/calibrate.h"
#include "tightlink/probes/probes.h"

static void set(struct tl_facts *facts, struct tl_fact_key key, double number, const char *source)
{
    if (isfinite(number))
        tl_facts_set_number(facts, key, number, source);
    else
        tl_facts_set_unknown(facts, key, "loopback or memory did not permit it");
}

enum tl_status tl_probe_calibrate(const struct tl_probe *probe,
                                  struct tl_probe_outcome *ret_outcome, struct tl_error *reterr)
{
    tl_outcome_begin(ret_outcome, "calibrate");
    struct tl_calibration got;
    enum tl_status status = tl_calibrate(probe->cancel_fd, &got);
    if (status == TL_OK) {
        set(probe->facts, TL_NEAR(alone_tcp_bps), got.tcp_bps, "one TCP stream over loopback");
        set(probe->facts, TL_NEAR(alone_cpu_per_byte_ns), got.tcp_cpu_ns_per_byte,
            "processor time of that stream");
        set(probe->facts, TL_NEAR(alone_memory_bps), got.memory_copy_bps, "copying in memory");
        set(probe->facts, TL_NEAR(timer_late_ns), got.timer_late_median_ns, "sleeps of 1 ms");
        set(probe->facts, TL_NEAR(timer_late_max_ns), got.timer_late_max_ns, "sleeps of 1 ms");
    } else {
        tl_outcome_state(ret_outcome, TL_STAGE_SKIPPED, "%s", tl_status_text(status));
        (void)tl_error_set(reterr, status, "%s", tl_status_text(status));
    }
    tl_outcome_end(ret_outcome);
    return status;
}
