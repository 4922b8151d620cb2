/* A connection: handshake, options, the way to either end, and both directions of data. */
#include "connection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ECHO_NS_MAX INT64_C(3000000000)
#define DISORDER_NS INT64_C(1000000) /* beyond, times run backwards */

void connection_init(struct connection *connection, const struct tl_segment *segment, int from)
{
    memset(connection, 0, sizeof *connection);
    struct tl_packet_flow *flow = &connection->flow;
    flow->addresses[from] = segment->from;
    flow->addresses[1 - from] = segment->to;
    flow->ports[from] = segment->from_port;
    flow->ports[1 - from] = segment->to_port;
    flow->first_ns = flow->last_ns = segment->time_ns;
    flow->near_rtt_ns[0] = flow->near_rtt_ns[1] = flow->handshake_rtt_ns = (double)NAN;
    flow->tracked = true;
    for (int end = 0; end < 2; end++)
        half_init(&connection->halves[end], &flow->halves[end]);
}

static void least(double *value, double sample)
{
    if (!(*value <= sample))
        *value = sample;
}

/* A sender's segments are as large as the other end permits, less the timestamps in each. */
static void settle_mss(struct half *half, const struct tl_packet_half *receiver)
{
    struct tl_packet_half *sender = half->out;
    uint32_t least = receiver->syn_mss_bytes;
    bool stamped = sender->has_timestamps && receiver->has_timestamps;
    uint32_t options = stamped ? 12 : 0;
    if (sender->syn_mss_bytes && sender->syn_mss_bytes < least)
        least = sender->syn_mss_bytes;
    bool cut = !stamped && (sender->syn_cut || receiver->syn_cut);
    half->mss_told = least > 64 + options && !cut;
    if (half->mss_told)
        sender->mss_bytes = least - options;
}

static bool may_scale(const struct tl_packet_half *half)
{
    return half->has_wscale || half->syn_cut;
}

/* Both ends must offer window scaling for it to be used (RFC 7323, section 2.2). */
static void settle_options(struct connection *connection)
{
    struct tl_packet_half *client = &connection->flow.halves[TL_CLIENT],
                          *server = &connection->flow.halves[TL_SERVER];
    if (!client->syn_seen || !server->syn_seen)
        return;
    bool scaled = client->has_wscale && server->has_wscale;
    /* What the client sends is held by the server's window, and the other way round. */
    connection->halves[TL_CLIENT].scale = scaled ? server->wscale : 0;
    connection->halves[TL_SERVER].scale = scaled ? client->wscale : 0;
    client->window_scaled = server->window_scaled = scaled;
    client->window_scale_known = server->window_scale_known =
        scaled || !(may_scale(client) && may_scale(server));
    settle_mss(&connection->halves[TL_CLIENT], server);
    settle_mss(&connection->halves[TL_SERVER], client);
}

static void take_syn(struct connection *connection, const struct tl_segment *segment, int from)
{
    struct tl_packet_half *out = &connection->flow.halves[from];
    bool answers = segment->flags & TL_TCP_ACK;
    if (!out->syn_seen)
        half_begin(&connection->halves[from], segment->seq + 1);
    out->syn_seen = true;
    out->syn_count++;
    out->has_wscale = segment->has_wscale;
    out->wscale = segment->wscale;
    out->sack_permitted = segment->sack_permitted;
    out->has_timestamps = segment->has_timestamps;
    out->syn_mss_bytes = segment->has_mss ? segment->mss_bytes : 0;
    out->syn_cut = segment->options_cut;
    if (!answers) {
        connection->syn_ns = segment->time_ns;
        connection->flow.client_known = true;
    } else {
        connection->syn_ack_ns = segment->time_ns;
        if (connection->syn_ns && out->syn_count == 1 &&
            connection->flow.halves[1 - from].syn_count == 1)
            least(&connection->flow.near_rtt_ns[from],
                  (double)(segment->time_ns - connection->syn_ns));
    }
    settle_options(connection);
}

static void take_third(struct connection *connection, const struct tl_segment *segment, int from)
{
    struct tl_packet_flow *flow = &connection->flow;
    if (connection->shaken || !connection->syn_ack_ns || from != TL_CLIENT ||
        !(segment->flags & TL_TCP_ACK))
        return;
    connection->shaken = true;
    if (flow->halves[TL_SERVER].syn_count != 1 || flow->halves[TL_CLIENT].syn_count > 1)
        return;
    least(&flow->near_rtt_ns[TL_CLIENT], (double)(segment->time_ns - connection->syn_ack_ns));
    if (connection->syn_ns)
        flow->handshake_rtt_ns = (double)(segment->time_ns - connection->syn_ns);
}

