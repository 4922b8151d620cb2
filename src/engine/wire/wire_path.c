/* Datagrams of given size, class and reach, which measure the path itself. */
#include "wire_layout.h"

/* All three begin alike, so that a router's quote of the first bytes tells whose it is. */

#define MSG tl_wire_udp_path_probe
static const char *refuse_path_probe(const void *msg)
{
    uint16_t bytes = ((const struct MSG *)msg)->answer_bytes;
    bool fits = bytes == 0 || (bytes >= TL_WIRE_UDP_PATH_SIZE && bytes <= TL_WIRE_UDP_DATAGRAM_MAX);
    return fits ? NULL : "asks for an answer of a size that none has";
}

static const struct wire_field udp_path_probe_fields[] = {
    CONST("TLU1"),
    TYPE(TL_WIRE_UDP_PATH_PROBE),
    ANY(answer_class, 1, "traffic class that the answer shall have"),
    ANY(answer_bytes, 2, "UDP payload that the answer shall have, 48 to 9216; 0 = 48"),
    ANY(cookie, 8, "first half of the challenge"),
    ANY(sequence, 4, "sequence, of the client's choice, back in the answer"),
    CRC("CRC32C of the whole datagram with this field zero"),
    ANY(client_ns, 8, "client's clock at sending, back in the answer"),
    ANY(answer_ttl, 1, "TTL that the answer shall have; 0 = the kernel's own"),
    FLAG(silent, "1: no answer is wanted, the probe was only meant to die on the way"),
    ZERO(14),
};
WIRE_LAYOUT(udp_path_probe, TL_WIRE_UDP_PATH_PROBE, "PATH_PROBE", refuse_path_probe)
#undef MSG

void tl_wire_seal_udp_path_probe(const struct tl_wire_udp_path_probe *msg, uint8_t *datagram,
                                 size_t len)
{
    wire_seal_datagram(&wire_layout_udp_path_probe, msg, datagram, len);
}

enum tl_status tl_wire_decode_udp_path_probe(const uint8_t *datagram, size_t len,
                                             struct tl_wire_udp_path_probe *ret_msg,
                                             struct tl_error *reterr)
{
    struct tl_wire_udp_path_probe msg = {0};
    enum tl_status status =
        wire_open_datagram(&wire_layout_udp_path_probe, datagram, len, &msg, reterr);
    if (status == TL_OK)
        *ret_msg = msg;
    return status;
}

#define MSG tl_wire_udp_path_answer
static const struct wire_field udp_path_answer_fields[] = {
    CONST("TLU1"),
    TYPE(TL_WIRE_UDP_PATH_ANSWER),
    ANY(probe_class, 1, "traffic class of the probe as it came"),
    ANY(probe_bytes, 2, "UDP payload of the probe as it came"),
    ANY(cookie, 8, "as in the probe"),
    ANY(sequence, 4, "as in the probe"),
    CRC("CRC32C of the whole datagram with this field zero"),
    ANY(client_ns, 8, "as in the probe"),
    ANY(receive_ns, 8, "responder's CLOCK_REALTIME when the probe came, ns"),
    ANY(held_ns, 4, "from then until the answer left, ns"),
    ANY(probe_ttl, 1, "TTL of the probe as it came"),
    FLAGS(class_known, ttl_known,
          "bit 0: the traffic class was read; bit 1: the TTL was read; others zero"),
    ANY(answer_bytes, 2, "UDP payload of this answer"),
};
WIRE_LAYOUT(udp_path_answer, TL_WIRE_UDP_PATH_ANSWER, "PATH_ANSWER", NULL)
#undef MSG

void tl_wire_seal_udp_path_answer(const struct tl_wire_udp_path_answer *msg, uint8_t *datagram,
                                  size_t len)
{
    wire_seal_datagram(&wire_layout_udp_path_answer, msg, datagram, len);
}

