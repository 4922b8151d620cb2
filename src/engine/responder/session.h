/* A session: a client's control connection, its state, and the test that it may run. What a test
 * does is in its own file (tcp_test.c, disk_test.c, udp_test.c), which the session knows by its
 * test_ops alone; what its frames mean is in frames.c. */
#ifndef TL_ENGINE_SESSION_H
#define TL_ENGINE_SESSION_H

#include <netinet/in.h>

#include "disk_errand.h"
#include "loop.h"
#include "secure.h"
#include "tightlink/engine/limits.h"
#include "tightlink/engine/stream.h"
#include "tightlink/engine/wire.h"
#include "tightlink/host/counters.h"
#include "tightlink/host/cpu.h"

struct session;
struct tl_responder;

/* The state of a session. Frames that a state does not expect end the session.
 *
 *          HELLO                 TEST_TCP              its turn
 *   (half) -----> IDLE ---------------------> QUEUED ----------> READY
 *                 ^ ^       turn_ask                 turn_ready    |  data connections
 *                 | |                                              |  tcp_run_join
 *                 | +-- 5 s without START: session ends            | START
 *                 |                                                v
 *                 +------------ ENDING <--------------------- RUNNING
 *           TEST_END            streams    time, bytes, STOP, client gone
 *
 * PREPARING, between QUEUED and READY where the disk has a part in the test (disk_test.c), or
 * between QUEUED and IDLE where it is the test.
 *
 * CLOSING: a final ERROR is on its way out; nothing is read any more. GONE: the
 * connection is closed, streams are still being joined. */
enum session_state {
    SESSION_IDLE,
    SESSION_QUEUED,
    SESSION_PREPARING,
    SESSION_READY,
    SESSION_RUNNING,
    SESSION_ENDING,
    SESSION_CLOSING,
    SESSION_GONE
};

/* What a kind of test does. Each is called for the session's test of that kind. */
struct test_ops {
    /* Its turn has come: turn_ready(), at once or once all is prepared. */
    void (*begin)(struct session *session);
    /* READY or RUNNING: ends it, and the client is told. */
    void (*stop)(struct session *session, enum tl_wire_end_reason reason);
    /* RUNNING or ENDING. */
    void (*tick)(struct session *session, int64_t now_ns);
    /* The session's end, in whatever state: stops what runs, waits for nothing. True when nothing
     * is left to be joined. */
    bool (*abandon)(struct session *session);
    /* Joins and frees what is left: at once when it is done, in <= 250 ms when stopped. */
    void (*forget)(struct session *session);
};

/* The streams of one direction of a test: most tests have one lane, those both ways two. */
struct test_lane {
    struct watch done; /* watches the event descriptor of streams, which owns it */
    struct session *session;
    struct tl_streams *streams;
    unsigned first; /* of the test's connections */
    bool sends;
    bool ended; /* all of its streams have */
};

#define TEST_LANES 2

/* A test from the frame that asks for it to TEST_END. */
struct session_test {
    const struct test_ops *ops; /* NULL: none was asked for yet */
    bool running;               /* threads of it run, or wait to be joined */
    bool with_disk;             /* takes turns for the one disk as well */
    struct tl_wire_ready granted;
    unsigned interface;    /* index; tests over the same one take turns */
    uint64_t queue_ticket; /* smaller = earlier */
    uint16_t told_place;   /* in the last BUSY */
    int64_t start_ns;
    int64_t hard_end_ns;
    uint64_t reserved_bytes; /* of the quota */
    int64_t burst_ns;        /* what it sends at once takes so long at the rate cap; 0: nothing */
    bool held_back;          /* QUEUED although it is its turn: turn_ready() */
    enum tl_wire_end_reason reason;
    struct tl_cpu_reading cpu_before; /* readings.c */
    struct tl_host_counters counters_before;
    /* Of streams */
    struct tl_wire_test_tcp asked;
    bool is_file;
    struct tl_wire_test_disk disk; /* clamped; disk_test.c's as well */
    int fds[TL_WIRE_STREAMS_MAX];  /* joined data connections, -1 = not yet; streams own them
                                    * later */
    unsigned connections;          /* of both directions */
    unsigned joined;
    struct test_lane lanes[TEST_LANES];
    unsigned lane_count; /* with streams: 0 until START */
    struct tl_wire_dial dial;
    struct peer_dials *dials; /* NULL: nothing is being dialled */
    uint32_t samples_dropped;
    /* The client's kernel acknowledges but the client is silent: see tcp_run.c. */
    uint64_t moved_bytes[TL_WIRE_STREAMS_MAX]; /* acknowledged, or received */
    bool progress;                             /* of what we send, since the last tick */
    int64_t unheard_ns, looked_ns;             /* looked: when progress was seen last */
    /* Of datagrams */
    struct udp_test *udp;  /* NULL: another kind of test */
    struct watch udp_done; /* watches its flow's event descriptor, which owns it */
};

