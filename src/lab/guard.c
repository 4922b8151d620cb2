/* The guard's and the emulator's life; see guard.h.
 *
 * Who watches whom (pidfds, so that no number can be mistaken):
 *
 *     caller <--- guard ---> emulator, splitting proxy, others, started processes
 *                   ^-------- emulator
 *
 * The guard ends all when the caller, the emulator or the channel ends. When the
 * guard itself ends, started processes get SIGKILL from the kernel
 * (PR_SET_PDEATHSIG) and the emulator removes the control groups and ends. The
 * namespaces go with the last of these processes, the devices with them. */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "children.h"
#include "emulator.h"
#include "others.h"
#include "privilege.h"
#include "row.h"
#include "splitter.h"
#include "topology.h"

struct guard {
    const struct tl_lab_config *config;
    struct tl_lab_shared *shared;
    struct tl_lab_topology topology;
    struct tl_lab_children children;
    int channel;
    int caller_fd; /* pidfd */
    int child_fd;  /* signalfd of SIGCHLD */
    int user_fd;   /* the user namespace, -1 if none was needed */
    pid_t emulator;
    struct tl_lab_disks disks;
    pid_t splitter; /* 0: there is none */
    pid_t others;   /* the same */
};

static int pidfd_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* A process forked from an unknown program: none of its handlers, terminal or
 * descriptors. stderr stays, for the sanitizers. */
static void detach(int channel)
{
    struct sigaction ignore_none = {.sa_handler = SIG_DFL};
    sigset_t child;
    for (int s = 1; s < NSIG; s++)
        (void)sigaction(s, &ignore_none, NULL);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &child, NULL);
    (void)setsid();
    prctl(PR_SET_NAME, "tightlink-lab");
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, 0);
        dup2(null, 1);
        if (fcntl(2, F_GETFD) < 0)
            dup2(null, 2);
    }
    if (channel > 3)
        syscall(SYS_close_range, 3, channel - 1, 0);
    syscall(SYS_close_range, channel + 1, ~0U, 0);
}

/* Holds the user namespace for the caller to join; none is made for a caller
 * that is privileged already. */
static enum tl_status gain_privilege(struct guard *guard, struct tl_error *reterr)
{
    if (tl_lab_privileged())
        return TL_OK;
    enum tl_status status = tl_lab_user_namespace(reterr);
    if (status != TL_OK)
        return status;
    guard->user_fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
    if (guard->user_fd < 0)
        return tl_error_set(reterr, TL_IO, "cannot open /proc/self/ns/user: %s", strerror(errno));
    return TL_OK;
}

/* Looks for packets that were lost in front of the emulator: now and then while
 * it runs, because nothing announces them. */
#define OVERRUN_CHECK_MS 250

static void count_overruns(struct guard *guard,
                           uint64_t totals[TL_LAB_LINKS_MAX][TL_LAB_HOST_COUNT])
{
    for (int at = 0; at < tl_lab_link_count(guard->config); at++)
        for (int h = 0; h < TL_LAB_HOST_COUNT; h++) {
            tl_lab_topology_overruns(&guard->topology, guard->config, at, (enum tl_lab_host)h,
                                     &totals[at][h]);
            /* What the near side loses was on its way up. */
            enum tl_lab_direction direction = h == TL_LAB_NEAR ? TL_LAB_UP : TL_LAB_DOWN;
            atomic_store_explicit(&guard->shared->live[at][direction].overruns, totals[at][h],
                                  memory_order_relaxed);
        }
}

static void wait_for_guard(struct guard *guard, int guard_fd)
{
    uint64_t overruns[TL_LAB_LINKS_MAX][TL_LAB_HOST_COUNT] = {{0}};
    struct pollfd gone = {.fd = guard_fd, .events = POLLIN};
    int timeout_ms = guard->config->plain ? -1 : OVERRUN_CHECK_MS;
    for (;;) {
        int n = poll(&gone, 1, timeout_ms);
        if (n > 0 || (n < 0 && errno != EINTR))
            return;
        if (n == 0)
            count_overruns(guard, overruns);
    }
}

