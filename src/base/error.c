/* Names and sentences of the result codes; filling of struct tl_error. */
#include "tightlink/base/status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    const char *text;
} status_map[] = {
#define TL_STATUS_ENTRY(name, text) {#name, text},
    TL_STATUS_MAP(TL_STATUS_ENTRY)
#undef TL_STATUS_ENTRY
};

const char *tl_status_name(enum tl_status status)
{
    return (unsigned)status < TL_STATUS_COUNT ? status_map[status].name : "?";
}

const char *tl_status_text(enum tl_status status)
{
    return (unsigned)status < TL_STATUS_COUNT ? status_map[status].text : "unknown error";
}

enum tl_status tl_error_setv(struct tl_error *reterr, enum tl_status status, const char *fmt,
                             va_list args)
{
    if (reterr) {
        reterr->status = status;
        vsnprintf(reterr->text, sizeof reterr->text, fmt, args);
    }
    return status;
}

enum tl_status tl_error_set(struct tl_error *reterr, enum tl_status status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tl_error_setv(reterr, status, fmt, args);
    va_end(args);
    return status;
}

void tl_error_prefix(struct tl_error *reterr, const char *fmt, ...)
{
    if (!reterr)
        return;
    char old[sizeof reterr->text];
    memcpy(old, reterr->text, sizeof old);
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(reterr->text, sizeof reterr->text, fmt, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof reterr->text)
        snprintf(reterr->text + n, sizeof reterr->text - (size_t)n, ": %s", old);
}

enum tl_status tl_status_from_errno(int errnum)
{
    switch (errnum) {
    case 0:
        return TL_OK;
    case ENOMEM:
    case ENOBUFS:
        return TL_NOMEM;
    case ENOSPC:
    case EDQUOT:
        return TL_NOSPACE;
    case ECONNREFUSED:
        return TL_REFUSED;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
    case EADDRNOTAVAIL:
        return TL_UNREACHABLE;
    case ETIMEDOUT:
        return TL_TIMEOUT;
    case ECONNRESET:
    case EPIPE:
    case ECONNABORTED:
        return TL_CLOSED;
    case EACCES:
    case EPERM:
        return TL_DENIED;
    case EOPNOTSUPP:
    case ENOPROTOOPT:
    case ENOSYS:
    case EAFNOSUPPORT:
        return TL_UNSUPPORTED;
    default:
        return TL_IO;
    }
}
