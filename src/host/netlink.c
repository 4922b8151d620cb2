/* Asking the kernel over netlink. libmnl checks lengths and sequence numbers; here are
 * time limits, reasons, and attribute tables that a hostile answer cannot overrun. */
#include "netlink.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "proc.h"

/* The kernel answers within the send; a second means that it never will. */
static const struct timeval answer_limit = {.tv_sec = 1};

void tl_netlink_init(struct tl_netlink *ret_netlink, int bus)
{
    *ret_netlink = (struct tl_netlink){.why = TL_HOST_WHY_KNOWN};
    ret_netlink->socket = mnl_socket_open2(bus, SOCK_CLOEXEC);
    if (!ret_netlink->socket) {
        ret_netlink->why = tl_proc_why(errno);
        return;
    }
    if (mnl_socket_bind(ret_netlink->socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
        setsockopt(mnl_socket_get_fd(ret_netlink->socket), SOL_SOCKET, SO_RCVTIMEO, &answer_limit,
                   sizeof(answer_limit)) < 0) {
        ret_netlink->why = tl_proc_why(errno);
        tl_netlink_finish(ret_netlink);
    }
}

void tl_netlink_finish(struct tl_netlink *netlink)
{
    if (netlink->socket)
        mnl_socket_close(netlink->socket);
    netlink->socket = NULL;
}

static enum tl_host_why why_not_answered(int errnum)
{
    switch (errnum) {
    case EOPNOTSUPP:
        return TL_HOST_WHY_NO_ANSWER;
    case ENETUNREACH:
    case EHOSTUNREACH:
        return TL_HOST_WHY_NO_ROUTE;
    default:
        return tl_proc_why(errnum);
    }
}

struct answer {
    tl_netlink_parse_fn parse;
    void *context;
    bool parsed, malformed;
};

static int take_answer(const struct nlmsghdr *msg, void *context)
{
    struct answer *answer = context;

    if (answer->parse(msg, answer->context))
        answer->parsed = true;
    else
        answer->malformed = true;
    return MNL_CB_OK;
}

enum tl_host_why tl_netlink_ask(struct tl_netlink *netlink, struct nlmsghdr *msg,
                                tl_netlink_parse_fn parse, void *context)
{
    _Alignas(struct nlmsghdr) char buf[TL_NETLINK_ANSWER_SIZE];
    struct answer answer = {.parse = parse, .context = context};
    int result = MNL_CB_OK;

    if (!netlink->socket)
        return netlink->why;
    /* The acknowledgement ends every answer alike. */
    msg->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
    msg->nlmsg_seq = ++netlink->seq;
    if (mnl_socket_sendto(netlink->socket, msg, msg->nlmsg_len) < 0)
        return tl_proc_why(errno);
    while (result > MNL_CB_STOP) {
        ssize_t got = mnl_socket_recvfrom(netlink->socket, buf, sizeof(buf));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return TL_HOST_WHY_IO;
        result = mnl_cb_run(buf, (size_t)got, netlink->seq, mnl_socket_get_portid(netlink->socket),
                            take_answer, &answer);
        if (result < 0)
            return why_not_answered(errno);
    }
    if (answer.malformed || !answer.parsed)
        return TL_HOST_WHY_MALFORMED;
    return TL_HOST_WHY_KNOWN;
}

enum tl_host_why tl_netlink_ask_link(struct tl_netlink *route, int ifindex,
                                     tl_netlink_parse_fn parse, void *context)
{
    _Alignas(struct nlmsghdr) char buf[TL_NETLINK_ASK_SIZE] = {0};
    struct nlmsghdr *msg = mnl_nlmsg_put_header(buf);
    struct ifinfomsg *head;

    msg->nlmsg_type = RTM_GETLINK;
    head = mnl_nlmsg_put_extra_header(msg, sizeof(*head));
    head->ifi_family = AF_UNSPEC;
    head->ifi_index = ifindex;
    return tl_netlink_ask(route, msg, parse, context);
}

struct attribute_table {
    const struct nlattr **table;
    unsigned max;
};

static int take_attribute(const struct nlattr *attr, void *context)
{
    struct attribute_table *into = context;
    uint16_t type = mnl_attr_get_type(attr);

    if (type <= into->max)
        into->table[type] = attr;
    return MNL_CB_OK;
}

static bool fill_table(const void *payload, size_t len, const struct nlattr **ret_table,
                       unsigned max)
{
    struct attribute_table into = {.table = ret_table, .max = max};

    memset(ret_table, 0, (max + 1) * sizeof(ret_table[0]));
    return mnl_attr_parse_payload(payload, len, take_attribute, &into) >= 0;
}

bool tl_netlink_nested(const struct nlattr *attr, const struct nlattr **ret_table, unsigned max)
{
    return attr &&
           fill_table(mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr), ret_table, max);
}

