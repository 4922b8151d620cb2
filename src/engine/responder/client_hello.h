/* How a connection begins: with a whole ClientHello of TLS, with a part of one, with something
 * else.
 *
 * The record stays with the kernel until it is whole, so that who begins a handshake and stops has
 * a place among strangers and no channel. */
#ifndef TL_ENGINE_CLIENT_HELLO_H
#define TL_ENGINE_CLIENT_HELLO_H

#include <stdbool.h>

enum client_hello {
    CLIENT_HELLO_OTHER, /* nothing yet, or no TLS */
    CLIENT_HELLO_PART,  /* the socket wakes up again when the rest is there */
    CLIENT_HELLO_WHOLE,
    CLIENT_HELLO_BROKEN, /* too long, ended, or no ClientHello alone */
};

/* ended: no more will come. */
enum client_hello client_hello_look(int fd, bool ended);

#endif
