/* Real labs of paths as production has them: recordings, radio, managed queues, others who are
 * there first, lines of homes, hosts as installed. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "tightlink/base/time.h"
#include "transfer.h"

/* Every ms one opportunity, the tenth second without any: 12 Mb/s less a tenth. */
static void write_recording(char ret_name[32])
{
    snprintf(ret_name, 32, "/tmp/tl-lab-XXXXXX");
    int fd = mkstemp(ret_name);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    CHECK(file, "cannot make a file");
    for (int ms = 1; ms <= 1000; ms++)
        if (ms % 100 < 90 || ms == 1000)
            fprintf(file, "%d\n", ms);
    fclose(file);
}

static void recording_sets_the_rate(void)
{
    char name[32], spec[80];
    struct tl_lab_counters down;
    write_recording(name);
    snprintf(spec, sizeof spec, "down.trace=%s delay=10ms", name);
    struct tl_lab *lab = make_lab(spec);
    struct download got = download(lab, 2 * TL_NS_PER_S, 2 * TL_NS_PER_S);
    unlink(name);
    tl_lab_counters(lab, TL_LAB_DOWN, &down);
    CHECK(got.bps > 9.6e6 && got.bps < 10.6e6, "%.2f Mb/s", got.bps / 1e6); /* 10.8 of 1500 B */
    CHECK(down.queue_peak_bytes > 250000 && down.queue_peak_bytes <= 256 * 1500, "%lu",
          (unsigned long)down.queue_peak_bytes);
    tl_lab_destroy(lab);
}

static void managed_queue_stays_short(void)
{
    struct tl_lab_counters down;
    struct tl_lab *lab = make_lab("rate=40M delay=10ms down.queue=1MB down.aqm=codel");
    struct download got = download(lab, TL_NS_PER_S, 2 * TL_NS_PER_S);
    tl_lab_counters(lab, TL_LAB_DOWN, &down);
    CHECK(got.bps > 34e6 && got.bps < 38.8e6, "%.1f Mb/s", got.bps / 1e6);
    CHECK(down.drops[TL_LAB_DROP_AQM] > 0 && down.drops[TL_LAB_DROP_QUEUE] == 0 && down.marked == 0,
          "%lu by management, %lu full", (unsigned long)down.drops[TL_LAB_DROP_AQM],
          (unsigned long)down.drops[TL_LAB_DROP_QUEUE]);
    tl_lab_destroy(lab);
}

static void flows_with_ecn_are_marked(void)
{
    struct tl_lab_counters down;
    struct tl_lab *lab =
        make_lab("rate=40M delay=10ms down.queue=1MB down.aqm=fq-codel,ecn ecn=on");
    struct download got = download(lab, TL_NS_PER_S, 2 * TL_NS_PER_S);
    tl_lab_counters(lab, TL_LAB_DOWN, &down);
    CHECK(got.options & 8, "ECN was not agreed (TCPI_OPT_ECN)");
    CHECK(down.marked > 0 && down.drops[TL_LAB_DROP_AQM] == 0, "%lu marked, %lu dropped",
          (unsigned long)down.marked, (unsigned long)down.drops[TL_LAB_DROP_AQM]);
    CHECK(got.bps > 34e6, "%.1f Mb/s", got.bps / 1e6);
    tl_lab_destroy(lab);
}

/* Bytes that pass the main link downwards in a while during which c asks for nothing. */
static double idle_bps(struct tl_lab *lab)
{
    struct tl_lab_counters before, after;
    struct timespec while_ = {1, 0};
    tl_lab_counters(lab, TL_LAB_DOWN, &before);
    int64_t from_ns = tl_now_ns();
    nanosleep(&while_, NULL);
    tl_lab_counters(lab, TL_LAB_DOWN, &after);
    return (double)(after.out_bytes - before.out_bytes) * 8e9 / (double)(tl_now_ns() - from_ns);
}

