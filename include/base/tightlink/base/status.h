/* Result codes and the error that explains one to a person.
 *
 * Every fallible function returns enum tl_status and takes an optional
 * struct tl_error, which it fills only on failure. A status chooses what the
 * program does next; the text says what went wrong, where, and what to do. */
#ifndef TL_BASE_STATUS_H
#define TL_BASE_STATUS_H

#include <stdarg.h>

/* name, sentence for people when nothing better is known */
#define TL_STATUS_MAP(X)                                                                           \
    X(OK, "no error")                                                                              \
    X(NOMEM, "out of memory")                                                                      \
    X(IO, "reading or writing failed")                                                             \
    X(NOSPACE, "no space left on the device")                                                      \
    X(SYNTAX, "the text is not well formed")                                                       \
    X(RANGE, "a number is out of its range")                                                       \
    X(UNKNOWN, "the name is not known")                                                            \
    X(LIMIT, "a limit of this program was reached")                                                \
    X(USAGE, "the command line cannot be understood")                                              \
    X(NOHOST, "the host name cannot be resolved")                                                  \
    X(REFUSED, "the connection was refused")                                                       \
    X(UNREACHABLE, "the host cannot be reached")                                                   \
    X(TIMEOUT, "no answer in time")                                                                \
    X(PROTOCOL, "the other end does not speak this protocol")                                      \
    X(VERSION, "the other end speaks another version")                                             \
    X(CLOSED, "the other end closed the connection")                                               \
    X(BUSY, "the other end is busy")                                                               \
    X(DENIED, "permission denied")                                                                 \
    X(AUTH, "authentication failed")                                                               \
    X(UNSUPPORTED, "this system does not support it")                                              \
    X(CANCELLED, "interrupted by the user")                                                        \
    X(INVALID, "something disturbed the measurement")

enum tl_status {
#define TL_STATUS_ENUM(name, text) TL_##name,
    TL_STATUS_MAP(TL_STATUS_ENUM)
#undef TL_STATUS_ENUM
        TL_STATUS_COUNT
};

#define TL_WARN_UNUSED       __attribute__((warn_unused_result))
#define TL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* One failure, for a person. Plain data, copied freely. */
struct tl_error {
    enum tl_status status;
    char text[512]; /* one sentence, UTF-8, no newline, may be cut at the end */
};

/* The enumerator's name ("REFUSED"), never NULL. */
const char *tl_status_name(enum tl_status status);

/* The general sentence for a status, never NULL. */
const char *tl_status_text(enum tl_status status);

/* Fills *reterr (may be NULL) and returns status, so that a failing function
 * can end with `return tl_error_set(reterr, TL_IO, "…", …)`. */
enum tl_status tl_error_set(struct tl_error *reterr, enum tl_status status, const char *fmt, ...)
    TL_PRINTF(3, 4);
enum tl_status tl_error_setv(struct tl_error *reterr, enum tl_status status, const char *fmt,
                             va_list args) TL_PRINTF(3, 0);

/* Puts "where: " before the text that is already there. */
void tl_error_prefix(struct tl_error *reterr, const char *fmt, ...) TL_PRINTF(2, 3);

/* The status that fits an errno value; TL_IO where nothing closer exists. */
enum tl_status tl_status_from_errno(int errnum);

#endif
