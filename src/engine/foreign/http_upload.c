/* Uploads to a LibreSpeed back end: http_upload.h. */
#include "http_upload.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "near_half.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

#define NOISE_BYTES (1u << 18)
#define STEP_BYTES  (1u << 20)
#define HEAD_SIZE   2048
#define LINE_SIZE   512
/* Of answers: a few hundred bytes each are usual. */
#define ANSWERS_MAX 65536
#define LEAVE_NS    (1 * TL_NS_PER_S) /* twice that for an answer */
#define GARBAGE     "/garbage.php"

struct posting {
    unsigned index;
    struct http_connection connection;
    size_t head_left, body_left;
    char line[LINE_SIZE]; /* of an answer, as far as it came */
    size_t line_len, answer_bytes, posts, answers;
    bool stuck; /* no room to write */
    bool waits; /* likewise, for an answer */
};

struct upload {
    struct far_peer peer; /* with this test's tick */
    const struct http_server *server;
    const struct tl_tcp_spec *spec;
    struct near_half *half;
    struct posting postings[NEAR_HANDS_MAX];
    unsigned count; /* that were begun */
    char head[HEAD_SIZE];
    size_t head_len;
    uint8_t *noise;
};

bool http_is_librespeed(const char *resource)
{
    size_t len = strcspn(resource, "?"), tail = sizeof GARBAGE - 1;
    return len >= tail && memcmp(resource + len - tail, GARBAGE, tail) == 0;
}

void http_upload_place(const char *resource, char ret_place[HTTP_RESOURCE_SIZE])
{
    int folder = (int)(strcspn(resource, "?") - (sizeof GARBAGE - 1));
    snprintf(ret_place, HTTP_RESOURCE_SIZE, "%.*s/empty.php", folder, resource);
}

/* --- Answers ---------------------------------------------------------------------------------- */

enum tl_status http_check_posted(const char *host, const struct http_reply *reply,
                                 struct tl_error *reterr)
{
    if (reply->status == 200 || reply->status == 100)
        return TL_OK;
    return tl_error_set(reterr, TL_DENIED,
                        "%s answers %d%s%s to an upload of %d MB: LibreSpeed's server has to take "
                        "such bodies",
                        host, reply->status, reply->reason[0] ? " " : "", reply->reason,
                        HTTP_BODY_BYTES / 1000000);
}

/* Lines of headers and of what little body there is: those that tell something begin as no body of
 * LibreSpeed's does. */
static enum tl_status take_line(const struct upload *upload, struct posting *posting,
                                struct tl_error *reterr)
{
    struct http_reply reply;
    const char *line = posting->line;
    if (http_take_status(line, &reply)) {
        posting->answer_bytes = 0;
        posting->answers += reply.status == 200;
        return http_check_posted(upload->peer.host, &reply, reterr);
    }
    if (strncasecmp(line, "connection: close", 17) == 0)
        return tl_error_set(reterr, TL_UNSUPPORTED,
                            "%s closes the connection behind each upload, so that none lasts long "
                            "enough for a rate",
                            upload->peer.host);
    return TL_OK;
}

static enum tl_status take_answers(const struct upload *upload, struct posting *posting,
                                   struct tl_error *reterr)
{
    char text[LINE_SIZE];
    enum tl_status status = TL_OK;
    ssize_t got;
    while (status == TL_OK && (got = http_take(&posting->connection, text, sizeof text)) > 0)
        for (ssize_t i = 0; i < got && status == TL_OK; i++) {
            bool room = posting->line_len < LINE_SIZE - 1;
            if (++posting->answer_bytes > ANSWERS_MAX)
                return tl_error_set(reterr, TL_PROTOCOL, "%s answers an upload without end",
                                    upload->peer.host);
            if (text[i] != '\n') {
                posting->line[posting->line_len] = text[i];
                posting->line_len += room;
                continue;
            }
            posting->line[posting->line_len] = '\0';
            posting->line[strcspn(posting->line, "\r")] = '\0';
            posting->line_len = 0;
            status = take_line(upload, posting, reterr);
        }
    if (status == TL_OK && got < 0)
        return tl_error_set(reterr, TL_CLOSED, "%s ended the upload after %zu bodies",
                            upload->peer.host, posting->posts > 0 ? posting->posts - 1 : 0);
    return status;
}

