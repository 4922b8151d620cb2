/* The messages between tightlink and tightlinkd: one struct, one encoder and
 * one decoder each. doc/wire.md is the same for readers of other languages.
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
 * any byte, and pass through the sanitiser before a terminal sees them. */
#ifndef TL_ENGINE_WIRE_H
#define TL_ENGINE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

struct tl_tcp_sample;           /* engine/sample.h */
struct tl_host_settings;        /* host/host.h */
struct tl_host_disk;            /* host/disk.h */
struct tl_cpu_usage;            /* host/cpu.h */
struct tl_host_counters_growth; /* host/counters.h */

#define TL_WIRE_PORT        5411
#define TL_WIRE_VERSION     1
#define TL_WIRE_HEADER_SIZE 4
#define TL_WIRE_FRAME_MAX   4096
#define TL_WIRE_PAYLOAD_MAX (TL_WIRE_FRAME_MAX - TL_WIRE_HEADER_SIZE)
#define TL_WIRE_TOKEN_SIZE  16
#define TL_WIRE_TEXT_SIZE   32 /* version texts, with their NUL */
#define TL_WIRE_NAME_SIZE   16 /* a congestion control, with its NUL (TCP_CA_NAME_MAX) */
#define TL_WIRE_ERROR_SIZE  256
#define TL_WIRE_STREAMS_MAX 128 /* data connections of a test, both directions together */
#define TL_WIRE_TOTALS_MAX  64  /* of streams in one TEST_END */

/* type, number, name */
#define TL_WIRE_TYPE_MAP(X)                                                                        \
    X(HELLO, 1)       /* client, first frame of a control connection */                            \
    X(WELCOME, 2)     /* responder, its answer */                                                  \
    X(ERROR, 3)       /* either; the connection closes behind it unless the code says otherwise */ \
    X(HOST_QUERY, 4)  /* client: what is your host? */                                             \
    X(HOST, 5)        /* responder: records of the host, as many frames as needed */               \
    X(HOST_END, 6)    /* responder: no more of them */                                             \
    X(TEST_TCP, 7)    /* client asks for a test */                                                 \
    X(READY, 8)       /* responder grants it; open the data connections now */                     \
    X(BUSY, 9)        /* responder: you are queued; READY follows by itself */                     \
    X(DATA_HELLO, 10) /* client, first frame of a data connection */                               \
    X(DATA_OK, 11)    /* responder, last frame on a data connection */                             \
    X(START, 12)      /* client: all streams are open, go */                                       \
    X(STARTED, 13)    /* responder: the test's clock runs from here */                             \
    X(SAMPLES, 14)    /* responder, during the test: readings of one stream at its end */          \
    X(READINGS, 15)   /* responder: records of CPU and counters before and after a test */         \
    X(STOP, 16)       /* client ends the test early */                                             \
    X(TEST_END, 17)   /* responder: totals; carries the session token. No TEST_END: not valid */   \
    X(PING, 18)       /* either, answered by PONG; the client sends one every 250 ms or faster */  \
    X(PONG, 19)                                                                                    \
    X(BYE, 20)         /* client leaves */                                                         \
    X(TEST_UDP, 21)    /* client asks for a UDP test: engine/udp_wire.h, as are the next three */  \
    X(UDP_START, 22)   /* client: go, with the tuple that proved itself */                         \
    X(UDP_REPORT, 23)  /* either: what it sent or received */                                      \
    X(UDP_SERIES, 24)  /* responder: the same over time, or train by train */                      \
    X(TEST_DISK, 25)   /* client asks for a test of the far end's disk */                          \
    X(DISK_RESULT, 26) /* responder: what its disk can do */                                       \
    X(TEST_FILE, 27) /* client asks for a TEST_TCP whose payload is checked, and may be on disk */ \
    X(SUMS, 28)      /* responder, during such a test: checksums of blocks at its end */           \
    X(FILE_END, 29)  /* responder, before TEST_END: what its disk did */                           \
    X(SYN_QUERY, 30) /* client, alone on a connection of its own: how did its SYN arrive? */       \
    X(SYN_REPORT, 31) /* responder, last frame on that connection */ \
    X(DIAL, 34)       /* client: open the data connections of this test to another responder */    \
    X(DIALLED, 35)    /* responder: they are open */                                               \
    X(PEER_HELLO, 36) /* responder, in DATA_HELLO's place on a connection that it dialled */

