/* A UDP test of the client while it runs: what its files share.
 *
 *   udp_client.c         from START to END, seen from the near end
 *   udp_client_ask.c     the tuple and its proof, asking, what is granted
 *   udp_client_result.c  what becomes of both ends' accounts */
#ifndef TL_ENGINE_UDP_CLIENT_H
#define TL_ENGINE_UDP_CLIENT_H

#include "client_test.h"
#include "tightlink/engine/client_udp.h"
#include "udp_flow.h"
#include "udp_result.h"

#define UDP_CLIENT_PING_NS (100 * INT64_C(1000000)) /* feedback over TCP, beside that over UDP */
#define UDP_CLIENT_END_NS                                                                          \
    (9 * INT64_C(1000000000))                    /* for all that comes after the granted time      \
                                                  */
#define UDP_TRAIN_GAP_NS (10 * INT64_C(1000000)) /* between trains, where none is asked for */

struct udp_run {
    struct tl_client *client;
    const struct tl_udp_spec *spec;
    struct tl_udp_result *result;
    tl_udp_live_fn *live;
    void *context;
    struct tl_wire_ready ready;
    bool head_crc;
    unsigned datagram_bytes;
    struct udp_flow *flow;
    struct client_readings before;
    int64_t asked_ns, start_ns, ping_ns, live_ns;
    bool told_end;   /* our account as a sender is sent */
    bool far_told;   /* the far end's final account came */
    bool ended;      /* TEST_END came */
    unsigned reason; /* of TEST_END */
    unsigned far_end;
    int far_errnum;
    uint64_t far_count, far_bytes; /* far receiver so far */
    int64_t far_ns;
    struct live_rate rate;
};

/* udp_client_ask.c: the socket, kept from test to test. */
enum tl_status udp_client_open_tuple(struct tl_client *client,
                                     struct tl_error *reterr) TL_WARN_UNUSED;
void udp_client_forget_tuple(struct tl_client *client);
bool udp_client_is_proved(const struct tl_client *client);
/* The next tests over this tuple need no proof for a while. */
enum tl_status udp_client_prove(struct tl_client *client, bool alone,
                                struct tl_error *reterr) TL_WARN_UNUSED;
/* How long a receiver waits for stragglers. */
int64_t udp_client_grace_ns(const struct udp_run *run);
enum tl_status udp_client_ask(struct udp_run *run, struct tl_error *reterr) TL_WARN_UNUSED;
/* READY, through the queue. */
enum tl_status udp_client_await_ready(struct udp_run *run, struct tl_error *reterr) TL_WARN_UNUSED;

/* udp_client_result.c: a frame of a running test; a client_take_fn. */
enum tl_status udp_client_take(void *test, const struct tl_wire_frame *frame,
                               struct tl_error *reterr) TL_WARN_UNUSED;
/* The near end's account, after its thread has ended. */
void udp_client_take_near(struct udp_run *run);
/* How the test ended; may turn a signed but failed end into an error. */
enum tl_status udp_client_judge(struct udp_run *run, enum tl_status status,
                                struct tl_error *reterr) TL_WARN_UNUSED;

#endif
