/* What an iperf3 server tells at the end of a UDP test, as far as it can be believed: of an upload
 * what came, of a download what it sent. */
#include <math.h>

#include "iperf3_end.h"
#include "iperf3_json.h"
#include "udp_flow.h"

/* Duplicates apart no more datagrams arrive than were sent. */
#define BELIEVED_RATIO 1.02

static enum tl_status lies(const char *host, struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_PROTOCOL,
                        "the iperf3 server at %s counts datagrams that were never sent", host);
}

/* It numbers a datagram before its kernel takes it: the bytes tell how many left. One of 3.1 tells
 * 0 of the numbers that it gave. */
static enum tl_status take_sender(struct tl_udp_result *result, struct udp_flow *flow,
                                  const struct iperf3_total *total, const char *host,
                                  struct tl_error *reterr)
{
    struct tl_udp_sender *sender = &result->sender;
    sender->sent_bytes = (uint64_t)total->bytes;
    sender->sent_count = sender->sent_bytes / flow->spec.datagram_bytes;
    uint64_t numbered = total->packets > 0 ? (uint64_t)total->packets : sender->sent_count;
    if (sender->sent_count > numbered)
        return lies(host, reterr);
    sender->local_drop_count = numbered - sender->sent_count;
    udp_flow_sender_ended(flow, sender->sent_count);
    return TL_OK;
}

void iperf3_udp_take_stamps(struct tl_udp_result *result, const struct udp_flow *flow)
{
    struct tl_udp_sender *sender = &result->sender;
    const struct udp_stamps *stamps = &flow->stamps;
    double numbered = (double)(sender->sent_count + sender->local_drop_count);
    if (stamps->last > stamps->first && stamps->last_ns > stamps->first_ns)
        sender->elapsed_ns = (int64_t)((double)(stamps->last_ns - stamps->first_ns) * numbered /
                                       (double)(stamps->last - stamps->first));
}

/* What of the last datagrams it has not seen is missing, too: the highest number tells of none. */
static enum tl_status take_receiver(struct tl_udp_result *result, struct udp_flow *flow,
                                    const struct iperf3_total *total, const char *host,
                                    struct tl_error *reterr)
{
    struct tl_udp_receiver *receiver = &result->receiver;
    uint64_t sent = flow->sender.sent_count;
    uint64_t count = (uint64_t)total->bytes / flow->spec.datagram_bytes;
    double wait_ns = isfinite(result->wait_behind_ns) ? result->wait_behind_ns : 0;
    double span_ns = (double)flow->sender.elapsed_ns + wait_ns;
    if ((double)count > BELIEVED_RATIO * (double)sent + 10 || (uint64_t)total->packets > sent)
        return lies(host, reterr);
    receiver->totals_only = true;
    receiver->crc = TL_UDP_CRC_NONE;
    receiver->received_count = count < sent ? count : sent;
    receiver->received_bytes = receiver->received_count * flow->spec.datagram_bytes;
    receiver->received_bps = span_ns > 0 ? (double)receiver->received_bytes * 8e9 / span_ns : NAN;
    receiver->delay.jitter_ns = total->jitter_ns;
    return TL_OK;
}

enum tl_status iperf3_udp_take_total(struct tl_udp_result *result, struct udp_flow *flow,
                                     const struct iperf3_total *total, const char *host,
                                     struct tl_error *reterr)
{
    if (total->packets < 0)
        return tl_error_set(reterr, TL_PROTOCOL,
                            "the iperf3 server at %s tells no count of datagrams", host);
    return result->near_sends ? take_receiver(result, flow, total, host, reterr)
                              : take_sender(result, flow, total, host, reterr);
}
