/* Sentences to stderr. Everything that is not our own text (arguments, names, what a far
 * end said) passes the sanitiser here, whoever formatted it. */
#include "cli.h"

#include <langinfo.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tightlink/base/utf8.h"

bool cli_locale_is_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

void cli_put_clean(const char *text, FILE *out)
{
    struct tl_buf clean = TL_BUF_INIT;
    tl_utf8_add_clean(&clean, text, !cli_locale_is_utf8());
    fputs(tl_buf_text(&clean), out);
    tl_buf_finish(&clean);
}

void cli_put_clean_lines(const char *text, FILE *out)
{
    struct tl_buf line = TL_BUF_INIT;
    while (*text) {
        size_t len = strcspn(text, "\n");
        line.len = 0;
        tl_buf_add(&line, text, len);
        cli_put_clean(tl_buf_text(&line), out);
        text += len;
        if (*text)
            fputc(*text++, out);
    }
    tl_buf_finish(&line);
}

static size_t pager_columns; /* 0: standard error is its own */

void cli_complain_in(int columns)
{
    pager_columns = (size_t)columns;
}

/* Of the terminal that shows stderr; none where it is a file, whose reader breaks lines himself. */
static size_t stderr_columns(void)
{
    struct winsize size;
    if (pager_columns > 0)
        return pager_columns;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void cli_put_wrapped(const char *text, size_t columns, size_t hang, FILE *out)
{
    size_t used = 0;
    while (*text && *text != '\n') {
        size_t gap = strspn(text, " "), len = gap + strcspn(text + gap, " \n");
        size_t width = tl_utf8_width(text) - tl_utf8_width(text + len);
        if (used > hang && columns > 0 && used + width > columns) {
            fprintf(out, "\n%*s", (int)hang, "");
            text += gap;
            len -= gap;
            width -= gap;
            used = hang;
        }
        fwrite(text, 1, len, out);
        used += width;
        text += len;
    }
    fputc('\n', out);
}

TL_PRINTF(1, 0) static void complain(const char *fmt, va_list args)
{
    char text[1024] = "tightlink: ";
    size_t before = strlen(text);
    vsnprintf(text + before, sizeof text - before, fmt, args);
    struct tl_buf clean = TL_BUF_INIT;
    tl_utf8_add_clean(&clean, text, !cli_locale_is_utf8());
    cli_put_wrapped(tl_buf_text(&clean), stderr_columns(), 0, stderr);
    tl_buf_finish(&clean);
}

void cli_complain(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    complain(fmt, args);
    va_end(args);
}

int cli_fail(const struct tl_error *error)
{
    cli_complain("%s", error->text[0] ? error->text : tl_status_text(error->status));
    return (int)cli_exit_for(error->status);
}

int cli_usage(const struct cli_command *command, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    complain(fmt, args);
    va_end(args);
    fprintf(stderr, "See: tightlink %s --help\n", command->name);
    return CLI_EXIT_USAGE;
}

/* What a failure before or outside of the measuring stands for. */
enum cli_exit cli_exit_for(enum tl_status status)
{
    switch (status) {
    case TL_OK:
        return CLI_EXIT_OK;
    case TL_USAGE:
    case TL_SYNTAX:
    case TL_RANGE:
    case TL_UNKNOWN:
        return CLI_EXIT_USAGE;
    case TL_NOHOST:
    case TL_REFUSED:
    case TL_UNREACHABLE:
    case TL_TIMEOUT:
    case TL_PROTOCOL:
    case TL_VERSION:
    case TL_CLOSED:
        return CLI_EXIT_UNREACHABLE;
    case TL_AUTH:
        return CLI_EXIT_AUTH;
    case TL_CANCELLED:
        return CLI_EXIT_INTERRUPTED;
    default:
        return CLI_EXIT_INCONCLUSIVE;
    }
}
