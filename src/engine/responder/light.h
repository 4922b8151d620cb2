/* What goes out beside the tests under a rate cap: answers to frames and to datagrams. All of it
 * together keeps to the cap once more; each session has an even part of it for certain, and more as
 * long as others want less, so that who asks without end takes no answers from anybody else. */
#ifndef TL_ENGINE_LIGHT_H
#define TL_ENGINE_LIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session;

/* Whether so many bytes may go to the session's client now; 0: whether it is in no debt. reserve:
 * only where as much is left for what must not wait. True without a cap. */
bool light_permits(const struct session *session, size_t bytes, bool reserve);
/* They go. */
void light_charge(struct session *session, size_t bytes);
/* A session begins without savings: who comes again and again has none either. */
void light_begin(struct session *session);

#endif
