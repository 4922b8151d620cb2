/* The control connection of one iperf3 test. Private; one thread at a time.
 *
 * A state is one signed byte; JSON is a length (32 bits, big-endian) and text. The client begins
 * with a cookie. A server that is busy answers with ACCESS_DENIED before it has read one, and an
 * idle connection wedges one of 3.12 for a minute: so whatever is opened here is used at once or
 * closed. */
#ifndef TL_ENGINE_IPERF3_CONTROL_H
#define TL_ENGINE_IPERF3_CONTROL_H

#include "far_socket.h"
#include "iperf3_json.h"

enum iperf3_state {
    IPERF3_TEST_START = 1,
    IPERF3_TEST_RUNNING = 2,
    IPERF3_TEST_END = 4,
    IPERF3_PARAM_EXCHANGE = 9,
    IPERF3_CREATE_STREAMS = 10,
    IPERF3_SERVER_TERMINATE = 11,
    IPERF3_CLIENT_TERMINATE = 12,
    IPERF3_EXCHANGE_RESULTS = 13,
    IPERF3_DISPLAY_RESULTS = 14,
    IPERF3_DONE = 16,
    IPERF3_ACCESS_DENIED = -1,
    IPERF3_SERVER_ERROR = -2,
};

#define IPERF3_COOKIE_SIZE 37 /* 36 characters and NUL */

/* A wedged server answers nobody for ten seconds (3.21), an older one for a minute: longer than
 * this nobody waits for an answer. */
#define IPERF3_ANSWER_NS INT64_C(12000000000)

struct iperf3_control {
    const struct far_peer *peer;
    int fd; /* -1: closed */
    char cookie[IPERF3_COOKIE_SIZE];
};

/* Over a connection that is open, which becomes the control's, also on failure: sends a cookie,
 * awaits the word for the parameters. TL_BUSY; TL_PROTOCOL: no iperf3; TL_TIMEOUT. */
enum tl_status iperf3_greet(struct iperf3_control *control, int64_t patience_ns,
                            struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status iperf3_say(struct iperf3_control *control, enum iperf3_state state,
                          struct tl_error *reterr) TL_WARN_UNUSED;
/* The next state, which must be `wanted`; a server's own errors become sentences. */
enum tl_status iperf3_expect(struct iperf3_control *control, enum iperf3_state wanted,
                             int64_t until_ns, struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status iperf3_send_json(struct iperf3_control *control, const struct tl_buf *text,
                                struct tl_error *reterr) TL_WARN_UNUSED;
/* *ret_text is the caller's (free()). TL_PROTOCOL: longer than IPERF3_RESULTS_MAX. */
enum tl_status iperf3_receive_json(struct iperf3_control *control, int64_t until_ns,
                                   char **ret_text, size_t *ret_len,
                                   struct tl_error *reterr) TL_WARN_UNUSED;
/* Tells what this end counted, takes what the server tells of so many streams: it wants ours before
 * it gives its own. TL_PROTOCOL also where iperf3_read_results() finds fault with it. */
enum tl_status iperf3_exchange(struct iperf3_control *control, const struct tl_buf *ours,
                               unsigned streams, struct iperf3_results *ret_theirs,
                               struct tl_error *reterr) TL_WARN_UNUSED;
/* Behind the results: awaits the server's last word, says ours and waits until it has closed, for
 * a short while: who comes again while it cleans up is told that it is busy. */
void iperf3_part(struct iperf3_control *control);
/* Says that we leave, where a test may still run, and closes. */
void iperf3_hang_up(struct iperf3_control *control, bool test_open);

#endif
