/* The datagrams of the strict iperf3 server: fake_iperf3.h. */
#include <arpa/inet.h>
#include <endian.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_iperf3.h"
#include "tightlink/base/time.h"

#define DATAGRAM_MAX 2048
#define HELLO_MS     3000
#define LEAST        64     /* that it sends, and the datagrams of a test of trains */
#define HELD_UP_MS   10000  /* no datagram that was sent over loopback is on the way for longer */
#define BUFFER_BYTES 212992 /* a whole test's, however late this thread gets a processor */

bool fake_udp_check(const char *json)
{
    static const char *const known[] = {"\"udp\":true",
                                        "\"omit\":0",
                                        "\"num\":0",
                                        "\"blockcount\":0",
                                        "\"parallel\":1",
                                        "\"pacing_timer\":",
                                        "\"udp_counters_64bit\":1"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strstr(json, known[i]))
            return false;
    int len = fake_number_of(json, "\"len\":");
    return fake_number_of(json, "\"time\":") > 0 && len >= 16 && len <= DATAGRAM_MAX &&
           fake_number_of(json, "\"bandwidth\":") > 0;
}

bool fake_udp_listen(struct fake_udp *udp)
{
    struct sockaddr_in own = {.sin_family = AF_INET,
                              .sin_port = htons((uint16_t)udp->fake->port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int buffer = BUFFER_BYTES;
    udp->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return udp->fd >= 0 &&
           setsockopt(udp->fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer) == 0 &&
           bind(udp->fd, (struct sockaddr *)&own, sizeof own) == 0;
}

bool fake_udp_accept(struct fake_udp *udp)
{
    char hello[8];
    struct sockaddr_in from;
    socklen_t len = sizeof from;
    enum fake_mood mood = udp->fake->mood;
    struct pollfd fds[2] = {{.fd = udp->fd, .events = POLLIN},
                            {.fd = udp->control, .events = POLLIN}};
    if (poll(fds, 2, HELLO_MS) <= 0 || !fds[0].revents)
        return false;
    ssize_t got = recvfrom(udp->fd, hello, sizeof hello, 0, (struct sockaddr *)&from, &len);
    int number = ++udp->fake->hellos;
    if (got != 4 || memcmp(hello, "9876", 4) != 0)
        return false;
    if (mood == FAKE_UDP_DEAF || (mood == FAKE_UDP_DEAF_ONCE && number == 1)) {
        (void)poll(&fds[1], 1, HELLO_MS); /* it waits for a hello that never comes */
        return false;
    }
    return connect(udp->fd, (struct sockaddr *)&from, len) == 0 && send(udp->fd, "6789", 4, 0) == 4;
}

static int64_t due_ns(const struct fake_udp *udp, uint64_t number)
{
    return udp->begun_ns + (int64_t)((double)number * udp->len * 8e9 / udp->rate_bps);
}

/* One that sends evenly says when each was to leave: held up, it sends several at once. */
static void put_head(struct fake_udp *udp, uint8_t *datagram)
{
    int64_t now_ns = udp->fake->mood == FAKE_UDP_EVEN ? due_ns(udp, udp->numbered) : tl_now_ns();
    uint32_t s = htonl((uint32_t)(now_ns / TL_NS_PER_S));
    uint32_t us = htonl((uint32_t)(now_ns % TL_NS_PER_S / TL_NS_PER_US));
    uint64_t number = htobe64(++udp->numbered);
    memcpy(datagram, &s, 4);
    memcpy(datagram + 4, &us, 4);
    memcpy(datagram + 8, &number, 8);
}

static void send_next(struct fake_udp *udp)
{
    uint8_t datagram[DATAGRAM_MAX] = {0};
    put_head(udp, datagram);
    bool tenth = udp->numbered % 10 == 0;
    if (tenth && udp->fake->mood == FAKE_UDP_SKIPS)
        return;
    udp->bytes += (uint64_t)udp->len;
    if (!(tenth && udp->fake->mood == FAKE_UDP_LOSES))
        (void)!send(udp->fd, datagram, (size_t)udp->len, MSG_DONTWAIT);
}

static void take_next(struct fake_udp *udp)
{
    uint8_t datagram[DATAGRAM_MAX];
    uint64_t number;
    ssize_t got = recv(udp->fd, datagram, sizeof datagram, MSG_DONTWAIT);
    if (got < 16)
        return;
    memcpy(&number, datagram + 8, 8);
    number = be64toh(number);
    if (got != udp->len || number != udp->highest + 1)
        udp->fake->odd_datagrams++;
    udp->highest = number;
    if (!(udp->fake->mood == FAKE_UDP_LOSES && number % 10 == 0))
        udp->bytes += (uint64_t)got;
}

/* Whether the next datagram of the pace is due, or belongs to a burst that has begun. */
static bool is_due(const struct fake_udp *udp)
{
    uint64_t begun = udp->numbered - udp->numbered % (uint64_t)udp->burst;
    return udp->fake->mood == FAKE_UDP_FLOODS || tl_now_ns() >= due_ns(udp, begun);
}

bool fake_udp_move(struct fake_udp *udp)
{
    udp->begun_ns = tl_now_ns();
    for (;;) {
        struct pollfd fds[2] = {{.fd = udp->control, .events = POLLIN},
                                {.fd = udp->fd, .events = POLLIN}};
        bool due = udp->reverse && is_due(udp);
        (void)poll(fds, 2, due ? 0 : 1);
        if (fds[0].revents) {
            int8_t state;
            /* Held up until now, it had sent before it heard of the end. */
            while (udp->reverse && udp->numbered < LEAST)
                send_next(udp);
            return recv(udp->control, &state, 1, 0) == 1 && state == 4;
        }
        if (due)
            send_next(udp);
        else if (fds[1].revents)
            take_next(udp);
    }
}

void fake_udp_drain(struct fake_udp *udp, uint64_t sent)
{
    struct pollfd ready = {.fd = udp->fd, .events = POLLIN};
    while (!udp->reverse && udp->highest < sent && poll(&ready, 1, HELD_UP_MS) > 0)
        take_next(udp);
}

void fake_udp_result(const struct fake_udp *udp, char *ret_text, size_t size)
{
    enum fake_mood mood = udp->fake->mood;
    uint64_t bytes = mood == FAKE_UDP_INVENTS ? 2 * udp->bytes : udp->bytes;
    int n = snprintf(ret_text, size,
                     "{\"id\":1,\"bytes\":%llu,\"retransmits\":18446744073709551615,"
                     "\"jitter\":0.000125,\"errors\":0,",
                     (unsigned long long)bytes);
    if (mood != FAKE_UDP_NO_COUNT)
        n += snprintf(ret_text + n, size - (size_t)n, "\"packets\":%llu,",
                      (unsigned long long)(mood == FAKE_UDP_COUNTS_NONE ? 0
                                           : udp->reverse               ? udp->numbered
                                                                        : udp->highest));
    snprintf(ret_text + n, size - (size_t)n, "\"start_time\":0,\"end_time\":0.3}");
}
