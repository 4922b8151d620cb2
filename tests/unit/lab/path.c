/* A real lab does what its configuration says of its path: rates, delays, losses, MTUs, routers,
 * families, with both carriers and as an ordinary user. */
#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "transfer.h"

#ifndef IP_MTU
#define IP_MTU 14
#endif

static void check_rate_and_rtt(const char *spec)
{
    struct tl_lab *lab = make_lab(spec);
    struct tl_lab_counters down;
    int64_t rtt_ns = shortest_echo_ns(lab);
    /* Long enough that 40 ms in which this machine does something else are a hundredth of it. */
    struct download got = download(lab, TL_NS_PER_S, 4 * TL_NS_PER_S);
    tl_lab_counters(lab, TL_LAB_DOWN, &down);
    /* 50 Mb/s of IP are 48.3 of payload. */
    CHECK(got.bps > 46e6 && got.bps < 48.6e6, "%.1f Mb/s", got.bps / 1e6);
    CHECK(rtt_ns >= 19900 * TL_NS_PER_US && rtt_ns < 21 * TL_NS_PER_MS, "%.2f ms",
          (double)rtt_ns / 1e6);
    CHECK(strcmp(got.far_cc, "cubic") == 0 && strcmp(got.near_cc, "cubic") == 0, "%s %s",
          got.far_cc, got.near_cc);
    CHECK((got.options & 6) == 6, "SACK and window scaling are on by default");
    /* One BDP of queue: 125 kB, full at some time, never more. */
    CHECK(down.queue_peak_bytes > 100000 && down.queue_peak_bytes <= 125000, "%lu",
          (unsigned long)down.queue_peak_bytes);
    CHECK(down.drops[TL_LAB_DROP_EMULATOR] == 0 && down.drops[TL_LAB_DROP_LOSS] == 0, "drops");
    CHECK(tl_lab_alive(lab, NULL) == TL_OK, "alive");
    tl_lab_destroy(lab);
}

static void rate_and_rtt_by_tun(void)
{
    check_rate_and_rtt("rate=50M delay=10ms carrier=tun");
}

static void rate_and_rtt_by_packet_sockets(void)
{
    check_rate_and_rtt("rate=50M delay=10ms carrier=packet");
}

static void rate_and_rtt_over_ipv6(void)
{
    check_rate_and_rtt("rate=50M delay=10ms family=6");
}

static void rate_and_rtt_as_found(void)
{
    check_rate_and_rtt("rate=50M delay=10ms");
}

/* Fewer than a socket's buffer holds, so that a process that is held up loses none of them. */
#define UNANSWERED_MAX 64

/* Sends n numbered datagrams, one each gap, and notes which come back. */
static int echo_many(int fd, int n, int64_t gap_ns, bool *ret_back, size_t len)
{
    char packet[9000] = {0};
    int back = 0, newest = -1;
    int64_t begin = tl_now_ns(), last = begin;
    for (int sent = 0;;) {
        int64_t now = tl_now_ns();
        int64_t due = begin + sent * gap_ns;
        bool room = sent - newest <= UNANSWERED_MAX || now > last + TL_NS_PER_S;
        if (sent < n && now >= due && room) {
            memcpy(packet, &sent, sizeof sent);
            (void)!send(fd, packet, len, 0);
            sent++;
            last = now;
            continue;
        }
        if (sent == n && now > last + 500 * TL_NS_PER_MS)
            return back;
        int64_t wait = sent < n && now < due ? due - now : 10 * TL_NS_PER_MS;
        struct timespec timeout = {wait / TL_NS_PER_S, wait % TL_NS_PER_S};
        struct pollfd in = {.fd = fd, .events = POLLIN};
        int number;
        if (ppoll(&in, 1, &timeout, NULL) <= 0 || recv(fd, packet, sizeof packet, 0) < 4)
            continue;
        memcpy(&number, packet, sizeof number);
        CHECK(number >= 0 && number < n, "%d", number);
        back += !ret_back[number];
        ret_back[number] = true;
        newest = number > newest ? number : newest;
        last = tl_now_ns();
    }
}

#define DATAGRAMS 4000

