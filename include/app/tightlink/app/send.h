/* A run for a ticket system: the message, made once for every way of sending, and sending it
 * beside a screen that goes on. Only where this program was built with ticket systems. */
#ifndef TL_APP_SEND_H
#define TL_APP_SEND_H

#include "tightlink/app/leave.h"
#include "tightlink/ticket/ticket.h"

/* The texts of a message. Zero-initialised is empty. */
struct tl_app_parcel {
    struct tl_buf title, text, json, html;
};

/* All of them from one export, so that every one has passed the redactor. TL_NOMEM. The caller
 * finishes the parcel, also after a failure. */
enum tl_status tl_app_pack(const struct tl_export *export, struct tl_app_parcel *ret_parcel,
                           struct tl_error *reterr) TL_WARN_UNUSED;
void tl_app_unpack(struct tl_app_parcel *parcel);

/* The message of a parcel, borrowed from it and from run_id and comment_on ("" or NULL: a new
 * ticket). */
struct tl_ticket_message tl_app_message(const struct tl_app_parcel *parcel, const char *run_id,
                                        const char *comment_on);

/* --- sending beside the screen: an answer may take half a minute ---------------------------- */

struct tl_app_sender; /* one sending; opaque */

/* How it ended. */
struct tl_app_sent {
    enum tl_status status;
    struct tl_error error; /* where it failed */
    char target[TL_TICKET_NAME_SIZE];
    struct tl_ticket_result result;
};

/* Begins; the texts of the message are copied, the configuration is borrowed and outlives the
 * sending. The row of the outbox is on disk before anything leaves. TL_NOMEM, TL_IO. */
enum tl_status tl_app_sender_create(const struct tl_ticket_config *config, const char *target,
                                    const struct tl_ticket_message *message,
                                    struct tl_app_sender **ret_sender) TL_WARN_UNUSED;
/* Readable once it has ended. */
int tl_app_sender_fd(const struct tl_app_sender *sender);
/* After that: how. */
const struct tl_app_sent *tl_app_sender_take(struct tl_app_sender *sender);
/* Waits for the end if need be: some 30 s a request at most. NULL is fine. */
void tl_app_sender_destroy(struct tl_app_sender *sender);

#endif
