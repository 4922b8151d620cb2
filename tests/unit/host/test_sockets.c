/* The connections of this machine with a peer: a real one over loopback is found, with its
 * counters and buffers, and others are not. */
#include "tightlink/host/sockets.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

static struct sockaddr_in local(const char *address, uint16_t port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    cr_assert_eq(inet_pton(AF_INET, address, &in.sin_addr), 1);
    return in;
}

struct pair {
    int listener, client, server;
    uint16_t port;
};

/* On an address that nothing else on the machine talks to. */
static struct pair connect_pair(const char *address)
{
    struct pair pair = {.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                        .client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct sockaddr_in in = local(address, 0);
    socklen_t len = sizeof in;
    int size = 20000;
    cr_assert_eq(bind(pair.listener, (struct sockaddr *)&in, sizeof in), 0);
    cr_assert_eq(listen(pair.listener, 1), 0);
    cr_assert_eq(getsockname(pair.listener, (struct sockaddr *)&in, &len), 0);
    cr_assert_eq(setsockopt(pair.client, SOL_SOCKET, SO_RCVBUF, &size, sizeof size), 0);
    cr_assert_eq(connect(pair.client, (struct sockaddr *)&in, sizeof in), 0);
    pair.server = accept4(pair.listener, NULL, NULL, SOCK_CLOEXEC);
    cr_assert_geq(pair.server, 0);
    pair.port = ntohs(in.sin_port);
    return pair;
}

static void close_pair(struct pair *pair)
{
    close(pair->client);
    close(pair->server);
    close(pair->listener);
}

static const struct tl_host_socket *find(const struct tl_host_socket *sockets, size_t count,
                                         uint16_t remote_port)
{
    for (size_t i = 0; i < count; i++)
        if (sockets[i].remote_port == remote_port)
            return &sockets[i];
    return NULL;
}

Test(sockets, a_connection_is_found_with_its_counters)
{
    struct tl_host_socket sockets[TL_HOST_SOCKETS_MAX];
    size_t count = 99;
    char text[10000] = {0};
    struct pair pair = connect_pair("127.77.1.1");
    struct sockaddr_in peer = local("127.77.1.1", 0);
    cr_assert_eq(write(pair.server, text, sizeof text), (ssize_t)sizeof text);
    cr_assert_eq(recv(pair.client, text, sizeof text, MSG_WAITALL), (ssize_t)sizeof text);
    enum tl_host_why why =
        tl_host_sockets((struct sockaddr *)&peer, sockets, TL_HOST_SOCKETS_MAX, &count);
    if (why != TL_HOST_WHY_KNOWN)
        cr_skip_test("skipped: the kernel tells nothing: %s", tl_host_why_text(why));
    const struct tl_host_socket *found = find(sockets, count, pair.port);
    cr_assert_not_null(found, "%zu connections, ours is not among them", count);
    cr_expect_eq(found->received_bytes, sizeof text);
    cr_expect_eq(found->rcvbuf_bytes, 40000, "twice what was asked for: %u", found->rcvbuf_bytes);
    cr_expect_neq(found->cookie, 0);
    close_pair(&pair);
}

Test(sockets, others_connections_are_left_out)
{
    struct tl_host_socket sockets[TL_HOST_SOCKETS_MAX];
    size_t count = 99;
    struct pair pair = connect_pair("127.77.2.1");
    struct sockaddr_in peer = local("127.77.2.2", 0);
    enum tl_host_why why =
        tl_host_sockets((struct sockaddr *)&peer, sockets, TL_HOST_SOCKETS_MAX, &count);
    if (why != TL_HOST_WHY_KNOWN)
        cr_skip_test("skipped: the kernel tells nothing: %s", tl_host_why_text(why));
    cr_expect_eq(count, 0);
    close_pair(&pair);
}

Test(sockets, a_mapped_address_is_the_same_host)
{
    struct tl_host_socket sockets[TL_HOST_SOCKETS_MAX];
    size_t count = 99;
    struct pair pair = connect_pair("127.77.3.1");
    struct sockaddr_in6 peer = {.sin6_family = AF_INET6};
    cr_assert_eq(inet_pton(AF_INET6, "::ffff:127.77.3.1", &peer.sin6_addr), 1);
    enum tl_host_why why =
        tl_host_sockets((struct sockaddr *)&peer, sockets, TL_HOST_SOCKETS_MAX, &count);
    if (why != TL_HOST_WHY_KNOWN)
        cr_skip_test("skipped: the kernel tells nothing: %s", tl_host_why_text(why));
    cr_expect_not_null(find(sockets, count, pair.port));
    close_pair(&pair);
}

/* Of the client's end, however the dump writes its addresses. */
struct of_port {
    uint16_t port;
    struct tl_host_socket socket;
    bool found;
};

static bool keep_port(const struct tl_host_socket *socket, void *context)
{
    struct of_port *of = context;
    of->found = socket->remote_port == of->port;
    if (of->found)
        of->socket = *socket;
    return !of->found;
}

static struct tl_host_socket look_for(uint16_t port)
{
    struct of_port of = {.port = port};
    enum tl_host_why why = tl_host_sockets_each(keep_port, &of);
    if (why != TL_HOST_WHY_KNOWN)
        cr_skip_test("skipped: the kernel tells nothing: %s", tl_host_why_text(why));
    cr_assert(of.found);
    return of.socket;
}

Test(sockets, a_known_one_is_read_again_until_it_ends)
{
    struct tl_host_socket again;
    char text[3000] = {0};
    struct pair pair = connect_pair("127.77.5.1");
    struct tl_host_socket known = look_for(pair.port);
    cr_assert_eq(write(pair.server, text, sizeof text), (ssize_t)sizeof text);
    cr_assert_eq(recv(pair.client, text, sizeof text, MSG_WAITALL), (ssize_t)sizeof text);
    cr_assert(tl_host_socket_again(&known, &again));
    cr_expect_eq(again.cookie, known.cookie);
    cr_expect_eq(again.inode, known.inode);
    cr_expect_eq(again.received_bytes, known.received_bytes + sizeof text);
    cr_expect_eq(again.rcvbuf_bytes, known.rcvbuf_bytes);
    close_pair(&pair); /* this end first: the kernel keeps it in TIME-WAIT under the same cookie */
    cr_expect_not(tl_host_socket_again(&known, &again));
}

/* The key of another, later connection must not answer for it. */
Test(sockets, another_one_with_the_same_addresses_is_not_it)
{
    struct tl_host_socket again;
    struct pair pair = connect_pair("127.77.6.1");
    struct tl_host_socket known = look_for(pair.port);
    known.cookie++;
    cr_expect_not(tl_host_socket_again(&known, &again));
    close_pair(&pair);
}

Test(sockets, one_of_ipv6_is_read_again_too)
{
    struct sockaddr_in6 in = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t len = sizeof in;
    struct tl_host_socket again;
    int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int client = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&in, sizeof in) < 0)
        cr_skip_test("skipped: no IPv6 here");
    cr_assert_eq(listen(listener, 1), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&in, &len), 0);
    cr_assert_eq(connect(client, (struct sockaddr *)&in, sizeof in), 0);
    struct tl_host_socket known = look_for(ntohs(in.sin6_port));
    cr_expect(tl_host_socket_again(&known, &again));
    cr_expect_eq(again.cookie, known.cookie);
    close(client);
    close(listener);
}

