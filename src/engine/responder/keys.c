/* The keys are read again where the administrator asks for it. A context of TLS has its keys as
 * long as a channel of it lives, so that sessions go on; what they may still begin says
 * keys_hold(). */
#include "keys.h"

#include <string.h>

#include "places.h"
#include "responder_private.h"
#include "session.h"

bool keys_hold(const struct session *session)
{
    const struct tl_key *used = session->secure ? secure_key(session->secure) : NULL;
    if (!used)
        return true;
    const struct tl_key *now =
        tl_keys_find(session->responder->keys, used->name, strlen(used->name));
    return now && memcmp(now->secret, used->secret, sizeof now->secret) == 0 &&
           tl_key_opens_from(now, &session->peer.sin6_addr);
}

bool keys_demand(struct session *session)
{
    if (keys_hold(session))
        return true;
    session_error(session, TL_WIRE_E_KEY, "your key is no longer in force here");
    return false;
}

void keys_reload(struct tl_responder *responder)
{
    const struct tl_responder_options *options = &responder->options;
    struct tl_error error = {0};
    struct tl_keys *keys = NULL;
    struct secure_context *secured = NULL;
    if (!responder->secured || !options->load_keys) {
        responder_log(responder, "there are no keys to be read again");
        return;
    }
    enum tl_status status = options->load_keys(options->load_context, &keys, &error);
    if (status == TL_OK)
        status = secure_context_create_server(keys, &secured, &error);
    if (status != TL_OK) {
        tl_keys_destroy(keys);
        responder_log(responder, "the keys stay as they are: %s", error.text);
        return;
    }
    secure_context_own(secured, keys);
    secure_context_destroy(responder->secured);
    responder->secured = secured;
    responder->keys = keys;
    places_set(responder);
    unsigned gone = 0;
    for (uint32_t i = 0; i < responder->sessions.count; i++)
        gone += !keys_hold(responder->sessions.list[i]);
    responder_log(responder, "%zu keys are in force; %u sessions have one that is gone",
                  tl_keys_count(keys), gone);
}
