/* Zammad (docs.zammad.org/en/latest/api). A ticket begins with an article, which carries the files;
 * a comment is a further article that only agents see. */
#include "private.h"

static enum tl_status open_zammad(struct ticket_job *job, struct tl_error *reterr)
{
    return ticket_open_token(job, "Authorization", "Token token=", reterr);
}

static enum tl_status find(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                           struct tl_error *reterr)
{
    struct ticket_request request = {.method = "GET", .example = "[]"};
    tl_buf_addf(&request.path, "/api/v1/tickets/search?query=%s&limit=10&expand=true",
                job->message->run_id);
    return ticket_search(job, &request, NULL, "title", "id", ret_ticket, reterr);
}

/* The members of an article, in the object that is open. */
static void add_article(struct tl_json_writer *w, const struct ticket_job *job)
{
    static const struct ticket_file members = {"filename", "mime-type", "data"};
    tl_json_add_string(w, "subject", job->title);
    tl_json_add_string(w, "body", job->message->text);
    tl_json_add_string(w, "content_type", "text/plain");
    tl_json_add_string(w, "type", "note");
    tl_json_add_bool(w, "internal", true);
    ticket_add_files(w, "attachments", &members, job->message);
}

static enum tl_status create(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                             struct tl_error *reterr)
{
    struct ticket_request request = {
        .method = "POST", .content_type = "application/json", .example = "{\"id\":\"NUMBER\"}"};
    struct tl_json_writer w;
    struct tl_buf customer = TL_BUF_INIT;
    tl_buf_addf(&customer, "guess:%s", job->target->values[KEY_CUSTOMER]);
    tl_buf_adds(&request.path, "/api/v1/tickets");
    tl_json_writer_init(&w, &request.body, true);
    tl_json_begin_object(&w, NULL);
    tl_json_add_string(&w, "title", job->title);
    tl_json_add_string(&w, "group", job->target->values[KEY_GROUP]);
    tl_json_add_string(&w, "customer_id", tl_buf_text(&customer));
    tl_json_begin_object(&w, "article");
    add_article(&w, job);
    tl_json_end(&w);
    tl_json_end(&w);
    tl_buf_finish(&customer);
    return ticket_send_for_name(job, &request, NULL, "id", ret_ticket, reterr);
}

static enum tl_status comment(struct ticket_job *job, const char *ticket, struct tl_error *reterr)
{
    struct ticket_request request = {.method = "POST", .content_type = "application/json"};
    struct tl_json_writer w;
    tl_buf_adds(&request.path, "/api/v1/ticket_articles");
    tl_json_writer_init(&w, &request.body, true);
    tl_json_begin_object(&w, NULL);
    tl_json_add_string(&w, "ticket_id", ticket);
    add_article(&w, job);
    tl_json_end(&w);
    return ticket_post(job, &request, reterr);
}

const struct ticket_system ticket_zammad = {
    .name = "zammad",
    .title = "Zammad",
    .needs = KEY(URL) | KEY(TOKEN_FILE) | KEY(GROUP) | KEY(CUSTOMER),
    .open = open_zammad,
    .find = find,
    .create = create,
    .comment = comment,
};