static void others_are_there_first_and_share(const char *spec)
{
    struct tl_lab *lab = make_lab(spec);
    double before = idle_bps(lab);
    CHECK(before > 36e6 && before < 40.5e6, "%.1f Mb/s before we came", before / 1e6);
    struct download got = download(lab, 2 * TL_NS_PER_S, 3 * TL_NS_PER_S);
    CHECK(got.bps > 1e6 && got.bps < 22e6, "%.1f Mb/s beside four others", got.bps / 1e6);
    CHECK(tl_lab_alive(lab, NULL) == TL_OK, "alive");
    tl_lab_destroy(lab);
}

static void others_over_ipv4(void)
{
    others_are_there_first_and_share("rate=40M delay=10ms down.others=4");
}

static void others_over_ipv6_on_a_radio(void)
{
    others_are_there_first_and_share(
        "down.radio=40M-40M fades=0/0 handovers=0/0 up.rate=40M down.queue=100kB delay=10ms "
        "down.others=4 family=6");
}

static void others_rest_now_and_then(void)
{
    struct tl_lab *lab = make_lab("rate=40M delay=5ms down.others=2 others-burst=100ms/300ms");
    double bps = (idle_bps(lab) + idle_bps(lab) + idle_bps(lab)) / 3;
    CHECK(bps > 0.5e6 && bps < 36e6, "%.1f Mb/s", bps / 1e6);
    tl_lab_destroy(lab);
}

static void line_of_a_home_clamps_and_keeps_silent(void)
{
    struct tl_lab *lab = make_lab("rate=40M delay=5ms pppoe=on");
    int mss = 0;
    socklen_t size = sizeof mss;
    int fd = connected(lab, SOCK_STREAM);
    CHECK(getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &size) == 0 && mss == 1440,
          "%d bytes a segment, not 1452 less 12 for timestamps", mss);
    close(fd);
    struct download got = download(lab, TL_NS_PER_S / 2, TL_NS_PER_S);
    CHECK(got.bps > 34e6, "full segments pass: %.1f Mb/s", got.bps / 1e6);
    tl_lab_destroy(lab);
}

static void stock_hosts_are_nobody_with_six_mebibytes(void)
{
    struct tl_lab *lab = make_lab("rate=40M delay=5ms stock=on");
    char text[80] = "";
    FILE *file = fopen("/proc/sys/net/ipv4/tcp_rmem", "r");
    CHECK(file && fgets(text, sizeof text, file) && strstr(text, "\t6291456"), "%s", text);
    fclose(file);
    CHECK(geteuid() != 0, "still root");
    tl_lab_destroy(lab);
}

static void missing_recording_is_told(void)
{
    struct tl_lab_config config;
    struct tl_lab *lab = NULL;
    struct tl_error err = {0};
    tl_lab_config_init(&config);
    CHECK(tl_lab_config_parse("trace=/nowhere/at.all", &config, &err) == TL_OK, "%s", err.text);
    enum tl_status status = tl_lab_create(&config, &lab, &err);
    if (status == TL_DENIED)
        skip_case(err.text);
    CHECK(status == TL_IO && strstr(err.text, "/nowhere/at.all"), "%s", err.text);
}

static const struct test_case cases[] = {
    {"recording sets the rate", recording_sets_the_rate, TIMED},
    {"managed queue stays short", managed_queue_stays_short, TIMED},
    {"flows with ECN are marked", flows_with_ecn_are_marked, TIMED},
    {"others over ipv4", others_over_ipv4, TIMED},
    {"others over ipv6 on a radio", others_over_ipv6_on_a_radio, TIMED},
    {"others as nobody", others_over_ipv4, AS_NOBODY | TIMED},
    {"others rest now and then", others_rest_now_and_then, TIMED},
    {"line of a home clamps and keeps silent", line_of_a_home_clamps_and_keeps_silent, TIMED},
    {"stock hosts are nobody with six mebibytes", stock_hosts_are_nobody_with_six_mebibytes,
     NEEDS_ROOT | TIMED},
    {"missing recording is told", missing_recording_is_told, 0},
};

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], SERVE_ARGUMENT) == 0)
        return serve_main();
    return run_cases(cases, sizeof cases / sizeof *cases, argc > 1 ? argv[1] : NULL);
}
