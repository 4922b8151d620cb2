/* What is said to a pScheduler and what it says, as text. Pure: no socket, no clock. Private.
 *
 * Bodies come from strangers: at most PSCHED_BODY_MAX bytes of JSON, every number in a range that a
 * network can have. */
#ifndef TL_ENGINE_PSCHEDULER_TEXT_H
#define TL_ENGINE_PSCHEDULER_TEXT_H

#include "tightlink/base/buf.h"
#include "tightlink/base/json.h"
#include "tightlink/engine/pscheduler.h"

/* A run of a minute with six streams and the tool's own text, twice, is some 300 KiB. */
#define PSCHED_BODY_MAX ((size_t)4 << 20)

/* The task as it is posted, one line of ASCII. */
void psched_write_task(const struct tl_psched_spec *spec, const char *key, struct tl_buf *out);

/* The last part of a task's URL, where it is a UUID. TL_PROTOCOL. */
enum tl_status psched_read_task_id(const struct tl_buf *body, char ret_id[40],
                                   struct tl_error *reterr) TL_WARN_UNUSED;

enum psched_state {
    PSCHED_WAITS, /* scheduled, about to start, running, cleaning up, overdue */
    PSCHED_FINISHED,
    PSCHED_OVER, /* ended without a result, for good: the sentence says how */
};

struct psched_run {
    enum psched_state state;
    char id[40];           /* UUID, "" where it is not told */
    bool overdue;          /* late, and may come yet */
    enum tl_status status; /* PSCHED_OVER: why */
    struct tl_error error;
    struct tl_psched_result result; /* PSCHED_FINISHED */
};
/* TL_PROTOCOL: no run of pScheduler's; TL_INVALID: a result that cannot be. */
enum tl_status psched_read_run(const struct tl_buf *body, enum tl_psched_test test,
                               struct psched_run *ret_run, struct tl_error *reterr) TL_WARN_UNUSED;

/* The API's level. */
enum tl_status psched_read_level(const struct tl_buf *body, int64_t *ret_level,
                                 struct tl_error *reterr) TL_WARN_UNUSED;
/* Of /clock; where it is not told, true. */
bool psched_clock_is_kept(const struct tl_buf *body);

/* Why a node refused: the status of its answer and what it wrote. Never TL_OK. */
enum tl_status psched_refusal(const char *node, enum tl_psched_test test, long code,
                              const struct tl_buf *body, struct tl_error *reterr) TL_WARN_UNUSED;

/* "PT1M2.5S" (ISO 8601 with days at most) in ns; NAN for anything else. */
double psched_duration_ns(const char *text);

#endif
