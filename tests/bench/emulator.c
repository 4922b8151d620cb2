/* How well the link emulator carries: the rate of one TCP stream through a fast
 * link, and by how much packets are late under 500 Mb/s of load. Prints a table
 * of medians; uses iperf3 for the load. Not a test: numbers depend on the machine. */
#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit/lab/harness.h"
#include "tightlink/base/stats.h"
#include "tightlink/base/time.h"

#define REPEATS 3
#define PROBES  150

static pid_t start(struct tl_lab *lab, enum tl_lab_host host, const char *const argv[], int out)
{
    struct tl_error err = {0};
    struct tl_lab_stdio streams = {.in = -1, .out = out, .err = -1};
    pid_t pid;
    CHECK(tl_lab_spawn(lab, host, argv, &streams, &pid, &err) == TL_OK, "%s", err.text);
    return pid;
}

/* Starts iperf3's server and waits for its first line. */
static void start_iperf_server(struct tl_lab *lab)
{
    static const char *const argv[] = {"iperf3", "-s", "--forceflush", NULL};
    char text[512];
    int ends[2];
    CHECK(pipe(ends) == 0, "pipe");
    start(lab, TL_LAB_FAR, argv, ends[1]);
    close(ends[1]);
    CHECK(read(ends[0], text, sizeof text) > 0, "iperf3 -s said nothing");
    /* The read end stays open: the server goes on writing. */
}

/* Mb/s that the receiver saw, from iperf3's JSON. */
static double iperf_mbps(int fd)
{
    static char text[1 << 20];
    size_t len = 0;
    ssize_t n;
    while (len < sizeof text - 1 && (n = read(fd, text + len, sizeof text - 1 - len)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    const char *sum = strstr(text, "\"sum_received\"");
    const char *rate = sum ? strstr(sum, "\"bits_per_second\":") : NULL;
    return rate ? strtod(rate + strlen("\"bits_per_second\":"), NULL) / 1e6 : NAN;
}

static double one_stream_mbps(const char *spec)
{
    static const char *const argv[] = {"iperf3", "-c", "10.99.3.2", "-R", "-t",
                                       "3",      "-O", "1",         "-J", NULL};
    int ends[2];
    struct tl_lab *lab = make_bare_lab(spec);
    start_iperf_server(lab);
    CHECK(pipe(ends) == 0, "pipe");
    start(lab, TL_LAB_NEAR, argv, ends[1]);
    close(ends[1]);
    double mbps = iperf_mbps(ends[0]);
    close(ends[0]);
    tl_lab_destroy(lab);
    return mbps;
}

struct lateness {
    double rtt_error_us, emulator_p50_us, load_mbps;
};

/* Median of echo RTT minus the configured one, over PROBES datagrams one behind the other. */
static double probe_rtt_error_us(const struct tl_lab *lab, int64_t rtt_ns)
{
    static double errors[PROBES];
    size_t count = 0;
    struct sockaddr_in far = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    inet_pton(AF_INET, tl_lab_far_address(lab), &far.sin_addr);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&far, sizeof far) == 0, "connect");
    for (int i = 0; i < PROBES; i++) {
        int64_t sent_ns = tl_now_ns(), echoed_ns = 0;
        struct pollfd in = {.fd = fd, .events = POLLIN};
        (void)!send(fd, &sent_ns, sizeof sent_ns, 0);
        while (echoed_ns != sent_ns && poll(&in, 1, 200) > 0)
            if (recv(fd, &echoed_ns, sizeof echoed_ns, 0) != (ssize_t)sizeof echoed_ns)
                break;
        if (echoed_ns == sent_ns)
            errors[count++] = (double)(tl_now_ns() - sent_ns - rtt_ns) / 1e3;
    }
    close(fd);
    return tl_stats_quantile(errors, count, 0.5);
}

/* The link has no rate: iperf3 sends in bursts, and their queue would be no error. */
static struct lateness lateness_under(const char *spec, const char *load)
{
    struct lateness result = {0};
    struct tl_lab *lab = make_lab(spec);
    struct tl_lab_counters down;
    const char *const argv[] = {"iperf3", "-c", "10.99.3.2", "-R", "-u", "-b",
                                load,     "-l", "1448",      "-t", "30", NULL};
    if (load) {
        start_iperf_server(lab);
        start(lab, TL_LAB_NEAR, argv, -1);
        (void)probe_rtt_error_us(lab, 0); /* until the load stands */
    }
    tl_lab_counters(lab, TL_LAB_DOWN, &down);
    uint64_t bytes = down.out_bytes;
    int64_t begin_ns = tl_now_ns();
    result.rtt_error_us = probe_rtt_error_us(lab, 20 * TL_NS_PER_MS);
    tl_lab_counters(lab, TL_LAB_DOWN, &down);
    result.load_mbps = (double)(down.out_bytes - bytes) * 8e3 / (double)(tl_now_ns() - begin_ns);
    result.emulator_p50_us = (double)down.delay_error_p50_ns / 1e3;
    tl_lab_destroy(lab);
    return result;
}

static void report_rates(const char *carrier)
{
    double mbps[REPEATS];
    char spec[80];
    snprintf(spec, sizeof spec, "rate=2.5G delay=5ms carrier=%s", carrier);
    for (int i = 0; i < REPEATS; i++)
        mbps[i] = one_stream_mbps(spec);
    printf("%-8s one TCP stream, 2.5 Gb/s link    %8.0f Mb/s\n", carrier,
           tl_stats_quantile(mbps, REPEATS, 0.5));
}

static void report_lateness(const char *carrier, const char *load)
{
    double probed[REPEATS], own[REPEATS], rate[REPEATS];
    char spec[80];
    snprintf(spec, sizeof spec, "delay=10ms carrier=%s", carrier);
    for (int i = 0; i < REPEATS; i++) {
        struct lateness late = lateness_under(spec, load);
        probed[i] = late.rtt_error_us / 2;
        own[i] = late.emulator_p50_us;
        rate[i] = late.load_mbps;
    }
    printf("%-8s one-way delay error, %4.0f Mb/s %11.0f us by echo, %4.0f us by the emulator\n",
           carrier, tl_stats_quantile(rate, REPEATS, 0.5), tl_stats_quantile(probed, REPEATS, 0.5),
           tl_stats_quantile(own, REPEATS, 0.5));
}

static void emulator_numbers(void)
{
    static const char *const carriers[] = {"tun", "packet"};
    if (system("iperf3 --version >/dev/null 2>&1") != 0)
        skip_case("iperf3 is not installed; it makes the load for this benchmark");
    printf("medians of %d runs\n", REPEATS);
    for (size_t i = 0; i < 2; i++) {
        report_rates(carriers[i]);
        report_lateness(carriers[i], NULL);
        report_lateness(carriers[i], "500M");
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {{"emulator", emulator_numbers, NEEDS_ROOT}};
    if (argc > 1 && strcmp(argv[1], SERVE_ARGUMENT) == 0)
        return serve_main();
    return run_cases(cases, 1, NULL);
}
