/* The client against a far end that is killed, hangs or comes late, and when it is late itself. */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "far_end.h"
#include "tightlink/base/time.h"

static struct tl_tcp_result result; /* large */

static pid_t fork_far(int *ret_port)
{
    int pipe_fds[2];
    cr_assert_eq(pipe(pipe_fds), 0);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        struct tl_responder *responder;
        struct tl_responder_options options = {.bind_address = "127.0.0.1"};
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (tl_responder_create(&options, &responder, NULL) != TL_OK)
            _exit(1);
        int port = tl_responder_port(responder);
        if (write(pipe_fds[1], &port, sizeof(port)) != sizeof(port))
            _exit(1);
        _exit(tl_responder_run(responder, NULL) == TL_OK ? 0 : 1);
    }
    cr_assert_eq(read(pipe_fds[0], ret_port, sizeof(*ret_port)), (ssize_t)sizeof(*ret_port));
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    return child;
}

struct assassin {
    pid_t victim;
    int signal;
    int64_t at_ns; /* 0: not yet */
};

/* Once something has moved. */
static void strike_then(void *context, const struct tl_tcp_live *live)
{
    struct assassin *assassin = context;
    if (assassin->at_ns > 0 || !(live->rate_bps > 0))
        return;
    assassin->at_ns = tl_now_ns();
    kill(assassin->victim, assassin->signal);
}

static enum tl_status strike_during_test(enum tl_wire_direction direction, int signal,
                                         int64_t *ret_took_ns)
{
    int port;
    struct assassin assassin = {fork_far(&port), signal, 0};
    struct tl_client *client = dial(port, -1);
    struct tl_tcp_spec spec = {.direction = direction, .streams = 2, .duration_ns = 60000 * MS};
    struct tl_error error = {0};
    enum tl_status status =
        tl_client_tcp_test(client, &spec, strike_then, &assassin, &result, &error);
    *ret_took_ns = tl_now_ns() - assassin.at_ns;
    cr_log_info("%s, signal %d: %s after %.1f s", direction ? "upload" : "download", signal,
                error.text, (double)*ret_took_ns / 1e9);
    kill(assassin.victim, SIGKILL);
    waitpid(assassin.victim, NULL, 0);
    tl_client_close(client);
    return status;
}

Test(client_held_up, a_responder_that_is_killed_ends_the_test_at_once, .timeout = 240)
{
    for (int i = 0; i < 2; i++) {
        int64_t took_ns;
        enum tl_status status =
            strike_during_test(i ? TL_WIRE_UPLOAD : TL_WIRE_DOWNLOAD, SIGKILL, &took_ns);
        cr_assert_eq(status, TL_CLOSED, "%s", tl_status_name(status));
        cr_assert_lt(took_ns, 20000 * MS, "long before its time");
        cr_assert_eq(result.end, TL_TCP_END_LOST, "%d", (int)result.end);
        cr_assert_not(result.end_signed);
        tl_tcp_result_finish(&result);
    }
}

Test(client_held_up, a_responder_that_hangs_is_given_up_after_seconds, .timeout = 240)
{
    int64_t took_ns;
    enum tl_status status = strike_during_test(TL_WIRE_DOWNLOAD, SIGSTOP, &took_ns);
    cr_assert_eq(status, TL_TIMEOUT, "%s", tl_status_name(status));
    cr_assert_lt(took_ns, 30000 * MS, "long before its time");
    cr_assert_eq(result.end, TL_TCP_END_SILENT);
    cr_assert_not(result.end_signed);
    tl_tcp_result_finish(&result);
}

static void *hold_up(void *arg)
{
    const struct timespec before = {.tv_nsec = 200 * MS}, held = {.tv_sec = 1, .tv_nsec = 200 * MS};
    const pid_t *victim = arg;
    nanosleep(&before, NULL);
    kill(*victim, SIGSTOP);
    nanosleep(&held, NULL);
    kill(*victim, SIGCONT);
    return NULL;
}

/* Its processors were taken: our streams have ended in time, it says so late, and is told to stop
 * before it does. Nothing broke. */
Test(client_held_up, a_responder_that_ends_late_has_lost_nothing, .timeout = 240)
{
    int port;
    pid_t responder = fork_far(&port);
    struct tl_client *client = dial(port, -1);
    struct tl_tcp_spec spec = {
        .direction = TL_WIRE_UPLOAD, .streams = 2, .duration_ns = 400 * MS, .pacing_bps = 50000000};
    struct tl_error error = {0};
    pthread_t thread;
    pthread_create(&thread, NULL, hold_up, &responder);
    enum tl_status status = tl_client_tcp_test(client, &spec, NULL, NULL, &result, &error);
    pthread_join(thread, NULL);
    cr_expect_eq(status, TL_OK, "%s", error.text);
    cr_expect_eq(result.end, TL_TCP_END_DEADLINE, "%d", (int)result.end);
    cr_expect(result.end_signed);
    tl_tcp_result_finish(&result);
    tl_client_close(client);
    kill(responder, SIGKILL);
    waitpid(responder, NULL, 0);
}

static void block_once(void *context, const struct tl_tcp_live *live)
{
    const struct timespec long_enough = {.tv_sec = 6}; /* on a machine that grants half a core */
    bool *blocked = context;
    if (!*blocked && !live->queued && live->elapsed_ns > 300 * MS) {
        *blocked = true;
        nanosleep(&long_enough, NULL);
    }
}

/* The responder goes silent towards a program that says nothing (P4). That is this end's doing. */
Test(client_held_up, a_client_that_was_held_up_is_told_so, .timeout = 240)
{
    struct far_end far;
    struct tl_error error = {0};
    bool blocked = false;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    struct tl_tcp_spec spec = {.direction = TL_WIRE_DOWNLOAD,
                               .streams = 1,
                               .duration_ns = 20000 * MS,
                               .pacing_bps = 50000000};
    enum tl_status status =
        tl_client_tcp_test(client, &spec, block_once, &blocked, &result, &error);
    cr_expect(blocked);
    cr_expect_eq(status, TL_CLOSED, "%s", tl_status_name(status));
    cr_expect_eq(result.end, TL_TCP_END_UNHEARD, "%d", (int)result.end);
    cr_expect_not_null(strstr(error.text, "heard nothing from this program"), "%s", error.text);
    tl_tcp_result_finish(&result);
    tl_client_close(client);
    stop_far(&far);
}
