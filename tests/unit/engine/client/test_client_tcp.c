/* The client through a real responder, in process, over the loopback interface. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "far_end.h"
#include "loopback.h"
#include "tightlink/base/stats.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/engine/client.h"
#include "tightlink/engine/responder.h"

static struct tl_tcp_result result; /* large */

static void run(struct tl_client *client, const struct tl_tcp_spec *spec)
{
    struct tl_error error = {0};
    enum tl_status status = tl_client_tcp_test(client, spec, NULL, NULL, &result, &error);
    cr_assert_eq(status, TL_OK, "%s: %s", tl_status_name(status), error.text);
    cr_assert(result.end_signed);
}

/* What holds for every test that ran its time on loopback. */
static void check_result(unsigned streams)
{
    cr_assert_eq(result.streams, streams);
    cr_assert_eq(result.end, TL_TCP_END_DEADLINE, "%d", (int)result.end);
    cr_assert_lt(result.ends_agree_ratio, 0.02, "%g", result.ends_agree_ratio);
    cr_assert_gt(result.receiver.bytes, 10000000);
    for (unsigned i = 0; i < streams; i++) {
        const struct tl_sample_log *sent = &result.sender.logs[i], *got = &result.receiver.logs[i];
        cr_assert(sent->count > 2 && got->count > 2, "%zu %zu", sent->count, got->count);
        cr_assert(sent->samples[sent->count - 1].last && got->samples[got->count - 1].last);
        cr_assert_gt(result.receiver.streams[i].bytes, 0);
        cr_assert_gt(result.sender.streams[i].cpu_ns, 0);
    }
    cr_assert(result.steady.rate.valid);
    cr_assert(result.steady.sender.ledger.valid);
    cr_assert(tl_host_is_known(result.sender.cpu.values[TL_CPU_CORE_BUSY]));
    cr_assert(tl_host_is_known(result.receiver.cpu.values[TL_CPU_CORE_BUSY]));
    cr_assert_gt(result.data_rtt_ns, 0);
}

Test(client_tcp, download_and_upload_with_one_and_eight_streams, .timeout = 240)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    for (int i = 0; i < 4; i++) {
        /* Long enough for two batches, whose length is the widest gap between two samples: a
         * sampler beside eight streams and other tests may be held up for most of a second. */
        struct tl_tcp_spec spec = {.direction = i % 2 ? TL_WIRE_UPLOAD : TL_WIRE_DOWNLOAD,
                                   .streams = i < 2 ? 1 : 8,
                                   .duration_ns = 4000 * MS,
                                   .pacing_bps = 200000000}; /* leaves cores to other tests */
        char text[TL_UNIT_TEXT_SIZE];
        run(client, &spec);
        check_result(spec.streams);
        cr_assert_eq(result.near_sends, i % 2 == 1);
        cr_assert(result.elapsed_ns > 3900 * MS && result.elapsed_ns < 20000 * MS);
        cr_log_info("%s with %u streams: %s", i % 2 ? "upload" : "download", spec.streams,
                    tl_format_bps(result.steady.rate.goodput_bps, text));
        tl_tcp_result_finish(&result);
    }
    tl_client_close(client);
    stop_far(&far);
}

