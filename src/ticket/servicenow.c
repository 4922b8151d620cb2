/* ServiceNow, Table and Attachment API (docs.servicenow.com). The run's id is the record's
 * correlation_id, which is matched whole. A ticket's name is its sys_id. */
#include "private.h"

static const char *table(const struct ticket_job *job)
{
    const char *given = job->target->values[KEY_TABLE];
    return given[0] ? given : "incident";
}

/* With a user Basic, else a bearer token. */
static enum tl_status open_servicenow(struct ticket_job *job, struct tl_error *reterr)
{
    if (job->target->values[KEY_USER][0])
        return ticket_open_basic(job, reterr);
    return ticket_open_token(job, "Authorization", "Bearer ", reterr);
}

static void add_table(const struct ticket_job *job, struct tl_buf *path)
{
    tl_buf_adds(path, "/api/now/table/");
    ticket_add_escaped(path, table(job));
}

static enum tl_status find(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                           struct tl_error *reterr)
{
    struct ticket_request request = {.method = "GET", .example = "{\"result\":[]}"};
    add_table(job, &request.path);
    tl_buf_addf(&request.path,
                "?sysparm_query=correlation_id%%3D%s&sysparm_fields=sys_id%%2Ccorrelation_id"
                "&sysparm_limit=1",
                job->message->run_id);
    tl_buf_adds(&request.headers, "Accept: application/json");
    return ticket_search(job, &request, "result", NULL, "sys_id", ret_ticket, reterr);
}

static enum tl_status attach(struct ticket_job *job, const char *ticket,
                             const struct ticket_file *file, struct tl_error *reterr)
{
    struct ticket_request request = {
        .method = "POST", .content_type = file->type, .any_reply = true};
    tl_buf_adds(&request.path, "/api/now/attachment/file?table_name=");
    ticket_add_escaped(&request.path, table(job));
    tl_buf_addf(&request.path, "&table_sys_id=%s&file_name=%s", ticket, file->name);
    tl_buf_adds(&request.headers, "Accept: application/json");
    tl_buf_adds(&request.body, file->data);
    return ticket_post(job, &request, reterr);
}

static enum tl_status create(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                             struct tl_error *reterr)
{
    struct ticket_request request = {.method = "POST",
                                     .content_type = "application/json",
                                     .example = "{\"result\":{\"sys_id\":\"NUMBER\"}}"};
    struct tl_json_writer w;
    add_table(job, &request.path);
    tl_buf_adds(&request.headers, "Accept: application/json");
    tl_json_writer_init(&w, &request.body, true);
    tl_json_begin_object(&w, NULL);
    tl_json_add_string(&w, "short_description", job->title);
    tl_json_add_string(&w, "description", job->message->text);
    tl_json_add_string(&w, "correlation_id", job->message->run_id);
    tl_json_end(&w);
    return ticket_send_for_name(job, &request, "result", "sys_id", ret_ticket, reterr);
}

static enum tl_status comment(struct ticket_job *job, const char *ticket, struct tl_error *reterr)
{
    struct ticket_request request = {.method = "PATCH", .content_type = "application/json"};
    struct tl_json_writer w;
    add_table(job, &request.path);
    tl_buf_addf(&request.path, "/%s", ticket);
    tl_buf_adds(&request.headers, "Accept: application/json");
    tl_json_writer_init(&w, &request.body, true);
    tl_json_begin_object(&w, NULL);
    tl_json_add_string(&w, "work_notes", job->message->text);
    tl_json_end(&w);
    return ticket_post(job, &request, reterr);
}

const struct ticket_system ticket_servicenow = {
    .name = "servicenow",
    .title = "ServiceNow",
    .needs = KEY(URL) | KEY(TOKEN_FILE),
    .takes = KEY(USER) | KEY(TABLE),
    .open = open_servicenow,
    .find = find,
    .create = create,
    .attach = attach,
    .comment = comment,
};