static void loss_of(const char *spec, bool ret_back[DATAGRAMS])
{
    struct tl_lab *lab = make_lab(spec);
    struct tl_lab_counters down;
    int fd = connected(lab, SOCK_DGRAM);
    int back = echo_many(fd, DATAGRAMS, 100 * TL_NS_PER_US, ret_back, 200);
    tl_lab_counters(lab, TL_LAB_DOWN, &down);
    int lost = DATAGRAMS - back;
    CHECK(down.in_packets == DATAGRAMS, "%lu packets came", (unsigned long)down.in_packets);
    CHECK(down.drops[TL_LAB_DROP_LOSS] == (uint64_t)lost, "%lu dropped, %d missing",
          (unsigned long)down.drops[TL_LAB_DROP_LOSS], lost);
    CHECK(lost > 140 && lost < 260, "%d of %d", lost, DATAGRAMS); /* 200 +- 4.3 sigma */
    tl_lab_destroy(lab);
    close(fd);
}

static void loss_repeats_by_seed(void)
{
    static bool first[DATAGRAMS], second[DATAGRAMS], other[DATAGRAMS];
    loss_of("delay=1ms down.loss=5% seed=11", first);
    /* In a user namespace there is no way out of the first lab. */
    if (geteuid() != 0)
        return;
    loss_of("delay=1ms down.loss=5% seed=11", second);
    loss_of("delay=1ms down.loss=5% seed=12", other);
    CHECK(memcmp(first, second, sizeof first) == 0, "the same seed lost other packets");
    CHECK(memcmp(first, other, sizeof first) != 0, "another seed lost the same packets");
}

/* Whether a datagram that fills len_bytes of IPv4 comes back within wait_ms; DF is set. */
static bool echoed(int fd, size_t len_bytes, int wait_ms)
{
    char packet[9000] = {0};
    struct pollfd in = {.fd = fd, .events = POLLIN};
    if (send(fd, packet, len_bytes - 28, 0) < 0)
        return false;
    return poll(&in, 1, wait_ms) > 0 &&
           recv(fd, packet, sizeof packet, 0) == (ssize_t)len_bytes - 28;
}

/* What comes back may be late on a busy machine; what is dropped is not back in 300 ms. */
static bool answered(int fd, size_t len_bytes)
{
    return echoed(fd, len_bytes, 5000);
}

static bool unanswered(int fd, size_t len_bytes)
{
    return !echoed(fd, len_bytes, 300);
}

static int mtu_known_to(int fd)
{
    int mtu = 0;
    socklen_t len = sizeof mtu;
    getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &len);
    return mtu;
}

static int unfragmented(const struct tl_lab *lab)
{
    int fd = connected(lab, SOCK_DGRAM), always = 2; /* IP_PMTUDISC_DO */
    setsockopt(fd, IPPROTO_IP, 10 /* IP_MTU_DISCOVER */, &always, sizeof always);
    return fd;
}

static void router_reports_its_mtu(void)
{
    struct tl_lab *lab = make_lab("wan-mtu=1300 delay=1ms");
    int fd = unfragmented(lab);
    CHECK(answered(fd, 1300), "1300 bytes fit");
    CHECK(unanswered(fd, 1301), "1301 bytes do not fit");
    CHECK(mtu_known_to(fd) == 1300, "the router said %d", mtu_known_to(fd));
    tl_lab_destroy(lab);
}

static void black_hole_reports_nothing(void)
{
    struct tl_lab *lab = make_lab("wan-mtu=1300 icmp=off delay=1ms");
    int fd = unfragmented(lab);
    CHECK(answered(fd, 1300), "1300 bytes fit");
    CHECK(unanswered(fd, 1400), "1400 bytes do not fit");
    CHECK(unanswered(fd, 1400), "1400 bytes still do not fit");
    CHECK(mtu_known_to(fd) == 1500, "somebody said %d", mtu_known_to(fd));
    tl_lab_destroy(lab);
}

static void jumbo_frames_die_on_the_lan(void)
{
    struct tl_lab *lab = make_lab("mtu=9000 lan-mtu=1500 delay=1ms");
    int fd = unfragmented(lab);
    CHECK(answered(fd, 1500), "1500 bytes fit");
    CHECK(unanswered(fd, 1600), "1600 bytes do not fit");
    CHECK(unanswered(fd, 8000), "8000 bytes do not fit");
    CHECK(mtu_known_to(fd) == 9000, "somebody said %d", mtu_known_to(fd));
    tl_lab_destroy(lab);
}

