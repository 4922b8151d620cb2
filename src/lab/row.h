/* The path as a row of hosts: 0 is c, then the routers, then s; link `at` joins hosts
 * at and at + 1. What their interfaces and addresses are called. With two routers:
 *
 *   c eth0 ------ lan0 r1 wan0 ==== wan0 r2 lan0 ------ eth0 s
 *   10.99.1.2   10.99.1.1  10.99.2.1  10.99.2.2  10.99.3.1   10.99.3.2
 *   fd00:99:1::2  ...:1::1   ...:2::1   ...:2::2   ...:3::1      ...:3::2
 *
 * More routers stand between r1 and the last one, with wan0 towards c and wan1 towards
 * s; each link is the next network. A plain path has c and s alone, 10.99.1.2 and
 * 10.99.1.3 on one wire. Pure functions. */
#ifndef TL_LAB_ROW_H
#define TL_LAB_ROW_H

#include <stdbool.h>

#include "tightlink/lab/config.h"
#include "topology.h"

/* Longest address here: "fd00:99:7::2". */
#define TL_LAB_ADDRESS_SIZE 24

struct tl_lab_plan {
    enum tl_lab_family family;
    int af;
    unsigned prefix_bits, host_bits;
    const char *c, *s_plain, *s[TL_LAB_ROUTERS_MAX + 1]; /* s by number of routers */
};

#define TL_LAB_PLAN_COUNT 2
extern const struct tl_lab_plan tl_lab_plans[TL_LAB_PLAN_COUNT];

enum tl_lab_place tl_lab_row_place(const struct tl_lab_config *config, int number);

/* The host on one side of a link: NEAR is the side towards c. */
enum tl_lab_place tl_lab_row_place_at(const struct tl_lab_config *config, int at,
                                      enum tl_lab_host side);

/* The name of a link's interface on one side. */
const char *tl_lab_row_interface(const struct tl_lab_config *config, int at, enum tl_lab_host side);

/* The end of the path that a side of a link belongs to, NULL for a router's. */
const struct tl_lab_host_config *tl_lab_row_host(const struct tl_lab_config *config, int at,
                                                 enum tl_lab_host side);

/* Whether both sides are routers. */
bool tl_lab_row_inner(const struct tl_lab_config *config, int at);

int32_t tl_lab_row_mtu(const struct tl_lab_config *config, int at, enum tl_lab_host side);

/* The network of a link, and the address of one side in it. */
void tl_lab_row_network(const struct tl_lab_plan *plan, int at, char ret_text[TL_LAB_ADDRESS_SIZE]);
void tl_lab_row_address(const struct tl_lab_plan *plan, int at, enum tl_lab_host side,
                        char ret_text[TL_LAB_ADDRESS_SIZE]);

#endif
