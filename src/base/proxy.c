/* Proxies of the environment: proxy.h. */
#include "tightlink/base/proxy.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PORT_UNSAID 1080 /* curl(1), --proxy */

/* Whether the first `bits` of two addresses agree. */
static bool same_network(const unsigned char *a, const unsigned char *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    return memcmp(a, b, whole) == 0 &&
           (rest == 0 || ((a[whole] ^ b[whole]) & (0xffu << (8 - rest) & 0xff)) == 0);
}

/* An address of the network "10.0.0.0/8" or "2001:db8::/32". */
static bool is_in_network(const char *host, const char *network)
{
    unsigned char here[16], there[16];
    char address[64], *end;
    const char *slash = strchr(network, '/');
    size_t len = slash ? (size_t)(slash - network) : sizeof address;
    int family = strchr(host, ':') ? AF_INET6 : AF_INET;
    if (len >= sizeof address)
        return false;
    memcpy(address, network, len);
    address[len] = '\0';
    unsigned long bits = strtoul(slash + 1, &end, 10), most = family == AF_INET6 ? 128 : 32;
    return end > slash + 1 && *end == '\0' && bits <= most && inet_pton(family, host, here) == 1 &&
           inet_pton(family, address, there) == 1 && same_network(here, there, (unsigned)bits);
}

/* "example.org" and ".example.org" name that host and all whose names end in it. */
static bool names_host(const char *entry, const char *host)
{
    size_t host_len = strlen(host), len;
    entry += *entry == '.';
    len = strlen(entry);
    if (strcmp(entry, "*") == 0 || is_in_network(host, entry))
        return true;
    return len > 0 && len <= host_len && strcasecmp(host + host_len - len, entry) == 0 &&
           (len == host_len || host[host_len - len - 1] == '.');
}

static bool is_excepted(const char *list, const char *host)
{
    static const char between[] = ", \t";
    char entry[256];
    while (*list) {
        size_t len = strcspn(list, between);
        if (len > 0 && len < sizeof entry) {
            memcpy(entry, list, len);
            entry[len] = '\0';
            if (names_host(entry, host))
                return true;
        }
        list += len;
        list += strspn(list, between);
    }
    return false;
}

/* The first that is set and not empty, of `count`. */
static const char *first_set(const char *const *names, size_t count, tl_environment *get)
{
    for (size_t i = 0; i < count; i++) {
        const char *value = get(names[i]);
        if (value && value[0])
            return names[i];
    }
    return NULL;
}

const char *tl_proxy_variable(const struct tl_target *target, tl_environment *get)
{
    static const char *const plain[] = {"http_proxy", "all_proxy", "ALL_PROXY"};
    static const char *const tls[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
    static const char *const none[] = {"no_proxy", "NO_PROXY"};
    const char *name = target->kind == TL_FAR_HTTP    ? first_set(plain, 3, get)
                       : target->kind == TL_FAR_HTTPS ? first_set(tls, 4, get)
                                                      : NULL;
    const char *excepted = first_set(none, 2, get);
    return excepted && is_excepted(get(excepted), target->host) ? NULL : name;
}

enum tl_status tl_proxy_parse(const char *value, struct tl_proxy *ret_proxy,
                              struct tl_error *reterr)
{
    static const char http[] = "http://";
    const char *scheme_end = strstr(value, "://"), *rest = scheme_end ? scheme_end + 3 : value;
    size_t len = strcspn(rest, "/?#");
    const char *login_end = memrchr(rest, '@', len);
    char url[sizeof ret_proxy->host + 32];
    struct tl_target target;
    if (scheme_end && strncasecmp(value, http, sizeof http - 1) != 0)
        return tl_error_set(reterr, TL_UNSUPPORTED, "proxies of the kind %.*s are not spoken to",
                            (int)(scheme_end - value > 16 ? 16 : scheme_end - value), value);
    if (login_end) {
        len -= (size_t)(login_end + 1 - rest);
        rest = login_end + 1;
    }
    if (len >= sizeof url - sizeof http)
        return tl_error_set(reterr, TL_USAGE, "the name of the proxy is too long");
    snprintf(url, sizeof url, "%s%.*s", http, (int)len, rest);
    enum tl_status status = tl_target_parse(url, &target, reterr);
    if (status != TL_OK)
        return status;
    memcpy(ret_proxy->host, target.host, sizeof ret_proxy->host);
    ret_proxy->port = target.port ? target.port : PORT_UNSAID;
    return TL_OK;
}