static enum tl_status start_links(struct guard *guard, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    for (int at = 0; at < TL_LAB_LINKS_MAX && status == TL_OK; at++)
        if (tl_lab_topology_emulated(&guard->topology, at))
            status = tl_lab_emulator_start(guard->config, at, &guard->topology.ports[at],
                                           guard->shared, reterr);
    return status;
}

/* The emulator process: its threads work, this one waits for the guard's end. */
static _Noreturn void emulator_main(struct guard *guard, int guard_fd, int ready_fd)
{
    struct tl_error error = {0};
    close(guard->channel);
    close(guard->caller_fd);
    close(guard->child_fd);
    prctl(PR_SET_NAME, "tightlink-emu");
    enum tl_status status = start_links(guard, &error);
    error.status = status;
    if (write(ready_fd, &error, sizeof error) != (ssize_t)sizeof error || status != TL_OK)
        _exit(1);
    close(ready_fd);
    wait_for_guard(guard, guard_fd);
    tl_lab_cgroups_remove(&guard->shared->cgroups);
    _exit(0);
}

static enum tl_status start_emulator(struct guard *guard, struct tl_error *reterr)
{
    int ready[2];
    int guard_fd = pidfd_open(getpid());
    if (guard_fd < 0 || pipe2(ready, O_CLOEXEC) != 0)
        return tl_error_set(reterr, tl_status_from_errno(errno),
                            "cannot prepare the emulator: %s (Linux 5.3 or later is needed)",
                            strerror(errno));
    guard->emulator = fork();
    if (guard->emulator == 0) {
        close(ready[0]);
        emulator_main(guard, guard_fd, ready[1]);
    }
    close(guard_fd);
    close(ready[1]);
    struct tl_error result = {0};
    ssize_t len = guard->emulator < 0 ? -1 : read(ready[0], &result, sizeof result);
    close(ready[0]);
    if (len != (ssize_t)sizeof result)
        return tl_error_set(reterr, TL_IO, "the emulator's process did not start");
    if (result.status != TL_OK) {
        if (reterr)
            *reterr = result;
        return result.status;
    }
    /* The emulator alone holds the ports now. */
    tl_lab_topology_close_ports(&guard->topology);
    atomic_store(&guard->shared->emulator_pid, guard->emulator);
    return TL_OK;
}

static enum tl_status watch(struct guard *guard, pid_t caller, struct tl_error *reterr)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    guard->child_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    guard->caller_fd = pidfd_open(caller);
    if (guard->child_fd < 0 || guard->caller_fd < 0)
        return tl_error_set(reterr, TL_UNSUPPORTED,
                            "cannot watch processes: %s (Linux 5.3 or later is needed)",
                            strerror(errno));
    return getppid() == caller ? TL_OK : tl_error_set(reterr, TL_CLOSED, "the caller has gone");
}

/* What a child of the guard does before its own work: it dies with its parent. */
static void become_child(struct guard *guard, const char *name, pid_t parent)
{
    close(guard->channel);
    close(guard->caller_fd);
    close(guard->child_fd);
    prctl(PR_SET_NAME, name);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(1);
}

static enum tl_status start_splitter(struct guard *guard, struct tl_error *reterr)
{
    struct tl_lab_splitter splitter = TL_LAB_SPLITTER_NONE;
    if (!guard->config->split)
        return TL_OK;
    /* The proxy sends towards c in place of s, and its algorithm is that of s. */
    enum tl_status status = tl_lab_ns_enter(&guard->topology.place[TL_LAB_PLACE_R1], reterr);
    if (status == TL_OK)
        status = tl_lab_splitter_init(&splitter, guard->config, guard->config->host[TL_LAB_FAR].cc,
                                      reterr);
    if (status != TL_OK)
        return status;
    pid_t parent = getpid();
    guard->splitter = fork();
    if (guard->splitter == 0) {
        become_child(guard, "tightlink-split", parent);
        tl_lab_splitter_main(&splitter);
    }
    tl_lab_splitter_finish(&splitter);
    return guard->splitter > 0 ? TL_OK
                               : tl_error_set(reterr, TL_IO, "cannot fork the splitting proxy: %s",
                                              strerror(errno));
}

