/* See udp_relay.h. One thread, poll, blocking writes of small amounts. */
#include "udp_relay.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tightlink/base/time.h"
#include "tightlink/engine/udp_wire.h"

static struct sockaddr_in local(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int open_socket(int type, int bind_port, int connect_port)
{
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0), bytes = 1 << 21;
    struct sockaddr_in at = local(bind_port), to = local(connect_port);
    cr_assert_geq(fd, 0);
    if (type == SOCK_DGRAM)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    if (connect_port)
        cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static bool each(unsigned n, unsigned count)
{
    return n > 0 && count % n == 0;
}

/* An answer to a probe that is held back until its time. */
struct held_reply {
    uint8_t bytes[2000];
    size_t len;
    unsigned count;
    int64_t until_ns;
};

static bool hold_reply(struct relay *relay, struct held_reply *held, const uint8_t *bytes,
                       size_t len)
{
    if (relay->reply_late_at == 0 || len > sizeof held->bytes ||
        tl_wire_udp_type(bytes, len) != TL_WIRE_UDP_REPLY || ++held->count != relay->reply_late_at)
        return false;
    memcpy(held->bytes, bytes, len);
    held->len = len;
    held->until_ns = tl_now_ns() + relay->reply_late_ns;
    return true;
}

static void release_reply(const struct relay *relay, struct held_reply *held)
{
    if (held->len == 0 || tl_now_ns() < held->until_ns)
        return;
    (void)!send(relay->near_udp, held->bytes, held->len, 0);
    held->len = 0;
}

/* A datagram that is passed on; DATA suffers. */
static void pass(struct relay *relay, struct held_reply *reply, int from, int to)
{
    static _Thread_local uint8_t held[10000];
    static _Thread_local size_t held_len, held_for;
    uint8_t bytes[10000];
    struct sockaddr_in near;
    socklen_t len = sizeof near;
    ssize_t got = recvfrom(from, bytes, sizeof bytes, MSG_DONTWAIT, (struct sockaddr *)&near, &len);
    if (got <= 0 || relay->udp_deaf)
        return;
    if (from == relay->near_udp) /* whoever spoke last is the client */
        (void)connect(relay->near_udp, (struct sockaddr *)&near, len);
    if (tl_wire_udp_type(bytes, (size_t)got) != TL_WIRE_UDP_DATA) {
        if (atomic_load(&relay->deaf_ns) == 0 && !hold_reply(relay, reply, bytes, (size_t)got))
            (void)!send(to, bytes, (size_t)got, 0);
        return;
    }
    unsigned count = atomic_fetch_add(&relay->data_count, 1) + 1;
    atomic_store(&relay->last_data_ns, tl_now_ns());
    if (relay->deaf_at && count == relay->deaf_at)
        atomic_store(&relay->deaf_ns, tl_now_ns());
    if (relay->rebind_at && count == relay->rebind_at) {
        int old = relay->far_udp; /* a new one while it is there has another port */
        relay->far_udp = open_socket(SOCK_DGRAM, 0, relay->far_port);
        close(old);
        to = from == relay->near_udp ? relay->far_udp : to;
    }
    if ((relay->hole_at && count >= relay->hole_at) ||
        (relay->drop_each > 0 &&
         count % relay->drop_each < (relay->drop_run ? relay->drop_run : 1))) {
        atomic_fetch_add(&relay->dropped, 1);
        return;
    }
    if (each(relay->damage_each, count)) {
        bytes[got / 2] ^= 4;
        atomic_fetch_add(&relay->damaged, 1);
    }
    if (each(relay->late_each, count) && held_len == 0) {
        memcpy(held, bytes, (size_t)got);
        held_len = (size_t)got;
        held_for = 2;
        atomic_fetch_add(&relay->delayed, 1);
        return;
    }
    (void)!send(to, bytes, (size_t)got, 0);
    if (each(relay->twice_each, count)) {
        (void)!send(to, bytes, (size_t)got, 0);
        atomic_fetch_add(&relay->doubled, 1);
    }
    if (each(relay->spoof_each, count)) {
        struct sockaddr_in far = local(relay->far_port);
        bytes[10] ^= 1; /* an off-path stranger does not know the cookie */
        (void)!sendto(relay->spoof_udp, bytes, (size_t)got, 0, (struct sockaddr *)&far, sizeof far);
        atomic_fetch_add(&relay->spoofed, 1);
    }
    if (held_len > 0 && held_for-- == 1) {
        (void)!send(to, held, held_len, 0);
        held_len = 0;
    }
}

static bool pump(int from, int to, bool deaf)
{
    uint8_t bytes[16384];
    ssize_t got = recv(from, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0)
        return false;
    for (ssize_t at = 0; !deaf && at < got;) {
        ssize_t sent = send(to, bytes + at, (size_t)(got - at), MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += sent;
    }
    return true;
}

#define WAIT_MS 20

static void *run(void *arg)
{
    struct relay *relay = arg;
    struct held_reply reply = {.len = 0};
    while (!atomic_load(&relay->stop)) {
        bool deaf = atomic_load(&relay->deaf_ns) != 0;
        struct pollfd fds[] = {{relay->listener, POLLIN, 0},
                               {relay->near_udp, POLLIN, 0},
                               {relay->far_udp, POLLIN, 0},
                               {relay->control, POLLIN, 0},
                               {relay->far_control, POLLIN, 0}};
        int64_t from_ns = tl_now_ns();
        (void)poll(fds, 5, WAIT_MS);
        int64_t held_ns = tl_now_ns() - from_ns - WAIT_MS * TL_NS_PER_MS;
        if (held_ns > atomic_load(&relay->held_ns))
            atomic_store(&relay->held_ns, held_ns);
        for (int i = 0; i < 64 && fds[1].revents; i++)
            pass(relay, &reply, relay->near_udp, relay->far_udp);
        for (int i = 0; i < 64 && fds[2].revents; i++)
            pass(relay, &reply, relay->far_udp, relay->near_udp);
        release_reply(relay, &reply);
        if (fds[0].revents && relay->control < 0) {
            relay->control = accept(relay->listener, NULL, NULL);
            relay->far_control = open_socket(SOCK_STREAM, 0, relay->far_port);
        }
        bool lives = (!fds[3].revents || pump(relay->control, relay->far_control, deaf)) &&
                     (!fds[4].revents || pump(relay->far_control, relay->control, deaf));
        if (!lives) {
            close(relay->control);
            close(relay->far_control);
            relay->control = relay->far_control = -1;
        }
    }
    return NULL;
}

void relay_start(struct relay *relay, int far_port)
{
    struct sockaddr_in at;
    socklen_t len = sizeof at;
    relay->far_port = far_port;
    relay->control = relay->far_control = -1;
    relay->listener = open_socket(SOCK_STREAM, 0, 0);
    cr_assert_eq(listen(relay->listener, 4), 0);
    cr_assert_eq(getsockname(relay->listener, (struct sockaddr *)&at, &len), 0);
    relay->port = ntohs(at.sin_port);
    relay->near_udp = open_socket(SOCK_DGRAM, relay->port, 0);
    relay->far_udp = open_socket(SOCK_DGRAM, 0, far_port);
    relay->spoof_udp = open_socket(SOCK_DGRAM, 0, 0);
    cr_assert_eq(pthread_create(&relay->thread, NULL, run, relay), 0);
}

void relay_stop(struct relay *relay)
{
    int fds[] = {relay->listener, relay->near_udp, relay->far_udp, relay->spoof_udp};
    atomic_store(&relay->stop, true);
    pthread_join(relay->thread, NULL);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        close(fds[i]);
    if (relay->control >= 0)
        close(relay->control);
    if (relay->far_control >= 0)
        close(relay->far_control);
}
