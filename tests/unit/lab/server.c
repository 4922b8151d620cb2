/* The far-end process of the lab's tests: echoes datagrams, and sends or takes
 * bytes on TCP as the connection's first byte asks. Says one byte on stdout once
 * it listens. Ends with the lab. */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"

static int listening(int type)
{
    int fd = socket(AF_INET6, type, 0), off = 0, on = 1;
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
    CHECK(fd >= 0, "socket");
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    CHECK(bind(fd, (struct sockaddr *)&any, sizeof any) == 0, "bind");
    CHECK(type == SOCK_DGRAM || listen(fd, 16) == 0, "listen");
    return fd;
}

static void echo(int fd)
{
    char packet[65536];
    struct sockaddr_in6 from;
    socklen_t from_len = sizeof from;
    ssize_t len = recvfrom(fd, packet, sizeof packet, 0, (struct sockaddr *)&from, &from_len);
    if (len >= 0 &&
        sendto(fd, packet, (size_t)len, MSG_DONTWAIT, (struct sockaddr *)&from, from_len) < 0)
        return; /* the client sees it as lost */
}

static void serve_stream(int fd)
{
    static char data[262144];
    char what = 0, cc[16] = "";
    socklen_t cc_len = sizeof cc;
    getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, &cc_len);
    if (read(fd, &what, 1) != 1 || what != ASK_DOWNLOAD || write(fd, cc, sizeof cc) < 0)
        return;
    while (write(fd, data, sizeof data) > 0)
        continue;
}

int serve_main(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    struct pollfd fds[] = {{.fd = listening(SOCK_STREAM), .events = POLLIN},
                           {.fd = listening(SOCK_DGRAM), .events = POLLIN}};
    CHECK(write(1, "+", 1) == 1, "nobody waits for this server");
    for (;;) {
        poll(fds, 2, -1);
        if (fds[1].revents)
            echo(fds[1].fd);
        if (!fds[0].revents)
            continue;
        int fd = accept(fds[0].fd, NULL, NULL);
        if (fork() == 0) {
            serve_stream(fd);
            _exit(0);
        }
        close(fd);
    }
}