/* How long others may take to connect and settle, over a path that loses packets. */
#define OTHERS_READY_MS 20000

/* Waits until the connections of others stand. */
static enum tl_status await_others(int ready_fd, struct tl_error *reterr)
{
    struct pollfd ready = {.fd = ready_fd, .events = POLLIN};
    char byte;
    int n;
    do
        n = poll(&ready, 1, OTHERS_READY_MS);
    while (n < 0 && errno == EINTR);
    return n > 0 && read(ready_fd, &byte, 1) == 1
               ? TL_OK
               : tl_error_set(reterr, TL_TIMEOUT,
                              "the connections of others could not be made over this path");
}

static enum tl_status start_others(struct guard *guard, struct tl_error *reterr)
{
    struct tl_lab_others others;
    int ready[2];
    if (!tl_lab_others_wanted(guard->config))
        return TL_OK;
    enum tl_status status = tl_lab_others_init(&others, &guard->topology, guard->config, reterr);
    if (status != TL_OK)
        return status;
    if (pipe2(ready, O_CLOEXEC) != 0) {
        tl_lab_others_finish(&others);
        return tl_error_set(reterr, TL_IO, "cannot make a pipe: %s", strerror(errno));
    }
    pid_t parent = getpid();
    guard->others = fork();
    if (guard->others == 0) {
        close(ready[0]);
        become_child(guard, "tightlink-other", parent);
        tl_lab_others_main(&others, ready[1]);
    }
    close(ready[1]);
    tl_lab_others_finish(&others);
    status = guard->others > 0
                 ? await_others(ready[0], reterr)
                 : tl_error_set(reterr, TL_IO, "cannot fork the others: %s", strerror(errno));
    close(ready[0]);
    return status;
}

static enum tl_status build(struct guard *guard, pid_t caller, struct tl_error *reterr)
{
    enum tl_status status = watch(guard, caller, reterr);
    if (status == TL_OK) /* before the user namespace hides our rights to them */
        status = tl_lab_disks_make(&guard->disks, guard->config, reterr);
    if (status == TL_OK)
        status = tl_lab_cgroups_make(&guard->shared->cgroups, guard->config, &guard->disks, caller,
                                     reterr);
    if (status == TL_OK)
        status = gain_privilege(guard, reterr);
    if (status == TL_OK)
        status = tl_lab_topology_init(&guard->topology, guard->config, reterr);
    if (status != TL_OK)
        return status;
    atomic_store(&guard->shared->carrier, (int32_t)guard->topology.carrier);
    status = start_emulator(guard, reterr);
    if (status == TL_OK)
        status = start_splitter(guard, reterr);
    return status == TL_OK ? start_others(guard, reterr) : status;
}

static void teardown(struct guard *guard)
{
    tl_lab_children_end(&guard->children);
    pid_t *own[] = {&guard->others, &guard->splitter, &guard->emulator};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (*own[i] > 0) {
            kill(*own[i], SIGKILL);
            waitpid(*own[i], NULL, 0);
        }
    tl_lab_cgroups_remove(&guard->shared->cgroups);
}

static enum tl_lab_place place_of(const struct guard *guard, const struct tl_lab_request *request)
{
    if (request->router > 0)
        return tl_lab_row_place(guard->config, request->router);
    return request->host == TL_LAB_NEAR ? TL_LAB_PLACE_C : TL_LAB_PLACE_S;
}

