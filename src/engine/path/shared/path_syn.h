/* A SYN as it came in: the responder reads it from the kernel (TCP_SAVED_SYN). Private. */
#ifndef TL_ENGINE_PATH_SYN_H
#define TL_ENGINE_PATH_SYN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tl_tcp_sample;
struct tl_wire_syn_report;

/* Reads network and TCP header of a stranger's packet, as TCP_SAVED_SYN gives them: sets
 * saved, traffic_class, ttl, tcp_flags, options, wscale, mss_bytes and window. False, with
 * nothing set, when the bytes are no such headers. */
bool path_syn_parse(const uint8_t *bytes, size_t len, struct tl_wire_syn_report *report);

/* The MSS that a connected socket announced in its SYN, 0 = not told. tcpi_advmss is that less
 * the 12 bytes of timestamps, once these are agreed on (tcp_rcv_synsent_state_process). */
uint32_t path_syn_advmss(const struct tl_tcp_sample *sample);

/* The whole report of an accepted connection. */
void path_syn_read(int fd, struct tl_wire_syn_report *ret_report);

#endif
