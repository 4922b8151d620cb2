/* Datagrams that prove a tuple and probe a path. See wire.h, which includes this. */
#ifndef TL_ENGINE_WIRE_DATAGRAM_H
#define TL_ENGINE_WIRE_DATAGRAM_H

#include "tightlink/engine/wire_frame.h"

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
    uint64_t seal;                  /* of what is in front of it; 0: not sealed */
};
#define TL_WIRE_UDP_PROOF_SEALED 40 /* bytes in front of the seal */

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
