/* One request over libcurl, held to what promise P14 says of the wire, and its failure as one
 * sentence that never has a secret. */
#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "private.h"
#include "tightlink/base/name.h"
#include "tightlink/base/time.h"

#define CONNECT_S 10L
#define WHOLE_S   30L

/* A stated wait beyond a day is not kept to. */
#define RETRY_AFTER_MAX_S 86400

void ticket_request_finish(struct ticket_request *request)
{
    tl_buf_finish(&request->path);
    tl_buf_finish(&request->body);
    tl_buf_finish(&request->headers);
}

void ticket_add_escaped(struct tl_buf *out, const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *text; text++) {
        if (strchr(plain, *text))
            tl_buf_add(out, text, 1);
        else
            tl_buf_addf(out, "%%%02X", (unsigned)(unsigned char)*text);
    }
}

/* --- Where to --- */

/* Host of a URL, in lower case, without brackets. */
static bool host_of(const char *url, char ret_host[256])
{
    CURLU *parts = curl_url();
    char *host = NULL;
    bool known = parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
                 curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK && strlen(host) < 256;
    if (known)
        for (size_t i = 0; i <= strlen(host); i++)
            ret_host[i] = (char)(host[i] >= 'A' && host[i] <= 'Z' ? host[i] + 32 : host[i]);
    curl_free(host);
    curl_url_cleanup(parts);
    return known;
}

static bool is_loopback(const char *url)
{
    char host[256];
    return host_of(url, host) && tl_is_loopback_name(host);
}

/* --- Reply --- */

struct reply {
    struct tl_buf body;
    int64_t retry_after_ns;
};

static size_t take_body(char *data, size_t size, size_t count, void *context)
{
    struct reply *reply = context;
    return tl_buf_add_within(&reply->body, data, size * count, TICKET_REPLY_MAX) ? size * count : 0;
}

/* Retry-After: seconds, or a date (RFC 9110, 10.2.3). */
static size_t take_header(char *data, size_t size, size_t count, void *context)
{
    static const char name[] = "retry-after:";
    struct reply *reply = context;
    char value[64];
    size_t len = size * count, at = strlen(name);
    if (len <= at || strncasecmp(data, name, at) != 0)
        return len;
    while (at < len && (data[at] == ' ' || data[at] == '\t'))
        at++;
    size_t n = len - at < sizeof value - 1 ? len - at : sizeof value - 1;
    memcpy(value, data + at, n);
    value[n] = '\0';
    value[strcspn(value, "\r\n")] = '\0';
    char *end;
    long long seconds = strtoll(value, &end, 10);
    if (end == value || *end)
        seconds = (long long)curl_getdate(value, NULL) - tl_realtime_ns() / TL_NS_PER_S;
    if (seconds > 0)
        reply->retry_after_ns =
            (seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S) * TL_NS_PER_S;
    return len;
}

/* --- Failures --------------------------------------------------------------------------------- */

/* What had not begun cannot have arrived. */
static bool had_begun(CURLcode code)
{
    return code != CURLE_COULDNT_RESOLVE_HOST && code != CURLE_COULDNT_CONNECT &&
           code != CURLE_PEER_FAILED_VERIFICATION && code != CURLE_UNSUPPORTED_PROTOCOL;
}

static enum tl_status curl_failure(struct ticket_job *job, CURLcode code, const struct reply *reply,
                                   struct tl_error *reterr)
{
    const char *name = job->target->name;
    char host[256] = "";
    (void)host_of(job->target->values[KEY_URL], host);
    job->unsure = had_begun(code);
    if (reply->body.status == TL_LIMIT)
        return tl_error_set(
            reterr, TL_PROTOCOL,
            "%s answered with more than 64 KiB: that is no answer of a ticket system; "
            "check url",
            name);
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return tl_error_set(reterr, TL_NOHOST, "%s: the name %s cannot be resolved", name, host);
    case CURLE_COULDNT_CONNECT:
        return tl_error_set(reterr, TL_UNREACHABLE, "%s: nothing answers at %s", name, host);
    case CURLE_OPERATION_TIMEDOUT:
        return tl_error_set(reterr, TL_TIMEOUT,
                            "%s: no answer from %s in time (10 s to connect, 30 s in all)", name,
                            host);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return tl_error_set(reterr, TL_AUTH,
                            "%s: the certificate of %s is not of that name, or of nobody that is "
                            "trusted here; name its authority with ca_file",
                            name, host);
    case CURLE_UNSUPPORTED_PROTOCOL:
        return tl_error_set(
            reterr, TL_DENIED,
            "%s: its url is not https; a token would be readable on the way (allow_http "
            "= yes permits it)",
            name);
    case CURLE_OUT_OF_MEMORY:
        return tl_error_set(reterr, TL_NOMEM, "no memory for the request to %s", name);
    default:
        return tl_error_set(reterr, TL_CLOSED, "%s: %s", name, curl_easy_strerror(code));
    }
}

