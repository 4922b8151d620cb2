/* The responder's UDP port, shared between its loop and the tests that run: each test has a
 * socket of its own on the same address and port, and a filter hands each datagram to the one
 * whose cookie it carries, all else to the loop.
 *
 * That is done by a group of SO_REUSEPORT with a program that looks into the payload
 * (SO_ATTACH_REUSEPORT_CBPF, Linux 4.5), and not by connect(): this program opens no
 * connections and its sandbox holds it to that. What a test's socket gets may come from any
 * address; who reads it compares (udp_receive.c, udp_send.c).
 *
 * The order in the group is that of net/core/sock_reuseport.c: the loop's socket first, then
 * the others as they came; who leaves has its place taken by the last one. The program always
 * names sockets that are there: it changes after one has come and before one goes. */
#include <errno.h>
#include <linux/filter.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "responder_udp.h"
#include "udp_flow.h"

#define PER_TEST 7 /* instructions */

/* ld [8] == cookie's first half, ld [12] == its second, ldb [4] == DATA or FEEDBACK: index. A
 * load behind the end of the payload returns 0, which is the loop's. */
static bool attach(const struct tl_responder *responder)
{
    struct sock_filter code[UDP_SHARES_MAX * PER_TEST + 1];
    unsigned n = 0;
    for (unsigned i = 0; i < responder->udp_share_count; i++) {
        uint64_t cookie = responder->udp_shares[i].cookie;
        const struct sock_filter test[PER_TEST] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 8),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(cookie >> 32), 0, 5),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 12),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)cookie, 0, 3),
            BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 4),
            BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, TL_WIRE_UDP_DATA, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, i + 1),
        };
        memcpy(code + n, test, sizeof test);
        n += PER_TEST;
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
    return setsockopt(responder->udp.fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program,
                      sizeof program) == 0;
}

/* A socket like the loop's, on the same address. */
static int open_twin(const struct tl_responder *responder)
{
    struct sockaddr_storage at;
    socklen_t len = sizeof at;
    int on = 1, v6only = 0;
    socklen_t size = sizeof v6only;
    if (getsockname(responder->udp.fd, (struct sockaddr *)&at, &len) < 0)
        return -1;
    int fd = socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (getsockopt(responder->udp.fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, &size) == 0)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof v6only);
    udp_socket_options(fd);
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0 &&
        bind(fd, (struct sockaddr *)&at, len) == 0)
        return fd;
    int errnum = errno;
    close(fd);
    errno = errnum;
    return -1;
}

enum tl_status udp_port_join(struct tl_responder *responder, uint64_t cookie, int *ret_fd,
                             struct tl_error *reterr)
{
    if (responder->udp_share_count == UDP_SHARES_MAX)
        return tl_error_set(reterr, TL_LIMIT, "too many UDP tests at once");
    /* The program is there before the second socket: nothing goes astray in between. */
    int fd = attach(responder) ? open_twin(responder) : -1;
    if (fd < 0)
        return tl_error_set(reterr, tl_status_from_errno(errno), "a second socket on port %d: %s",
                            responder->port, strerror(errno));
    responder->udp_shares[responder->udp_share_count++] =
        (struct udp_share){.fd = fd, .cookie = cookie};
    if (!attach(responder)) {
        int errnum = errno;
        responder->udp_share_count--;
        close(fd);
        return tl_error_set(reterr, tl_status_from_errno(errnum), "a filter on port %d: %s",
                            responder->port, strerror(errnum));
    }
    *ret_fd = fd;
    return TL_OK;
}

/* While the socket is still there its datagrams go to the loop, which knows them not. */
void udp_port_leave(struct tl_responder *responder, int fd)
{
    struct udp_share *shares = responder->udp_shares;
    unsigned count = responder->udp_share_count, at = 0;
    while (at < count && shares[at].fd != fd)
        at++;
    if (at == count)
        return;
    uint64_t cookie = shares[at].cookie, last = shares[count - 1].cookie;
    shares[at].cookie = UINT64_MAX ^ cookie; /* nobody's */
    (void)attach(responder);
    close(fd);
    shares[at] = shares[count - 1];
    shares[at].cookie = at + 1 == count ? 0 : last;
    responder->udp_share_count--;
    (void)attach(responder);
}
