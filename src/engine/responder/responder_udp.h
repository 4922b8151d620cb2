/* What the files of the responder's UDP port share: udp_echo.c (proof, probes) and udp_path.c
 * (datagrams of given size, class and reach). Nobody else includes this. */
#ifndef TL_ENGINE_RESPONDER_UDP_H
#define TL_ENGINE_RESPONDER_UDP_H

#include "responder_private.h"

/* A datagram as it came; its bytes are in responder->datagram. */
struct arrival {
    struct sockaddr_in6 from;
    size_t len;
    int64_t realtime_ns; /* the kernel's, or ours where it gives none */
    struct in6_pktinfo to6;
    struct in_pktinfo to4;
    bool has_to6, has_to4;
    int traffic_class, ttl; /* -1: not told */
};

/* How an answer leaves: 0 for the kernel's own. */
struct departure {
    uint8_t traffic_class, ttl;
};

/* udp_echo.c. Sends from the address that was asked; 0 or the errno of sendmsg(). */
int udp_reply(struct tl_responder *responder, const struct arrival *to, const struct departure *how,
              const uint8_t *bytes, size_t len);
/* The proven tuple at this address with this cookie, and its session; NULL. */
struct udp_tuple *udp_find_prover(struct tl_responder *responder, const struct sockaddr_in6 *from,
                                  uint64_t cookie, struct session **ret_session);

/* udp_port.c: a socket for the datagrams with this cookie; leave() closes it. */
enum tl_status udp_port_join(struct tl_responder *responder, uint64_t cookie, int *ret_fd,
                             struct tl_error *reterr) TL_WARN_UNUSED;
void udp_port_leave(struct tl_responder *responder, int fd);

/* udp_path.c */
void udp_answer_path(struct tl_responder *responder, const struct arrival *arrival);
/* Reads what routers told about our answers and passes it on to whom it concerns. */
void udp_path_errors(struct tl_responder *responder);

#endif
