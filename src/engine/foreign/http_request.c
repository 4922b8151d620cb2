/* One request to a web server: http_request.h. */
#include "http_request.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "socket_bio.h"
#include "tightlink/base/far.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/sampler.h"

#define ANSWER_NS   (10 * TL_NS_PER_S) /* or twice what the caller gives a connection */
#define LINE_SIZE   4096
#define HEADERS_MAX 100 /* who says more says nothing */

int64_t http_answer_due_ns(const struct far_peer *peer)
{
    int64_t ns = 2 * peer->timeout_ns;
    return tl_now_ns() + (ns < ANSWER_NS ? ns : ANSWER_NS);
}

/* --- TLS -------------------------------------------------------------------------------------- */

static enum tl_status no_trust(const struct far_peer *peer, const SSL *ssl, struct tl_error *reterr)
{
    long result = SSL_get_verify_result(ssl);
    if (result != X509_V_OK)
        return tl_error_set(reterr, TL_AUTH, "the certificate of %s is not to be trusted: %s; %s",
                            peer->host, X509_verify_cert_error_string(result),
                            result == X509_V_ERR_CERT_HAS_EXPIRED
                                ? "who runs the server has to renew it"
                                : "where you trust it all the same, SSL_CERT_FILE names a file "
                                  "with its issuer's certificate");
    return tl_error_set(reterr, TL_PROTOCOL, "%s port %u does not speak TLS as https does",
                        peer->host, peer->port);
}

/* After a call that came to `code`: waits where it has to. TL_OK: again. */
static enum tl_status await_tls(const struct far_peer *peer, struct http_connection *connection,
                                int code, int64_t until_ns, struct tl_error *reterr)
{
    int error = SSL_get_error(connection->ssl, code);
    ERR_clear_error();
    if (error == SSL_ERROR_WANT_READ)
        return far_await(peer, connection->fd, POLLIN, until_ns, reterr);
    if (error == SSL_ERROR_WANT_WRITE)
        return far_await(peer, connection->fd, POLLOUT, until_ns, reterr);
    if (error == SSL_ERROR_ZERO_RETURN)
        return tl_error_set(reterr, TL_CLOSED, "%s port %u closed the connection", peer->host,
                            peer->port);
    return no_trust(peer, connection->ssl, reterr);
}