Test(client_tcp, what_the_responder_is, .timeout = 120)
{
    struct far_end far;
    struct tl_responder_options options = {.max_seconds = 7, .max_streams = 3, .program = "far 2"};
    start_far(&far, &options);
    int64_t from_ns = tl_now_ns();
    struct tl_client *client = dial(far.port, -1);
    int64_t dialled_ns = tl_now_ns() - from_ns;
    const struct tl_client_info *info = tl_client_info(client);
    cr_assert_str_eq(info->program, "far 2");
    cr_assert_str_eq(info->address, "127.0.0.1");
    cr_assert_eq(info->family, 4);
    cr_assert_eq(info->max_duration_ns, 7000 * MS);
    cr_assert_eq(info->max_streams, 3);
    cr_assert(info->connect_rtt_ns > 0 && info->connect_rtt_ns < dialled_ns);
    struct tl_host_settings settings;
    struct tl_error error;
    cr_assert_eq(tl_client_host(client, &settings, &error), TL_OK, "%s", error.text);
    cr_assert(tl_host_is_known(settings.numbers[TL_HOST_TCP_RMEM_MAX]));
    cr_assert_gt(settings.numbers[TL_HOST_TCP_RMEM_MAX].number, 4096);
    cr_assert_eq(settings.numbers[TL_HOST_LOAD_1MIN].why, TL_HOST_WHY_WITHHELD);
    int64_t rtt_ns = 0;
    from_ns = tl_now_ns();
    cr_assert_eq(tl_client_ping(client, &rtt_ns, &error), TL_OK, "%s", error.text);
    cr_assert(rtt_ns > 0 && rtt_ns < tl_now_ns() - from_ns);
    struct tl_tcp_spec spec = {.streams = 4, .duration_ns = 1000 * MS, .pacing_bps = 200000000};
    run(client, &spec);
    cr_assert_eq(result.streams, 3);
    cr_assert(strstr(result.notes, "3 streams"), "%s", result.notes);
    tl_tcp_result_finish(&result);
    tl_client_close(client);
    stop_far(&far);
}

Test(client_tcp, settings_reach_the_right_end, .timeout = 240)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    struct tl_tcp_spec spec = {.direction = TL_WIRE_DOWNLOAD,
                               .streams = 1,
                               .duration_ns = 500 * MS,
                               .rcvbuf_bytes = 32 * 1024,
                               .sndbuf_bytes = 100 * 1024,
                               .congestion = "reno"};
    for (int i = 0; i < 2; i++) {
        run(client, &spec);
        const struct tl_sample_log *sender = &result.sender.logs[0];
        cr_assert_str_eq(result.sender.congestion, "reno");
        cr_assert_gt(sender->count, 0);
        uint64_t sndbuf_bytes = sender->samples[sender->count - 1].mem_sndbuf_bytes;
        cr_assert_eq(sndbuf_bytes, 200 * 1024, "%s: %llu", i ? "upload" : "download",
                     (unsigned long long)sndbuf_bytes);
        cr_assert_leq(result.steady.sender_whole.snd_wnd_max_bytes, 64 * 1024);
        tl_tcp_result_finish(&result);
        spec.direction = TL_WIRE_UPLOAD;
    }
    tl_client_close(client);
    stop_far(&far);
}

Test(client_tcp, an_unknown_congestion_control_is_told_and_the_session_goes_on, .timeout = 240)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    struct tl_tcp_spec spec = {.streams = 1, .duration_ns = 300 * MS, .congestion = "nosuch"};
    for (int i = 0; i < 2; i++) {
        struct tl_error error;
        spec.direction = i ? TL_WIRE_UPLOAD : TL_WIRE_DOWNLOAD;
        cr_assert_eq(tl_client_tcp_test(client, &spec, NULL, NULL, &result, &error), TL_UNSUPPORTED,
                     "%s", error.text);
        cr_assert(strstr(error.text, "nosuch"), "%s", error.text);
        tl_tcp_result_finish(&result);
    }
    spec.congestion[0] = '\0';
    run(client, &spec);
    tl_tcp_result_finish(&result);
    tl_client_close(client);
    stop_far(&far);
}

Test(client_tcp, a_byte_cap_is_kept, .timeout = 240)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    struct tl_tcp_spec spec = {.streams = 4, .duration_ns = 50000 * MS, .max_bytes = 40000000};
    for (int i = 0; i < 2; i++) {
        spec.direction = i ? TL_WIRE_UPLOAD : TL_WIRE_DOWNLOAD;
        run(client, &spec);
        cr_assert_eq(result.end, TL_TCP_END_BYTES, "%d: %d", i, (int)result.end);
        cr_assert_eq(result.receiver.bytes, 40000000);
        tl_tcp_result_finish(&result);
    }
    tl_client_close(client);
    stop_far(&far);
}

struct lives {
    unsigned count, queued;
    double rates_bps[256]; /* of the first of them that had one */
    size_t rate_count;
    double rtt_ns;
};

static void note_live(void *context, const struct tl_tcp_live *live)
{
    struct lives *lives = context;
    lives->count++;
    lives->queued += live->queued;
    if (!isnan(live->rate_bps) && lives->rate_count < sizeof lives->rates_bps / sizeof(double))
        lives->rates_bps[lives->rate_count++] = live->rate_bps;
    if (!isnan(live->rtt_ns))
        lives->rtt_ns = live->rtt_ns;
}

