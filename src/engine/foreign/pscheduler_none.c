/* pScheduler in a program that was built without libcurl: there is none. */
#include "tightlink/engine/pscheduler.h"

#include <stddef.h>

enum tl_status tl_psched_open(const struct tl_psched_node *node, int cancel_fd,
                              struct tl_psched **ret_psched, struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_UNSUPPORTED,
                        "this tightlink was built without libcurl, by which pScheduler is asked");
}

void tl_psched_close(struct tl_psched *psched)
{
}

const char *tl_psched_pin(const struct tl_psched *psched)
{
    return "";
}

bool tl_psched_clock_is_loose(const struct tl_psched *psched)
{
    return false;
}

enum tl_status tl_psched_start(struct tl_psched *psched, const struct tl_psched_spec *spec,
                               struct tl_psched_task *ret_task, struct tl_error *reterr)
{
    return tl_psched_open(NULL, -1, &psched, reterr);
}

enum tl_status tl_psched_await(struct tl_psched *psched, const struct tl_psched_task *task,
                               struct tl_psched_result *ret_result, struct tl_error *reterr)
{
    return tl_psched_open(NULL, -1, &psched, reterr);
}

void tl_psched_cancel(struct tl_psched *psched, const struct tl_psched_task *task)
{
}
