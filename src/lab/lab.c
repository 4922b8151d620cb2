/* The caller's side of a lab; see tightlink/lab/lab.h. */
#include "tightlink/lab/lab.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "disk.h"
#include "guard.h"
#include "privilege.h"
#include "tightlink/base/time.h"
#include "topology.h"

/* How long the lab's processes may take to end: they only kill and wait. */
#define END_TIMEOUT_MS 5000

struct tl_lab {
    struct tl_lab_config config;
    struct tl_lab_shared *shared;
    int channel;
    pid_t guard;
    int guard_fd; /* pidfd, like the next */
    int emulator_fd;
    int near_fd; /* namespace of c */
    int disk_fd; /* c's disk, -1: none */
    char disk_paths[TL_LAB_HOST_COUNT][32];
    int first_fd; /* the namespace that the entered thread came from, -1: not entered */
};

static int pidfd_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static struct tl_lab *lab_new(const struct tl_lab_config *config)
{
    struct tl_lab *lab = calloc(1, sizeof *lab);
    if (!lab)
        return NULL;
    lab->config = *config;
    lab->channel = lab->guard_fd = lab->emulator_fd = lab->near_fd = lab->first_fd = lab->disk_fd =
        -1;
    void *shared =
        mmap(NULL, sizeof *lab->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        free(lab);
        return NULL;
    }
    lab->shared = shared;
    return lab;
}

static enum tl_status fork_guard(struct tl_lab *lab, struct tl_error *reterr)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return tl_error_set(reterr, tl_status_from_errno(errno), "cannot make a socket pair: %s",
                            strerror(errno));
    pid_t caller = getpid();
    lab->guard = fork();
    if (lab->guard == 0) {
        close(pair[0]);
        tl_lab_guard_main(&lab->config, lab->shared, pair[1], caller);
    }
    close(pair[1]);
    lab->channel = pair[0];
    if (lab->guard < 0)
        return tl_error_set(reterr, tl_status_from_errno(errno), "cannot fork: %s",
                            strerror(errno));
    lab->guard_fd = pidfd_open(lab->guard);
    return TL_OK;
}

/* Takes the guard's first message and, if it made one, joins its user namespace. */
static enum tl_status await_ready(struct tl_lab *lab, struct tl_error *reterr)
{
    struct tl_lab_reply ready;
    int fds[TL_LAB_CHANNEL_FDS];
    enum tl_status status = tl_lab_channel_receive(lab->channel, &ready, sizeof ready, fds);
    if (status != TL_OK)
        return tl_error_set(reterr, TL_CLOSED, "the lab's guard ended before it was ready");
    if (ready.error.status != TL_OK) {
        if (reterr)
            *reterr = ready.error;
        return ready.error.status;
    }
    lab->near_fd = fds[TL_LAB_READY_FD_NEAR];
    lab->emulator_fd = pidfd_open(ready.pid);
    if (ready.has_disk) {
        lab->disk_fd = fds[TL_LAB_READY_FD_DISK];
        return TL_OK;
    }
    int user_fd = fds[TL_LAB_READY_FD_USER];
    if (user_fd >= 0 && setns(user_fd, CLONE_NEWUSER) != 0)
        status = tl_error_set(reterr, TL_DENIED, "cannot join the lab's user namespace: %s",
                              strerror(errno));
    close_fd(&user_fd);
    return status;
}

enum tl_status tl_lab_create(const struct tl_lab_config *config, struct tl_lab **ret_lab,
                             struct tl_error *reterr)
{
    enum tl_status status = tl_lab_config_check(config, reterr);
    if (status != TL_OK)
        return status;
    if (tl_lab_thread_count() > 1)
        return tl_error_set(reterr, TL_UNSUPPORTED,
                            "a lab must be made before the program starts threads");
    struct tl_lab *lab = lab_new(config);
    if (!lab)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a lab");
    tl_lab_mark(lab);
    status = fork_guard(lab, reterr);
    if (status == TL_OK)
        status = await_ready(lab, reterr);
    if (status != TL_OK) {
        tl_lab_destroy(lab);
        return status;
    }
    *ret_lab = lab;
    return TL_OK;
}

/* Whether the process behind a pidfd ends in time; -1 counts as ended. */
static bool ended(int pidfd, int timeout_ms)
{
    struct pollfd gone = {.fd = pidfd, .events = POLLIN};
    int n;
    do
        n = pidfd < 0 ? 1 : poll(&gone, 1, timeout_ms);
    while (n < 0 && errno == EINTR);
    return n > 0;
}

static void end_process(int pidfd)
{
    if (ended(pidfd, END_TIMEOUT_MS))
        return;
    syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    (void)ended(pidfd, END_TIMEOUT_MS);
}