/* A server on "::" holds an IPv4 connection in an IPv6 socket. */
Test(sockets, one_of_ipv4_in_an_ipv6_socket_is_read_again_too)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6};
    socklen_t len = sizeof any;
    struct tl_host_socket again;
    int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0;
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(listener, (struct sockaddr *)&any, sizeof any) < 0)
        cr_skip_test("skipped: no IPv6 here");
    cr_assert_eq(listen(listener, 1), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&any, &len), 0);
    struct sockaddr_in in = local("127.77.7.1", ntohs(any.sin6_port));
    cr_assert_eq(connect(client, (struct sockaddr *)&in, sizeof in), 0);
    int server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    cr_assert_eq(getsockname(client, (struct sockaddr *)&in, &len), 0);
    struct tl_host_socket known = look_for(ntohs(in.sin_port)); /* the server's end */
    cr_expect(tl_host_socket_again(&known, &again));
    cr_expect_eq(again.cookie, known.cookie);
    close(server);
    close(client);
    close(listener);
}

struct sum {
    uint16_t port;
    uint64_t bytes;
    int seen;
};

static bool add_end(const struct tl_host_socket *socket, void *context)
{
    struct sum *sum = context;
    if (socket->remote_port == sum->port) {
        sum->bytes += socket->received_bytes;
        sum->seen++;
    }
    return true;
}

/* Shorter than any interval of a dump: its bytes are told when it ends. */
Test(sockets, one_that_ends_is_told_with_its_last_counters)
{
    enum tl_host_why why;
    struct tl_host_socket_ends *ends = tl_host_socket_ends_create(&why);
    char text[5000] = {0};
    if (!ends)
        cr_skip_test("skipped: the kernel tells no ends: %s", tl_host_why_text(why));
    struct pair pair = connect_pair("127.77.4.1");
    struct sum sum = {.port = pair.port};
    cr_assert_eq(write(pair.server, text, sizeof text), (ssize_t)sizeof text);
    cr_assert_eq(recv(pair.client, text, sizeof text, MSG_WAITALL), (ssize_t)sizeof text);
    close_pair(&pair);
    /* The kernel tells from a work queue: wait for the message, not for a time. */
    for (int i = 0; i < 200 && !sum.seen; i++) {
        usleep(10000);
        cr_expect(tl_host_socket_ends_read(ends, add_end, &sum));
    }
    cr_expect_eq(sum.seen, 1);
    /* The kernel counts a FIN as a byte, where it came before the end was told. */
    cr_expect(sum.bytes == sizeof text || sum.bytes == sizeof text + 1, "%llu",
              (unsigned long long)sum.bytes);
    tl_host_socket_ends_destroy(ends);
}
