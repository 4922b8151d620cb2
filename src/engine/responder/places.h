/* Who gets a place among the sessions, and who has to go for it. */
#ifndef TL_ENGINE_PLACES_H
#define TL_ENGINE_PLACES_H

#include <netinet/in.h>

#include "secure.h"
#include "tightlink/base/status.h"
#include "tightlink/engine/responder.h"

#define PLACES_KEPT_TEXT "the places left are kept for clients with a key: try again later"

/* Of the key by which a peer came; NULL: it came without a channel. */
enum tl_session_class places_class(const struct secure *secure);

/* The most sessions of each class, of the options and the keys in force. What the options leave
 * open: without keys everything is for everybody; with keys a quarter is kept from those without;
 * with an administrator's a sixteenth from all others. */
void places_set(struct tl_responder *responder);

/* Makes room for one more, at the cost of a session without a granted test: of the same peer, else
 * of the same network or class where that has its share, else of any; of one that seems to be dead,
 * else of the network that has most. TL_LIMIT with a sentence. */
enum tl_status places_find(struct tl_responder *responder, const struct in6_addr *peer,
                           enum tl_session_class class, struct tl_error *reterr) TL_WARN_UNUSED;

#endif
