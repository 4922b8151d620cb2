/* The named paths of `tightlink demo` and of the tests, with the truth that a
 * diagnosis must find. Constant data, any thread. */
#ifndef TL_LAB_SCENARIO_H
#define TL_LAB_SCENARIO_H

#include <stddef.h>

#include "tightlink/lab/config.h"

/* Where the truth lies. */
#define TL_LAB_SEGMENT_NEAR    "near-host"
#define TL_LAB_SEGMENT_FAR     "far-host"
#define TL_LAB_SEGMENT_PATH    "path"
#define TL_LAB_SEGMENT_LAN     "lan"
#define TL_LAB_SEGMENT_FAR_LAN "far-lan"

struct tl_lab_scenario {
    const char *name;                /* "satellite-64k" */
    const char *about;               /* one line for a person, no full stop */
    const char *spec;                /* for tl_lab_config_parse */
    enum tl_lab_direction direction; /* in which to transfer */
    double goal_bps;                 /* payload rate asked for, 0: none */
    const char *cause;               /* cause id, or "goal-met" */
    const char *segment;             /* TL_LAB_SEGMENT_*, "" where a goal is met */
    const char *also;                /* second cause, a note or a tolerated answer; "" if none */
    double ceiling_low_bps;          /* payload rate that the cause allows; 0: no number */
    double ceiling_high_bps;
};

/* All scenarios, in the order of listing; *ret_count entries. */
const struct tl_lab_scenario *tl_lab_scenario_list(size_t *ret_count);

/* NULL when there is none of that name. */
const struct tl_lab_scenario *tl_lab_scenario_find(const char *name);

/* The scenario's path as a configuration. */
enum tl_status tl_lab_scenario_config(const struct tl_lab_scenario *scenario,
                                      struct tl_lab_config *ret_config,
                                      struct tl_error *reterr) TL_WARN_UNUSED;

#endif
