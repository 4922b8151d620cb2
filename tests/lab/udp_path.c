/* UDP tests through the link emulator, whose own counters are the truth: what it dropped, sent
 * twice, held back or damaged is what the result must say, and of what kind a loss was is
 * what the delay before it must show. argv: tightlinkd, then
 * a case or --list. */
#include <math.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/client_udp.h"

#define MS INT64_C(1000000)

static const char *tightlinkd;

struct path {
    struct tl_lab *lab;
    struct tl_client *client;
    struct tl_lab_counters before, after;
};

static void open_path(struct path *path, const char *spec)
{
    struct tl_error err = {0};
    const char *const argv[] = {tightlinkd, "--open", NULL};
    struct tl_lab_stdio streams = {.in = -1, .out = -1, .err = 2};
    pid_t pid;
    path->lab = make_bare_lab(spec);
    CHECK(tl_lab_spawn(path->lab, TL_LAB_FAR, argv, &streams, &pid, &err) == TL_OK, "%s", err.text);
    CHECK(tl_lab_enter_near(path->lab, &err) == TL_OK, "%s", err.text);
    struct tl_client_options options = {
        .host = tl_lab_far_address(path->lab), .port = TL_WIRE_PORT, .cancel_fd = -1};
    enum tl_status status = TL_REFUSED;
    for (int i = 0; i < 100 && status == TL_REFUSED; i++) { /* until it listens */
        status = tl_client_connect(&options, &path->client, &err);
        if (status == TL_REFUSED)
            usleep(50000);
    }
    CHECK(status == TL_OK, "%s", err.text);
}

static void close_path(struct path *path)
{
    tl_client_close(path->client);
    tl_lab_destroy(path->lab);
}

static void run(struct path *path, struct tl_udp_spec spec, struct tl_udp_result *result)
{
    struct tl_error err = {0};
    enum tl_lab_direction way = spec.direction == TL_WIRE_UPLOAD ? TL_LAB_UP : TL_LAB_DOWN;
    tl_lab_counters(path->lab, way, &path->before);
    CHECK(tl_client_udp_test(path->client, &spec, NULL, NULL, result, &err) == TL_OK, "%s",
          err.text);
    tl_lab_counters(path->lab, way, &path->after);
    CHECK(result->valid, "%s", tl_udp_end_text(result->end));
    CHECK(result->receiver.local_drop_count == 0, "the receiver dropped %lu",
          (unsigned long)result->receiver.local_drop_count);
}

static const enum tl_wire_direction both[] = {TL_WIRE_DOWNLOAD, TL_WIRE_UPLOAD};

/* The control connection's segments cross the link too, in the other direction mostly: what
 * the emulator dropped more than we miss is theirs. */
static uint64_t dropped(const struct path *path, enum tl_lab_drop kind)
{
    return path->after.drops[kind] - path->before.drops[kind];
}

static void loss_is_what_the_link_dropped(void)
{
    struct path path;
    open_path(&path, "rate=100M delay=5ms loss=2%");
    for (int i = 0; i < 2; i++) {
        struct tl_udp_result result;
        run(&path,
            (struct tl_udp_spec){
                .direction = both[i], .duration_ns = 1000 * MS, .rate_bps = 20000000},
            &result);
        uint64_t lost = result.receiver.lost_count, truth = dropped(&path, TL_LAB_DROP_LOSS);
        CHECK(lost <= truth && truth - lost <= 6 && lost > 5, "%lu of %lu, rest is control",
              (unsigned long)lost, (unsigned long)truth);
        CHECK(result.loss_low_ratio < result.loss_ratio && result.loss_ratio < 0.04 &&
                  result.loss_ratio < result.loss_high_ratio,
              "%.4f in %.4f to %.4f", result.loss_ratio, result.loss_low_ratio,
              result.loss_high_ratio);
        CHECK(result.receiver.delay.before_loss_median_ns < 2e6, "the queue was empty: %.0f",
              result.receiver.delay.before_loss_median_ns);
        tl_udp_result_finish(&result);
    }
    close_path(&path);
}