void tl_lab_destroy(struct tl_lab *lab)
{
    if (!lab)
        return;
    (void)!tl_lab_leave_near(lab, NULL);
    close_fd(&lab->channel); /* tells the guard to end */
    if (lab->guard > 0) {
        end_process(lab->guard_fd);
        while (waitpid(lab->guard, NULL, 0) < 0 && errno == EINTR)
            continue;
        end_process(lab->emulator_fd);
    }
    tl_lab_cgroups_remove(&lab->shared->cgroups);
    close_fd(&lab->guard_fd);
    close_fd(&lab->emulator_fd);
    close_fd(&lab->near_fd);
    close_fd(&lab->disk_fd);
    close_fd(&lab->first_fd);
    munmap(lab->shared, sizeof *lab->shared);
    free(lab);
}

enum tl_status tl_lab_enter_near(struct tl_lab *lab, struct tl_error *reterr)
{
    int first = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (first < 0)
        return tl_error_set(reterr, TL_IO, "cannot open /proc/thread-self/ns/net: %s",
                            strerror(errno));
    enum tl_status status = tl_lab_cgroups_join(&lab->shared->cgroups, TL_LAB_NEAR, reterr);
    if (status == TL_OK && setns(lab->near_fd, CLONE_NEWNET) != 0)
        status = tl_error_set(reterr, TL_DENIED, "cannot enter the lab's near host: %s",
                              strerror(errno));
    int errnum =
        status == TL_OK && lab->config.host[TL_LAB_NEAR].unprivileged ? tl_lab_step_down() : 0;
    if (errnum)
        status = tl_error_set(reterr, TL_DENIED, "cannot give up privileges: %s", strerror(errnum));
    if (status == TL_OK && lab->first_fd < 0)
        lab->first_fd = first;
    else
        close(first);
    return status;
}

enum tl_status tl_lab_leave_near(struct tl_lab *lab, struct tl_error *reterr)
{
    if (lab->first_fd < 0)
        return TL_OK;
    enum tl_status status = tl_lab_cgroups_leave(&lab->shared->cgroups, reterr);
    if (setns(lab->first_fd, CLONE_NEWNET) != 0)
        return tl_error_set(reterr, TL_DENIED,
                            "cannot return from the lab's near host: %s; from a user namespace "
                            "there is no way back",
                            strerror(errno));
    close_fd(&lab->first_fd);
    return status;
}

const char *tl_lab_disk_directory(struct tl_lab *lab, enum tl_lab_host host)
{
    int fd = host == TL_LAB_NEAR ? lab->disk_fd : TL_LAB_DISK_FD;
    if (!lab->config.host[host].disk)
        return NULL;
    snprintf(lab->disk_paths[host], sizeof lab->disk_paths[host], "/proc/self/fd/%d", fd);
    return lab->disk_paths[host];
}

const char *tl_lab_address(const struct tl_lab *lab, enum tl_lab_host host,
                           enum tl_lab_family family)
{
    return tl_lab_topology_address(&lab->config, host, family);
}

const char *tl_lab_far_address(const struct tl_lab *lab)
{
    const char *v4 = tl_lab_address(lab, TL_LAB_FAR, TL_LAB_IPV4);
    return v4 ? v4 : tl_lab_address(lab, TL_LAB_FAR, TL_LAB_IPV6);
}

void tl_lab_mark(struct tl_lab *lab)
{
    atomic_store_explicit(&lab->shared->mark_ns, tl_now_ns(), memory_order_relaxed);
}

enum tl_status tl_lab_alive(const struct tl_lab *lab, struct tl_error *reterr)
{
    if (ended(lab->guard_fd, 0))
        return tl_error_set(reterr, TL_CLOSED, "the lab's guard process has ended");
    if (ended(lab->emulator_fd, 0))
        return tl_error_set(reterr, TL_CLOSED, "the lab's emulator process has ended");
    return TL_OK;
}

enum tl_lab_carrier tl_lab_carrier(const struct tl_lab *lab)
{
    return (enum tl_lab_carrier)atomic_load(&lab->shared->carrier);
}

struct tl_lab_pids tl_lab_pids(const struct tl_lab *lab)
{
    return (struct tl_lab_pids){lab->guard, atomic_load(&lab->shared->emulator_pid)};
}

void tl_lab_counters(const struct tl_lab *lab, enum tl_lab_direction direction,
                     struct tl_lab_counters *ret_counters)
{
    tl_lab_live_read(&lab->shared->live[tl_lab_main_link(&lab->config)][direction], ret_counters);
}

/* One request, one reply. */
static enum tl_status ask(struct tl_lab *lab, const struct tl_lab_request *request, const int *fds,
                          int fd_count, struct tl_lab_reply *ret_reply, struct tl_error *reterr)
{
    int unused[TL_LAB_CHANNEL_FDS];
    enum tl_status status =
        tl_lab_channel_send(lab->channel, request, sizeof *request, fds, fd_count);
    if (status == TL_OK)
        status = tl_lab_channel_receive(lab->channel, ret_reply, sizeof *ret_reply, unused);
    if (status != TL_OK)
        return tl_error_set(reterr, TL_CLOSED, "the lab's guard process has ended");
    if (ret_reply->error.status != TL_OK && reterr)
        *reterr = ret_reply->error;
    return ret_reply->error.status;
}

