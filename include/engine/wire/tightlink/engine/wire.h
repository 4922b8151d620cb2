/* The messages between tightlink and tightlinkd: one struct and one table of fields each, of
 * which encoder and decoder are made (src/engine/wire/wire_layout.h). doc/wire.md is the same for
 * readers of other languages, compared with these tables by a test.
 *
 * A frame is a 4-byte header and a payload, big-endian, <= 4096 bytes in all:
 *     0  u16 payload length (<= 4092)    2  u8 type    3  u8 zero
 * Text that an HTTP, ssh, TLS or iperf3 client sends has a first byte that makes
 * the length too large, so strangers are told apart after two bytes.
 *
 * Encoders take a struct that this program filled, cannot fail and write a whole
 * frame (header included) into TL_WIRE_FRAME_MAX bytes; they return its length.
 * Decoders take the payload of one frame as it came from a stranger. They check
 * the exact length, every enumeration, every reserved byte and every character of
 * names; numbers that the responder may grant less of (durations, buffers, rates)
 * pass as they are and go through limits.h. They return TL_PROTOCOL (layout),
 * TL_RANGE (a value) or TL_VERSION, with a sentence in *reterr (may be NULL), and
 * leave *ret_msg untouched on failure. Nothing here allocates; every function may
 * be called from any thread.
 *
 * Texts are NUL-terminated after decoding but not otherwise trusted: they may hold
 * any byte, and pass through the sanitiser before a terminal sees them.
 *
 *   wire_frame.h     what a frame is, its types, the token
 *   wire.h           messages of fixed layout: sessions, tests, disks, SYNs
 *   wire_record.h    HOST, READINGS and SAMPLES, whose number of entries varies
 *   wire_datagram.h  UDP probes; the datagrams of UDP tests are in udp_wire.h */
#ifndef TL_ENGINE_WIRE_H
#define TL_ENGINE_WIRE_H

#include "tightlink/engine/wire_datagram.h"
#include "tightlink/engine/wire_frame.h"
#include "tightlink/engine/wire_record.h"

/* HELLO and WELCOME are of the same length, so that no byte more goes to an address
 * than came from it. */
struct tl_wire_hello {
    uint16_t version; /* TL_VERSION unless TL_WIRE_VERSION */
    struct tl_wire_token nonce;
    char program[TL_WIRE_TEXT_SIZE]; /* "tightlink 0.1.0" */
};

#define TL_WIRE_WELCOME_KEYED 1u /* over TLS with a key: the whole host audit is told */

struct tl_wire_welcome {
    uint16_t version;
    uint16_t flags;
    struct tl_wire_token token; /* names this session from here on; keep it from others */
    struct tl_wire_token nonce; /* the client's, back */
    uint16_t max_seconds;
    uint16_t max_streams;
    uint64_t rate_cap_bps;           /* 0: none */
    uint64_t quota_left_bytes;       /* UINT64_MAX: no quota */
    char program[TL_WIRE_TEXT_SIZE]; /* "tightlinkd 0.1.0" */
};

/* code, number, whether the session lives on behind it */
#define TL_WIRE_ERROR_MAP(X)                                                                       \
    X(PROTOCOL, 1, 0)   /* bytes that are no frame, or a frame with a wrong layout */              \
    X(VERSION, 2, 0)    /* speaks another version; the text names ours */                          \
    X(TYPE, 3, 0)       /* a type that is not known, or not for the responder */                   \
    X(STATE, 4, 0)      /* a message that does not fit the session's state */                      \
    X(SESSIONS, 5, 0)   /* too many sessions from this peer or in all */                           \
    X(TOKEN, 6, 0)      /* DATA_HELLO of no session, or twice for a stream */                      \
    X(TIMEOUT, 7, 0)    /* a deadline passed */                                                    \
    X(CONGESTION, 8, 1) /* congestion control not available or not permitted */                    \
    X(QUOTA, 9, 1)      /* today's bytes are used up */                                            \
    X(REFUSED, 10, 1)   /* this test cannot be made, the text says why */                          \
    X(INTERNAL, 11, 0)  /* the responder ran out of something */                                   \
    X(GOING, 12, 0)     /* the responder is being shut down */                                     \
    X(KEY, 13, 0)       /* this responder serves with a key only */

enum tl_wire_error_code {
#define TL_WIRE_ERROR_ENUM(name, number, lives) TL_WIRE_E_##name = number,
    TL_WIRE_ERROR_MAP(TL_WIRE_ERROR_ENUM)
#undef TL_WIRE_ERROR_ENUM
};

