/* Inside of the responder: what its files share. Nobody else includes this.
 *
 *   responder.c         the loop: create, run, stop, tick
 *   responder_accept.c  strangers: accept, first frame, deadline, eviction
 *   responder_guard.c   accepts per neighbourhood
 *   responder_host.c    the thread that reads the host
 *   session.c           a control connection: frames in and out, deadlines
 *   session_queue.c     a session's test before it is granted: clamps, turns, quota
 *   session_readings.c  what the host did meanwhile
 *   session_disk.c      the disk's part in it
 *   session_peer.c      a test's data connections dialled to another responder
 *   session_test.c      and after: data connections, streams, totals
 *   udp_session.c       a session's UDP test
 *   udp_port.c          its socket on the port that all share
 *   udp_echo.c          datagrams: proof and probes
 *   udp_path.c          datagrams that measure the path (both: responder_udp.h)
 *
 * All of it runs on the thread of tl_responder_run, but for responder_host.c's thread.
 * Addresses are IPv6 throughout, IPv4 as ::ffff:a.b.c.d. */
#ifndef TL_ENGINE_RESPONDER_PRIVATE_H
#define TL_ENGINE_RESPONDER_PRIVATE_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "responder_guard.h"
#include "secure.h"
#include "tightlink/base/units.h"
#include "tightlink/engine/disk.h"
#include "tightlink/engine/limits.h"
#include "tightlink/engine/responder.h"
#include "tightlink/engine/stream.h"
#include "tightlink/engine/wire.h"
#include "tightlink/host/counters.h"
#include "tightlink/host/cpu.h"
#include "tightlink/host/host.h"

#define TICK_NS (50 * INT64_C(1000000))

/* A descriptor in the epoll, first member of what belongs to it. An object may be buried
 * while the events of the same wakeup still point to it: it is freed after the last one. */
struct watch {
    void (*ready)(struct watch *watch, uint32_t events); /* NULL: buried, or not watched */
    int fd;                                              /* owned, -1 = none */
    struct watch *next_dead;
};

/* A connection that has not said who it is: P6 allows it 256 bytes. */
struct half {
    struct watch watch;
    struct tl_responder *responder;
    struct half *older, *newer;
    struct secure *secure; /* owned; NULL: plain, or nothing said yet */
    int64_t deadline_ns;
    struct in6_addr address;
    uint8_t len;
    uint8_t bytes[TL_WIRE_HEADER_SIZE + 88]; /* a whole HELLO, nothing behind it */
};

/* What the reading of the host is asked and answers; owned by the thread of
 * responder_host.c between submit and done. */
struct host_job {
    struct host_job *next;
    struct session *session; /* NULL once the session is gone: nobody wants the answer */
    struct sockaddr_in6 peer;
    bool keyed; /* tell the whole audit */
    struct tl_host_settings settings;
};

/* The state of a session. Frames that a state does not expect end the session.
 *
 *          HELLO                 TEST_TCP              its turn
 *   (half) -----> IDLE ---------------------> QUEUED ----------> READY
 *                 ^ ^   session_ask                  grant         |  data connections
 *                 | |                                              |  session_join
 *                 | +-- 5 s without START: session ends            | START
 *                 |                                                v  session_start
 *                 +------------ ENDING <--------------------- RUNNING
 *           TEST_END            streams    time, bytes, STOP, client gone
 *
 * PREPARING, between QUEUED and READY where the disk has a part in the test (session_disk.c), or
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

/* What was asked for: TEST_TCP, TEST_FILE, TEST_DISK, TEST_UDP. */
enum test_kind { TEST_OF_TCP, TEST_OF_FILE, TEST_OF_DISK, TEST_OF_UDP };

