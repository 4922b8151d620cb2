/* A strict iperf3 server for tests, one client at a time, on a thread: keeps to the protocol or
 * breaks it in one chosen way. */
#ifndef TL_TEST_FAKE_IPERF3_H
#define TL_TEST_FAKE_IPERF3_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum fake_mood {
    FAKE_PROPER,
    FAKE_BUSY_TWICE,       /* ACCESS_DENIED to the second and third connection, then proper */
    FAKE_BUSY,             /* ACCESS_DENIED to all but the first */
    FAKE_DENIES_USER,      /* SERVER_ERROR 142 for the parameters */
    FAKE_SILENT,           /* takes the cookie of a test and says nothing */
    FAKE_STOPS,            /* closes everything in the middle of the payload */
    FAKE_TERMINATES,       /* says SERVER_TERMINATE there */
    FAKE_ENDLESS_RESULTS,  /* announces 4 GB of results */
    FAKE_HTML_RESULTS,     /* results that are no JSON */
    FAKE_NEGATIVE_RESULTS, /* bytes below zero */
    FAKE_INFLATED_RESULTS, /* ten times what it received */
    FAKE_OTHER_PROGRAM,    /* greets as ssh does */
};

struct fake_iperf3 {
    enum fake_mood mood;
    int listener, port;
    pthread_t thread;
    atomic_int connections; /* that it took */
    atomic_bool parameters_fine, results_fine, done_said;
    atomic_uint_least64_t received_bytes;
};

void fake_iperf3_start(struct fake_iperf3 *fake, enum fake_mood mood);
/* Ends it and joins its thread. */
void fake_iperf3_stop(struct fake_iperf3 *fake);

#endif