struct tl_wire_error {
    uint16_t code;                 /* enum tl_wire_error_code */
    char text[TL_WIRE_ERROR_SIZE]; /* one sentence, from outside */
};

/* "CONGESTION", "?"; and whether the session goes on after that code. */
const char *tl_wire_error_name(unsigned code);
bool tl_wire_error_is_final(unsigned code);

enum tl_wire_direction {
    TL_WIRE_DOWNLOAD, /* the responder sends */
    TL_WIRE_UPLOAD,   /* the client sends */
    TL_WIRE_BOTH      /* each on connections of its own: the first half are downloads */
};

/* How a sender hands its payload to the kernel. */
#define TL_SEND_PATH_MAP(X)                                                                        \
    X(AUTO, "auto")     /* copies; a fast stream tries the others, stream_path.h */                \
    X(COPY, "send")     /* send() from a buffer that stays in the second level cache */            \
    X(SPLICE, "splice") /* vmsplice() and splice(): pages by reference, no copy at the sender */   \
    X(ZEROCOPY, "zerocopy") /* MSG_ZEROCOPY; back to COPY where the kernel copies after all */

enum tl_send_path {
#define TL_SEND_PATH_ENUM(name, text) TL_SEND_##name,
    TL_SEND_PATH_MAP(TL_SEND_PATH_ENUM)
#undef TL_SEND_PATH_ENUM
        TL_SEND_PATH_COUNT
};

struct tl_wire_test_tcp {
    enum tl_wire_direction direction;
    bool discard;                 /* the responder drops what it receives without a copy */
    uint16_t streams;             /* each way; clamped, READY says how many */
    uint32_t duration_ms;         /* clamped: TL_LIMIT_DURATION_MS */
    uint64_t max_bytes;           /* all streams together, 0: no cap of the client's own */
    uint32_t rcvbuf_bytes;        /* SO_RCVBUF at the responder, 0: kernel's own (autotuned) */
    uint32_t sndbuf_bytes;        /* SO_SNDBUF likewise */
    uint64_t pacing_bps;          /* all streams together, 0: none */
    uint32_t sample_interval_us;  /* clamped: TL_LIMIT_SAMPLE_INTERVAL_US */
    uint8_t dscp;                 /* of what the responder sends, 0 to 63; 0: its own */
    uint8_t send_path;            /* enum tl_send_path of engine/stream.h, at the responder */
    uint32_t notsent_lowat_bytes; /* TCP_NOTSENT_LOWAT at the responder, 0: its own */
    char congestion[TL_WIRE_NAME_SIZE]; /* "" = the host's own; [a-z0-9_-] */
};

struct tl_wire_ready {
    uint32_t test_id; /* not 0 */
    uint16_t streams; /* each way, at most as many as asked for */
    uint32_t duration_ms;
    uint64_t max_bytes;
    uint64_t pacing_bps;
    uint32_t sample_interval_us;
    char congestion[TL_WIRE_NAME_SIZE]; /* in effect at the responder */
};

struct tl_wire_busy {
    uint16_t place;   /* 1 = next */
    uint32_t wait_ms; /* at most that long, as far as is known */
};

struct tl_wire_data_hello {
    uint16_t version;
    uint16_t stream; /* connection 0, 1 ..., each once */
    uint32_t test_id;
    struct tl_wire_token token;
};

/* The same from a responder that a client told to dial. */
struct tl_wire_peer_hello {
    struct tl_wire_data_hello hello;
};

/* A test between two responders: the client has READY of both, and tells one of them where the
 * other one is and what it will ask to see. Keyed sessions only, and only between responders
 * whose administrators have named one another. */
struct tl_wire_dial {
    uint32_t test_id;                /* of the responder that is told */
    uint32_t peer_test_id;           /* of the one that it dials */
    struct tl_wire_token peer_token; /* of the client's session there */
    uint8_t peer_address[16];        /* IPv4 as ::ffff:a.b.c.d */
    uint16_t peer_port;
};

struct tl_wire_dialled {
    uint32_t test_id;
};

struct tl_wire_data_ok {
    uint32_t test_id;
    uint16_t stream;
};

struct tl_wire_start {
    uint32_t test_id;
};

struct tl_wire_started {
    uint32_t test_id;
    uint64_t responder_ns; /* its CLOCK_MONOTONIC: time 0 of its samples */
};

struct tl_wire_stop {
    uint32_t test_id;
};

