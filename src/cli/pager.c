/* The pager; see pager.h. */
#include "pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "screen.h"

#define COLUMNS_DEFAULT 80
/* What a shell says of a command that is not there. */
#define SHELL_NOT_FOUND 127

extern char **environ;

static struct {
    bool never, always;
    pid_t pid;   /* 0: none runs */
    int err;     /* standard error as it was, -1 where it was left alone */
    int columns; /* of the terminal behind the pager */
    const char *command;
} pager = {.err = -1};

bool cli_stdout_is_terminal(void)
{
    return pager.pid || isatty(STDOUT_FILENO);
}

int cli_stdout_columns(void)
{
    struct winsize size;
    if (pager.pid)
        return pager.columns;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return COLUMNS_DEFAULT;
}

int cli_take_paging(int argc, char **argv)
{
    int left = 0;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) { /* what follows is another program's */
            while (i < argc)
                argv[left++] = argv[i++];
        } else if (strcmp(argv[i], "--no-pager") == 0) {
            pager.never = true;
        } else if (strcmp(argv[i], "--paginate") == 0) {
            pager.always = true;
        } else {
            argv[left++] = argv[i];
        }
    }
    argv[left] = NULL;
    if (pager.always)
        cli_page();
    return left;
}

/* NULL where there is none to use. */
static const char *chosen(void)
{
    const char *command = getenv("TIGHTLINK_PAGER");
    if (!command)
        command = getenv("PAGER");
    /* Of a terminal that it does not know less would first complain, and wait for a key. */
    if (!command && (pager.always || cli_terminal_type()))
        command = "less";
    return command && *command && strcmp(command, "cat") != 0 ? command : NULL;
}

/* Runs the command, in a shell where it is more than a word, with its standard input at fd.
 * Returns errno's number where it cannot be run. */
static int spawn(const char *command, int fd, pid_t *ret_pid)
{
    static const int ours[] = {SIGPIPE, SIGINT, SIGQUIT};
    bool simple = !command[strcspn(command, "|&;<>()$`\\\"' \t\n*?[#~=%")];
    char shell[] = "sh", option[] = "-c", *copy = strdup(command);
    char *words[] = {simple ? copy : shell, simple ? NULL : option, copy, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    if (!copy)
        return ENOMEM;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        sigaddset(&signals, ours[i]);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    int failed = posix_spawnp(ret_pid, words[0], &actions, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    free(copy);
    return failed;
}

void cli_page(void)
{
    int fds[2];
    pid_t pid;
    if (pager.pid || pager.never || !isatty(STDOUT_FILENO))
        return;
    const char *command = chosen();
    if (!command || fflush(stdout) != 0)
        return;
    int columns = cli_stdout_columns();
    (void)setenv("LESS", "FRX", 0);
    if (cli_terminal_type())
        (void)setenv("TERM", cli_terminal_type(), 1);
    (void)setenv("LV", "-c", 0);
    if (pipe2(fds, O_CLOEXEC) != 0)
        return;
    int failed = spawn(command, fds[0], &pid);
    close(fds[0]);
    if (failed == 0) {
        pager.pid = pid;
        pager.columns = columns;
        pager.command = command;
        pager.err = isatty(STDERR_FILENO) ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
        (void)dup2(fds[1], STDOUT_FILENO);
        if (pager.err >= 0 && dup2(fds[1], STDERR_FILENO) >= 0)
            cli_complain_in(columns);
        /* Its keys are the pager's; we end when it does. */
        signal(SIGINT, SIG_IGN);
        signal(SIGQUIT, SIG_IGN);
    } else if (failed != ENOENT || getenv("TIGHTLINK_PAGER") || getenv("PAGER")) {
        cli_complain("the pager %s cannot be run: %s", command, strerror(failed));
    }
    close(fds[1]);
}

int cli_end_paging(int exit_code)
{
    int status = 0;
    if (!pager.pid)
        return exit_code;
    /* Its end of file. */
    (void)fclose(stdout);
    if (pager.err >= 0)
        (void)dup2(pager.err, STDERR_FILENO);
    cli_complain_in(0);
    while (waitpid(pager.pid, &status, 0) < 0 && errno == EINTR)
        ;
    pager.pid = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != SHELL_NOT_FOUND)
        return exit_code;
    cli_complain("the pager %s could not be run; --no-pager prints without", pager.command);
    return CLI_EXIT_EXPORT;
}