static void maxlen_is_silent(void)
{
    struct tl_lab *lab = make_lab("up.maxlen=1000 delay=1ms");
    struct tl_lab_counters up;
    int fd = unfragmented(lab);
    CHECK(answered(fd, 1000) && unanswered(fd, 1001), "1000 is the longest");
    CHECK(mtu_known_to(fd) == 1500, "somebody said %d", mtu_known_to(fd));
    tl_lab_counters(lab, TL_LAB_UP, &up);
    CHECK(up.drops[TL_LAB_DROP_MAXLEN] == 1, "counted");
    tl_lab_destroy(lab);
}

static void outage_follows_the_mark(void)
{
    struct tl_lab *lab = make_lab("outage=100ms-600ms");
    bool back[100] = {false};
    struct tl_lab_counters up;
    struct timespec past = {0, 700 * TL_NS_PER_MS};
    nanosleep(&past, NULL);
    int fd = connected(lab, SOCK_DGRAM);
    tl_lab_mark(lab);
    echo_many(fd, 100, 10 * TL_NS_PER_MS, back, 100);
    tl_lab_counters(lab, TL_LAB_UP, &up);
    uint64_t dropped = up.drops[TL_LAB_DROP_OUTAGE];
    CHECK(dropped >= 48 && dropped <= 52, "%lu packets of 10 ms fell into 500 ms",
          (unsigned long)dropped);
    CHECK(back[5] && !back[30] && back[80], "before, in, after");
    tl_lab_destroy(lab);
}

static void duplicates_and_corruption_arrive_as_such(void)
{
    struct tl_lab *lab = make_lab("up.duplicate=20% up.corrupt=5% delay=1ms");
    static bool back[2000];
    struct tl_lab_counters up, down;
    int got = echo_many(connected(lab, SOCK_DGRAM), 2000, 100 * TL_NS_PER_US, back, 400);
    tl_lab_counters(lab, TL_LAB_UP, &up);
    tl_lab_counters(lab, TL_LAB_DOWN, &down);
    CHECK(up.duplicated > 300 && up.duplicated < 500, "%lu", (unsigned long)up.duplicated);
    /* The far kernel drops a flipped datagram by its checksum; all others come back. */
    CHECK(up.corrupted > 50 && up.corrupted < 150, "%lu", (unsigned long)up.corrupted);
    CHECK(got == 2000 - (int)up.corrupted, "%d answered, %lu corrupted", got,
          (unsigned long)up.corrupted);
    CHECK(down.in_packets > 2200, "%lu", (unsigned long)down.in_packets);
    tl_lab_destroy(lab);
}

static void plain_path_has_no_delay(void)
{
    struct tl_lab *lab = make_lab("plain=on family=both");
    struct download got = download(lab, TL_NS_PER_S / 5, TL_NS_PER_S / 2);
    int64_t rtt_ns = shortest_echo_ns(lab);
    CHECK(rtt_ns < TL_NS_PER_MS, "%.3f ms", (double)rtt_ns / 1e6);
    CHECK(got.bps > 500e6, "%.0f Mb/s", got.bps / 1e6);
    CHECK(strcmp(got.far_cc, "cubic") == 0, "%s", got.far_cc);
    CHECK(tl_lab_address(lab, TL_LAB_FAR, TL_LAB_IPV6) != NULL, "IPv6");
    tl_lab_destroy(lab);
}

static void rate_and_rtt_on_the_lan(void)
{
    check_rate_and_rtt("link-at=lan rate=50M delay=10ms");
}

static void rate_and_rtt_on_the_far_lan_of_five_routers(void)
{
    check_rate_and_rtt("routers=5 link-at=far-lan rate=50M delay=10ms");
}

static void rate_and_rtt_on_the_lan_over_ipv6_as_nobody(void)
{
    check_rate_and_rtt("link-at=lan rate=50M delay=10ms family=6 near.unprivileged=on "
                       "far.unprivileged=on");
}

