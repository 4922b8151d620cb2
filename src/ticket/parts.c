/* What several systems need: tokens, found tickets, attachments, base64, multipart bodies. */
#include <stdio.h>
#include <string.h>

#include "private.h"
#include "tightlink/base/secret.h"

bool ticket_is_token(const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c <= ' ' || *c >= 127)
            return false;
    return text[0] != '\0';
}

enum tl_status ticket_read_secret(const struct ticket_target *target, enum ticket_key key,
                                  char ret_secret[TICKET_SECRET_SIZE], struct tl_error *reterr)
{
    const char *path = target->values[key];
    size_t len = 0;
    enum tl_status status =
        tl_secret_file_read(path, "token file", ret_secret, TICKET_SECRET_SIZE, &len, reterr);
    if (status != TL_OK)
        return status;
    while (len && strchr("\r\n \t", ret_secret[len - 1]))
        ret_secret[--len] = '\0';
    if (strlen(ret_secret) == len && ticket_is_token(ret_secret))
        return TL_OK;
    explicit_bzero(ret_secret, TICKET_SECRET_SIZE);
    return tl_error_set(reterr, TL_SYNTAX,
                        "%s has no token: one line of printable characters, without blanks", path);
}

static enum tl_status read_token(struct ticket_job *job, struct tl_error *reterr)
{
    if (job->plan) {
        snprintf(job->secret, sizeof job->secret, "TOKEN");
        return TL_OK;
    }
    return ticket_read_secret(job->target, KEY_TOKEN_FILE, job->secret, reterr);
}

enum tl_status ticket_open_token(struct ticket_job *job, const char *header, const char *prefix,
                                 struct tl_error *reterr)
{
    enum tl_status status = read_token(job, reterr);
    if (status != TL_OK)
        return status;
    snprintf(job->auth, sizeof job->auth, "%s: %s%s", header, prefix, job->secret);
    snprintf(job->auth_shown, sizeof job->auth_shown, "%s: %s<token of %s>", header, prefix,
             job->target->values[KEY_TOKEN_FILE]);
    ticket_add_auth_shell(job, header, prefix, job->target->values[KEY_TOKEN_FILE]);
    return TL_OK;
}

void ticket_add_auth_shell(struct ticket_job *job, const char *header, const char *prefix,
                           const char *file)
{
    struct tl_buf line = TL_BUF_INIT;
    size_t len = strlen(job->auth_shell);
    tl_buf_addf(&line, "printf '%s: %s%%s\\n' \"$(token ", header, prefix);
    ticket_add_quoted(&line, file);
    tl_buf_adds(&line, ")\"\n");
    snprintf(job->auth_shell + len, sizeof job->auth_shell - len, "%s", tl_buf_text(&line));
    tl_buf_finish(&line);
}

static void set_basic_shell(struct ticket_job *job)
{
    struct tl_buf line = TL_BUF_INIT;
    tl_buf_adds(&line, "printf 'Authorization: Basic %s\\n' \"$({ printf %s ");
    ticket_add_quoted(&line, job->target->values[KEY_USER]);
    tl_buf_adds(&line, "; printf :; token ");
    ticket_add_quoted(&line, job->target->values[KEY_TOKEN_FILE]);
    tl_buf_adds(&line, "; } | base64 | tr -d '\\n')\"\n");
    snprintf(job->auth_shell, sizeof job->auth_shell, "%s", tl_buf_text(&line));
    tl_buf_finish(&line);
}

static void add_base64(struct tl_buf *out, const char *data, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = (const unsigned char *)data;
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        unsigned group = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        char four[4] = {digits[group >> 18], digits[group >> 12 & 63],
                        left > 1 ? digits[group >> 6 & 63] : '=',
                        left > 2 ? digits[group & 63] : '='};
        tl_buf_add(out, four, sizeof four);
    }
}

