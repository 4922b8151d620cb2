/* What a run would cost, found beside the screen: resolving a name may take seconds. */
#ifndef TL_TUI_LOOKUP_H
#define TL_TUI_LOOKUP_H

#include "tightlink/session/session.h"

struct tui_lookup; /* one question; opaque */

/* Asks about a configuration, whose host is copied; the rest it points to is borrowed and
 * outlives the question. TL_NOMEM, TL_IO. */
enum tl_status tui_lookup_create(const struct tl_session_config *config,
                                 struct tui_lookup **ret_lookup) TL_WARN_UNUSED;
/* Readable once it is answered. */
int tui_lookup_fd(const struct tui_lookup *lookup);
/* After that: the answer, as of tl_session_preview(). */
enum tl_status tui_lookup_take(struct tui_lookup *lookup, struct tl_session_preview *ret_preview,
                               struct tl_error *reterr) TL_WARN_UNUSED;
/* Waits for the answer if need be. NULL is fine. */
void tui_lookup_destroy(struct tui_lookup *lookup);

#endif
