/* Places among the sessions: shares by network (share.h) and totals by class. Where a share is full
 * the one who comes takes the place of a session that is silent, else of one of the network that
 * has the most of it, if that has at least two more than his own (max-min fairness): so nobody
 * loses the only place of his network, and no few networks keep all others out. */
#include "places.h"

#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "responder_private.h"
#include "session.h"
#include "share.h"
#include "tightlink/base/time.h"

#define SESSIONS_MOST 1024
#define IS_TOO_MANY(id, name, min, max, standard)                                                  \
    || (TL_LIMIT_##id == TL_LIMIT_SESSIONS && (max) > SESSIONS_MOST)
_Static_assert(!(false TL_LIMIT_MAP(IS_TOO_MANY)), "an administrator may set more sessions");

/* Sessions that compete for one share: of one network, of one class, or all. */
struct places {
    /* Whether two addresses belong together; NULL: not by network. */
    bool (*same)(const struct in6_addr *a, const struct in6_addr *b);
    int class; /* -1: not by class */
    uint32_t most;
    const char *whose, *why;
};

enum tl_session_class places_class(const struct secure *secure)
{
    const struct tl_key *key = secure ? secure_key(secure) : NULL;
    return !key ? TL_SESSION_OPEN : key->admin ? TL_SESSION_ADMIN : TL_SESSION_KEYED;
}

void places_set(struct tl_responder *responder)
{
    const struct tl_keys *keys = responder->keys;
    uint32_t all = responder->session_max;
    uint32_t kept[TL_SESSION_CLASSES] = {keys ? all / 4 : 0};
    for (size_t i = 0; keys && i < tl_keys_count(keys); i++)
        if (tl_keys_at(keys, i)->admin)
            kept[TL_SESSION_KEYED] = all / 16;
    for (unsigned i = 0; i < TL_SESSION_CLASSES; i++) {
        uint32_t asked = responder->options.class_places[i];
        responder->class_places[i] = asked ? asked : all - kept[i];
    }
}

static bool competes(const struct places *places, const struct in6_addr *peer,
                     const struct session *session)
{
    if (session->state == SESSION_GONE)
        return false;
    return places->same         ? places->same(peer, &session->peer.sin6_addr)
           : places->class >= 0 ? places_class(session->secure) == (unsigned)places->class
                                : true;
}

static uint32_t count(const struct sessions *sessions, const struct places *places,
                      const struct in6_addr *peer)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < sessions->count; i++)
        found += competes(places, peer, sessions->list[i]);
    return found;
}

/* Those of a share that can be done without, since no test of theirs was granted. */
struct candidates {
    uint32_t count;
    struct session *list[SESSIONS_MOST];
};

static void gather(const struct sessions *sessions, const struct places *places,
                   const struct in6_addr *peer, struct candidates *ret_candidates)
{
    ret_candidates->count = 0;
    for (uint32_t i = 0; i < sessions->count; i++)
        if (sessions->list[i]->state <= SESSION_QUEUED && competes(places, peer, sessions->list[i]))
            ret_candidates->list[ret_candidates->count++] = sessions->list[i];
}

/* Silent for the longest. Who waits for a turn has to be heard as well: its client pings. */
static struct session *most_silent(const struct candidates *candidates)
{
    struct session *best = NULL;
    for (uint32_t i = 0; i < candidates->count; i++)
        if (!best || candidates->list[i]->heard_ns < best->heard_ns)
            best = candidates->list[i];
    return best;
}

/* The network of an address at a depth: the widest that is counted, then ever narrower ones. Hosts
 * of one neighbourhood are not held against each other: one may have two sessions. */
static uint64_t network_at(const struct in6_addr *address, unsigned depth, uint64_t seed)
{
    unsigned widest = IN6_IS_ADDR_V4MAPPED(address) ? SHARE_NEIGHBOURS : SHARE_PROVIDER;
    unsigned level = depth < widest - SHARE_NEIGHBOURS ? widest - depth : SHARE_NEIGHBOURS;
    return share_key(address, (enum share_level)level, seed);
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* Which of these networks comes most often, and how often. */
static uint64_t fullest(const uint64_t *networks, uint32_t count, uint32_t *ret_most)
{
    uint64_t sorted[SESSIONS_MOST], best = 0;
    memcpy(sorted, networks, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_keys);
    *ret_most = 0;
    for (uint32_t i = 0, begin = 0; i < count; i++) {
        begin = sorted[i] == sorted[begin] ? begin : i;
        if (i + 1 - begin > *ret_most) {
            *ret_most = i + 1 - begin;
            best = sorted[i];
        }
    }
    return best;
}

static uint32_t occurrences(const uint64_t *networks, uint32_t count, uint64_t network)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += networks[i] == network;
    return found;
}

