/* Asking the kernel over netlink, one question at a time. */
#ifndef TL_HOST_NETLINK_H
#define TL_HOST_NETLINK_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/host/value.h"

/* A question fits one page; the largest answer (a link with its families' statistics)
 * has some 2 KiB, a verbose feature list 3 KiB. */
#define TL_NETLINK_ASK_SIZE    512
#define TL_NETLINK_ANSWER_SIZE 16384

/* One socket of one bus (NETLINK_ROUTE, NETLINK_GENERIC). One thread at a time. */
struct tl_netlink {
    struct mnl_socket *socket; /* NULL when it could not be opened */
    enum tl_host_why why;      /* then: why */
    unsigned seq;
};

void tl_netlink_init(struct tl_netlink *ret_netlink, int bus);
void tl_netlink_finish(struct tl_netlink *netlink); /* takes a half-built object */

/* Sends msg (its sequence number is filled in here) and gives each message of the answer
 * to parse, which returns false when it could not be understood. KNOWN when an answer was
 * parsed; else the reason: NO_ANSWER (EOPNOTSUPP), ABSENT, DENIED, NO_ROUTE, MALFORMED … */
typedef bool (*tl_netlink_parse_fn)(const struct nlmsghdr *msg, void *context);
enum tl_host_why tl_netlink_ask(struct tl_netlink *netlink, struct nlmsghdr *msg,
                                tl_netlink_parse_fn parse, void *context) TL_WARN_UNUSED;
/* The same with RTM_GETLINK for one interface. */
enum tl_host_why tl_netlink_ask_link(struct tl_netlink *route, int ifindex,
                                     tl_netlink_parse_fn parse, void *context) TL_WARN_UNUSED;

/* The attributes behind an attribute (nested) or behind a message's family header as a
 * table indexed by type, without those above max; false when their lengths do not fit. */
bool tl_netlink_nested(const struct nlattr *attr, const struct nlattr **ret_table,
                       unsigned max) TL_WARN_UNUSED;
bool tl_netlink_attributes(const struct nlmsghdr *msg, size_t family_size,
                           const struct nlattr **ret_table, unsigned max) TL_WARN_UNUSED;

/* A number of 1, 4 or 8 bytes as the attribute has; false when it is NULL or of another size. */
bool tl_netlink_number(const struct nlattr *attr, uint64_t *ret_number) TL_WARN_UNUSED;
/* The text in the attribute when it is NUL-terminated, else NULL. */
const char *tl_netlink_text(const struct nlattr *attr);

/* The number of a generic netlink family, 0 with *ret_why when the kernel has none. */
uint16_t tl_netlink_family(struct tl_netlink *netlink, const char *name, enum tl_host_why *ret_why);

#endif
