/* The options of a TCP test reach the end that they concern: seen in what the kernel reports
 * there, and for DSCP in the packets themselves. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "far_end.h"
#include "tightlink/engine/sample.h"

static struct tl_tcp_result result; /* large */

static void run(struct tl_client *client, const struct tl_tcp_spec *spec)
{
    struct tl_error error = {0};
    enum tl_status status = tl_client_tcp_test(client, spec, NULL, NULL, &result, &error);
    cr_assert_eq(status, TL_OK, "%s: %s", tl_status_name(status), error.text);
}

static const char *name_of(enum tl_wire_direction direction)
{
    return direction == TL_WIRE_UPLOAD ? "upload" : "download";
}

Test(client_options, a_segment_size_holds_in_both_directions, .timeout = 120)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    for (unsigned direction = 0; direction < 2; direction++) {
        struct tl_tcp_spec spec = {.direction = (enum tl_wire_direction)direction,
                                   .streams = 1,
                                   .duration_ns = 400 * MS,
                                   .pacing_bps = 200000000,
                                   .maxseg_bytes = 1000};
        run(client, &spec);
        const struct tl_sample_log *log = &result.sender.logs[0];
        cr_assert_gt(log->count, 2);
        uint64_t mss = log->samples[log->count - 1].snd_mss_bytes;
        /* Less the 12 bytes of the timestamps option (RFC 7323). */
        cr_expect(mss == 1000 || mss == 988, "%s: %llu", name_of(spec.direction),
                  (unsigned long long)mss);
        tl_tcp_result_finish(&result);
    }
    tl_client_close(client);
    stop_far(&far);
}

Test(client_options, unsent_data_is_bounded_where_it_is_sent, .timeout = 120)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    for (unsigned direction = 0; direction < 2; direction++) {
        uint64_t most[2] = {0, 0};
        for (int limited = 0; limited < 2; limited++) {
            /* Paced: what the application has too much of waits in the socket. */
            struct tl_tcp_spec spec = {.direction = (enum tl_wire_direction)direction,
                                       .streams = 1,
                                       .duration_ns = 600 * MS,
                                       .pacing_bps = 20000000,
                                       .notsent_lowat_bytes = limited ? 16384 : 0};
            run(client, &spec);
            const struct tl_sample_log *log = &result.sender.logs[0];
            for (size_t i = 0; i < log->count; i++)
                if (log->samples[i].notsent_bytes > most[limited])
                    most[limited] = log->samples[i].notsent_bytes;
            tl_tcp_result_finish(&result);
        }
        /* One send may start just below the mark. */
        cr_expect_leq(most[1], 16384 + TL_STREAM_SEND_BYTES, "%s: %llu",
                      name_of((enum tl_wire_direction)direction), (unsigned long long)most[1]);
        cr_expect_gt(most[0], 2 * most[1], "%s: %llu without a bound",
                     name_of((enum tl_wire_direction)direction), (unsigned long long)most[0]);
    }
    tl_client_close(client);
    stop_far(&far);
}

Test(client_options, pacing_holds_at_the_sender, .timeout = 120)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    for (unsigned direction = 0; direction < 2; direction++) {
        struct tl_tcp_spec spec = {.direction = (enum tl_wire_direction)direction,
                                   .streams = 4,
                                   .duration_ns = 1500 * MS,
                                   .pacing_bps = 100000000};
        run(client, &spec);
        /* Four at 100 Mb/s each would be 400, and without pacing it is gigabits. What a busy
         * machine lets wait comes in a burst: the mean of all of it, not of a part. */
        double bps = result.steady.rate.whole_bps;
        cr_expect(bps > 30e6 && bps < 150e6, "%s: %g", name_of(spec.direction), bps);
        tl_tcp_result_finish(&result);
    }
    tl_client_close(client);
    stop_far(&far);
}

Test(client_options, the_result_names_the_ways_of_both_ends, .timeout = 120)
{
    static const enum tl_send_path paths[] = {TL_SEND_COPY, TL_SEND_SPLICE};
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    for (unsigned i = 0; i < 8; i++) {
        struct tl_tcp_spec spec = {.direction = (enum tl_wire_direction)(i & 1),
                                   .streams = 1,
                                   .duration_ns = 300 * MS,
                                   .send_path = paths[i >> 1 & 1],
                                   .discard = i & 4};
        run(client, &spec);
        cr_expect_eq(result.sender.send_path, spec.send_path, "%s: %d", name_of(spec.direction),
                     (int)result.sender.send_path);
        cr_expect_eq(result.receiver.discarded, spec.discard, "%s", name_of(spec.direction));
        cr_expect(result.ends_agree_ratio < 0.02 || is_starved(&result));
        tl_tcp_result_finish(&result);
    }
    tl_client_close(client);
    stop_far(&far);
}

Test(client_options, zerocopy_that_spares_nothing_is_noted, .timeout = 120)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    struct tl_tcp_spec spec = {.direction = TL_WIRE_UPLOAD,
                               .streams = 1,
                               .duration_ns = 400 * MS,
                               .send_path = TL_SEND_ZEROCOPY};
    run(client, &spec);
    cr_expect_eq(result.sender.send_path, TL_SEND_COPY);
    cr_expect_not_null(strstr(result.notes, "MSG_ZEROCOPY"), "%s", result.notes);
    tl_tcp_result_finish(&result);
    tl_client_close(client);
    stop_far(&far);
}

