/* Requests by libcurl: HTTPS only, no redirect followed. A certificate is one that this system
 * trusts, or its key is the one that was met before; perfSONAR nodes sign their own. */
#include "pscheduler_http.h"

#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pscheduler_text.h"
#include "tightlink/base/name.h"
#include "tightlink/base/time.h"

#define CONNECT_MS   10000L
#define DEFAULT_PORT 443
/* curl looks at its own timers at least so often. */
#define STEP_MS 500

struct psched_http {
    CURL *curl;
    CURLM *multi;
    struct curl_slist *headers;
    int cancel_fd;
    bool insecure, local; /* local: of this machine alone, no proxy's business */
    char name[300], base[320];
    char pin[TL_PSCHED_PIN_SIZE];
};

static pthread_once_t begun = PTHREAD_ONCE_INIT;

static void begin(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

static void set_names(struct psched_http *http, const struct tl_psched_node *node)
{
    const char *open = strchr(node->host, ':') ? "[" : "", *close = *open ? "]" : "";
    char port[8] = "";
    if (node->port && node->port != DEFAULT_PORT)
        snprintf(port, sizeof port, ":%u", node->port);
    snprintf(http->name, sizeof http->name, "%s%s%s%s", open, node->host, close, port);
    snprintf(http->base, sizeof http->base, "https://%s", http->name);
}

enum tl_status psched_http_create(const struct tl_psched_node *node, int cancel_fd,
                                  struct psched_http **ret_http, struct tl_error *reterr)
{
    struct psched_http *http = calloc(1, sizeof *http);
    (void)pthread_once(&begun, begin);
    if (http) {
        http->cancel_fd = cancel_fd;
        http->insecure = node->insecure;
        http->local = tl_is_loopback_name(node->host);
        snprintf(http->pin, sizeof http->pin, "%s", node->pin ? node->pin : "");
        set_names(http, node);
        http->curl = curl_easy_init();
        http->multi = curl_multi_init();
        /* No "100 Continue" to wait for. */
        http->headers = curl_slist_append(NULL, "Expect:");
    }
    if (!http || !http->curl || !http->multi || !http->headers) {
        psched_http_destroy(http);
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    }
    *ret_http = http;
    return TL_OK;
}

void psched_http_destroy(struct psched_http *http)
{
    if (!http)
        return;
    curl_easy_cleanup(http->curl);
    curl_multi_cleanup(http->multi);
    curl_slist_free_all(http->headers);
    free(http);
}

const char *psched_http_name(const struct psched_http *http)
{
    return http->name;
}

const char *psched_http_pin(const struct psched_http *http)
{
    return http->pin;
}

void psched_http_heed(struct psched_http *http, int cancel_fd)
{
    http->cancel_fd = cancel_fd;
}

/* --- One request ------------------------------------------------------------------------------ */

static size_t take_body(char *data, size_t size, size_t count, void *body)
{
    return tl_buf_add_within(body, data, size * count, PSCHED_BODY_MAX) ? size * count : 0;
}

static CURLcode set_up(struct psched_http *http, const struct psched_ask *ask, const char *url,
                       struct tl_buf *ret_body)
{
    CURL *curl = http->curl;
    bool vouched = !http->insecure && !http->pin[0];
    curl_easy_reset(curl);
    CURLcode code = curl_easy_setopt(curl, CURLOPT_URL, url);
#define SET(option, value)                                                                         \
    if (code == CURLE_OK)                                                                          \
    code = curl_easy_setopt(curl, option, value)
    SET(CURLOPT_PROTOCOLS_STR, "https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    SET(CURLOPT_TIMEOUT_MS, (long)(ask->time_ns / TL_NS_PER_MS));
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_USERAGENT, "tightlink");
    SET(CURLOPT_CUSTOMREQUEST, ask->method);
    SET(CURLOPT_HTTPHEADER, http->headers);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, ret_body);
    SET(CURLOPT_SSL_VERIFYPEER, vouched ? 1L : 0L);
    SET(CURLOPT_SSL_VERIFYHOST, vouched ? 2L : 0L);
    if (http->pin[0] && !http->insecure)
        SET(CURLOPT_PINNEDPUBLICKEY, http->pin);
    if (http->local)
        SET(CURLOPT_NOPROXY, "*");
    if (ask->body) {
        SET(CURLOPT_POSTFIELDSIZE, (long)strlen(ask->body));
        SET(CURLOPT_POSTFIELDS, ask->body);
    }
#undef SET
    return code;
}

/* Until it is done or the user has had enough, which gives CURLE_ABORTED_BY_CALLBACK. */
static CURLcode perform(struct psched_http *http)
{
    struct curl_waitfd more = {.fd = http->cancel_fd, .events = CURL_WAIT_POLLIN};
    CURLcode code = CURLE_OUT_OF_MEMORY;
    int running = 1, left;
    if (curl_multi_add_handle(http->multi, http->curl) != CURLM_OK)
        return code;
    while (running) {
        more.revents = 0;
        if (curl_multi_perform(http->multi, &running) != CURLM_OK)
            break;
        if (running && curl_multi_poll(http->multi, &more, http->cancel_fd >= 0 ? 1 : 0, STEP_MS,
                                       NULL) != CURLM_OK)
            break;
        if (more.revents) {
            code = CURLE_ABORTED_BY_CALLBACK;
            break;
        }
    }
    const CURLMsg *message = running ? NULL : curl_multi_info_read(http->multi, &left);
    if (message && message->msg == CURLMSG_DONE)
        code = message->data.result;
    curl_multi_remove_handle(http->multi, http->curl);
    return code;
}

