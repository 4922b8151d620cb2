/* A pScheduler's tasks: asked for, waited for, cancelled.
 *
 *   POST /tasks -> id        400, 403, 422, 500: a sentence
 *   GET  TASK/runs/first     404: not scheduled yet; else the run and its id
 *   GET  RUN?wait-merged     until its state is final and its result joined
 *   DELETE TASK?key=         whatever ends the waiting but its result
 *
 * A node holds a request that waits for up to twice the time that was asked for; nothing here waits
 * for longer than the task's deadline, and nothing is asked more often than once a second. */
#include "tightlink/engine/pscheduler.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pscheduler_http.h"
#include "pscheduler_text.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

#define LEVEL_MIN 4
#define ASK_NS    (15 * TL_NS_PER_S)
/* Both nodes are asked for their tools, clocks and schedules before a task is taken. */
#define POST_NS   (60 * TL_NS_PER_S)
#define CANCEL_NS (5 * TL_NS_PER_S)
/* Seconds that a node is asked to hold a request; it may take twice as long. */
#define WAIT_S  5
#define WAIT_NS ((2 * WAIT_S + 5) * TL_NS_PER_S)
#define STEP_NS TL_NS_PER_S
/* What a test takes beside its own seconds: iperf3 of 10 s books 19 s, and a run begins 5 to 10 s
 * after it was asked for; the parts of both nodes are joined behind it. */
#define AROUND_NS (60 * TL_NS_PER_S)

struct tl_psched {
    struct psched_http *http;
    int cancel_fd;
    bool loose_clock;
};

const char *tl_psched_pin(const struct tl_psched *psched)
{
    return psched_http_pin(psched->http);
}

bool tl_psched_clock_is_loose(const struct tl_psched *psched)
{
    return psched->loose_clock;
}

void tl_psched_close(struct tl_psched *psched)
{
    if (!psched)
        return;
    psched_http_destroy(psched->http);
    free(psched);
}

/* --- Meeting a node --------------------------------------------------------------------------- */

/* GET /api, with the certificate of a stranger learnt on the way. */
static enum tl_status ask_level(struct tl_psched *psched, bool insecure, struct tl_buf *ret_body,
                                long *ret_code, struct tl_error *reterr)
{
    const struct psched_ask ask = {.method = "GET", .path = "/pscheduler/api", .time_ns = ASK_NS};
    bool stranger = false;
    enum tl_status status =
        psched_http_ask(psched->http, &ask, ret_body, ret_code, &stranger, reterr);
    if (status != TL_AUTH || !stranger || insecure)
        return status;
    status = psched_http_learn_pin(psched->http, reterr);
    if (status != TL_OK)
        return status;
    tl_buf_finish(ret_body);
    *ret_body = (struct tl_buf)TL_BUF_INIT;
    return psched_http_ask(psched->http, &ask, ret_body, ret_code, NULL, reterr);
}

static enum tl_status check_level(struct tl_psched *psched, bool insecure, struct tl_error *reterr)
{
    struct tl_buf body = TL_BUF_INIT;
    const char *name = psched_http_name(psched->http);
    long code = 0;
    int64_t level = 0;
    enum tl_status status = ask_level(psched, insecure, &body, &code, reterr);
    if (status == TL_OK && code != 200) {
        status = tl_error_set(
            reterr, TL_PROTOCOL,
            "%s runs no pScheduler: /pscheduler/api answered with status %ld%s", name, code,
            code >= 300 && code < 400 ? ", a redirect, which is not followed" : "");
    } else if (status == TL_OK) {
        status = psched_read_level(&body, &level, reterr);
        if (status != TL_OK && reterr)
            tl_error_prefix(reterr, "%s runs no pScheduler", name);
    }
    if (status == TL_OK && level < LEVEL_MIN)
        status = tl_error_set(reterr, TL_VERSION,
                              "%s speaks level %lld of pScheduler's API; %d is the least that is "
                              "understood here",
                              name, (long long)level, LEVEL_MIN);
    tl_buf_finish(&body);
    return status;
}

/* A node without /clock has one that nobody doubts. */
static enum tl_status check_clock(struct tl_psched *psched, struct tl_error *reterr)
{
    const struct psched_ask ask = {.method = "GET", .path = "/pscheduler/clock", .time_ns = ASK_NS};
    struct tl_buf body = TL_BUF_INIT;
    long code = 0;
    enum tl_status status = psched_http_ask(psched->http, &ask, &body, &code, NULL, reterr);
    psched->loose_clock = status == TL_OK && code == 200 && !psched_clock_is_kept(&body);
    tl_buf_finish(&body);
    return status;
}

enum tl_status tl_psched_open(const struct tl_psched_node *node, int cancel_fd,
                              struct tl_psched **ret_psched, struct tl_error *reterr)
{
    struct tl_psched *psched = calloc(1, sizeof *psched);
    if (!psched)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    psched->cancel_fd = cancel_fd;
    enum tl_status status = psched_http_create(node, cancel_fd, &psched->http, reterr);
    if (status == TL_OK)
        status = check_level(psched, node->insecure, reterr);
    if (status == TL_OK)
        status = check_clock(psched, reterr);
    if (status != TL_OK) {
        tl_psched_close(psched);
        return status;
    }
    *ret_psched = psched;
    return TL_OK;
}

/* --- Tasks ------------------------------------------------------------------------------------ */

static enum tl_status make_key(char ret_key[33], struct tl_error *reterr)
{
    unsigned char bytes[16];
    if (tl_random_secure(bytes, sizeof bytes) != TL_OK)
        return tl_error_set(reterr, TL_IO, "no random numbers are to be had");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(ret_key + 2 * i, 3, "%02x", bytes[i]);
    return TL_OK;
}

