/* Where web servers stand: http_place.h. */
#include "http_place.h"

#include <arpa/inet.h>
#include <string.h>

static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

/* A private network's bytes, of its addresses so many. */
static struct http_where within(enum http_place place, const unsigned char *at, size_t len)
{
    struct http_where where = {.place = place};
    memcpy(where.network, at, len);
    return where;
}

static struct http_where where_of_v4(const unsigned char *at)
{
    if (at[0] == 127 || at[0] == 0)
        return (struct http_where){.place = HTTP_THIS_HOST};
    if (at[0] == 169 && at[1] == 254)
        return within(HTTP_THIS_LINK, at, 4);
    if (at[0] == 10)
        return within(HTTP_PRIVATE, at, 1);
    if (at[0] == 192 && at[1] == 168)
        return within(HTTP_PRIVATE, at, 2);
    const unsigned char of_12[2] = {at[0], at[1] & 0xf0}, of_10[2] = {at[0], at[1] & 0xc0};
    if (of_12[0] == 172 && of_12[1] == 16)
        return within(HTTP_PRIVATE, of_12, 2);
    if (of_10[0] == 100 && of_10[1] == 64)
        return within(HTTP_PRIVATE, of_10, 2);
    return (struct http_where){.place = HTTP_PUBLIC};
}

static struct http_where where_of_v6(const unsigned char *at)
{
    static const unsigned char own[15] = {0};
    if (memcmp(at, mapped, sizeof mapped) == 0)
        return where_of_v4(at + sizeof mapped);
    if (memcmp(at, own, sizeof own) == 0 && at[15] <= 1)
        return (struct http_where){.place = HTTP_THIS_HOST};
    if (at[0] == 0xfe && (at[1] & 0xc0) == 0x80)
        return within(HTTP_THIS_LINK, at, 16);
    if (at[0] == 0xfe && (at[1] & 0xc0) == 0xc0) /* of sites, RFC 3879: some still have them */
        return within(HTTP_PRIVATE, at, 6);
    if ((at[0] & 0xfe) == 0xfc)
        return within(HTTP_PRIVATE, at, 6);
    return (struct http_where){.place = HTTP_PUBLIC};
}

static const void *bytes_of(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET)
        return &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    return &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
}

/* Who connects to an address of this host does so from it. */
static bool is_own(const struct tl_client_info *info)
{
    return info->peer.ss_family == info->local.ss_family &&
           memcmp(bytes_of(&info->peer), bytes_of(&info->local),
                  info->peer.ss_family == AF_INET ? 4 : 16) == 0;
}

struct http_where http_where(const struct http_server *server, const struct far_peer *peer)
{
    const struct sockaddr_storage *address = &peer->info.peer;
    unsigned char named[16];
    if (server->proxied && inet_pton(AF_INET, server->host, named) == 1)
        return where_of_v4(named);
    if (server->proxied && inet_pton(AF_INET6, server->host, named) == 1)
        return where_of_v6(named);
    if (server->proxied)
        return (struct http_where){.place = HTTP_PUBLIC};
    if (is_own(&peer->info))
        return (struct http_where){.place = HTTP_THIS_HOST};
    return address->ss_family == AF_INET ? where_of_v4(bytes_of(address))
                                         : where_of_v6(bytes_of(address));
}

bool http_may_send_on(const struct http_where *from, const struct http_where *to)
{
    return to->place < from->place || (to->place == from->place &&
                                       memcmp(to->network, from->network, sizeof to->network) == 0);
}
