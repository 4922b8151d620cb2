/* A responder on loopback in a thread of the test, with or without keys, and a client of it. */
#ifndef TL_TEST_KEYED_FAR_END_H
#define TL_TEST_KEYED_FAR_END_H

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/base/key.h"
#include "tightlink/engine/client.h"
#include "tightlink/engine/responder.h"

static inline struct tl_keys *keys_of(const char *text)
{
    char path[] = "/tmp/tl-secure-XXXXXX";
    struct tl_keys *keys = NULL;
    struct tl_error error = {0};
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    cr_assert_eq(tl_keys_load(path, &keys, &error), TL_OK, "%s", error.text);
    unlink(path);
    return keys;
}

/* A responder on loopback in a thread. */
struct far_end {
    struct tl_responder *responder;
    struct tl_keys *keys;
    const char *later; /* keys after a reload; NULL: they cannot be read */
    pthread_t thread;
    char log[4096];
};

static inline void far_end_log(void *context, const char *line)
{
    struct far_end *far = context;
    strncat(far->log, line, sizeof far->log - strlen(far->log) - 1);
}

static inline enum tl_status far_end_load_keys(void *context, struct tl_keys **ret_keys,
                                               struct tl_error *reterr)
{
    const struct far_end *far = context;
    if (!far->later)
        return tl_error_set(reterr, TL_DENIED, "no keys today");
    *ret_keys = keys_of(far->later);
    return TL_OK;
}

static inline void *far_end_serve(void *arg)
{
    struct far_end *far = arg;
    struct tl_error error;
    cr_assert_eq(tl_responder_run(far->responder, &error), TL_OK);
    return NULL;
}

/* with_peers: tests with responders on loopback are permitted. */
static inline void far_end_start(struct far_end *far, const char *keys, bool open, bool with_peers)
{
    static const struct in6_addr loopback = {
        {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}}};
    struct tl_error error = {0};
    *far = (struct far_end){.keys = keys ? keys_of(keys) : NULL};
    struct tl_responder_options options = {.bind_address = "127.0.0.1",
                                           .keys = far->keys,
                                           .load_keys = far_end_load_keys,
                                           .load_context = far,
                                           .open = open,
                                           .peers = with_peers ? &loopback : NULL,
                                           .peer_count = with_peers ? 1 : 0,
                                           .log = far_end_log,
                                           .log_context = far};
    cr_assert_eq(tl_responder_create(&options, &far->responder, &error), TL_OK, "%s", error.text);
    cr_assert_eq(pthread_create(&far->thread, NULL, far_end_serve, far), 0);
}

static inline void far_end_stop(struct far_end *far)
{
    tl_responder_stop(far->responder);
    pthread_join(far->thread, NULL);
    tl_responder_destroy(far->responder);
    tl_keys_destroy(far->keys);
}

static inline enum tl_status far_end_dial(struct far_end *far, const struct tl_keys *keys,
                                          struct tl_client **ret_client, struct tl_error *error)
{
    struct tl_client_options options = {.host = "127.0.0.1",
                                        .port = tl_responder_port(far->responder),
                                        .timeout_ns = INT64_C(1500000000),
                                        .cancel_fd = -1,
                                        .key = keys ? tl_keys_at(keys, 0) : NULL};
    return tl_client_connect(&options, ret_client, error);
}

#endif
