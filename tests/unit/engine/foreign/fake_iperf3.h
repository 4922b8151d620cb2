/* A strict iperf3 server for tests, one client at a time, on a thread: keeps to the protocol or
 * breaks it in one chosen way. */
#ifndef TL_TEST_FAKE_IPERF3_H
#define TL_TEST_FAKE_IPERF3_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FAKE_STREAMS_MAX 8

enum fake_mood {
    FAKE_PROPER,
    FAKE_BUSY_TWICE,         /* ACCESS_DENIED to the second and third connection, then proper */
    FAKE_BUSY,               /* ACCESS_DENIED to all but the first */
    FAKE_DENIES_USER,        /* SERVER_ERROR 142 for the parameters */
    FAKE_DENIES_BY_ANOTHERS, /* the same, 114, and ENOTCONN: what is left of the client before */
    FAKE_REFUSES_LENGTH,     /* the same, 37 */
    FAKE_HAS_NO_SOCKETS,     /* 204, and of its system EMFILE */
    FAKE_HAS_A_NEW_ERROR,    /* one that nobody knows, and an errno that is none */
    FAKE_SILENT,             /* takes the cookie of a test and says nothing */
    FAKE_FAVOURS,            /* sends on its first stream most, and ends where one is reset */
    FAKE_STOPS,              /* closes everything in the middle of the payload */
    FAKE_TERMINATES,         /* says SERVER_TERMINATE there */
    FAKE_ENDLESS_RESULTS,    /* announces 4 GB of results */
    FAKE_HTML_RESULTS,       /* results that are no JSON */
    FAKE_NEGATIVE_RESULTS,   /* bytes below zero */
    FAKE_READS_LATE,         /* a little of each stream, once the end is said */
    FAKE_INFLATED_RESULTS,   /* a thousand times what it received */
    FAKE_OTHER_PROGRAM,      /* greets as ssh does */
    FAKE_ONE_WAY,            /* knows no "bidirectional", as servers of before 3.7 */
    FAKE_UDP_DEAF,           /* a firewall takes the datagrams */
    FAKE_UDP_DEAF_ONCE,      /* the first hello is lost */
    FAKE_UDP_LOSES,          /* one datagram in ten is lost on the way */
    FAKE_UDP_SKIPS,          /* numbers one in ten that its own kernel then refuses */
    FAKE_UDP_INVENTS,        /* counts twice what was sent */
    FAKE_UDP_FLOODS,         /* sends as fast as it can */
    FAKE_UDP_COUNTS_NONE,    /* 0 packets of what it sent, as one of 3.1 */
    FAKE_UDP_NO_COUNT,       /* results without packets */
    FAKE_UDP_EVEN,           /* knows no bursts: each datagram when it is due */
};

struct fake_iperf3 {
    enum fake_mood mood;
    int listener, port;
    pthread_t thread;
    atomic_int connections; /* that it took */
    atomic_bool parameters_fine, results_fine, done_said;
    atomic_uint_least64_t received_bytes; /* or sent */
    atomic_uint_least64_t sent_bytes;     /* beside that, of a test of both directions */
    /* What its results said of each connection: those that it read come first. */
    uint64_t told_bytes[FAKE_STREAMS_MAX];
    atomic_int hellos;
    atomic_int odd_datagrams; /* of another length, or out of their order */
};

/* fake_iperf3_udp.c: one UDP test. */
struct fake_udp {
    struct fake_iperf3 *fake;
    int control, fd;
    bool reverse;
    int len, rate_bps, burst;
    int64_t begun_ns;                  /* of datagrams, its own clock */
    uint64_t numbered, bytes, highest; /* sent, or received */
};

/* What a real one reads of the parameters; a key that it does not know is a mistake of ours. */
bool fake_udp_check(const char *json);
/* A socket on the server's port, before the client is told to come. */
bool fake_udp_listen(struct fake_udp *udp);
/* The hello and the reply to it. */
bool fake_udp_accept(struct fake_udp *udp);
/* Moves datagrams until the client says something: whether that was TEST_END. */
bool fake_udp_move(struct fake_udp *udp);
/* What the client says to have sent and is not read yet: its words by TCP may overtake it. */
void fake_udp_drain(struct fake_udp *udp, uint64_t sent);
/* One stream of the results. */
void fake_udp_result(const struct fake_udp *udp, char *ret_text, size_t size);
int fake_number_of(const char *json, const char *key);

void fake_iperf3_start(struct fake_iperf3 *fake, enum fake_mood mood);
/* Ends it and joins its thread. */
void fake_iperf3_stop(struct fake_iperf3 *fake);

#endif
