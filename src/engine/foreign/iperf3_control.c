/* The control connection of one iperf3 test: iperf3_control.h. */
#include "iperf3_control.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

#define ERRNO_MAX 133 /* the last that Linux has (errno.h) */

/* Of i_errno (iperf_api.h), those that a user or the server's administrator can do something about.
 * Versions only add to them. */
static const struct {
    uint32_t first, last;
    enum tl_status status;
    const char *says;
} refusals[] = {
    {27, 27, TL_DENIED, "ended the test: more than its administrator lets through"},
    {37, 37, TL_DENIED,
     "takes no test of this length: its administrator set a longest one (--server-max-duration)"},
    /* One from 3.20 on tells a refused login by what the client before did wrong, which may have
     * been a greeting of ours. */
    {114, 114, TL_AUTH,
     "does not take the test: newer ones say so that want a user, or do not know this one: give "
     "--user, --password-file and --public-key"},
    {123, 123, TL_UNSUPPORTED, "cannot set segments of that size"},
    {124, 124, TL_UNSUPPORTED, "cannot set a socket buffer of that size"},
    {130, 130, TL_UNSUPPORTED, "cannot set a socket buffer of that size"},
    {134, 134, TL_UNSUPPORTED, "has no such congestion control"},
    {141, 141, TL_UNSUPPORTED, "cannot set a socket buffer of that size"},
    {142, 142, TL_AUTH,
     "wants a user, or does not know this one: give --user, --password-file and --public-key"},
    {200, 204, TL_DENIED, "cannot make the data connections of the test"},
    {205, 207, TL_CLOSED, "lost a data connection of the test"},
};

#define PART_NS TL_NS_PER_S

static enum tl_status make_cookie(char ret_cookie[IPERF3_COOKIE_SIZE], struct tl_error *reterr)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    uint8_t bytes[IPERF3_COOKIE_SIZE - 1];
    if (tl_random_secure(bytes, sizeof bytes) != TL_OK)
        return tl_error_set(reterr, TL_IO, "no random numbers for a cookie");
    for (size_t i = 0; i < sizeof bytes; i++)
        ret_cookie[i] = letters[bytes[i] % 32];
    ret_cookie[sizeof bytes] = '\0';
    return TL_OK;
}

