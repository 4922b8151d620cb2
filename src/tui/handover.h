/* Tickets on the export screen: which systems there are, what one would get, sending it. Private
 * to the loop. Built without ticket systems there are none. */
#ifndef TL_TUI_HANDOVER_H
#define TL_TUI_HANDOVER_H

#include "screen.h"
#include "tightlink/document/export.h"

/* The systems that tightlink.conf names, for state.leaving; read once. */
void screen_list_targets(struct screen *screen);
/* What the chosen system would get, word for word, into screen->preview; kept for sending. */
enum tl_status screen_pack_ticket(struct screen *screen, const struct tl_export *export,
                                  struct tl_error *reterr) TL_WARN_UNUSED;
/* The requests as commands for curl, into screen->requests. */
void screen_show_curl(struct screen *screen);
void screen_send_ticket(struct screen *screen);
/* -1 while nothing is on its way. */
int screen_sender_fd(const struct screen *screen);
void screen_take_answer(struct screen *screen);
/* Forgets what was packed; at the end all, after waiting for an answer. */
void screen_unpack_ticket(struct screen *screen);
void screen_finish_handover(struct screen *screen);

#endif
