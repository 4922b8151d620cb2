/* What the receiver makes of one datagram: of this test and whole, damaged, or foreign. Only
 * numbers and times go on to the account (udp_account.c). */
#include "udp_arrivals.h"

#include <string.h>

#include "tightlink/base/time.h"
#include "udp_iperf3.h"

#define SEQUENCE_MAX  (UINT64_C(1) << 48)
#define SENT_SLACK_NS (60 * TL_NS_PER_S) /* a sender's clock may say that much more */
#define ALTERED_MAX   2                  /* bytes of a damaged datagram's first 20 */

void udp_arrivals_begin(struct udp_arrivals *arrivals, struct udp_flow *flow)
{
    const struct udp_flow_spec *spec = &flow->spec;
    struct tl_wire_udp_data head = {.head_crc = spec->head_crc,
                                    .bytes = (uint16_t)spec->datagram_bytes,
                                    .cookie = spec->pass.cookie,
                                    .test_id = spec->test_id};
    uint8_t whole[TL_WIRE_UDP_DATA_HEAD];
    *arrivals = (struct udp_arrivals){.flow = flow};
    udp_head_begin(whole, &head);
    memcpy(arrivals->prefix, whole, sizeof arrivals->prefix);
}

/* Whether it begins as those of this test, which who does not see one cannot know (the cookie has
 * eight bytes), but for what damage alters. */
static bool begins_as_ours(const struct udp_arrivals *arrivals, const uint8_t *datagram)
{
    unsigned altered = 0;
    for (unsigned i = 0; i < sizeof arrivals->prefix; i++)
        altered += datagram[i] != arrivals->prefix[i];
    return altered <= ALTERED_MAX;
}

/* What does not fit: damaged, if it may be ours. */
static void take_unfit(struct udp_arrivals *arrivals, const uint8_t *datagram, unsigned len,
                       bool intact, uint64_t sequence)
{
    struct udp_account *account = &arrivals->flow->account;
    if (intact || len != arrivals->flow->spec.datagram_bytes || !begins_as_ours(arrivals, datagram))
        account->foreign_count++;
    else
        udp_damage_add(&account->damage, &account->track, sequence);
}

/* Times count from the first datagram that came: the sender's clock began who knows when. */
static void take_iperf3(struct udp_arrivals *arrivals, const uint8_t *datagram, unsigned len,
                        unsigned seen, int64_t arrival_ns, bool own_time)
{
    struct udp_flow *flow = arrivals->flow;
    struct udp_stamps *stamps = &flow->stamps;
    uint64_t sequence;
    int64_t time_ns;
    if (len != arrivals->flow->spec.datagram_bytes || seen < UDP_IPERF3_HEAD ||
        !udp_iperf3_read(datagram, &sequence, &time_ns) || sequence >= SEQUENCE_MAX) {
        flow->account.foreign_count++;
        return;
    }
    bool first = flow->account.track.unique_count == 0;
    if (first)
        arrivals->base_ns = time_ns;
    int64_t sent_ns = time_ns > arrivals->base_ns ? time_ns - arrivals->base_ns : 0;
    if (sent_ns > arrivals->flow->spec.duration_ns + SENT_SLACK_NS) {
        flow->account.foreign_count++;
        return;
    }
    if (first || sequence < stamps->first) {
        stamps->first = sequence;
        stamps->first_ns = time_ns;
    }
    if (first || sequence > stamps->last) {
        stamps->last = sequence;
        stamps->last_ns = time_ns;
    }
    udp_account_add(&flow->account, sequence, sent_ns, len, arrival_ns, own_time);
}

void udp_arrivals_take(struct udp_arrivals *arrivals, const uint8_t *datagram, unsigned len,
                       unsigned seen, int64_t arrival_ns, bool own_time)
{
    if (arrivals->flow->spec.dialect == UDP_DIALECT_IPERF3) {
        take_iperf3(arrivals, datagram, len, seen, arrival_ns, own_time);
        return;
    }
    const struct udp_flow_spec *spec = &arrivals->flow->spec;
    unsigned covered = spec->head_crc ? TL_WIRE_UDP_DATA_HEAD : len;
    unsigned type = tl_wire_udp_type(datagram, seen);
    if (type != 0 && type != TL_WIRE_UDP_DATA) /* late words of the test before, and of proofs */
        return;
    if (seen < TL_WIRE_UDP_DATA_HEAD || seen < covered) {
        arrivals->flow->account.foreign_count++;
        return;
    }
    uint64_t sequence, sent_ns;
    bool intact = udp_head_read(datagram, covered, &spec->pass.seal, &sequence, &sent_ns);
    if (!intact || len != spec->datagram_bytes || sequence >= SEQUENCE_MAX ||
        sent_ns > (uint64_t)(spec->duration_ns + SENT_SLACK_NS) ||
        memcmp(datagram, arrivals->prefix, sizeof arrivals->prefix) != 0)
        take_unfit(arrivals, datagram, len, intact, sequence);
    else
        udp_account_add(&arrivals->flow->account, sequence, (int64_t)sent_ns, len, arrival_ns,
                        own_time);
}

/* Whether a sealed datagram is the client's, and none that came before: who reads the path may send
 * it again from wherever he is. */
static bool is_new_and_sealed(const struct udp_arrivals *arrivals, const uint8_t *bytes, size_t len)
{
    const struct udp_flow_spec *spec = &arrivals->flow->spec;
    uint64_t sequence, sent_ns;
    size_t covered = spec->head_crc ? TL_WIRE_UDP_DATA_HEAD : spec->datagram_bytes;
    return len >= covered &&
           udp_head_read(bytes, (unsigned)covered, &spec->pass.seal, &sequence, &sent_ns) &&
           sequence >= arrivals->flow->account.track.next;
}

void udp_arrivals_take_elsewhere(struct udp_arrivals *arrivals, const uint8_t *datagram,
                                 size_t seen)
{
    struct udp_flow *flow = arrivals->flow;
    bool ours = seen >= sizeof arrivals->prefix &&
                memcmp(datagram, arrivals->prefix, sizeof arrivals->prefix) == 0;
    if (ours && flow->spec.pass.seal.on)
        ours = is_new_and_sealed(arrivals, datagram, seen);
    if (ours)
        atomic_store(&flow->rebound, true);
    else
        flow->account.foreign_count++;
}
