/* A demo's far end that others' programs make: iperf3, nuttcp, a web server. Private to src/cli. */
#ifndef TL_CLI_DEMO_FAR_H
#define TL_CLI_DEMO_FAR_H

#include "tightlink/base/far.h"
#include "tightlink/lab/lab.h"

/* The kind by its scheme. TL_USAGE: none of those that a demo can start. */
enum tl_status cli_demo_far_parse(const char *text, enum tl_far_kind *ret_kind,
                                  struct tl_error *reterr) TL_WARN_UNUSED;
/* Starts its server at the lab's far end and waits until it listens. TL_UNSUPPORTED: the program is
 * not installed; TL_TIMEOUT. */
enum tl_status cli_demo_far_start(struct tl_lab *lab, enum tl_far_kind kind,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

#endif
