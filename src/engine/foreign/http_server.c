/* A web server and the resource there: http_server.h. */
#include "http_server.h"

#include <stdio.h>
#include <string.h>

#include "socket_bio.h"
#include "tightlink/base/far.h"

static enum tl_status make_context(struct http_server *server, struct tl_error *reterr)
{
    if (OSSL_LIB_CTX_get0_global_default()) /* no memory; SSL_CTX_new() would not look */
        server->context = SSL_CTX_new(TLS_client_method());
    server->method = socket_bio_create_method();
    if (!server->context || !server->method ||
        SSL_CTX_set_default_verify_paths(server->context) != 1)
        return tl_error_set(reterr, TL_NOMEM, "TLS cannot be set up on this machine");
    SSL_CTX_set_verify(server->context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_min_proto_version(server->context, TLS1_2_VERSION);
    return TL_OK;
}

enum tl_status http_server_init(struct http_server *server, const struct tl_far_options *options,
                                bool tls, struct tl_error *reterr)
{
    const char *resource = options->resource ? options->resource : "";
    *server = (struct http_server){.tls = tls, .proxied = options->proxy != NULL, .length = -1};
    server->port = options->reach.port ? options->reach.port : tls ? 443 : 80;
    snprintf(server->host, sizeof server->host, "%s", options->reach.host);
    snprintf(server->resource, sizeof server->resource, "%s%s", resource[0] == '/' ? "" : "/",
             resource);
    return tls ? make_context(server, reterr) : TL_OK;
}

void http_server_finish(struct http_server *server)
{
    SSL_CTX_free(server->context);
    BIO_meth_free(server->method);
    server->context = NULL;
    server->method = NULL;
}

bool http_is_one_word(const char *text)
{
    while ((unsigned char)*text > ' ' && *text != 0x7f)
        text++;
    return *text == '\0';
}

enum tl_status http_redirect(struct http_server *server, const char *location,
                             struct tl_error *reterr)
{
    struct tl_target target;
    if (!http_is_one_word(location))
        return tl_error_set(reterr, TL_PROTOCOL, "%s redirects to what is no URL", server->host);
    if (location[0] == '/' && location[1] != '/') {
        snprintf(server->resource, sizeof server->resource, "%s", location);
        return TL_OK;
    }
    if (tl_target_parse(location, &target, reterr) != TL_OK || target.kind == TL_FAR_KIND_COUNT)
        return tl_error_set(reterr, TL_PROTOCOL, "%s redirects to what is no URL", server->host);
    if (target.kind != (server->tls ? TL_FAR_HTTPS : TL_FAR_HTTP))
        return tl_error_set(reterr, TL_DENIED,
                            "%s redirects to %s://%s: not followed to another scheme; name that "
                            "URL if you mean it",
                            server->host, tl_far_row(target.kind)->scheme, target.host);
    memcpy(server->host, target.host, sizeof server->host);
    server->port = target.port ? target.port : server->tls ? 443 : 80;
    size_t slash = target.resource[0] != '/';
    size_t len = strnlen(target.resource, sizeof server->resource - 1 - slash);
    server->resource[0] = '/';
    memcpy(server->resource + slash, target.resource, len);
    server->resource[slash + len] = '\0';
    return TL_OK;
}

void http_host_header(const struct http_server *server, char ret_text[HTTP_HOST_SIZE])
{
    bool plain = server->port == (server->tls ? 443 : 80), v6 = strchr(server->host, ':') != NULL;
    char port[8] = "";
    if (!plain)
        snprintf(port, sizeof port, ":%u", server->port);
    snprintf(ret_text, HTTP_HOST_SIZE, "%s%s%s%s", v6 ? "[" : "", server->host, v6 ? "]" : "",
             port);
}

void http_range_of(const struct http_server *server, unsigned streams, unsigned index,
                   char ret_range[HTTP_RANGE_SIZE])
{
    ret_range[0] = '\0';
    if (server->ranges && server->length > 0 && index > 0)
        snprintf(ret_range, HTTP_RANGE_SIZE, "%lld-",
                 (long long)((server->length / streams - 1) * index));
}