enum tl_wire_type {
#define TL_WIRE_TYPE_ENUM(name, number) TL_WIRE_##name = number,
    TL_WIRE_TYPE_MAP(TL_WIRE_TYPE_ENUM)
#undef TL_WIRE_TYPE_ENUM
};

/* "HELLO"; "?" for a number without a name. */
const char *tl_wire_type_name(unsigned type);

/* One frame inside a receive buffer; valid as long as the buffer. */
struct tl_wire_frame {
    unsigned type;          /* as sent: may be a number without a name */
    const uint8_t *payload; /* not NULL */
    size_t payload_len;
    size_t frame_len; /* header and payload: what to consume */
};

/* Looks for a frame at the head of a receive buffer. TL_OK with frame_len 0 says
 * that more bytes are needed; TL_PROTOCOL that no frame of ours begins here (told
 * as early as the bytes allow). */
enum tl_status tl_wire_peek(const uint8_t *bytes, size_t len, struct tl_wire_frame *ret_frame,
                            struct tl_error *reterr) TL_WARN_UNUSED;

struct tl_wire_token {
    uint8_t bytes[TL_WIRE_TOKEN_SIZE];
};

/* In constant time. */
bool tl_wire_token_equal(const struct tl_wire_token *a, const struct tl_wire_token *b);

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
    X(FAILED, 5)  /* a socket of the responder failed, ETIMEDOUT included */                       \
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

/* --- Records: payload of HOST and READINGS ------------------------------------
 * HOST is records alone, READINGS has a head in front. A record names itself, so
 * that either end may know fields that the other does not; unknown names are
 * skipped by the reader. Names are [a-z0-9_.-], those of HOST are host.h's. */
enum tl_wire_record_kind {
    TL_WIRE_RECORD_NUMBER = 1,  /* IEEE 754 double, finite, in the unit of the name */
    TL_WIRE_RECORD_TEXT = 2,    /* printable ASCII */
    TL_WIRE_RECORD_UNKNOWN = 3, /* one byte: enum tl_host_why, never KNOWN */
};

#define TL_WIRE_RECORD_NAME_SIZE 64
#define TL_WIRE_RECORD_TEXT_SIZE 128
#define TL_WIRE_RECORDS_MAX      1024 /* per HOST answer or READINGS phase; the reader stops there */

struct tl_wire_record {
    enum tl_wire_record_kind kind;
    uint8_t why; /* UNKNOWN; may be a reason that this program does not know */
    char name[TL_WIRE_RECORD_NAME_SIZE];
    double number;
    char text[TL_WIRE_RECORD_TEXT_SIZE];
};

/* A frame being filled with records or samples. */
struct tl_wire_writer {
    uint8_t *frame;  /* TL_WIRE_FRAME_MAX bytes of the caller */
    size_t len;      /* so far, header included */
    size_t count_at; /* where the count byte is, 0 = none */
};

/* Adds one; false when it does not fit any more (send this frame, begin another). */
bool tl_wire_record_add(struct tl_wire_writer *writer, const struct tl_wire_record *record);

/* Closes the frame: fills the length in and returns it. */
size_t tl_wire_writer_end(struct tl_wire_writer *writer);

void tl_wire_host_begin(struct tl_wire_writer *writer, uint8_t ret_frame[TL_WIRE_FRAME_MAX]);

/* Version 1 sends AFTER alone, between the last SAMPLES and TEST_END: what happened during
 * the test, names of processor records being "cpu." and a name of cpu.h. */