enum tl_status ticket_open_basic(struct ticket_job *job, struct tl_error *reterr)
{
    struct tl_buf pair = TL_BUF_INIT, encoded = TL_BUF_INIT;
    enum tl_status status = read_token(job, reterr);
    if (status != TL_OK)
        return status;
    tl_buf_addf(&pair, "%s:%s", job->target->values[KEY_USER], job->secret);
    add_base64(&encoded, tl_buf_text(&pair), pair.len);
    snprintf(job->auth, sizeof job->auth, "Authorization: Basic %s", tl_buf_text(&encoded));
    snprintf(job->auth_shown, sizeof job->auth_shown,
             "Authorization: Basic <base64 of %.100s:token of %.300s>",
             job->target->values[KEY_USER], job->target->values[KEY_TOKEN_FILE]);
    set_basic_shell(job);
    status = pair.status == TL_OK ? encoded.status : pair.status;
    if (pair.data)
        explicit_bzero(pair.data, pair.len);
    if (encoded.data)
        explicit_bzero(encoded.data, encoded.len);
    tl_buf_finish(&pair);
    tl_buf_finish(&encoded);
    return status;
}

/* --- Replies --- */

enum tl_status ticket_check_name(const char *ticket, struct tl_error *reterr)
{
    size_t len = strlen(ticket);
    if (len && len < TL_TICKET_NAME_SIZE &&
        strspn(ticket, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == len)
        return TL_OK;
    return tl_error_set(reterr, TL_PROTOCOL, "\"%.40s\" is no number or key of a ticket", ticket);
}

enum tl_status ticket_take_name(const struct tl_json_at *object, const char *key,
                                char ret_ticket[TL_TICKET_NAME_SIZE], struct tl_error *reterr)
{
    struct tl_json_at at;
    const char *text;
    int64_t number;
    char name[TL_TICKET_NAME_SIZE] = "";
    if (!tl_json_find(object, key, &at))
        return tl_error_set(
            reterr, TL_PROTOCOL,
            "the answer does not tell the ticket's %s: is this url of another system?", key);
    if (tl_json_string(&at, &text, NULL) == TL_OK)
        snprintf(name, sizeof name, "%.*s", TL_TICKET_NAME_SIZE - 1, text);
    else if (tl_json_integer(&at, 0, INT64_MAX, &number, NULL) == TL_OK)
        snprintf(name, sizeof name, "%lld", (long long)number);
    enum tl_status status = ticket_check_name(name, reterr);
    if (status == TL_OK)
        memcpy(ret_ticket, name, sizeof name);
    return status;
}

enum tl_status ticket_take_found(const struct ticket_job *job, const struct tl_json_at *array,
                                 const char *title_key, const char *name_key,
                                 char ret_ticket[TL_TICKET_NAME_SIZE], struct tl_error *reterr)
{
    const char *title;
    ret_ticket[0] = '\0';
    for (size_t i = 0; i < tl_json_count(array); i++) {
        struct tl_json_at item = tl_json_item(array, i);
        if (tl_json_get_string(&item, title_key, &title, NULL) == TL_OK &&
            strstr(title, job->message->run_id))
            return ticket_take_name(&item, name_key, ret_ticket, reterr);
    }
    return TL_OK;
}

/* --- Whole exchanges --- */

/* The member key of a reply, or the reply itself where key is NULL. */
static enum tl_status member(const struct tl_json *reply, const char *key,
                             struct tl_json_at *ret_at, struct tl_error *reterr)
{
    *ret_at = tl_json_root(reply);
    return key ? tl_json_get(ret_at, key, ret_at, reterr) : TL_OK;
}

enum tl_status ticket_send_for_name(struct ticket_job *job, struct ticket_request *request,
                                    const char *object_key, const char *name_key,
                                    char ret_ticket[TL_TICKET_NAME_SIZE], struct tl_error *reterr)
{
    struct tl_json *reply = NULL;
    struct tl_json_at at;
    enum tl_status status = ticket_http(job, request, &reply, reterr);
    if (status == TL_OK)
        status = member(reply, object_key, &at, reterr);
    if (status == TL_OK)
        status = ticket_take_name(&at, name_key, ret_ticket, reterr);
    tl_json_destroy(reply);
    ticket_request_finish(request);
    return status;
}

enum tl_status ticket_search(struct ticket_job *job, struct ticket_request *request,
                             const char *array_key, const char *title_key, const char *name_key,
                             char ret_ticket[TL_TICKET_NAME_SIZE], struct tl_error *reterr)
{
    struct tl_json *reply = NULL;
    struct tl_json_at at, first;
    ret_ticket[0] = '\0';
    request->is_search = true;
    enum tl_status status = ticket_http(job, request, &reply, reterr);
    if (status == TL_OK)
        status = member(reply, array_key, &at, reterr);
    if (status == TL_OK)
        status = tl_json_expect(&at, TL_JSON_ARRAY, reterr);
    if (status == TL_OK && title_key) {
        status = ticket_take_found(job, &at, title_key, name_key, ret_ticket, reterr);
    } else if (status == TL_OK && tl_json_count(&at)) {
        first = tl_json_item(&at, 0);
        status = ticket_take_name(&first, name_key, ret_ticket, reterr);
    }
    tl_json_destroy(reply);
    ticket_request_finish(request);
    return status;
}

enum tl_status ticket_post(struct ticket_job *job, struct ticket_request *request,
                           struct tl_error *reterr)
{
    struct tl_json *reply = NULL;
    enum tl_status status = ticket_http(job, request, &reply, reterr);
    tl_json_destroy(reply);
    ticket_request_finish(request);
    return status;
}

/* --- Bodies --- */

size_t ticket_files(const struct tl_ticket_message *message,
                    struct ticket_file ret_files[TICKET_FILES_MAX])
{
    size_t count = 0;
    if (message->json && message->json[0])
        ret_files[count++] =
            (struct ticket_file){"findings.json", "application/json", message->json};
    if (message->html && message->html[0])
        ret_files[count++] = (struct ticket_file){"report.html", "text/html", message->html};
    return count;
}

void ticket_add_files(struct tl_json_writer *w, const char *key, const struct ticket_file *members,
                      const struct tl_ticket_message *message)
{
    struct ticket_file files[TICKET_FILES_MAX];
    size_t count = ticket_files(message, files);
    if (!count)
        return;
    tl_json_begin_array(w, key);
    for (size_t i = 0; i < count; i++) {
        struct tl_buf encoded = TL_BUF_INIT;
        add_base64(&encoded, files[i].data, strlen(files[i].data));
        tl_json_begin_object(w, NULL);
        tl_json_add_string(w, members->name, files[i].name);
        tl_json_add_string(w, members->type, files[i].type);
        tl_json_add_string(w, members->data, tl_buf_text(&encoded));
        tl_json_end(w);
        tl_buf_finish(&encoded);
    }
    tl_json_end(w);
}

void ticket_multipart(struct ticket_request *request, const char *field,
                      const struct ticket_file *file, const char *extra_field, const char *extra)
{
    /* A plan shows the same boundary each time; its characters stand in no JSON and no HTML that
     * we write. */
    static const char boundary[] = "----tightlink-part-7d1c4e0a9b5f";
    request->content_type = "multipart/form-data; boundary=----tightlink-part-7d1c4e0a9b5f";
    if (extra_field[0])
        tl_buf_addf(&request->body,
                    "--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n"
                    "Content-Type: application/json\r\n\r\n%s\r\n",
                    boundary, extra_field, extra);
    tl_buf_addf(&request->body,
                "--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n"
                "Content-Type: %s\r\n\r\n",
                boundary, field, file->name, file->type);
    tl_buf_adds(&request->body, file->data);
    tl_buf_addf(&request->body, "\r\n--%s--\r\n", boundary);
}
