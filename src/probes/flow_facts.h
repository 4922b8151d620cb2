/* Facts about one direction's flow from the steady state of a transfer. Private. */
#ifndef TL_PROBES_FLOW_FACTS_H
#define TL_PROBES_FLOW_FACTS_H

#include "tightlink/engine/client.h"
#include "tightlink/engine/echo_load.h"
#include "tightlink/engine/queue.h"
#include "tightlink/engine/steady.h"
#include "tightlink/facts/facts.h"
#include "tightlink/host/cpu.h"

/* Sets one fact. NAN becomes unknown with the given reason. */
void tl_flow_set(struct tl_facts *facts, struct tl_fact_key key, double value, const char *reason);
void tl_flow_set_range(struct tl_facts *facts, struct tl_fact_key key, double value, double low,
                       double high, const char *reason);
/* Says why a fact that nothing has told is not known; one that is known stays. */
void tl_flow_explain_unknown(struct tl_facts *facts, struct tl_fact_key key, const char *reason);
/* No rate, because nobody answered. */
void tl_flow_set_unanswered(struct tl_facts *facts, enum tl_direction direction);
void tl_flow_set_text(struct tl_facts *facts, struct tl_fact_key key, const char *value);
/* The client's port of a test of one connection, as this PC sees it. */
void tl_flow_set_port(struct tl_facts *facts, struct tl_fact_key key,
                      const struct tl_tcp_result *result);

/* Sets a count of losses and its ratio to all segments with Poisson bounds:
 * TL_FLOW_LOSS(paced_retrans) is paced_retrans_count and paced_retrans_ratio. */
struct tl_flow_loss {
    enum tl_fact_name count, ratio;
};
#define TL_FLOW_LOSS(name)                                                                         \
    ((struct tl_flow_loss){TL_FACT_FLOW_##name##_count, TL_FACT_FLOW_##name##_ratio})
void tl_flow_set_loss(struct tl_facts *facts, enum tl_direction direction, struct tl_flow_loss loss,
                      double lost_count, double segments_count);

/* All facts of stage "stream" that steady state tells. */
void tl_flow_set_stream(struct tl_facts *facts, enum tl_direction direction,
                        const struct tl_steady *steady, const char *congestion);

/* What stages "streams" and "window" tell to be compared with the one stream: rate, round-trip
 * time, share sent again and ledger. TL_FLOW_COMPARED(window) is window_goodput_bps ... */
struct tl_flow_compared {
    enum tl_fact_name goodput, rtt_mean, retrans, rwnd, sndbuf, network;
};
#define TL_FLOW_COMPARED(name)                                                                     \
    (&(const struct tl_flow_compared){                                                             \
        TL_FACT_FLOW_##name##_goodput_bps, TL_FACT_FLOW_##name##_rtt_mean_ns,                      \
        TL_FACT_FLOW_##name##_retrans_ratio, TL_FACT_FLOW_##name##_rwnd_ratio,                     \
        TL_FACT_FLOW_##name##_sndbuf_ratio, TL_FACT_FLOW_##name##_network_ratio})
void tl_flow_set_compared(struct tl_facts *facts, enum tl_direction direction,
                          const struct tl_flow_compared *names, const struct tl_steady *steady);

/* What the sender's readings tell over time (flow_series.c): stage "stream". */
void tl_flow_set_series(struct tl_facts *facts, enum tl_direction direction,
                        const struct tl_sample_log *sender, const struct tl_steady_rate *rate);

/* What the UDP probes beside the one stream said: stage "stream". */
void tl_flow_set_loaded(struct tl_facts *facts, enum tl_direction direction,
                        const struct tl_echo_load *load);

/* Whether a queue stood, and the rates of the pieces: TL_FLOW_QUEUE() of one stream,
 * TL_FLOW_QUEUE(streams_) of several. */
struct tl_flow_queue {
    enum tl_fact_name standing, piece, full;
};
#define TL_FLOW_QUEUE(prefix)                                                                      \
    ((struct tl_flow_queue){TL_FACT_FLOW_##prefix##queue_standing_ratio,                           \
                            TL_FACT_FLOW_##prefix##piece_bps, TL_FACT_FLOW_##prefix##full_bps})
void tl_flow_set_queue(struct tl_facts *facts, enum tl_direction direction,
                       struct tl_flow_queue names, const struct tl_queue *queue);

/* Where the delay stood when the streams lost something, over all of them. */
void tl_flow_set_ranks(struct tl_facts *facts, enum tl_direction direction,
                       const struct tl_tcp_result *result);

/* What tells several streams from one another, and the UDP probes beside them
 * (flow_streams.c): stage "streams". */
void tl_flow_set_members(struct tl_facts *facts, enum tl_direction direction,
                         const struct tl_tcp_result *result);
void tl_flow_set_responsiveness(struct tl_facts *facts, enum tl_direction direction,
                                const struct tl_flow_stats *sender,
                                const struct tl_echo_load *load);

/* The processors of one end during a transfer. */
void tl_flow_set_cpu(struct tl_facts *facts, enum tl_direction direction, enum tl_end end,
                     const struct tl_cpu_usage *usage, double thread_cpu_ratio,
                     double thread_wait_ratio);

/* The largest share of what bounds an end's processors: busiest core, quota, threads. */
double tl_cpu_pressure(const struct tl_cpu_usage *usage, double thread_cpu_ratio);

/* The direction of a flow as the wire and as facts write it. */
static inline enum tl_wire_direction tl_direction_to_wire(enum tl_direction direction)
{
    return direction == TL_DOWNLOAD ? TL_WIRE_DOWNLOAD : TL_WIRE_UPLOAD;
}

static inline enum tl_direction tl_direction_of_wire(enum tl_wire_direction direction)
{
    return direction == TL_WIRE_DOWNLOAD ? TL_DOWNLOAD : TL_UPLOAD;
}

#endif
