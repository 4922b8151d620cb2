/* Fair shares of a pool (connections, handshakes, sessions): who is in it, counted by address, by
 * neighbourhood, by site and by provider, and whether one more of them may come in.
 *
 * A host is an IPv4 address or an IPv6 /64, a neighbourhood a /24 or /56; IPv6 alone has sites
 * (/48) and providers (/32). A host may have an eighth of a pool, a neighbourhood a quarter, a site
 * a half, a provider three quarters: who owns one network never shuts the others out. An early pool
 * turns newcomers away at random from half of a share on, with a probability that grows to 1 (as
 * OpenSSH's MaxStartups), so that a flood from where honest clients come from, too, leaves some of
 * them through; and likewise from three quarters of the whole on. Nobody who is in is sent away for
 * who comes. Private to the responder. */
#ifndef TL_ENGINE_SHARE_H
#define TL_ENGINE_SHARE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"

struct share_pool;

/* Widths of an address that are counted. */
enum share_level { SHARE_HOST, SHARE_NEIGHBOURS, SHARE_SITE, SHARE_PROVIDER, SHARE_LEVELS };
/* What a network of that width may have of a whole; UINT64_MAX: IPv4 has no such width. */
uint64_t share_of(const struct in6_addr *address, enum share_level level, uint64_t whole);
/* A number for the network that an address is in, another one with another seed. */
uint64_t share_key(const struct in6_addr *address, enum share_level level, uint64_t seed);

/* room: members at most, all together. TL_NOMEM, or no random numbers. */
enum tl_status share_pool_create(uint32_t room, bool early,
                                 struct share_pool **ret_pool) TL_WARN_UNUSED;
void share_pool_destroy(struct share_pool *pool); /* NULL is fine */

/* Addresses are IPv6 throughout, IPv4 as ::ffff:a.b.c.d. Changes nothing but the random numbers. */
bool share_pool_admits(struct share_pool *pool, const struct in6_addr *address);
/* One member more; there is room. */
void share_pool_add(struct share_pool *pool, const struct in6_addr *address);
/* One that was added goes. */
void share_pool_remove(struct share_pool *pool, const struct in6_addr *address);
uint32_t share_pool_count(const struct share_pool *pool);
uint32_t share_pool_room(const struct share_pool *pool);

/* Whether both are of one neighbourhood; of one site or provider, which no two of IPv4 are. */
bool share_same_neighbours(const struct in6_addr *a, const struct in6_addr *b);
bool share_same_site(const struct in6_addr *a, const struct in6_addr *b);
bool share_same_provider(const struct in6_addr *a, const struct in6_addr *b);

#endif
