/* Making a tl_udp_result from two accounts; for whoever runs a test from the near end. */
#ifndef TL_ENGINE_UDP_RESULT_H
#define TL_ENGINE_UDP_RESULT_H

#include "udp_report.h"

/* All unknown, tables allocated; TL_NOMEM leaves it ready for finish. */
enum tl_status udp_result_init(struct tl_udp_result *result,
                               const struct tl_udp_spec *spec) TL_WARN_UNUSED;

/* The near end's account, once its flow is done; what the far end told stays. */
void udp_result_take_flow(struct tl_udp_result *result, const struct udp_flow *flow);

/* After both ends' numbers are in: what follows from them together. */
void udp_result_merge(struct tl_udp_result *result, int64_t interval_ns);

#endif
