/* The user's command as a child of this process: start, signals, end. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mover_private.h"
#include "tightlink/base/time.h"
#include "tightlink/base/utf8.h"

/* The last part of its name: the path and the arguments may tell secrets. */
static void set_program(const char *command, struct mover_child *child)
{
    const char *slash = strrchr(command, '/');
    const char *name = slash && slash[1] ? slash + 1 : command;

    tl_utf8_clean(name, strlen(name), child->program, sizeof child->program);
}

/* In the child; returns only where exec() failed. SIGPIPE is ignored by main(). */
static void become(const struct tl_app_mover_what *what)
{
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, what->mask, NULL);
    if (what->output_to_stderr && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return;
    execvp(what->argv[0], what->argv);
}

/* What exec() says through the pipe; 0 where it closed, as the command runs. */
static int await_exec(int fd)
{
    int errnum = 0;
    ssize_t got;

    do
        got = read(fd, &errnum, sizeof errnum);
    while (got < 0 && errno == EINTR);
    close(fd);
    return got == sizeof errnum ? errnum : 0;
}

static void run_child(const struct tl_app_mover_what *what, int fd)
{
    become(what);
    int errnum = errno;
    (void)!write(fd, &errnum, sizeof errnum);
    _exit(127);
}

enum tl_status mover_child_start(const struct tl_app_mover_what *what, struct mover_child *child,
                                 bool *ret_missing, struct tl_error *reterr)
{
    int ends[2];

    *ret_missing = false;
    set_program(what->argv[0], child);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return tl_error_set(reterr, TL_IO, "pipe: %s", strerror(errno));
    /* What it leaves behind becomes our child and not init's: still to be followed. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    child->start_ns = tl_now_ns();
    child->pid = fork();
    if (child->pid == 0)
        run_child(what, ends[1]);
    int errnum = errno;
    close(ends[1]);
    if (child->pid < 0) {
        close(ends[0]);
        return tl_error_set(reterr, TL_IO, "fork: %s", strerror(errnum));
    }
    errnum = await_exec(ends[0]);
    if (!errnum)
        return TL_OK;
    while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
        continue;
    *ret_missing = errnum == ENOENT;
    if (*ret_missing)
        return tl_error_set(reterr, TL_USAGE, "there is no command %.200s", what->argv[0]);
    return tl_error_set(reterr, TL_USAGE, "%.200s cannot be run: %s", what->argv[0],
                        strerror(errnum));
}

void mover_child_reap(struct mover_child *child, int64_t now_ns)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == child->pid) {
            child->ended = true;
            child->status = status;
            child->end_ns = now_ns;
        }
}

void tl_app_mover_signal(struct tl_app_mover *mover, int number)
{
    if (!mover->child.ended)
        (void)kill(mover->child.pid, number);
}

bool tl_app_mover_has_ended(const struct tl_app_mover *mover)
{
    return mover->child.ended;
}