/* The reply's own words, where it has some, cut. */
static const char *reason(const struct reply *reply, char ret_text[120])
{
    size_t len = 0;
    const char *text = tl_buf_text(&reply->body);
    if (*text == '<')
        return "";
    ret_text[len++] = ':';
    ret_text[len++] = ' ';
    for (; *text && len < 110; text++)
        ret_text[len++] = *text >= ' ' && *text < 127 ? *text : ' ';
    ret_text[len] = '\0';
    return len > 2 ? ret_text : "";
}

static enum tl_status status_failure(struct ticket_job *job, long code, const struct reply *reply,
                                     struct tl_error *reterr)
{
    const char *name = job->target->name;
    char words[120];
    job->unsure = code >= 500;
    if (code >= 300 && code < 400)
        return tl_error_set(
            reterr, TL_PROTOCOL,
            "%s answered with a redirect (%ld), which is not followed: a token goes "
            "only where url points",
            name, code);
    switch (code) {
    case 401:
        return tl_error_set(reterr, TL_AUTH, "%s does not take the token (401): renew %s", name,
                            job->target->values[KEY_TOKEN_FILE]);
    case 403:
        return tl_error_set(reterr, TL_AUTH, "%s: the token may not do this (403)%s", name,
                            reason(reply, words));
    case 404:
        return tl_error_set(
            reterr, TL_PROTOCOL,
            "%s: there is nothing at this address (404): check url, and the project, "
            "queue or ticket%s",
            name, reason(reply, words));
    case 413:
        return tl_error_set(reterr, TL_PROTOCOL,
                            "%s refuses this much at once (413): send without the attachments",
                            name);
    case 429:
        return tl_error_set(reterr, TL_BUSY,
                            "%s wants fewer requests (429): it waits in the outbox", name);
    default:
        if (code >= 500)
            return tl_error_set(reterr, TL_BUSY, "%s failed (%ld): it waits in the outbox", name,
                                code);
        return tl_error_set(reterr, TL_PROTOCOL, "%s refused the request (%ld)%s", name, code,
                            reason(reply, words));
    }
}

static enum tl_status parse_reply(struct ticket_job *job, const struct ticket_request *request,
                                  const struct tl_buf *body, struct tl_json **ret_reply,
                                  struct tl_error *reterr)
{
    static const struct tl_json_limits limits = {
        .bytes_max = TICKET_REPLY_MAX, .values_max = 10000, .depth_max = 24};
    struct tl_error why = {0};
    if (ret_reply)
        *ret_reply = NULL;
    if (request->any_reply || !ret_reply)
        return TL_OK;
    if (tl_json_parse(tl_buf_text(body), body->len, &limits, ret_reply, &why) == TL_OK)
        return TL_OK;
    job->unsure = true;
    return tl_error_set(reterr, TL_PROTOCOL,
                        "%s answered %s, not JSON: check url (a sign-in page or a proxy answers "
                        "there)",
                        job->target->name,
                        tl_buf_text(body)[strspn(tl_buf_text(body), " \r\n\t")] == '<'
                            ? "with a web page"
                            : "with something else");
}

/* --- The request --- */

static void add_headers(struct curl_slist **list, const char *lines)
{
    char line[TICKET_SECRET_SIZE * 2];
    while (*lines) {
        size_t len = strcspn(lines, "\n");
        if (len < sizeof line) {
            memcpy(line, lines, len);
            line[len] = '\0';
            *list = curl_slist_append(*list, line);
        }
        lines += len + (lines[len] == '\n');
    }
    explicit_bzero(line, sizeof line);
}

