/* Strangers: connections that have not sent their first frame, and who of them gets a place. */
#ifndef TL_ENGINE_ADMISSION_H
#define TL_ENGINE_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"

struct admission;
struct tl_responder;

/* half_max: connections that have not said who they are. */
enum tl_status admission_create(struct tl_responder *responder, uint32_t half_max,
                                struct admission **ret_admission) TL_WARN_UNUSED;
void admission_destroy(struct admission *admission); /* NULL is fine */
/* Sends all strangers away. */
void admission_clear(struct admission *admission);

/* How many there are, and how many of them are in a handshake. */
uint32_t admission_count(const struct admission *admission);
uint32_t admission_handshakes(const struct admission *admission);

/* The listener has connections. */
void admission_accept(struct admission *admission);
/* Who did not speak in time goes. True while there are any. */
bool admission_tick(struct admission *admission, int64_t now_ns);

#endif