/* 30 Mb/s into 20 Mb/s of IP: 19.4 of payload come out, from behind 100 kB, 40 ms. */
static void a_full_queue_shows_before_the_loss(void)
{
    struct path path;
    open_path(&path, "rate=20M delay=5ms queue=100kB");
    for (int i = 0; i < 2; i++) {
        struct tl_udp_result result;
        run(&path,
            (struct tl_udp_spec){
                .direction = both[i], .duration_ns = 1000 * MS, .rate_bps = 30000000},
            &result);
        const struct tl_udp_receiver *receiver = &result.receiver;
        double truth_bps = 20e6 * 1448 / 1476;
        CHECK(fabs(receiver->received_bps / truth_bps - 1) < 0.02, "%.0f", receiver->received_bps);
        CHECK(receiver->delay.before_loss_median_ns > 36e6 &&
                  receiver->delay.before_loss_median_ns < 42e6,
              "%.0f", receiver->delay.before_loss_median_ns);
        CHECK(isnan(receiver->delay.skew_ppm) || fabs(receiver->delay.skew_ppm) < 100, "%.1f",
              receiver->delay.skew_ppm);
        CHECK(dropped(&path, TL_LAB_DROP_QUEUE) >= receiver->lost_count, "more than dropped");
        tl_udp_result_finish(&result);
    }
    close_path(&path);
}

static void a_policer_shows_no_delay_before_the_loss(void)
{
    struct path path;
    open_path(&path, "rate=200M delay=5ms policer=20M/30kB");
    struct tl_udp_result result;
    run(&path, (struct tl_udp_spec){.duration_ns = 1000 * MS, .rate_bps = 30000000}, &result);
    CHECK(result.receiver.lost_count > 100, "%lu", (unsigned long)result.receiver.lost_count);
    CHECK(result.receiver.delay.before_loss_median_ns < 2e6, "%.0f",
          result.receiver.delay.before_loss_median_ns);
    tl_udp_result_finish(&result);
    close_path(&path);
}

static void late_twice_and_damaged_are_no_loss(void)
{
    struct path path;
    open_path(&path, "rate=100M delay=5ms reorder=3%/4ms duplicate=2% corrupt=1%");
    struct tl_udp_result result;
    run(&path, (struct tl_udp_spec){.duration_ns = 1000 * MS, .rate_bps = 20000000}, &result);
    const struct tl_udp_receiver *receiver = &result.receiver;
    uint64_t damaged = receiver->damaged_count + receiver->checksum_error_count;
    CHECK(receiver->lost_count <= 1, "%lu", (unsigned long)receiver->lost_count);
    CHECK(receiver->reordered_count > 10 && receiver->reorder_late_max_ns > 0, "%lu, %ld ns",
          (unsigned long)receiver->reordered_count, (long)receiver->reorder_late_max_ns);
    CHECK(receiver->duplicate_count > 5 &&
              receiver->duplicate_count <= path.after.duplicated - path.before.duplicated,
          "%lu", (unsigned long)receiver->duplicate_count);
    CHECK(damaged > 3 && damaged <= path.after.corrupted - path.before.corrupted, "%lu",
          (unsigned long)damaged);
    tl_udp_result_finish(&result);
    close_path(&path);
}

static void trains_find_the_narrow_link(void)
{
    struct path path;
    open_path(&path, "rate=50M delay=5ms queue=200kB");
    for (int i = 0; i < 2; i++) {
        struct tl_udp_result result;
        run(&path,
            (struct tl_udp_spec){.direction = both[i],
                                 .duration_ns = 2000 * MS,
                                 .train_length = 20,
                                 .train_count = 30,
                                 .train_gap_ns = 20 * MS},
            &result);
        double truth_bps = 50e6 * 1448 / 1476;
        double bps =
            tl_udp_train_rate(result.trains, result.train_count, TL_UDP_DATAGRAM_BYTES, NULL);
        CHECK(fabs(bps / truth_bps - 1) < 0.05, "%.0f", bps);
        tl_udp_result_finish(&result);
    }
    close_path(&path);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"loss is what the link dropped", loss_is_what_the_link_dropped, TIMED},
        {"a full queue shows before the loss", a_full_queue_shows_before_the_loss, TIMED},
        {"a policer shows no delay before the loss", a_policer_shows_no_delay_before_the_loss,
         TIMED},
        {"late, twice and damaged are no loss", late_twice_and_damaged_are_no_loss, TIMED},
        {"trains find the narrow link", trains_find_the_narrow_link, TIMED},
    };
    if (argc < 2) {
        fprintf(stderr, "usage: %s TIGHTLINKD [CASE]\n", argv[0]);
        return 2;
    }
    tightlinkd = argv[1];
    return run_cases(cases, sizeof cases / sizeof *cases, argc > 2 ? argv[2] : NULL);
}