/* A timestamp that comes back tells the way to the end that echoes it and back again. */
static void take_stamps(struct connection *connection, const struct tl_segment *segment, int from)
{
    if (segment->tsval != connection->last_stamp[from]) {
        connection->last_stamp[from] = segment->tsval;
        stamps_sent(&connection->stamps[from], segment->tsval, segment->time_ns);
    }
    if (segment->tsecr == connection->last_echo[from])
        return;
    connection->last_echo[from] = segment->tsecr;
    int64_t sent_ns = stamps_echoed(&connection->stamps[1 - from], segment->tsecr);
    if (!sent_ns)
        return;
    int64_t sample_ns = segment->time_ns - sent_ns;
    if (sample_ns < 0 || sample_ns > ECHO_NS_MAX)
        return;
    least(&connection->flow.near_rtt_ns[from], (double)sample_ns);
    if (segment->payload_bytes > 0)
        half_echo(&connection->halves[from], segment->time_ns, (double)sample_ns,
                  connection->flow.near_rtt_ns[from]);
}

static void add_in_order(struct connection *connection, const struct tl_segment *segment, int from)
{
    struct tl_packet_flow *flow = &connection->flow;
    struct tl_packet_half *out = &flow->halves[from];
    flow->last_ns = segment->time_ns;
    flow->packets_count++;
    flow->wire_bytes += segment->packet_bytes;
    flow->fin_seen |= (segment->flags & TL_TCP_FIN) != 0;
    flow->rst_seen |= (segment->flags & TL_TCP_RST) != 0;
    out->packets_count++;
    out->ttl = segment->ttl;
    out->cut_count += segment->options_cut;
    out->ce_count += segment->ecn == 3;
    connection->flow.halves[1 - from].ece_count +=
        (segment->flags & (TL_TCP_ECE | TL_TCP_SYN)) == TL_TCP_ECE;
    if (segment->flags & TL_TCP_SYN)
        take_syn(connection, segment, from);
    else
        take_third(connection, segment, from);
    if (segment->has_timestamps)
        take_stamps(connection, segment, from);
    if (segment->flags & TL_TCP_ACK)
        half_ack(&connection->halves[1 - from], segment, flow->near_rtt_ns[1 - from]);
    if (!(segment->flags & (TL_TCP_SYN | TL_TCP_RST)))
        half_data(&connection->halves[from], segment, flow->near_rtt_ns[from],
                  flow->near_rtt_ns[1 - from]);
}

/* The packet before once more, as mirror ports and captures of several interfaces have it: a copy
 * of a SYN is no repeat, and one of data may come behind its acknowledgement. */
static bool is_copy(const struct tl_segment *last, const struct tl_segment *segment)
{
    return last->seq == segment->seq && last->ack == segment->ack &&
           last->payload_bytes == segment->payload_bytes && last->flags == segment->flags &&
           last->window == segment->window && last->checksum == segment->checksum &&
           last->ip_id == segment->ip_id && last->tsval == segment->tsval && last->time_ns &&
           last->sack_count == segment->sack_count &&
           memcmp(last->sacks, segment->sacks, segment->sack_count * sizeof *last->sacks) == 0 &&
           segment->time_ns - last->time_ns < half_copy_ns(segment);
}

void connection_add(struct connection *connection, const struct tl_segment *segment, int from)
{
    struct tl_packet_flow *flow = &connection->flow;
    if (is_copy(&connection->last[from], segment))
        return;
    connection->last[from] = *segment;
    if (segment->time_ns >= flow->last_ns) {
        add_in_order(connection, segment, from);
        return;
    }
    /* Clocks step, and interfaces are merged out of order; a kernel with several processors hands
     * over packets that it stamped a moment apart. */
    struct tl_segment ordered = *segment;
    ordered.time_ns = flow->last_ns;
    flow->backwards |= flow->last_ns - segment->time_ns > DISORDER_NS;
    add_in_order(connection, &ordered, from);
}

void connection_end(struct connection *connection)
{
    for (int end = 0; end < 2; end++)
        half_end(&connection->halves[end], connection->flow.last_ns,
                 connection->last[1 - end].time_ns);
}

void connection_finish(struct connection *connection)
{
    for (int end = 0; end < 2; end++) {
        stamps_finish(&connection->stamps[end]);
        half_finish(&connection->halves[end]);
        free(connection->flow.halves[end].bins);
        free(connection->flow.halves[end].losses);
        free(connection->flow.halves[end].slots);
        free(connection->flow.halves[end].passages);
        free(connection->flow.halves[end].gaps);
    }
}