static void delays_of_all_links_add_up(void)
{
    struct tl_lab *lab = make_lab("delay=5ms lan.delay=2ms far-lan.up.delay=6ms");
    int64_t rtt_ns = shortest_echo_ns(lab);
    CHECK(rtt_ns > 19900 * TL_NS_PER_US && rtt_ns < 22 * TL_NS_PER_MS, "%.2f ms",
          (double)rtt_ns / 1e6);
    tl_lab_destroy(lab);
}

/* The router that answers a datagram of this TTL, as the error queue tells; 0: none did. */
static uint32_t router_at(const struct tl_lab *lab, int ttl)
{
    int fd = connected(lab, SOCK_DGRAM), on = 1;
    char data[64], control[512];
    struct iovec vector = {data, sizeof data};
    struct msghdr head = {.msg_iov = &vector,
                          .msg_iovlen = 1,
                          .msg_control = control,
                          .msg_controllen = sizeof control};
    struct pollfd error = {.fd = fd};
    uint32_t address = 0;
    setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on);
    setsockopt(fd, IPPROTO_IP, IP_TTL, &ttl, sizeof ttl);
    CHECK(send(fd, "?", 1, 0) == 1, "send");
    if (poll(&error, 1, 500) > 0 && recvmsg(fd, &head, MSG_ERRQUEUE) >= 0)
        for (struct cmsghdr *item = CMSG_FIRSTHDR(&head); item; item = CMSG_NXTHDR(&head, item))
            if (item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_RECVERR) {
                struct sock_extended_err *what = (struct sock_extended_err *)CMSG_DATA(item);
                address = ntohl(((struct sockaddr_in *)SO_EE_OFFENDER(what))->sin_addr.s_addr);
            }
    close(fd);
    return address;
}

static void every_router_is_a_hop(void)
{
    struct tl_lab *lab = make_lab("routers=4 delay=1ms");
    for (int ttl = 1; ttl <= 4; ttl++) {
        uint32_t expected = 10U << 24 | 99U << 16 | (unsigned)ttl << 8 | (ttl == 1 ? 1 : 2);
        CHECK(router_at(lab, ttl) == expected, "hop %d is %08x", ttl, router_at(lab, ttl));
    }
    tl_lab_destroy(lab);
}

static void silent_path_says_nothing(void)
{
    struct tl_lab *lab = make_lab("delay=1ms icmp=silent");
    int fd = connected(lab, SOCK_DGRAM);
    CHECK(answered(fd, 500), "datagrams pass");
    CHECK(router_at(lab, 1) == 0 && router_at(lab, 2) == 0, "a router spoke");
    tl_lab_destroy(lab);
}

static void ipv6_takes_its_own_link(void)
{
    struct tl_lab *lab = make_lab("delay=5ms family=both v6.delay=15ms");
    struct sockaddr_in6 far = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
    int64_t v4_ns = shortest_echo_ns(lab);
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    inet_pton(AF_INET6, tl_lab_address(lab, TL_LAB_FAR, TL_LAB_IPV6), &far.sin6_addr);
    CHECK(connect(fd, (struct sockaddr *)&far, sizeof far) == 0, "connect");
    int64_t begin_ns = tl_now_ns();
    CHECK(answered(fd, 500), "IPv6 datagrams pass");
    int64_t v6_ns = tl_now_ns() - begin_ns;
    CHECK(v4_ns > 9 * TL_NS_PER_MS && v4_ns < 12 * TL_NS_PER_MS, "%.2f ms", (double)v4_ns / 1e6);
    CHECK(v6_ns > 29 * TL_NS_PER_MS, "%.2f ms", (double)v6_ns / 1e6);
    tl_lab_destroy(lab);
}

static void splitter_shortens_the_near_half(void)
{
    struct tl_lab *lab = make_lab("delay=50ms split=on near.rmem=64KiB");
    int64_t begin_ns = tl_now_ns();
    int fd = connected(lab, SOCK_STREAM);
    int64_t handshake_ns = tl_now_ns() - begin_ns;
    struct sockaddr_in peer;
    socklen_t len = sizeof peer;
    CHECK(getpeername(fd, (struct sockaddr *)&peer, &len) == 0, "getpeername");
    CHECK(ntohl(peer.sin_addr.s_addr) == 0x0a630302, "the far end's address is seen");
    close(fd);
    CHECK(handshake_ns < 20 * TL_NS_PER_MS, "%.2f ms", (double)handshake_ns / 1e6);
    CHECK(shortest_echo_ns(lab) > 99 * TL_NS_PER_MS, "datagrams pass the proxy by");
    struct download got = download(lab, 2 * TL_NS_PER_S, TL_NS_PER_S);
    /* 64 KiB over 100 ms would be 5 Mb/s. */
    CHECK(got.bps > 15e6, "%.1f Mb/s", got.bps / 1e6);
    tl_lab_destroy(lab);
}

