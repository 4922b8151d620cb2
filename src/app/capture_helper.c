/* The helper program that captures headers: started, awaited, ended. It alone has a capability;
 * what it is told is on its command line, what it has to say comes through a pipe. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tightlink/app/capture.h"
#include "tightlink/base/time.h"

#define HELPER_REFUSED 5 /* src/capture/main.c */
#define WORD_SIZE      48
#define WORDS_MAX      (2 * (2 * TL_APP_CAPTURE_NAMED_MAX + 2) + 1) /* pairs and the program */

/* The helper's command line. */
struct line {
    char texts[WORDS_MAX][WORD_SIZE];
    char *words[WORDS_MAX + 1]; /* NULL behind the last */
    int count;
};

static void add_pair(struct line *line, const char *key, const char *value)
{
    for (int i = 0; i < 2; i++, line->count++) {
        snprintf(line->texts[line->count], WORD_SIZE, "%s", i == 0 ? key : value);
        line->words[line->count] = line->texts[line->count];
    }
}

static void add_number(struct line *line, const char *key, int64_t number)
{
    char text[WORD_SIZE];
    snprintf(text, sizeof text, "%" PRId64, number);
    add_pair(line, key, text);
}

static void fill_line(const struct tl_app_capture_order *order, char *program, struct line *line)
{
    const struct tl_app_capture_plan *plan = &order->plan;
    *line = (struct line){.words = {program}, .count = 1};
    add_number(line, "--seconds", (order->for_ns + TL_NS_PER_S - 1) / TL_NS_PER_S);
    add_number(line, "--bytes", order->max_bytes);
    for (size_t i = 0; i < plan->address_count; i++)
        add_pair(line, "--address", plan->addresses[i]);
    for (size_t i = 0; i < plan->port_count; i++)
        add_number(line, "--port", plan->ports[i]);
}

void tl_app_capture_name(char *ret_path, size_t size)
{
    time_t now = time(NULL);
    struct tm local;
    char stamp[32] = "";
    if (localtime_r(&now, &local))
        strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
    snprintf(ret_path, size, "capture-%s.pcap", stamp);
}

/* In the child: the file is its standard output, the pipe its standard error. Signals that the
 * screen takes by descriptor are blocked there, and must end the helper. */
static _Noreturn void become_helper(char *program, const struct line *line, int out, int err)
{
    sigset_t none;
    sigemptyset(&none);
    (void)signal(SIGINT, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0)
        execv(program, line->words);
    _exit(127);
}

/* Its next line: that it is ready, its counts, or why not. "" once it has ended. A few dozen bytes,
 * one by one: what stands behind the line is for later. */
static void read_line(int fd, char *text, size_t size)
{
    size_t used = 0;
    char byte = 0;
    while (byte != '\n') {
        ssize_t n = read(fd, &byte, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        if (byte != '\n' && used + 1 < size)
            text[used++] = byte;
    }
    text[used] = '\0';
}

static int wait_for(pid_t pid)
{
    int wstatus;
    while (waitpid(pid, &wstatus, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : -1;
}

/* It has ended, or is about to, without what was wanted: the file goes. */
static enum tl_status fail(struct tl_app_capture *capture, int code, const char *text,
                           struct tl_error *reterr)
{
    (void)unlink(capture->path);
    if (code == HELPER_REFUSED)
        return tl_error_set(reterr, TL_DENIED,
                            "capturing is not permitted here. This permits it, headers only, to "
                            "those who may run the helper: sudo setcap cap_net_raw=ep %.200s",
                            capture->program);
    return tl_error_set(reterr, TL_IO, "the capture was broken off%s%.150s", text[0] ? ": " : "",
                        text);
}

static int finish(struct tl_app_capture *capture)
{
    close(capture->report_fd);
    capture->report_fd = -1;
    return wait_for(capture->pid);
}

enum tl_status tl_app_capture_start(const struct tl_app_capture_order *order, const char *path,
                                    struct tl_app_capture *ret_capture, struct tl_error *reterr)
{
    struct tl_app_capture capture = {.report_fd = -1};
    struct line line;
    char text[200];
    int report[2];
    if (snprintf(capture.program, sizeof capture.program, "%s", order->program) >=
            (int)sizeof capture.program ||
        snprintf(capture.path, sizeof capture.path, "%s", path) >= (int)sizeof capture.path)
        return tl_error_set(reterr, TL_USAGE, "the name of the file is too long");
    int out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0)
        return tl_error_set(reterr, TL_IO, "%.200s: %s", path, strerror(errno));
    if (pipe2(report, O_CLOEXEC) < 0) {
        close(out);
        (void)unlink(path);
        return tl_error_set(reterr, TL_IO, "pipe: %s", strerror(errno));
    }
    fill_line(order, capture.program, &line);
    capture.pid = fork();
    if (capture.pid == 0)
        become_helper(capture.program, &line, out, report[1]);
    close(out);
    close(report[1]);
    capture.report_fd = report[0];
    if (capture.pid < 0) {
        close(report[0]);
        (void)unlink(path);
        return tl_error_set(reterr, TL_IO, "fork: %s", strerror(errno));
    }
    read_line(capture.report_fd, text, sizeof text);
    if (strcmp(text, "ready") != 0)
        return fail(&capture, finish(&capture), text, reterr);
    *ret_capture = capture;
    return TL_OK;
}

enum tl_status tl_app_capture_end(struct tl_app_capture *capture, bool stop,
                                  struct tl_app_capture_count *ret_count, struct tl_error *reterr)
{
    char text[200] = "", full[8] = "";
    struct tl_app_capture_count count = {0};
    if (stop)
        (void)kill(capture->pid, SIGINT);
    read_line(capture->report_fd, text, sizeof text);
    int code = finish(capture);
    if (code != 0 || sscanf(text, "{\"packets\": %lld, \"dropped\": %lld, \"full\": %5[a-z]",
                            &count.packets_count, &count.dropped_count, full) != 3)
        return fail(capture, code, text, reterr);
    count.full = strcmp(full, "true") == 0;
    *ret_count = count;
    return TL_OK;
}
