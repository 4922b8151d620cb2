/* One table for every number that comes from outside, and for every amount
 * that a peer can make grow. doc/wire.md prints the same table; a unit test
 * compares the two.
 *
 * Nothing here allocates, locks or fails: pure functions over a constant table. */
#ifndef TL_ENGINE_LIMITS_H
#define TL_ENGINE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* id, name as printed, smallest, largest, value meant by 0.
 * For the amounts that only this program chooses (sessions, deadlines, tables)
 * smallest and largest bound what an administrator may set. */
#define TL_LIMIT_MAP(X)                                                                            \
    X(DURATION_MS, "test duration, ms", 100, 60000, 10000)                                         \
    X(STREAMS, "streams per test", 1, 128, 1)                                                      \
    X(STREAMS_GRANTED, "streams per test unless the administrator says otherwise", 1, 128, 32)     \
    X(TEST_BYTES, "bytes per test", 1, INT64_C(1) << 44, INT64_C(1) << 44)                         \
    X(BUFFER_BYTES, "socket buffer, bytes (0: kernel's own)", 2048, 1 << 29, 0)                    \
    X(PACING_BPS, "pacing rate, bit/s (0: none)", 8000, INT64_C(1000000000000), 0)                 \
    X(NOTSENT_BYTES, "unsent data in the socket, bytes (0: the host's)", 4096, 1 << 30, 0)         \
    X(SAMPLE_INTERVAL_US, "sample interval, us", 10000, 100000, 50000)                             \
    X(SESSIONS, "sessions in all", 1, 1024, 64)                                                    \
    X(SESSIONS_PER_PEER, "sessions per IPv4 address or IPv6 /64", 1, 64, 2)                        \
    X(HALF_OPEN, "unproven connections", 64, 65536, 16384)                                         \
    X(HANDSHAKES, "TLS handshakes at once", 1, 1024, 64)                                           \
    X(ACCEPT_BURST, "accepts at once per /24 or /56", 1, 65536, 16384)                             \
    X(ACCEPT_RATE, "accepts per second per /24 or /56", 1, 65536, 500)                             \
    X(ACCEPT_PREFIXES, "prefixes remembered for that", 64, 65536, 4096)                            \
    X(HELLO_MS, "deadline of the first message, ms", 100, 3000, 3000)                              \
    X(STATE_MS, "deadline of each state, ms", 100, 5000, 5000)                                     \
    X(SILENT_MS, "deadline of a silent peer, ms", 100, 5000, 5000)                                 \
    X(GRACE_MS, "hard end after the granted time, ms", 100, 5000, 5000)                            \
    X(IDLE_MS, "session without a test, ms", 1000, 600000, 120000)                                 \
    X(EVICT_MS, "silence from which a full table takes a session's place, ms", 100, 5000, 1000)    \
    X(UNHEARD_MS, "sending on without the client's feedback, ms", 100, 1000, 1000)                 \
    X(QUEUE_WAIT_MS, "longest wait announced by BUSY, ms", 1, 3600000, 60000)                      \
    X(HOST_QUERIES, "host queries per session", 1, 1000, 32)                                       \
    X(OUTPUT_BYTES, "control output waiting per session, bytes", 8192, 1 << 20, 65536)             \
    X(UDP_TUPLES, "UDP tuples per session", 1, 16, 4)                                              \
    X(UDP_PROBES_PER_S, "UDP probes answered per session and second", 10, 100000, 5000)            \
    X(UDP_PATH_PER_S, "path answers per session and second", 10, 1000, 400)                        \
    X(UDP_DATAGRAM_BYTES, "UDP datagram, payload bytes", 48, 9216, 9216)                           \
    X(DISK_MS, "disk test, of writing and of reading, ms", 100, 20000, 3000)                       \
    X(DISK_THREADS, "threads of a disk test", 1, 16, 4)                                            \
    X(DISK_STREAMS, "streams of a test with a disk", 1, 8, 1)                                      \
    X(RATE_CAP_BPS, "administrator's rate cap, bit/s (0: none)", 8000, INT64_C(1000000000000), 0)  \
    X(DAILY_QUOTA_BYTES, "administrator's daily quota, bytes (0: none)", 1, INT64_C(1) << 60, 0)

enum tl_limit {
#define TL_LIMIT_ENUM(id, name, min, max, standard) TL_LIMIT_##id,
    TL_LIMIT_MAP(TL_LIMIT_ENUM)
#undef TL_LIMIT_ENUM
        TL_LIMIT_COUNT
};

/* What may leave at once, at the line's rate, under a responder's rate cap: as much as the cap
 * carries in this time. A train or burst of datagrams that is longer is refused. */
#define TL_RATE_CAP_BURST_NS INT64_C(250000000)

struct tl_limit_row {
    const char *id;   /* "DURATION_MS" */
    const char *name; /* for people, with the unit */
    int64_t min, max;
    int64_t standard; /* what 0 asks for; 0 itself where nothing is asked for */
};

/* The row of a limit; never NULL for a valid id. */
const struct tl_limit_row *tl_limit_row(enum tl_limit id);

/* What is granted for a number from outside: 0 gives the standard value, all
 * else is moved into [min, max]. Unsigned, so that a "negative" number of a
 * hostile peer is a huge one and ends at max. */
int64_t tl_limit_clamp(enum tl_limit id, uint64_t asked);

/* Whether a number is 0 or inside [min, max]: for what we refuse to believe
 * instead of moving it (a hostile responder's figures). */
bool tl_limit_holds(enum tl_limit id, uint64_t value);

#endif
