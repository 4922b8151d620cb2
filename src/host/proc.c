/* Reading the kernel's text files. Nothing here knows what a file means. */
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum tl_host_why tl_proc_why(int errnum)
{
    switch (errnum) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
        return TL_HOST_WHY_ABSENT;
    case EACCES:
    case EPERM:
        return TL_HOST_WHY_DENIED;
    case EOPNOTSUPP: /* PSI that was not switched on at boot answers so */
        return TL_HOST_WHY_ABSENT;
    default:
        return TL_HOST_WHY_IO;
    }
}

/* A descriptor, or -1 with *ret_why. */
static int open_below(const char *root, const char *path, enum tl_host_why *ret_why)
{
    char full[TL_PROC_PATH_SIZE];
    int len = snprintf(full, sizeof(full), "%s%s", root, path);
    int fd;

    if (len < 0 || (size_t)len >= sizeof(full)) {
        *ret_why = TL_HOST_WHY_TOO_LONG;
        return -1;
    }
    fd = open(full, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        *ret_why = tl_proc_why(errno);
    return fd;
}

static ssize_t read_some(int fd, char *buf, size_t size)
{
    ssize_t got;

    do
        got = read(fd, buf, size);
    while (got < 0 && errno == EINTR);
    return got;
}

enum tl_host_why tl_proc_read(const char *root, const char *path, char *ret_text, size_t size)
{
    enum tl_host_why why = TL_HOST_WHY_KNOWN;
    size_t len = 0;
    int fd = open_below(root, path, &why);

    ret_text[0] = '\0';
    if (fd < 0)
        return why;
    for (;;) {
        ssize_t got = read_some(fd, ret_text + len, size - len);

        if (got < 0)
            why = tl_proc_why(errno);
        if (got <= 0)
            break;
        len += (size_t)got;
        if (len == size) {
            why = TL_HOST_WHY_TOO_LONG;
            break;
        }
    }
    close(fd);
    if (why == TL_HOST_WHY_KNOWN && memchr(ret_text, '\0', len))
        why = TL_HOST_WHY_MALFORMED;
    if (why != TL_HOST_WHY_KNOWN)
        len = 0;
    while (len > 0 && ret_text[len - 1] == '\n')
        len--;
    ret_text[len] = '\0';
    return why;
}

/* What is left of the file between two reads. */
struct line_reader {
    char buf[TL_PROC_LINE_SIZE];
    size_t len;
    bool passing_over; /* inside a line that is too long */
};

/* Gives away the complete lines and keeps the rest; false when fn has enough. */
static bool give_lines(struct line_reader *reader, tl_proc_line_fn fn, void *context)
{
    char *start = reader->buf, *end = reader->buf + reader->len;

    for (char *newline; (newline = memchr(start, '\n', (size_t)(end - start)));
         start = newline + 1) {
        *newline = '\0';
        if (reader->passing_over)
            reader->passing_over = false;
        else if (!fn(start, context))
            return false;
    }
    reader->len = (size_t)(end - start);
    memmove(reader->buf, start, reader->len);
    if (reader->len == sizeof(reader->buf) - 1) {
        reader->passing_over = true;
        reader->len = 0;
    }
    return true;
}

enum tl_host_why tl_proc_each_line(const char *root, const char *path, tl_proc_line_fn fn,
                                   void *context)
{
    enum tl_host_why why = TL_HOST_WHY_KNOWN;
    struct line_reader reader;
    int fd = open_below(root, path, &why);

    if (fd < 0)
        return why;
    reader.len = 0;
    reader.passing_over = false;
    for (;;) {
        ssize_t got = read_some(fd, reader.buf + reader.len, sizeof(reader.buf) - 1 - reader.len);

        if (got < 0)
            why = tl_proc_why(errno);
        if (got <= 0)
            break;
        reader.len += (size_t)got;
        if (!give_lines(&reader, fn, context))
            goto out;
    }
    if (why == TL_HOST_WHY_KNOWN && reader.len > 0 && !reader.passing_over) {
        reader.buf[reader.len] = '\0';
        fn(reader.buf, context);
    }
out:
    close(fd);
    return why;
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

static bool is_end(char c)
{
    return c == '\0' || c == ' ' || c == '\t' || c == '\n';
}

static int digit_value(char c, unsigned base)
{
    int value = -1;

    if (c >= '0' && c <= '9')
        value = c - '0';
    else if (c >= 'a' && c <= 'f')
        value = c - 'a' + 10;
    else if (c >= 'A' && c <= 'F')
        value = c - 'A' + 10;
    return value < (int)base ? value : -1;
}

static bool take_integer(const char **at, unsigned base, uint64_t *ret_number)
{
    const char *here = skip_blanks(*at);
    uint64_t number = 0;
    int digit;

    if (digit_value(*here, base) < 0)
        return false;
    for (; (digit = digit_value(*here, base)) >= 0; here++)
        if (__builtin_mul_overflow(number, (uint64_t)base, &number) ||
            __builtin_add_overflow(number, (uint64_t)digit, &number))
            return false;
    if (!is_end(*here))
        return false;
    *at = here;
    *ret_number = number;
    return true;
}

bool tl_proc_take_u64(const char **at, uint64_t *ret_number)
{
    return take_integer(at, 10, ret_number);
}

bool tl_proc_take_hex(const char **at, uint64_t *ret_number)
{
    return take_integer(at, 16, ret_number);
}

bool tl_proc_take_decimal(const char **at, double *ret_number)
{
    const char *here = skip_blanks(*at);
    bool negative = *here == '-';
    double number = 0, scale = 1;
    unsigned digits = 0;

    if (negative)
        here++;
    for (; digit_value(*here, 10) >= 0; here++, digits++)
        number = number * 10 + digit_value(*here, 10);
    if (digits > 0 && *here == '.')
        for (here++; digit_value(*here, 10) >= 0; here++, digits++)
            number += digit_value(*here, 10) * (scale /= 10);
    /* No sysctl, load or quota has more digits; 20 also holds any u64. */
    if (digits == 0 || digits > 20 || !is_end(*here))
        return false;
    *at = here;
    *ret_number = negative ? -number : number;
    return true;
}
