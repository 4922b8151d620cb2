/* The list of sessions. */
#ifndef TL_ENGINE_SESSIONS_H
#define TL_ENGINE_SESSIONS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "secure.h"
#include "tightlink/base/status.h"
#include "tightlink/engine/wire.h"

struct session;

/* In no order. Those that are GONE keep their place until they are joined, but do not count. */
struct sessions {
    struct session **list;
    uint32_t count, size;
};

enum tl_status sessions_init(struct sessions *sessions, uint32_t size) TL_WARN_UNUSED;
void sessions_free(struct sessions *sessions);

void sessions_add(struct sessions *sessions, struct session *session); /* count < size */
void sessions_remove(struct sessions *sessions, const struct session *session);
/* The session that says this token for this purpose; NULL: none that still listens. Test and
 * connection as in secure_token(). */
struct session *sessions_by_token(const struct sessions *sessions, enum secure_purpose purpose,
                                  uint32_t test_id, uint16_t connection,
                                  const struct tl_wire_token *token);
/* Sessions that are not GONE. */
uint32_t sessions_count(const struct sessions *sessions);
/* Those without a key. */
uint32_t sessions_count_plain(const struct sessions *sessions);

#endif
