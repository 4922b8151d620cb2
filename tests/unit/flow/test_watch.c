/* This process' own connections over loopback, as a stranger would watch them. */
#include "tightlink/flow/watch.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <linux/sockios.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tightlink/base/time.h"

struct pair {
    int client, server;
    uint16_t port;
};

static struct pair connect_pair(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof in;
    struct pair pair = {.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&in, sizeof in), 0);
    cr_assert_eq(listen(listener, 1), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&in, &len), 0);
    cr_assert_eq(connect(pair.client, (struct sockaddr *)&in, sizeof in), 0);
    pair.server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    close(listener);
    pair.port = ntohs(in.sin_port);
    return pair;
}

static void move(const struct pair *pair, size_t len)
{
    static char text[30000];
    cr_assert_eq(write(pair->client, text, len), (ssize_t)len);
    cr_assert_eq(recv(pair->server, text, len, MSG_WAITALL), (ssize_t)len);
    /* Until all of it is acknowledged, which a busy machine may do later. */
    int unacknowledged = 1;
    while (unacknowledged > 0)
        cr_assert_eq(ioctl(pair->client, SIOCOUTQ, &unacknowledged), 0);
}

static struct tl_flow_watch *watch_port(uint16_t port)
{
    struct tl_flow_watch_filter filter = {.port = port};
    struct tl_flow_watch *watch = NULL;
    struct tl_error error = {0};
    if (tl_flow_watch_create(&filter, tl_now_ns(), &watch, &error) != TL_OK)
        cr_skip_test("skipped: %s", error.text);
    return watch;
}

static void read_now(struct tl_flow_watch *watch)
{
    struct tl_error error = {0};
    cr_assert_eq(tl_flow_watch_read(watch, tl_now_ns(), &error), TL_OK, "%s", error.text);
}

Test(watch, a_connection_has_its_bytes_and_its_program)
{
    struct pair pair = connect_pair();
    struct tl_flow_watch *watch = watch_port(pair.port);
    struct tl_live_sum sum;
    move(&pair, 30000);
    read_now(watch);
    tl_flow_watch_close(watch, tl_now_ns(), &sum);
    cr_expect_eq(sum.sent_bytes, 30000);
    cr_expect_eq(sum.received_bytes, 30000, "both ends are here");
    cr_expect_eq(tl_live_count(tl_flow_watch_live(watch)), 2);
    const struct tl_live_flow *flow = tl_live_at(tl_flow_watch_live(watch), 0);
    const struct tl_flow_watch_program *program = tl_flow_watch_program(watch, flow);
    cr_assert_not_null(program);
    cr_expect_eq(program->process.pid, getpid());
    cr_expect(isnan(program->cpu_ratio), "one look makes no rate");
    tl_flow_watch_destroy(watch);
    close(pair.client);
    close(pair.server);
}

Test(watch, those_that_are_known_are_read_without_a_look_at_all)
{
    struct pair pair = connect_pair();
    struct tl_flow_watch *watch = watch_port(pair.port);
    const struct tl_live *live = tl_flow_watch_live(watch);
    int64_t now_ns = tl_now_ns();
    uint64_t bytes = 0;
    move(&pair, 20000);
    tl_flow_watch_read_known(watch, now_ns);
    cr_assert_eq(tl_live_count(live), 2);
    for (size_t i = 0; i < 2; i++) {
        cr_expect_eq(tl_live_at(live, i)->last_ns, now_ns);
        cr_expect_not(tl_live_at(live, i)->ended);
        bytes += tl_live_at(live, i)->socket.received_bytes;
    }
    cr_expect_eq(bytes, 20000);
    tl_flow_watch_destroy(watch);
    close(pair.client);
    close(pair.server);
}

Test(watch, others_connections_stay_out)
{
    struct pair pair = connect_pair(), other = connect_pair();
    struct tl_flow_watch *watch = watch_port(pair.port);
    struct tl_live_sum sum;
    move(&other, 1000);
    move(&pair, 500);
    read_now(watch);
    tl_flow_watch_close(watch, tl_now_ns(), &sum);
    cr_expect_eq(sum.sent_bytes, 500);
    tl_flow_watch_destroy(watch);
}

Test(watch, the_file_that_the_program_writes_is_named)
{
    struct pair pair = connect_pair();
    struct tl_flow_watch *watch = watch_port(pair.port);
    struct tl_live_sum sum;
    char name[] = "/tmp/tl-watch-file-XXXXXX", text[8000] = {0};
    int fd = mkstemp(name);
    move(&pair, 1000);
    read_now(watch);
    tl_flow_watch_close(watch, tl_now_ns(), &sum);
    move(&pair, 1000);
    cr_assert_eq(write(fd, text, sizeof text), (ssize_t)sizeof text);
    read_now(watch);
    tl_flow_watch_close(watch, tl_now_ns(), &sum);
    const struct tl_flow_watch_program *program =
        tl_flow_watch_program(watch, tl_live_at(tl_flow_watch_live(watch), 0));
    cr_assert_not_null(program);
    cr_expect_str_eq(program->file, name);
    cr_expect(program->file_written);
    cr_expect_gt(program->file_bps, 0);
    cr_expect_not(isnan(program->cpu_ratio));
    unlink(name);
    close(fd);
    tl_flow_watch_destroy(watch);
}

Test(watch, loopback_alone_is_nobodys_transfer)
{
    struct pair pair = connect_pair();
    struct tl_flow_watch_filter filter = {0};
    struct tl_flow_watch *watch = NULL;
    struct tl_error error = {0};
    if (tl_flow_watch_create(&filter, tl_now_ns(), &watch, &error) != TL_OK)
        cr_skip_test("skipped: %s", error.text);
    move(&pair, 1000);
    read_now(watch);
    for (size_t i = 0; i < tl_live_count(tl_flow_watch_live(watch)); i++)
        cr_expect_neq(tl_live_at(tl_flow_watch_live(watch), i)->socket.remote_port, pair.port);
    tl_flow_watch_destroy(watch);
}
