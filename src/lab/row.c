/* Names and addresses; see row.h. */
#include "row.h"

#include <stdio.h>
#include <sys/socket.h>

const struct tl_lab_plan tl_lab_plans[TL_LAB_PLAN_COUNT] = {
    {TL_LAB_IPV4,
     AF_INET,
     24,
     32,
     "10.99.1.2",
     "10.99.1.3",
     {NULL, NULL, "10.99.3.2", "10.99.4.2", "10.99.5.2", "10.99.6.2", "10.99.7.2"}},
    {TL_LAB_IPV6,
     AF_INET6,
     64,
     128,
     "fd00:99:1::2",
     "fd00:99:1::3",
     {NULL, NULL, "fd00:99:3::2", "fd00:99:4::2", "fd00:99:5::2", "fd00:99:6::2", "fd00:99:7::2"}},
};

const char *tl_lab_topology_address(const struct tl_lab_config *config, enum tl_lab_host host,
                                    enum tl_lab_family family)
{
    for (size_t i = 0; i < TL_LAB_PLAN_COUNT; i++)
        if (tl_lab_plans[i].family == family && (config->family & family))
            return host == TL_LAB_NEAR ? tl_lab_plans[i].c
                   : config->plain     ? tl_lab_plans[i].s_plain
                                       : tl_lab_plans[i].s[config->routers];
    return NULL;
}

enum tl_lab_place tl_lab_row_place(const struct tl_lab_config *config, int number)
{
    return number == 0                ? TL_LAB_PLACE_C
           : number > config->routers ? TL_LAB_PLACE_S
                                      : (enum tl_lab_place)(TL_LAB_PLACE_R1 + number - 1);
}

enum tl_lab_place tl_lab_row_place_at(const struct tl_lab_config *config, int at,
                                      enum tl_lab_host side)
{
    return tl_lab_row_place(config, side == TL_LAB_NEAR ? at : at + 1);
}

const char *tl_lab_row_interface(const struct tl_lab_config *config, int at, enum tl_lab_host side)
{
    int last = config->routers;
    if (side == TL_LAB_NEAR)
        return at == 0 ? "eth0" : at == last ? "lan0" : at == 1 ? "wan0" : "wan1";
    return at == last ? "eth0" : at == 0 ? "lan0" : "wan0";
}

const struct tl_lab_host_config *tl_lab_row_host(const struct tl_lab_config *config, int at,
                                                 enum tl_lab_host side)
{
    if (at == 0 && side == TL_LAB_NEAR)
        return &config->host[TL_LAB_NEAR];
    return at == config->routers && side == TL_LAB_FAR ? &config->host[TL_LAB_FAR] : NULL;
}

bool tl_lab_row_inner(const struct tl_lab_config *config, int at)
{
    return at > 0 && at < config->routers;
}

/* The link that wan_mtu is about: the main one, or the first where that ends at a host. */
static int wan_link(const struct tl_lab_config *config)
{
    int at = tl_lab_main_link(config);
    return tl_lab_row_inner(config, at) ? at : 1;
}

int32_t tl_lab_row_mtu(const struct tl_lab_config *config, int at, enum tl_lab_host side)
{
    if (tl_lab_row_inner(config, at))
        return at == wan_link(config) || config->wan_mtu > 1500 ? config->wan_mtu : 1500;
    const struct tl_lab_host_config *end = &config->host[at == 0 ? TL_LAB_NEAR : TL_LAB_FAR];
    return tl_lab_row_host(config, at, side) || end->lan_mtu == 0 ? end->mtu : end->lan_mtu;
}

void tl_lab_row_network(const struct tl_lab_plan *plan, int at, char ret_text[TL_LAB_ADDRESS_SIZE])
{
    if (plan->family == TL_LAB_IPV4)
        snprintf(ret_text, TL_LAB_ADDRESS_SIZE, "10.99.%d.0", at + 1);
    else
        snprintf(ret_text, TL_LAB_ADDRESS_SIZE, "fd00:99:%d::", at + 1);
}

void tl_lab_row_address(const struct tl_lab_plan *plan, int at, enum tl_lab_host side,
                        char ret_text[TL_LAB_ADDRESS_SIZE])
{
    /* On the LAN c is number 2, elsewhere the side towards c is number 1. */
    int number = (side == TL_LAB_NEAR) != (at == 0) ? 1 : 2;
    if (plan->family == TL_LAB_IPV4)
        snprintf(ret_text, TL_LAB_ADDRESS_SIZE, "10.99.%d.%d", at + 1, number);
    else
        snprintf(ret_text, TL_LAB_ADDRESS_SIZE, "fd00:99:%d::%d", at + 1, number);
}
