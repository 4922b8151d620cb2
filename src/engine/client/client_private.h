/* Inside of tl_client: what its files share. Nobody else includes this.
 *
 *   client.c          the object, ping, host
 *   client_resolve.c  the name
 *   client_connect.c  dialling, key, HELLO, who else may be listening there
 *   client_control.c  frames over the control connection
 *   client_test.h     what every test does: its turn, its frames, readings of both hosts
 *   client_tcp.h      a TCP test
 *   udp_client.h      a UDP test
 *   client_syn.c      a connection that is opened only to be looked at
 *   client_udp.c      a UDP socket to the responder, its tuple proved
 *   client_disk.c     the far end's disk; disks and checksums of a TCP test
 *   client_echo.c     UDP probes */
#ifndef TL_ENGINE_CLIENT_PRIVATE_H
#define TL_ENGINE_CLIENT_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "client_parts.h"
#include "live_rate.h"
#include "secure.h"
#include "tightlink/engine/client.h"

struct tl_client {
    char host[256]; /* for sentences: cleaned */
    int port, cancel_fd;
    int64_t timeout_ns, disk_ns; /* TL_CLIENT_DISK_NS */
    int64_t *ret_reached_ns;     /* of the caller of tl_client_connect, while it connects; NULL */
    char program[TL_WIRE_TEXT_SIZE];
    struct tl_client_info info;
    int fd;                         /* control, -1 = closed */
    struct secure_context *secured; /* NULL: plain */
    struct secure *secure;          /* of fd, NULL: plain */
    char key_name[TL_KEY_NAME_SIZE];
    /* Control frames and probes as they are on the link, headers included: our own traffic
     * beside a test's payload. tl_client_echo counts from another thread. */
    atomic_uint_least64_t beside_rx_bytes, beside_tx_bytes;
    uint8_t in[2 * TL_WIRE_FRAME_MAX];
    size_t in_len, in_used; /* in_used: of the frame handed out last */
    /* What the far end may still say: client_expect(). */
    uint64_t frames_left, frame_bytes_left;
    int64_t expect_ns;          /* when the exchange began */
    int64_t heard_ns;           /* when the far end said anything */
    int hops_count;             /* links to it, as tl_client_pmtu counted them; 0 = not known */
    bool stale;                 /* in the middle of something that nobody waits for: dial again */
    struct tl_wire_token token; /* of the session */
    pthread_mutex_t token_lock; /* tl_client_echo reads udp_token from another thread */
    struct tl_wire_token udp_token; /* what its datagrams say */
    struct udp_seal udp_seal;       /* by which they are sealed; under the same lock */
    int udp_fd;                     /* of UDP tests, kept from one to the next; -1: none */
    struct udp_pass udp_pass;       /* its tuple's, proved at udp_proved_ns (0: not) in the session
                                     * whose datagrams say proved_token */
    struct tl_wire_token proved_token;
    int64_t udp_proved_ns;
    struct tl_cpu_reader cpu_reader;
    struct tl_rate_point points[TL_STEADY_POINTS_MAX]; /* workspace of the analysis */
};

/* client_connect.c */
enum tl_status client_dial(struct tl_client *client, const struct sockaddr *address, socklen_t len,
                           struct tl_error *reterr) TL_WARN_UNUSED;
/* Before a new request: the connection is alive and in order, or dialled again. */
enum tl_status client_wake(struct tl_client *client, struct tl_error *reterr) TL_WARN_UNUSED;

/* What this session says outside of its channel for one purpose: secure_token(). */
static inline bool client_token(const struct tl_client *client, enum secure_purpose purpose,
                                uint32_t test_id, uint16_t connection,
                                struct tl_wire_token *ret_token)
{
    return secure_token(client->secure, &client->token, purpose, test_id, connection, ret_token);
}

/* The most that a segment or datagram adds on a link: Ethernet 14, IPv6 40, TCP 32. */
#define CLIENT_HEADERS_BYTES 86
/* Of an IP packet: Ethernet's. */
#define CLIENT_LINK_BYTES 14

