/* GLPI (github.com/glpi-project/glpi, apirest.md). A session is opened with the user's token,
 * used, and closed. Contents are HTML there: the report goes in as preformatted text. */
#include <stdio.h>
#include <string.h>

#include "private.h"

/* Fields of the search of tickets: 1 is the title, 2 the number. */
#define FIND                                                                                       \
    "/search/Ticket?criteria%%5B0%%5D%%5Bfield%%5D=1"                                              \
    "&criteria%%5B0%%5D%%5Bsearchtype%%5D=contains&criteria%%5B0%%5D%%5Bvalue%%5D=%s"              \
    "&forcedisplay%%5B0%%5D=1&forcedisplay%%5B1%%5D=2"

/* The application's token, where one is wanted, behind what the header has. */
static enum tl_status add_app_token(struct ticket_job *job, struct tl_error *reterr)
{
    char token[TICKET_SECRET_SIZE] = "APP-TOKEN";
    size_t len = strlen(job->auth), shown = strlen(job->auth_shown);
    if (!job->target->values[KEY_APP_TOKEN_FILE][0])
        return TL_OK;
    enum tl_status status =
        job->plan ? TL_OK : ticket_read_secret(job->target, KEY_APP_TOKEN_FILE, token, reterr);
    if (status == TL_OK) {
        snprintf(job->auth + len, sizeof job->auth - len, "\nApp-Token: %s", token);
        snprintf(job->auth_shown + shown, sizeof job->auth_shown - shown,
                 "\nApp-Token: <token of %s>", job->target->values[KEY_APP_TOKEN_FILE]);
        ticket_add_auth_shell(job, "App-Token", "", job->target->values[KEY_APP_TOKEN_FILE]);
    }
    explicit_bzero(token, sizeof token);
    return status;
}

static enum tl_status begin_session(struct ticket_job *job, struct tl_error *reterr)
{
    struct ticket_request request = {.method = "GET", .example = "{\"session_token\":\"SESSION\"}"};
    struct tl_json *reply = NULL;
    struct tl_json_at root;
    const char *session;
    tl_buf_adds(&request.path, "/apirest.php/initSession");
    enum tl_status status = ticket_http(job, &request, &reply, reterr);
    if (status == TL_OK) {
        root = tl_json_root(reply);
        status = tl_json_get_string(&root, "session_token", &session, reterr);
    }
    if (status == TL_OK && (strlen(session) >= 256 || !ticket_is_token(session)))
        status = tl_error_set(reterr, TL_PROTOCOL, "%s gave no session", job->target->name);
    if (status == TL_OK) {
        snprintf(job->auth, sizeof job->auth, "Session-Token: %.255s", session);
        snprintf(job->auth_shown, sizeof job->auth_shown, "Session-Token: <of initSession>");
        snprintf(job->auth_shell, sizeof job->auth_shell,
                 "printf 'Session-Token: %%s\\n' \"$SESSION\"\n");
        status = add_app_token(job, reterr);
    }
    tl_json_destroy(reply);
    ticket_request_finish(&request);
    return status;
}

static enum tl_status open_glpi(struct ticket_job *job, struct tl_error *reterr)
{
    enum tl_status status = ticket_open_token(job, "Authorization", "user_token ", reterr);
    if (status == TL_OK)
        status = add_app_token(job, reterr);
    return status == TL_OK ? begin_session(job, reterr) : status;
}

static enum tl_status find(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                           struct tl_error *reterr)
{
    struct ticket_request request = {
        .method = "GET", .example = "{\"totalcount\":0}", .is_search = true};
    struct tl_json *reply = NULL;
    struct tl_json_at root, rows;
    tl_buf_adds(&request.path, "/apirest.php");
    tl_buf_addf(&request.path, FIND, job->message->run_id);
    ret_ticket[0] = '\0';
    enum tl_status status = ticket_http(job, &request, &reply, reterr);
    if (status == TL_OK) {
        root = tl_json_root(reply);
        if (tl_json_find(&root, "data", &rows)) /* absent where there are none */
            status = ticket_take_found(job, &rows, "1", "2", ret_ticket, reterr);
    }
    tl_json_destroy(reply);
    ticket_request_finish(&request);
    return status;
}

