/* The WebSocket of one ndt7 test (RFC 6455), once it is agreed on: payload that is counted and
 * dropped or made up, texts, pings. Private to this room; one thread.
 *
 * libwslay cuts and masks frames; no message is ever held but a text, so that a server's sizes cost
 * nothing. Whatever it sends is bounded: messages of 16 MiB, texts of NDT7_TEXT_MAX, and of texts
 * and pings NDT7_WORDS_PER_S, which is some times what the protocol allows. */
#ifndef TL_ENGINE_NDT7_FRAMES_H
#define TL_ENGINE_NDT7_FRAMES_H

#include "http_request.h"
#include "ndt7_text.h"

#define NDT7_MESSAGE_MAX (1u << 24)
#define NDT7_WORDS_PER_S 40

struct ndt7_frames;

enum ndt7_turn {
    NDT7_MORE,   /* there may be more at once */
    NDT7_WAIT,   /* nothing to read, or no room to write: see ndt7_frames_events() */
    NDT7_CLOSED, /* the server closed: with a Close frame, or without */
    NDT7_BAD     /* it broke the protocol: ndt7_frames_fault() */
};

struct ndt7_listener {
    void (*payload)(void *context, size_t bytes); /* binary, sent or received */
    void (*text)(void *context, const char *text, size_t len);
    void *context;
};

/* connection: agreed on, borrowed. sends: this end sends payload, else the server. TL_NOMEM. */
enum tl_status ndt7_frames_create(struct http_connection *connection, bool sends,
                                  const struct ndt7_listener *listener,
                                  struct ndt7_frames **ret_frames,
                                  struct tl_error *reterr) TL_WARN_UNUSED;
void ndt7_frames_destroy(struct ndt7_frames *frames); /* NULL is fine */

/* Takes and sends what goes without waiting, up to about 1 MB each. */
enum ndt7_turn ndt7_frames_step(struct ndt7_frames *frames);
/* What to poll for after NDT7_WAIT. */
short ndt7_frames_events(const struct ndt7_frames *frames);
/* Whether the server said Close, rather than only hang up. */
bool ndt7_frames_closed_in_order(const struct ndt7_frames *frames);
/* What it did, as the rest of "… it": static. */
const char *ndt7_frames_fault(const struct ndt7_frames *frames);

/* base64(SHA-1(key and the protocol's own identifier)): RFC 6455, 4.2.2. */
#define NDT7_KEY_SIZE 32
void ndt7_accept_of(const char *key, char ret_accept[NDT7_KEY_SIZE]);

#endif
