/* A route's congestion control by rtnetlink (route.h). */
#include "route.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tightlink/base/name.h"

#define WORDS_MAX  7
#define WORD_SIZE  64
#define ANSWER_MAX 8192

struct way {
    int family;
    size_t address_len;
    unsigned char peer[16], via[16];
    bool none, has_via;
    char dev[IFNAMSIZ], cc[16];
};

/* --- Text ------------------------------------------------------------------------------------- */

bool tl_route_knows_congestion(const char *word, size_t len)
{
    static const char *const known[] = {"cubic",    "reno", "bbr", "htcp",     "westwood", "hybla",
                                        "illinois", "yeah", "bic", "scalable", "vegas",    "dctcp"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) == len && strncmp(known[i], word, len) == 0)
            return true;
    return false;
}

static bool take_address(const char *text, struct way *way, unsigned char ret_address[16])
{
    int family = strchr(text, ':') ? AF_INET6 : AF_INET;

    if (way->family && way->family != family)
        return false;
    way->family = family;
    way->address_len = family == AF_INET ? 4 : 16;
    return inet_pton(family, text, ret_address) == 1;
}

/* The words behind the address. */
static bool take_words(char words[][WORD_SIZE], size_t count, struct way *way)
{
    size_t at = 1;

    if (count == 2 && strcmp(words[1], "none") == 0)
        return way->none = true;
    if (at + 1 < count && strcmp(words[at], "via") == 0) {
        way->has_via = take_address(words[at + 1], way, way->via);
        if (!way->has_via)
            return false;
        at += 2;
    }
    if (count != at + 4 || strcmp(words[at], "dev") != 0 || strcmp(words[at + 2], "congctl") != 0 ||
        strlen(words[at + 1]) >= sizeof way->dev ||
        !tl_route_knows_congestion(words[at + 3], strlen(words[at + 3])) ||
        !tl_is_command_name(words[at + 1], "", sizeof way->dev - 1))
        return false;
    snprintf(way->dev, sizeof way->dev, "%s", words[at + 1]);
    snprintf(way->cc, sizeof way->cc, "%s", words[at + 3]);
    return true;
}

static bool parse(const char *text, size_t len, struct way *ret_way)
{
    char words[WORDS_MAX][WORD_SIZE];
    size_t count = 0;
    const char *end = text + len;

    *ret_way = (struct way){0};
    while (text < end) {
        size_t word = 0;
        while (text + word < end && text[word] != ' ')
            word++;
        if (word >= WORD_SIZE || (word > 0 && count == WORDS_MAX))
            return false;
        if (word > 0) {
            memcpy(words[count], text, word);
            words[count++][word] = '\0';
        }
        text += word + (text + word < end);
    }
    return count > 1 && take_address(words[0], ret_way, ret_way->peer) &&
           take_words(words, count, ret_way);
}

static void write_value(const struct way *way, char ret_value[TL_FIX_VALUE_SIZE])
{
    char peer[INET6_ADDRSTRLEN] = "", via[INET6_ADDRSTRLEN] = "";

    (void)inet_ntop(way->family, way->peer, peer, sizeof peer);
    (void)inet_ntop(way->family, way->via, via, sizeof via);
    if (way->none)
        snprintf(ret_value, TL_FIX_VALUE_SIZE, "%s none", peer);
    else
        snprintf(ret_value, TL_FIX_VALUE_SIZE, "%s%s%s dev %s congctl %s", peer,
                 way->has_via ? " via " : "", way->has_via ? via : "", way->dev, way->cc);
}

enum tl_status tl_route_normalise(const char *text, size_t len, bool bounds,
                                  char ret_value[TL_FIX_VALUE_SIZE], struct tl_error *reterr)
{
    struct way way;

    if (!parse(text, len, &way) || (bounds && way.none))
        return tl_error_set(reterr, TL_RANGE,
                            "a route is ADDRESS [via ADDRESS] dev NAME congctl WORD, with a "
                            "congestion control that is known here");
    write_value(&way, ret_value);
    return TL_OK;
}

/* --- Kernel ----------------------------------------------------------------------------------- */

static struct nlmsghdr *begin(char *buf, const struct way *way, uint16_t type, uint16_t flags)
{
    struct nlmsghdr *msg = mnl_nlmsg_put_header(buf);
    struct rtmsg *head;

    msg->nlmsg_type = type;
    msg->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    msg->nlmsg_seq = (uint32_t)time(NULL);
    head = mnl_nlmsg_put_extra_header(msg, sizeof *head);
    head->rtm_family = (unsigned char)way->family;
    head->rtm_dst_len = (unsigned char)(8 * way->address_len);
    mnl_attr_put(msg, RTA_DST, way->address_len, way->peer);
    return msg;
}

/* Sends msg and gives each answer to parse. 0, or errno. */
static int ask(const struct nlmsghdr *msg, mnl_cb_t parse_answer, void *context)
{
    _Alignas(struct nlmsghdr) char buf[ANSWER_MAX];
    struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
    int result = MNL_CB_OK, errnum = 0;

    if (!socket)
        return errno;
    if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
        mnl_socket_sendto(socket, msg, msg->nlmsg_len) < 0)
        errnum = errno;
    while (!errnum && result > MNL_CB_STOP) {
        ssize_t got = mnl_socket_recvfrom(socket, buf, sizeof buf);
        if (got < 0 && errno == EINTR)
            continue;
        result = got < 0 ? -1
                         : mnl_cb_run(buf, (size_t)got, msg->nlmsg_seq,
                                      mnl_socket_get_portid(socket), parse_answer, context);
        errnum = result < 0 ? errno : 0;
    }
    mnl_socket_close(socket);
    return errnum;
}