/* Text inside <pre>. */
static void add_html(struct tl_json_writer *w, const char *text)
{
    struct tl_buf html = TL_BUF_INIT;
    tl_buf_adds(&html, "<pre>");
    for (; *text; text++) {
        if (*text == '&')
            tl_buf_adds(&html, "&amp;");
        else if (*text == '<')
            tl_buf_adds(&html, "&lt;");
        else if (*text == '>')
            tl_buf_adds(&html, "&gt;");
        else
            tl_buf_add(&html, text, 1);
    }
    tl_buf_adds(&html, "</pre>");
    tl_json_add_string(w, "content", tl_buf_text(&html));
    tl_buf_finish(&html);
}

static enum tl_status attach(struct ticket_job *job, const char *ticket,
                             const struct ticket_file *file, struct tl_error *reterr)
{
    struct ticket_request request = {.method = "POST", .any_reply = true};
    struct tl_buf manifest = TL_BUF_INIT;
    struct tl_json_writer w;
    tl_json_writer_init(&w, &manifest, true);
    tl_json_begin_object(&w, NULL);
    tl_json_begin_object(&w, "input");
    tl_json_add_string(&w, "name", file->name);
    tl_json_begin_array(&w, "_filename");
    tl_json_add_string(&w, NULL, file->name);
    tl_json_end(&w);
    tl_json_add_string(&w, "itemtype", "Ticket");
    tl_json_add_string(&w, "items_id", ticket);
    tl_json_end(&w);
    tl_json_end(&w);
    tl_buf_adds(&request.path, "/apirest.php/Document");
    ticket_multipart(&request, "filename[0]", file, "uploadManifest", tl_buf_text(&manifest));
    tl_buf_finish(&manifest);
    return ticket_post(job, &request, reterr);
}

/* Best effort: a session that stays open ends by itself. */
static void close_glpi(struct ticket_job *job)
{
    struct ticket_request request = {.method = "GET", .any_reply = true};
    struct ticket_job copy = *job;
    tl_buf_adds(&request.path, "/apirest.php/killSession");
    if (ticket_http(&copy, &request, NULL, NULL) != TL_OK) {
        /* nothing depends on it */
    }
    explicit_bzero(&copy, sizeof copy);
    ticket_request_finish(&request);
}

static enum tl_status create(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                             struct tl_error *reterr)
{
    struct ticket_request request = {
        .method = "POST", .content_type = "application/json", .example = "{\"id\":\"NUMBER\"}"};
    struct tl_json_writer w;
    tl_buf_adds(&request.path, "/apirest.php/Ticket");
    tl_json_writer_init(&w, &request.body, true);
    tl_json_begin_object(&w, NULL);
    tl_json_begin_object(&w, "input");
    tl_json_add_string(&w, "name", job->title);
    tl_json_add_string(&w, "externalid", job->message->run_id);
    add_html(&w, job->message->text);
    tl_json_end(&w);
    tl_json_end(&w);
    return ticket_send_for_name(job, &request, NULL, "id", ret_ticket, reterr);
}

static enum tl_status comment(struct ticket_job *job, const char *ticket, struct tl_error *reterr)
{
    struct ticket_request request = {.method = "POST", .content_type = "application/json"};
    struct tl_json_writer w;
    tl_buf_adds(&request.path, "/apirest.php/ITILFollowup");
    tl_json_writer_init(&w, &request.body, true);
    tl_json_begin_object(&w, NULL);
    tl_json_begin_object(&w, "input");
    tl_json_add_string(&w, "itemtype", "Ticket");
    tl_json_add_string(&w, "items_id", ticket);
    add_html(&w, job->message->text);
    tl_json_end(&w);
    tl_json_end(&w);
    return ticket_post(job, &request, reterr);
}

const struct ticket_system ticket_glpi = {
    .name = "glpi",
    .title = "GLPI",
    .needs = KEY(URL) | KEY(TOKEN_FILE),
    .takes = KEY(APP_TOKEN_FILE),
    .open = open_glpi,
    .find = find,
    .create = create,
    .attach = attach,
    .comment = comment,
    .close = close_glpi,
};