static bool is_address(const char *host)
{
    unsigned char bytes[16];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

static bool set_name(SSL *ssl, const char *host)
{
    if (is_address(host))
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

/* Asks the proxy for a tunnel to the server (RFC 9110, section 9.3.6). */
static enum tl_status dig_tunnel(const struct far_peer *peer, const struct http_server *server,
                                 struct http_connection *connection, struct tl_error *reterr)
{
    char text[3 * HTTP_HOST_SIZE], to[HTTP_HOST_SIZE];
    struct http_reply reply;
    bool v6 = strchr(server->host, ':') != NULL;
    snprintf(to, sizeof to, "%s%s%s:%u", v6 ? "[" : "", server->host, v6 ? "]" : "", server->port);
    int len = snprintf(text, sizeof text,
                       "CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: tightlink\r\n\r\n", to, to);
    enum tl_status status = http_exchange(peer, connection, text, (size_t)len, &reply, reterr);
    if (status != TL_OK || reply.status / 100 == 2)
        return status;
    if (reply.status == 407)
        return tl_error_set(reterr, TL_AUTH, HTTP_WANTS_LOGIN, peer->host);
    return tl_error_set(reterr, TL_DENIED, "the proxy %s answers %d%s%s to a tunnel to %s",
                        peer->host, reply.status, reply.reason[0] ? " " : "", reply.reason, to);
}

static bool offer_http2(SSL *ssl)
{
    static const unsigned char both[] = "\x02h2\x08http/1.1";
    return SSL_set_alpn_protos(ssl, both, sizeof both - 1) == 0;
}

bool http_chose_http2(const struct http_connection *connection)
{
    const unsigned char *chosen = NULL;
    unsigned len = 0;
    if (connection->ssl)
        SSL_get0_alpn_selected(connection->ssl, &chosen, &len);
    return len == 2 && memcmp(chosen, "h2", len) == 0;
}

/* A certificate fills packets, so that TLS ends here where those of full size vanish; what came
 * behind them may have arrived, out of its order. */
static enum tl_status explain_silence(const struct far_peer *end, int fd, struct tl_error *reterr)
{
    struct tl_tcp_sample sample = {0};
    tl_sample_read_socket(fd, &sample);
    return tl_error_set(reterr, TL_TIMEOUT, "%s port %u takes connections, but %s", end->host,
                        end->port,
                        tl_sample_get(&sample, TL_SF_rcv_ooopack_count) > 0
                            ? "of its greeting by TLS only the end arrives: packets of full size "
                              "vanish on the way"
                            : "no greeting by TLS arrives: the server hangs, or packets of full "
                              "size vanish on the way");
}

enum tl_status http_open(const struct far_peer *peer, const struct http_server *server,
                         struct http_connection *connection, struct tl_error *reterr)
{
    struct far_peer end = *peer; /* who speaks TLS */
    enum tl_status status = TL_OK;
    int code = 0;
    if (!server->tls)
        return TL_OK;
    if (server->proxied) {
        status = dig_tunnel(peer, server, connection, reterr);
        tl_utf8_clean_name(server->host, end.host);
        end.port = server->port;
    }
    if (status != TL_OK)
        return status;
    int64_t until_ns = http_answer_due_ns(peer);
    connection->ssl = SSL_new(server->context);
    if (!connection->ssl || !socket_bio_set(connection->ssl, server->method, connection->fd) ||
        !set_name(connection->ssl, server->host) ||
        ((connection->offers_http2 || server->http2) && !offer_http2(connection->ssl)))
        return tl_error_set(reterr, TL_NOMEM, "TLS cannot be set up on this machine");
    while (status == TL_OK && (code = SSL_connect(connection->ssl)) != 1)
        status = await_tls(&end, connection, code, until_ns, reterr);
    return status == TL_TIMEOUT ? explain_silence(&end, connection->fd, reterr) : status;
}

/* How many; 0: not now, -1: the connection is gone. */
static ssize_t outcome(struct http_connection *connection, ssize_t moved)
{
    if (moved > 0)
        return moved;
    if (!connection->ssl)
        return moved < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    int error = SSL_get_error(connection->ssl, (int)moved);
    ERR_clear_error();
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

ssize_t http_put(struct http_connection *connection, const void *from, size_t len)
{
    return outcome(connection, connection->ssl
                                   ? SSL_write(connection->ssl, from, (int)len)
                                   : send(connection->fd, from, len, MSG_DONTWAIT | MSG_NOSIGNAL));
}

ssize_t http_take(struct http_connection *connection, void *into, size_t len)
{
    return outcome(connection, connection->ssl ? SSL_read(connection->ssl, into, (int)len)
                                               : recv(connection->fd, into, len, MSG_DONTWAIT));
}

int http_release(struct http_connection *connection)
{
    int fd = connection->fd;
    SSL_free(connection->ssl); /* says nothing to the other end */
    *connection = (struct http_connection){.fd = -1};
    return fd;
}

void http_close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

void http_close(struct http_connection *connection)
{
    http_close_fd(http_release(connection));
}

/* --- Question and answer ---------------------------------------------------------------------- */

static enum tl_status send_text(const struct far_peer *peer, struct http_connection *connection,
                                const char *text, size_t len, int64_t until_ns,
                                struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    int code = 0;
    if (!connection->ssl)
        return far_send_all(peer, connection->fd, text, len, until_ns, reterr);
    while (status == TL_OK && (code = SSL_write(connection->ssl, text, (int)len)) <= 0)
        status = await_tls(peer, connection, code, until_ns, reterr);
    return status;
}

static enum tl_status receive_line(const struct far_peer *peer, struct http_connection *connection,
                                   char *ret_line, int64_t until_ns, struct tl_error *reterr)
{
    size_t len = 0;
    if (!connection->ssl)
        return far_receive_line(peer, connection->fd, ret_line, LINE_SIZE, until_ns, reterr);
    for (;;) {
        int code = SSL_read(connection->ssl, ret_line + len, 1);
        if (code <= 0) {
            enum tl_status status = await_tls(peer, connection, code, until_ns, reterr);
            if (status != TL_OK)
                return status;
            continue;
        }
        if (ret_line[len] == '\n')
            break;
        if (++len == LINE_SIZE - 1)
            return tl_error_set(reterr, TL_PROTOCOL, "a header of %s is longer than %d bytes",
                                peer->host, LINE_SIZE);
    }
    ret_line[len] = '\0';
    return TL_OK;
}

bool http_take_status(const char *line, struct http_reply *reply)
{
    int status = 0, end = 0;
    if (sscanf(line, "HTTP/1.%*1[01] %3d%n", &status, &end) != 1 || end == 0 || status < 100)
        return false;
    *reply = (struct http_reply){.status = status, .length = -1};
    const char *reason = line + end + strspn(line + end, " ");
    tl_utf8_clean(reason, strnlen(reason, 40), reply->reason, sizeof reply->reason);
    return true;
}

/* A whole number without a sign; -1 for anything else: who lies about lengths tells none. */
static int64_t take_length(const char *text)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return -1;
    long long number = strtoll(text, &end, 10);
    return *end == '\0' && number >= 0 && number < INT64_MAX / 16 ? number : -1;
}

static bool is_named(const char *name, size_t len, const char *wanted)
{
    return strlen(wanted) == len && strncasecmp(name, wanted, len) == 0;
}

void http_take_field(const char *name, size_t len, const char *value, struct http_reply *reply)
{
    const char *slash;
    if (is_named(name, len, "location"))
        snprintf(reply->location, sizeof reply->location, "%s", value);
    else if (is_named(name, len, "content-length") && reply->status == 200)
        reply->length = take_length(value);
    else if (is_named(name, len, "content-range") && (slash = strchr(value, '/')))
        reply->length = take_length(slash + 1);
    else if (is_named(name, len, "content-type"))
        reply->is_page = strncasecmp(value, "text/html", 9) == 0;
    else if (is_named(name, len, "sec-websocket-accept"))
        snprintf(reply->accept, sizeof reply->accept, "%s", value);
    else if (is_named(name, len, "sec-websocket-protocol"))
        snprintf(reply->protocol, sizeof reply->protocol, "%s", value);
    else if (is_named(name, len, "sec-websocket-version"))
        snprintf(reply->versions, sizeof reply->versions, "%s", value);
    else if (is_named(name, len, "server"))
        tl_utf8_clean(value, strnlen(value, 48), reply->program, sizeof reply->program);
}

static void take_header(const char *line, struct http_reply *reply)
{
    const char *colon = strchr(line, ':');
    if (colon)
        http_take_field(line, (size_t)(colon - line), colon + 1 + strspn(colon + 1, " \t"), reply);
}

static enum tl_status read_headers(const struct far_peer *peer, struct http_connection *connection,
                                   struct http_reply *ret_reply, struct tl_error *reterr)
{
    int64_t until_ns = http_answer_due_ns(peer);
    char line[LINE_SIZE];
    enum tl_status status = receive_line(peer, connection, line, until_ns, reterr);
    if (status == TL_OK)
        line[strcspn(line, "\r")] = '\0';
    if (status == TL_OK && !http_take_status(line, ret_reply))
        return tl_error_set(reterr, TL_PROTOCOL, "%s port %u does not speak HTTP/1", peer->host,
                            peer->port);
    for (int i = 0; i < HEADERS_MAX && status == TL_OK; i++) {
        status = receive_line(peer, connection, line, until_ns, reterr);
        if (status != TL_OK)
            return status;
        line[strcspn(line, "\r")] = '\0';
        if (!line[0])
            return TL_OK;
        take_header(line, ret_reply);
    }
    return status != TL_OK
               ? status
               : tl_error_set(reterr, TL_PROTOCOL, "%s sends headers without end", peer->host);
}

/* At most room bytes; TL_CLOSED at the end. */
static enum tl_status receive_some(const struct far_peer *peer, struct http_connection *connection,
                                   char *into, size_t room, size_t *ret_len, int64_t until_ns,
                                   struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    int code;
    if (!connection->ssl) {
        *ret_len = 1;
        return far_receive_all(peer, connection->fd, into, 1, until_ns, reterr);
    }
    while (status == TL_OK && (code = SSL_read(connection->ssl, into, (int)room)) <= 0)
        status = await_tls(peer, connection, code, until_ns, reterr);
    if (status == TL_OK)
        *ret_len = (size_t)code;
    return status;
}

enum tl_status http_receive_body(const struct far_peer *peer, struct http_connection *connection,
                                 const struct http_reply *reply, size_t max, char **ret_text,
                                 size_t *ret_len, struct tl_error *reterr)
{
    int64_t until_ns = http_answer_due_ns(peer);
    bool told = reply->length >= 0 && (uint64_t)reply->length <= max;
    size_t whole = told ? (size_t)reply->length : max + 1, len = 0, some;
    enum tl_status status = TL_OK;
    char *text = malloc(max + 2);
    if (!text)
        return tl_error_set(reterr, TL_NOMEM, "no memory for an answer");
    while (status == TL_OK && len < whole) {
        status = receive_some(peer, connection, text + len, whole - len, &some, until_ns, reterr);
        len += status == TL_OK ? some : 0;
    }
    if (status == TL_CLOSED && !told)
        status = TL_OK;
    else if (status == TL_OK && !told)
        status = tl_error_set(reterr, TL_PROTOCOL, "%s answers with more than %zu bytes",
                              peer->host, max);
    if (status != TL_OK) {
        free(text);
        return status;
    }
    text[len] = '\0';
    *ret_text = text;
    *ret_len = len;
    return TL_OK;
}

enum tl_status http_exchange(const struct far_peer *peer, struct http_connection *connection,
                             const char *text, size_t len, struct http_reply *ret_reply,
                             struct tl_error *reterr)
{
    enum tl_status status =
        send_text(peer, connection, text, len, http_answer_due_ns(peer), reterr);
    return status == TL_OK ? read_headers(peer, connection, ret_reply, reterr) : status;
}

enum tl_status http_ask(const struct far_peer *peer, const struct http_server *server,
                        struct http_connection *connection, const char *range,
                        struct http_reply *ret_reply, struct tl_error *reterr)
{
    char text[2048 + HTTP_HOST_SIZE], host[HTTP_HOST_SIZE];
    bool whole = http_to_proxy(server);
    http_host_header(server, host);
    int len = snprintf(text, sizeof text,
                       "GET %s%s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: tightlink\r\n"
                       "Accept: */*\r\nAccept-Encoding: identity\r\n%s%s%s"
                       "Connection: close\r\n\r\n",
                       whole ? "http://" : "", whole ? host : "", server->resource, host,
                       range[0] ? "Range: bytes=" : "", range, range[0] ? "\r\n" : "");
    if (len < 0 || (size_t)len >= sizeof text)
        return tl_error_set(reterr, TL_USAGE, "that URL is too long");
    return http_exchange(peer, connection, text, (size_t)len, ret_reply, reterr);
}
