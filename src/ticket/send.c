/* How a message becomes a ticket, once:
 *
 *   row in the outbox (on disk) -> marked SENDING -> find by run id -> found: done
 *                                                                   -> none: create, attach
 *   answer good                   -> SENT with the ticket's number
 *   429, 5xx, no answer           -> WAITING until Retry-After, or longer from try to try
 *   anything else                 -> FAILED, with the sentence
 *
 * The search comes before every creation, so that a row whose program died, or whose answer was
 * lost, makes no second ticket. */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "tightlink/base/time.h"

/* What may have arrived is looked for a minute later at the earliest: searches lag behind. */
#define UNSURE_NS  (60 * TL_NS_PER_S)
#define FIRST_NS   (60 * TL_NS_PER_S)
#define LONGEST_NS (6 * 3600 * TL_NS_PER_S)

static enum tl_status attach_files(struct ticket_job *job, const char *ticket,
                                   struct tl_error *reterr)
{
    struct ticket_file files[TICKET_FILES_MAX];
    size_t count = ticket_files(job->message, files);
    enum tl_status status = TL_OK;
    for (size_t i = 0; i < count && status == TL_OK; i++)
        status = job->target->system->attach(job, ticket, &files[i], reterr);
    return status;
}

/* Adds to a ticket that the user named. What may have arrived is not sent by itself again: no
 * search finds a comment. */
static enum tl_status add_comment(struct ticket_job *job, struct tl_ticket_result *result,
                                  struct tl_error *reterr)
{
    const struct ticket_system *system = job->target->system;
    const char *ticket = job->message->comment_on;
    enum tl_status status = ticket_check_name(ticket, reterr);
    if (status == TL_OK)
        status = system->comment(job, ticket, reterr);
    if (status == TL_OK && system->attach) {
        status = attach_files(job, ticket, reterr);
        job->unsure = status != TL_OK;
    }
    if (status == TL_OK)
        snprintf(result->ticket, sizeof result->ticket, "%s", ticket);
    return status;
}

/* A ticket of its own: found, or made with its files. */
static enum tl_status find_or_create(struct ticket_job *job, struct tl_ticket_result *result,
                                     struct tl_error *reterr)
{
    const struct ticket_system *system = job->target->system;
    enum tl_status status = TL_OK;
    if (system->find)
        status = system->find(job, result->ticket, reterr);
    if (status != TL_OK)
        return status;
    /* A plan shows what comes where none is found. */
    result->existed = result->ticket[0] && !job->plan;
    if (!result->existed)
        status = system->create(job, result->ticket, reterr);
    /* A try before this one may have ended between ticket and files. */
    if (status == TL_OK && system->attach && (!result->existed || job->again))
        status = attach_files(job, result->ticket, reterr);
    return status;
}

enum tl_status ticket_make(struct ticket_job *job, const struct ticket_target *target,
                           const struct tl_ticket_message *message, struct tl_ticket_result *result,
                           struct tl_error *reterr)
{
    const struct ticket_system *system = target->system;
    bool comments = message->comment_on && message->comment_on[0];
    job->target = target;
    job->message = message;
    snprintf(job->title, sizeof job->title, "[tightlink %s] %.200s", message->run_id,
             message->title);
    enum tl_status status = system->open(job, reterr);
    bool opened = status == TL_OK;
    if (opened)
        status = comments ? add_comment(job, result, reterr) : find_or_create(job, result, reterr);
    if (opened && system->close)
        system->close(job);
    explicit_bzero(job->auth, sizeof job->auth);
    explicit_bzero(job->secret, sizeof job->secret);
    return status;
}

static bool is_worth_another_try(enum tl_status status, const struct ticket_job *job)
{
    switch (status) {
    case TL_BUSY:
    case TL_TIMEOUT:
    case TL_UNREACHABLE:
    case TL_NOHOST:
    case TL_CLOSED:
        return true;
    default:
        return job->unsure;
    }
}

/* When: as the reply said, else twice as long from try to try. */
static int64_t wait_ns(const struct ticket_job *job, int64_t attempts)
{
    if (job->retry_after_ns > 0)
        return job->retry_after_ns;
    int64_t ns = FIRST_NS;
    for (int64_t i = 1; i < attempts && ns < LONGEST_NS; i++)
        ns *= 2;
    if (job->unsure && ns < UNSURE_NS)
        ns = UNSURE_NS;
    return ns < LONGEST_NS ? ns : LONGEST_NS;
}

static enum tl_status settle(struct tl_outbox *outbox, const struct tl_outbox_row *row,
                             struct ticket_job *job, enum tl_status status,
                             struct tl_ticket_result *result, struct tl_error *why,
                             struct tl_error *reterr)
{
    if (status == TL_OK)
        return tl_outbox_mark(outbox, row->id, TL_OUTBOX_SENT, result->ticket, "", 0, reterr);
    bool comment = row->comment_on[0] != '\0';
    if (comment && job->unsure)
        tl_error_prefix(why, "the comment may have arrived: look at %.40s before you send it again",
                        row->comment_on);
    result->waits = is_worth_another_try(status, job) && !(comment && job->unsure);
    int64_t next_ns = tl_realtime_ns() + wait_ns(job, row->attempts_count + 1);
    struct tl_error ignored;
    /* The sentence of the sending matters more than that of the outbox. */
    enum tl_status marked =
        tl_outbox_mark(outbox, row->id, result->waits ? TL_OUTBOX_WAITING : TL_OUTBOX_FAILED, NULL,
                       why->text, result->waits ? next_ns : 0, &ignored);
    if (marked != TL_OK)
        tl_error_prefix(why, "the outbox could not be written either");
    return tl_error_set(reterr, status, "%s", why->text);
}

