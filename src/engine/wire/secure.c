/* TLS 1.3 with pre-shared keys, by OpenSSL. The states of the handshake are OpenSSL's;
 * what lives here is which key is taken, and errors as errno values. */
#include "secure.h"

#include <errno.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#include "socket_bio.h"
#include "tightlink/base/random.h"

#define SUITES "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"

/* The client offers, by ALPN, datagrams that are sealed and tokens that are made of the channel
 * (secure_seal(), secure_token()), or the tokens alone; a responder chooses the first that it knows
 * and leaves what it does not know without an answer. */
static const unsigned char protocols[] = "\x10tightlink-sealed\x0ftightlink-bound";
#define PROTOCOLS_SIZE (sizeof protocols - 1)
#define SEALED         "tightlink-sealed"
#define BOUND          "tightlink-bound"
#define BOUND_LABEL    "EXPERIMENTAL tightlink tokens"

enum { BINDING_SIZE = 32, PURPOSE_SIZE = 7 };

struct secure_context {
    unsigned
        holds; /* of its owner and of its channels, all of one thread where there are several */
    SSL_CTX *ctx;
    BIO_METHOD *method;
    const struct tl_key *key;   /* client */
    const struct tl_keys *keys; /* server */
    struct tl_keys *owned;      /* the same, where the context frees them; or NULL */
};

struct secure {
    struct secure_context *context; /* held */
    SSL *ssl;
    int fd;
    const struct tl_key *key;      /* the one in use */
    const struct tl_key *kept_out; /* the one that does not open from the peer's address; or NULL */
    bool failed;                   /* an SSL object that has failed must not be used again */
    bool settled;                  /* the handshake is over, and was looked at: settle() */
    bool bound;                    /* both ends make tokens of the channel */
    bool sealed;                   /* and seal datagrams by it */
    uint8_t binding[BINDING_SIZE]; /* of which, then */
};

/* --- Keys ---------------------------------------------------------------------------------- */

/* What OpenSSL takes an external key as: a session to resume. NULL without memory. */
static SSL_SESSION *session_of_key(SSL *ssl, const struct tl_key *key)
{
    static const unsigned char suite_id[] = {0x13, 0x01}; /* TLS_AES_128_GCM_SHA256 */
    const SSL_CIPHER *suite = SSL_CIPHER_find(ssl, suite_id);
    SSL_SESSION *session = SSL_SESSION_new();
    if (session && suite && SSL_SESSION_set1_master_key(session, key->secret, sizeof key->secret) &&
        SSL_SESSION_set_cipher(session, suite) &&
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION))
        return session;
    SSL_SESSION_free(session);
    return NULL;
}

/* Client. With a hash given (after a HelloRetryRequest) only the same one would do. */
static int use_key(SSL *ssl, const EVP_MD *md, const unsigned char **ret_id, size_t *ret_len,
                   SSL_SESSION **ret_session)
{
    struct secure *secure = SSL_get_app_data(ssl);
    const struct tl_key *key = secure->context->key;
    *ret_session = NULL;
    *ret_id = NULL;
    *ret_len = 0;
    if (md && EVP_MD_get_type(md) != NID_sha256)
        return 1;
    *ret_session = session_of_key(ssl, key);
    if (!*ret_session)
        return 0;
    *ret_id = (const unsigned char *)key->name;
    *ret_len = strlen(key->name);
    secure->key = key;
    return 1;
}

static bool opens_here(const struct tl_key *key, int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } peer = {.v6 = {.sin6_family = AF_UNSPEC}};
    socklen_t len = sizeof peer;
    if (key->network_count == 0)
        return true;
    if (getpeername(fd, &peer.any, &len) < 0)
        return false;
    struct in6_addr address = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}}};
    if (peer.any.sa_family == AF_INET)
        memcpy(&address.s6_addr[12], &peer.v4.sin_addr, sizeof peer.v4.sin_addr);
    else
        address = peer.v6.sin6_addr;
    return tl_key_opens_from(key, &address);
}

