/* What this host can do alone: loopback, memory, timers. */
#include "tightlink/engine/calibrate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tightlink/base/stats.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/stream.h"

#define WARM_UP_NS (TL_CALIBRATE_TCP_NS / 3)
#define STEPS_MAX  10
#define COPY_BYTES (32 << 20) /* more than the caches of most machines hold */
#define SLEEP_NS   TL_NS_PER_MS
#define SLEEPS_MAX ((size_t)(TL_CALIBRATE_TIMER_NS / SLEEP_NS))

/* --- One TCP stream over loopback ---------------------------------------------------------- */

/* ret_fds[0] sends, ret_fds[1] receives; false when loopback is not there. */
static bool connect_pair(int ret_fds[2])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in from, own;
    socklen_t len = sizeof at, from_len = sizeof from, own_len = sizeof own;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int in = -1;
    if (listener >= 0 && out >= 0 && bind(listener, (struct sockaddr *)&at, sizeof at) == 0 &&
        listen(listener, 1) == 0 && getsockname(listener, (struct sockaddr *)&at, &len) == 0 &&
        connect(out, (struct sockaddr *)&at, sizeof at) == 0)
        in = accept4(listener, (struct sockaddr *)&from, &from_len, SOCK_CLOEXEC);
    /* Another user of this host may have been quicker than our own connect. */
    bool ours = in >= 0 && getsockname(out, (struct sockaddr *)&own, &own_len) == 0 &&
                own.sin_port == from.sin_port;
    if (listener >= 0)
        close(listener);
    if (ours) {
        ret_fds[0] = out;
        ret_fds[1] = in;
        return true;
    }
    if (out >= 0)
        close(out);
    if (in >= 0)
        close(in);
    return false;
}

static struct tl_streams *start_end(int fd, bool send)
{
    struct tl_streams_spec spec = {
        .send = send, .duration_ns = 2 * TL_CALIBRATE_TCP_NS, .interval_ns = 100 * TL_NS_PER_MS};
    struct tl_streams *streams;
    struct tl_error error;
    if (tl_streams_create(&spec, &streams, &error) != TL_OK) {
        close(fd);
        return NULL;
    }
    if (tl_streams_add(streams, fd, &error) != TL_OK) {
        close(fd);
        tl_streams_destroy(streams);
        return NULL;
    }
    if (tl_streams_start(streams, &error) == TL_OK)
        return streams;
    tl_streams_destroy(streams);
    return NULL;
}

/* Sleeps unless cancelled. */
static bool wait_ns(int cancel_fd, int64_t ns)
{
    struct pollfd cancel = {.fd = cancel_fd, .events = POLLIN};
    struct timespec timeout = {.tv_sec = ns / TL_NS_PER_S, .tv_nsec = ns % TL_NS_PER_S};
    return ppoll(&cancel, 1, &timeout, NULL) == 0;
}

/* Until something has moved, in steps of what is measured at least: on a busy machine neither
 * thread may get a processor in one. 0: nothing did, or it was cancelled. */
static uint64_t count_bytes(int cancel_fd, const struct tl_streams *receiver)
{
    uint64_t before = tl_streams_bytes(receiver), bytes = 0;
    for (int i = 0; i < STEPS_MAX && bytes == 0; i++) {
        if (!wait_ns(cancel_fd, TL_CALIBRATE_TCP_NS - WARM_UP_NS))
            return 0;
        bytes = tl_streams_bytes(receiver) - before;
    }
    return bytes;
}

static void measure_tcp(int cancel_fd, struct tl_calibration *calibration)
{
    int fds[2];
    if (!connect_pair(fds))
        return;
    struct tl_streams *receiver = start_end(fds[1], false);
    struct tl_streams *sender = receiver ? start_end(fds[0], true) : NULL;
    if (!receiver)
        close(fds[0]);
    if (sender && wait_ns(cancel_fd, WARM_UP_NS)) {
        int64_t start_ns = tl_now_ns(), cpu_ns = tl_process_cpu_ns();
        double bytes = (double)count_bytes(cancel_fd, receiver);
        if (bytes > 0) {
            calibration->tcp_bps = bytes * 8e9 / (double)(tl_now_ns() - start_ns);
            calibration->tcp_cpu_ns_per_byte = (double)(tl_process_cpu_ns() - cpu_ns) / bytes;
        }
    }
    tl_streams_destroy(sender);
    tl_streams_destroy(receiver);
}

/* --- Memory -------------------------------------------------------------------------------- */

static void measure_memory(struct tl_calibration *calibration)
{
    unsigned char *from = malloc(COPY_BYTES), *to = malloc(COPY_BYTES);
    if (from && to) {
        memset(from, 0x5a, COPY_BYTES); /* pages exist from here on */
        memset(to, 0, COPY_BYTES);
        int64_t start_ns = tl_now_ns(), took_ns = 0;
        double copies = 0;
        while (took_ns < TL_CALIBRATE_MEMORY_NS) {
            from[(size_t)copies % COPY_BYTES]++; /* or the compiler may copy once for all */
            memcpy(to, from, COPY_BYTES);
            __asm__ volatile("" ::"r"(to) : "memory");
            copies++;
            took_ns = tl_now_ns() - start_ns;
        }
        calibration->memory_copy_bps = copies * COPY_BYTES * 8e9 / (double)took_ns;
    }
    free(from);
    free(to);
}

/* --- Timers -------------------------------------------------------------------------------- */

/* Absolute times, so that a late wake-up does not move the next one. */
static void measure_timers(struct tl_calibration *calibration)
{
    double late_ns[SLEEPS_MAX];
    size_t count = 0;
    int64_t start_ns = tl_now_ns();
    for (size_t i = 0; i < SLEEPS_MAX; i++) {
        int64_t due_ns = start_ns + (int64_t)(i + 1) * SLEEP_NS;
        struct timespec due = {.tv_sec = due_ns / TL_NS_PER_S, .tv_nsec = due_ns % TL_NS_PER_S};
        if (due_ns <= tl_now_ns())
            continue; /* the one before ended so late that this one is over */
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
            continue;
        late_ns[count++] = (double)(tl_now_ns() - due_ns);
    }
    calibration->timer_late_max_ns = tl_stats_max(late_ns, count);
    calibration->timer_late_median_ns = tl_stats_median(late_ns, count);
}

enum tl_status tl_calibrate(int cancel_fd, struct tl_calibration *ret_calibration)
{
    struct tl_calibration calibration = {(double)NAN, (double)NAN, (double)NAN, (double)NAN,
                                         (double)NAN};
    measure_tcp(cancel_fd, &calibration);
    if (!wait_ns(cancel_fd, 0))
        return TL_CANCELLED;
    measure_memory(&calibration);
    measure_timers(&calibration);
    if (!wait_ns(cancel_fd, 0))
        return TL_CANCELLED;
    *ret_calibration = calibration;
    return TL_OK;
}
