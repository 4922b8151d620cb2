#include "server.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/base/time.h"

#define PACKET 1500

static struct tl_lab_server server_of(const char *spec)
{
    struct tl_lab_config config;
    struct tl_lab_server server;
    struct tl_error err = {0};
    tl_lab_config_init(&config);
    cr_assert_eq(tl_lab_config_parse(spec, &config, &err), TL_OK, "%s", err.text);
    const struct tl_lab_link_config *link = &config.link[TL_LAB_DOWN];
    cr_assert_eq(tl_lab_server_init(&server, link, link->seed, &err), TL_OK, "%s", err.text);
    tl_lab_server_start(&server, 0);
    return server;
}

/* Bits that a busy link carries in each of the first `seconds` seconds. */
static void carry(struct tl_lab_server *server, int seconds, double *ret_bps)
{
    int64_t now = 0;
    bool lost;
    memset(ret_bps, 0, sizeof *ret_bps * (size_t)seconds);
    for (;;) {
        int64_t done = tl_lab_server_done_ns(server, now, PACKET, &lost);
        cr_assert_geq(done, now);
        now = done;
        if (now >= seconds * TL_NS_PER_S)
            return;
        ret_bps[now / TL_NS_PER_S] += lost ? 0 : PACKET * 8;
    }
}

static double mean(const double *values, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += values[i] / count;
    return sum;
}

/* A file with these lines; the caller removes it. */
static void write_trace(char ret_name[32], const char *lines)
{
    snprintf(ret_name, 32, "/tmp/tl-trace-XXXXXX");
    int fd = mkstemp(ret_name);
    cr_assert(fd >= 0 && write(fd, lines, strlen(lines)) == (ssize_t)strlen(lines));
    close(fd);
}

static struct tl_lab_server trace_server(const char *lines)
{
    char name[32], spec[64];
    write_trace(name, lines);
    snprintf(spec, sizeof spec, "trace=%s", name);
    struct tl_lab_server server = server_of(spec);
    unlink(name);
    return server;
}

static int64_t done_ms(struct tl_lab_server *server, int64_t start_ms, uint32_t len)
{
    bool lost;
    int64_t done = tl_lab_server_done_ns(server, start_ms * TL_NS_PER_MS, len, &lost);
    cr_assert(!lost && done % TL_NS_PER_MS == 0);
    return done / TL_NS_PER_MS;
}

Test(lab_server, trace_gives_each_packet_an_opportunity)
{
    struct tl_lab_server server = trace_server("# made by hand\n3\n3\n7\n10\n");
    cr_expect_eq(done_ms(&server, 0, PACKET), 3);
    cr_expect_eq(done_ms(&server, 3, PACKET), 3, "there are two at that time");
    cr_expect_eq(done_ms(&server, 3, PACKET), 7);
    cr_expect_eq(done_ms(&server, 7, PACKET), 10);
    cr_expect_eq(done_ms(&server, 10, PACKET), 13, "the recording begins anew");
    cr_expect_eq(done_ms(&server, 13, PACKET), 13);
    tl_lab_server_finish(&server);
}

Test(lab_server, trace_splits_and_joins_packets_by_bytes)
{
    struct tl_lab_server server = trace_server("1\n2\n3\n4\n5\n");
    cr_expect_eq(done_ms(&server, 0, 700), 1);
    cr_expect_eq(done_ms(&server, 1, 700), 1, "the second one fits beside the first");
    cr_expect_eq(done_ms(&server, 1, 700), 2, "the third one takes from the next opportunity");
    cr_expect_eq(done_ms(&server, 2, 3000), 4, "and a long one needs two more");
    tl_lab_server_finish(&server);
}

Test(lab_server, unused_opportunities_are_lost)
{
    struct tl_lab_server server = trace_server("1\n1\n1\n1\n5\n9\n");
    cr_expect_eq(done_ms(&server, 2, PACKET), 5);
    cr_expect_eq(done_ms(&server, 1000003, PACKET),
                 1000003 / 9 * 9 + 5 <= 1000003 ? 1000003 / 9 * 9 + 9 : 1000003 / 9 * 9 + 5);
    tl_lab_server_finish(&server);
}

Test(lab_server, bad_traces_are_refused_with_their_line)
{
    static const struct {
        const char *lines, *needle;
    } cases[] = {{"1\n2\nx\n", "line 3"},    {"5\n4\n", "line 2"}, {"", "above 0"},
                 {"0\n0\n", "above 0"},      {"-3\n", "line 1"},   {"1.5\n", "line 1"},
                 {"99999999999\n", "line 1"}};
    struct tl_lab_trace trace;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[32];
        struct tl_error err = {0};
        write_trace(name, cases[i].lines);
        cr_expect_neq(tl_lab_trace_load(&trace, name, &err), TL_OK, "%s", cases[i].lines);
        cr_expect(strstr(err.text, cases[i].needle), "%s: %s", cases[i].lines, err.text);
        unlink(name);
    }
    struct tl_error err = {0};
    cr_expect_eq(tl_lab_trace_load(&trace, "/dev/zero", &err), TL_LIMIT, "it has no end");
    cr_expect(strstr(err.text, "/dev/zero is no trace"), "%s", err.text);
    cr_expect_eq(tl_lab_trace_load(&trace, "/nowhere/at.all", &err), TL_IO);
    cr_expect(strstr(err.text, "/nowhere/at.all"), "%s", err.text);
}

