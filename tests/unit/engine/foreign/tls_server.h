/* For tests: a server of TLS on 127.0.0.1, on threads, with a certificate of its own that this
 * process trusts while it runs (SSL_CERT_FILE). */
#ifndef TL_TEST_TLS_SERVER_H
#define TL_TEST_TLS_SERVER_H

#include <openssl/ssl.h>
#include <pthread.h>

struct tls_server {
    int listener, port;
    SSL_CTX *context; /* between begin and open to be adjusted */
    char trust[64];   /* the file of the certificate */
    pthread_t thread;
    void (*serve)(void *of, SSL *ssl,
                  int fd); /* one client, on a thread of its own; closes nothing */
    void *of;
};

void tls_server_begin(struct tls_server *server);
void tls_server_open(struct tls_server *server, void (*serve)(void *of, SSL *ssl, int fd),
                     void *of);
/* Ends it, joins its threads and takes its trust away. */
void tls_server_stop(struct tls_server *server);

#endif
