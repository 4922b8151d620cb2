/* What every test of the client does, whether TCP, UDP or between two responders: its turn in
 * the responder's queue, frames while it runs, the readings of both hosts, the live rate.
 * Private to the client. */
#ifndef TL_ENGINE_CLIENT_TEST_H
#define TL_ENGINE_CLIENT_TEST_H

#include "client_private.h"

/* What a test does with a frame; returns why the test cannot go on, or TL_OK. */
typedef enum tl_status client_take_fn(void *test, const struct tl_wire_frame *frame,
                                      struct tl_error *reterr);

/* A test that runs over a control connection. */
struct client_running {
    struct tl_client *client;
    client_take_fn *take;
    void *test;
    const bool *ended; /* take sets it: no frame is looked at behind the test's last one */
};

/* A request for a test that the responder may queue. */
struct client_request {
    int64_t asked_ns;
    int64_t patience_ns; /* for one's turn; 0 = TL_CLIENT_QUEUE_NS */
    int64_t prepare_ns;  /* that the far end may need before it grants, on top of either */
    void (*queued)(void *test, const struct tl_wire_busy *busy);
    void *test;
};

/* Waits for READY, through BUSY and its queue. *ret_queued_ns is 0 where there was none. */
enum tl_status client_await_ready(struct tl_client *client, const struct client_request *request,
                                  struct tl_wire_ready *ret_ready, int64_t *ret_queued_ns,
                                  struct tl_error *reterr) TL_WARN_UNUSED;
/* Waits for STARTED; other frames are taken, and one may end the test. */
enum tl_status client_await_started(const struct client_running *running,
                                    struct tl_error *reterr) TL_WARN_UNUSED;
/* Takes what has come, without waiting, some frames at most: what is left comes in the next call,
 * for which client_wait() does not wait. */
enum tl_status client_take_all(const struct client_running *running,
                               struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status client_send_stop(struct tl_client *client, uint32_t test_id,
                                struct tl_error *reterr) TL_WARN_UNUSED;
/* TL_TIMEOUT: nothing was heard for too long since start_ns. */
enum tl_status client_fell_silent(const struct tl_client *client, int64_t start_ns,
                                  struct tl_error *reterr) TL_WARN_UNUSED;
/* TEST_END, signed by the responder; *ret_ours false: of another test, ret_end untouched. */
enum tl_status client_decode_end(const struct tl_client *client, const struct tl_wire_frame *frame,
                                 uint32_t test_id, struct tl_wire_test_end *ret_end, bool *ret_ours,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* A grant binds both ends, and never replaces what this end set itself: the smaller of the two,
 * where 0 is no limit. */
uint64_t client_smaller(uint64_t own, uint64_t granted);
/* Whether an error says that the responder has granted nothing and waits for the next request. */
bool client_refused(enum tl_status status, const struct tl_wire_ready *ready);

/* --- Readings: processors and counters of a host during a test ------------------------------ */

struct client_readings {
    struct tl_cpu_reading cpu;
    struct tl_host_counters counters;
};

/* Where one end's readings go. */
struct client_readings_place {
    struct tl_cpu_usage *cpu;
    struct tl_host_counters_growth *counters;
};

/* This host, before the test. */
void client_readings_begin(struct tl_client *client, struct client_readings *ret_before);
/* And after it, into each place. Without memory all stays unknown. */
void client_readings_end(struct tl_client *client, const struct client_readings *before,
                         const struct client_readings_place *places, unsigned count);
/* The far host's, from READINGS into each place; of another test: nothing. */
enum tl_status client_take_readings(const struct tl_wire_frame *frame, uint32_t test_id,
                                    const struct client_readings_place *places, unsigned count,
                                    struct tl_error *reterr) TL_WARN_UNUSED;

#endif