/* reason, number */
#define TL_WIRE_END_MAP(X)                                                                         \
    X(TIME, 0)    /* the granted time is over */                                                   \
    X(BYTES, 1)   /* the granted bytes are moved */                                                \
    X(STOPPED, 2) /* STOP came */                                                                  \
    X(CLOSED, 3)  /* the client closed or reset a data connection early */                         \
    X(UNHEARD, 4) /* the client's kernel took data but the client said nothing for 1 s */          \
    X(FAILED, 5)  /* a socket of the responder failed; ETIMEDOUT, all of them */                   \
    X(REBOUND, 6) /* the client's datagrams came from another address than proved itself */

enum tl_wire_end_reason {
#define TL_WIRE_END_ENUM(name, number) TL_WIRE_END_##name = number,
    TL_WIRE_END_MAP(TL_WIRE_END_ENUM)
#undef TL_WIRE_END_ENUM
};

struct tl_wire_stream_total {
    uint64_t bytes;        /* payload moved by the responder's application */
    uint64_t duration_ns;  /* from the test's time 0 to its last byte */
    uint64_t cpu_ns;       /* of the thread that moved it */
    uint64_t run_delay_ns; /* that thread waited for a processor that long */
};

/* As many frames as the totals need; the test has ended with the one that has the last
 * connection's. What does not concern single streams is the same in each. */
struct tl_wire_test_end {
    struct tl_wire_token token; /* of the session: proof that this is an end, not a break */
    uint32_t test_id;
    uint8_t reason;    /* enum tl_wire_end_reason */
    uint8_t count;     /* totals here, 1 to TL_WIRE_TOTALS_MAX */
    uint16_t first;    /* connection of the first of them */
    uint16_t streams;  /* connections of the test */
    uint8_t send_path; /* enum tl_send_path in use at the responder, 0 where it sent nothing */
    bool discarded;    /* the responder dropped what it received without a copy */
    uint64_t duration_ns;
    uint32_t samples_dropped; /* readings not sent since the control connection was full */
    struct tl_wire_stream_total totals[TL_WIRE_TOTALS_MAX];
};

struct tl_wire_ping {
    uint64_t cookie; /* the sender's own business: its clock */
};

struct tl_wire_pong {
    uint64_t cookie;
    uint64_t answered_ns; /* CLOCK_MONOTONIC of who answers */
};

struct tl_wire_host_end {
    uint16_t records;
};

/* How a SYN looked when it came in (RFC 9293, 3.1; options RFC 7323, 2018, 7413, 8684). */
enum {
    TL_WIRE_SYN_MSS = 1,
    TL_WIRE_SYN_WSCALE = 2,
    TL_WIRE_SYN_SACK = 4,
    TL_WIRE_SYN_TIMESTAMPS = 8,
    TL_WIRE_SYN_FASTOPEN = 16,
    TL_WIRE_SYN_MPTCP = 32,
    TL_WIRE_SYN_OTHER = 64, /* an option that is none of these */
};

struct tl_wire_syn_query {
    uint16_t version;
    struct tl_wire_token token; /* of a live session */
};

/* One connection as the responder's kernel sees it. saved false: it keeps no SYN, and
 * everything up to window is 0. */
struct tl_wire_syn_report {
    bool saved;
    uint8_t traffic_class; /* DSCP and ECN of the packet */
    uint8_t ttl;           /* as it came */
    uint8_t tcp_flags;     /* SYN 0x02, ECE 0x40, CWR 0x80 */
    uint8_t options;       /* TL_WIRE_SYN_* */
    uint8_t wscale;        /* with TL_WIRE_SYN_WSCALE */
    uint16_t mss_bytes;    /* with TL_WIRE_SYN_MSS */
    uint16_t window;       /* as it stands in the header */
    uint16_t advmss_bytes; /* that the responder's kernel announces */
    uint16_t snd_mss_bytes;
    uint16_t pmtu_bytes;
    uint8_t negotiated;  /* TL_TCP_OPT_* of sample.h, the low byte of tcpi_options */
    uint64_t rtt_ns;     /* tcpi_rtt: of the handshake, at the responder's end; 0 = not known */
    uint8_t address[16]; /* of the client as the responder sees it, IPv4 as ::ffff:a.b.c.d */
    uint16_t port;
};

/* --- Disks: only where the responder's administrator opened a directory ------------ */

struct tl_wire_test_disk {
    uint8_t threads;      /* clamped: TL_LIMIT_DISK_THREADS */
    uint32_t duration_ms; /* of writing, and of reading; clamped: TL_LIMIT_DISK_MS */
    uint64_t max_bytes;   /* of each, 0: by time alone */
};

