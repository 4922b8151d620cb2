/* Which proxy this PC's environment names for a URL, by the rules that curl(1) documents and most
 * programs follow. Pure: no look-ups, nothing is contacted. */
#ifndef TL_BASE_PROXY_H
#define TL_BASE_PROXY_H

#include <stdint.h>

#include "tightlink/base/far.h"
#include "tightlink/base/status.h"

/* Plain data. */
struct tl_proxy {
    char host[256];
    uint16_t port;
};

/* getenv(3), or a test's. */
typedef char *tl_environment(const char *name);

/* The variable that names a proxy for this target: http_proxy (in small letters alone: as
 * HTTP_PROXY a web server hands a visitor's header to its programs) or https_proxy, HTTPS_PROXY,
 * else all_proxy, ALL_PROXY. NULL: none does, no_proxy or NO_PROXY excepts the host (a name and
 * what ends in it, an address, a network as 10.0.0.0/8, or * for all), or the target is no web
 * server. Static storage. */
const char *tl_proxy_variable(const struct tl_target *target, tl_environment *get);

/* What such a variable says: host, host:port or http://host:port, port 1080 where none is given (as
 * curl(1) has it). A login in it is passed over: secrets do not come from the environment.
 * TL_UNSUPPORTED: one of another scheme (socks5, https), named in the sentence; TL_USAGE: no host
 * or no port. */
enum tl_status tl_proxy_parse(const char *value, struct tl_proxy *ret_proxy,
                              struct tl_error *reterr) TL_WARN_UNUSED;

#endif
