/* One request to a pScheduler over HTTPS, within limits of time and size, that a readable
 * descriptor ends. Private to src/engine/foreign. */
#ifndef TL_ENGINE_PSCHEDULER_HTTP_H
#define TL_ENGINE_PSCHEDULER_HTTP_H

#include "tightlink/base/buf.h"
#include "tightlink/engine/pscheduler.h"

struct psched_http;

enum tl_status psched_http_create(const struct tl_psched_node *node, int cancel_fd,
                                  struct psched_http **ret_http,
                                  struct tl_error *reterr) TL_WARN_UNUSED;
void psched_http_destroy(struct psched_http *http); /* takes NULL */
/* The node as a person reads it. */
const char *psched_http_name(const struct psched_http *http);
const char *psched_http_pin(const struct psched_http *http);
/* From here on this key, and no authority, says who the node is. */
enum tl_status psched_http_learn_pin(struct psched_http *http,
                                     struct tl_error *reterr) TL_WARN_UNUSED;
/* The descriptor that ends requests; -1 while something is taken back, which Ctrl-C shall not end.
 */
void psched_http_heed(struct psched_http *http, int cancel_fd);

struct psched_ask {
    const char *method; /* "GET", "POST", "DELETE" */
    const char *path;   /* behind https://HOST, begins with a slash */
    const char *body;   /* of a POST; else NULL */
    int64_t time_ns;    /* for all of it */
};
/* *ret_body is the caller's to finish, also after a failure; *ret_code: the status, whatever it is.
 * TL_NOHOST, TL_UNREACHABLE, TL_TIMEOUT, TL_AUTH, TL_LIMIT (a body beyond PSCHED_BODY_MAX),
 * TL_CANCELLED, TL_CLOSED. *ret_stranger (or NULL): TL_AUTH since nobody vouches for it. */
enum tl_status psched_http_ask(struct psched_http *http, const struct psched_ask *ask,
                               struct tl_buf *ret_body, long *ret_code, bool *ret_stranger,
                               struct tl_error *reterr) TL_WARN_UNUSED;

#endif
