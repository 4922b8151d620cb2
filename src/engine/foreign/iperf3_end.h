/* An iperf3 server as a far end: what its tests share. Private to this room.
 *
 *   iperf3.c            reaching it, TCP tests
 *   iperf3_ask.c        from a connection to an agreement about one test, also where it is busy
 *   iperf3_udp.c        UDP tests
 *   iperf3_udp_account.c  what the server tells of one
 *   iperf3_udp_spec.c   what a UDP test may be */
#ifndef TL_ENGINE_IPERF3_END_H
#define TL_ENGINE_IPERF3_END_H

#include "far_socket.h"
#include "iperf3_control.h"

struct udp_flow;

struct iperf3_end {
    struct far_peer peer; /* first: stranger.h */
    const struct tl_far_login *login;
    bool pkcs1; /* the server is older than 3.17: seen by its refusal */
};

/* Whether to try once more, after a moment: a server closes its listener after each client, also
 * after one that only greeted, and opens it anew. */
bool iperf3_may_reopen(enum tl_status status, int tries, int cancel_fd);

/* One test that is asked for. */
struct iperf3_ask {
    struct iperf3_end *end;
    struct iperf3_control *control; /* closed; its peer is the test's */
    int64_t queue_wait_ns;          /* where the server is busy; 0: TL_CLIENT_QUEUE_NS */
    /* The parameters as JSON; token "": no login. */
    void (*write)(const void *spec, const char *token, struct tl_buf *ret_text);
    const void *spec;
    /* Says that a busy server is asked again, and waits so long: TL_OK, TL_CANCELLED. */
    enum tl_status (*wait_turn)(void *context, int64_t wait_ns, struct tl_error *reterr);
    void *wait_context;
    int64_t queued_ns; /* out */
};

/* Connects, waits for our turn, sends the parameters: TL_OK when the server awaits the streams.
 * TL_BUSY, TL_AUTH, TL_DENIED …, with a sentence; the caller hangs up in every case. */
enum tl_status iperf3_ask(struct iperf3_ask *ask, struct tl_error *reterr) TL_WARN_UNUSED;

/* Fills in what was left open, and makes of trains the bursts that a server knows: burst_count and
 * rate_bps. TL_UNSUPPORTED: what no such server can; TL_RANGE. Pure. */
enum tl_status iperf3_udp_check(struct tl_udp_spec *spec, struct tl_error *reterr) TL_WARN_UNUSED;

/* The server's own account of a UDP test becomes the far end's part of the result. TL_PROTOCOL: it
 * counts what cannot be. */
enum tl_status iperf3_udp_take_total(struct tl_udp_result *result, struct udp_flow *flow,
                                     const struct iperf3_total *total, const char *host,
                                     struct tl_error *reterr) TL_WARN_UNUSED;
/* How long the server sent, by the times that its datagrams bear: behind the flow's end, as its
 * words by TCP may overtake datagrams that wait to be read. */
void iperf3_udp_take_stamps(struct tl_udp_result *result, const struct udp_flow *flow);

/* far_ops.udp_test */
enum tl_status iperf3_udp_test(void *context, const struct tl_udp_spec *spec, tl_udp_live_fn *live,
                               void *live_context, struct tl_udp_result *ret_result,
                               struct tl_error *reterr) TL_WARN_UNUSED;

#endif