static bool pack_argv(struct tl_lab_request *request, const char *const argv[])
{
    size_t at = 0;
    for (size_t i = 0; argv[i]; i++) {
        size_t len = strlen(argv[i]) + 1;
        if (len > sizeof request->argv - at)
            return false;
        memcpy(request->argv + at, argv[i], len);
        at += len;
    }
    request->argv_bytes = at;
    return at > 0;
}

static enum tl_status spawn(struct tl_lab *lab, struct tl_lab_request request,
                            const char *const argv[], const struct tl_lab_stdio *stdio,
                            pid_t *ret_pid, struct tl_error *reterr)
{
    struct tl_lab_reply reply;
    int streams[3] = {-1, -1, -1};
    int fds[TL_LAB_CHANNEL_FDS];
    int fd_count = 0;
    if (!pack_argv(&request, argv))
        return tl_error_set(reterr, TL_LIMIT, "the command line is empty or too long for a lab");
    if (stdio)
        memcpy(streams, (const int[]){stdio->in, stdio->out, stdio->err}, sizeof streams);
    for (int i = 0; i < 3; i++) {
        request.stream_fd[i] = streams[i] < 0 ? -1 : fd_count;
        if (streams[i] >= 0)
            fds[fd_count++] = streams[i];
    }
    enum tl_status status = ask(lab, &request, fds, fd_count, &reply, reterr);
    if (status == TL_OK)
        *ret_pid = reply.pid;
    return status;
}

enum tl_status tl_lab_spawn(struct tl_lab *lab, enum tl_lab_host host, const char *const argv[],
                            const struct tl_lab_stdio *stdio, pid_t *ret_pid,
                            struct tl_error *reterr)
{
    struct tl_lab_request request = {.type = TL_LAB_SPAWN, .host = host};
    return spawn(lab, request, argv, stdio, ret_pid, reterr);
}

static bool has_router(const struct tl_lab *lab, int router)
{
    return !lab->config.plain && router >= 1 && router <= lab->config.routers;
}

enum tl_status tl_lab_spawn_router(struct tl_lab *lab, int router, const char *const argv[],
                                   const struct tl_lab_stdio *stdio, pid_t *ret_pid,
                                   struct tl_error *reterr)
{
    struct tl_lab_request request = {.type = TL_LAB_SPAWN, .host = TL_LAB_FAR, .router = router};
    if (!has_router(lab, router))
        return tl_error_set(reterr, TL_RANGE, "this path has no router r%d", router);
    return spawn(lab, request, argv, stdio, ret_pid, reterr);
}

bool tl_lab_router_address(const struct tl_lab *lab, int router, enum tl_lab_family family,
                           char ret_text[TL_LAB_ROUTER_ADDRESS_SIZE])
{
    int number = router == 1 ? 1 : 2; /* r1 is the first of its network, the others the second */
    if (!has_router(lab, router) || !(lab->config.family & family))
        return false;
    snprintf(ret_text, TL_LAB_ROUTER_ADDRESS_SIZE,
             family == TL_LAB_IPV4 ? "10.99.%d.%d" : "fd00:99:%d::%d", router, number);
    return true;
}

static enum tl_status reap(struct tl_lab *lab, pid_t pid, int *ret_wstatus, struct tl_error *reterr)
{
    struct tl_lab_request request = {.type = TL_LAB_REAP, .pid = pid};
    struct tl_lab_reply reply;
    enum tl_status status = ask(lab, &request, NULL, 0, &reply, reterr);
    if (status == TL_OK)
        *ret_wstatus = reply.wstatus;
    return status;
}

enum tl_status tl_lab_wait(struct tl_lab *lab, pid_t pid, int64_t timeout_ns, int *ret_wstatus,
                           struct tl_error *reterr)
{
    /* A zombie still has its number, so this names the process or nobody. */
    int fd = pidfd_open(pid);
    if (fd >= 0 && timeout_ns > 0) {
        struct pollfd gone = {.fd = fd, .events = POLLIN};
        struct timespec timeout = {timeout_ns / TL_NS_PER_S, timeout_ns % TL_NS_PER_S};
        (void)ppoll(&gone, 1, &timeout, NULL);
    }
    close_fd(&fd);
    return reap(lab, pid, ret_wstatus, reterr);
}

enum tl_status tl_lab_kill(struct tl_lab *lab, pid_t pid, int signal_number,
                           struct tl_error *reterr)
{
    struct tl_lab_request request = {
        .type = TL_LAB_SIGNAL, .pid = pid, .signal_number = signal_number};
    struct tl_lab_reply reply;
    return ask(lab, &request, NULL, 0, &reply, reterr);
}
