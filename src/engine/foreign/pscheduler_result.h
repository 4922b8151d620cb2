/* Results of pScheduler's tests, out of its JSON. Private to src/engine/foreign. */
#ifndef TL_ENGINE_PSCHEDULER_RESULT_H
#define TL_ENGINE_PSCHEDULER_RESULT_H

#include "tightlink/base/json.h"
#include "tightlink/engine/pscheduler.h"

/* A merged result that says it succeeded. Fails with a place and a sentence where a number cannot
 * be: negative, beyond every network, more received than sent. */
enum tl_status psched_read_result(const struct tl_json_at *result, enum tl_psched_test test,
                                  struct tl_psched_result *ret_result,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

#endif
