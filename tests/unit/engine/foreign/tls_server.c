/* For tests: tls_server.h. */
#include "tls_server.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../loopback.h"

#define GUESTS 32 /* in all */

static void make_context(struct tls_server *server)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    X509_NAME *name = X509_get_subject_name(cert);
    X509_EXTENSION *alt = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1");
    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"127.0.0.1", -1, -1,
                               0);
    X509_set_issuer_name(cert, name);
    X509_set_pubkey(cert, key);
    X509_add_ext(cert, alt, -1);
    X509_EXTENSION_free(alt);
    cr_assert_gt(X509_sign(cert, key, EVP_sha256()), 0);
    server->context = SSL_CTX_new(TLS_server_method());
    cr_assert_eq(SSL_CTX_use_certificate(server->context, cert), 1);
    cr_assert_eq(SSL_CTX_use_PrivateKey(server->context, key), 1);
    snprintf(server->trust, sizeof server->trust, "/tmp/tightlink-tls-XXXXXX");
    int fd = mkstemp(server->trust);
    FILE *file = fdopen(fd, "w");
    cr_assert(file && PEM_write_X509(file, cert) == 1 && fclose(file) == 0);
    setenv("SSL_CERT_FILE", server->trust, 1);
    X509_free(cert);
    EVP_PKEY_free(key);
}

struct guest {
    struct tls_server *server;
    pthread_t thread;
    int fd;
};

static void *guest_of(void *context)
{
    const struct guest *guest = context;
    SSL *ssl = SSL_new(guest->server->context);
    SSL_set_fd(ssl, guest->fd);
    if (SSL_accept(ssl) == 1)
        guest->server->serve(guest->server->of, ssl, guest->fd);
    SSL_free(ssl);
    close(guest->fd);
    return NULL;
}

/* Clients side by side. */
static void *main_of(void *context)
{
    struct tls_server *server = context;
    struct guest guests[GUESTS];
    size_t count = 0;
    while (count < GUESTS) {
        int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && errno == EINTR)
            continue;
        if (fd < 0)
            break;
        struct guest *guest = &guests[count++];
        *guest = (struct guest){.server = server, .fd = fd};
        cr_assert_eq(pthread_create(&guest->thread, NULL, guest_of, guest), 0);
    }
    for (size_t i = 0; i < count; i++)
        pthread_join(guests[i].thread, NULL);
    return NULL;
}

void tls_server_begin(struct tls_server *server)
{
    make_context(server);
    server->listener = loopback_listen(NULL, &server->port);
}

void tls_server_open(struct tls_server *server, void (*serve)(void *of, SSL *ssl, int fd), void *of)
{
    sigset_t pipe, before;
    server->serve = serve;
    server->of = of;
    sigemptyset(&pipe); /* OpenSSL writes to whoever hung up */
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    cr_assert_eq(pthread_create(&server->thread, NULL, main_of, server), 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void tls_server_stop(struct tls_server *server)
{
    (void)shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
    SSL_CTX_free(server->context);
    unsetenv("SSL_CERT_FILE");
    unlink(server->trust);
}