static enum tl_status failure(const struct psched_http *http, CURLcode code,
                              const struct tl_buf *body, struct tl_error *reterr)
{
    const char *name = http->name;
    if (body->status == TL_LIMIT)
        return tl_error_set(reterr, TL_LIMIT,
                            "%s answered with more than %zu MiB: that is no answer of a pScheduler",
                            name, PSCHED_BODY_MAX >> 20);
    switch (code) {
    case CURLE_ABORTED_BY_CALLBACK:
        return tl_error_set(reterr, TL_CANCELLED, "interrupted");
    case CURLE_COULDNT_RESOLVE_HOST:
        return tl_error_set(reterr, TL_NOHOST, "the name of the node %s cannot be resolved", name);
    case CURLE_COULDNT_CONNECT:
        return tl_error_set(reterr, TL_UNREACHABLE,
                            "nothing answers at %s (pScheduler listens on TCP port 443)", name);
    case CURLE_OPERATION_TIMEDOUT:
        return tl_error_set(reterr, TL_TIMEOUT, "no answer from %s in time", name);
    case CURLE_PEER_FAILED_VERIFICATION:
        return tl_error_set(reterr, TL_AUTH, "nobody vouches for the certificate of %s", name);
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
        return tl_error_set(reterr, TL_AUTH,
                            "%s shows another key than at first: it got a new certificate, or "
                            "somebody stands between",
                            name);
    case CURLE_OUT_OF_MEMORY:
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    default:
        return tl_error_set(reterr, TL_CLOSED, "%s: %s", name, curl_easy_strerror(code));
    }
}

enum tl_status psched_http_ask(struct psched_http *http, const struct psched_ask *ask,
                               struct tl_buf *ret_body, long *ret_code, bool *ret_stranger,
                               struct tl_error *reterr)
{
    struct tl_buf url = TL_BUF_INIT;
    tl_buf_addf(&url, "%s%s", http->base, ask->path);
    CURLcode code =
        url.status == TL_OK ? set_up(http, ask, tl_buf_text(&url), ret_body) : CURLE_OUT_OF_MEMORY;
    if (code == CURLE_OK)
        code = perform(http);
    if (code == CURLE_OK)
        code = curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, ret_code);
    tl_buf_finish(&url);
    if (ret_stranger)
        *ret_stranger = code == CURLE_PEER_FAILED_VERIFICATION;
    return code == CURLE_OK ? TL_OK : failure(http, code, ret_body, reterr);
}

/* --- The key of a stranger -------------------------------------------------------------------- */

/* As curl compares it: SHA-256 of the SubjectPublicKeyInfo (RFC 7469, section 2.4). */
static bool pin_of_pem(const char *pem, char ret_pin[TL_PSCHED_PIN_SIZE])
{
    unsigned char *der = NULL, hash[SHA256_DIGEST_LENGTH], text[48];
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *certificate = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    int len = certificate ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der) : -1;
    bool known =
        len > 0 && SHA256(der, (size_t)len, hash) && EVP_EncodeBlock(text, hash, sizeof hash) > 0;
    if (known)
        snprintf(ret_pin, TL_PSCHED_PIN_SIZE, "sha256//%s", (const char *)text);
    OPENSSL_free(der);
    X509_free(certificate);
    BIO_free(bio);
    return known;
}

static bool find_pin(CURL *curl, char ret_pin[TL_PSCHED_PIN_SIZE])
{
    static const char name[] = "Cert:";
    const struct curl_certinfo *chain = NULL;
    if (curl_easy_getinfo(curl, CURLINFO_CERTINFO, &chain) != CURLE_OK || !chain ||
        chain->num_of_certs < 1)
        return false;
    for (const struct curl_slist *line = chain->certinfo[0]; line; line = line->next)
        if (strncmp(line->data, name, strlen(name)) == 0)
            return pin_of_pem(line->data + strlen(name), ret_pin);
    return false;
}

enum tl_status psched_http_learn_pin(struct psched_http *http, struct tl_error *reterr)
{
    struct tl_buf body = TL_BUF_INIT, url = TL_BUF_INIT;
    const struct psched_ask ask = {
        .method = "GET", .path = "/pscheduler/api", .time_ns = 15 * TL_NS_PER_S};
    enum tl_status status = TL_OK;
    tl_buf_addf(&url, "%s%s", http->base, ask.path);
    CURLcode code =
        url.status == TL_OK ? set_up(http, &ask, tl_buf_text(&url), &body) : CURLE_OUT_OF_MEMORY;
    /* For this one answer, which tells nothing but the certificate. */
    curl_easy_setopt(http->curl, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(http->curl, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(http->curl, CURLOPT_CERTINFO, 1L);
    curl_easy_setopt(http->curl, CURLOPT_FORBID_REUSE, 1L);
    if (code == CURLE_OK)
        code = perform(http);
    if (code != CURLE_OK)
        status = failure(http, code, &body, reterr);
    else if (!find_pin(http->curl, http->pin))
        status = tl_error_set(reterr, TL_AUTH, "the certificate of %s cannot be read", http->name);
    tl_buf_finish(&body);
    tl_buf_finish(&url);
    return status;
}