Test(client_tcp, ends_early_once_the_rate_is_known, .timeout = 240)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    /* Paced, so that the rate is steady whatever else this machine does. */
    struct tl_tcp_spec spec = {
        .streams = 1, .duration_ns = 20000 * MS, .pacing_bps = 50000000, .enough.rate = true};
    for (int i = 0; i < 2; i++) {
        struct lives lives = {0};
        struct tl_error error = {0};
        spec.direction = i ? TL_WIRE_UPLOAD : TL_WIRE_DOWNLOAD;
        enum tl_status status =
            tl_client_tcp_test(client, &spec, note_live, &lives, &result, &error);
        cr_assert_eq(status, TL_OK, "%s", error.text);
        /* A stream that waits for its core has no steady rate to be known. */
        cr_assert(result.end == TL_TCP_END_KNOWN || is_starved(&result), "%d: %d", i,
                  (int)result.end);
        cr_assert(result.end_signed);
        cr_assert(result.elapsed_ns > 3000 * MS, "%.1f s", (double)result.elapsed_ns / 1e9);
        cr_assert(fabs(result.steady.rate.goodput_bps - 49e6) < 4e6, "%g",
                  result.steady.rate.goodput_bps);
        cr_assert_gt(lives.count, 20);
        /* A single interval, the last one above all, may be a busy machine's. */
        cr_assert_gt(lives.rate_count, 20);
        double live_bps = tl_stats_median(lives.rates_bps, lives.rate_count);
        cr_assert(fabs(live_bps - 49e6) < 10e6, "live rate %g", live_bps);
        cr_assert_gt(lives.rtt_ns, 0);
        tl_tcp_result_finish(&result);
    }
    tl_client_close(client);
    stop_far(&far);
}

Test(client_tcp, ends_earlier_where_a_rate_is_borne_out, .timeout = 240)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    struct tl_tcp_spec spec = {.direction = TL_WIRE_DOWNLOAD,
                               .streams = 2,
                               .duration_ns = 20000 * MS,
                               .pacing_bps = 50000000,
                               .enough.rate = true};
    run(client, &spec);
    spec.enough.agrees_bps = result.steady.rate.goodput_bps;
    int64_t alone_ns = result.elapsed_ns;
    bool starved = is_starved(&result) || result.end != TL_TCP_END_KNOWN;
    tl_tcp_result_finish(&result);
    run(client, &spec);
    cr_assert(starved || is_starved(&result) || result.end == TL_TCP_END_KNOWN);
    cr_assert(starved || is_starved(&result) || result.elapsed_ns < alone_ns, "%g s, alone %g s",
              (double)result.elapsed_ns / 1e9, (double)alone_ns / 1e9);
    cr_assert_gt(result.elapsed_ns, TL_STEADY_AGREES_NS);
    tl_tcp_result_finish(&result);
    tl_client_close(client);
    stop_far(&far);
}

Test(client_tcp, what_stands_still_is_not_waited_for, .timeout = 240)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    for (int i = 0; i < 2; i++) {
        struct tl_tcp_spec spec = {.direction = i ? TL_WIRE_UPLOAD : TL_WIRE_DOWNLOAD,
                                   .streams = 1,
                                   .duration_ns = 50000 * MS,
                                   .pacing_bps = 20000000,
                                   .still_ns = 700 * MS,
                                   .still_bytes = 100000000};
        run(client, &spec);
        cr_assert_eq(result.end, TL_TCP_END_KNOWN, "%d", (int)result.end);
        cr_assert_lt(result.elapsed_ns, spec.duration_ns / 2);
        tl_tcp_result_finish(&result);
        /* Longer than a busy machine keeps everything from moving. */
        spec.duration_ns = 6000 * MS;
        spec.still_ns = 4000 * MS;
        spec.still_bytes = 1000;
        run(client, &spec);
        cr_assert_eq(result.end, TL_TCP_END_DEADLINE, "it moves: %d", (int)result.end);
        tl_tcp_result_finish(&result);
    }
    tl_client_close(client);
    stop_far(&far);
}

