/* TLS on a socket whose other end is gone: an error, and no signal that ends a program. */
#include <criterion/criterion.h>
#include <sys/socket.h>
#include <unistd.h>

#include "socket_bio.h"

Test(socket_bio, who_speaks_to_a_peer_that_is_gone_gets_an_error_and_no_signal, .timeout = 60)
{
    int ends[2];
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    BIO_METHOD *method = socket_bio_create_method();
    SSL *ssl = SSL_new(context);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    cr_assert(ssl && method && socket_bio_set(ssl, method, ends[0]));
    close(ends[1]);
    int code = SSL_connect(ssl);
    cr_assert_lt(code, 0);
    cr_assert_eq(SSL_get_error(ssl, code), SSL_ERROR_SYSCALL);
    SSL_free(ssl);
    SSL_CTX_free(context);
    BIO_meth_free(method);
    close(ends[0]);
}

Test(socket_bio, what_is_not_there_yet_is_waited_for_by_the_caller, .timeout = 60)
{
    int ends[2];
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    BIO_METHOD *method = socket_bio_create_method();
    SSL *ssl = SSL_new(context);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    cr_assert(ssl && method && socket_bio_set(ssl, method, ends[0]));
    int code = SSL_connect(ssl);
    cr_assert_eq(SSL_get_error(ssl, code), SSL_ERROR_WANT_READ);
    SSL_free(ssl);
    SSL_CTX_free(context);
    BIO_meth_free(method);
    close(ends[0]);
    close(ends[1]);
}
