/* One question by HTTP/2, and its answer's headers: http2.h. */
#include "http2.h"

struct question {
    struct http_reply *reply;
    bool answered;
};

static void drop_payload(void *context, size_t bytes)
{
    (void)context, (void)bytes;
}

static void keep_answer(void *context, const struct http_reply *reply)
{
    struct question *question = context;
    *question->reply = *reply;
    question->answered = true;
}

static void see_end(void *context, uint64_t bytes)
{
    (void)context, (void)bytes;
}

static enum tl_status await_answer(const struct far_peer *peer, struct http2 *http2, int fd,
                                   const struct question *question, struct tl_error *reterr)
{
    int64_t until_ns = http_answer_due_ns(peer);
    enum tl_status status = TL_OK;
    while (status == TL_OK && !question->answered) {
        enum http2_turn turn = http2_step(http2);
        if (question->answered)
            break;
        if (turn == HTTP2_BAD || turn == HTTP2_OVER)
            return http2_why(http2, reterr);
        if (turn == HTTP2_WAIT)
            status = far_await(peer, fd, http2_events(http2), until_ns, reterr);
    }
    return status;
}

enum tl_status http2_ask(const struct far_peer *peer, const struct http_server *server,
                         struct http_connection *connection, const char *range,
                         struct http_reply *ret_reply, struct tl_error *reterr)
{
    struct question question = {.reply = ret_reply};
    const struct http2_listener listener = {drop_payload, keep_answer, see_end, &question};
    struct http2 *http2 = NULL;
    enum tl_status status = http2_create(peer, server, connection, NULL, &listener, &http2, reterr);
    if (status == TL_OK)
        status = http2_get(http2, range, reterr);
    if (status == TL_OK)
        status = await_answer(peer, http2, connection->fd, &question, reterr);
    http2_destroy(http2);
    return status;
}