enum tl_wire_phase { TL_WIRE_BEFORE, TL_WIRE_AFTER };

struct tl_wire_readings {
    uint32_t test_id;
    enum tl_wire_phase phase;
    uint64_t taken_ns; /* responder's CLOCK_MONOTONIC */
};

void tl_wire_readings_begin(struct tl_wire_writer *writer, const struct tl_wire_readings *head,
                            uint8_t ret_frame[TL_WIRE_FRAME_MAX]);

/* Reads the head and leaves the cursor at the first record. */
struct tl_wire_cursor {
    const uint8_t *at, *end;
};
enum tl_status tl_wire_decode_readings(const uint8_t *payload, size_t len,
                                       struct tl_wire_readings *ret_head,
                                       struct tl_wire_cursor *ret_cursor,
                                       struct tl_error *reterr) TL_WARN_UNUSED;

/* The next record of HOST ({payload, payload + len}) or READINGS; false in *ret_more
 * at the end. */
enum tl_status tl_wire_record_next(struct tl_wire_cursor *cursor, struct tl_wire_record *ret_record,
                                   bool *ret_more, struct tl_error *reterr) TL_WARN_UNUSED;

/* Host settings as records: index 0 .. tl_wire_host_record_count() - 1 walks both tables
 * of host.h. The client stores each record that came; false when the name is not known
 * here or the kind does not fit the row, which is no error. */
unsigned tl_wire_host_record_count(void);
void tl_wire_host_record(const struct tl_host_settings *settings, unsigned index,
                         struct tl_wire_record *ret_record);
bool tl_wire_host_store(struct tl_host_settings *settings, const struct tl_wire_record *record);

/* The same for the processor time of a test. The client begins with every value unknown,
 * NOT_READ. "cpu.elapsed_ns" is the last one. */
unsigned tl_wire_cpu_record_count(void);
void tl_wire_cpu_record(const struct tl_cpu_usage *usage, unsigned index,
                        struct tl_wire_record *ret_record);
bool tl_wire_cpu_store(struct tl_cpu_usage *usage, const struct tl_wire_record *record);

/* The same for what the kernel counted during a test, "net.softnet_dropped_count" and so on.
 * Counters that are not open become WITHHELD where open_mode is set. */
unsigned tl_wire_counters_record_count(void);
void tl_wire_counters_record(const struct tl_host_counters_growth *growth, unsigned index,
                             bool open_mode, struct tl_wire_record *ret_record);
bool tl_wire_counters_store(struct tl_host_counters_growth *growth,
                            const struct tl_wire_record *record);

/* The same for what is under the far end's directory, "disk." and a name of host/disk.h; sent in
 * HOST frames before DISK_RESULT. */
unsigned tl_wire_disk_record_count(void);
void tl_wire_disk_record(const struct tl_host_disk *disk, unsigned index,
                         struct tl_wire_record *ret_record);
bool tl_wire_disk_store(struct tl_host_disk *disk, const struct tl_wire_record *record);

/* --- Samples ----------------------------------------------------------------------
 * SAMPLES carries readings of one stream in the order of time. */
struct tl_wire_samples {
    uint32_t test_id;
    uint16_t stream;
    uint8_t count; /* set by the decoder */
};

#define TL_WIRE_SAMPLES_MAX 32 /* per frame; fewer fit */

void tl_wire_samples_begin(struct tl_wire_writer *writer, const struct tl_wire_samples *head,
                           uint8_t ret_frame[TL_WIRE_FRAME_MAX]);
bool tl_wire_sample_add(struct tl_wire_writer *writer, const struct tl_tcp_sample *sample);
/* ret_samples has room for TL_WIRE_SAMPLES_MAX. */
enum tl_status tl_wire_decode_samples(const uint8_t *payload, size_t len,
                                      struct tl_wire_samples *ret_head,
                                      struct tl_tcp_sample *ret_samples,
                                      struct tl_error *reterr) TL_WARN_UNUSED;