enum tl_status tl_psched_start(struct tl_psched *psched, const struct tl_psched_spec *spec,
                               struct tl_psched_task *ret_task, struct tl_error *reterr)
{
    const char *name = psched_http_name(psched->http);
    struct tl_psched_task task = {.test = spec->test};
    struct tl_buf form = TL_BUF_INIT, body = TL_BUF_INIT;
    long code = 0;
    enum tl_status status = make_key(task.key, reterr);
    if (status != TL_OK)
        return status;
    psched_write_task(spec, task.key, &form);
    const struct psched_ask ask = {.method = "POST",
                                   .path = "/pscheduler/tasks",
                                   .body = tl_buf_text(&form),
                                   .time_ns = POST_NS};
    status = form.status == TL_OK ? psched_http_ask(psched->http, &ask, &body, &code, NULL, reterr)
                                  : tl_error_set(reterr, TL_NOMEM, "out of memory");
    if (status == TL_OK && code != 200 && code != 201)
        status = psched_refusal(name, spec->test, code, &body, reterr);
    else if (status == TL_OK) {
        status = psched_read_task_id(&body, task.id, reterr);
        if (status != TL_OK && reterr)
            tl_error_prefix(reterr, "%s", name);
    }
    task.deadline_ns =
        tl_now_ns() + spec->wait_ns + (int64_t)spec->seconds * TL_NS_PER_S + AROUND_NS;
    if (status == TL_OK)
        *ret_task = task;
    tl_buf_finish(&form);
    tl_buf_finish(&body);
    return status;
}

void tl_psched_cancel(struct tl_psched *psched, const struct tl_psched_task *task)
{
    struct tl_buf body = TL_BUF_INIT;
    char path[160];
    long code;
    if (!task->id[0])
        return;
    snprintf(path, sizeof path, "/pscheduler/tasks/%s?key=%s", task->id, task->key);
    const struct psched_ask ask = {.method = "DELETE", .path = path, .time_ns = CANCEL_NS};
    psched_http_heed(psched->http, -1);
    (void)!psched_http_ask(psched->http, &ask, &body, &code, NULL, NULL);
    psched_http_heed(psched->http, psched->cancel_fd);
    tl_buf_finish(&body);
}

/* --- Waiting ---------------------------------------------------------------------------------- */

/* So that no node is asked more often than once a second, however fast it answers. */
static enum tl_status rest(const struct tl_psched *psched, int64_t asked_ns,
                           struct tl_error *reterr)
{
    struct pollfd fd = {.fd = psched->cancel_fd, .events = POLLIN};
    int64_t left_ns;
    while ((left_ns = asked_ns + STEP_NS - tl_now_ns()) > 0) {
        int ready = poll(&fd, 1, (int)(left_ns / TL_NS_PER_MS) + 1);
        if (ready > 0)
            return tl_error_set(reterr, TL_CANCELLED, "interrupted");
        if (ready < 0 && errno != EINTR)
            return tl_error_set(reterr, TL_IO, "poll: %s", strerror(errno));
    }
    return TL_OK;
}

/* One look at the run; *run stays as it is where there is none yet. */
static enum tl_status look(struct tl_psched *psched, const struct tl_psched_task *task,
                           struct psched_run *run, struct tl_error *reterr)
{
    const char *name = psched_http_name(psched->http);
    struct tl_buf body = TL_BUF_INIT;
    char path[200];
    long code = 0;
    if (run->id[0])
        snprintf(path, sizeof path, "/pscheduler/tasks/%s/runs/%s?wait-merged=true&wait=%d",
                 task->id, run->id, WAIT_S);
    else
        snprintf(path, sizeof path, "/pscheduler/tasks/%s/runs/first?wait=%d", task->id, WAIT_S);
    const struct psched_ask ask = {.method = "GET", .path = path, .time_ns = WAIT_NS};
    enum tl_status status = psched_http_ask(psched->http, &ask, &body, &code, NULL, reterr);
    if (status == TL_OK && code == 200) {
        status = psched_read_run(&body, task->test, run, reterr);
        if (status != TL_OK && reterr)
            tl_error_prefix(reterr, "%s, %s test", name, tl_psched_test_name(task->test));
    } else if (status == TL_OK && (code != 404 || run->id[0])) {
        status = psched_refusal(name, task->test, code, &body, reterr);
    }
    tl_buf_finish(&body);
    return status;
}

static enum tl_status too_late(const struct tl_psched *psched, const struct tl_psched_task *task,
                               const struct psched_run *run, struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_TIMEOUT, "%s, %s test: %s", psched_http_name(psched->http),
                        tl_psched_test_name(task->test),
                        run->overdue ? "it is overdue there, and was given up"
                        : run->id[0] ? "it did not end in time, and was given up"
                                     : "no time for it was found there in time");
}

enum tl_status tl_psched_await(struct tl_psched *psched, const struct tl_psched_task *task,
                               struct tl_psched_result *ret_result, struct tl_error *reterr)
{
    struct psched_run run = {.state = PSCHED_WAITS};
    enum tl_status status = TL_OK;
    while (status == TL_OK && run.state == PSCHED_WAITS) {
        int64_t asked_ns = tl_now_ns();
        if (asked_ns >= task->deadline_ns)
            status = too_late(psched, task, &run, reterr);
        else
            status = look(psched, task, &run, reterr);
        if (status == TL_OK && run.state == PSCHED_WAITS)
            status = rest(psched, asked_ns, reterr);
    }
    if (status == TL_OK && run.state == PSCHED_OVER)
        return tl_error_set(reterr, run.status, "%s, %s test: %s", psched_http_name(psched->http),
                            tl_psched_test_name(task->test), run.error.text);
    if (status == TL_OK)
        *ret_result = run.result;
    else
        tl_psched_cancel(psched, task);
    return status;
}
