/* The client: its life, ping, the far host. */
#include "tightlink/engine/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "client_private.h"
#include "tightlink/base/time.h"
#include "tightlink/base/utf8.h"

static struct tl_client *create_client(const struct tl_client_options *options)
{
    struct tl_client *client = calloc(1, sizeof(*client));
    if (!client)
        return NULL;
    char name[TL_UTF8_NAME_SIZE];
    tl_utf8_clean_name(options->host, name);
    (void)snprintf(client->host, sizeof(client->host), "%s", name);
    (void)snprintf(client->program, sizeof(client->program), "%s",
                   options->program ? options->program : "tightlink");
    client->port = options->port;
    client->cancel_fd = options->cancel_fd;
    client->ret_reached_ns = options->ret_reached_ns;
    client->timeout_ns = options->timeout_ns > 0 ? options->timeout_ns : TL_CLIENT_TIMEOUT_NS;
    client->disk_ns = TL_CLIENT_DISK_NS;
    client->fd = client->udp_fd = -1;
    pthread_mutex_init(&client->token_lock, NULL);
    tl_cpu_reader_init(&client->cpu_reader, "");
    return client;
}

static enum tl_status take_key(struct tl_client *client, const struct tl_key *key,
                               struct tl_error *reterr)
{
    (void)snprintf(client->key_name, sizeof(client->key_name), "%s", key->name);
    return secure_context_create_client(key, &client->secured, reterr);
}

static void destroy_client(struct tl_client *client)
{
    client_hang_up(client);
    if (client->udp_fd >= 0)
        close(client->udp_fd);
    secure_context_destroy(client->secured);
    pthread_mutex_destroy(&client->token_lock);
    free(client);
}

/* Which of two failures helps more: one that says a host is there, before one that says
 * that an address cannot be reached. */
static int usefulness(enum tl_status status)
{
    switch (status) {
    case TL_OK:
    case TL_UNREACHABLE:
    case TL_IO:
        return 0;
    case TL_TIMEOUT:
        return 1;
    case TL_REFUSED:
        return 2;
    default:
        return 3;
    }
}

static enum tl_status dial_each(struct tl_client *client, const struct addrinfo *list,
                                struct tl_error *reterr)
{
    enum tl_status best = TL_OK;
    for (const struct addrinfo *entry = list; entry; entry = entry->ai_next) {
        struct tl_error error;
        enum tl_status status = client_dial(client, entry->ai_addr, entry->ai_addrlen, &error);
        if (status == TL_OK)
            return TL_OK;
        if (best == TL_OK || usefulness(status) > usefulness(best) || status == TL_CANCELLED) {
            best = status;
            if (reterr)
                *reterr = error;
        }
        if (status == TL_CANCELLED)
            break;
    }
    return best;
}

enum tl_status tl_client_connect(const struct tl_client_options *options,
                                 struct tl_client **ret_client, struct tl_error *reterr)
{
    struct addrinfo *list;
    int64_t resolve_ns;
    if (options->port < 1 || options->port > 65535)
        return tl_error_set(reterr, TL_RANGE, "%d is no port: 1 to 65535", options->port);
    if (options->family != 0 && options->family != 4 && options->family != 6)
        return tl_error_set(reterr, TL_RANGE, "an address family is 4, 6 or 0 for either");
    enum tl_status status = client_resolve(options, &list, &resolve_ns, reterr);
    if (status != TL_OK)
        return status;
    struct tl_client *client = create_client(options);
    if (!client)
        status = tl_error_set(reterr, TL_NOMEM, "no memory for a client");
    else if (options->key)
        status = take_key(client, options->key, reterr);
    if (status == TL_OK)
        status = dial_each(client, list, reterr);
    if (client)
        client->ret_reached_ns = NULL;
    freeaddrinfo(list);
    if (status != TL_OK) {
        if (client)
            destroy_client(client);
        return status;
    }
    client->info.resolve_ns = resolve_ns;
    *ret_client = client;
    return TL_OK;
}

void tl_client_close(struct tl_client *client)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    if (!client)
        return;
    if (client->fd >= 0 && !client->stale)
        (void)!channel_send(client->secure, client->fd, frame,
                            tl_wire_encode_empty(TL_WIRE_BYE, frame));
    destroy_client(client);
}

const struct tl_client_info *tl_client_info(const struct tl_client *client)
{
    return &client->info;
}

void tl_client_own_bytes(const struct tl_client *client, uint64_t *ret_sent, uint64_t *ret_received)
{
    *ret_sent = client->beside_tx_bytes;
    *ret_received = client->beside_rx_bytes;
}

enum tl_status tl_client_wake(struct tl_client *client, struct tl_error *reterr)
{
    return client_wake(client, reterr);
}

/* One HOST frame's records. */
static enum tl_status take_host(const struct tl_wire_frame *frame, unsigned *record_count,
                                struct tl_host_settings *settings, struct tl_error *reterr)
{
    struct tl_wire_cursor cursor = {frame->payload, frame->payload + frame->payload_len};
    for (;;) {
        struct tl_wire_record record;
        bool more;
        enum tl_status status = tl_wire_record_next(&cursor, &record, &more, reterr);
        if (status != TL_OK || !more)
            return status;
        if (++*record_count > TL_WIRE_RECORDS_MAX)
            return tl_error_set(reterr, TL_PROTOCOL, "the far host's record does not end");
        (void)tl_wire_host_store(settings, &record); /* false: a row that we do not know */
    }
}

enum tl_status tl_client_host(struct tl_client *client, struct tl_host_settings *ret_settings,
                              struct tl_error *reterr)
{
    uint8_t bytes[TL_WIRE_FRAME_MAX];
    struct tl_wire_frame frame;
    struct tl_host_settings settings;
    unsigned record_count = 0;
    enum tl_status status = client_wake(client, reterr);
    if (status != TL_OK)
        return status;
    tl_host_settings_init(&settings);
    int64_t until_ns = tl_now_ns() + client->timeout_ns;
    status = client_send(client, bytes, tl_wire_encode_empty(TL_WIRE_HOST_QUERY, bytes), reterr);
    while (status == TL_OK) {
        status = client_await(client, until_ns, "its host's settings", &frame, reterr);
        if (status == TL_OK && frame.type == TL_WIRE_HOST)
            status = take_host(&frame, &record_count, &settings, reterr);
        else if (status == TL_OK && frame.type == TL_WIRE_HOST_END)
            break;
    }
    if (status == TL_OK)
        *ret_settings = settings;
    else
        client->stale = true;
    return status;
}