struct canceller {
    sem_t measured;
    int fd;
    int64_t at_ns;
};

static void tell_measured(void *context, const struct tl_tcp_live *live)
{
    struct canceller *canceller = context;
    if (live->rate_bps > 0)
        sem_post(&canceller->measured);
}

/* From another thread, once something was measured. */
static void *cancel_then(void *context)
{
    struct canceller *canceller = context;
    while (sem_wait(&canceller->measured) != 0)
        continue;
    canceller->at_ns = tl_now_ns();
    eventfd_write(canceller->fd, 1);
    return NULL;
}

Test(client_tcp, cancel_is_quick_and_what_was_measured_stays, .timeout = 240)
{
    struct far_end far;
    int64_t quicker_ns = INT64_MAX; /* of the two: a busy machine may hold up the other */
    start_far(&far, NULL);
    for (int i = 0; i < 2; i++) {
        struct canceller canceller = {.fd = eventfd(0, EFD_CLOEXEC)};
        struct tl_client *client = dial(far.port, canceller.fd);
        struct tl_tcp_spec spec = {.direction = i ? TL_WIRE_UPLOAD : TL_WIRE_DOWNLOAD,
                                   .streams = 2,
                                   .duration_ns = 60000 * MS,
                                   .pacing_bps = 200000000};
        struct tl_error error;
        pthread_t thread;
        sem_init(&canceller.measured, 0, 0);
        pthread_create(&thread, NULL, cancel_then, &canceller);
        cr_assert_eq(tl_client_tcp_test(client, &spec, tell_measured, &canceller, &result, &error),
                     TL_CANCELLED);
        int64_t took_ns = tl_now_ns() - canceller.at_ns;
        quicker_ns = took_ns < quicker_ns ? took_ns : quicker_ns;
        cr_assert_lt(took_ns, 20000 * MS, "long before its time");
        cr_assert_eq(result.end, TL_TCP_END_CANCELLED);
        cr_assert_not(result.end_signed);
        cr_assert_gt(result.steady.rate.whole_bps, 0);
        tl_tcp_result_finish(&result);
        pthread_join(thread, NULL);
        /* The client is of use again once cancel is taken back. */
        eventfd_t count;
        cr_assert_eq(eventfd_read(canceller.fd, &count), 0);
        spec.duration_ns = 300 * MS;
        run(client, &spec);
        tl_tcp_result_finish(&result);
        tl_client_close(client);
        close(canceller.fd);
    }
    /* Before any patience with a far end. */
    cr_assert(quicker_ns < 2300 * MS, "%.0f ms", (double)quicker_ns / 1e6);
    stop_far(&far);
}

/* A responder in a process of its own, which can be killed or stopped. */
struct other {
    int port;
    atomic_bool has_its_turn;
    struct tl_tcp_result result;
};

static void note_turn(void *context, const struct tl_tcp_live *live)
{
    struct other *other = context;
    if (!live->queued)
        atomic_store(&other->has_its_turn, true);
}

static void *occupy(void *arg)
{
    struct other *other = arg;
    struct tl_client *client = dial(other->port, -1);
    struct tl_tcp_spec spec = {.streams = 1, .duration_ns = 3000 * MS};
    struct tl_error error;
    cr_assert_eq(tl_client_tcp_test(client, &spec, note_turn, other, &other->result, &error),
                 TL_OK);
    tl_client_close(client);
    return NULL;
}

Test(client_tcp, waits_its_turn_and_says_so, .timeout = 240)
{
    struct far_end far;
    static struct other other;
    struct lives lives = {0};
    struct tl_error error = {0};
    pthread_t thread;
    start_far(&far, NULL);
    other.port = far.port;
    pthread_create(&thread, NULL, occupy, &other);
    while (!atomic_load(&other.has_its_turn))
        usleep(1000);
    struct tl_client *client = dial(far.port, -1);
    struct tl_tcp_spec spec = {.streams = 1, .duration_ns = 300 * MS, .queue_wait_ns = 200 * MS};
    cr_assert_eq(tl_client_tcp_test(client, &spec, note_live, &lives, &result, &error), TL_BUSY,
                 "%s", error.text);
    cr_assert_gt(lives.queued, 0);
    tl_tcp_result_finish(&result);
    spec.queue_wait_ns = 0;
    run(client, &spec);
    cr_assert_gt(result.queued_ns, 100 * MS);
    tl_tcp_result_finish(&result);
    pthread_join(thread, NULL);
    tl_tcp_result_finish(&other.result);
    tl_client_close(client);
    stop_far(&far);
}