/* A key that nobody has. */
static SSL_SESSION *session_of_nobody(SSL *ssl)
{
    struct tl_key nobody = {.name = ""};
    if (tl_random_secure(nobody.secret, sizeof nobody.secret) != TL_OK)
        return NULL;
    return session_of_key(ssl, &nobody);
}

/* Server. A name that is not known, or whose key is not for this network, ends as a wrong secret
 * does, and as late: who guesses names learns none. */
static int find_key(SSL *ssl, const unsigned char *id, size_t len, SSL_SESSION **ret_session)
{
    struct secure *secure = SSL_get_app_data(ssl);
    const struct tl_key *key = tl_keys_find(secure->context->keys, id, len);
    if (key && !opens_here(key, secure->fd)) {
        secure->kept_out = key;
        key = NULL;
    }
    secure->key = key;
    *ret_session = key ? session_of_key(ssl, key) : session_of_nobody(ssl);
    return *ret_session != NULL;
}

/* Server: what the client offers by ALPN. */
static int choose_protocol(SSL *ssl, const unsigned char **ret_chosen, unsigned char *ret_len,
                           const unsigned char *offered, unsigned offered_len, void *context)
{
    unsigned char *chosen;
    if (SSL_select_next_proto(&chosen, ret_len, protocols, PROTOCOLS_SIZE, offered, offered_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *ret_chosen = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* Server: who names no key is told at once, and not asked for a better share first. */
static int wants_key(SSL *ssl, int *ret_alert, void *context)
{
    const unsigned char *keys;
    size_t len;
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_psk, &keys, &len))
        return SSL_CLIENT_HELLO_SUCCESS;
    *ret_alert = SSL_AD_HANDSHAKE_FAILURE;
    return SSL_CLIENT_HELLO_ERROR;
}

/* --- Contexts ------------------------------------------------------------------------------ */

static bool configure(SSL_CTX *ctx)
{
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    return SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) &&
           SSL_CTX_set_ciphersuites(ctx, SUITES) && SSL_CTX_set_num_tickets(ctx, 0);
}

static enum tl_status create_context(const SSL_METHOD *method, struct secure_context **ret_context,
                                     struct tl_error *reterr)
{
    struct secure_context *context = calloc(1, sizeof *context);
    if (context && OSSL_LIB_CTX_get0_global_default()) { /* SSL_CTX_new() would not look */
        context->ctx = SSL_CTX_new(method);
        context->method = socket_bio_create_method();
    }
    if (context)
        context->holds = 1;
    if (context && context->ctx && context->method && configure(context->ctx)) {
        *ret_context = context;
        return TL_OK;
    }
    secure_context_destroy(context);
    ERR_clear_error();
    return tl_error_set(reterr, TL_UNSUPPORTED, "OpenSSL here gives no TLS 1.3");
}

