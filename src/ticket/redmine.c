/* Redmine 5 (redmine.org/projects/redmine/wiki/rest_api). Files are uploaded first; the issue or
 * note then names their tokens. */
#include <string.h>

#include "private.h"

#define UPLOAD_TOKEN_SIZE 256

static enum tl_status open_redmine(struct ticket_job *job, struct tl_error *reterr)
{
    return ticket_open_token(job, "X-Redmine-API-Key", "", reterr);
}

static enum tl_status find(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                           struct tl_error *reterr)
{
    struct ticket_request request = {.method = "GET", .example = "{\"issues\":[]}"};
    tl_buf_adds(&request.path, "/issues.json?subject=");
    tl_buf_addf(&request.path, "~%s&status_id=*", job->message->run_id);
    return ticket_search(job, &request, "issues", "subject", "id", ret_ticket, reterr);
}

static enum tl_status upload(struct ticket_job *job, const struct ticket_file *file,
                             char ret_token[UPLOAD_TOKEN_SIZE], struct tl_error *reterr)
{
    struct ticket_request request = {.method = "POST",
                                     .content_type = "application/octet-stream",
                                     .example = "{\"upload\":{\"token\":\"UPLOAD-TOKEN\"}}"};
    struct tl_json *reply = NULL;
    struct tl_json_at root, at;
    const char *token;
    tl_buf_addf(&request.path, "/uploads.json?filename=%s", file->name);
    tl_buf_adds(&request.body, file->data);
    enum tl_status status = ticket_http(job, &request, &reply, reterr);
    if (status == TL_OK) {
        root = tl_json_root(reply);
        status = tl_json_get_object(&root, "upload", &at, reterr);
    }
    if (status == TL_OK)
        status = tl_json_get_string(&at, "token", &token, reterr);
    if (status == TL_OK && strlen(token) >= UPLOAD_TOKEN_SIZE)
        status = tl_error_set(reterr, TL_PROTOCOL, "the upload's token is too long");
    if (status == TL_OK)
        memcpy(ret_token, token, strlen(token) + 1);
    tl_json_destroy(reply);
    ticket_request_finish(&request);
    return status;
}

/* Uploads the files and names them in the object that is being written. */
static enum tl_status add_files(struct ticket_job *job, struct tl_json_writer *w,
                                struct tl_error *reterr)
{
    struct ticket_file files[TICKET_FILES_MAX];
    char token[UPLOAD_TOKEN_SIZE];
    size_t count = ticket_files(job->message, files);
    enum tl_status status = TL_OK;
    tl_json_begin_array(w, "uploads");
    for (size_t i = 0; i < count && status == TL_OK; i++) {
        status = upload(job, &files[i], token, reterr);
        if (status != TL_OK)
            break;
        tl_json_begin_object(w, NULL);
        tl_json_add_string(w, "token", token);
        tl_json_add_string(w, "filename", files[i].name);
        tl_json_add_string(w, "content_type", files[i].type);
        tl_json_end(w);
    }
    tl_json_end(w);
    return status;
}

static enum tl_status create(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                             struct tl_error *reterr)
{
    struct ticket_request request = {.method = "POST",
                                     .content_type = "application/json",
                                     .example = "{\"issue\":{\"id\":\"NUMBER\"}}"};
    const char *tracker = job->target->values[KEY_TRACKER];
    struct tl_json *reply = NULL;
    struct tl_json_at root, issue;
    struct tl_json_writer w;
    tl_buf_adds(&request.path, "/issues.json");
    tl_json_writer_init(&w, &request.body, true);
    tl_json_begin_object(&w, NULL);
    tl_json_begin_object(&w, "issue");
    tl_json_add_string(&w, "project_id", job->target->values[KEY_PROJECT]);
    if (tracker[0])
        tl_json_add_string(&w, "tracker_id", tracker);
    tl_json_add_string(&w, "subject", job->title);
    tl_json_add_string(&w, "description", job->message->text);
    enum tl_status status = add_files(job, &w, reterr);
    tl_json_end(&w);
    tl_json_end(&w);
    if (status == TL_OK)
        status = ticket_http(job, &request, &reply, reterr);
    if (status == TL_OK) {
        root = tl_json_root(reply);
        status = tl_json_get_object(&root, "issue", &issue, reterr);
        if (status == TL_OK)
            status = ticket_take_name(&issue, "id", ret_ticket, reterr);
    }
    tl_json_destroy(reply);
    ticket_request_finish(&request);
    return status;
}

static enum tl_status comment(struct ticket_job *job, const char *ticket, struct tl_error *reterr)
{
    struct ticket_request request = {
        .method = "PUT", .content_type = "application/json", .any_reply = true};
    struct tl_json_writer w;
    tl_buf_addf(&request.path, "/issues/%s.json", ticket);
    tl_json_writer_init(&w, &request.body, true);
    tl_json_begin_object(&w, NULL);
    tl_json_begin_object(&w, "issue");
    tl_json_add_string(&w, "notes", job->message->text);
    enum tl_status status = add_files(job, &w, reterr);
    tl_json_end(&w);
    tl_json_end(&w);
    if (status == TL_OK)
        status = ticket_http(job, &request, NULL, reterr);
    ticket_request_finish(&request);
    return status;
}

const struct ticket_system ticket_redmine = {
    .name = "redmine",
    .title = "Redmine",
    .needs = KEY(URL) | KEY(TOKEN_FILE) | KEY(PROJECT),
    .takes = KEY(TRACKER),
    .open = open_redmine,
    .find = find,
    .create = create,
    .comment = comment,
};