/* The disk's part in a session, of which session_disk.c knows. */
struct session_disk {
    struct tl_disk_area *area; /* kept for the next test of the session; NULL: none yet */
    struct disk_errand *errand;
    struct watch done; /* of the errand */
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

/* A test from TEST_TCP to TEST_END. */
struct session_test {
    enum test_kind kind;
    bool far_disk;                 /* TEST_OF_FILE: from our disk, or to it */
    struct tl_wire_test_disk disk; /* clamped */
    struct tl_wire_test_tcp asked;
    struct tl_wire_ready granted;
    unsigned interface;           /* index; tests over the same one take turns */
    uint64_t queue_ticket;        /* smaller = earlier */
    uint16_t told_place;          /* in the last BUSY */
    int fds[TL_WIRE_STREAMS_MAX]; /* joined data connections, -1 = not yet; streams own them later
                                   */
    unsigned connections;         /* of both directions */
    unsigned joined;
    struct test_lane lanes[TEST_LANES];
    struct session_dials *dials; /* session_peer.c; NULL: nothing is being dialled */
    unsigned lane_count;         /* with streams: 0 until START */
    struct udp_test *udp;        /* udp_session.c; NULL: another kind of test */
    struct watch udp_done;       /* watches its flow's event descriptor, which owns it */
    int64_t start_ns;
    int64_t hard_end_ns;
    uint64_t reserved_bytes; /* of the quota */
    enum tl_wire_end_reason reason;
    uint32_t samples_dropped;
    struct tl_cpu_reading cpu_before; /* session_readings.c */
    struct tl_host_counters counters_before;
    /* The client's kernel acknowledges but the client is silent: see session_test.c. */
    uint64_t acked_bytes[TL_WIRE_STREAMS_MAX];
    bool progress; /* since the last tick */
    int64_t unheard_ns;
};

struct udp_tuple {
    bool used, proven;
    struct sockaddr_in6 from;
    struct tl_wire_token challenge;
    int64_t since_ns;
    uint32_t damaged_count;
};

struct session {
    struct watch watch;
    struct tl_responder *responder;
    struct secure *secure; /* owned; NULL: a plain connection */
    enum session_state state;
    struct sockaddr_in6 peer;
    struct tl_wire_token token;
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
    struct udp_tuple tuples[4];
    int64_t udp_full_ns;   /* GCRA of probes */
    int64_t path_full_ns;  /* and of path answers */
    uint64_t tests, bytes; /* for the log */
    const char *ended;     /* why, for the log */
    bool removed;          /* from the responder's list, buried */
};

/* A running UDP test's socket on our port; udp_port.c. */
struct udp_share {
    int fd;
    uint64_t cookie;
};

#define UDP_SHARES_MAX 16 /* one test an interface */

struct tl_responder {
    struct tl_responder_options options;
    char program[TL_WIRE_TEXT_SIZE];
    int port;
    int epoll_fd;
    struct watch listener, udp, stop, timer, host_done;
    struct udp_share udp_shares[UDP_SHARES_MAX];
    unsigned udp_share_count;
    bool ticking;
    atomic_bool stop_asked;
    struct watch *dead;

    struct accept_guard guard;
    struct half *oldest, *newest;
    uint32_t half_count, half_max;
    uint32_t handshake_count;       /* of them in a TLS handshake: each costs some 30 KB */
    struct secure_context *secured; /* NULL: no keys, open mode only */

    struct session **sessions; /* session_count of them, in no order; room for 2 session_max, as
                                * those GONE do not count */
    uint32_t session_count, session_max;
    uint64_t tickets;
    bool queue_dirty; /* something changed that may let a test start: queue_serve() is due */
    uint64_t quota_used_bytes; /* reservations of running tests included */
    int64_t quota_day_ns;      /* when the day began */

