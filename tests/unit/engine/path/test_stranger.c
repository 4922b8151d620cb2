/* A far end that only refuses datagrams: on loopback, where a port is closed or silent. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "path_end.h"
#include "path_error.h"
#include "tightlink/base/time.h"

struct host {
    struct sockaddr_in address;
    int fd; /* bound there, so that nobody else comes to it */
};

/* A port that hears nobody but itself and so refuses; silent: somebody has it and answers nothing.
 */
static struct host make_host(bool silent)
{
    struct host host = {.address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}},
                        .fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    socklen_t len = sizeof host.address;
    cr_assert(bind(host.fd, (struct sockaddr *)&host.address, len) == 0);
    cr_assert(getsockname(host.fd, (struct sockaddr *)&host.address, &len) == 0);
    if (!silent)
        cr_assert(connect(host.fd, (struct sockaddr *)&host.address, len) == 0);
    return host;
}

static enum tl_status open_socket(void *owner, bool prove, int cancel_fd, int *ret_fd,
                                  struct udp_pass *ret_pass, struct tl_error *reterr)
{
    const struct host *host = owner;
    *ret_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    *ret_pass = (struct udp_pass){.cookie = 77};
    return connect(*ret_fd, (const struct sockaddr *)&host->address, sizeof host->address) == 0
               ? TL_OK
               : TL_IO;
}

static struct path_end end_of(struct host *host)
{
    return (struct path_end){.owner = host,
                             .cancel_fd = -1,
                             .stranger = true,
                             .handshake_rtt_ns = TL_NS_PER_MS,
                             .open = open_socket};
}

Test(stranger, a_size_that_is_refused_has_arrived)
{
    struct host host = make_host(false);
    struct path_end end = end_of(&host);
    struct tl_pmtu_spec spec = {.up_max_bytes = 1500, .cancel_fd = -1};
    struct tl_pmtu_result result;
    struct tl_error error = {0};
    cr_assert(path_pmtu_stranger(&end, &spec, &result, &error) == TL_OK, "%s", error.text);
    cr_expect_eq(result.up.mtu_bytes, 1500);
    cr_expect_eq(result.up.failed_bytes, 0);
    cr_expect_not(result.up.black_hole);
    cr_expect_eq(result.down.tried_bytes, 0, "nobody sends from there");
}

Test(stranger, silence_tells_nothing)
{
    struct host host = make_host(true);
    struct path_end end = end_of(&host);
    struct tl_pmtu_spec spec = {.up_max_bytes = 1500, .cancel_fd = -1};
    struct tl_pmtu_result result;
    struct tl_error error = {0};
    cr_expect_eq(path_pmtu_stranger(&end, &spec, &result, &error), TL_TIMEOUT);
    cr_expect(strstr(error.text, "the transfer shows"), "%s", error.text);
    close(host.fd);
}

Test(stranger, its_distance_is_the_smallest_ttl_that_is_refused)
{
    struct host host = make_host(false);
    struct path_end end = end_of(&host);
    struct tl_hops_spec spec = {.cancel_fd = -1};
    struct tl_hops_result *result = calloc(1, sizeof *result);
    struct tl_error error = {0};
    cr_assert(path_hops(&end, &spec, result, &error) == TL_OK, "%s", error.text);
    cr_expect(result->count_known);
    cr_expect_eq(result->count, 1);
    cr_expect_geq(result->hops[1].answered_count, 1u);
    free(result);
}

/* A refusal as the kernel hands it over, by whom and for which destination. */
static bool is_closed(const char *offender, const char *to)
{
    union {
        struct cmsghdr align;
        char bytes[128];
    } control = {0};
    struct sockaddr_in destination = {.sin_family = AF_INET}, from = {.sin_family = AF_INET};
    struct {
        struct {
            uint32_t errnum;
            uint8_t origin, type, code, pad;
            uint32_t info, data;
        } ee;
        struct sockaddr_in from;
    } report = {.ee = {.errnum = 111, .origin = 2, .type = 3, .code = 3}};
    inet_pton(AF_INET, to, &destination.sin_addr);
    inet_pton(AF_INET, offender, &from.sin_addr);
    report.from = from;
    struct msghdr msg = {.msg_name = &destination,
                         .msg_namelen = sizeof destination,
                         .msg_control = &control,
                         .msg_controllen = CMSG_SPACE(sizeof report)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = IPPROTO_IP;
    c->cmsg_type = IP_RECVERR;
    c->cmsg_len = CMSG_LEN(sizeof report);
    memcpy(CMSG_DATA(c), &report, sizeof report);
    struct path_error error;
    return path_error_parse(&msg, 0, 0, &error) && error.port_closed;
}

Test(stranger, only_the_far_end_itself_says_that_its_port_is_closed)
{
    cr_expect(is_closed("192.0.2.7", "192.0.2.7"));
    cr_expect_not(is_closed("192.0.2.1", "192.0.2.7"), "a firewall on the way");
}