/* --- UDP (same port number) ---------------------------------------------------------
 * A datagram is a 4-byte magic, a type, and a fixed layout. No answer is longer than
 * its question; only UDP_HELLO with the token of a live session, from the address of
 * its control connection, is answered at all; probes are answered only to a tuple that
 * echoed its challenge. */
#define TL_WIRE_UDP_HELLO_SIZE   64
#define TL_WIRE_UDP_PROBE_SIZE   48 /* smallest probe and answer: the head alone */
#define TL_WIRE_UDP_DATAGRAM_MAX 9216

enum tl_wire_udp_type {
    TL_WIRE_UDP_HELLO = 1,        /* client: session token */
    TL_WIRE_UDP_CHALLENGE = 2,    /* responder: 128 bits for this tuple alone */
    TL_WIRE_UDP_PROVE = 3,        /* client: token and challenge */
    TL_WIRE_UDP_PROVEN = 4,       /* responder: this tuple may probe */
    TL_WIRE_UDP_PROBE = 5,        /* client */
    TL_WIRE_UDP_REPLY = 6,        /* responder */
    TL_WIRE_UDP_DATA = 7,         /* sender of a UDP test: engine/udp_wire.h */
    TL_WIRE_UDP_FEEDBACK = 8,     /* its receiver */
    TL_WIRE_UDP_PATH_PROBE = 30,  /* client: a datagram of given size, class and TTL */
    TL_WIRE_UDP_PATH_ANSWER = 31, /* responder: one of the size, class and TTL asked for */
    TL_WIRE_UDP_PATH_REPORT = 32, /* responder: what became of an answer, as routers told */
};

/* HELLO, CHALLENGE, PROVE and PROVEN: 64 bytes each, unused parts zero. */
struct tl_wire_udp_prove {
    uint8_t type;
    struct tl_wire_token token;     /* HELLO and PROVE; zero in what the responder sends */
    struct tl_wire_token challenge; /* CHALLENGE and PROVE and PROVEN */
};

struct tl_wire_udp_probe {
    uint8_t type;         /* PROBE or REPLY */
    uint16_t reply_bytes; /* PROBE: wished length of the answer, 48 .. own length, 0 = own */
    uint64_t cookie;      /* tl_wire_udp_cookie() of the challenge: who probes knows it */
    uint32_t sequence;
    uint64_t client_ns;      /* client's clock at sending, back in the answer */
    uint64_t receive_ns;     /* REPLY: responder's CLOCK_REALTIME when the datagram came */
    uint32_t held_ns;        /* REPLY: from then until it was answered */
    uint16_t received_bytes; /* REPLY: length of the probe as it came */
    uint32_t damaged_count;  /* REPLY: probes of this tuple so far whose CRC did not fit */
};

uint64_t tl_wire_udp_cookie(const struct tl_wire_token *challenge);

size_t tl_wire_encode_udp_prove(const struct tl_wire_udp_prove *msg,
                                uint8_t ret_datagram[TL_WIRE_UDP_HELLO_SIZE]);
enum tl_status tl_wire_decode_udp_prove(const uint8_t *datagram, size_t len,
                                        struct tl_wire_udp_prove *ret_msg,
                                        struct tl_error *reterr) TL_WARN_UNUSED;

/* Writes the head at datagram[0..47]; the caller pads behind it up to len (>= 48) with
 * what it likes before the call: the CRC32C (RFC 3720 B.4) over all len bytes goes into
 * the head. */
void tl_wire_seal_udp_probe(const struct tl_wire_udp_probe *msg, uint8_t *datagram, size_t len);
/* *ret_intact is false when the CRC does not fit: damaged on the way, fields not to be used. */
enum tl_status tl_wire_decode_udp_probe(const uint8_t *datagram, size_t len,
                                        struct tl_wire_udp_probe *ret_msg, bool *ret_intact,
                                        struct tl_error *reterr) TL_WARN_UNUSED;

