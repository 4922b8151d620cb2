/* GitLab issues (docs.gitlab.com/ee/api). Files are uploaded first; the text then holds the
 * Markdown links that GitLab gave for them. */

#include "private.h"

static enum tl_status open_gitlab(struct ticket_job *job, struct tl_error *reterr)
{
    return ticket_open_token(job, "PRIVATE-TOKEN", "", reterr);
}

/* "/api/v4/projects/group%2Fname" */
static void add_project(const struct ticket_job *job, struct tl_buf *path)
{
    tl_buf_adds(path, "/api/v4/projects/");
    ticket_add_escaped(path, job->target->values[KEY_PROJECT]);
}

static enum tl_status find(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                           struct tl_error *reterr)
{
    struct ticket_request request = {.method = "GET", .example = "[]"};
    add_project(job, &request.path);
    tl_buf_addf(&request.path, "/issues?search=%s&in=title", job->message->run_id);
    return ticket_search(job, &request, NULL, "title", "iid", ret_ticket, reterr);
}

static enum tl_status upload(struct ticket_job *job, const struct ticket_file *file,
                             struct tl_buf *text, struct tl_error *reterr)
{
    struct ticket_request request = {.method = "POST",
                                     .example = "{\"markdown\":\"[FILE](/uploads/FILE)\"}"};
    struct tl_json *reply = NULL;
    struct tl_json_at root;
    const char *markdown;
    add_project(job, &request.path);
    tl_buf_adds(&request.path, "/uploads");
    ticket_multipart(&request, "file", file, "", "");
    enum tl_status status = ticket_http(job, &request, &reply, reterr);
    if (status == TL_OK) {
        root = tl_json_root(reply);
        status = tl_json_get_string(&root, "markdown", &markdown, reterr);
    }
    if (status == TL_OK)
        tl_buf_addf(text, "\n%s\n", markdown);
    tl_json_destroy(reply);
    ticket_request_finish(&request);
    return status;
}

/* The report in a block of code, then the links. */
static enum tl_status make_text(struct ticket_job *job, struct tl_buf *text,
                                struct tl_error *reterr)
{
    struct ticket_file files[TICKET_FILES_MAX];
    size_t count = ticket_files(job->message, files);
    enum tl_status status = TL_OK;
    tl_buf_addf(text, "```\n%s\n```\n", job->message->text);
    for (size_t i = 0; i < count && status == TL_OK; i++)
        status = upload(job, &files[i], text, reterr);
    return status;
}

static enum tl_status create(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                             struct tl_error *reterr)
{
    struct ticket_request request = {
        .method = "POST", .content_type = "application/json", .example = "{\"iid\":\"NUMBER\"}"};
    struct tl_buf text = TL_BUF_INIT;
    struct tl_json_writer w;
    enum tl_status status = make_text(job, &text, reterr);
    if (status == TL_OK) {
        add_project(job, &request.path);
        tl_buf_adds(&request.path, "/issues");
        tl_json_writer_init(&w, &request.body, true);
        tl_json_begin_object(&w, NULL);
        tl_json_add_string(&w, "title", job->title);
        tl_json_add_string(&w, "description", tl_buf_text(&text));
        if (job->target->values[KEY_LABELS][0])
            tl_json_add_string(&w, "labels", job->target->values[KEY_LABELS]);
        tl_json_end(&w);
        status = ticket_send_for_name(job, &request, NULL, "iid", ret_ticket, reterr);
    }
    tl_buf_finish(&text);
    return status;
}

static enum tl_status comment(struct ticket_job *job, const char *ticket, struct tl_error *reterr)
{
    struct ticket_request request = {.method = "POST", .content_type = "application/json"};
    struct tl_buf text = TL_BUF_INIT;
    struct tl_json_writer w;
    enum tl_status status = make_text(job, &text, reterr);
    if (status == TL_OK) {
        add_project(job, &request.path);
        tl_buf_addf(&request.path, "/issues/%s/notes", ticket);
        tl_json_writer_init(&w, &request.body, true);
        tl_json_begin_object(&w, NULL);
        tl_json_add_string(&w, "body", tl_buf_text(&text));
        tl_json_end(&w);
        status = ticket_post(job, &request, reterr);
    }
    tl_buf_finish(&text);
    return status;
}

const struct ticket_system ticket_gitlab = {
    .name = "gitlab",
    .title = "GitLab",
    .needs = KEY(URL) | KEY(TOKEN_FILE) | KEY(PROJECT),
    .takes = KEY(LABELS),
    .open = open_gitlab,
    .find = find,
    .create = create,
    .comment = comment,
};