Test(lab_server, radio_changes_within_seconds_between_its_rates)
{
    double bps[120];
    struct tl_lab_server server = server_of("radio=4M-40M fades=0/0 handovers=0/0 seed=3");
    carry(&server, 120, bps);
    double least = bps[0], most = bps[0], changes = 0;
    for (int i = 0; i < 120; i++) {
        least = fmin(least, bps[i]);
        most = fmax(most, bps[i]);
        changes += i > 0 && fabs(log(bps[i] / bps[i - 1])) > log(1.15);
    }
    cr_expect(least > 2e6 && least < 8e6, "%.1f", least / 1e6);
    cr_expect(most > 20e6 && most <= 40e6, "%.1f", most / 1e6);
    cr_expect(changes > 30, "%.0f of 119 seconds differ from the one before", changes);
    tl_lab_server_finish(&server);
}

Test(lab_server, radio_repeats_by_seed_whatever_passes)
{
    struct tl_lab_server a = server_of("radio=4M-40M seed=5"), b = server_of("radio=4M-40M seed=5");
    bool lost;
    for (int64_t now = 0; now < 20 * TL_NS_PER_S;)
        now = tl_lab_server_done_ns(&a, now, PACKET, &lost);
    int64_t later = 30 * TL_NS_PER_S;
    cr_assert_eq(tl_lab_server_done_ns(&a, later, PACKET, &lost),
                 tl_lab_server_done_ns(&b, later, PACKET, &lost));
}

Test(lab_server, handovers_stop_everything_for_their_length)
{
    struct tl_lab_server server = server_of("radio=20M-20M fades=0/0 handovers=5s/1s");
    int64_t now = 0, longest = 0, stops = 0;
    bool lost;
    while (now < 200 * TL_NS_PER_S) {
        int64_t done = tl_lab_server_done_ns(&server, now, PACKET, &lost);
        stops += done - now > 300 * TL_NS_PER_MS;
        longest = done - now > longest ? done - now : longest;
        now = done;
    }
    cr_expect(stops > 18 && stops < 60, "%d in 200 s", (int)stops);
    cr_expect(longest > TL_NS_PER_S && longest < 1600 * TL_NS_PER_MS, "%.2f s",
              (double)longest / 1e9);
    tl_lab_server_finish(&server);
}

Test(lab_server, fades_leave_a_twentieth)
{
    double bps[200];
    struct tl_lab_server without = server_of("radio=20M-20M fades=0/0 handovers=0/0");
    struct tl_lab_server with = server_of("radio=20M-20M fades=4s/1s handovers=0/0");
    carry(&without, 200, bps);
    double whole = mean(bps, 200);
    carry(&with, 200, bps);
    double share = mean(bps, 200) / whole;
    cr_expect(share > 0.65 && share < 0.92, "%.2f: a fifth of the time at a twentieth", share);
}

Test(lab_server, leo_steps_every_fifteen_seconds)
{
    double bps[75];
    struct tl_lab_server server = server_of("leo=40M-160M seed=2");
    carry(&server, 75, bps);
    double satellite[5];
    for (int k = 0; k < 5; k++) {
        satellite[k] = mean(bps + k * 15 + 2, 12);
        cr_expect(satellite[k] > 35e6 && satellite[k] < 165e6, "%.1f", satellite[k] / 1e6);
        for (int i = 2; i < 14; i++)
            cr_expect(fabs(bps[k * 15 + i] / satellite[k] - 1) < 0.15, "%d: %.1f", k * 15 + i,
                      bps[k * 15 + i] / 1e6);
    }
    int steps = 0;
    for (int k = 1; k < 5; k++)
        steps += fabs(satellite[k] / satellite[k - 1] - 1) > 0.1;
    cr_expect(steps >= 2, "%d", steps);
    cr_expect(tl_lab_server_extra_delay_ns(&server) > 0 &&
              tl_lab_server_extra_delay_ns(&server) < 15 * TL_NS_PER_MS);
}

/* Shares of packets that are lost, and the mean rate, of a busy link. */
static double air_loss(const char *spec, double *ret_bps)
{
    struct tl_lab_server server = server_of(spec);
    int64_t now = 0;
    int lost_count = 0, n = 60000;
    for (int i = 0; i < n; i++) {
        bool lost;
        now = tl_lab_server_done_ns(&server, now, PACKET, &lost);
        lost_count += lost;
    }
    *ret_bps = (double)(n - lost_count) * PACKET * 8 / ((double)now / 1e9);
    return (double)lost_count / n;
}

Test(lab_server, shared_air_costs_rate_and_loses_after_four_attempts)
{
    double alone, shared, failing, bps;
    cr_expect_eq(air_loss("wifi=200M/0/0%", &alone), 0);
    cr_expect_eq(air_loss("wifi=200M/3/0%", &shared), 0);
    double lost = air_loss("wifi=200M/0/36%", &failing);
    cr_expect(alone > 80e6 && alone < 160e6, "%.1f", alone / 1e6);
    cr_expect(shared < 0.6 * alone && shared > 0.1 * alone, "%.1f", shared / 1e6);
    cr_expect(failing < 0.8 * alone, "%.1f", failing / 1e6);
    cr_expect_float_eq(lost, 0.0168, 0.003, "%.4f", lost); /* 0.36^4 */
    (void)bps;
}

Test(lab_server, a_packet_alone_waits_for_its_turn_on_the_air)
{
    struct tl_lab_server server = server_of("wifi=200M/4/20%");
    double least = INFINITY, most = 0;
    for (int i = 0; i < 2000; i++) {
        bool lost;
        int64_t start = i * 50 * TL_NS_PER_MS;
        double ms = (double)(tl_lab_server_done_ns(&server, start, 100, &lost) - start) / 1e6;
        least = fmin(least, ms);
        most = fmax(most, ms);
    }
    cr_expect(least < 0.5 && most > 10, "%.2f to %.2f ms", least, most);
}