static void middlebox_changes_what_is_agreed(void)
{
    struct tl_lab *lab = make_lab("rate=200M delay=2ms mss=900 strip=wscale,sack");
    int fd = connected(lab, SOCK_STREAM), mss = 0;
    socklen_t len = sizeof mss;
    getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &len);
    close(fd);
    /* Timestamps take 12 bytes of each segment. */
    CHECK(mss == 888, "%d", mss);
    struct download got = download(lab, TL_NS_PER_S / 5, TL_NS_PER_S / 5);
    CHECK((got.options & 7) == 1, "options %u", got.options);
    tl_lab_destroy(lab);
}

static void each_connection_is_held_to_its_rate(void)
{
    struct tl_lab *lab = make_lab("rate=200M delay=2ms down.flow-shaper=10M/20kB queue=60kB");
    struct download got = download(lab, TL_NS_PER_S, 2 * TL_NS_PER_S);
    CHECK(got.bps > 9e6 && got.bps < 10e6, "%.2f Mb/s", got.bps / 1e6);
    tl_lab_destroy(lab);
}

static void other_traffic_takes_its_part(void)
{
    struct tl_lab *lab = make_lab("rate=100M delay=5ms down.cross=60M");
    struct download got = download(lab, TL_NS_PER_S, 2 * TL_NS_PER_S);
    CHECK(got.bps > 32e6 && got.bps < 46e6, "%.2f Mb/s", got.bps / 1e6);
    tl_lab_destroy(lab);
}

static const struct test_case cases[] = {
    {"rate and rtt by tun", rate_and_rtt_by_tun, TIMED},
    {"rate and rtt by packet sockets", rate_and_rtt_by_packet_sockets, TIMED},
    {"rate and rtt over ipv6", rate_and_rtt_over_ipv6, TIMED},
    {"rate and rtt as nobody", rate_and_rtt_as_found, AS_NOBODY | TIMED},
    {"loss repeats by seed", loss_repeats_by_seed, TIMED},
    {"router reports its mtu", router_reports_its_mtu, 0},
    {"black hole reports nothing", black_hole_reports_nothing, 0},
    {"jumbo frames die on the lan", jumbo_frames_die_on_the_lan, 0},
    {"maxlen is silent", maxlen_is_silent, 0},
    {"outage follows the mark", outage_follows_the_mark, TIMED},
    {"duplicates and corruption arrive as such", duplicates_and_corruption_arrive_as_such, TIMED},
    {"plain path has no delay", plain_path_has_no_delay, TIMED},
    {"rate and rtt on the lan", rate_and_rtt_on_the_lan, TIMED},
    {"rate and rtt on the far lan of five routers", rate_and_rtt_on_the_far_lan_of_five_routers,
     TIMED},
    {"rate and rtt on the lan over ipv6 as nobody", rate_and_rtt_on_the_lan_over_ipv6_as_nobody,
     AS_NOBODY | TIMED},
    {"delays of all links add up", delays_of_all_links_add_up, TIMED},
    {"every router is a hop", every_router_is_a_hop, 0},
    {"silent path says nothing", silent_path_says_nothing, 0},
    {"ipv6 takes its own link", ipv6_takes_its_own_link, TIMED},
    {"splitter shortens the near half", splitter_shortens_the_near_half, TIMED},
    {"splitter as nobody", splitter_shortens_the_near_half, AS_NOBODY | TIMED},
    {"middlebox changes what is agreed", middlebox_changes_what_is_agreed, 0},
    {"each connection is held to its rate", each_connection_is_held_to_its_rate, TIMED},
    {"other traffic takes its part", other_traffic_takes_its_part, TIMED},
};

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], SERVE_ARGUMENT) == 0)
        return serve_main();
    return run_cases(cases, sizeof cases / sizeof *cases, argc > 1 ? argv[1] : NULL);
}