/* client_control.c */
bool client_cancelled(const struct tl_client *client);
void client_hang_up(struct tl_client *client);
/* TL_CLOSED: a responder that was there is there no more. */
enum tl_status client_gone(const struct tl_client *client, struct tl_error *reterr) TL_WARN_UNUSED;
/* Why the control connection ended, as a sentence; errnum 0: in order. */
enum tl_status client_closed(const struct tl_client *client, int errnum,
                             struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status client_send(struct tl_client *client, const uint8_t *frame, size_t len,
                           struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status client_send_ping(struct tl_client *client, struct tl_error *reterr) TL_WARN_UNUSED;
/* Says a word to a far end that nobody else talks to, lest it end the session, and takes what came:
 * of a second without one five are the limit. */
enum tl_status client_keep_alive(struct tl_client *client, struct tl_error *reterr) TL_WARN_UNUSED;
/* Looks for how long the far host's kernel has acknowledged nothing of what it was asked in this
 * exchange (TCP_INFO), for info.unacked_ns: with every ping, and when an answer is overdue. */
void client_note_silence(struct tl_client *client);
/* The control connection's round trip, queues included; 0 where it is not known. */
int64_t client_rtt_ns(const struct tl_client *client);
/* An exchange begins in which the far end has so much to say at most, beside what every exchange
 * may have (a whole host's records, answers to pings). More is TL_PROTOCOL: who never stops talking
 * holds nobody. */
void client_expect(struct tl_client *client, uint64_t frames, uint64_t bytes);
/* Takes the next frame if there is one, without waiting; it is valid until the next call.
 * Answers PING itself. ERROR becomes a status with the far end's sentence. TL_CANCELLED also while
 * frames keep coming. */
enum tl_status client_next_frame(struct tl_client *client, struct tl_wire_frame *ret_frame,
                                 bool *ret_some, struct tl_error *reterr) TL_WARN_UNUSED;
/* Waits for input, for extra_fd (-1 = none), for cancel, at most until until_ns. */
enum tl_status client_wait(struct tl_client *client, int extra_fd, int64_t until_ns,
                           struct tl_error *reterr) TL_WARN_UNUSED;
/* The next frame; TL_TIMEOUT after until_ns, naming what was waited for, also when frames that the
 * caller does not want came until then. */
enum tl_status client_await(struct tl_client *client, int64_t until_ns, const char *what,
                            struct tl_wire_frame *ret_frame,
                            struct tl_error *reterr) TL_WARN_UNUSED;

/* client_udp.c: a socket from our address to the peer, connected, not blocking; the caller's. */
enum tl_status client_udp_open(const struct tl_client *client, int *ret_fd,
                               struct tl_error *reterr) TL_WARN_UNUSED;
/* Our datagrams were refused: TL_REFUSED where the session stands, so that only the UDP port is
 * closed; TL_CLOSED where it ends within a moment, too: the responder went away. */
enum tl_status client_udp_refused(const struct tl_client *client,
                                  struct tl_error *reterr) TL_WARN_UNUSED;
/* The status of what was asked by UDP: TL_CLOSED, as below, where it timed out while TCP did, too.
 */
enum tl_status client_udp_judge(const struct tl_client *client, enum tl_status status,
                                struct tl_error *reterr) TL_WARN_UNUSED;
/* Proves the socket's tuple. Takes the token under its lock: may run in another thread beside a
 * test. cancel_fd is looked at beside the client's own, -1 = none. TL_TIMEOUT: UDP does not get
 * through. alone: nobody else has the control connection, so that the session is kept alive and TCP
 * is asked before UDP is accused; TL_CLOSED: neither gets through, or neither did for a while. */
enum tl_status client_udp_prove(struct tl_client *client, int fd, bool alone, int cancel_fd,
                                struct udp_pass *ret_pass, struct tl_error *reterr) TL_WARN_UNUSED;

#endif
