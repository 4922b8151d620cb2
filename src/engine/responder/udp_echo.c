/* Datagrams of the responder: what each kind of question is answered by, and the plain probe.
 * Only entries of a live session's table are answered.
 *
 * P4: an answer is never longer than its question; probes are answered only to a tuple that echoed
 * its challenge. Everything else is met with silence. */
#include "udp_echo.h"

#include <stddef.h>
#include <sys/epoll.h>

#include "responder_private.h"
#include "tightlink/base/time.h"
#include "turn.h"
#include "udp_path.h"
#include "udp_tuple.h"

#define DATAGRAMS_PER_WAKEUP 64

/* The probe goes back where it came from, in its own buffer, its padding as it is. */
static void answer_probe(struct tl_responder *responder, const struct arrival *arrival)
{
    struct tl_wire_udp_probe probe;
    bool intact;
    struct session *session;
    struct udp_tuple *tuple = udp_tuple_open(responder, arrival, &session);
    if (!tuple ||
        tl_wire_decode_udp_probe(arrival->bytes, arrival->len, &probe, &intact, NULL) != TL_OK)
        return;
    if (!intact) {
        tuple->damaged_count++;
        return;
    }
    if (!udp_tuple_take_token(session))
        return;
    size_t len = probe.reply_bytes ? probe.reply_bytes : arrival->len;
    if (!turn_may_answer(session, len))
        return;
    int64_t held_ns = tl_realtime_ns() - arrival->realtime_ns;
    probe.type = TL_WIRE_UDP_REPLY;
    probe.receive_ns = (uint64_t)arrival->realtime_ns;
    probe.held_ns = held_ns < 0 ? 0 : held_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)held_ns;
    probe.received_bytes = (uint16_t)arrival->len;
    probe.damaged_count = tuple->damaged_count;
    tl_wire_seal_udp_probe(&probe, arrival->bytes, len);
    udp_seal_turn(&session->udp_seal, arrival->bytes, len);
    (void)udp_port_reply(responder->udp_port, arrival, NULL, arrival->bytes, len);
}

void udp_ready(struct watch *watch, uint32_t events)
{
    struct tl_responder *responder =
        (struct tl_responder *)((char *)watch - offsetof(struct tl_responder, udp));
    struct arrival arrival;
    if (events & EPOLLERR)
        udp_path_errors(responder);
    for (int i = 0; i < DATAGRAMS_PER_WAKEUP && udp_port_receive(responder->udp_port, &arrival);
         i++) {
        switch (tl_wire_udp_type(arrival.bytes, arrival.len)) {
        case TL_WIRE_UDP_HELLO:
        case TL_WIRE_UDP_PROVE:
            udp_tuple_answer(responder, &arrival);
            break;
        case TL_WIRE_UDP_PROBE:
            answer_probe(responder, &arrival);
            break;
        case TL_WIRE_UDP_PATH_PROBE:
            udp_answer_path(responder, &arrival);
            break;
        default: /* strangers, and our own kind of answers: silence */
            break;
        }
    }
}
