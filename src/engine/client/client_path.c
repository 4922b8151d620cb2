/* The client's connection as the end from which the way is searched (path_end.h). */
#include "tightlink/engine/client_path.h"

#include "client_private.h"
#include "path_end.h"
#include "tightlink/base/time.h"

static enum tl_status open_tuple(struct tl_client *client, bool alone, bool prove, int cancel_fd,
                                 int *ret_fd, struct udp_pass *ret_pass, struct tl_error *reterr)
{
    enum tl_status status = client_udp_open(client, ret_fd, reterr);
    if (status == TL_OK && prove)
        status = client_udp_prove(client, *ret_fd, alone, cancel_fd, ret_pass, reterr);
    return status;
}

static enum tl_status open_alone(void *owner, bool prove, int cancel_fd, int *ret_fd,
                                 struct udp_pass *ret_pass, struct tl_error *reterr)
{
    return open_tuple(owner, true, prove, cancel_fd, ret_fd, ret_pass, reterr);
}

static enum tl_status open_beside(void *owner, bool prove, int cancel_fd, int *ret_fd,
                                  struct udp_pass *ret_pass, struct tl_error *reterr)
{
    return open_tuple(owner, false, prove, cancel_fd, ret_fd, ret_pass, reterr);
}

static enum tl_status keep_alive(void *owner, struct tl_error *reterr)
{
    return client_keep_alive(owner, reterr);
}

static void count(void *owner, uint64_t sent_bytes, uint64_t received_bytes)
{
    struct tl_client *client = owner;
    client->beside_tx_bytes += sent_bytes ? sent_bytes + CLIENT_LINK_BYTES : 0;
    client->beside_rx_bytes += received_bytes ? received_bytes + CLIENT_LINK_BYTES : 0;
}

/* beside_test: another thread has the control connection. */
static struct path_end end_of(struct tl_client *client, bool beside_test)
{
    return (struct path_end){.owner = client,
                             .cancel_fd = client->cancel_fd,
                             .ipv6 = client->info.peer.ss_family == AF_INET6,
                             .handshake_rtt_ns = client->info.connect_rtt_ns,
                             .open = beside_test ? open_beside : open_alone,
                             .keep_alive = beside_test ? NULL : keep_alive,
                             .count = count,
                             .hops_count = client->hops_count};
}

enum tl_status tl_client_pmtu(struct tl_client *client, const struct tl_pmtu_spec *spec,
                              struct tl_pmtu_result *ret_result, struct tl_error *reterr)
{
    enum tl_status status = client_wake(client, reterr);
    struct path_end end = end_of(client, false);
    if (status == TL_OK)
        status = client_udp_judge(client, path_pmtu(&end, spec, ret_result, reterr), reterr);
    if (status != TL_OK)
        return status;
    client->hops_count = ret_result->up.hops_count;
    client->heard_ns = tl_now_ns(); /* its datagrams are a word as well */
    return TL_OK;
}

enum tl_status tl_client_hops(struct tl_client *client, const struct tl_hops_spec *spec,
                              struct tl_hops_result *ret_result, struct tl_error *reterr)
{
    enum tl_status status = spec->beside_test ? TL_OK : client_wake(client, reterr);
    struct path_end end = end_of(client, spec->beside_test);
    if (status == TL_OK)
        status = path_hops(&end, spec, ret_result, reterr);
    return spec->beside_test ? status : client_udp_judge(client, status, reterr);
}
