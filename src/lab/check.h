/* What config.c and check.c share. */
#ifndef TL_LAB_CHECK_H
#define TL_LAB_CHECK_H

#include <stdbool.h>

#include "tightlink/lab/config.h"

#define TL_LAB_QUEUE_MAX_BYTES (INT64_C(256) << 20)

/* Whether nothing was set on a link of `beside`. */
bool tl_lab_is_wire(const struct tl_lab_config *config, int at);

/* TL_RANGE: more or fewer than a path may have. Before it no link of `beside` is to be looked for
 * by their number. */
enum tl_status tl_lab_check_routers(const struct tl_lab_config *config, struct tl_error *reterr);

#endif