Test(client_tcp, an_idle_client_dials_again_by_itself, .timeout = 240)
{
    struct far_end far;
    struct tl_host_settings settings;
    struct tl_error error;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    struct timespec wait = {.tv_sec = 6}; /* the responder ends silent sessions after 5 s */
    nanosleep(&wait, NULL);
    cr_assert_eq(tl_client_host(client, &settings, &error), TL_OK, "%s", error.text);
    tl_client_close(client);
    stop_far(&far);
}

static struct tl_echo_result echo;

Test(client_tcp, echo_measures_round_trips, .timeout = 240)
{
    struct far_end far;
    struct tl_error error = {0};
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    struct tl_echo_spec spec = {.count = 50, .interval_ns = 5 * MS, .bytes = 200, .cancel_fd = -1};
    enum tl_status status = tl_client_echo(client, &spec, &echo, &error);
    cr_assert_eq(status, TL_OK, "%s", error.text);
    cr_assert_eq(echo.sent_count, 50);
    cr_assert_eq(echo.answered_count, 50);
    cr_assert_eq(echo.lost_count + echo.duplicate_count + echo.damaged_count, 0);
    cr_assert(echo.min_rtt_ns > 0 && echo.min_rtt_ns <= echo.median_rtt_ns);
    cr_assert(echo.median_rtt_ns < 200 * MS, "%.1f ms", (double)echo.median_rtt_ns / 1e6);
    cr_assert_geq(echo.probes[49].sent_ns, 245 * MS);
    cr_assert_lt(llabs(echo.probes[10].far_ns - echo.probes[10].near_ns), 100 * MS);
    spec.count = 0;
    cr_assert_eq(tl_client_echo(client, &spec, &echo, &error), TL_RANGE);
    tl_client_close(client);
    stop_far(&far);
}

struct beside {
    struct tl_client *client;
    enum tl_status status;
};

static void *echo_beside(void *arg)
{
    struct beside *beside = arg;
    struct timespec wait = {.tv_nsec = 300 * MS};
    struct tl_echo_spec spec = {
        .count = 40, .interval_ns = 10 * MS, .cancel_fd = -1, .beside_test = true};
    nanosleep(&wait, NULL);
    beside->status = tl_client_echo(beside->client, &spec, &echo, NULL);
    return NULL;
}

Test(client_tcp, echo_runs_beside_a_test, .timeout = 240)
{
    struct far_end far;
    pthread_t thread;
    start_far(&far, NULL);
    struct beside beside = {.client = dial(far.port, -1)};
    pthread_create(&thread, NULL, echo_beside, &beside);
    struct tl_tcp_spec spec = {.streams = 1, .duration_ns = 2000 * MS, .pacing_bps = 100000000};
    run(beside.client, &spec);
    pthread_join(thread, NULL);
    cr_assert_eq(beside.status, TL_OK);
    cr_assert_geq(echo.answered_count, 38);
    tl_tcp_result_finish(&result);
    tl_client_close(beside.client);
    stop_far(&far);
}

Test(client_tcp, a_spec_out_of_limits_is_refused, .timeout = 120)
{
    struct far_end far;
    struct tl_error error;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    static const struct tl_tcp_spec bad[] = {
        {.streams = 0, .duration_ns = 1000 * MS},
        {.streams = 1, .duration_ns = 1000 * MS, .dscp = 64},
        {.streams = 1, .duration_ns = 0},
        {.streams = 1, .duration_ns = 1000 * MS, .rcvbuf_bytes = -1},
        {.streams = 1, .duration_ns = 1000 * MS, .interval_ns = 1},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_assert_eq(tl_client_tcp_test(client, &bad[i], NULL, NULL, &result, &error), TL_RANGE);
        tl_tcp_result_finish(&result);
    }
    tl_client_close(client);
    stop_far(&far);
}
