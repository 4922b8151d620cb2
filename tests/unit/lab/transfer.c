/* Transfers between the hosts of a real lab; see transfer.h. */
#include "transfer.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"

int connected(const struct tl_lab *lab, int type)
{
    const char *text = tl_lab_far_address(lab);
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
    bool is_v6 = strchr(text, ':') != NULL;
    int fd = socket(is_v6 ? AF_INET6 : AF_INET, type, 0);
    inet_pton(is_v6 ? AF_INET6 : AF_INET, text, is_v6 ? (void *)&v6.sin6_addr : &v4.sin_addr);
    int result = is_v6 ? connect(fd, (struct sockaddr *)&v6, sizeof v6)
                       : connect(fd, (struct sockaddr *)&v4, sizeof v4);
    CHECK(fd >= 0 && result == 0, "cannot connect to %s", text);
    return fd;
}

struct download download(const struct tl_lab *lab, int64_t warm_ns, int64_t count_ns)
{
    static char data[262144];
    struct download result = {0};
    struct tcp_info info = {0};
    socklen_t info_len = sizeof info, cc_len = sizeof result.near_cc;
    int fd = connected(lab, SOCK_STREAM);
    CHECK(write(fd, (char[]){ASK_DOWNLOAD}, 1) == 1, "write");
    CHECK(recv(fd, result.far_cc, 16, MSG_WAITALL) == 16, "no greeting");
    int64_t start = tl_now_ns(), counted_from = start + warm_ns, now = start;
    double bytes = 0;
    while (now < counted_from + count_ns) {
        ssize_t len = read(fd, data, sizeof data);
        CHECK(len > 0, "the far end stopped");
        now = tl_now_ns();
        bytes += now > counted_from ? (double)len : 0;
    }
    result.bps = tl_bps_from_bytes_ns(bytes, (double)(now - counted_from));
    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_len);
    getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, result.near_cc, &cc_len);
    result.options = info.tcpi_options;
    close(fd);
    return result;
}

int64_t shortest_echo_ns(const struct tl_lab *lab)
{
    int64_t shortest_ns = INT64_MAX;
    int fd = connected(lab, SOCK_DGRAM);
    for (int i = 0; i < 30; i++) {
        int64_t sent_ns = tl_now_ns(), back_ns = 0;
        struct pollfd in = {.fd = fd, .events = POLLIN};
        CHECK(send(fd, &sent_ns, sizeof sent_ns, 0) > 0, "send");
        while (back_ns != sent_ns && poll(&in, 1, 500) > 0)
            if (recv(fd, &back_ns, sizeof back_ns, 0) < 0)
                break;
        int64_t rtt_ns = tl_now_ns() - sent_ns;
        if (back_ns == sent_ns && rtt_ns < shortest_ns)
            shortest_ns = rtt_ns;
    }
    close(fd);
    return shortest_ns;
}
