/* Causes as people write them. Private to src/cli. */
#ifndef TL_CLI_CAUSE_H
#define TL_CLI_CAUSE_H

#include "tightlink/base/nearest.h"

/* The id of a cause that is written as its id or as its name ("receive buffer"); NULL: there is
 * none. */
const char *cli_cause_id(const char *text);
/* The id or name that may have been meant. */
struct tl_nearest cli_cause_near(const char *text);

#endif
