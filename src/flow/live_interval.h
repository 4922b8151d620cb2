/* One connection between two closings: what its readings add up to. */
#ifndef TL_FLOW_LIVE_INTERVAL_H
#define TL_FLOW_LIVE_INTERVAL_H

#include "tightlink/flow/live.h"

struct live_span {
    struct tl_host_socket from; /* counters when the interval began */
    int64_t from_ns;
    int closed; /* closings since its connection ended, its last interval included */
    uint32_t readings, rtt_readings, full_windows, full_sndbufs;
    uint32_t behind, behind_with_room,
        behind_unknown; /* unknown: the use of SO_SNDBUF is not told */
    double rtt_sum, rtt_max, rtt_low, rtt_var_sum, rcv_rtt, cwnd_sum, inflight_sum, queue_sum,
        delivery_max;
    double sndbuf_used_max; /* share of SO_SNDBUF in use */
    uint64_t inflight_max, snd_wnd_max, rcv_wnd_max;
    uint32_t unread_full; /* unread data lay there, and no window for another segment */
};

void live_span_start(struct live_span *span, const struct tl_host_socket *socket, int64_t now_ns);
/* The connection began in this interval: its counters were 0 then. */
void live_span_from_zero(struct live_span *span);
void live_span_read(struct live_span *span, const struct tl_host_socket *socket);
/* Takes over the last counters of a connection that ended: told without its buffers and windows. */
void live_take_counters(struct tl_host_socket *last, const struct tl_host_socket *told);
/* Writes the interval and begins the next one. */
void live_span_close(struct live_span *span, const struct tl_host_socket *last, int64_t now_ns,
                     struct tl_live_interval *ret_interval);

#endif
