/* A proven UDP socket for probes of given size, class and reach: what pmtu.c and hops.c send
 * through. Private to this room. One thread at a time. */
#ifndef TL_ENGINE_PATH_SOCKET_H
#define TL_ENGINE_PATH_SOCKET_H

#include "path_end.h"
#include "path_error.h"
#include "tightlink/engine/wire.h"

#define PATH_PACKET_MAX (TL_WIRE_UDP_DATAGRAM_MAX + 48)

struct path_socket {
    const struct path_end *end;
    int fd, cancel_fd;
    struct udp_pass pass; /* cookie 0: not proven, only routers answer */
    int header_bytes;     /* IP and UDP: 28 or 48 */
    unsigned late_count;  /* events handed out behind the time for them, without a pause */
    int64_t ping_ns;      /* when the session needs a word again; INT64_MAX: not ours to keep */
    uint64_t sent_bytes, received_bytes; /* IP packets */
    uint8_t datagram[TL_WIRE_UDP_DATAGRAM_MAX];
};

/* One probe. Sizes are of whole IP packets; 0 = the smallest. */
struct path_probe {
    uint32_t sequence;
    int packet_bytes, answer_bytes;
    uint8_t ttl, traffic_class; /* 0: the kernel's own */
    uint8_t answer_ttl, answer_class;
    bool silent; /* the far end need not answer */
};

enum path_event_kind {
    PATH_NOTHING, /* the time is over */
    PATH_ANSWER,  /* the far end */
    PATH_ROUTER,  /* an ICMP message about a probe of ours */
    PATH_REPORT,  /* the far end tells of an answer that died */
};

struct path_event {
    enum path_event_kind kind;
    bool matched; /* sequence is known: a router may quote too little */
    uint32_t sequence;
    int64_t at_ns;                         /* CLOCK_MONOTONIC when it was read */
    int64_t realtime_ns;                   /* the kernel's time of arrival */
    struct tl_wire_udp_path_answer answer; /* PATH_ANSWER */
    int packet_bytes;                      /* of it, as it came */
    int traffic_class, ttl;                /* of it, as it came; -1: not told */
    struct path_error error;               /* PATH_ROUTER */
    struct tl_wire_udp_path_report report; /* PATH_REPORT */
};

/* prove false: no proof is made, for flows that only routers answer. *ret_socket is closed by
 * path_socket_close() in every case; end outlives it. */
enum tl_status path_socket_open(const struct path_end *end, int cancel_fd, bool prove,
                                struct path_socket *ret_socket,
                                struct tl_error *reterr) TL_WARN_UNUSED;
void path_socket_close(struct path_socket *socket);

/* 0, or the errno: EMSGSIZE where our own interface does not take the packet. */
int path_socket_send(struct path_socket *socket, const struct path_probe *probe);

/* Waits for the next event, at most until until_ns. Keeps the session alive meanwhile. */
enum tl_status path_socket_wait(struct path_socket *socket, int64_t until_ns,
                                struct path_event *ret_event,
                                struct tl_error *reterr) TL_WARN_UNUSED;

#endif