    struct tl_cpu_reader cpu;               /* readings cost 0.5 ms: taken by the loop itself */
    struct tl_cpu_reading cpu_after;        /* scratch */
    struct tl_host_counters counters_after; /* scratch */
    struct host_reader *host;               /* responder_host.c */
    struct tl_tcp_sample *samples;          /* SAMPLE_BATCH, scratch */
    uint8_t frame[TL_WIRE_FRAME_MAX];       /* scratch */
    uint8_t datagram[TL_WIRE_UDP_DATAGRAM_MAX + 1];
};

#define SAMPLE_BATCH 64

/* responder.c */
enum tl_status watch_add(struct tl_responder *responder, struct watch *watch, uint32_t events,
                         void (*ready)(struct watch *, uint32_t)) TL_WARN_UNUSED;
void watch_change(struct tl_responder *responder, struct watch *watch, uint32_t events);
/* Closes the descriptor and frees the object after the current wakeup. */
void watch_bury(struct tl_responder *responder, struct watch *watch);
void responder_need_tick(struct tl_responder *responder);
void responder_log(struct tl_responder *responder, const char *fmt, ...) TL_PRINTF(2, 3);
/* Turns an AF_INET address as accept() and recvmsg() fill it in into ::ffff:a.b.c.d. */
void address_normalise(struct sockaddr_in6 *address);
/* "192.0.2.1" or "2001:db8::1". */
void address_text(const struct in6_addr *address, char ret_text[INET6_ADDRSTRLEN]);

/* responder_accept.c */
void accept_ready(struct watch *watch, uint32_t events);
void accept_tick(struct tl_responder *responder, int64_t now_ns);
void accept_finish(struct tl_responder *responder);

/* responder_host.c: one thread that reads what may take milliseconds. */
enum tl_status host_reader_create(struct tl_responder *responder) TL_WARN_UNUSED;
void host_reader_destroy(struct tl_responder *responder);
/* Hands a job over; false when there is no memory. */
bool host_reader_submit(struct tl_responder *responder, struct session *session);
void host_reader_forget(struct session *session);

/* session.c. Takes the descriptor and its channel (NULL: plain) over; TL_LIMIT with a sentence
 * when there is no place. */
enum tl_status session_create(struct tl_responder *responder, int fd, struct secure *secure,
                              const struct tl_wire_hello *hello,
                              struct tl_error *reterr) TL_WARN_UNUSED;
struct session *session_by_token(struct tl_responder *responder, const struct tl_wire_token *token);
void session_tick(struct session *session, int64_t now_ns);
void session_host_done(struct session *session, const struct tl_host_settings *settings);
/* Puts a frame into the output; a peer that does not read enough ends here. */
void session_send(struct session *session, const uint8_t *frame, size_t len);
/* A final code ends the session behind it. */
void session_error(struct session *session, enum tl_wire_error_code code, const char *fmt, ...)
    TL_PRINTF(3, 4);
/* Closes the connection; frees the session once its streams are joined. */
void session_end(struct session *session, const char *why);
/* Frees a session that is GONE. */
void session_remove(struct session *session);
bool session_out_has_room(const struct session *session, size_t bytes);
void sessions_finish(struct tl_responder *responder);

/* session_queue.c */
void test_ask(struct session *session, const struct tl_wire_test_tcp *asked);
void test_ask_file(struct session *session, const struct tl_wire_test_file *asked);
/* A new test of the session, nothing granted yet. */
void test_reset(struct session *session, enum test_kind kind);
void test_enqueue(struct session *session);
/* Its turn has come and all is prepared: READY. */
void test_ready(struct session *session);
/* Grants and tells places after anything changed in the queue. */
void queue_serve(struct tl_responder *responder);
uint64_t quota_left(struct tl_responder *responder);
/* The reservation of the session's test becomes what was really moved. */
void quota_settle(struct session *session, uint64_t moved);

/* session_readings.c: the first reading, and READINGS about what lies between it and now.
 * A session has one test at a time, of whatever kind. Takes about 0.5 ms each. */
void session_readings_begin(struct session *session);
void session_readings_report(struct session *session, uint32_t test_id);

/* session_disk.c */
/* Whether the administrator opened a directory; else the client is told. */
bool session_disk_is_open(struct session *session);
void session_disk_ask(struct session *session, const struct tl_wire_test_disk *asked);
/* Its turn has come: PREPARING, or at once test_ready(). */
void session_disk_begin(struct session *session);
/* To the stream that was added last. */
enum tl_status session_disk_give_store(struct session *session, unsigned stream,
                                       struct tl_error *reterr) TL_WARN_UNUSED;
/* Checksums that are new; all that is left, and FILE_END. */
void session_disk_send_sums(struct session *session);
void session_disk_report(struct session *session);
/* Lets the errand go and the area with it; waits for nothing. */
void session_disk_abandon(struct session *session);

/* session_peer.c */
void peer_dial(struct session *session, const struct tl_wire_frame *frame);
/* Whether a PEER_HELLO from that address may join a test of this session. */
bool peer_may_join(const struct session *session, const struct in6_addr *from);
/* Closes what is still being dialled. */
void peer_forget(struct session *session);

/* session_test.c */
/* A data connection; true takes the descriptor over. On false *ret_code and *reterr say why.
 * dialled: by a responder that peer_may_join() permits; any other comes from where the control
 * connection comes from, and goes where it goes. */
bool test_join(struct session *session, int fd, bool dialled,
               const struct tl_wire_data_hello *hello, enum tl_wire_error_code *ret_code,
               struct tl_error *reterr);
/* A connection that we dialled ourselves becomes the test's, with its options set. */
void test_adopt(struct session *session, unsigned connection, int fd);
/* Options of a data connection, to be set before it is dialled. */
enum tl_status test_prepare(const struct session *session, unsigned connection, int fd,
                            struct tl_error *reterr) TL_WARN_UNUSED;
void test_start(struct session *session, uint32_t test_id);
/* Whether its streams run, or wait to be joined. */
bool test_has_streams(const struct session_test *test);
void test_stop(struct session *session, enum tl_wire_end_reason reason);
void test_tick(struct session *session, int64_t now_ns);
/* The session's end: stops the streams, closes what has joined, leaves the queue. True when
 * nothing is left to wait for. */
bool test_abandon(struct session *session);
/* Joins and frees the streams: at once when they are done, in <= 250 ms when stopped. */
void test_forget(struct session *session);

/* udp_session.c: TEST_UDP, UDP_START, UDP_REPORT; and what the functions above do for a UDP
 * test. */
void udp_test_frame(struct session *session, const struct tl_wire_frame *frame);
void udp_test_stop(struct session *session, enum tl_wire_end_reason reason);
void udp_test_tick(struct session *session, int64_t now_ns);
bool udp_test_abandon(struct session *session);
void udp_test_forget(struct session *session);

/* udp_echo.c */
void udp_ready(struct watch *watch, uint32_t events);

#endif