/* --- Posting ---------------------------------------------------------------------------------- */

/* A piece of the head or the body that is next; how many bytes, 0: no room. -1: gone, which reading
 * tells more of. */
static ssize_t post_piece(struct upload *upload, struct posting *posting)
{
    bool whole = posting->head_left == 0 && posting->body_left == 0;
    posting->waits = whole && http_to_proxy(upload->server) && posting->answers < posting->posts;
    if (posting->waits)
        return 0;
    if (whole) {
        posting->head_left = upload->head_len;
        posting->body_left = HTTP_BODY_BYTES;
        posting->posts++;
    }
    bool head = posting->head_left > 0;
    size_t body = posting->body_left < NOISE_BYTES ? posting->body_left : NOISE_BYTES;
    ssize_t sent =
        head ? http_put(&posting->connection, upload->head + upload->head_len - posting->head_left,
                        posting->head_left)
             : http_put(&posting->connection, upload->noise, body);
    if (sent > 0)
        *(head ? &posting->head_left : &posting->body_left) -= (size_t)sent;
    if (sent > 0 && !head)
        near_half_moved(upload->half, posting->index, (size_t)sent);
    return sent;
}

static enum tl_status step(struct upload *upload, struct posting *posting, struct tl_error *reterr)
{
    enum tl_status status = take_answers(upload, posting, reterr);
    ssize_t sent = 1;
    for (size_t all = 0; status == TL_OK && sent > 0 && all < STEP_BYTES; all += (size_t)sent)
        sent = post_piece(upload, posting);
    posting->stuck = sent == 0;
    return status == TL_OK && sent < 0 ? take_answers(upload, posting, reterr) : status;
}

static enum tl_status move_payload(struct upload *upload, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    while (status == TL_OK && !near_half_step(upload->half)) {
        struct pollfd fds[NEAR_HANDS_MAX + 1];
        bool more = false;
        for (unsigned i = 0; i < upload->count && status == TL_OK; i++) {
            struct posting *posting = &upload->postings[i];
            status = step(upload, posting, reterr);
            fds[i] = (struct pollfd){.fd = posting->connection.fd,
                                     .events = posting->waits ? POLLIN : POLLIN | POLLOUT};
            more = more || !posting->stuck;
        }
        if (status == TL_OK)
            status = near_half_await(upload->half, fds, upload->count, more, reterr);
    }
    return status;
}

/* --- One test --------------------------------------------------------------------------------- */

static enum tl_status write_head(struct upload *upload, struct tl_error *reterr)
{
    const struct http_server *server = upload->server;
    char host[HTTP_HOST_SIZE], place[HTTP_RESOURCE_SIZE];
    bool whole = http_to_proxy(server);
    http_upload_place(server->resource, place);
    http_host_header(server, host);
    int len = snprintf(upload->head, sizeof upload->head,
                       "POST %s%s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: tightlink\r\n"
                       "Content-Type: application/octet-stream\r\nContent-Encoding: identity\r\n"
                       "Content-Length: %d\r\n\r\n",
                       whole ? "http://" : "", whole ? host : "", place, host, HTTP_BODY_BYTES);
    if (len < 0 || (size_t)len >= sizeof upload->head)
        return tl_error_set(reterr, TL_USAGE, "that URL is too long");
    upload->head_len = (size_t)len;
    return TL_OK;
}

/* Whether it takes such bodies, before anything is measured (RFC 9110, 10.1.1). A server that does
 * not know the question waits for the body, which then comes. */