/* --- UDP: datagrams of given size, class and reach (path MTU, hops) --------------------
 * A proven tuple may ask for an answer longer than its question (P4 bounds what goes to an
 * unproven one); limits.h bounds how many a second. Packets of the answer that die on the
 * way are reported to the tuple when a router says so to the responder. */
#define TL_WIRE_UDP_PATH_SIZE   48 /* smallest probe and answer */
#define TL_WIRE_UDP_REPORT_SIZE 64

struct tl_wire_udp_path_probe {
    uint64_t cookie;
    uint32_t sequence;
    uint64_t client_ns;    /* back in the answer */
    uint16_t answer_bytes; /* UDP payload of the answer, 48 to 9216; 0 = 48 */
    uint8_t answer_class;  /* traffic class of the answer */
    uint8_t answer_ttl;    /* 0: the kernel's own */
    bool silent;           /* no answer wanted: the probe is only to die on the way */
};

struct tl_wire_udp_path_answer {
    uint64_t cookie;
    uint32_t sequence;
    uint64_t client_ns;
    uint64_t receive_ns;   /* responder's CLOCK_REALTIME when the probe came */
    uint32_t held_ns;      /* from then until the answer left */
    uint16_t probe_bytes;  /* UDP payload of the probe as it came */
    uint16_t answer_bytes; /* of this answer as it left */
    bool class_known, ttl_known;
    uint8_t probe_class, probe_ttl; /* of the probe as it came */
};

enum tl_wire_udp_report_kind {
    TL_WIRE_UDP_REPORT_LOCAL = 1,  /* longer than the responder's interface takes */
    TL_WIRE_UDP_REPORT_ROUTER = 2, /* an ICMP message came */
};

struct tl_wire_udp_path_report {
    uint64_t cookie;
    uint32_t sequence;
    enum tl_wire_udp_report_kind kind;
    uint16_t mtu_bytes; /* 0: not told */
    uint8_t icmp_type, icmp_code;
    uint32_t delay_ns;   /* from the answer's leaving to the report's coming; 0 = not known */
    uint8_t address[16]; /* who reported, IPv4 as ::ffff:a.b.c.d */
};

/* As tl_wire_seal_udp_probe: the caller pads up to len before the call. */
void tl_wire_seal_udp_path_probe(const struct tl_wire_udp_path_probe *msg, uint8_t *datagram,
                                 size_t len);
void tl_wire_seal_udp_path_answer(const struct tl_wire_udp_path_answer *msg, uint8_t *datagram,
                                  size_t len);
void tl_wire_seal_udp_path_report(const struct tl_wire_udp_path_report *msg,
                                  uint8_t ret_datagram[TL_WIRE_UDP_REPORT_SIZE]);
/* TL_PROTOCOL for what is none, or was damaged on the way; TL_RANGE. */
enum tl_status tl_wire_decode_udp_path_probe(const uint8_t *datagram, size_t len,
                                             struct tl_wire_udp_path_probe *ret_msg,
                                             struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_wire_decode_udp_path_answer(const uint8_t *datagram, size_t len,
                                              struct tl_wire_udp_path_answer *ret_msg,
                                              struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_wire_decode_udp_path_report(const uint8_t *datagram, size_t len,
                                              struct tl_wire_udp_path_report *ret_msg,
                                              struct tl_error *reterr) TL_WARN_UNUSED;
/* The cookie and sequence of a probe or answer of which only the first bytes are left, as a
 * router quotes them: *ret_sent_ns is receive_ns + held_ns of an answer, 0 where it is cut off
 * or for a probe. False when even these are missing. Nothing is checked but the magic. */
bool tl_wire_udp_path_quote(const uint8_t *bytes, size_t len, uint64_t *ret_cookie,
                            uint32_t *ret_sequence, uint64_t *ret_sent_ns);

/* The type of a datagram, 0 when it is none of ours. */
unsigned tl_wire_udp_type(const uint8_t *datagram, size_t len);

#endif
