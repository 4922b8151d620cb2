/* Results to stdout; when that fails, to a file, so that nothing measured is lost. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tightlink/report/report.h"

static bool write_all(int fd, const char *text, size_t len)
{
    while (len) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text += n;
        len -= (size_t)n;
    }
    return true;
}

bool cli_write_stdout(const char *text, size_t len)
{
    return fflush(stdout) == 0 && write_all(STDOUT_FILENO, text, len);
}

static int terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 60)
        return size.ws_col > 120 ? 120 : size.ws_col;
    return 80;
}

static struct tl_text_style style_of_stdout(void)
{
    bool terminal = isatty(STDOUT_FILENO);
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    setlocale(LC_CTYPE, "");
    return (struct tl_text_style){
        .width = terminal ? terminal_width() : 80,
        .color = terminal && term && strcmp(term, "dumb") != 0 && !(no_color && *no_color),
        .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
    };
}

/* Tries to keep text in a new file of directory; says where on success. */
static bool keep_in(const char *directory, const char *run_id, const char *text, size_t len)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/tightlink-%s.json", directory, run_id);
    if (n < 0 || (size_t)n >= sizeof path)
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    bool written = write_all(fd, text, len) && fsync(fd) == 0;
    close(fd);
    if (!written) {
        unlink(path);
        return false;
    }
    fprintf(stderr, "tightlink: the run is kept in %s; print it with: tightlink explain %s\n", path,
            path);
    return true;
}

/* stdout failed: keep the document where there is room. */
static int keep(const struct tl_session_result *result, const char *json, size_t len)
{
    fprintf(stderr, "tightlink: writing the result failed: %s\n", strerror(errno));
    const char *const directories[] = {getenv("XDG_STATE_HOME"), getenv("HOME"), getenv("TMPDIR"),
                                       "/var/tmp", "/tmp"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        if (directories[i] && directories[i][0] == '/' &&
            keep_in(directories[i], result->run.id, json, len))
            return CLI_EXIT_EXPORT;
    fprintf(stderr, "tightlink: and no place was found to keep it. The verdict: %s\n",
            result->findings ? result->findings->verdict.sentence : "none");
    return CLI_EXIT_EXPORT;
}

enum cli_exit cli_exit_for_result(const struct tl_session_result *result)
{
    if (result->status == TL_CANCELLED)
        return CLI_EXIT_INTERRUPTED;
    if (result->status != TL_OK)
        return cli_exit_for(result->status);
    const struct tl_verdict *verdict = result->findings ? &result->findings->verdict : NULL;
    if (!verdict || verdict->state == TL_INCONCLUSIVE || verdict->state == TL_VERDICT_INVALID)
        return CLI_EXIT_INCONCLUSIVE;
    if (verdict->state == TL_LIMITED && result->run.goal_bps > 0)
        return CLI_EXIT_MISSED;
    return CLI_EXIT_OK;
}

int cli_deliver(const struct cli_run_options *options, const struct tl_session_result *result)
{
    /* A far end that was never reached has no verdict to show, only a sentence. */
    bool reached = result->findings && result->run.stage_count > 0;
    if (result->status != TL_OK && result->error.text[0])
        fprintf(stderr, "tightlink: %s\n", result->error.text);
    if (!reached)
        return (int)cli_exit_for_result(result);

    struct tl_buf json = TL_BUF_INIT, text = TL_BUF_INIT;
    struct tl_text_style style = style_of_stdout();
    bool as_json = options->json || options->json_lines;
    int exit_code = (int)cli_exit_for_result(result);
    enum tl_status status =
        tl_report_json(&result->run, result->facts, result->findings, !options->json_lines, &json);
    if (status == TL_OK && !as_json)
        status = tl_report_text(&result->run, result->facts, result->findings, &style, &text);
    const struct tl_buf *out = as_json ? &json : &text;
    if (status != TL_OK) {
        struct tl_error error = {.status = status};
        exit_code = cli_fail(&error);
    } else if (!cli_write_stdout(out->data, out->len)) {
        exit_code = keep(result, json.data, json.len);
    }
    tl_buf_finish(&json);
    tl_buf_finish(&text);
    return exit_code;
}
