/* What measures the path itself: SYN_QUERY and SYN_REPORT, and the datagrams of given size,
 * class and reach. Layouts: doc/wire.md. */
#include "tightlink/engine/wire.h"

#include "wire_pack.h"

#define SYN_QUERY_SIZE  32
#define SYN_REPORT_SIZE 56

static const uint8_t magic[8] = {'T', 'G', 'H', 'T', 'L', 'I', 'N', 'K'};
static const uint8_t udp_magic[4] = {'T', 'L', 'U', '1'};

size_t tl_wire_encode_syn_query(const struct tl_wire_syn_query *msg,
                                uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_bytes(&out, magic, sizeof magic);
    put_uint(&out, msg->version, 2);
    put_zero(&out, 6);
    put_bytes(&out, msg->token.bytes, TL_WIRE_TOKEN_SIZE);
    return wire_seal_frame(ret_frame, TL_WIRE_SYN_QUERY, out.at);
}

enum tl_status tl_wire_decode_syn_query(const uint8_t *payload, size_t len,
                                        struct tl_wire_syn_query *ret_msg, struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = wire_open(payload, len, SYN_QUERY_SIZE, "SYN_QUERY", &in, reterr);
    if (status != TL_OK)
        return status;
    struct tl_wire_syn_query msg = {0};
    in.bad |= memcmp(get_bytes(&in, sizeof magic), magic, sizeof magic) != 0;
    msg.version = (uint16_t)get_uint(&in, 2);
    get_zero(&in, 6);
    memcpy(msg.token.bytes, get_bytes(&in, TL_WIRE_TOKEN_SIZE), TL_WIRE_TOKEN_SIZE);
    if (!in.bad && msg.version != TL_WIRE_VERSION)
        return tl_error_set(reterr, TL_VERSION, "SYN_QUERY speaks version %u, not %u", msg.version,
                            TL_WIRE_VERSION);
    status = wire_close(&in, "SYN_QUERY", reterr);
    if (status == TL_OK)
        *ret_msg = msg;
    return status;
}

size_t tl_wire_encode_syn_report(const struct tl_wire_syn_report *msg,
                                 uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->saved, 1);
    put_uint(&out, msg->traffic_class, 1);
    put_uint(&out, msg->ttl, 1);
    put_uint(&out, msg->tcp_flags, 1);
    put_uint(&out, msg->options, 1);
    put_uint(&out, msg->wscale, 1);
    put_uint(&out, msg->mss_bytes, 2);
    put_uint(&out, msg->window, 2);
    put_uint(&out, msg->advmss_bytes, 2);
    put_uint(&out, msg->snd_mss_bytes, 2);
    put_uint(&out, msg->pmtu_bytes, 2);
    put_uint(&out, msg->negotiated, 1);
    put_zero(&out, 7);
    put_uint(&out, msg->rtt_ns, 8);
    put_bytes(&out, msg->address, sizeof msg->address);
    put_uint(&out, msg->port, 2);
    put_zero(&out, 6);
    return wire_seal_frame(ret_frame, TL_WIRE_SYN_REPORT, out.at);
}

enum tl_status tl_wire_decode_syn_report(const uint8_t *payload, size_t len,
                                         struct tl_wire_syn_report *ret_msg,
                                         struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = wire_open(payload, len, SYN_REPORT_SIZE, "SYN_REPORT", &in, reterr);
    if (status != TL_OK)
        return status;
    struct tl_wire_syn_report msg = {0};
    uint64_t saved = get_uint(&in, 1);
    in.bad |= saved > 1;
    msg.saved = saved == 1;
    msg.traffic_class = (uint8_t)get_uint(&in, 1);
    msg.ttl = (uint8_t)get_uint(&in, 1);
    msg.tcp_flags = (uint8_t)get_uint(&in, 1);
    msg.options = (uint8_t)get_uint(&in, 1);
    msg.wscale = (uint8_t)get_uint(&in, 1);
    msg.mss_bytes = (uint16_t)get_uint(&in, 2);
    msg.window = (uint16_t)get_uint(&in, 2);
    msg.advmss_bytes = (uint16_t)get_uint(&in, 2);
    msg.snd_mss_bytes = (uint16_t)get_uint(&in, 2);
    msg.pmtu_bytes = (uint16_t)get_uint(&in, 2);
    msg.negotiated = (uint8_t)get_uint(&in, 1);
    get_zero(&in, 7);
    msg.rtt_ns = get_uint(&in, 8);
    memcpy(msg.address, get_bytes(&in, sizeof msg.address), sizeof msg.address);
    msg.port = (uint16_t)get_uint(&in, 2);
    get_zero(&in, 6);
    status = wire_close(&in, "SYN_REPORT", reterr);
    if (status == TL_OK && msg.rtt_ns > INT64_MAX)
        return tl_error_set(reterr, TL_RANGE, "SYN_REPORT has an impossible time");
    if (status == TL_OK)
        *ret_msg = msg;
    return status;
}