struct found {
    struct way *way;
    bool own, foreign; /* a route to that address alone; with more than a congestion control */
};

static int take_metric(const struct nlattr *attr, void *context)
{
    struct found *found = context;

    if (mnl_attr_get_type(attr) == RTAX_CC_ALGO && mnl_attr_validate(attr, MNL_TYPE_STRING) == 0)
        snprintf(found->way->cc, sizeof found->way->cc, "%s", mnl_attr_get_str(attr));
    else
        found->foreign = true;
    return MNL_CB_OK;
}

static int take_attribute(const struct nlattr *attr, void *context)
{
    struct found *found = context;
    size_t len = mnl_attr_get_payload_len(attr);

    switch (mnl_attr_get_type(attr)) {
    case RTA_GATEWAY:
        found->way->has_via = len == found->way->address_len;
        found->foreign |= !found->way->has_via;
        if (found->way->has_via)
            memcpy(found->way->via, mnl_attr_get_payload(attr), len);
        break;
    case RTA_OIF:
        found->foreign |= !if_indextoname(mnl_attr_get_u32(attr), found->way->dev);
        break;
    case RTA_METRICS:
        (void)mnl_attr_parse_nested(attr, take_metric, found);
        break;
    case RTA_MULTIPATH:
    case RTA_VIA:
    case RTA_ENCAP:
        found->foreign = true;
        break;
    default:
        break;
    }
    return MNL_CB_OK;
}

static int take_route(const struct nlmsghdr *msg, void *context)
{
    const struct rtmsg *head = mnl_nlmsg_get_payload(msg);
    struct found *found = context;

    if (msg->nlmsg_type != RTM_NEWROUTE || head->rtm_dst_len != 8 * found->way->address_len)
        return MNL_CB_OK;
    found->own = true;
    found->foreign = head->rtm_table != RT_TABLE_MAIN || head->rtm_type != RTN_UNICAST;
    (void)mnl_attr_parse(msg, sizeof *head, take_attribute, found);
    return MNL_CB_OK;
}

/* The entry of the table that matches, not what a lookup makes of it. */
enum tl_status tl_route_get(const char *like, char ret_value[TL_FIX_VALUE_SIZE],
                            struct tl_error *reterr)
{
    _Alignas(struct nlmsghdr) char buf[512] = {0};
    struct way way, now;
    struct found found = {.way = &now};

    if (!parse(like, strlen(like), &way))
        return tl_error_set(reterr, TL_RANGE, "\"%s\" is no route", like);
    now = (struct way){.family = way.family, .address_len = way.address_len};
    memcpy(now.peer, way.peer, sizeof now.peer);
    struct nlmsghdr *msg = begin(buf, &way, RTM_GETROUTE, 0);
    ((struct rtmsg *)mnl_nlmsg_get_payload(msg))->rtm_flags = RTM_F_FIB_MATCH;
    int errnum = ask(msg, take_route, &found);
    if (errnum && errnum != ENETUNREACH && errnum != EHOSTUNREACH)
        return tl_error_set(reterr, tl_status_from_errno(errnum), "routes cannot be read: %s",
                            strerror(errnum));
    now.none = !found.own;
    if (found.own && (found.foreign || !now.cc[0]))
        return tl_error_set(reterr, TL_UNSUPPORTED,
                            "a route of its own leads there already: change that one by hand");
    write_value(&now, ret_value);
    return TL_OK;
}

enum tl_status tl_route_set(const char *value, struct tl_error *reterr)
{
    _Alignas(struct nlmsghdr) char buf[512] = {0};
    struct way way;

    if (!parse(value, strlen(value), &way))
        return tl_error_set(reterr, TL_RANGE, "\"%s\" is no route", value);
    unsigned dev = way.none ? 0 : if_nametoindex(way.dev);
    if (!way.none && !dev)
        return tl_error_set(reterr, TL_UNKNOWN, "there is no interface %s", way.dev);
    struct nlmsghdr *msg = begin(buf, &way, way.none ? RTM_DELROUTE : RTM_NEWROUTE,
                                 way.none ? 0 : NLM_F_CREATE | NLM_F_EXCL);
    struct rtmsg *head = mnl_nlmsg_get_payload(msg);
    head->rtm_table = RT_TABLE_MAIN;
    head->rtm_scope = way.none ? RT_SCOPE_NOWHERE : way.has_via ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
    if (!way.none) {
        head->rtm_protocol = RTPROT_BOOT;
        head->rtm_type = RTN_UNICAST;
        if (way.has_via)
            mnl_attr_put(msg, RTA_GATEWAY, way.address_len, way.via);
        mnl_attr_put_u32(msg, RTA_OIF, dev);
        struct nlattr *metrics = mnl_attr_nest_start(msg, RTA_METRICS);
        mnl_attr_put_strz(msg, RTAX_CC_ALGO, way.cc);
        mnl_attr_nest_end(msg, metrics);
    }
    int errnum = ask(msg, NULL, NULL);
    return errnum == 0
               ? TL_OK
               : tl_error_set(reterr, tl_status_from_errno(errnum),
                              "the kernel does not take \"%s\": %s", value, strerror(errnum));
}