enum tl_status tl_wire_decode_udp_path_answer(const uint8_t *datagram, size_t len,
                                              struct tl_wire_udp_path_answer *ret_msg,
                                              struct tl_error *reterr)
{
    struct tl_wire_udp_path_answer msg = {0};
    enum tl_status status =
        wire_open_datagram(&wire_layout_udp_path_answer, datagram, len, &msg, reterr);
    if (status == TL_OK && msg.answer_bytes != len)
        status = tl_error_set(reterr, TL_PROTOCOL, "a PATH_ANSWER is not as long as it says");
    if (status == TL_OK)
        *ret_msg = msg;
    return status;
}

#define MSG tl_wire_udp_path_report
static const struct wire_field udp_path_report_fields[] = {
    CONST("TLU1"),
    TYPE(TL_WIRE_UDP_PATH_REPORT),
    UINT(kind, 1, TL_WIRE_UDP_REPORT_LOCAL, TL_WIRE_UDP_REPORT_ROUTER,
         "1: the answer is longer than the responder's interface takes; 2: a router sent an ICMP "
         "message"),
    ANY(mtu_bytes, 2, "MTU that was reported, IP packet; 0 = none"),
    ANY(cookie, 8, "cookie of the answer"),
    ANY(sequence, 4, "sequence of the answer"),
    CRC("CRC32C of the 64 bytes with this field zero"),
    ANY(icmp_type, 1, "ICMP type"),
    ANY(icmp_code, 1, "ICMP code"),
    ZERO(2),
    ANY(delay_ns, 4, "from the answer's leaving to the message's coming, ns; 0 = not known"),
    BYTES(address, "who reported, IPv4 as `::ffff:a.b.c.d`"),
    ZERO(16),
};
WIRE_LAYOUT(udp_path_report, TL_WIRE_UDP_PATH_REPORT, "PATH_REPORT", NULL)
#undef MSG

void tl_wire_seal_udp_path_report(const struct tl_wire_udp_path_report *msg,
                                  uint8_t ret_datagram[TL_WIRE_UDP_REPORT_SIZE])
{
    wire_seal_datagram(&wire_layout_udp_path_report, msg, ret_datagram, TL_WIRE_UDP_REPORT_SIZE);
}

enum tl_status tl_wire_decode_udp_path_report(const uint8_t *datagram, size_t len,
                                              struct tl_wire_udp_path_report *ret_msg,
                                              struct tl_error *reterr)
{
    struct tl_wire_udp_path_report msg = {0};
    if (len != TL_WIRE_UDP_REPORT_SIZE)
        return tl_error_set(reterr, TL_PROTOCOL, "a datagram of %zu bytes is no PATH_REPORT", len);
    enum tl_status status =
        wire_open_datagram(&wire_layout_udp_path_report, datagram, len, &msg, reterr);
    if (status == TL_OK)
        *ret_msg = msg;
    return status;
}

bool tl_wire_udp_path_quote(const uint8_t *bytes, size_t len, uint64_t *ret_cookie,
                            uint32_t *ret_sequence, uint64_t *ret_sent_ns)
{
    struct wire_in in = {bytes, bytes + len, false};
    const uint8_t *head = get_bytes(&in, 8);
    uint64_t cookie = get_uint(&in, 8);
    uint32_t sequence = (uint32_t)get_uint(&in, 4);
    if (in.bad || memcmp(head, "TLU1", 4) != 0 ||
        (head[4] != TL_WIRE_UDP_PATH_PROBE && head[4] != TL_WIRE_UDP_PATH_ANSWER))
        return false;
    (void)get_bytes(&in, 12); /* CRC, the client's clock */
    uint64_t sent_ns = get_uint(&in, 8);
    sent_ns += get_uint(&in, 4);
    *ret_cookie = cookie;
    *ret_sequence = sequence;
    *ret_sent_ns = in.bad || head[4] != TL_WIRE_UDP_PATH_ANSWER ? 0 : sent_ns;
    return true;
}
