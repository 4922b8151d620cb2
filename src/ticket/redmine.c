/* Redmine 5 (redmine.org/projects/redmine/wiki/rest_api). Files are uploaded first; the issue or
 * note then names their tokens. What Redmine would take without a word is asked before: a key that
 * is nobody's makes anonymous issues, a tracker that is none becomes the first one. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "private.h"

#define UPLOAD_TOKEN_SIZE 256

/* The one request that a key must allow, and nobody without one may make. */
static enum tl_status check_key(struct ticket_job *job, struct tl_error *reterr)
{
    struct ticket_request request = {.method = "GET"};
    tl_buf_adds(&request.path, "/users/current.json");
    enum tl_status status = ticket_post(job, &request, reterr);
    job->unsure = false; /* nothing was made */
    return status;
}

static enum tl_status open_redmine(struct ticket_job *job, struct tl_error *reterr)
{
    enum tl_status status = ticket_open_token(job, "X-Redmine-API-Key", "", reterr);
    return status == TL_OK ? check_key(job, reterr) : status;
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

/* The report in a block that Textile, Markdown and CommonMark all leave as it is: the server does
 * not tell which of them reads it. Two of them show the inner marks. */
static void add_text(struct tl_json_writer *w, const char *name, const char *report)
{
    struct tl_buf text = TL_BUF_INIT;
    tl_buf_addf(&text, "<pre>\n```\n%s\n```\n</pre>\n", report);
    tl_json_add_string(w, name, tl_buf_text(&text));
    if (text.status != TL_OK && w->out->status == TL_OK)
        w->out->status = text.status;
    tl_buf_finish(&text);
}

/* The number of the project's tracker of that number or name. */
static enum tl_status match_tracker(const struct ticket_job *job, const struct tl_json *reply,
                                    char ret_tracker[TL_TICKET_NAME_SIZE], struct tl_error *reterr)
{
    const char *wanted = job->target->values[KEY_TRACKER], *name;
    struct tl_json_at at = tl_json_root(reply);
    enum tl_status status = tl_json_get_object(&at, "project", &at, reterr);
    if (status == TL_OK)
        status = tl_json_get_array(&at, "trackers", &at, reterr);
    for (size_t i = 0; status == TL_OK && i < tl_json_count(&at); i++) {
        struct tl_json_at item = tl_json_item(&at, i);
        status = ticket_take_name(&item, "id", ret_tracker, reterr);
        if (status == TL_OK)
            status = tl_json_get_string(&item, "name", &name, reterr);
        if (status == TL_OK && (strcmp(ret_tracker, wanted) == 0 || strcasecmp(name, wanted) == 0))
            return TL_OK;
    }
    return status != TL_OK
               ? status
               : tl_error_set(reterr, TL_PROTOCOL, "%s: the project %.100s has no tracker %.100s",
                              job->target->name, job->target->values[KEY_PROJECT], wanted);
}

static enum tl_status find_tracker(struct ticket_job *job, char ret_tracker[TL_TICKET_NAME_SIZE],
                                   struct tl_error *reterr)
{
    struct ticket_request request = {.method = "GET", .example = "{}"};
    struct tl_json *reply = NULL;
    tl_buf_adds(&request.path, "/projects/");
    ticket_add_escaped(&request.path, job->target->values[KEY_PROJECT]);
    tl_buf_adds(&request.path, ".json?include=trackers");
    enum tl_status status = ticket_http(job, &request, &reply, reterr);
    job->unsure = false; /* nothing was made */
    if (status == TL_OK && job->plan)
        snprintf(ret_tracker, TL_TICKET_NAME_SIZE, "TRACKER");
    else if (status == TL_OK)
        status = match_tracker(job, reply, ret_tracker, reterr);
    tl_json_destroy(reply);
    ticket_request_finish(&request);
    return status;
}

static enum tl_status create(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                             struct tl_error *reterr)
{
    struct ticket_request request = {.method = "POST",
                                     .content_type = "application/json",
                                     .example = "{\"issue\":{\"id\":\"NUMBER\"}}"};
    char tracker[TL_TICKET_NAME_SIZE] = "";
    struct tl_json_writer w;
    if (job->target->values[KEY_TRACKER][0]) {
        enum tl_status found = find_tracker(job, tracker, reterr);
        if (found != TL_OK)
            return found;
    }
    tl_buf_adds(&request.path, "/issues.json");
    tl_json_writer_init(&w, &request.body, true);
    tl_json_begin_object(&w, NULL);
    tl_json_begin_object(&w, "issue");
    tl_json_add_string(&w, "project_id", job->target->values[KEY_PROJECT]);
    if (tracker[0])
        tl_json_add_string(&w, "tracker_id", tracker);
    tl_json_add_string(&w, "subject", job->title);
    add_text(&w, "description", job->message->text);
    enum tl_status status = add_files(job, &w, reterr);
    tl_json_end(&w);
    tl_json_end(&w);
    if (status == TL_OK)
        return ticket_send_for_name(job, &request, "issue", "id", ret_ticket, reterr);
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
    add_text(&w, "notes", job->message->text);
    enum tl_status status = add_files(job, &w, reterr);
    tl_json_end(&w);
    tl_json_end(&w);
    if (status == TL_OK)
        return ticket_post(job, &request, reterr);
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