static void keep_network(struct candidates *candidates, const uint64_t *networks, uint64_t network)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < candidates->count; i++)
        if (networks[i] == network)
            candidates->list[kept++] = candidates->list[i];
    candidates->count = kept;
}

/* One of the network that has the most, and within it of the part that has the most, where that is
 * at least two more than the newcomer's own; where no other network is, the same within his own.
 * NULL: nobody has more than his share. */
static struct session *greediest(struct candidates *candidates, const struct in6_addr *peer,
                                 uint64_t seed)
{
    bool found = false;
    for (unsigned depth = 0; depth < SHARE_LEVELS - SHARE_NEIGHBOURS && candidates->count > 0;
         depth++) {
        uint64_t networks[SESSIONS_MOST], own = network_at(peer, depth, seed);
        uint32_t most;
        for (uint32_t i = 0; i < candidates->count; i++)
            networks[i] = network_at(&candidates->list[i]->peer.sin6_addr, depth, seed);
        uint64_t network = fullest(networks, candidates->count, &most);
        found = found || most >= occurrences(networks, candidates->count, own) + 2;
        keep_network(candidates, networks, found ? network : own);
    }
    return found ? most_silent(candidates) : NULL;
}

/* Ends one session of a full share, if one has to give way. */
static bool make_room(struct tl_responder *responder, const struct places *places,
                      const struct in6_addr *peer, int64_t now_ns)
{
    struct candidates candidates;
    gather(&responder->sessions, places, peer, &candidates);
    struct session *old = most_silent(&candidates);
    if (old && now_ns - old->heard_ns >= session_limit_ns(TL_LIMIT_EVICT_MS)) {
        session_end(old, places->why);
        return true;
    }
    old = greediest(&candidates, peer, responder->guard.seed);
    if (old)
        session_end(old, "its network had most of the places, and others came");
    return old != NULL;
}

static enum tl_status refuse(const struct places *places, struct tl_error *reterr)
{
    if (places->class == TL_SESSION_OPEN)
        return tl_error_set(reterr, TL_LIMIT, PLACES_KEPT_TEXT);
    if (places->class == TL_SESSION_KEYED)
        return tl_error_set(reterr, TL_LIMIT,
                            "the places left are kept for administrators: try again later");
    return tl_error_set(reterr, TL_LIMIT, "%s %u sessions here already: wait until one ends",
                        places->whose, places->most);
}

enum tl_status places_find(struct tl_responder *responder, const struct in6_addr *peer,
                           enum tl_session_class class, struct tl_error *reterr)
{
    const struct sessions *sessions = &responder->sessions;
    uint32_t all = responder->session_max;
    const struct places shares[] = {
        {address_same_peer, -1, (uint32_t)tl_limit_row(TL_LIMIT_SESSIONS_PER_PEER)->standard,
         "your address has", "its peer came again"},
        {share_same_neighbours, -1, all / 4, "your network has", "silent, and its network is full"},
        {share_same_site, -1, all / 2, "your site has", "silent, and its site is full"},
        {share_same_provider, -1, all - all / 4, "your provider's network has",
         "silent, and its provider is full"},
        {NULL, (int)class, responder->class_places[class], "administrators have",
         "silent, and its class is full"},
        {NULL, -1, all, "this responder has", "silent, and its place was needed"},
    };
    int64_t now_ns = tl_now_ns();
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        bool is_whole =
            shares[i].class >= 0 && shares[i].most >= all; /* the row behind it says so */
        if (is_whole || count(sessions, &shares[i], peer) < shares[i].most)
            continue;
        if (!make_room(responder, &shares[i], peer, now_ns))
            return refuse(&shares[i], reterr);
    }
    if (sessions->count >= sessions->size)
        return tl_error_set(reterr, TL_LIMIT, "this responder is still tidying up: try again");
    return TL_OK;
}
