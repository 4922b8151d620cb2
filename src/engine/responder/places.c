/* Places among the sessions: shares by network (share.h) and totals by class. */
#include "places.h"

#include "address.h"
#include "responder_private.h"
#include "session.h"
#include "share.h"
#include "tightlink/base/time.h"

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

/* The one that can best be done without: without a test that was granted, and silent for the
 * longest. Who waits for a turn has to be heard as well: its client pings. */
static struct session *weakest(const struct sessions *sessions, const struct places *places,
                               const struct in6_addr *peer, int64_t now_ns)
{
    struct session *best = NULL;
    for (uint32_t i = 0; i < sessions->count; i++) {
        struct session *session = sessions->list[i];
        if (session->state > SESSION_QUEUED || !competes(places, peer, session) ||
            now_ns - session->heard_ns < session_limit_ns(TL_LIMIT_EVICT_MS))
            continue;
        if (!best || session->heard_ns < best->heard_ns)
            best = session;
    }
    return best;
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
        struct session *old = weakest(sessions, &shares[i], peer, now_ns);
        if (!old)
            return refuse(&shares[i], reterr);
        session_end(old, shares[i].why);
    }
    if (sessions->count >= sessions->size)
        return tl_error_set(reterr, TL_LIMIT, "this responder is still tidying up: try again");
    return TL_OK;
}
