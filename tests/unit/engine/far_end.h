/* A responder in process, on loopback, and a client of it: for tests of this layer. */
#ifndef TL_TEST_FAR_END_H
#define TL_TEST_FAR_END_H

#include <criterion/criterion.h>
#include <pthread.h>

#include "tightlink/engine/client.h"
#include "tightlink/engine/responder.h"

#define MS INT64_C(1000000)

struct far_end {
    struct tl_responder *responder;
    pthread_t thread;
    int port;
};

static inline void *serve(void *arg)
{
    struct far_end *far = arg;
    struct tl_error error;
    cr_assert_eq(tl_responder_run(far->responder, &error), TL_OK);
    return NULL;
}

static inline void start_far(struct far_end *far, const struct tl_responder_options *wanted)
{
    struct tl_responder_options options = wanted ? *wanted : (struct tl_responder_options){0};
    struct tl_error error;
    options.bind_address = "127.0.0.1";
    cr_assert_eq(tl_responder_create(&options, &far->responder, &error), TL_OK, "%s", error.text);
    far->port = tl_responder_port(far->responder);
    cr_assert_eq(pthread_create(&far->thread, NULL, serve, far), 0);
}

static inline void stop_far(struct far_end *far)
{
    tl_responder_stop(far->responder);
    pthread_join(far->thread, NULL);
    tl_responder_destroy(far->responder);
}

static inline struct tl_client *dial_within(int port, int cancel_fd, int64_t timeout_ns)
{
    struct tl_client *client = NULL;
    struct tl_error error;
    struct tl_client_options options = {.host = "127.0.0.1",
                                        .port = port,
                                        .timeout_ns = timeout_ns,
                                        .cancel_fd = cancel_fd,
                                        .program = "test 1"};
    cr_assert_eq(tl_client_connect(&options, &client, &error), TL_OK, "%s", error.text);
    return client;
}

static inline struct tl_client *dial(int port, int cancel_fd)
{
    return dial_within(port, cancel_fd, 60 * 1000 * MS); /* on a busy machine */
}

/* Of a stream's time, spent waiting for a core: from there on a run counts as degraded. */
#define STARVED_RATIO 0.1

static inline bool waited_for_a_core(const struct tl_tcp_side *side, unsigned streams)
{
    bool waited = false;
    for (unsigned i = 0; i < streams; i++)
        waited = waited || (double)side->streams[i].run_delay_ns >
                               STARVED_RATIO * (double)side->streams[i].end_ns;
    return waited;
}

/* Whether a stream of either end got too little processor for what the clock says of it. */
static inline bool is_starved(const struct tl_tcp_result *one)
{
    return waited_for_a_core(&one->sender, one->streams) ||
           waited_for_a_core(&one->receiver, one->streams) ||
           (one->upload && is_starved(one->upload));
}

#endif
