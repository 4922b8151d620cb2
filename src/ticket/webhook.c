/* A webhook of one's own: the findings, signed. The receiver knows a repeated one by its
 * Idempotency-Key, so that nothing needs to be searched.
 *
 *   X-Tightlink-Timestamp: seconds since 1970
 *   X-Tightlink-Signature: sha256=HEX, HMAC-SHA256 (RFC 2104) of "TIMESTAMP.BODY" under the
 *                          content of token_file
 *
 * The timestamp lets a receiver refuse old requests that somebody recorded. */
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#include "private.h"
#include "tightlink/base/time.h"

static enum tl_status open_webhook(struct ticket_job *job, struct tl_error *reterr)
{
    if (job->plan)
        return TL_OK;
    return ticket_read_secret(job->target, KEY_TOKEN_FILE, job->secret, reterr);
}

static enum tl_status sign(struct ticket_job *job, struct ticket_request *request,
                           struct tl_error *reterr)
{
    struct tl_buf text = TL_BUF_INIT;
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    long long now = tl_realtime_ns() / TL_NS_PER_S;
    request->is_signed = true;
    if (job->plan) /* it signs when it is sent */
        return TL_OK;
    tl_buf_addf(&request->headers, "X-Tightlink-Timestamp: %lld\n", now);
    tl_buf_addf(&text, "%lld.%s", now, tl_buf_text(&request->body));
    bool signed_ = text.status == TL_OK &&
                   HMAC(EVP_sha256(), job->secret, (int)strlen(job->secret),
                        (const unsigned char *)tl_buf_text(&text), text.len, digest, &len);
    tl_buf_finish(&text);
    if (!signed_)
        return tl_error_set(reterr, TL_NOMEM, "%s: the request cannot be signed",
                            job->target->name);
    tl_buf_adds(&request->headers, "X-Tightlink-Signature: sha256=");
    for (unsigned i = 0; i < len; i++)
        tl_buf_addf(&request->headers, "%02x", digest[i]);
    return TL_OK;
}

static enum tl_status post(struct ticket_job *job, struct tl_error *reterr)
{
    struct ticket_request request = {
        .method = "POST", .content_type = "application/json", .any_reply = true};
    tl_buf_addf(&request.headers, "Idempotency-Key: %s\n", job->message->run_id);
    tl_buf_adds(&request.body, job->message->json);
    enum tl_status status = sign(job, &request, reterr);
    if (status == TL_OK)
        status = ticket_http(job, &request, NULL, reterr);
    ticket_request_finish(&request);
    return status;
}

static enum tl_status create(struct ticket_job *job, char ret_ticket[TL_TICKET_NAME_SIZE],
                             struct tl_error *reterr)
{
    enum tl_status status = post(job, reterr);
    if (status == TL_OK)
        snprintf(ret_ticket, TL_TICKET_NAME_SIZE, "%s", job->message->run_id);
    return status;
}

static enum tl_status comment(struct ticket_job *job, const char *ticket, struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_UNSUPPORTED, "%s: a webhook has no tickets to add to",
                        job->target->name);
}

const struct ticket_system ticket_webhook = {
    .name = "webhook",
    .title = "signed webhook",
    .needs = KEY(URL) | KEY(TOKEN_FILE),
    .open = open_webhook,
    .create = create,
    .comment = comment,
};
