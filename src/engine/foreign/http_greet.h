/* Whether a web server listens, without a test: it is asked for a byte of its front page. Private
 * to this room. */
#ifndef TL_ENGINE_HTTP_GREET_H
#define TL_ENGINE_HTTP_GREET_H

#include "http_request.h"

/* TL_OK: it answers as HTTP/1.1 has it, whatever it says. Within options->reach.timeout_ns and a
 * little more; errors of http_open() and http_ask(): one whose certificate is not to be trusted is
 * none that could be measured. */
enum tl_status http_greet_plain(const struct tl_far_options *options,
                                struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status http_greet_tls(const struct tl_far_options *options,
                              struct tl_error *reterr) TL_WARN_UNUSED;

#endif