enum tl_status secure_context_create_client(const struct tl_key *key,
                                            struct secure_context **ret_context,
                                            struct tl_error *reterr)
{
    enum tl_status status = create_context(TLS_client_method(), ret_context, reterr);
    if (status != TL_OK)
        return status;
    (*ret_context)->key = key;
    /* A server that answers with a certificate instead of the key is never trusted. */
    SSL_CTX_set_verify((*ret_context)->ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_psk_use_session_callback((*ret_context)->ctx, use_key);
    if (SSL_CTX_set_alpn_protos((*ret_context)->ctx, protocols, PROTOCOLS_SIZE) != 0) {
        secure_context_destroy(*ret_context);
        return tl_error_set(reterr, TL_NOMEM, "no memory for a secured connection");
    }
    return TL_OK;
}

enum tl_status secure_context_create_server(const struct tl_keys *keys,
                                            struct secure_context **ret_context,
                                            struct tl_error *reterr)
{
    enum tl_status status = create_context(TLS_server_method(), ret_context, reterr);
    if (status != TL_OK)
        return status;
    (*ret_context)->keys = keys;
    SSL_CTX_set_client_hello_cb((*ret_context)->ctx, wants_key, NULL);
    SSL_CTX_set_psk_find_session_callback((*ret_context)->ctx, find_key);
    SSL_CTX_set_alpn_select_cb((*ret_context)->ctx, choose_protocol, NULL);
    return TL_OK;
}

void secure_context_destroy(struct secure_context *context)
{
    if (!context || --context->holds > 0)
        return;
    SSL_CTX_free(context->ctx);
    BIO_meth_free(context->method);
    tl_keys_destroy(context->owned);
    free(context);
}

/* --- Channels ------------------------------------------------------------------------------ */

void secure_context_own(struct secure_context *context, struct tl_keys *keys)
{
    context->owned = keys;
}

struct secure *secure_create(struct secure_context *context, int fd)
{
    struct secure *secure = calloc(1, sizeof *secure);
    if (!secure)
        return NULL;
    context->holds++;
    *secure = (struct secure){.context = context, .fd = fd, .ssl = SSL_new(context->ctx)};
    if (!secure->ssl || !socket_bio_set(secure->ssl, context->method, fd)) {
        secure_destroy(secure);
        return NULL;
    }
    SSL_set_app_data(secure->ssl, secure);
    if (context->key)
        SSL_set_connect_state(secure->ssl);
    else
        SSL_set_accept_state(secure->ssl);
    return secure;
}

void secure_destroy(struct secure *secure)
{
    if (!secure)
        return;
    SSL_free(secure->ssl);
    secure_context_destroy(secure->context);
    explicit_bzero(secure->binding, sizeof secure->binding);
    free(secure);
}

/* A finished handshake that did not rest on the key cannot be; it is checked all the same. */
static bool is_impostor(const struct secure *secure)
{
    return SSL_is_init_finished(secure->ssl) && (!secure->key || !SSL_session_reused(secure->ssl));
}

static bool is_protocol(const char *name, const unsigned char *chosen, unsigned len)
{
    return len == strlen(name) && memcmp(chosen, name, len) == 0;
}

/* Whether both ends agreed on tokens and seals of the channel, and its secret for them. */
static bool bind_tokens(struct secure *secure)
{
    const unsigned char *chosen;
    unsigned len;
    SSL_get0_alpn_selected(secure->ssl, &chosen, &len);
    secure->sealed = is_protocol(SEALED, chosen, len);
    secure->bound = secure->sealed || is_protocol(BOUND, chosen, len);
    return !secure->bound ||
           SSL_export_keying_material(secure->ssl, secure->binding, sizeof secure->binding,
                                      BOUND_LABEL, strlen(BOUND_LABEL), NULL, 0, 0) == 1;
}

/* Once the handshake is over: false when the channel must not be used. */
static bool settle(struct secure *secure)
{
    if (secure->settled || !SSL_is_init_finished(secure->ssl))
        return true;
    secure->failed = is_impostor(secure) || !bind_tokens(secure);
    secure->settled = !secure->failed;
    if (secure->failed)
        errno = EKEYREJECTED;
    return secure->settled;
}

/* What became of a call that gave result <= 0; saved is errno right behind it. */
static ssize_t explain(struct secure *secure, int result, int saved)
{
    bool in_handshake = !SSL_is_init_finished(secure->ssl);
    int error = SSL_get_error(secure->ssl, result);
    unsigned long detail = ERR_peek_error();
    ERR_clear_error();
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        errno = EAGAIN;
        return -1;
    }
    secure->failed = true;
    if (error == SSL_ERROR_ZERO_RETURN)
        return 0;
    if (error == SSL_ERROR_SYSCALL && detail == 0) {
        errno = saved;
        return saved ? -1 : 0;
    }
    if (detail && ERR_GET_LIB(detail) == ERR_LIB_SSL &&
        ERR_GET_REASON(detail) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        return 0;
    /* An alert (reasons from 1000 on) or a key that does not fit; else what came is no TLS. */
    int reason = detail ? ERR_GET_REASON(detail) : 0;
    bool is_key = reason > SSL_AD_REASON_OFFSET || reason == SSL_R_BINDER_DOES_NOT_VERIFY ||
                  reason == SSL_R_NO_SHARED_CIPHER ||
                  reason == SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM ||
                  reason == SSL_R_CERTIFICATE_VERIFY_FAILED;
    errno = in_handshake && is_key ? EKEYREJECTED : EPROTO;
    return -1;
}

int secure_handshake(struct secure *secure)
{
    if (secure->failed) {
        errno = EPROTO;
        return -1;
    }
    ERR_clear_error();
    errno = 0;
    int result = SSL_do_handshake(secure->ssl);
    int saved = errno;
    if (result <= 0) {
        if (explain(secure, result, saved) == 0)
            errno = EPROTO; /* the peer ended in the middle of it */
        return -1;
    }
    return settle(secure) ? 1 : -1;
}

ssize_t secure_recv(struct secure *secure, void *ret_bytes, size_t len)
{
    if (secure->failed) {
        errno = EPROTO;
        return -1;
    }
    ERR_clear_error();
    errno = 0;
    int got = SSL_read(secure->ssl, ret_bytes, (int)len);
    int saved = errno;
    if (got <= 0)
        return explain(secure, got, saved);
    return settle(secure) ? got : -1;
}

ssize_t secure_send(struct secure *secure, const void *bytes, size_t len)
{
    if (secure->failed) {
        errno = EPROTO;
        return -1;
    }
    if (!settle(secure))
        return -1;
    ERR_clear_error();
    errno = 0;
    int sent = SSL_write(secure->ssl, bytes, (int)len);
    int saved = errno;
    return sent > 0 ? sent : explain(secure, sent, saved);
}

bool secure_pending(const struct secure *secure)
{
    return secure && !secure->failed && SSL_pending(secure->ssl) > 0;
}

bool secure_established(const struct secure *secure)
{
    return !secure->failed && SSL_is_init_finished(secure->ssl) && !is_impostor(secure);
}

/* Of the channel's secret for one purpose. */
static bool make_token(const struct secure *secure, enum secure_purpose purpose, uint32_t test_id,
                       uint16_t connection, struct tl_wire_token *ret_token)
{
    uint8_t made[EVP_MAX_MD_SIZE];
    const uint8_t what[PURPOSE_SIZE] = {(uint8_t)purpose,         (uint8_t)(test_id >> 24),
                                        (uint8_t)(test_id >> 16), (uint8_t)(test_id >> 8),
                                        (uint8_t)test_id,         (uint8_t)(connection >> 8),
                                        (uint8_t)connection};
    if (!HMAC(EVP_sha256(), secure->binding, sizeof secure->binding, what, sizeof what, made, NULL))
        return false;
    memcpy(ret_token, made, sizeof *ret_token);
    return true;
}

bool secure_token(const struct secure *secure, const struct tl_wire_token *session,
                  enum secure_purpose purpose, uint32_t test_id, uint16_t connection,
                  struct tl_wire_token *ret_token)
{
    if (secure && secure->bound)
        return make_token(secure, purpose, test_id, connection, ret_token);
    *ret_token = *session;
    return true;
}

bool secure_seal(const struct secure *secure, struct udp_seal *ret_seal)
{
    struct tl_wire_token key;
    *ret_seal = (struct udp_seal){.on = false};
    if (!secure || !secure->sealed)
        return true;
    if (!make_token(secure, SECURE_SEAL, 0, 0, &key))
        return false;
    udp_seal_init(ret_seal, key.bytes);
    explicit_bzero(&key, sizeof key);
    return true;
}

const struct tl_key *secure_key(const struct secure *secure)
{
    return secure->key;
}

const struct tl_key *secure_kept_out(const struct secure *secure)
{
    return secure->kept_out;
}

const char *secure_key_name(const struct secure *secure)
{
    return secure->key ? secure->key->name : "";
}
