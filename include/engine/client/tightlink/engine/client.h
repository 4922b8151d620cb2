/* The near end: a control connection to tightlinkd, and what can be asked over it.
 *
 *   tl_client_connect -> tl_client_host, tl_client_echo, tl_client_tcp_test … -> tl_client_close
 *
 * A client belongs to one thread; only tl_client_echo may run in another one beside
 * tl_client_tcp_test (latency under load). Calls block, but never beyond their time-out,
 * and end within TL_CLIENT_CANCEL_NS once the cancel descriptor is readable: then the
 * wire is silent and they return TL_CANCELLED. A responder drops a client that is idle
 * for seconds; each call notices that and connects again by itself, to the same address.
 *
 * Everything that comes from the far end is text and numbers of a stranger: texts are
 * cleaned here (base/utf8.h), numbers are bounded. Never prints. */
#ifndef TL_ENGINE_CLIENT_H
#define TL_ENGINE_CLIENT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "tightlink/base/key.h"
#include "tightlink/base/status.h"
#include "tightlink/base/tcp_end.h"
#include "tightlink/engine/disk.h"
#include "tightlink/engine/sample.h"
#include "tightlink/engine/steady.h"
#include "tightlink/engine/stream.h"
#include "tightlink/engine/wire.h"
#include "tightlink/host/counters.h"
#include "tightlink/host/cpu.h"
#include "tightlink/host/host.h"

#define TL_CLIENT_TIMEOUT_NS (5000 * INT64_C(1000000))  /* of a connect and of an answer */
#define TL_CLIENT_RESOLVE_NS (5000 * INT64_C(1000000))  /* of the name */
#define TL_CLIENT_QUEUE_NS   (60000 * INT64_C(1000000)) /* wait for one's turn */
/* For what a far disk was asked to do: two tests, what makes them durable, and a disk that hangs
 * until its responder gives up. */
#define TL_CLIENT_DISK_NS   (90000 * INT64_C(1000000))
#define TL_CLIENT_CANCEL_NS (250 * INT64_C(1000000))  /* P10 */
#define TL_CLIENT_PING_NS   (200 * INT64_C(1000000))  /* feedback during a test (P4: <= 1 s) */
#define TL_CLIENT_SILENT_NS (6000 * INT64_C(1000000)) /* a control connection that says nothing */
#define TL_CLIENT_LIVE_NS   (100 * INT64_C(1000000))  /* between live callbacks */

/* --- Connection --------------------------------------------------------------------- */

struct tl_client_options {
    const char *host;    /* name or numeric address */
    int port;            /* TL_WIRE_PORT where the user gave none */
    int family;          /* 0 any, 4, 6 */
    int64_t timeout_ns;  /* per address and for the hello; 0 = TL_CLIENT_TIMEOUT_NS */
    int cancel_fd;       /* readable = cancel; -1 = cannot be cancelled. Borrowed, never read */
    const char *program; /* "tightlink 0.1.0", told in HELLO; NULL: "tightlink" */
    /* Control over TLS 1.3 with this key; NULL: plain. Borrowed, outlives the client. */
    const struct tl_key *key;
    /* When the path last carried a handshake of TCP (tl_now_ns()), also where what follows fails;
     * untouched without one. NULL: not asked. Of a responder only. Borrowed. */
    int64_t *ret_reached_ns;
};

struct tl_client_info {
    struct sockaddr_storage peer, local; /* of the control connection */
    int family;                          /* 4 or 6 */
    char address[INET6_ADDRSTRLEN];      /* the peer's, numeric */
    int64_t resolve_ns;                  /* time the name took, 0 for a numeric address */
    int64_t connect_rtt_ns;              /* the handshake's round trip (TCP_INFO) */
    int64_t hello_rtt_ns;                /* HELLO to WELCOME: the responder's own time included */
    bool keyed;                          /* both ends have proved the key */
    char program[4 * TL_WIRE_TEXT_SIZE]; /* the far program, cleaned */
    const char *http_spoken;  /* to a web server: "HTTP/1.1", "HTTP/2"; NULL: it is none */
    const char *http_offered; /* by it, too: "HTTP/2", static; NULL: not, or nobody asked */
    int64_t max_duration_ns;  /* what the responder grants at most */
    unsigned max_streams;
    double rate_cap_bps;       /* 0: none */
    uint64_t quota_left_bytes; /* UINT64_MAX: no quota */
    int64_t unacked_ns; /* the longest in which the far host's kernel acknowledged nothing of what
                         * it was asked in the last exchange; 0: it did, or nobody looked */
};

