/* What the client shares with far ends that speak something else (engine/foreign): the name, and
 * what every TCP test's result is made of. */
#ifndef TL_ENGINE_CLIENT_PARTS_H
#define TL_ENGINE_CLIENT_PARTS_H

#include <netdb.h>
#include <stdint.h>

#include "tightlink/engine/client.h"

/* client_resolve.c: *ret_list is freed with freeaddrinfo(). */
enum tl_status client_resolve(const struct tl_client_options *options, struct addrinfo **ret_list,
                              int64_t *ret_ns, struct tl_error *reterr) TL_WARN_UNUSED;

/* client_data.c: a socket's own port; 0 when the kernel does not tell. */
uint16_t client_near_port(int fd);

/* client_result.c: nothing measured yet. */
void result_init(struct tl_tcp_result *result, const struct tl_tcp_spec *spec);
/* Adds a sentence to the notes; what does not fit is left out as a whole. */
void result_note(struct tl_tcp_result *result, const char *fmt, ...) TL_PRINTF(2, 3);
/* Totals and the rest of what the near streams tell, once they are done. */
void result_complete_near(struct tl_tcp_result *result, struct tl_streams *near);
/* The bytes of both sides, and whether they agree. */
void result_sum(struct tl_tcp_result *result);

/* client_echo.c: least, median and lost of the probes. */
void client_echo_sum(struct tl_echo_result *result);

#endif
