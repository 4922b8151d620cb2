/* The first record of TLS (RFC 8446, 5.1), looked at and left with the kernel. */
#include "client_hello.h"

#include <stdint.h>
#include <sys/socket.h>

#include "secure.h"

#define RECORD_HEAD  5
#define MESSAGE_HEAD 4
#define HELLO_TYPE   1    /* of a handshake message */
#define RECORD_MAX   4096 /* a ClientHello has 300 to 1,600 bytes */

/* The record's length, as far as it is known; the kernel wakes us when that much is there. */
static size_t await_record(int fd, const uint8_t *record, size_t got)
{
    size_t wanted =
        got < RECORD_HEAD ? RECORD_HEAD : RECORD_HEAD + ((size_t)record[3] << 8 | record[4]);
    int low = got < wanted && wanted <= RECORD_MAX ? (int)wanted : 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof low);
    return wanted;
}

/* Whether a record holds all of a ClientHello and nothing else (RFC 8446, 4): a channel that began
 * with less would wait for the rest. */
static bool is_whole_hello(const uint8_t *record, size_t len)
{
    const uint8_t *message = record + RECORD_HEAD;
    return len >= RECORD_HEAD + MESSAGE_HEAD && message[0] == HELLO_TYPE &&
           len - RECORD_HEAD - MESSAGE_HEAD ==
               ((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
}

enum client_hello client_hello_look(int fd, bool ended)
{
    uint8_t record[RECORD_MAX];
    ssize_t got = recv(fd, record, sizeof record, MSG_DONTWAIT | MSG_PEEK);
    if (got < 1 || record[0] != SECURE_FIRST_BYTE)
        return CLIENT_HELLO_OTHER;
    size_t wanted = await_record(fd, record, (size_t)got);
    if ((size_t)got >= wanted)
        return is_whole_hello(record, wanted) ? CLIENT_HELLO_WHOLE : CLIENT_HELLO_BROKEN;
    return wanted <= RECORD_MAX && !ended ? CLIENT_HELLO_PART : CLIENT_HELLO_BROKEN;
}