/* What went wrong with a disk, for people of another system too. */
enum tl_wire_disk_fault {
    TL_WIRE_DISK_FINE = 0,
    TL_WIRE_DISK_FULL = 1,
    TL_WIRE_DISK_QUOTA = 2,
    TL_WIRE_DISK_ERROR = 3
};

/* Of writing or reading; enums of engine/disk.h. Times -1 = not known. */
struct tl_wire_disk_times {
    uint8_t end, mode, cache, fault;
    uint8_t threads;
    uint64_t bytes, operations;
    int64_t p50_ns, p95_ns, p99_ns, max_ns, elapsed_ns, sync_ns;
    uint64_t cpu_ns;
    double rate_bps, low_bps, high_bps; /* finite; all three 0 where nothing was moved */
};

struct tl_wire_disk_result {
    struct tl_wire_token token; /* of the session, as in TEST_END */
    uint8_t direct;             /* 0 or 1 */
    uint64_t area_bytes, free_bytes;
    struct tl_wire_disk_times write, read;
};

#define TL_WIRE_FILE_DISK 1u /* the responder reads from its disk, or writes to it */

struct tl_wire_test_file {
    uint8_t flags;   /* TL_WIRE_FILE_* */
    uint8_t threads; /* of the disk; clamped */
    struct tl_wire_test_tcp tcp;
};

#define TL_WIRE_SUMS_MAX 256

struct tl_wire_sum {
    uint32_t block; /* number in its stream */
    uint32_t bytes; /* 1 to TL_TRANSFER_BLOCK_BYTES */
    uint32_t crc;   /* CRC32C of them */
};

struct tl_wire_sums {
    uint32_t test_id;
    uint16_t stream;
    uint16_t count; /* 1 to TL_WIRE_SUMS_MAX */
    struct tl_wire_sum sums[TL_WIRE_SUMS_MAX];
};

struct tl_wire_file_end {
    uint32_t test_id;
    uint8_t disk; /* 0 or 1: it used its disk */
    uint8_t fault;
    uint64_t disk_bytes, disk_ns, wait_ns; /* as struct tl_transfer_side */
};

#define TL_WIRE_MESSAGE_MAP(X)                                                                     \
    X(hello, HELLO)                                                                                \
    X(welcome, WELCOME)                                                                            \
    X(error, ERROR)                                                                                \
    X(test_tcp, TEST_TCP)                                                                          \
    X(ready, READY)                                                                                \
    X(busy, BUSY)                                                                                  \
    X(data_hello, DATA_HELLO)                                                                      \
    X(data_ok, DATA_OK)                                                                            \
    X(start, START)                                                                                \
    X(started, STARTED)                                                                            \
    X(stop, STOP)                                                                                  \
    X(test_end, TEST_END)                                                                          \
    X(ping, PING)                                                                                  \
    X(pong, PONG)                                                                                  \
    X(test_disk, TEST_DISK)                                                                        \
    X(disk_result, DISK_RESULT)                                                                    \
    X(test_file, TEST_FILE)                                                                        \
    X(sums, SUMS)                                                                                  \
    X(file_end, FILE_END)                                                                          \
    X(host_end, HOST_END)                                                                          \
    X(syn_query, SYN_QUERY)                                                                        \
    X(syn_report, SYN_REPORT)                                                                      \
    X(dial, DIAL)                                                                                  \
    X(dialled, DIALLED)                                                                            \
    X(peer_hello, PEER_HELLO)

/* size_t tl_wire_encode_hello(const struct tl_wire_hello *msg, uint8_t ret_frame[…]);
 * enum tl_status tl_wire_decode_hello(const uint8_t *payload, size_t len,
 *                                     struct tl_wire_hello *ret_msg, struct tl_error *reterr);
 * and so for each of the list above. */
#define TL_WIRE_PROTOTYPES(name, NAME)                                                             \
    size_t tl_wire_encode_##name(const struct tl_wire_##name *msg,                                 \
                                 uint8_t ret_frame[TL_WIRE_FRAME_MAX]);                            \
    enum tl_status tl_wire_decode_##name(const uint8_t *payload, size_t len,                       \
                                         struct tl_wire_##name *ret_msg, struct tl_error *reterr)  \
        TL_WARN_UNUSED;
TL_WIRE_MESSAGE_MAP(TL_WIRE_PROTOTYPES)
#undef TL_WIRE_PROTOTYPES

/* HOST_QUERY and BYE have no payload. */
size_t tl_wire_encode_empty(enum tl_wire_type type, uint8_t ret_frame[TL_WIRE_FRAME_MAX]);

#endif
