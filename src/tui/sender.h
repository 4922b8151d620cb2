/* A run on its way to a ticket system, beside the screen: an answer may take half a minute. */
#ifndef TL_TUI_SENDER_H
#define TL_TUI_SENDER_H

#include <stdbool.h>

#include "tightlink/base/status.h"

struct tl_ticket_config;
struct tl_ticket_message;
struct tui_sender; /* one sending; opaque */

/* How it ended. */
struct tui_sent {
    enum tl_status status;
    struct tl_error error; /* where it failed */
    char target[64], ticket[64];
    bool existed; /* there was one already, and nothing was made */
    bool waits;   /* it stays in the outbox and is worth another try */
};

/* Begins; the texts of the message are copied, the configuration is borrowed and outlives the
 * sending. The row of the outbox is on disk before anything leaves. TL_NOMEM, TL_IO. */
enum tl_status tui_sender_create(const struct tl_ticket_config *config, const char *target,
                                 const struct tl_ticket_message *message,
                                 struct tui_sender **ret_sender) TL_WARN_UNUSED;
/* Readable once it has ended. */
int tui_sender_fd(const struct tui_sender *sender);
/* After that: how. */
const struct tui_sent *tui_sender_take(struct tui_sender *sender);
/* Waits for the end if need be: some 30 s a request at most. NULL is fine. */
void tui_sender_destroy(struct tui_sender *sender);

#endif
