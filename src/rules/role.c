/* Roles, places and segments: a rule says receiver, a person reads "this PC". */
#include <string.h>

#include "rule.h"

const char *tl_role_name(enum tl_role role)
{
    static const char *const names[] = {"receiver", "sender",       "path",      "lan",
                                        "flow",     "receiver-lan", "sender-lan"};
    return names[role];
}

/* Whether the role is the host that runs tightlink. */
static bool is_near(enum tl_role role, enum tl_direction direction)
{
    bool receiver = role == TL_ROLE_RECEIVER || role == TL_ROLE_RECEIVER_LAN;
    return receiver == (direction == TL_DOWNLOAD);
}

static bool is_lan_of_a_host(enum tl_role role)
{
    return role == TL_ROLE_RECEIVER_LAN || role == TL_ROLE_SENDER_LAN;
}

const char *tl_role_segment(enum tl_role role, enum tl_direction direction)
{
    if (role == TL_ROLE_RECEIVER || role == TL_ROLE_SENDER)
        return is_near(role, direction) ? "near-host" : "far-host";
    if (is_lan_of_a_host(role))
        return is_near(role, direction) ? "lan" : "far-lan";
    return tl_role_name(role);
}

const char *tl_role_place(enum tl_role role, enum tl_direction direction, bool overheard)
{
    bool near = is_near(role, direction);
    switch (role) {
    case TL_ROLE_RECEIVER:
    case TL_ROLE_SENDER:
        if (overheard)
            return near ? "the client" : "the server";
        return near ? "this PC" : "the far end";
    case TL_ROLE_PATH:
        return "the path";
    case TL_ROLE_LAN:
        return "the local network";
    case TL_ROLE_RECEIVER_LAN:
    case TL_ROLE_SENDER_LAN:
        if (overheard)
            return near ? "the client's local network" : "the server's local network";
        return near ? "the local network" : "the far end's local network";
    default:
        return "the transfer itself";
    }
}

static const char *send_to(enum tl_role role, enum tl_direction direction, bool overheard)
{
    bool near = is_near(role, direction);
    switch (role) {
    case TL_ROLE_RECEIVER:
    case TL_ROLE_SENDER:
        if (overheard)
            return near ? "the client's administrator" : "the server's administrator";
        return near ? "desktop support (this PC)" : "the far end's administrator";
    case TL_ROLE_RECEIVER_LAN:
    case TL_ROLE_SENDER_LAN:
        return near ? "the network team" : "the far end's administrator";
    case TL_ROLE_FLOW:
        return "whoever runs the transfer";
    default:
        return "the network team";
    }
}

const char *tl_rule_send_to(const struct tl_rule *rule, enum tl_direction direction, bool overheard)
{
    bool bought = rule->role == TL_ROLE_PATH && rule->remedy_count &&
                  strcmp(rule->remedies[0].needs, "provider") == 0;
    return bought ? "the provider, or the network team" : send_to(rule->role, direction, overheard);
}

const char *tl_share_name(enum tl_share share)
{
    static const char *const names[TL_SHARE_COUNT] = {"none", "app", "sndbuf", "rwnd", "network"};
    return names[share];
}

const struct tl_cause *tl_cause_find(const char *id)
{
    for (size_t i = 0; i < tl_cause_count; i++)
        if (strcmp(tl_causes[i].id, id) == 0)
            return &tl_causes[i];
    return NULL;
}