static enum tl_status send_row(const struct tl_ticket_config *config, struct tl_outbox *outbox,
                               const struct tl_outbox_row *row, struct tl_ticket_result *result,
                               struct tl_error *reterr)
{
    struct tl_ticket_message message = {.run_id = row->run,
                                        .title = row->title,
                                        .text = row->text,
                                        .json = row->json,
                                        .html = row->html,
                                        .comment_on = row->comment_on};
    struct ticket_job job = {.again = row->attempts_count > 0};
    struct tl_error why = {0};
    const struct ticket_target *target = ticket_config_find(config, row->target, reterr);
    if (!target)
        return TL_UNKNOWN;
    /* On disk before anything leaves. */
    enum tl_status status =
        tl_outbox_mark(outbox, row->id, TL_OUTBOX_SENDING, NULL, NULL, 0, reterr);
    if (status != TL_OK)
        return status;
    status = ticket_make(&job, target, &message, result, &why);
    if (status != TL_OK && !why.text[0])
        (void)tl_error_set(&why, status, "%s: %s", target->name, tl_status_text(status));
    return settle(outbox, row, &job, status, result, &why, reterr);
}

/* A row of which nothing more is to be sent: *ret_done. */
static enum tl_status look_at_row(struct tl_outbox *outbox, const struct tl_outbox_row *row,
                                  struct tl_ticket_result *result, bool *ret_done,
                                  struct tl_error *reterr)
{
    *ret_done = true;
    if (row->state == TL_OUTBOX_SENT) {
        snprintf(result->ticket, sizeof result->ticket, "%s", row->ticket);
        result->existed = true;
        return TL_OK;
    }
    /* Its program died: see add_comment. */
    if (row->state == TL_OUTBOX_SENDING && row->comment_on[0]) {
        (void)tl_error_set(
            reterr, TL_PROTOCOL,
            "the comment may have arrived: look at %.40s of %.40s before you send it "
            "again",
            row->comment_on, row->target);
        enum tl_status status = tl_outbox_mark(outbox, row->id, TL_OUTBOX_FAILED, NULL,
                                               reterr ? reterr->text : "", 0, NULL);
        return status == TL_OK ? TL_PROTOCOL : status;
    }
    *ret_done = false;
    return TL_OK;
}

enum tl_status tl_ticket_retry(const struct tl_ticket_config *config, struct tl_outbox *outbox,
                               int64_t row_id, struct tl_ticket_result *ret_result,
                               struct tl_error *reterr)
{
    struct tl_outbox_row row = {0};
    bool done = true;
    *ret_result = (struct tl_ticket_result){0};
    enum tl_status status = tl_outbox_lock(outbox, reterr);
    if (status != TL_OK) {
        ret_result->waits = status == TL_BUSY;
        return status;
    }
    status = tl_outbox_get(outbox, row_id, &row, reterr);
    if (status == TL_OK) {
        status = look_at_row(outbox, &row, ret_result, &done, reterr);
        if (status == TL_OK && !done)
            status = send_row(config, outbox, &row, ret_result, reterr);
        tl_outbox_row_finish(&row);
    }
    tl_outbox_unlock(outbox);
    return status;
}

enum tl_status tl_ticket_send(const struct tl_ticket_config *config, struct tl_outbox *outbox,
                              const char *target, const struct tl_ticket_message *message,
                              struct tl_ticket_result *ret_result, struct tl_error *reterr)
{
    struct tl_outbox_row row = {.run = message->run_id,
                                .target = target,
                                .comment_on = message->comment_on,
                                .title = message->title,
                                .text = message->text,
                                .json = message->json,
                                .html = message->html};
    int64_t id;
    bool is_new;
    *ret_result = (struct tl_ticket_result){0};
    if (!ticket_config_find(config, target, reterr))
        return TL_UNKNOWN;
    enum tl_status status = tl_outbox_add(outbox, &row, &id, &is_new, reterr);
    return status == TL_OK ? tl_ticket_retry(config, outbox, id, ret_result, reterr) : status;
}

enum tl_status tl_ticket_plan(const struct tl_ticket_config *config, const char *target_name,
                              const struct tl_ticket_message *message, bool as_curl,
                              struct tl_buf *out, struct tl_error *reterr)
{
    struct ticket_job job = {.plan = true, .as_curl = as_curl, .out = out};
    struct tl_ticket_result result = {0};
    const struct ticket_target *target = ticket_config_find(config, target_name, reterr);
    if (!target)
        return TL_UNKNOWN;
    job.target = target;
    job.message = message;
    ticket_print_begin(&job);
    enum tl_status status = ticket_make(&job, target, message, &result, reterr);
    return status == TL_OK ? out->status : status;
}
