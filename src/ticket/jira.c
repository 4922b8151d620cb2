/* Jira (developer.atlassian.com/cloud/jira/platform/rest/v3; docs.atlassian.com, REST 8.20 for
 * Data Center). The two differ in the version of the path, in how texts are written (Atlassian
 * Document Format against plain) and in the search. An issue wears the label tightlink-RUN, by
 * which it is found: labels are matched whole, words of a summary are not. */
#include "private.h"

static bool is_cloud(const struct ticket_job *job)
{
    return job->target->system == &ticket_jira_cloud;
}

static enum tl_status open_jira(struct ticket_job *job, struct tl_error *reterr)
{
    return is_cloud(job) ? ticket_open_basic(job, reterr)
                         : ticket_open_token(job, "Authorization", "Bearer ", reterr);
}

static enum tl_status find(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                           struct tl_error *reterr)
{
    struct ticket_request request = {.method = "GET", .example = "{\"issues\":[]}"};
    struct tl_json_writer w;
    struct tl_buf jql = TL_BUF_INIT;
    tl_buf_addf(&jql, "project = \"%s\" AND labels = \"tightlink-%s\"",
                job->target->values[KEY_PROJECT], job->message->run_id);
    if (is_cloud(job)) {
        request.method = "POST";
        request.content_type = "application/json";
        tl_buf_adds(&request.path, "/rest/api/3/search/jql");
        tl_json_writer_init(&w, &request.body, true);
        tl_json_begin_object(&w, NULL);
        tl_json_add_string(&w, "jql", tl_buf_text(&jql));
        tl_json_add_integer(&w, "maxResults", 1);
        tl_json_begin_array(&w, "fields");
        tl_json_add_string(&w, NULL, "summary");
        tl_json_end(&w);
        tl_json_end(&w);
    } else {
        tl_buf_adds(&request.path, "/rest/api/2/search?maxResults=1&fields=summary&jql=");
        ticket_add_escaped(&request.path, tl_buf_text(&jql));
    }
    tl_buf_finish(&jql);
    return ticket_search(job, &request, "issues", NULL, "key", ret_ticket, reterr);
}

/* Plain text at Data Center; in the cloud one block of code (ADF). */
static void add_text(struct ticket_job *job, struct tl_json_writer *w, const char *key)
{
    if (!is_cloud(job)) {
        struct tl_buf text = TL_BUF_INIT;
        tl_buf_addf(&text, "{noformat}\n%s\n{noformat}", job->message->text);
        tl_json_add_string(w, key, tl_buf_text(&text));
        tl_buf_finish(&text);
        return;
    }
    tl_json_begin_object(w, key);
    tl_json_add_string(w, "type", "doc");
    tl_json_add_integer(w, "version", 1);
    tl_json_begin_array(w, "content");
    tl_json_begin_object(w, NULL);
    tl_json_add_string(w, "type", "codeBlock");
    tl_json_begin_array(w, "content");
    tl_json_begin_object(w, NULL);
    tl_json_add_string(w, "type", "text");
    tl_json_add_string(w, "text", job->message->text);
    tl_json_end(w);
    tl_json_end(w);
    tl_json_end(w);
    tl_json_end(w);
    tl_json_end(w);
}

static enum tl_status attach(struct ticket_job *job, const char *ticket,
                             const struct ticket_file *file, struct tl_error *reterr)
{
    struct ticket_request request = {.method = "POST", .any_reply = true};
    tl_buf_addf(&request.path, "/rest/api/%d/issue/%s/attachments", is_cloud(job) ? 3 : 2, ticket);
    tl_buf_adds(&request.headers, "X-Atlassian-Token: no-check");
    ticket_multipart(&request, "file", file, "", "");
    return ticket_post(job, &request, reterr);
}

static void write_issue(struct ticket_job *job, struct tl_json_writer *w)
{
    const char *type = job->target->values[KEY_ISSUE_TYPE];
    struct tl_buf label = TL_BUF_INIT;
    tl_buf_addf(&label, "tightlink-%s", job->message->run_id);
    tl_json_begin_object(w, NULL);
    tl_json_begin_object(w, "fields");
    tl_json_begin_object(w, "project");
    tl_json_add_string(w, "key", job->target->values[KEY_PROJECT]);
    tl_json_end(w);
    tl_json_begin_object(w, "issuetype");
    tl_json_add_string(w, "name", type[0] ? type : "Task");
    tl_json_end(w);
    tl_json_add_string(w, "summary", job->title);
    tl_json_begin_array(w, "labels");
    tl_json_add_string(w, NULL, "tightlink");
    tl_json_add_string(w, NULL, tl_buf_text(&label));
    tl_json_end(w);
    add_text(job, w, "description");
    tl_json_end(w);
    tl_json_end(w);
    tl_buf_finish(&label);
}

static enum tl_status create(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                             struct tl_error *reterr)
{
    struct ticket_request request = {
        .method = "POST", .content_type = "application/json", .example = "{\"key\":\"KEY-1\"}"};
    struct tl_json_writer w;
    tl_buf_addf(&request.path, "/rest/api/%d/issue", is_cloud(job) ? 3 : 2);
    tl_json_writer_init(&w, &request.body, true);
    write_issue(job, &w);
    return ticket_send_for_name(job, &request, NULL, "key", ret_ticket, reterr);
}

static enum tl_status comment(struct ticket_job *job, const char *ticket, struct tl_error *reterr)
{
    struct ticket_request request = {.method = "POST", .content_type = "application/json"};
    struct tl_json_writer w;
    tl_buf_addf(&request.path, "/rest/api/%d/issue/%s/comment", is_cloud(job) ? 3 : 2, ticket);
    tl_json_writer_init(&w, &request.body, true);
    tl_json_begin_object(&w, NULL);
    add_text(job, &w, "body");
    tl_json_end(&w);
    return ticket_post(job, &request, reterr);
}

const struct ticket_system ticket_jira_cloud = {
    .name = "jira-cloud",
    .title = "Jira Cloud",
    .needs = KEY(URL) | KEY(TOKEN_FILE) | KEY(USER) | KEY(PROJECT),
    .takes = KEY(ISSUE_TYPE),
    .open = open_jira,
    .find = find,
    .create = create,
    .attach = attach,
    .comment = comment,
};

const struct ticket_system ticket_jira_dc = {
    .name = "jira-dc",
    .title = "Jira Data Center",
    .needs = KEY(URL) | KEY(TOKEN_FILE) | KEY(PROJECT),
    .takes = KEY(ISSUE_TYPE),
    .open = open_jira,
    .find = find,
    .create = create,
    .attach = attach,
    .comment = comment,
};
