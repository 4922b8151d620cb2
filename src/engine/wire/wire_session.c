/* Messages of a session: hello to bye, and what is asked about a connection. */
#include <assert.h>

#include "wire_layout.h"

#define MAGIC CONST("TGHTLINK")

#define MSG tl_wire_hello
static const struct wire_field hello_fields[] = {
    MAGIC,
    VERSION(version, "version, 1. Another one gets ERROR VERSION whatever follows"),
    ZERO(2),
    BYTES(nonce, "nonce of the client's choice"),
    TEXT(program, "text: the client's program and version"),
    ZERO(28), /* as long as WELCOME: see wire.h */
};
WIRE_FRAME(hello, HELLO, NULL)
#undef MSG

#define MSG tl_wire_welcome
static const struct wire_field welcome_fields[] = {
    VERSION(version, "version, 1"),
    UINT(flags, 2, 0, TL_WIRE_WELCOME_KEYED,
         "flags: bit 0 = the responder runs with a key; others zero"),
    BYTES(token, "token of the session; tell it to nobody else"),
    BYTES(nonce, "the client's nonce"),
    UINT(max_seconds, 2, 1, 60, "longest test, seconds, 1 to 60"),
    LIMITED(max_streams, 2, 1, STREAMS, "most data connections of a test, 1 to 128"),
    LIMITED(rate_cap_bps, 8, 0, RATE_CAP_BPS, "administrator's rate cap, bit/s; 0 = none"),
    ANY(quota_left_bytes, 8, "bytes left of the daily quota; 2^64 - 1 = no quota"),
    TEXT(program, "text: the responder's program and version"),
};
WIRE_FRAME(welcome, WELCOME, NULL)
#undef MSG

#define MSG tl_wire_error
static const struct wire_field error_fields[] = {
    ANY(code, 2, "code"),
    REST(text, "a sentence in UTF-8, without zero bytes; clean it before a terminal sees it"),
};
WIRE_FRAME(error, ERROR, NULL)
#undef MSG

#define MSG tl_wire_ping
static const struct wire_field ping_fields[] = {ANY(cookie, 8, "of the client's choice")};
WIRE_FRAME(ping, PING, NULL)
#undef MSG

#define MSG tl_wire_pong
static const struct wire_field pong_fields[] = {
    ANY(cookie, 8, "as in PING"),
    ANY(answered_ns, 8, "responder's CLOCK_MONOTONIC, ns"),
};
WIRE_FRAME(pong, PONG, NULL)
#undef MSG

#define MSG tl_wire_host_end
static const struct wire_field host_end_fields[] = {
    UINT(records, 2, 0, TL_WIRE_RECORDS_MAX, "how many records there were"),
};
WIRE_FRAME(host_end, HOST_END, NULL)
#undef MSG

/* --- Data connections ----------------------------------------------------------------------- */

#define DATA_HELLO_FIELDS                                                                          \
    MAGIC, VERSION(version, "version, 1"),                                                         \
        UINT(stream, 2, 0, TL_WIRE_STREAMS_MAX - 1,                                                \
             "connection, 0, 1 ...: as many as streams were granted, twice as many for both "      \
             "ways; each once"),                                                                   \
        UINT(test_id, 4, 1, UINT32_MAX, "test id"), BYTES(token, "token of the session")

#define MSG tl_wire_data_hello
static const struct wire_field data_hello_fields[] = {DATA_HELLO_FIELDS};
static const struct wire_field peer_hello_fields[] = {DATA_HELLO_FIELDS};
#undef MSG
static_assert(sizeof(struct tl_wire_peer_hello) == sizeof(struct tl_wire_data_hello),
              "PEER_HELLO is laid out as DATA_HELLO");
WIRE_FRAME(data_hello, DATA_HELLO, NULL)
WIRE_FRAME(peer_hello, PEER_HELLO, NULL)

#define MSG tl_wire_data_ok
static const struct wire_field data_ok_fields[] = {
    UINT(test_id, 4, 1, UINT32_MAX, "test id"),
    UINT(stream, 2, 0, TL_WIRE_STREAMS_MAX - 1, "stream"),
    ZERO(2),
};
WIRE_FRAME(data_ok, DATA_OK, NULL)
#undef MSG

#define MSG tl_wire_dial
static const struct wire_field dial_fields[] = {
    UINT(test_id, 4, 1, UINT32_MAX, "test id of the responder that is told"),
    UINT(peer_test_id, 4, 1, UINT32_MAX, "test id of the responder to dial"),
    BYTES(peer_token, "token of the client's session there"),
    BYTES(peer_address, "its address; IPv4 as `::ffff:a.b.c.d`"),
    UINT(peer_port, 2, 1, UINT16_MAX, "its port"),
    ZERO(2),
};
WIRE_FRAME(dial, DIAL, NULL)
#undef MSG

#define MSG tl_wire_dialled
static const struct wire_field dialled_fields[] = {ANY(test_id, 4, "test id")};
WIRE_FRAME(dialled, DIALLED, NULL)
#undef MSG

/* --- A SYN ---------------------------------------------------------------------------------- */

#define MSG tl_wire_syn_query
static const struct wire_field syn_query_fields[] = {
    MAGIC,
    VERSION(version, "version, 1"),
    ZERO(6),
    BYTES(token, "token of the session"),
};
WIRE_FRAME(syn_query, SYN_QUERY, NULL)
#undef MSG

#define MSG tl_wire_syn_report
static const struct wire_field syn_report_fields[] = {
    FLAG(saved,
         "1: the SYN was kept as it came (TCP_SAVE_SYN); 0: it was not, and bytes 1 to 9 are zero"),
    ANY(traffic_class, 1, "traffic class of its packet"),
    ANY(ttl, 1, "its TTL or hop limit"),
    ANY(tcp_flags, 1, "flags of its TCP header: SYN 2, ECE 64, CWR 128"),
    ANY(options, 1,
        "options: bit 0 MSS, 1 window scale, 2 SACK permitted, 3 timestamps, 4 fast open, 5 MPTCP, "
        "6 any other"),
    ANY(wscale, 1, "window scale, with bit 1"),
    ANY(mss_bytes, 2, "MSS, with bit 0"),
    ANY(window, 2, "window"),
    ANY(advmss_bytes, 2, "MSS that the responder announced"),
    ANY(snd_mss_bytes, 2, "segment payload that the responder would send"),
    ANY(pmtu_bytes, 2, "path MTU as the responder's TCP knows it"),
    ANY(negotiated, 1, "what was negotiated at the responder's end, low byte of `tcpi_options`"),
    ZERO(7),
    UINT(rtt_ns, 8, 0, INT64_MAX,
         "round trip of the handshake at the responder's end, ns; 0 = not known"),
    BYTES(address, "the client's address as the responder sees it, IPv4 as `::ffff:a.b.c.d`"),
    ANY(port, 2, "its port"),
    ZERO(6),
};
WIRE_FRAME(syn_report, SYN_REPORT, NULL)
#undef MSG
