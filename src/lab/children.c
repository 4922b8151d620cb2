/* Starting, watching and ending processes in the hosts; see children.h. */
#include "children.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege.h"

#define ARGV_MAX 256

/* argv from strings one behind the other; false when they are not well formed. */
static bool split_argv(const struct tl_lab_request *request, char *ret_argv[ARGV_MAX + 1])
{
    size_t count = 0;
    const char *end = request->argv + request->argv_bytes;
    if (request->argv_bytes == 0 || request->argv_bytes > sizeof request->argv || end[-1] != '\0')
        return false;
    for (const char *p = request->argv; p < end; p += strlen(p) + 1) {
        if (count == ARGV_MAX)
            return false;
        ret_argv[count++] = (char *)p;
    }
    ret_argv[count] = NULL;
    return true;
}

static int set_streams(const struct tl_lab_request *request,
                       const int stream_fds[TL_LAB_CHANNEL_FDS])
{
    for (int i = 0; i < 3; i++) {
        int from = request->stream_fd[i];
        int fd = from < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : stream_fds[from];
        /* Received and opened descriptors lie above 2, which the guard keeps open. */
        if (fd < 0 || dup2(fd, i) < 0)
            return errno;
    }
    return 0;
}

/* The child's side, up to exec. Returns an errno. */
static int become(const struct tl_lab_request *request, const int stream_fds[TL_LAB_CHANNEL_FDS],
                  const struct tl_lab_ns *ns, const struct tl_lab_cgroups *cgroups, pid_t guard,
                  char *const argv[])
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return errno;
    if (getppid() != guard)
        return ESRCH;
    if (setns(ns->fd, CLONE_NEWNET) != 0)
        return errno;
    if (request->router == 0 &&
        tl_lab_cgroups_join(cgroups, (enum tl_lab_host)request->host, NULL) != TL_OK)
        return EACCES;
    int errnum = set_streams(request, stream_fds);
    if (errnum == 0 && request->unprivileged)
        errnum = tl_lab_step_down();
    if (errnum == 0 && request->unprivileged && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        errnum = errno; /* a change of user clears it */
    if (errnum)
        return errnum;
    execvp(argv[0], argv);
    return errno;
}

/* Waits for the pipe to close (exec) or to bring an errno. */
static int exec_result(int fd)
{
    int errnum = 0;
    ssize_t len;
    do
        len = read(fd, &errnum, sizeof errnum);
    while (len < 0 && errno == EINTR);
    return len == sizeof errnum ? errnum : 0;
}

static struct tl_lab_child *find(struct tl_lab_children *children, pid_t pid)
{
    for (int i = 0; i < TL_LAB_CHILDREN_MAX; i++)
        if (children->all[i].pid == pid)
            return &children->all[i];
    return NULL;
}

enum tl_status
tl_lab_children_spawn(struct tl_lab_children *children, const struct tl_lab_request *request,
                      const int stream_fds[TL_LAB_CHANNEL_FDS], const struct tl_lab_ns *ns,
                      const struct tl_lab_cgroups *cgroups, const struct tl_lab_disks *disks,
                      pid_t *ret_pid, struct tl_error *reterr)
{
    char *argv[ARGV_MAX + 1];
    int result[2];
    struct tl_lab_child *child = find(children, 0);
    if (!child)
        return tl_error_set(reterr, TL_LIMIT, "at most %d processes run in a lab",
                            TL_LAB_CHILDREN_MAX);
    if (!split_argv(request, argv))
        return tl_error_set(reterr, TL_LIMIT, "the command line is too long for a lab");
    if (pipe2(result, O_CLOEXEC) != 0)
        return tl_error_set(reterr, tl_status_from_errno(errno), "cannot make a pipe: %s",
                            strerror(errno));
    pid_t guard = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        int errnum = 0;
        if (request->router == 0)
            errnum = tl_lab_disk_hand_over(
                &disks->disk[request->host == TL_LAB_NEAR ? TL_LAB_NEAR : TL_LAB_FAR]);
        if (errnum == 0)
            errnum = become(request, stream_fds, ns, cgroups, guard, argv);
        ssize_t len = write(result[1], &errnum, sizeof errnum);
        _exit(len > 0 ? 127 : 126);
    }
    int errnum = pid < 0 ? errno : 0;
    close(result[1]);
    if (pid > 0)
        errnum = exec_result(result[0]);
    close(result[0]);
    if (errnum) {
        if (pid > 0)
            waitpid(pid, NULL, 0);
        return tl_error_set(reterr, TL_IO, "cannot start %.200s: %s", argv[0], strerror(errnum));
    }
    *child = (struct tl_lab_child){.pid = pid};
    *ret_pid = pid;
    return TL_OK;
}

void tl_lab_children_exited(struct tl_lab_children *children, pid_t pid, int wstatus)
{
    struct tl_lab_child *child = find(children, pid);
    if (child) {
        child->exited = true;
        child->wstatus = wstatus;
    }
}

enum tl_status tl_lab_children_reap(struct tl_lab_children *children, pid_t pid, int *ret_wstatus,
                                    struct tl_error *reterr)
{
    struct tl_lab_child *child = pid > 0 ? find(children, pid) : NULL;
    if (!child)
        return tl_error_set(reterr, TL_UNKNOWN, "process %d was not started in this lab", (int)pid);
    if (!child->exited)
        return tl_error_set(reterr, TL_TIMEOUT, "process %d still runs", (int)pid);
    *ret_wstatus = child->wstatus;
    child->pid = 0;
    return TL_OK;
}

enum tl_status tl_lab_children_signal(const struct tl_lab_children *children, pid_t pid,
                                      int signal_number, struct tl_error *reterr)
{
    struct tl_lab_child *child = pid > 0 ? find((struct tl_lab_children *)children, pid) : NULL;
    if (!child || child->exited)
        return tl_error_set(reterr, TL_UNKNOWN, "process %d does not run in this lab", (int)pid);
    /* It leads its group (setsid); before it has gone, the number is its own. */
    kill(-pid, signal_number);
    return TL_OK;
}

void tl_lab_children_end(struct tl_lab_children *children)
{
    for (int i = 0; i < TL_LAB_CHILDREN_MAX; i++) {
        struct tl_lab_child *child = &children->all[i];
        if (child->pid == 0)
            continue;
        kill(-child->pid, SIGKILL);
        if (!child->exited)
            waitpid(child->pid, NULL, 0);
        child->pid = 0;
    }
}
