/* What a UDP socket's error queue tells (ip(7), IP_RECVERR): which datagram died, where and
 * why. Private to the engine: the client's path probes and the responder's answers use it. */
#ifndef TL_ENGINE_PATH_ERROR_H
#define TL_ENGINE_PATH_ERROR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define PATH_ERROR_QUOTE 48 /* bytes of the datagram that are looked at */

struct path_error {
    bool is_icmp; /* else our own kernel said it */
    int errnum;   /* EMSGSIZE, EHOSTUNREACH, ECONNREFUSED ... */
    uint8_t icmp_type, icmp_code;
    bool time_exceeded; /* of either family: the TTL ran out on the way */
    bool too_big;       /* of either family: larger than the next link */
    bool port_closed;   /* of either family: the far end itself says that nobody listens there */
    uint32_t mtu_bytes; /* with too_big; 0 = not told (RFC 1191, an old router) */
    struct in6_addr offender; /* who said it, IPv4 as ::ffff:a.b.c.d; zero: not known */
    struct sockaddr_in6 to;   /* where the datagram was going; family AF_INET possible */
    int64_t realtime_ns;      /* when the message came: the kernel's time where it is given */
    uint8_t quote[PATH_ERROR_QUOTE]; /* how the datagram's payload began */
    size_t quote_len;                /* may be 0: a router need not quote payload (RFC 792) */
};

/* Sets the options that bring errors, their time, and DF without path MTU discovery of the
 * kernel's own. Options of the other family fail, which is right. */
void path_error_enable(int fd);

/* Takes the oldest one; false when there is none. Never blocks. */
bool path_error_read(int fd, struct path_error *ret_error);

/* The parser alone: a message as recvmsg(MSG_ERRQUEUE) filled it. False when it is no report
 * of the network. now_ns stands in where the kernel gave no time. */
bool path_error_parse(struct msghdr *msg, size_t len, int64_t now_ns, struct path_error *ret_error);

#endif
