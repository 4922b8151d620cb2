/* The list of sessions. */
#include "sessions.h"

#include <stdlib.h>

#include "session.h"

enum tl_status sessions_init(struct sessions *sessions, uint32_t size)
{
    *sessions = (struct sessions){.list = calloc(size, sizeof(struct session *)), .size = size};
    return sessions->list ? TL_OK : TL_NOMEM;
}

void sessions_free(struct sessions *sessions)
{
    free(sessions->list);
    *sessions = (struct sessions){0};
}

void sessions_add(struct sessions *sessions, struct session *session)
{
    sessions->list[sessions->count++] = session;
}

void sessions_remove(struct sessions *sessions, const struct session *session)
{
    for (uint32_t i = 0; i < sessions->count; i++) {
        if (sessions->list[i] != session)
            continue;
        sessions->list[i] = sessions->list[--sessions->count];
        return;
    }
}

/* What datagrams say was made when the session began: a flood of them costs comparisons alone. */
static bool says(const struct session *session, enum secure_purpose purpose, uint32_t test_id,
                 uint16_t connection, const struct tl_wire_token *token)
{
    struct tl_wire_token own = session->udp_token;
    return (purpose == SECURE_UDP ||
            secure_token(session->secure, &session->token, purpose, test_id, connection, &own)) &&
           tl_wire_token_equal(&own, token);
}

struct session *sessions_by_token(const struct sessions *sessions, enum secure_purpose purpose,
                                  uint32_t test_id, uint16_t connection,
                                  const struct tl_wire_token *token)
{
    for (uint32_t i = 0; i < sessions->count; i++) {
        struct session *session = sessions->list[i];
        if (session->state < SESSION_CLOSING && says(session, purpose, test_id, connection, token))
            return session;
    }
    return NULL;
}

uint32_t sessions_count(const struct sessions *sessions)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sessions->count; i++)
        count += sessions->list[i]->state != SESSION_GONE;
    return count;
}

uint32_t sessions_count_plain(const struct sessions *sessions)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sessions->count; i++)
        count += sessions->list[i]->state != SESSION_GONE && !sessions->list[i]->secure;
    return count;
}
