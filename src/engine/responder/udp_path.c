/* Datagrams of the responder that measure the path: answers of the size, class and reach
 * that a proven tuple asks for, and what routers tell of those that died on the way.
 *
 * P4: all of it goes to proven tuples alone, at most UDP_PATH_PER_S a second and session. A
 * router's message must quote the tuple's own cookie, so nobody can make us report what did
 * not happen without having seen the answer. */
#include "udp_path.h"

#include <errno.h>
#include <string.h>

#include "address.h"
#include "gcra.h"
#include "path_error.h"
#include "responder_private.h"
#include "tightlink/base/time.h"
#include "turn.h"
#include "udp_tuple.h"

#define ERRORS_PER_WAKEUP 32

/* Half a second's worth may come at once: a search sends in rounds. */
static bool take_token(struct session *session)
{
    int64_t step_ns = TL_NS_PER_S / tl_limit_row(TL_LIMIT_UDP_PATH_PER_S)->standard;
    return gcra_take(&session->path_full_ns, tl_now_ns(), step_ns, TL_NS_PER_S / 2);
}

static void report(struct session *session, const struct arrival *to,
                   const struct tl_wire_udp_path_report *message)
{
    uint8_t datagram[TL_WIRE_UDP_REPORT_SIZE];
    tl_wire_seal_udp_path_report(message, datagram);
    udp_seal_turn(&session->udp_seal, datagram, sizeof datagram);
    (void)udp_port_reply(session->responder->udp_port, to, NULL, datagram, sizeof datagram);
}

static uint32_t span_ns(int64_t span)
{
    return span < 0 ? 0 : span > UINT32_MAX ? UINT32_MAX : (uint32_t)span;
}

void udp_answer_path(struct tl_responder *responder, const struct arrival *arrival)
{
    struct tl_wire_udp_path_probe probe;
    struct session *session;
    if (!udp_tuple_open(responder, arrival, &session) ||
        tl_wire_decode_udp_path_probe(arrival->bytes, arrival->len, &probe, NULL) != TL_OK ||
        probe.silent || !take_token(session))
        return;
    size_t len = probe.answer_bytes ? probe.answer_bytes : TL_WIRE_UDP_PATH_SIZE;
    if (!turn_may_answer(session, len))
        return;
    struct tl_wire_udp_path_answer answer = {
        .cookie = probe.cookie,
        .sequence = probe.sequence,
        .client_ns = probe.client_ns,
        .receive_ns = (uint64_t)arrival->realtime_ns,
        .held_ns = span_ns(tl_realtime_ns() - arrival->realtime_ns),
        .probe_bytes = (uint16_t)arrival->len,
        .answer_bytes = (uint16_t)len,
        .class_known = arrival->traffic_class >= 0,
        .ttl_known = arrival->ttl >= 0,
        .probe_class = (uint8_t)(arrival->traffic_class < 0 ? 0 : arrival->traffic_class),
        .probe_ttl = (uint8_t)(arrival->ttl < 0 ? 0 : arrival->ttl),
    };
    struct departure how = {probe.answer_class, probe.answer_ttl};
    /* Behind the probe the buffer holds other peers' datagrams. */
    if (len > arrival->len)
        memset(arrival->bytes + arrival->len, 0, len - arrival->len);
    tl_wire_seal_udp_path_answer(&answer, arrival->bytes, len);
    udp_seal_turn(&session->udp_seal, arrival->bytes, len);
    if (udp_port_reply(responder->udp_port, arrival, &how, arrival->bytes, len) != EMSGSIZE)
        return;
    report(session, arrival,
           &(struct tl_wire_udp_path_report){.cookie = probe.cookie,
                                             .sequence = probe.sequence,
                                             .kind = TL_WIRE_UDP_REPORT_LOCAL});
}

static void pass_on(struct tl_responder *responder, const struct path_error *error)
{
    uint64_t cookie, sent_ns;
    uint32_t sequence;
    struct session *session;
    struct sockaddr_in6 to = error->to;
    address_normalise(&to);
    if (!error->is_icmp ||
        !tl_wire_udp_path_quote(error->quote, error->quote_len, &cookie, &sequence, &sent_ns) ||
        !udp_tuple_find_prover(responder, &to, cookie, &session) || !take_token(session))
        return;
    struct tl_wire_udp_path_report message = {
        .cookie = cookie,
        .sequence = sequence,
        .kind = TL_WIRE_UDP_REPORT_ROUTER,
        .mtu_bytes = (uint16_t)(error->mtu_bytes > UINT16_MAX ? 0 : error->mtu_bytes),
        .icmp_type = error->icmp_type,
        .icmp_code = error->icmp_code,
        .delay_ns = sent_ns ? span_ns(error->realtime_ns - (int64_t)(sent_ns & INT64_MAX)) : 0,
    };
    memcpy(message.address, &error->offender, sizeof message.address);
    struct arrival arrival = {.from = error->to};
    report(session, &arrival, &message);
}

void udp_path_errors(struct tl_responder *responder)
{
    struct path_error error;
    for (int i = 0;
         i < ERRORS_PER_WAKEUP && path_error_read(udp_port_fd(responder->udp_port), &error); i++)
        pass_on(responder, &error);
}
