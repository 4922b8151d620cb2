/* The real cards below an interface: what carries a bond, a bridge, a VLAN or a tunnel in the end.
 * Private to the host layer. */
#ifndef TL_HOST_CARDS_H
#define TL_HOST_CARDS_H

#include <net/if.h>

#include "netlink.h"

/* Members of one bond or bridge that are looked at; more are rare. */
#define TL_LINK_CARDS_MAX 8
/* Interfaces of one machine that are looked through: a host of containers has hundreds. */
#define TL_LINK_ROWS_MAX 1024

/* One interface, as a dump of RTM_GETLINK tells it. */
struct tl_link_row {
    int ifindex, below, master;    /* IFLA_LINK, IFLA_MASTER; 0: none */
    unsigned flags, type;          /* IFF_*, ARPHRD_* */
    char name[IFNAMSIZ], kind[24]; /* kind "": the kernel has none, as of hardware */
    unsigned char address[32];
    size_t address_len;
};

struct tl_link_cards {
    size_t count; /* 0: none is below, or several could be and nothing tells which */
    struct tl_link_row cards[TL_LINK_CARDS_MAX];
};

/* The cards that carry what the interface sends: itself where it is one; the members of a bond,
 * team or bridge that have a carrier; what lies below a VLAN or its like; of a tunnel the one card
 * with a carrier. Pure. */
void tl_link_cards_below(const struct tl_link_row *rows, size_t count, int ifindex,
                         struct tl_link_cards *ret_cards);

/* The same, asking the kernel. */
void tl_link_cards_find(struct tl_netlink *route, int ifindex, struct tl_link_cards *ret_cards);

/* Whether the kernel's name of a kind is that of a tunnel: it wraps packets into others. */
bool tl_link_is_tunnel_kind(const char *kind);

/* Whether a card may lie below an interface of this kind (as the kernel spells it). */
bool tl_link_stands_on_another(const char *kind);

bool tl_link_is_one_of(const char *text, const char *const *list, size_t count);
#define IS_ONE_OF(text, list) tl_link_is_one_of(text, list, sizeof(list) / sizeof((list)[0]))

#endif
