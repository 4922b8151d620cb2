/* Agreeing on a test with an iperf3 server: iperf3_end.h. */
#include <poll.h>

#include "iperf3_auth.h"
#include "iperf3_end.h"
#include "tightlink/base/time.h"

#define FIRST_WAIT_NS (2 * TL_NS_PER_S) /* for a busy server; doubled each time */
#define TRIES_MAX     5                 /* nine in a row wedge a server of 3.12 */
#define REOPEN_TRIES  5
#define REOPEN_MS     200

bool iperf3_may_reopen(enum tl_status status, int tries, int cancel_fd)
{
    struct pollfd cancel = {.fd = cancel_fd, .events = POLLIN};
    return (status == TL_REFUSED || status == TL_CLOSED) && tries < REOPEN_TRIES &&
           poll(&cancel, 1, REOPEN_MS) == 0;
}

static enum tl_status dial_once(struct iperf3_ask *ask, struct tl_error *reterr)
{
    struct iperf3_control *control = ask->control;
    const struct far_peer *peer = control->peer;
    enum tl_status status = far_peer_dial(peer, peer->port, NULL, &control->fd, NULL, reterr);
    if (status == TL_OK)
        status = iperf3_greet(control, IPERF3_ANSWER_NS, reterr);
    if (status != TL_OK)
        iperf3_hang_up(control, false);
    return status;
}

static enum tl_status dial_control(struct iperf3_ask *ask, struct tl_error *reterr)
{
    enum tl_status status = dial_once(ask, reterr);
    for (int i = 1; iperf3_may_reopen(status, i, ask->control->peer->cancel_fd); i++)
        status = dial_once(ask, reterr);
    return status;
}

/* A server serves one client: some tries with growing pauses, then it is left alone. */
static enum tl_status await_turn(struct iperf3_ask *ask, struct tl_error *reterr)
{
    int64_t patience_ns = ask->queue_wait_ns > 0 ? ask->queue_wait_ns : TL_CLIENT_QUEUE_NS;
    int64_t begun_ns = tl_now_ns(), wait_ns = FIRST_WAIT_NS;
    enum tl_status status = dial_control(ask, reterr);
    for (int i = 1; status == TL_BUSY && i < TRIES_MAX; i++) {
        if (tl_now_ns() + wait_ns - begun_ns > patience_ns)
            break;
        status = ask->wait_turn(ask->wait_context, wait_ns, reterr);
        if (status == TL_OK)
            status = dial_control(ask, reterr);
        wait_ns *= 2;
        ask->queued_ns = tl_now_ns() - begun_ns;
    }
    return status;
}

static enum tl_status agree(struct iperf3_ask *ask, struct tl_error *reterr)
{
    struct tl_buf text = TL_BUF_INIT;
    char token[IPERF3_TOKEN_SIZE] = "";
    enum tl_status status = TL_OK;
    if (ask->end->login)
        status = iperf3_auth_token(ask->end->login, !ask->end->pkcs1,
                                   tl_realtime_ns() / TL_NS_PER_S, token, reterr);
    if (status != TL_OK)
        return status;
    ask->write(ask->spec, token, &text);
    status = iperf3_send_json(ask->control, &text, reterr);
    tl_buf_finish(&text);
    if (status == TL_OK)
        status = iperf3_expect(ask->control, IPERF3_CREATE_STREAMS, tl_now_ns() + IPERF3_ANSWER_NS,
                               reterr);
    return status;
}

/* A server tells nobody its age: who refuses a login in the newer padding is asked in the older. */
enum tl_status iperf3_ask(struct iperf3_ask *ask, struct tl_error *reterr)
{
    enum tl_status status = await_turn(ask, reterr);
    if (status == TL_OK)
        status = agree(ask, reterr);
    if (status != TL_AUTH || !ask->end->login || ask->end->pkcs1)
        return status;
    iperf3_hang_up(ask->control, false);
    ask->end->pkcs1 = true;
    status = await_turn(ask, reterr);
    return status == TL_OK ? agree(ask, reterr) : status;
}
