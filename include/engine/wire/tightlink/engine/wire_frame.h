/* What every frame of the wire has: sizes, types, the token of a session. See wire.h. */
#ifndef TL_ENGINE_WIRE_FRAME_H
#define TL_ENGINE_WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

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
    X(SYN_REPORT, 31) /* responder, last frame on that connection */                               \
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

#endif
