/* A socket below OpenSSL, without signals and without waiting: socket_bio.h. */
#include "socket_bio.h"

#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>

static int fd_of(BIO *bio)
{
    return (int)(intptr_t)BIO_get_data(bio);
}

static int socket_write(BIO *bio, const char *bytes, int len)
{
    ssize_t sent = send(fd_of(bio), bytes, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
    BIO_clear_retry_flags(bio);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_retry_write(bio);
    return (int)sent;
}

static int socket_read(BIO *bio, char *ret_bytes, int len)
{
    ssize_t got = recv(fd_of(bio), ret_bytes, (size_t)len, MSG_DONTWAIT);
    BIO_clear_retry_flags(bio);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_retry_read(bio);
    return (int)got;
}

static long socket_control(BIO *bio, int command, long number, void *pointer)
{
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD *socket_bio_create_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    if (method && BIO_meth_set_write(method, socket_write) &&
        BIO_meth_set_read(method, socket_read) && BIO_meth_set_ctrl(method, socket_control))
        return method;
    BIO_meth_free(method);
    return NULL;
}

bool socket_bio_set(SSL *ssl, const BIO_METHOD *method, int fd)
{
    BIO *bio = BIO_new(method);
    if (!bio)
        return false;
    BIO_set_data(bio, (void *)(intptr_t)fd);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    return true;
}
