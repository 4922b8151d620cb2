/* A socket below OpenSSL. Its own socket BIO writes by write(2), so that who writes to a peer that
 * has reset the connection gets SIGPIPE; this one neither raises a signal nor waits. */
#ifndef TL_ENGINE_SOCKET_BIO_H
#define TL_ENGINE_SOCKET_BIO_H

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <stdbool.h>

/* Of any number of sockets, which it has to outlive; ended by BIO_meth_free(). NULL without memory.
 */
BIO_METHOD *socket_bio_create_method(void);
/* ssl reads and writes fd from now on, and closes it never. false without memory. */
bool socket_bio_set(SSL *ssl, const BIO_METHOD *method, int fd);

#endif
