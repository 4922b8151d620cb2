/* Pairs of connected TCP sockets on 127.0.0.1, for tests of this layer. */
#ifndef TL_TEST_LOOPBACK_H
#define TL_TEST_LOOPBACK_H

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tightlink/engine/stream.h"

/* A listener on any free port; the options travel to what it accepts. */
static inline int loopback_listen(const struct tl_stream_options *options, int *ret_port)
{
    struct tl_error error;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(fd, 0);
    if (options)
        cr_assert_eq(tl_stream_options_apply(fd, options, &error), TL_OK, "%s", error.text);
    cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    cr_assert_eq(listen(fd, 64), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

static inline int loopback_connect(int port, const struct tl_stream_options *options)
{
    struct tl_error error;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (options)
        cr_assert_eq(tl_stream_options_apply(fd, options, &error), TL_OK, "%s", error.text);
    cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

/* ret_fds[0] connected, ret_fds[1] accepted it. */
static inline void loopback_pair(const struct tl_stream_options *connector,
                                 const struct tl_stream_options *acceptor, int ret_fds[2])
{
    int port;
    int listener = loopback_listen(acceptor, &port);
    ret_fds[0] = loopback_connect(port, connector);
    ret_fds[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    cr_assert_geq(ret_fds[1], 0);
    close(listener);
}

#endif
