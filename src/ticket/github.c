/* GitHub issues (docs.github.com/rest). An issue takes no files: the document goes into a part
 * that unfolds, where it fits, else it is left out and the text says so. */
#include <stdlib.h>
#include <string.h>

#include "private.h"

/* GitHub's own limit of a body, less some. */
#define BODY_MAX 65000

static enum tl_status open_github(struct ticket_job *job, struct tl_error *reterr)
{
    return ticket_open_token(job, "Authorization", "Bearer ", reterr);
}

static void add_headers(struct ticket_request *request)
{
    tl_buf_adds(&request->headers,
                "Accept: application/vnd.github+json\nX-GitHub-Api-Version: 2022-11-28");
}

static enum tl_status find(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                           struct tl_error *reterr)
{
    struct ticket_request request = {.method = "GET", .example = "{\"items\":[]}"};
    struct tl_buf query = TL_BUF_INIT;
    tl_buf_addf(&query, "%s in:title repo:%s is:issue", job->message->run_id,
                job->target->values[KEY_REPOSITORY]);
    tl_buf_adds(&request.path, "/search/issues?q=");
    ticket_add_escaped(&request.path, tl_buf_text(&query));
    tl_buf_finish(&query);
    add_headers(&request);
    return ticket_search(job, &request, "items", "title", "number", ret_ticket, reterr);
}

/* The report as it is, in a block of code, and the document. */
static char *make_body(const struct tl_ticket_message *message)
{
    struct tl_buf body = TL_BUF_INIT;
    tl_buf_addf(&body, "```\n%.30000s\n```\n", message->text);
    if (message->json && body.len + strlen(message->json) + 100 < BODY_MAX)
        tl_buf_addf(&body,
                    "\n<details><summary>findings.json</summary>\n\n```json\n%s\n```\n</details>\n",
                    message->json);
    else if (message->json && message->json[0])
        tl_buf_adds(&body, "\nThe document with all facts is too long for an issue; whoever "
                           "measured has it.\n");
    return tl_buf_steal(&body);
}

/* {"title", "labels"} where with_title, and {"body"}. */
static void write_body(const struct ticket_job *job, struct ticket_request *request,
                       bool with_title)
{
    struct tl_json_writer w;
    const char *label = job->target->values[KEY_LABELS];
    char *body = make_body(job->message);
    add_headers(request);
    tl_json_writer_init(&w, &request->body, true);
    tl_json_begin_object(&w, NULL);
    if (with_title)
        tl_json_add_string(&w, "title", job->title);
    tl_json_add_string(&w, "body", body ? body : "");
    if (with_title && label[0]) {
        tl_json_begin_array(&w, "labels");
        while (*label) {
            struct tl_buf one = TL_BUF_INIT;
            size_t len = strcspn(label, ",");
            tl_buf_add(&one, label, len);
            tl_json_add_string(&w, NULL, tl_buf_text(&one));
            tl_buf_finish(&one);
            label += len + (label[len] == ',');
        }
        tl_json_end(&w);
    }
    tl_json_end(&w);
    if (!body)
        request->body.status = TL_NOMEM;
    free(body);
}

static enum tl_status create(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                             struct tl_error *reterr)
{
    struct ticket_request request = {
        .method = "POST", .content_type = "application/json", .example = "{\"number\":\"NUMBER\"}"};
    tl_buf_addf(&request.path, "/repos/%s/issues", job->target->values[KEY_REPOSITORY]);
    write_body(job, &request, true);
    return ticket_send_for_name(job, &request, NULL, "number", ret_ticket, reterr);
}

static enum tl_status comment(struct ticket_job *job, const char *ticket, struct tl_error *reterr)
{
    struct ticket_request request = {.method = "POST", .content_type = "application/json"};
    tl_buf_addf(&request.path, "/repos/%s/issues/%s/comments", job->target->values[KEY_REPOSITORY],
                ticket);
    write_body(job, &request, false);
    return ticket_post(job, &request, reterr);
}

const struct ticket_system ticket_github = {
    .name = "github",
    .title = "GitHub",
    .needs = KEY(URL) | KEY(TOKEN_FILE) | KEY(REPOSITORY),
    .takes = KEY(LABELS),
    .open = open_github,
    .find = find,
    .create = create,
    .comment = comment,
};
