/* What a flow's owner and its thread tell each other. */
#include "tightlink/base/time.h"
#include "tightlink/base/wake.h"
#include "tightlink/host/cpu.h"
#include "udp_flow.h"

void udp_flow_stop(struct udp_flow *flow)
{
    atomic_store(&flow->stop, true);
    tl_wake(flow->stop_fd);
}

void udp_flow_heard(struct udp_flow *flow, int64_t now_ns)
{
    atomic_store_explicit(&flow->heard_ns, now_ns, memory_order_relaxed);
}

void udp_flow_sender_ended(struct udp_flow *flow, uint64_t sent_count)
{
    atomic_store(&flow->sent_count, sent_count);
    tl_wake(flow->stop_fd);
}

void udp_flow_ended(struct udp_flow *flow, uint64_t *ret_cpu_ns, uint64_t *ret_run_delay_ns)
{
    struct tl_cpu_thread_reading reading;
    tl_cpu_thread_reading_take("", 0, &reading);
    *ret_cpu_ns = (uint64_t)tl_thread_cpu_ns();
    *ret_run_delay_ns = reading.why == TL_HOST_WHY_KNOWN ? reading.waiting_ns : UINT64_MAX;
    atomic_store(&flow->done, true);
    tl_wake(flow->done_fd);
}