bool tl_netlink_attributes(const struct nlmsghdr *msg, size_t family_size,
                           const struct nlattr **ret_table, unsigned max)
{
    size_t len = mnl_nlmsg_get_payload_len(msg), head = MNL_ALIGN(family_size);

    if (msg->nlmsg_len < MNL_NLMSG_HDRLEN || len < head)
        return false;
    return fill_table(mnl_nlmsg_get_payload_offset(msg, family_size), len - head, ret_table, max);
}

bool tl_netlink_number(const struct nlattr *attr, uint64_t *ret_number)
{
    uint32_t number32;

    if (!attr)
        return false;
    switch (mnl_attr_get_payload_len(attr)) {
    case sizeof(uint8_t):
        *ret_number = mnl_attr_get_u8(attr);
        return true;
    case sizeof(number32):
        memcpy(&number32, mnl_attr_get_payload(attr), sizeof(number32));
        *ret_number = number32;
        return true;
    case sizeof(uint64_t):
        memcpy(ret_number, mnl_attr_get_payload(attr), sizeof(*ret_number));
        return true;
    default:
        return false;
    }
}

const char *tl_netlink_text(const struct nlattr *attr)
{
    if (!attr || !memchr(mnl_attr_get_payload(attr), '\0', mnl_attr_get_payload_len(attr)))
        return NULL;
    return mnl_attr_get_str(attr);
}

static bool parse_family(const struct nlmsghdr *msg, void *context)
{
    const struct nlattr *table[CTRL_ATTR_FAMILY_ID + 1];
    uint16_t *family = context;

    if (!tl_netlink_attributes(msg, sizeof(struct genlmsghdr), table, CTRL_ATTR_FAMILY_ID) ||
        !table[CTRL_ATTR_FAMILY_ID] ||
        mnl_attr_validate(table[CTRL_ATTR_FAMILY_ID], MNL_TYPE_U16) < 0)
        return false;
    *family = mnl_attr_get_u16(table[CTRL_ATTR_FAMILY_ID]);
    return true;
}

uint16_t tl_netlink_family(struct tl_netlink *netlink, const char *name, enum tl_host_why *ret_why)
{
    _Alignas(struct nlmsghdr) char buf[TL_NETLINK_ASK_SIZE] = {0};
    struct nlmsghdr *msg = mnl_nlmsg_put_header(buf);
    struct genlmsghdr *head;
    uint16_t family = 0;

    msg->nlmsg_type = GENL_ID_CTRL;
    head = mnl_nlmsg_put_extra_header(msg, sizeof(*head));
    head->cmd = CTRL_CMD_GETFAMILY;
    head->version = 1;
    mnl_attr_put_strz(msg, CTRL_ATTR_FAMILY_NAME, name);
    *ret_why = tl_netlink_ask(netlink, msg, parse_family, &family);
    return *ret_why == TL_HOST_WHY_KNOWN ? family : 0;
}
