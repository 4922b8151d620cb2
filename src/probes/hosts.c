/* Stage hosts: what both ends are, from their own kernels. */
#include <arpa/inet.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "outcome.h"
#include "tightlink/engine/far.h"
#include "tightlink/probes/host_facts.h"
#include "tightlink/probes/probes.h"

/* This PC's settings and name. */
static void set_near(struct tl_facts *facts, const struct sockaddr *peer)
{
    struct tl_host_settings settings;
    char name[HOST_NAME_MAX + 1] = "";
    (void)tl_host_settings_read(&settings, peer);
    tl_host_facts_set(facts, TL_SCOPE_NEAR, &settings);
    if (gethostname(name, sizeof name - 1) == 0 && name[0])
        tl_facts_set_text(facts, TL_NEAR(name), name, "gethostname");
}

enum tl_status tl_probe_hosts(const struct tl_probe *probe, struct tl_probe_outcome *ret_outcome,
                              struct tl_error *reterr)
{
    tl_outcome_begin(ret_outcome, "hosts");
    struct tl_host_settings settings;
    const struct tl_client_info *info = tl_far_info(probe->far);
    set_near(probe->facts, (const struct sockaddr *)&info->peer);
    struct tl_error error = {0};
    enum tl_status status = tl_far_host(probe->far, &settings, &error);
    if (status == TL_OK)
        tl_host_facts_set(probe->facts, TL_SCOPE_FAR, &settings);
    else
        tl_outcome_state(ret_outcome, TL_STAGE_LIMITED,
                         "the far end does not tell its settings: %s", error.text);
    tl_outcome_end(ret_outcome);
    if (status == TL_UNSUPPORTED) { /* this kind of far end never does */
        tl_facts_explain_stage(probe->facts, "hosts", NULL, error.text);
        return TL_OK;
    }
    if (status != TL_OK && reterr)
        *reterr = error;
    return status;
}

/* Any public address has the default route; this one is for documentation (RFC 5737)
 * and nothing is sent to it. */
static void default_peer(struct sockaddr_storage *ret_peer)
{
    struct sockaddr_in *peer = (struct sockaddr_in *)ret_peer;
    memset(ret_peer, 0, sizeof *ret_peer);
    peer->sin_family = AF_INET;
    inet_pton(AF_INET, "192.0.2.1", &peer->sin_addr);
}

static enum tl_status resolve(const char *host, struct sockaddr_storage *ret_peer,
                              struct tl_error *reterr)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int error = getaddrinfo(host, NULL, &hints, &found);
    if (error)
        return tl_error_set(reterr, TL_NOHOST,
                            "%.253s cannot be resolved (%s): check the spelling, or give its "
                            "address",
                            host, gai_strerror(error));
    memcpy(ret_peer, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return TL_OK;
}

enum tl_status tl_probe_near(const char *host, struct tl_facts *facts, struct tl_error *reterr)
{
    struct sockaddr_storage peer;
    if (host) {
        enum tl_status status = resolve(host, &peer, reterr);
        if (status != TL_OK)
            return status;
    } else {
        default_peer(&peer);
    }
    set_near(facts, (const struct sockaddr *)&peer);
    return TL_OK;
}