/* --- Datagrams ------------------------------------------------------------------------- */

/* All three begin alike: magic, type, a byte, a u16, cookie, sequence, CRC. */
static void put_head(struct wire_out *out, enum tl_wire_udp_type type, unsigned byte, unsigned word,
                     uint64_t cookie, uint32_t sequence)
{
    put_bytes(out, udp_magic, sizeof udp_magic);
    put_uint(out, type, 1);
    put_uint(out, byte, 1);
    put_uint(out, word, 2);
    put_uint(out, cookie, 8);
    put_uint(out, sequence, 4);
    put_zero(out, 4);
}

static void seal(uint8_t *datagram, size_t len)
{
    struct wire_out out = {datagram + WIRE_UDP_CRC_AT};
    put_uint(&out, wire_udp_crc(datagram, len), 4);
}

/* Magic, type, length and CRC; the cursor stands behind the type. */
static enum tl_status open_datagram(const uint8_t *datagram, size_t len, enum tl_wire_udp_type type,
                                    struct wire_in *ret_in, struct tl_error *reterr)
{
    if (tl_wire_udp_type(datagram, len) != type || len > TL_WIRE_UDP_DATAGRAM_MAX ||
        (type == TL_WIRE_UDP_PATH_REPORT && len != TL_WIRE_UDP_REPORT_SIZE))
        return tl_error_set(reterr, TL_PROTOCOL, "a datagram of %zu bytes is not what was wanted",
                            len);
    struct wire_in crc = {datagram + WIRE_UDP_CRC_AT, datagram + len, false};
    if ((uint32_t)get_uint(&crc, 4) != wire_udp_crc(datagram, len))
        return tl_error_set(reterr, TL_PROTOCOL, "a datagram was damaged on the way");
    *ret_in = (struct wire_in){datagram + 5, datagram + len, false};
    return TL_OK;
}

void tl_wire_seal_udp_path_probe(const struct tl_wire_udp_path_probe *msg, uint8_t *datagram,
                                 size_t len)
{
    struct wire_out out = {datagram};
    put_head(&out, TL_WIRE_UDP_PATH_PROBE, msg->answer_class, msg->answer_bytes, msg->cookie,
             msg->sequence);
    put_uint(&out, msg->client_ns, 8);
    put_uint(&out, msg->answer_ttl, 1);
    put_uint(&out, msg->silent, 1);
    put_zero(&out, 14);
    seal(datagram, len);
}

enum tl_status tl_wire_decode_udp_path_probe(const uint8_t *datagram, size_t len,
                                             struct tl_wire_udp_path_probe *ret_msg,
                                             struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = open_datagram(datagram, len, TL_WIRE_UDP_PATH_PROBE, &in, reterr);
    if (status != TL_OK)
        return status;
    struct tl_wire_udp_path_probe msg = {0};
    msg.answer_class = (uint8_t)get_uint(&in, 1);
    msg.answer_bytes = (uint16_t)get_uint(&in, 2);
    msg.cookie = get_uint(&in, 8);
    msg.sequence = (uint32_t)get_uint(&in, 4);
    (void)get_uint(&in, 4);
    msg.client_ns = get_uint(&in, 8);
    msg.answer_ttl = (uint8_t)get_uint(&in, 1);
    uint64_t silent = get_uint(&in, 1);
    msg.silent = silent == 1;
    get_zero(&in, 14);
    if (in.bad || silent > 1)
        return tl_error_set(reterr, TL_PROTOCOL, "a path probe is not well formed");
    if (msg.answer_bytes &&
        (msg.answer_bytes < TL_WIRE_UDP_PATH_SIZE || msg.answer_bytes > TL_WIRE_UDP_DATAGRAM_MAX))
        return tl_error_set(reterr, TL_RANGE, "a path probe asks for %u bytes back",
                            msg.answer_bytes);
    *ret_msg = msg;
    return TL_OK;
}

