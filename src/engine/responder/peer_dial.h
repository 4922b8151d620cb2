/* A test between two responders: on the client's word this one dials the data connections to the
 * other. Whether it may is not decided here; nothing here knows sessions.
 *
 *   begin --> connecting -> PEER_HELLO sent -> DATA_OK came: adopt()
 *                         all of them: done()        any failure: failed() */
#ifndef TL_ENGINE_PEER_DIAL_H
#define TL_ENGINE_PEER_DIAL_H

#include "loop.h"
#include "tightlink/engine/wire.h"

struct peer_dials;

/* Called on the loop's thread. done and failed may forget the dials. */
struct peer_dials_owner {
    void *owner;
    /* Options of a socket that is not connected yet. */
    enum tl_status (*prepare)(void *owner, unsigned connection, int fd, struct tl_error *reterr);
    /* The connection is open and its descriptor the owner's. */
    void (*adopt)(void *owner, unsigned connection, int fd);
    void (*done)(void *owner);
    void (*failed)(void *owner, const char *why);
};

/* Begins to dial connections 0 to count - 1. On failure nothing is left of it. */
enum tl_status peer_dials_begin(struct loop *loop, const struct tl_wire_dial *asked, unsigned count,
                                const struct peer_dials_owner *owner, struct peer_dials **ret_dials,
                                struct tl_error *reterr) TL_WARN_UNUSED;
/* Closes what is still being dialled. NULL is fine. */
void peer_dials_forget(struct peer_dials *dials);

#endif