struct tl_client;

/* Resolves (in a thread of its own, at most TL_CLIENT_RESOLVE_NS), tries each address in
 * the resolver's order, says HELLO. Errors, each with a sentence that says what to do:
 * TL_NOHOST, TL_REFUSED (nothing listens), TL_UNREACHABLE, TL_TIMEOUT, TL_PROTOCOL (it
 * speaks HTTP, ssh, iperf3 …), TL_VERSION, TL_BUSY (no session free), TL_DENIED,
 * TL_AUTH (the key is not known there, or one is wanted), TL_CANCELLED, TL_NOMEM, TL_IO. */
enum tl_status tl_client_connect(const struct tl_client_options *options,
                                 struct tl_client **ret_client,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* Says BYE and closes. NULL is fine. */
void tl_client_close(struct tl_client *client);

/* Valid as long as the client. */
const struct tl_client_info *tl_client_info(const struct tl_client *client);

/* What this end sent and received in control frames and probes so far, as on the link; payload of
 * tests is no part of it. Any thread. */
void tl_client_own_bytes(const struct tl_client *client, uint64_t *ret_sent,
                         uint64_t *ret_received);

/* A round trip over the control connection; TL_CLOSED or TL_TIMEOUT when it is gone. */
enum tl_status tl_client_ping(struct tl_client *client, int64_t *ret_rtt_ns,
                              struct tl_error *reterr) TL_WARN_UNUSED;

/* Makes sure that the session lives before another thread sends datagrams in its name: a round trip
 * where it was silent for more than a second, a new connection where it is gone, else nothing.
 * Errors as tl_client_connect. */
enum tl_status tl_client_wake(struct tl_client *client, struct tl_error *reterr) TL_WARN_UNUSED;

/* The far host's settings; rows that the responder does not tell are unknown. */
enum tl_status tl_client_host(struct tl_client *client, struct tl_host_settings *ret_settings,
                              struct tl_error *reterr) TL_WARN_UNUSED;

/* --- UDP echo ------------------------------------------------------------------------- */

#define TL_ECHO_MAX 1000 /* probes a call */

struct tl_echo_spec {
    unsigned count;      /* 1 to TL_ECHO_MAX */
    int64_t interval_ns; /* between probes, >= 1 ms */
    unsigned bytes;      /* UDP payload of a probe, TL_WIRE_UDP_PROBE_SIZE to 1400; 0 = smallest */
    int64_t wait_ns;     /* for answers after the last probe; 0 = three round trips as seen */
    int cancel_fd;       /* beside the client's own; -1 = none. It ends the train: what was
                          * answered until then is the result */
    bool scattered;      /* each at a random time within its interval: an even step would beat with
                          * the periods of a link that grants time (RFC 2330, section 11.1.1) */
    bool beside_test;    /* called from another thread while tl_client_tcp_test runs: leaves
                          * the control connection alone */
};

struct tl_echo_probe {
    int64_t sent_ns; /* since start_ns */
    int64_t rtt_ns;  /* without the time the responder held it; -1 = no answer */
    int64_t far_ns;  /* responder's CLOCK_REALTIME at arrival; another clock than ours */
    int64_t near_ns; /* our CLOCK_REALTIME at sending, for differences of one-way delay */
};

struct tl_echo_result {
    int64_t start_ns;     /* tl_now_ns() of the first probe */
    bool one_way_unknown; /* nobody there told its clock: far_ns means nothing */
    unsigned sent_count, answered_count, lost_count;
    unsigned duplicate_count, damaged_count, late_count; /* late: reordered behind a later one */
    int64_t min_rtt_ns, median_rtt_ns;                   /* -1 without an answer */
    struct tl_echo_probe probes[TL_ECHO_MAX];            /* sent_count of them */
};

/* Proves the UDP tuple to the responder (token, challenge), then sends the probes at the
 * interval. TL_TIMEOUT: UDP does not get through although TCP does. TL_CLOSED: neither did for a
 * while. */
enum tl_status tl_client_echo(struct tl_client *client, const struct tl_echo_spec *spec,
                              struct tl_echo_result *ret_result,
                              struct tl_error *reterr) TL_WARN_UNUSED;

/* --- TCP test ---------------------------------------------------------------------------- */

/* 0 and "" leave a setting as the hosts are configured. What concerns a sender or a receiver
 * concerns it at whichever end it is; with direction BOTH there is one of each at each end. */
struct tl_tcp_spec {
    enum tl_wire_direction direction;
    unsigned streams;            /* at least 1, each way; as many as both ends permit are run, with
                                  * a note in the result */
    int64_t duration_ns;         /* at most; the responder may grant less */
    uint64_t max_bytes;          /* all streams together; 0 = no cap */
    int rcvbuf_bytes;            /* SO_RCVBUF at the receiver */
    int sndbuf_bytes;            /* SO_SNDBUF at the sender */
    int maxseg_bytes;            /* TCP_MAXSEG at the near end: bounds both directions by the SYN */
    int notsent_lowat_bytes;     /* TCP_NOTSENT_LOWAT at the sender */
    unsigned dscp;               /* 0 to 63, of the packets of both ends */
    uint64_t pacing_bps;         /* at the sender, all streams of a direction together */
    int64_t interval_ns;         /* between samples; 0 = TL_STREAM_INTERVAL_NS, the double of it for
                                  * more than TL_TCP_FEW_STREAMS connections */
    enum tl_send_path send_path; /* at the sender */
    bool discard;                /* the receiver drops the payload without a copy */
    struct tl_steady_enough enough; /* what ends it before its time */
    int64_t still_ns; /* end then if fewer than still_bytes have arrived; 0: never. Of a
                       * responder only */
    uint64_t still_bytes;
    int64_t queue_wait_ns; /* when the responder is busy; 0 = TL_CLIENT_QUEUE_NS */
    char congestion[TL_STREAM_CONGESTION_SIZE]; /* at the sender */
    /* A file's way: disks at one end or both, memory at the other; payload has a checksum a
     * block. Up to TL_LIMIT_DISK_STREAMS streams. The receiver counts what its disk has taken. */
    bool file;
    struct tl_disk_area *near_disk; /* source or destination here, NULL = memory; borrowed. As a
                                     * source it holds data (tl_disk_test) */
    bool far_disk;                  /* in the directory that the far end's administrator opened */
    unsigned disk_threads;          /* at each end, 0 = TL_DISK_THREADS */
};

#define TL_TCP_FEW_STREAMS 8

/* With direction BOTH, bytes and rates are the download's. */
struct tl_tcp_live {
    bool queued; /* waiting for our turn; then only these two hold */
    unsigned place;
    int64_t wait_ns;
    int64_t elapsed_ns;
    uint64_t received_bytes;            /* at the receiver, as far as is known here */
    double rate_bps;                    /* over about the last half second; NAN = not known yet */
    double rtt_ns;                      /* smoothed, newest; NAN */
    double low_bps, high_bps;           /* the steady rate's interval so far; NAN */
    const struct tl_tcp_sample *sender; /* newest reading of the first stream; NULL: none yet */
    struct tl_ledger ledger;            /* of that stream, since its start; may be invalid */
};

/* Called on the calling thread about every TL_CLIENT_LIVE_NS. Must not block. */
typedef void tl_tcp_live_fn(void *context, const struct tl_tcp_live *live);

/* One end of a test. NAN, -1 and "" = not known. */
struct tl_tcp_side {
    struct tl_sample_log logs[TL_STREAMS_MAX];       /* owned by the result */
    struct tl_stream_result streams[TL_STREAMS_MAX]; /* far: bytes, last_byte_ns, cpu only */
    uint64_t bytes;                                  /* of the application, all streams */
    uint64_t samples_dropped;
    struct tl_cpu_usage cpu;                 /* of the whole test; values unknown where not told */
    struct tl_host_counters_growth counters; /* the same; elapsed_ns is not set */
    char congestion[TL_STREAM_CONGESTION_SIZE];
    enum tl_send_path send_path; /* a sender's, as chosen; AUTO = not known */
    bool discarded;              /* a receiver's: it dropped its payload without a copy */
    uint32_t call_bytes;         /* payload of one call as chosen, 0 = not known: told here only */
};

#define TL_TCP_NOTES_SIZE 256

struct tl_tcp_result {
    struct tl_tcp_spec spec; /* as asked */
    bool near_sends;
    unsigned streams;
    uint16_t near_ports[TL_STREAMS_MAX]; /* of the data connections, 0 = not known */
    int64_t granted_ns;                  /* the test's longest time as granted */
    uint64_t granted_bytes;              /* 0 = no cap */
    struct tl_tcp_side sender, receiver;
    uint64_t beside_bytes; /* our control frames and UDP probes in the payload's direction
                            * meanwhile, as on the link, headers included */
    int64_t data_rtt_ns;   /* smallest handshake RTT of the data connections, -1 */
    int64_t elapsed_ns;    /* near clock, start to end */
    int64_t queued_ns;     /* waited for our turn */
    int64_t exchange_ns;   /* a stranger's protocol before the start and after the end, in turns
                            * of both ends; 0 of a responder, whose start is one answer */
    enum tl_tcp_end end;
    int64_t unacked_ns;      /* the longest time in which the far host's kernel acknowledged nothing
                              * of what the control connection said every TL_CLIENT_PING_NS; -1: not
                              * known */
    int64_t unheard_ns;      /* the longest in which the far program said nothing there */
    bool end_signed;         /* the responder's TEST_END came with our token; without it the
                              * result is not valid (doc/architecture.md, "Faults") */
    double ends_agree_ratio; /* difference of acknowledged and received bytes, of the larger;
                              * NAN without both */
    /* An upload by HTTP/2: the most that the server's own windows let be on the way at once, and
     * the share of the time in which there was more to send; NAN for anything else. */
    double http2_window_bytes, http2_held_ratio;
    struct tl_steady steady;
    struct tl_transfer_side near_disk, far_disk; /* of spec.file */
    struct tl_transfer_check check;              /* likewise */
    char notes[TL_TCP_NOTES_SIZE]; /* what was granted otherwise than asked, in sentences; "" */
    /* Direction BOTH: this result is the download's and `upload` the upload's, with ledgers,
     * rates and an end of its own; processors are those of both together. Else NULL. Owned. */
    struct tl_tcp_result *upload;
};

/* Runs one test. *ret_result is filled in every case, also after a failure, with what was
 * measured until then; finish it in every case. TL_OK: it ran and ended by a signed END,
 * for whatever reason. TL_CANCELLED. TL_BUSY: no turn within queue_wait_ns. TL_UNSUPPORTED,
 * TL_DENIED: a setting that one end does not permit. TL_CLOSED, TL_TIMEOUT: the far end or
 * the path died; `end` and `elapsed_ns` say how and when. TL_LIMIT: the quota is used up.
 * TL_RANGE: the spec. live may be NULL. */
enum tl_status tl_client_tcp_test(struct tl_client *client, const struct tl_tcp_spec *spec,
                                  tl_tcp_live_fn *live, void *context,
                                  struct tl_tcp_result *ret_result,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

/* A test between two responders: `sender` dials `receiver` and sends to it, and both tell us.
 * Both clients are keyed, and each responder's administrator has named the other one. The
 * spec's direction is not used, its file must be NULL; buffers and the like are for the ends
 * as named. In the result near_sends means nothing; sender and receiver are the two. Errors as
 * tl_client_tcp_test; TL_DENIED when one does not permit it, with the sentence that says who.
 * Both clients belong to the calling thread. */
enum tl_status tl_client_peer_test(struct tl_client *sender, struct tl_client *receiver,
                                   const struct tl_tcp_spec *spec, struct tl_tcp_result *ret_result,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

/* Whether the far program fell silent for long while its kernel acknowledged all the time: the path
 * carried, and what is silent is not the path. */
bool tl_tcp_result_program_silent(const struct tl_tcp_result *result);

/* Frees the logs and the upload's result. */
void tl_tcp_result_finish(struct tl_tcp_result *result);

#endif
