/* Request Tracker 5, REST 2.0 (docs.bestpractical.com/rt, RT::REST2). Files travel inside the
 * ticket or comment, in base64. */
#include "private.h"

static enum tl_status open_rt(struct ticket_job *job, struct tl_error *reterr)
{
    if (job->target->values[KEY_USER][0])
        return ticket_open_basic(job, reterr);
    return ticket_open_token(job, "Authorization", "token ", reterr);
}

static enum tl_status find(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                           struct tl_error *reterr)
{
    struct ticket_request request = {.method = "GET", .example = "{\"items\":[]}"};
    struct tl_buf query = TL_BUF_INIT;
    tl_buf_addf(&query, "Subject LIKE \"%s\"", job->message->run_id);
    tl_buf_adds(&request.path, "/REST/2.0/tickets?query=");
    ticket_add_escaped(&request.path, tl_buf_text(&query));
    tl_buf_adds(&request.path, "&fields=Subject&per_page=10");
    tl_buf_finish(&query);
    return ticket_search(job, &request, "items", "Subject", "id", ret_ticket, reterr);
}

static void add_content(struct tl_json_writer *w, const struct tl_ticket_message *message)
{
    static const struct ticket_file members = {"FileName", "FileType", "FileContent"};
    tl_json_add_string(w, "ContentType", "text/plain");
    tl_json_add_string(w, "Content", message->text);
    ticket_add_files(w, "Attachments", &members, message);
}

static enum tl_status create(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                             struct tl_error *reterr)
{
    struct ticket_request request = {
        .method = "POST", .content_type = "application/json", .example = "{\"id\":\"NUMBER\"}"};
    struct tl_json_writer w;
    tl_buf_adds(&request.path, "/REST/2.0/ticket");
    tl_json_writer_init(&w, &request.body, true);
    tl_json_begin_object(&w, NULL);
    tl_json_add_string(&w, "Queue", job->target->values[KEY_QUEUE]);
    tl_json_add_string(&w, "Subject", job->title);
    if (job->target->values[KEY_REQUESTOR][0])
        tl_json_add_string(&w, "Requestor", job->target->values[KEY_REQUESTOR]);
    add_content(&w, job->message);
    tl_json_end(&w);
    return ticket_send_for_name(job, &request, NULL, "id", ret_ticket, reterr);
}

static enum tl_status comment(struct ticket_job *job, const char *ticket, struct tl_error *reterr)
{
    struct ticket_request request = {
        .method = "POST", .content_type = "application/json", .example = "[\"\"]"};
    struct tl_json_writer w;
    tl_buf_addf(&request.path, "/REST/2.0/ticket/%s/comment", ticket);
    tl_json_writer_init(&w, &request.body, true);
    tl_json_begin_object(&w, NULL);
    add_content(&w, job->message);
    tl_json_end(&w);
    return ticket_post(job, &request, reterr);
}

const struct ticket_system ticket_rt = {
    .name = "rt",
    .title = "Request Tracker",
    .needs = KEY(URL) | KEY(TOKEN_FILE) | KEY(QUEUE),
    .takes = KEY(REQUESTOR) | KEY(USER),
    .open = open_rt,
    .find = find,
    .create = create,
    .comment = comment,
};