static void serve(struct guard *guard, struct tl_lab_request *request,
                  const int fds[TL_LAB_CHANNEL_FDS], struct tl_lab_reply *reply)
{
    enum tl_lab_place place = place_of(guard, request);
    switch (request->type) {
    case TL_LAB_SPAWN:
        request->unprivileged =
            guard->config->host[request->host == TL_LAB_NEAR ? TL_LAB_NEAR : TL_LAB_FAR]
                .unprivileged;
        reply->error.status = tl_lab_children_spawn(
            &guard->children, request, fds, &guard->topology.place[place], &guard->shared->cgroups,
            &guard->disks, &reply->pid, &reply->error);
        break;
    case TL_LAB_REAP:
        reply->error.status =
            tl_lab_children_reap(&guard->children, request->pid, &reply->wstatus, &reply->error);
        break;
    case TL_LAB_SIGNAL:
        reply->error.status = tl_lab_children_signal(&guard->children, request->pid,
                                                     request->signal_number, &reply->error);
        break;
    }
}

/* Answers one request; false when the caller has hung up. */
static bool answer(struct guard *guard)
{
    static struct tl_lab_request request;
    struct tl_lab_reply reply;
    int fds[TL_LAB_CHANNEL_FDS];
    memset(&reply, 0, sizeof reply);
    if (tl_lab_channel_receive(guard->channel, &request, sizeof request, fds) != TL_OK)
        return false;
    serve(guard, &request, fds, &reply);
    for (int i = 0; i < TL_LAB_CHANNEL_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return tl_lab_channel_send(guard->channel, &reply, sizeof reply, NULL, 0) == TL_OK;
}

/* Takes exits; false when a process that is part of the path is among them. */
static bool collect_exits(struct guard *guard)
{
    struct signalfd_siginfo info;
    while (read(guard->child_fd, &info, sizeof info) > 0)
        continue;
    int wstatus;
    pid_t pid;
    while ((pid = waitpid(-1, &wstatus, WNOHANG)) > 0) {
        pid_t *own[] = {&guard->others, &guard->splitter, &guard->emulator};
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            if (pid == *own[i]) {
                *own[i] = 0;
                return false;
            }
        tl_lab_children_exited(&guard->children, pid, wstatus);
    }
    return true;
}

static void guard_loop(struct guard *guard)
{
    struct pollfd watched[] = {{.fd = guard->channel, .events = POLLIN},
                               {.fd = guard->caller_fd, .events = POLLIN},
                               {.fd = guard->child_fd, .events = POLLIN}};
    for (;;) {
        if (poll(watched, 3, -1) < 0 && errno != EINTR)
            return;
        if (watched[1].revents)
            return;
        if (watched[2].revents && !collect_exits(guard))
            return;
        if (watched[0].revents && !answer(guard))
            return;
    }
}

_Noreturn void tl_lab_guard_main(const struct tl_lab_config *config, struct tl_lab_shared *shared,
                                 int channel, pid_t caller)
{
    static struct guard guard;
    struct tl_lab_reply ready;
    memset(&ready, 0, sizeof ready);
    detach(channel);
    guard = (struct guard){.config = config,
                           .shared = shared,
                           .channel = channel,
                           .user_fd = -1,
                           .disks = TL_LAB_DISKS_NONE};
    ready.error.status = build(&guard, caller, &ready.error);
    ready.pid = guard.emulator;
    /* A disk needs root, and root needs no user namespace: never both. */
    ready.has_disk = guard.disks.disk[TL_LAB_NEAR].fd >= 0;
    int second = ready.has_disk ? guard.disks.disk[TL_LAB_NEAR].fd : guard.user_fd;
    int fds[2] = {guard.topology.place[TL_LAB_PLACE_C].fd, second};
    int fd_count = ready.error.status != TL_OK ? 0 : second >= 0 ? 2 : 1;
    if (tl_lab_channel_send(channel, &ready, sizeof ready, fds, fd_count) == TL_OK &&
        ready.error.status == TL_OK)
        guard_loop(&guard);
    teardown(&guard);
    _exit(0);
}