enum tl_status iperf3_greet(struct iperf3_control *control, int64_t patience_ns,
                            struct tl_error *reterr)
{
    int on = 1;
    int64_t until_ns = tl_now_ns() + patience_ns;
    (void)setsockopt(control->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    enum tl_status status = make_cookie(control->cookie, reterr);
    if (status == TL_OK)
        status = far_send_all(control->peer, control->fd, control->cookie, IPERF3_COOKIE_SIZE,
                              until_ns, reterr);
    return status == TL_OK ? iperf3_expect(control, IPERF3_PARAM_EXCHANGE, until_ns, reterr)
                           : status;
}

enum tl_status iperf3_say(struct iperf3_control *control, enum iperf3_state state,
                          struct tl_error *reterr)
{
    int8_t byte = (int8_t)state;
    return far_send_all(control->peer, control->fd, &byte, 1, tl_now_ns() + IPERF3_ANSWER_NS,
                        reterr);
}

/* What its system said, as most servers tell behind their own number: "" where nothing. */
static void hear_errno(struct iperf3_control *control, char *ret_text, size_t size)
{
    uint32_t number;
    int64_t until_ns = tl_now_ns() + PART_NS;
    ret_text[0] = '\0';
    if (far_receive_all(control->peer, control->fd, &number, sizeof number, until_ns, NULL) !=
        TL_OK)
        return;
    number = ntohl(number);
    if (number > 0 && number <= ERRNO_MAX)
        snprintf(ret_text, size, "; its system says: %s", strerror((int)number));
}

/* What follows SERVER_ERROR: the program's own number. */
static enum tl_status explain_error(struct iperf3_control *control, int64_t until_ns,
                                    struct tl_error *reterr)
{
    uint32_t number;
    char system[100];
    const char *host = control->peer->host;
    enum tl_status status =
        far_receive_all(control->peer, control->fd, &number, sizeof number, until_ns, NULL);
    if (status == TL_CANCELLED)
        return tl_error_set(reterr, TL_CANCELLED, "cancelled");
    number = status == TL_OK ? ntohl(number) : 0;
    if (status == TL_OK)
        hear_errno(control, system, sizeof system);
    else
        system[0] = '\0';
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (number >= refusals[i].first && number <= refusals[i].last)
            return tl_error_set(reterr, refusals[i].status, "the iperf3 server at %s %s%s", host,
                                refusals[i].says, system);
    return tl_error_set(reterr, TL_DENIED,
                        "the iperf3 server at %s refuses the test (its error %u%s)", host, number,
                        system);
}

enum tl_status iperf3_expect(struct iperf3_control *control, enum iperf3_state wanted,
                             int64_t until_ns, struct tl_error *reterr)
{
    int8_t state;
    const char *host = control->peer->host;
    unsigned port = control->peer->port;
    enum tl_status status =
        far_receive_all(control->peer, control->fd, &state, 1, until_ns, reterr);
    if (status == TL_TIMEOUT)
        return tl_error_set(reterr, TL_TIMEOUT,
                            "%s port %u takes connections and does not answer: an iperf3 server "
                            "whose client went away is deaf for up to a minute",
                            host, port);
    if (status != TL_OK || state == wanted)
        return status;
    if (state == IPERF3_ACCESS_DENIED)
        return tl_error_set(reterr, TL_BUSY, "the iperf3 server at %s is busy with another client",
                            host);
    if (state == IPERF3_SERVER_ERROR)
        return explain_error(control, until_ns, reterr);
    if (state == IPERF3_SERVER_TERMINATE)
        return tl_error_set(reterr, TL_CLOSED, "the iperf3 server at %s was ended", host);
    return tl_error_set(reterr, TL_PROTOCOL,
                        "%s port %u does not speak iperf3 (it said %d where %d was due)", host,
                        port, state, (int)wanted);
}

enum tl_status iperf3_send_json(struct iperf3_control *control, const struct tl_buf *text,
                                struct tl_error *reterr)
{
    int64_t until_ns = tl_now_ns() + IPERF3_ANSWER_NS;
    uint32_t len = htonl((uint32_t)text->len);
    if (text->status != TL_OK)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a message");
    enum tl_status status =
        far_send_all(control->peer, control->fd, &len, sizeof len, until_ns, reterr);
    return status == TL_OK
               ? far_send_all(control->peer, control->fd, text->data, text->len, until_ns, reterr)
               : status;
}

enum tl_status iperf3_receive_json(struct iperf3_control *control, int64_t until_ns,
                                   char **ret_text, size_t *ret_len, struct tl_error *reterr)
{
    uint32_t len;
    enum tl_status status =
        far_receive_all(control->peer, control->fd, &len, sizeof len, until_ns, reterr);
    if (status != TL_OK)
        return status;
    len = ntohl(len);
    if (len > IPERF3_RESULTS_MAX)
        return tl_error_set(reterr, TL_PROTOCOL,
                            "the iperf3 server at %s announces %u bytes of results, where %d are "
                            "plenty",
                            control->peer->host, len, IPERF3_RESULTS_MAX);
    char *text = malloc((size_t)len + 1);
    if (!text)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a message");
    status = far_receive_all(control->peer, control->fd, text, len, until_ns, reterr);
    if (status != TL_OK) {
        free(text);
        return status;
    }
    text[len] = '\0';
    *ret_text = text;
    *ret_len = len;
    return TL_OK;
}

enum tl_status iperf3_exchange(struct iperf3_control *control, const struct tl_buf *ours,
                               unsigned streams, struct iperf3_results *ret_theirs,
                               struct tl_error *reterr)
{
    char *text = NULL;
    size_t len;
    enum tl_status status = iperf3_send_json(control, ours, reterr);
    if (status == TL_OK)
        status = iperf3_receive_json(control, tl_now_ns() + IPERF3_ANSWER_NS, &text, &len, reterr);
    if (status == TL_OK)
        status = iperf3_read_results(text, len, streams, ret_theirs, reterr);
    free(text);
    return status;
}

void iperf3_part(struct iperf3_control *control)
{
    int8_t byte;
    int64_t until_ns = tl_now_ns() + PART_NS + 2 * control->peer->info.connect_rtt_ns;
    if (iperf3_expect(control, IPERF3_DISPLAY_RESULTS, until_ns, NULL) == TL_OK &&
        iperf3_say(control, IPERF3_DONE, NULL) == TL_OK)
        (void)!far_receive_all(control->peer, control->fd, &byte, 1, until_ns, NULL);
}

void iperf3_hang_up(struct iperf3_control *control, bool test_open)
{
    int8_t leave = IPERF3_CLIENT_TERMINATE;
    if (control->fd < 0)
        return;
    if (test_open)
        (void)!send(control->fd, &leave, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    close(control->fd);
    control->fd = -1;
}
