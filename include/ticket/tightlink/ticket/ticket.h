/* Tickets: a finding reaches the system of whoever can mend it, once.
 *
 * One file of the configuration names the systems ("targets"), see doc/tickets.md. What is sent
 * has passed the redactor before it comes here. A send first puts a row into the outbox, then looks
 * for a ticket with the run's id in its title, and makes one only where there is none: whoever
 * sends twice, or sends again after a time-out, gets the same ticket.
 *
 * The wire (promise P14): https only, but for loopback or where the target says allow_http; no
 * redirects; 10 s to connect, 30 s in all; replies up to 64 KiB. Tokens come from files that
 * nobody else may read (P11) and are never part of a sentence or a printed request.
 *
 * Threads: a configuration does not change once it is loaded; a send blocks up to 30 s a request.
 */
#ifndef TL_TICKET_TICKET_H
#define TL_TICKET_TICKET_H

#include <stdbool.h>
#include <stddef.h>

#include "tightlink/base/buf.h"
#include "tightlink/base/status.h"
#include "tightlink/store/outbox.h"

/* Targets of one configuration, systems, and the length of a ticket's number or key. */
#define TL_TICKET_TARGETS_MAX 32
#define TL_TICKET_NAME_SIZE   64

struct tl_ticket_config;

/* path NULL: $XDG_CONFIG_HOME/tightlink/tightlink.conf (~/.config without); where that is missing
 * there are no targets. TL_SYNTAX and TL_UNKNOWN name file, section and key; TL_DENIED: a token
 * stands in the file itself. Token files are read when they are needed. */
enum tl_status tl_ticket_config_load(const char *path, struct tl_ticket_config **ret_config,
                                     struct tl_error *reterr) TL_WARN_UNUSED;
void tl_ticket_config_destroy(struct tl_ticket_config *config); /* takes NULL */
const char *tl_ticket_config_path(const struct tl_ticket_config *config);

size_t tl_ticket_target_count(const struct tl_ticket_config *config);
/* Name, system ("rt") and URL of a target; index below the count. Borrowed. */
struct tl_ticket_target_info {
    const char *name, *system, *url;
};
struct tl_ticket_target_info tl_ticket_target_at(const struct tl_ticket_config *config,
                                                 size_t index);

/* Lists of far ends to compare with, [compare NAME]: how many, and the far ends of one as they are
 * written there, "HOST,HOST"; NULL: there is no such list. Borrowed. */
size_t tl_compare_list_count(const struct tl_ticket_config *config);
const char *tl_compare_list_find(const struct tl_ticket_config *config, const char *name);

/* What is sent. Texts are masked already; html "" sends none. */
struct tl_ticket_message {
    const char *run_id; /* ULID */
    const char *title;  /* without the run's id: that is put before it */
    const char *text;   /* the report for people */
    const char *json;   /* the document */
    const char *html;
    const char *comment_on; /* "" or NULL: a new ticket */
};

struct tl_ticket_result {
    char ticket[TL_TICKET_NAME_SIZE]; /* number or key */
    bool existed;                     /* there was one already, and nothing was made */
    bool waits;                       /* it stays in the outbox and is worth another try */
};

/* The address of a ticket's page, for a browser: from the target's url and what each system's pages
 * are called. False, and *ret_address untouched, where there is none (webhook), where the number is
 * no name of a ticket, or where it does not fit. */
bool tl_ticket_address(const struct tl_ticket_config *config, const char *target,
                       const char *ticket, char *ret_address, size_t size);

/* Puts the message into the outbox and sends it. On failure *ret_result is filled too (waits).
 * TL_UNKNOWN: no such target; TL_AUTH: 401, 403, or the token file; TL_TIMEOUT, TL_UNREACHABLE,
 * TL_NOHOST, TL_BUSY (429, 5xx): waits is true; TL_PROTOCOL: a redirect, a reply that is too long
 * or no JSON, another refusal. */
enum tl_status tl_ticket_send(const struct tl_ticket_config *config, struct tl_outbox *outbox,
                              const char *target, const struct tl_ticket_message *message,
                              struct tl_ticket_result *ret_result,
                              struct tl_error *reterr) TL_WARN_UNUSED;

/* Sends a row of the outbox again, whatever its state; one that was sent is not. */
enum tl_status tl_ticket_retry(const struct tl_ticket_config *config, struct tl_outbox *outbox,
                               int64_t row, struct tl_ticket_result *ret_result,
                               struct tl_error *reterr) TL_WARN_UNUSED;

/* The requests that a send would make, with made-up answers, sending nothing: a line each with
 * headers and size, or as commands for curl. The token is named by its file, never shown. */
enum tl_status tl_ticket_plan(const struct tl_ticket_config *config, const char *target,
                              const struct tl_ticket_message *message, bool as_curl,
                              struct tl_buf *out, struct tl_error *reterr) TL_WARN_UNUSED;

#endif