/* The disk's part in a session. */
struct session_disk {
    struct tl_disk_area *area; /* kept for the next test of the session; NULL: none yet */
    struct disk_errand *errand;
};

/* udp_tuple.h */
struct udp_tuple {
    bool proven; /* else the place is free */
    struct sockaddr_in6 from;
    uint64_t cookie;
    int64_t since_ns;
    uint32_t damaged_count;
};

#define SESSION_TUPLES 4

struct session {
    struct watch watch;
    struct tl_responder *responder;
    struct secure *secure; /* owned; NULL: a plain connection */
    enum session_state state;
    struct sockaddr_in6 peer;
    struct tl_wire_token token;            /* told in WELCOME alone where there is a channel */
    struct tl_wire_token udp_token;        /* said in datagrams: secure_token() */
    struct udp_seal udp_seal;              /* by which they are sealed: secure_seal() */
    struct udp_seal udp_secret;            /* of challenges: udp_tuple.c */
    int64_t since_ns, heard_ns, active_ns; /* active: last in a test or a query */
    int64_t deadline_ns;                   /* of the state, INT64_MAX = none */
    uint8_t in[TL_WIRE_FRAME_MAX];
    size_t in_len;
    uint8_t *out; /* OUTPUT_BYTES, owned */
    size_t out_at, out_len, out_size;
    struct host_job *job;
    unsigned host_queries;
    uint32_t last_test_id;
    struct session_test test;
    struct session_disk disk;
    struct udp_tuple tuples[SESSION_TUPLES];
    int64_t udp_full_ns;   /* GCRA of probes */
    int64_t path_full_ns;  /* and of path answers */
    int64_t light_ns;      /* and of all that goes out beside tests: light.c */
    bool held;             /* what it has said waits for that: its frames are not read */
    bool corked;           /* answers gather, to leave by one call */
    uint64_t tests, bytes; /* for the log */
    const char *ended;     /* why, for the log */
    bool removed;          /* from the responder's list, buried */
};

/* On a connection that has said HELLO and is in no loop; there is a place in the list. Takes
 * descriptor and channel (NULL: plain) over when TL_OK. TL_NOMEM, TL_IO. */
enum tl_status session_create(struct tl_responder *responder, int fd, struct secure *secure,
                              struct session **ret_session) TL_WARN_UNUSED;

void session_tick(struct session *session, int64_t now_ns);
/* Puts a frame into the output; a peer that does not read enough ends here. */
void session_send(struct session *session, const uint8_t *frame, size_t len);
/* A final code ends the session behind it. */
void session_error(struct session *session, enum tl_wire_error_code code, const char *fmt, ...)
    TL_PRINTF(3, 4);
bool session_out_has_room(const struct session *session, size_t bytes);

/* Closes the connection; frees the session once its test is joined. */
void session_end(struct session *session, const char *why);
/* Back to IDLE after a test, whose end is told by the caller. */
void session_rest(struct session *session);
/* The test of a session that is GONE has been joined: frees it. */
void session_joined(struct session *session);
/* Ends and joins it, whatever runs: the responder goes. */
void session_finish(struct session *session);

/* limits.h's standard of a row in ms. */
int64_t session_limit_ns(enum tl_limit id);

#endif