void tl_wire_seal_udp_path_answer(const struct tl_wire_udp_path_answer *msg, uint8_t *datagram,
                                  size_t len)
{
    struct wire_out out = {datagram};
    put_head(&out, TL_WIRE_UDP_PATH_ANSWER, msg->probe_class, msg->probe_bytes, msg->cookie,
             msg->sequence);
    put_uint(&out, msg->client_ns, 8);
    put_uint(&out, msg->receive_ns, 8);
    put_uint(&out, msg->held_ns, 4);
    put_uint(&out, msg->probe_ttl, 1);
    put_uint(&out, (unsigned)msg->class_known | (unsigned)msg->ttl_known << 1, 1);
    put_uint(&out, msg->answer_bytes, 2);
    seal(datagram, len);
}

enum tl_status tl_wire_decode_udp_path_answer(const uint8_t *datagram, size_t len,
                                              struct tl_wire_udp_path_answer *ret_msg,
                                              struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = open_datagram(datagram, len, TL_WIRE_UDP_PATH_ANSWER, &in, reterr);
    if (status != TL_OK)
        return status;
    struct tl_wire_udp_path_answer msg = {0};
    msg.probe_class = (uint8_t)get_uint(&in, 1);
    msg.probe_bytes = (uint16_t)get_uint(&in, 2);
    msg.cookie = get_uint(&in, 8);
    msg.sequence = (uint32_t)get_uint(&in, 4);
    (void)get_uint(&in, 4);
    msg.client_ns = get_uint(&in, 8);
    msg.receive_ns = get_uint(&in, 8);
    msg.held_ns = (uint32_t)get_uint(&in, 4);
    msg.probe_ttl = (uint8_t)get_uint(&in, 1);
    uint64_t known = get_uint(&in, 1);
    msg.answer_bytes = (uint16_t)get_uint(&in, 2);
    msg.class_known = known & 1;
    msg.ttl_known = known & 2;
    if (in.bad || known > 3 || msg.answer_bytes != len)
        return tl_error_set(reterr, TL_PROTOCOL, "a path answer is not well formed");
    *ret_msg = msg;
    return TL_OK;
}

void tl_wire_seal_udp_path_report(const struct tl_wire_udp_path_report *msg,
                                  uint8_t ret_datagram[TL_WIRE_UDP_REPORT_SIZE])
{
    struct wire_out out = {ret_datagram};
    put_head(&out, TL_WIRE_UDP_PATH_REPORT, msg->kind, msg->mtu_bytes, msg->cookie, msg->sequence);
    put_uint(&out, msg->icmp_type, 1);
    put_uint(&out, msg->icmp_code, 1);
    put_zero(&out, 2);
    put_uint(&out, msg->delay_ns, 4);
    put_bytes(&out, msg->address, sizeof msg->address);
    put_zero(&out, 16);
    seal(ret_datagram, TL_WIRE_UDP_REPORT_SIZE);
}

enum tl_status tl_wire_decode_udp_path_report(const uint8_t *datagram, size_t len,
                                              struct tl_wire_udp_path_report *ret_msg,
                                              struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = open_datagram(datagram, len, TL_WIRE_UDP_PATH_REPORT, &in, reterr);
    if (status != TL_OK)
        return status;
    struct tl_wire_udp_path_report msg = {0};
    uint64_t kind = get_uint(&in, 1);
    msg.mtu_bytes = (uint16_t)get_uint(&in, 2);
    msg.cookie = get_uint(&in, 8);
    msg.sequence = (uint32_t)get_uint(&in, 4);
    (void)get_uint(&in, 4);
    msg.icmp_type = (uint8_t)get_uint(&in, 1);
    msg.icmp_code = (uint8_t)get_uint(&in, 1);
    get_zero(&in, 2);
    msg.delay_ns = (uint32_t)get_uint(&in, 4);
    memcpy(msg.address, get_bytes(&in, sizeof msg.address), sizeof msg.address);
    get_zero(&in, 16);
    if (in.bad || kind < TL_WIRE_UDP_REPORT_LOCAL || kind > TL_WIRE_UDP_REPORT_ROUTER)
        return tl_error_set(reterr, TL_PROTOCOL, "a path report is not well formed");
    msg.kind = (enum tl_wire_udp_report_kind)kind;
    *ret_msg = msg;
    return TL_OK;
}

bool tl_wire_udp_path_quote(const uint8_t *bytes, size_t len, uint64_t *ret_cookie,
                            uint32_t *ret_sequence, uint64_t *ret_sent_ns)
{
    struct wire_in in = {bytes, bytes + len, false};
    const uint8_t *head = get_bytes(&in, 8);
    uint64_t cookie = get_uint(&in, 8);
    uint32_t sequence = (uint32_t)get_uint(&in, 4);
    if (in.bad || memcmp(head, udp_magic, sizeof udp_magic) != 0 ||
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