static enum tl_status ask_leave(struct upload *upload, struct posting *posting,
                                struct tl_error *reterr)
{
    static const char asks[] = "Expect: 100-continue\r\n\r\n";
    char text[HEAD_SIZE + sizeof asks];
    struct far_peer hasty = upload->peer;
    struct http_reply reply;
    memcpy(text, upload->head, upload->head_len - 2);
    memcpy(text + upload->head_len - 2, asks, sizeof asks - 1);
    hasty.timeout_ns = hasty.timeout_ns < LEAVE_NS ? hasty.timeout_ns : LEAVE_NS;
    posting->body_left = HTTP_BODY_BYTES;
    posting->posts = 1;
    enum tl_status status = http_exchange(&hasty, &posting->connection, text,
                                          upload->head_len - 2 + sizeof asks - 1, &reply, reterr);
    if (status == TL_TIMEOUT)
        return TL_OK;
    return status == TL_OK ? http_check_posted(upload->peer.host, &reply, reterr) : status;
}

uint8_t *http_noise(size_t bytes)
{
    struct tl_random rng;
    uint64_t seed;
    uint8_t *noise = malloc(bytes);
    if (!noise)
        return NULL;
    if (tl_random_secure(&seed, sizeof seed) != TL_OK)
        seed = (uint64_t)tl_now_ns();
    tl_random_seed(&rng, seed);
    tl_random_fill(&rng, noise, bytes);
    return noise;
}

static enum tl_status open_posting(struct upload *upload, unsigned index,
                                   struct tl_tcp_result *result, struct tl_error *reterr)
{
    struct posting *posting = &upload->postings[index];
    *posting = (struct posting){.index = index, .connection = {.fd = -1}};
    upload->count = index + 1;
    enum tl_status status = near_half_dial(&upload->peer, upload->peer.port, upload->spec, index,
                                           result, &posting->connection.fd, reterr);
    if (status == TL_OK)
        status = http_open(&upload->peer, upload->server, &posting->connection, reterr);
    if (status == TL_OK && index == 0)
        status = ask_leave(upload, posting, reterr);
    if (status != TL_OK)
        return status;
    if (posting->connection.ssl)
        SSL_set_mode(posting->connection.ssl,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    near_half_add_hand(upload->half, posting->connection.fd);
    return TL_OK;
}

static enum tl_status run(struct upload *upload, struct tl_tcp_result *result,
                          struct tl_error *reterr)
{
    enum tl_status status = write_head(upload, reterr);
    upload->noise = http_noise(NOISE_BYTES);
    if (status == TL_OK && !upload->noise)
        status = tl_error_set(reterr, TL_NOMEM, "no memory for an upload");
    for (unsigned i = 0; i < upload->spec->streams && status == TL_OK; i++)
        status = open_posting(upload, i, result, reterr);
    if (status == TL_OK)
        status = near_half_start(upload->half, reterr);
    if (status == TL_OK)
        status = move_payload(upload, reterr);
    if (status == TL_OK) {
        near_half_take_acknowledged(upload->half);
        result->end_signed = true; /* nobody ends it but we */
    }
    return status;
}

enum tl_status http_upload(const struct far_peer *peer, const struct http_server *server,
                           const struct tl_tcp_spec *spec, tl_tcp_live_fn *live, void *context,
                           struct tl_tcp_result *result, struct tl_error *reterr)
{
    int64_t asked_ns = tl_now_ns();
    struct upload *upload = calloc(1, sizeof *upload);
    if (!upload)
        return tl_error_set(reterr, TL_NOMEM, "no memory for an upload");
    *upload = (struct upload){.peer = *peer, .server = server, .spec = spec};
    enum tl_status status =
        near_half_begin_by_hand(peer, spec, result, live, context, &upload->half, reterr);
    if (status == TL_OK) {
        upload->peer.tick = near_half_tick;
        upload->peer.tick_context = upload->half;
        status = run(upload, result, reterr);
        status = near_half_finish(upload->half, asked_ns, status, reterr);
    }
    near_half_destroy(upload->half);
    for (unsigned i = 0; i < upload->count; i++)
        http_close(&upload->postings[i].connection);
    free(upload->noise);
    free(upload);
    return status;
}
