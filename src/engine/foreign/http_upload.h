/* Uploads to a LibreSpeed back end: what is posted to its empty.php. Private to this room.
 *
 * Here by HTTP/1.1 (by HTTP/2: http2_transfer.h). Its web server takes bodies of 20 MB
 * (LibreSpeed's own size). Each connection posts one behind the other without waiting for the
 * answers in between, so that no round trip is idle; to a proxy, which need not take a second
 * request before it has answered the first (squid hangs up), each waits. Answers are read as they
 * come, bounded, and one that is no 200 ends the test. */
#ifndef TL_ENGINE_HTTP_UPLOAD_H
#define TL_ENGINE_HTTP_UPLOAD_H

#include "http_request.h"
#include "tightlink/engine/far.h"

/* Whether a path names such a back end: …/garbage.php. */
bool http_is_librespeed(const char *resource);
/* Of such a path: where it takes what is posted, …/empty.php. */
void http_upload_place(const char *resource, char ret_place[HTTP_RESOURCE_SIZE]);
#define HTTP_BODY_BYTES 20000000
/* Random bytes, which no device on the way makes smaller; the caller's. NULL: no memory. */
uint8_t *http_noise(size_t bytes);
/* TL_DENIED, with a sentence: that answer to a body is a refusal. */
enum tl_status http_check_posted(const char *host, const struct http_reply *reply,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* One test of up to NEAR_HANDS_MAX connections; spec->direction is TL_WIRE_UPLOAD. peer: with the
 * server's port. TL_DENIED: it refuses what is posted; TL_UNSUPPORTED: it closes behind each body.
 */
enum tl_status http_upload(const struct far_peer *peer, const struct http_server *server,
                           const struct tl_tcp_spec *spec, tl_tcp_live_fn *live, void *context,
                           struct tl_tcp_result *result, struct tl_error *reterr) TL_WARN_UNUSED;

#endif
