/* What the kernel itself carries between two processes, without an engine: the physical limit of
 * the rows of bench_tcp.py.
 *
 *     bench-bare-loop serve PORT STREAMS RECV_BYTES
 *     bench-bare-loop HOST PORT STREAMS SECONDS SEND_BYTES
 *
 * A thread for each connection: nothing but send() and recv() of one buffer, over and over. The
 * receiver prints one line, payload bits a second and bytes, once all connections have ended. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tightlink/base/time.h"

#define STREAMS_MAX 64

struct loop {
    pthread_t thread;
    bool sends;
    int fd;
    size_t size;
    int64_t until_ns, first_ns, last_ns;
    uint64_t bytes;
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void *run(void *context)
{
    struct loop *loop = context;
    unsigned char *buffer = aligned_alloc(4096, loop->size);
    if (!buffer)
        fail("memory");
    memset(buffer, 0x5a, loop->size);
    for (ssize_t moved = 1; moved > 0 && (!loop->sends || tl_now_ns() < loop->until_ns);) {
        moved = loop->sends ? send(loop->fd, buffer, loop->size, MSG_NOSIGNAL)
                            : recv(loop->fd, buffer, loop->size, 0);
        loop->bytes += moved > 0 ? (uint64_t)moved : 0;
        loop->last_ns = tl_now_ns();
        loop->first_ns = loop->first_ns ? loop->first_ns : loop->last_ns;
    }
    close(loop->fd);
    free(buffer);
    return NULL;
}

static int listen_at(struct sockaddr_in *at)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    at->sin_addr.s_addr = htonl(INADDR_ANY);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (struct sockaddr *)at, sizeof *at) < 0 || listen(fd, STREAMS_MAX) < 0)
        fail("listen");
    return fd;
}

static int dial(const struct sockaddr_in *at)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)at, sizeof *at) < 0)
        fail("connect");
    return fd;
}

int main(int argc, char **argv)
{
    static struct loop loops[STREAMS_MAX];
    struct sockaddr_in at = {.sin_family = AF_INET};
    bool serves = argc == 5 && strcmp(argv[1], "serve") == 0;
    int streams = argc > 3 ? atoi(argv[3]) : 0;
    if ((!serves && argc != 6) || streams < 1 || streams > STREAMS_MAX)
        return 2;
    at.sin_port = htons((uint16_t)atoi(argv[2]));
    if (!serves && inet_pton(AF_INET, argv[1], &at.sin_addr) != 1)
        return 2;
    int listener = serves ? listen_at(&at) : -1;
    int64_t seconds_ns = serves ? 0 : (int64_t)(atof(argv[4]) * (double)TL_NS_PER_S);
    for (int i = 0; i < streams; i++) {
        loops[i] = (struct loop){.sends = !serves,
                                 .fd = serves ? accept(listener, NULL, NULL) : dial(&at),
                                 .size = (size_t)atol(argv[serves ? 4 : 5]),
                                 .until_ns = tl_now_ns() + seconds_ns};
        if (loops[i].fd < 0 || pthread_create(&loops[i].thread, NULL, run, &loops[i]) != 0)
            fail("stream");
    }
    int64_t first_ns = INT64_MAX, last_ns = 0;
    uint64_t bytes = 0;
    for (int i = 0; i < streams; i++) {
        pthread_join(loops[i].thread, NULL);
        first_ns = loops[i].first_ns < first_ns ? loops[i].first_ns : first_ns;
        last_ns = loops[i].last_ns > last_ns ? loops[i].last_ns : last_ns;
        bytes += loops[i].bytes;
    }
    if (serves)
        printf("%.0f %llu\n", (double)bytes * 8e9 / (double)(last_ns - first_ns),
               (unsigned long long)bytes);
    return 0;
}
