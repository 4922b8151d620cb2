/* Keys that change while the responder serves. */
#ifndef TL_ENGINE_RESPONDER_KEYS_H
#define TL_ENGINE_RESPONDER_KEYS_H

#include <stdbool.h>

struct session;
struct tl_responder;

/* As tl_responder_reload() says. */
void keys_reload(struct tl_responder *responder);

/* Whether the session's key is in force still; true for one without a key. */
bool keys_hold(const struct session *session);
/* The same; where it is not, the session is told so and ends. */
bool keys_demand(struct session *session);

#endif