static void free_headers(struct curl_slist *list)
{
    for (struct curl_slist *item = list; item; item = item->next)
        explicit_bzero(item->data, strlen(item->data));
    curl_slist_free_all(list);
}

static CURLcode set_up(CURL *curl, struct ticket_job *job, const struct ticket_request *request,
                       const char *url, struct curl_slist *headers, struct reply *reply)
{
    const struct ticket_target *target = job->target;
    bool local = is_loopback(target->values[KEY_URL]);
    CURLcode code = curl_easy_setopt(curl, CURLOPT_URL, url);
#define SET(option, value)                                                                         \
    if (code == CURLE_OK)                                                                          \
    code = curl_easy_setopt(curl, option, value)
    SET(CURLOPT_PROTOCOLS_STR, target->allow_http || local ? "http,https" : "https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_CONNECTTIMEOUT, CONNECT_S);
    SET(CURLOPT_TIMEOUT, WHOLE_S);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_USERAGENT, "tightlink");
    SET(CURLOPT_CUSTOMREQUEST, request->method);
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, reply);
    SET(CURLOPT_HEADERFUNCTION, take_header);
    SET(CURLOPT_HEADERDATA, reply);
    if (local)
        SET(CURLOPT_NOPROXY, "*");
    if (target->values[KEY_CA_FILE][0])
        SET(CURLOPT_CAINFO, target->values[KEY_CA_FILE]);
    if (request->content_type) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
        SET(CURLOPT_POSTFIELDS, tl_buf_text(&request->body));
    }
#undef SET
    return code;
}

static enum tl_status exchange(struct ticket_job *job, const struct ticket_request *request,
                               struct reply *reply, struct tl_error *reterr)
{
    struct tl_buf url = TL_BUF_INIT, type = TL_BUF_INIT;
    struct curl_slist *headers = NULL;
    CURL *curl = curl_easy_init();
    CURLcode code = CURLE_OUT_OF_MEMORY;
    long answer = 0;
    tl_buf_addf(&url, "%s%s", job->target->values[KEY_URL], tl_buf_text(&request->path));
    add_headers(&headers, job->auth);
    add_headers(&headers, tl_buf_text(&request->headers));
    /* No "100 Continue" to wait for. */
    add_headers(&headers, "Expect:");
    if (request->content_type) {
        tl_buf_addf(&type, "Content-Type: %s", request->content_type);
        add_headers(&headers, tl_buf_text(&type));
    }
    if (curl && url.status == TL_OK)
        code = set_up(curl, job, request, tl_buf_text(&url), headers, reply);
    if (code == CURLE_OK)
        code = curl_easy_perform(curl);
    if (code == CURLE_OK)
        code = curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer);
    curl_easy_cleanup(curl);
    free_headers(headers);
    tl_buf_finish(&url);
    tl_buf_finish(&type);
    job->retry_after_ns = reply->retry_after_ns;
    job->unsure = false;
    if (code != CURLE_OK)
        return curl_failure(job, code, reply, reterr);
    return answer >= 200 && answer < 300 ? TL_OK : status_failure(job, answer, reply, reterr);
}

static pthread_once_t begun = PTHREAD_ONCE_INIT;

static void begin(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

enum tl_status ticket_http(struct ticket_job *job, struct ticket_request *request,
                           struct tl_json **ret_reply, struct tl_error *reterr)
{
    struct reply reply = {0};
    enum tl_status status = TL_OK;
    (void)pthread_once(&begun, begin);
    if (request->path.status != TL_OK || request->body.status != TL_OK ||
        request->headers.status != TL_OK)
        status =
            tl_error_set(reterr, TL_NOMEM, "no memory for the request to %s", job->target->name);
    else if (job->plan) {
        ticket_print_request(job, request);
        tl_buf_adds(&reply.body, request->example ? request->example : "{}");
    } else {
        status = exchange(job, request, &reply, reterr);
    }
    if (status == TL_OK)
        status = parse_reply(job, request, &reply.body, ret_reply, reterr);
    tl_buf_finish(&reply.body);
    return status;
}
