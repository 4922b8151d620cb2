/* A value that may be missing, and why.
 *
 * Everything the host layer reads may be absent: another kernel, another network
 * namespace, no permission, a driver that does not answer. A missing value is never
 * a 0: it is unknown, with a reason. Reasons are a closed list, so that they travel
 * on the wire as one byte and never carry a peer's text. */
#ifndef TL_HOST_VALUE_H
#define TL_HOST_VALUE_H

#include <stdbool.h>

/* name, reason for people (continues "… is not known: "). The order is the wire
 * number: append only. */
#define TL_HOST_WHY_MAP(X)                                                                         \
    X(KNOWN, "it is known")                                                                        \
    X(NOT_READ, "it was not read")                                                                 \
    X(ABSENT, "this kernel or network namespace does not have it")                                 \
    X(DENIED, "reading it is not permitted")                                                       \
    X(MALFORMED, "the kernel's answer could not be understood")                                    \
    X(IO, "reading it failed")                                                                     \
    X(NOT_SET, "it is not set")                                                                    \
    X(NO_ANSWER, "the network driver does not answer this question")                               \
    X(NO_ROUTE, "there is no route to the other end")                                              \
    X(TOO_SHORT, "the time between two readings was too short")                                    \
    X(RESTARTED, "the counter went backwards")                                                     \
    X(WITHHELD, "the other end does not tell this in open mode")                                   \
    X(TOO_LONG, "it is longer than this program accepts")

enum tl_host_why {
#define TL_HOST_WHY_ENUM(name, text) TL_HOST_WHY_##name,
    TL_HOST_WHY_MAP(TL_HOST_WHY_ENUM)
#undef TL_HOST_WHY_ENUM
        TL_HOST_WHY_COUNT
};

/* A number in its field's unit (a bool is 0 or 1). number is 0 and must not be used
 * while why is not TL_HOST_WHY_KNOWN. Plain data. */
struct tl_host_value {
    enum tl_host_why why;
    double number;
};

/* Longest text value with its NUL. A list of congestion controls is the longest one;
 * what does not fit is unknown (TOO_LONG), so that nobody reads half a list. */
#define TL_HOST_TEXT_SIZE 128

/* Printable ASCII only; "" while unknown. Plain data. */
struct tl_host_text {
    enum tl_host_why why;
    char text[TL_HOST_TEXT_SIZE];
};

/* The reason in words, never NULL (also for a number outside the list). */
const char *tl_host_why_text(enum tl_host_why why);

static inline struct tl_host_value tl_host_known(double number)
{
    return (struct tl_host_value){.why = TL_HOST_WHY_KNOWN, .number = number};
}

static inline struct tl_host_value tl_host_unknown(enum tl_host_why why)
{
    return (struct tl_host_value){.why = why, .number = 0};
}

static inline bool tl_host_is_known(struct tl_host_value value)
{
    return value.why == TL_HOST_WHY_KNOWN;
}

/* Fills *ret_text with a copy of text, or marks it TOO_LONG, or MALFORMED where text
 * has a byte outside printable ASCII. */
void tl_host_text_set(struct tl_host_text *ret_text, const char *text);
void tl_host_text_unknown(struct tl_host_text *ret_text, enum tl_host_why why);

#endif
