/* Outbox: what is to be sent to a ticket system, kept before it is sent.
 *
 * A row is written and on disk before the first byte leaves, and it says how the sending went.
 * So a power cut between request and answer, a time-out or a full queue loses nothing, and
 * what may have arrived already is looked for before it is sent again (tightlink/ticket).
 *
 *            +-- WAITING <-- busy, 429, 5xx, no answer: again from next_ns on
 *   add --> NEW                |
 *            +-- SENDING ------+--> SENT    (the ticket's number is known)
 *                              +--> FAILED  (refused: the user must change something)
 *
 * A row found in SENDING is one whose program died: it may have arrived.
 *
 * One SQLite file beside the history, for its owner alone; errors as in tightlink/store/history.h,
 * but that a damaged file is moved aside when it is opened only. One thread at a time. */
#ifndef TL_STORE_OUTBOX_H
#define TL_STORE_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

struct tl_outbox;

enum tl_outbox_state {
    TL_OUTBOX_NEW,
    TL_OUTBOX_SENDING,
    TL_OUTBOX_WAITING,
    TL_OUTBOX_SENT,
    TL_OUTBOX_FAILED
};
const char *tl_outbox_state_name(enum tl_outbox_state state); /* "new", "sending" ... */

/* One row. Texts are never NULL. */
struct tl_outbox_row {
    int64_t id;
    const char *run, *target; /* a run's ULID; a name of the configuration */
    const char *comment_on;   /* the ticket to add to; "" makes a new one */
    enum tl_outbox_state state;
    const char *title, *text, *json, *html; /* what is sent: masked already; "" once it was sent */
    const char *ticket;                     /* its number or key once known */
    const char *error;                      /* the last failure's sentence, "" without */
    int64_t attempts_count, created_ns, next_ns; /* wall clock */
};

/* path NULL: outbox.sqlite in the user's data directory. */
enum tl_status tl_outbox_open(const char *path, struct tl_outbox **ret_outbox,
                              struct tl_error *reterr) TL_WARN_UNUSED;
void tl_outbox_close(struct tl_outbox *outbox);               /* takes NULL */
const char *tl_outbox_notice(const struct tl_outbox *outbox); /* as of the history */

/* Adds a row, or finds that of the same run, target and comment_on: then *ret_new is false, and
 * its texts are replaced unless it was sent. */
enum tl_status tl_outbox_add(struct tl_outbox *outbox, const struct tl_outbox_row *row,
                             int64_t *ret_id, bool *ret_new,
                             struct tl_error *reterr) TL_WARN_UNUSED;

/* One program sends at a time: who finds a row in SENDING while it holds the lock knows that its
 * program died. TL_BUSY at once where another one holds it. Freed by a crash, too. */
enum tl_status tl_outbox_lock(struct tl_outbox *outbox, struct tl_error *reterr) TL_WARN_UNUSED;
void tl_outbox_unlock(struct tl_outbox *outbox);

/* Calls visit for each row, oldest first, until it returns false; the row lives during the call.
 * due_ns: only those that wait to be sent at that time; 0: all. */
typedef bool tl_outbox_visit(const struct tl_outbox_row *row, void *context);
enum tl_status tl_outbox_each(struct tl_outbox *outbox, int64_t due_ns, tl_outbox_visit *visit,
                              void *context, struct tl_error *reterr) TL_WARN_UNUSED;

/* One row, owned by the caller: free with tl_outbox_row_finish. TL_UNKNOWN. */
enum tl_status tl_outbox_get(struct tl_outbox *outbox, int64_t id, struct tl_outbox_row *ret_row,
                             struct tl_error *reterr) TL_WARN_UNUSED;
void tl_outbox_row_finish(struct tl_outbox_row *row);

/* How the sending goes. ticket and error may be NULL: they stay. */
enum tl_status tl_outbox_mark(struct tl_outbox *outbox, int64_t id, enum tl_outbox_state state,
                              const char *ticket, const char *error, int64_t next_ns,
                              struct tl_error *reterr) TL_WARN_UNUSED;

#endif
