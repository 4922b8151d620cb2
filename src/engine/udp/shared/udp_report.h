/* A flow's account as the numbers of UDP_REPORT and UDP_SERIES, and back. Pure. */
#ifndef TL_ENGINE_UDP_REPORT_H
#define TL_ENGINE_UDP_REPORT_H

#include "tightlink/engine/udp.h"
#include "tightlink/engine/udp_wire.h"

struct udp_flow;

/* The account of a flow that is done. */
void udp_report_from_flow(const struct udp_flow *flow, struct tl_wire_udp_report *ret_report);

/* The next records of a series from *at on, which moves; false when there are no more. */
bool udp_series_from_flow(const struct udp_flow *flow, enum tl_udp_series_kind kind, unsigned *at,
                          struct tl_wire_udp_series *ret_series);

/* A stranger's numbers, bounded: counts and times that no test has become unknown. */
void udp_sender_from_fields(const struct tl_udp_fields *fields, struct tl_udp_sender *ret_sender);
void udp_receiver_from_fields(const struct tl_udp_fields *fields,
                              struct tl_udp_receiver *ret_receiver);

/* Merges a record into a table by its index; false when that is out of the table. far_sends
 * says whose fields count. */
bool udp_interval_merge(const struct tl_udp_fields *fields, bool far_sends, int64_t interval_ns,
                        struct tl_udp_interval *intervals, unsigned max, unsigned *count);
bool udp_train_merge(const struct tl_udp_fields *fields, bool far_sends,
                     struct tl_udp_train *trains, unsigned count);

#endif