/* What a socket without privilege is given of a buffer, before the kernel doubles it. */
static double permitted(int bytes)
{
    FILE *file = fopen("/proc/sys/net/core/rmem_max", "re");
    int most = 0;
    cr_assert(file && fscanf(file, "%d", &most) == 1);
    fclose(file);
    return bytes < most ? bytes : most;
}

/* The buffer of a receiver at the far end is set after accept(), a near one's goes into the
 * handshake: the window reaches what was asked for in either case, as far as the kernel grants
 * it, and not more than the kernel makes of it. Paced: a window grows by what came while the
 * buffer had room, and a receiver slower than its sender has none. */
Test(client_options, a_receive_buffer_gives_its_window_at_either_end, .timeout = 240)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    static const int sizes[] = {65536, 1 << 20};
    for (unsigned i = 0; i < 4; i++) {
        struct tl_tcp_spec spec = {.direction = (enum tl_wire_direction)(i & 1),
                                   .streams = 1,
                                   .duration_ns = 1000 * MS,
                                   .pacing_bps = 400000000,
                                   .rcvbuf_bytes = sizes[i >> 1],
                                   .congestion = "reno"};
        run(client, &spec);
        double window = result.steady.sender_whole.snd_wnd_max_bytes;
        double granted = permitted(spec.rcvbuf_bytes);
        cr_expect_gt(window, 0.9 * granted, "%s: %g", name_of(spec.direction), window);
        cr_expect_leq(window, 2.0 * granted, "%s: %g", name_of(spec.direction), window);
        tl_tcp_result_finish(&result);
    }
    tl_client_close(client);
    stop_far(&far);
}

/* --- DSCP, in the packets ------------------------------------------------------------- */

/* Packets of the control connection are shorter. */
#define LARGE_BYTES 4000

/* Lets large TCP packets of one port through, since other programs may use loopback as well, and
 * a stock socket's buffer holds some five of these. The packet begins with its IP header. */
static void filter_tap(int fd, int port)
{
    const uint32_t number = (uint32_t)port;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 2),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, LARGE_BYTES, 0, 8),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 6),
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 2, 0),
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 128),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
}

/* A tap on loopback; -1 where that is not permitted. */
static int open_tap(int port)
{
    struct sockaddr_ll at = {.sll_family = AF_PACKET,
                             .sll_protocol = htons(ETH_P_IP),
                             .sll_ifindex = (int)if_nametoindex("lo")};
    int bytes = 1 << 20;
    /* No protocol yet: what came before the filter would fill the buffer. */
    int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    /* Beyond rmem_max where that is permitted: the stock one holds three packets of 64 KiB. */
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    filter_tap(fd, port);
    cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

struct marks {
    unsigned long from_near[64], from_far[64]; /* packets by DSCP, of either end */
};

/* What a thread takes from a tap while a test runs: its buffer holds a few packets, and what an
 * ended test's socket still sends would leave no room in it for the next test's. */
struct tap {
    int fd, port;
    atomic_bool stop;
    struct marks marks;
};

/* The packets on connections of the port. */
static void read_tap(struct tap *tap)
{
    unsigned char bytes[128];
    while (recv(tap->fd, bytes, sizeof bytes, 0) > 0) {
        struct iphdr ip;
        struct tcphdr tcp;
        memcpy(&ip, bytes, sizeof ip);
        memcpy(&tcp, bytes + ip.ihl * 4, sizeof tcp);
        if (ntohs(tcp.dest) == tap->port)
            tap->marks.from_near[ip.tos >> 2]++;
        if (ntohs(tcp.source) == tap->port)
            tap->marks.from_far[ip.tos >> 2]++;
    }
}

static void *watch_tap(void *arg)
{
    struct tap *tap = arg;
    struct pollfd ready = {.fd = tap->fd, .events = POLLIN};
    while (!atomic_load(&tap->stop)) {
        (void)poll(&ready, 1, 10);
        read_tap(tap);
    }
    return NULL;
}

/* Both ends mark what they send of one test. */
static void check_marks(struct tl_client *client, int fd, int port, unsigned direction)
{
    struct tap tap = {.fd = fd, .port = port};
    struct tl_tcp_spec spec = {.direction = (enum tl_wire_direction)direction,
                               .streams = 1,
                               .duration_ns = 300 * MS,
                               .pacing_bps = 50000000,
                               .dscp = 10 + direction};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, watch_tap, &tap), 0);
    run(client, &spec);
    atomic_store(&tap.stop, true);
    pthread_join(thread, NULL);
    bool upload = spec.direction == TL_WIRE_UPLOAD;
    const unsigned long *sent = upload ? tap.marks.from_near : tap.marks.from_far;
    cr_expect_gt(sent[spec.dscp], 0, "%s", name_of(spec.direction));
    cr_expect_eq(sent[0], 0, "%s: %lu packets without", name_of(spec.direction), sent[0]);
    if (upload)
        cr_expect_eq(result.sender.streams[0].dscp, spec.dscp);
    tl_tcp_result_finish(&result);
}

Test(client_options, packets_of_both_ends_carry_the_dscp, .timeout = 120)
{
    struct far_end far;
    start_far(&far, NULL);
    int tap = open_tap(far.port);
    if (tap < 0) {
        stop_far(&far);
        cr_skip_test("skipped: looking at packets needs CAP_NET_RAW");
    }
    struct tl_client *client = dial(far.port, -1);
    for (unsigned direction = 0; direction < 2; direction++)
        check_marks(client, tap, far.port, direction);
    close(tap);
    tl_client_close(client);
    stop_far(&far);
}
