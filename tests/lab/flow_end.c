/* One end of a transfer whose limit is known, for captures of it:
 * flow_end ROLE ADDRESS PORT [KEY=NUMBER...]
 *
 * ROLE is send, receive, ask or answer; with listen=1 it accepts one connection, else it connects.
 * send writes write bytes (131072) and then sleeps gap microseconds, for seconds; receive reads up
 * to read bytes and then sleeps gap; ask sends messages in two writes and waits for their answers.
 * rcvbuf and sndbuf pin a buffer, nodelay=1 turns Nagle's algorithm off, start delays the first
 * byte. With streams=N it is N ends at once, on that port and those behind it. A sender prints what
 * its kernel counted (TCP_INFO), of the first stream: the truth that a capture is held against. */
#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct options {
    long write, read, gap, seconds, rcvbuf, sndbuf, nodelay, listen, start, streams;
};

static char payload[1 << 20];

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void read_option(struct options *options, const char *text)
{
    struct {
        const char *name;
        long *value;
    } keys[] = {{"write", &options->write},     {"read", &options->read},
                {"gap", &options->gap},         {"seconds", &options->seconds},
                {"rcvbuf", &options->rcvbuf},   {"sndbuf", &options->sndbuf},
                {"nodelay", &options->nodelay}, {"listen", &options->listen},
                {"start", &options->start},     {"streams", &options->streams}};
    const char *value = strchr(text, '=');
    for (size_t i = 0; value && i < sizeof keys / sizeof *keys; i++)
        if (strncmp(text, keys[i].name, (size_t)(value - text)) == 0 &&
            keys[i].name[value - text] == 0) {
            *keys[i].value = strtol(value + 1, NULL, 10);
            return;
        }
    fprintf(stderr, "what is %s?\n", text);
    exit(2);
}

static void set(int fd, int level, int name, long value)
{
    int number = (int)value;
    if (value > 0 && setsockopt(fd, level, name, &number, sizeof number) < 0)
        fail("setsockopt");
}

/* A process for each further stream, which ends with this one; the number of the stream that this
 * is. */
static int spread(long streams)
{
    for (int number = 1; number < streams; number++) {
        pid_t pid = fork();
        if (pid < 0)
            fail("fork");
        if (pid > 0)
            continue;
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || !freopen("/dev/null", "w", stdout))
            fail("prctl");
        return number;
    }
    return 0;
}

static int make_socket(const char *address, int port, const struct options *options)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = six.sin6_port};
    bool is_six = strchr(address, ':');
    if (inet_pton(is_six ? AF_INET6 : AF_INET, address,
                  is_six ? (void *)&six.sin6_addr : (void *)&four.sin_addr) != 1)
        fail(address);
    struct sockaddr *to = is_six ? (struct sockaddr *)&six : (struct sockaddr *)&four;
    socklen_t len = is_six ? sizeof six : sizeof four;
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    set(fd, SOL_SOCKET, SO_RCVBUF, options->rcvbuf);
    set(fd, SOL_SOCKET, SO_SNDBUF, options->sndbuf);
    if (!options->listen) {
        if (connect(fd, to, len) < 0)
            fail("connect");
        return fd;
    }
    if (bind(fd, to, len) < 0 || listen(fd, 1) < 0)
        fail("bind");
    int accepted = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    if (accepted < 0)
        fail("accept");
    close(fd);
    return accepted;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void print_truth(int fd, double elapsed, double bytes)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
        fail("TCP_INFO");
    printf("{\"elapsed_s\": %.6f, \"bytes\": %.0f, \"acked_bytes\": %llu, \"busy_us\": %llu, "
           "\"rwnd_us\": %llu, \"sndbuf_us\": %llu, \"retrans_count\": %u, \"segments_count\": %u, "
           "\"retrans_bytes\": %llu, \"rtt_us\": %u, \"min_rtt_us\": %u, \"reord_seen\": %u, "
           "\"dsack_dups\": %u, \"cwnd\": %u, \"mss\": %u}\n",
           elapsed, bytes, info.tcpi_bytes_acked, info.tcpi_busy_time, info.tcpi_rwnd_limited,
           info.tcpi_sndbuf_limited, info.tcpi_total_retrans, info.tcpi_data_segs_out,
           info.tcpi_bytes_retrans, info.tcpi_rtt, info.tcpi_min_rtt, info.tcpi_reord_seen,
           info.tcpi_dsack_dups, info.tcpi_snd_cwnd, info.tcpi_snd_mss);
    fflush(stdout);
}

static void rest(long gap)
{
    if (gap > 0)
        usleep((useconds_t)gap);
}

static void do_send(int fd, const struct options *options)
{
    double begin = now(), bytes = 0;
    struct timeval patience = {.tv_sec = 1};
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0)
        fail("SO_SNDTIMEO");
    while (now() - begin < (double)options->seconds) {
        ssize_t count = send(fd, payload, (size_t)options->write, MSG_NOSIGNAL);
        bytes += count > 0 ? (double)count : 0;
        rest(options->gap);
    }
    print_truth(fd, now() - begin, bytes);
    struct linger now_or_never = {.l_onoff = 1}; /* what is queued would go on for long */
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now_or_never, sizeof now_or_never);
}

static void do_receive(int fd, const struct options *options)
{
    while (recv(fd, payload, (size_t)options->read, 0) > 0)
        rest(options->gap);
}

/* A message in two writes, then its answer: what Nagle and delayed acknowledgements stall. */
static void do_ask(int fd, const struct options *options)
{
    double begin = now(), bytes = 0;
    while (now() - begin < (double)options->seconds) {
        for (int i = 0; i < 2; i++)
            if (send(fd, payload, (size_t)options->write / 2, MSG_NOSIGNAL) <= 0)
                return;
        bytes += (double)options->write;
        if (recv(fd, payload, 1, MSG_WAITALL) <= 0)
            return;
        rest(options->gap);
    }
    print_truth(fd, now() - begin, bytes);
}

static void do_answer(int fd, const struct options *options)
{
    while (recv(fd, payload, (size_t)options->write, MSG_WAITALL) == options->write)
        if (send(fd, payload, 1, MSG_NOSIGNAL) != 1)
            return;
}

int main(int argc, char **argv)
{
    struct options options = {.write = 131072, .read = 131072, .seconds = 5};
    if (argc < 4) {
        fprintf(stderr, "usage: flow_end send|receive|ask|answer ADDRESS PORT [KEY=NUMBER...]\n");
        return 2;
    }
    for (int i = 4; i < argc; i++)
        read_option(&options, argv[i]);
    if (options.write < 1 || options.write > (long)sizeof payload || options.read < 1 ||
        options.read > (long)sizeof payload)
        return 2;
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (char)(i * 2654435761u >> 13);
    int fd = make_socket(argv[2], atoi(argv[3]) + spread(options.streams), &options);
    set(fd, IPPROTO_TCP, TCP_NODELAY, options.nodelay);
    rest(options.start);
    if (strcmp(argv[1], "send") == 0)
        do_send(fd, &options);
    else if (strcmp(argv[1], "receive") == 0)
        do_receive(fd, &options);
    else if (strcmp(argv[1], "ask") == 0)
        do_ask(fd, &options);
    else
        do_answer(fd, &options);
    close(fd);
    return 0;
}
