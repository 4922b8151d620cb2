/* The choice among ways of sending, and each way over loopback. */
#include <math.h>
#include <poll.h>
#include <string.h>

#include "loopback.h"
#include "stream_path.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/stream.h"

#define MS INT64_C(1000000)

/* --- The choice, without sockets ------------------------------------------------------ */

/* A stream of which each way carries so many bytes a ns, for so many ns of CPU a byte. A sender's
 * ways: send() of 256 KiB and of 1 MiB, splice() likewise, MSG_ZEROCOPY. */
struct model {
    double bytes_per_ns[PATH_WAYS_MAX], cpu_per_byte[PATH_WAYS_MAX];
};

static void play(struct path_trial *trial, const struct model *model, int64_t until_ns,
                 int64_t *ret_decided_ns)
{
    double bytes = 0, cpu_ns = 0;
    int64_t step_ns = MS / 10;
    *ret_decided_ns = -1;
    for (int64_t now_ns = 0; now_ns < until_ns; now_ns += step_ns) {
        if (trial->state == PATH_DECIDED && *ret_decided_ns < 0)
            *ret_decided_ns = now_ns;
        double moved = model->bytes_per_ns[trial->way] * (double)step_ns;
        bytes += moved;
        cpu_ns += moved * model->cpu_per_byte[trial->way];
        if (trial->state != PATH_DECIDED)
            tl_path_trial_step(trial, now_ns, (uint64_t)bytes, (uint64_t)cpu_ns);
    }
}

static enum tl_send_path path_of(const struct path_trial *trial)
{
    return trial->ways[trial->way].path;
}

static struct path_way choice(const struct model *model, int64_t *ret_decided_ns)
{
    struct path_trial trial;
    tl_path_trial_init(&trial, TL_SEND_AUTO, true, true, 10000 * MS);
    cr_assert(path_of(&trial) == TL_SEND_COPY &&
                  trial.ways[trial.way].bytes == TL_STREAM_SEND_BYTES,
              "every stream begins as applications send");
    play(&trial, model, 2000 * MS, ret_decided_ns);
    cr_assert_eq(trial.state, PATH_DECIDED);
    return trial.ways[trial.way];
}

Test(stream_path, a_fast_sender_keeps_the_cheapest_way_and_size)
{
    static const struct {
        struct model model;
        struct path_way best;
    } cases[] = {
        {{{8, 8, 12, 12, 7}, {0.12, 0.12, 0.056, 0.058, 0.14}}, {TL_SEND_SPLICE, 256 << 10}},
        {{{8, 8, 12, 12, 7}, {0.12, 0.12, 0.056, 0.045, 0.14}}, {TL_SEND_SPLICE, 1 << 20}},
        {{{17, 17, 15, 15, 6}, {0.056, 0.06, 0.063, 0.063, 0.14}}, {TL_SEND_COPY, 256 << 10}},
        {{{6, 7, 6, 6, 6}, {0.081, 0.067, 0.09, 0.09, 0.14}}, {TL_SEND_COPY, 1 << 20}},
        {{{3, 3, 3, 3, 3}, {0.12, 0.11, 0.1, 0.1, 0.02}}, {TL_SEND_ZEROCOPY, 256 << 10}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t decided_ns;
        struct path_way way = choice(&cases[i].model, &decided_ns);
        cr_expect(way.path == cases[i].best.path && way.bytes == cases[i].best.bytes,
                  "%zu: %d of %u bytes", i, (int)way.path, way.bytes);
        cr_expect(decided_ns > PATH_TRIAL_FROM_NS && decided_ns < PATH_RECV_FROM_NS, "%zu: %lld ms",
                  i, (long long)(decided_ns / MS));
    }
}

Test(stream_path, a_cheaper_way_that_is_slower_is_left)
{
    int64_t decided_ns;
    struct model model = {{10, 5, 5, 5, 5}, {0.1, 0.05, 0.05, 0.05, 0.05}};
    struct path_way way = choice(&model, &decided_ns);
    cr_expect(way.path == TL_SEND_COPY && way.bytes == TL_STREAM_SEND_BYTES);
}

Test(stream_path, a_gain_that_may_be_noise_changes_nothing)
{
    int64_t decided_ns;
    struct model model = {{10, 10, 10, 10, 10}, {0.1, 0.098, 0.098, 0.097, 0.097}};
    struct path_way way = choice(&model, &decided_ns);
    cr_expect(way.path == TL_SEND_COPY && way.bytes == TL_STREAM_SEND_BYTES);
}

Test(stream_path, a_slow_sender_is_left_alone)
{
    struct path_trial trial;
    int64_t decided_ns;
    /* 800 Mb/s, 2 % of a core. */
    struct model model = {{0.1, 0.1, 0.1, 0.1, 0.1}, {0.2, 0.01, 0.01, 0.01, 0.01}};
    tl_path_trial_init(&trial, TL_SEND_AUTO, true, true, 10000 * MS);
    play(&trial, &model, 2000 * MS, &decided_ns);
    cr_expect_eq(trial.way, 0);
    for (unsigned way = 0; way < trial.count; way++)
        cr_expect_eq(trial.scores[way].bytes, 0, "way %u was tried", way);
    /* The same rate on a processor that is busy with it. */
    struct model slow_core = {{0.1, 0.1, 0.1, 0.1, 0.1}, {5, 5, 2, 2, 5}};
    tl_path_trial_init(&trial, TL_SEND_AUTO, true, true, 10000 * MS);
    play(&trial, &slow_core, 2000 * MS, &decided_ns);
    cr_expect_eq(path_of(&trial), TL_SEND_SPLICE);
}

Test(stream_path, what_does_not_work_is_not_chosen)
{
    struct path_trial trial;
    tl_path_trial_init(&trial, TL_SEND_SPLICE, false, true, 10000 * MS);
    cr_expect_eq(path_of(&trial), TL_SEND_COPY);
    tl_path_trial_init(&trial, TL_SEND_ZEROCOPY, true, true, 10000 * MS);
    cr_expect_eq(path_of(&trial), TL_SEND_ZEROCOPY);
    tl_path_trial_strike(&trial, TL_SEND_ZEROCOPY);
    cr_expect_eq(path_of(&trial), TL_SEND_COPY);
    tl_path_trial_strike(&trial, TL_SEND_COPY);
    cr_expect(trial.usable[0], "the last way cannot be struck");
    /* A test that is all warm-up is not used for trials. */
    tl_path_trial_init(&trial, TL_SEND_AUTO, true, true, 500 * MS);
    cr_expect(trial.state == PATH_DECIDED && path_of(&trial) == TL_SEND_COPY);
    /* Struck in the middle of a trial. */
    struct model model = {{8, 8, 12, 12, 20}, {0.12, 0.12, 0.11, 0.11, 0.01}};
    int64_t decided_ns;
    tl_path_trial_init(&trial, TL_SEND_AUTO, true, true, 10000 * MS);
    play(&trial, &model, 60 * MS, &decided_ns);
    tl_path_trial_strike(&trial, TL_SEND_ZEROCOPY);
    play(&trial, &model, 2000 * MS, &decided_ns);
    cr_expect_neq(path_of(&trial), TL_SEND_ZEROCOPY);
}

static uint32_t read_size(uint32_t most_bytes, double first, double smaller, double larger)
{
    struct path_trial trial;
    struct model model = {{6, 6, 6}, {first, smaller, larger}};
    int64_t decided_ns;
    tl_path_trial_init_recv(&trial, 256 << 10, most_bytes, 10000 * MS);
    play(&trial, &model, 2000 * MS, &decided_ns);
    cr_expect(decided_ns > PATH_RECV_FROM_NS, "%lld ms: its sender tries first",
              (long long)(decided_ns / MS));
    return trial.ways[trial.way].bytes;
}

Test(stream_path, a_fast_receiver_keeps_the_cheapest_size)
{
    cr_expect_eq(read_size(1 << 20, 0.06, 0.08, 0.059), 256 << 10);
    cr_expect_eq(read_size(1 << 20, 0.06, 0.05, 0.059), 64 << 10);
    cr_expect_eq(read_size(1 << 20, 0.06, 0.08, 0.05), 1 << 20);
    cr_expect_eq(read_size(256 << 10, 0.06, 0.08, 0.05), 256 << 10, "no room for more");
}

Test(stream_path, receive_buffers_fit_the_cache_and_the_promise_of_memory)
{
    cr_expect_eq(tl_stream_recv_bytes(2 << 20, 1), 256 * 1024);
    cr_expect_eq(tl_stream_recv_bytes(512 << 10, 1), 256 * 1024);
    cr_expect_eq(tl_stream_recv_bytes(256 << 10, 1), 128 * 1024);
    cr_expect_eq(tl_stream_recv_bytes(16 << 10, 1), 32 * 1024);
    cr_expect_eq(tl_stream_recv_bytes(0, 1), 256 * 1024);
    cr_expect_eq(tl_stream_recv_bytes(-1, 1), 256 * 1024);
    cr_expect_eq(tl_stream_recv_bytes(1L << 40, 1), TL_STREAM_RECV_BYTES);
    for (uint32_t streams = 1; streams <= TL_STREAMS_MAX; streams++)
        cr_expect_leq(
            (uint64_t)tl_stream_recv_most_bytes(tl_stream_recv_bytes(1L << 30, streams), streams) *
                streams,
            8 << 20);
    cr_expect_eq(tl_stream_recv_most_bytes(256 << 10, 8), 1 << 20);
    cr_expect_eq(tl_stream_recv_most_bytes(256 << 10, 9), 256 << 10);
}

Test(stream_path, a_receiver_is_woken_by_each_byte_unless_it_is_fast_and_has_room)
{
    cr_expect_eq(tl_stream_wake_bytes(40e9, 6 << 20), WAKE_BYTES);
    cr_expect_eq(tl_stream_wake_bytes(2.2e9, 6 << 20), WAKE_BYTES);
    cr_expect_eq(tl_stream_wake_bytes(1e9, 6 << 20), 62500, "what comes in half a millisecond");
    cr_expect_eq(tl_stream_wake_bytes(500e6, 6 << 20), 1);
    cr_expect_eq(tl_stream_wake_bytes(0, 6 << 20), 1);
    cr_expect_eq(tl_stream_wake_bytes((double)NAN, 6 << 20), 1);
    cr_expect_eq(tl_stream_wake_bytes(40e9, 512 << 10), 64 << 10, "an eighth of the buffer");
    cr_expect_eq(tl_stream_wake_bytes(40e9, 128 << 10), 1);
    cr_expect_eq(tl_stream_wake_bytes(40e9, 0), 1);
}

/* --- Over loopback ------------------------------------------------------------------------ */

struct ends {
    struct tl_streams *sender, *receiver;
};

static void run(const struct tl_streams_spec *send_spec, uint32_t count, struct ends *ret_ends)
{
    struct tl_streams_spec recv_spec = {.duration_ns = 5000 * MS};
    struct tl_stream_options options = {.congestion = "reno"};
    struct tl_error error;
    cr_assert_eq(tl_streams_create(send_spec, &ret_ends->sender, &error), TL_OK);
    cr_assert_eq(tl_streams_create(&recv_spec, &ret_ends->receiver, &error), TL_OK);
    for (uint32_t i = 0; i < count; i++) {
        int fds[2];
        loopback_pair(&options, &options, fds);
        cr_assert_eq(tl_streams_add(ret_ends->sender, fds[0], &error), TL_OK);
        cr_assert_eq(tl_streams_add(ret_ends->receiver, fds[1], &error), TL_OK);
    }
    cr_assert_eq(tl_streams_start(ret_ends->receiver, &error), TL_OK);
    cr_assert_eq(tl_streams_start(ret_ends->sender, &error), TL_OK);
    struct tl_streams *both[2] = {ret_ends->sender, ret_ends->receiver};
    for (int i = 0; i < 2; i++) {
        struct pollfd done = {.fd = tl_streams_event_fd(both[i]), .events = POLLIN};
        cr_assert_eq(poll(&done, 1, 60000), 1);
    }
}

static void finish(struct ends *ends)
{
    tl_streams_destroy(ends->sender);
    tl_streams_destroy(ends->receiver);
}

/* Every byte counted at one end arrives at the other. */
Test(stream_path, each_way_moves_exactly_its_bytes, .timeout = 120)
{
    static const enum tl_send_path paths[] = {TL_SEND_COPY, TL_SEND_SPLICE, TL_SEND_ZEROCOPY};
    for (size_t i = 0; i < 3; i++) {
        struct ends ends;
        struct tl_streams_spec spec = {
            .send = true, .send_path = paths[i], .duration_ns = 50000 * MS, .bytes_cap = 30000001};
        run(&spec, 2, &ends);
        for (uint32_t j = 0; j < 2; j++) {
            struct tl_stream_result sent, got;
            tl_streams_result(ends.sender, j, &sent);
            tl_streams_result(ends.receiver, j, &got);
            cr_expect_eq(sent.end, TL_STREAM_END_CAP, "%d: %d", (int)paths[i], (int)sent.end);
            cr_expect_eq(sent.bytes, 30000001);
            cr_expect_eq(got.bytes, 30000001);
        }
        finish(&ends);
    }
}

Test(stream_path, loopback_copies_what_zerocopy_sends_and_the_sender_falls_back, .timeout = 120)
{
    struct ends ends;
    bool copied = false;
    struct tl_streams_spec spec = {.send = true,
                                   .send_path = TL_SEND_ZEROCOPY,
                                   .duration_ns = 50000 * MS,
                                   .bytes_cap = 30000001};
    run(&spec, 2, &ends);
    cr_expect_eq(tl_streams_send_path(ends.sender, &copied), TL_SEND_COPY);
    cr_expect(copied);
    struct tl_stream_result sent;
    tl_streams_result(ends.sender, 1, &sent);
    cr_expect_eq(sent.bytes, 30000001);
    finish(&ends);
}

Test(stream_path, a_fast_stream_ends_its_trial_on_loopback, .timeout = 120)
{
    struct ends ends;
    bool copied = false;
    struct tl_streams_spec spec = {.send = true, .duration_ns = 1200 * MS};
    run(&spec, 1, &ends);
    enum tl_send_path path = tl_streams_send_path(ends.sender, &copied);
    cr_expect(path == TL_SEND_COPY || path == TL_SEND_SPLICE, "%d", (int)path);
    cr_expect(tl_streams_call_bytes(ends.sender) == TL_STREAM_SEND_BYTES ||
              tl_streams_call_bytes(ends.sender) == TL_STREAM_LARGE_BYTES);
    cr_expect_geq(tl_streams_call_bytes(ends.receiver), 32 << 10);
    cr_expect_leq(tl_streams_call_bytes(ends.receiver), 4 * TL_STREAM_RECV_BYTES);
    cr_expect_eq(tl_streams_send_path(ends.receiver, &copied), TL_SEND_AUTO, "nothing was sent");
    finish(&ends);
}

/* Payload that a middlebox could compress would flatter the path, whatever the way. */
Test(stream_path, what_arrives_is_noise, .timeout = 120)
{
    static unsigned char bytes[1 << 20];
    static const enum tl_send_path paths[] = {TL_SEND_COPY, TL_SEND_SPLICE};
    for (size_t i = 0; i < 2; i++) {
        int fds[2];
        struct tl_streams *sender;
        struct tl_error error;
        struct tl_streams_spec spec = {.send = true,
                                       .send_path = paths[i],
                                       .duration_ns = 50000 * MS,
                                       .bytes_cap = sizeof bytes};
        cr_assert_eq(tl_streams_create(&spec, &sender, &error), TL_OK);
        loopback_pair(NULL, NULL, fds);
        cr_assert_eq(tl_streams_add(sender, fds[0], &error), TL_OK);
        cr_assert_eq(tl_streams_start(sender, &error), TL_OK);
        cr_assert_eq(recv(fds[1], bytes, sizeof bytes, MSG_WAITALL), (ssize_t)sizeof bytes);
        unsigned counts[256] = {0};
        for (size_t j = 0; j < sizeof bytes; j++)
            counts[bytes[j]]++;
        /* Four sends may draw one place: then a byte's count has a standard deviation of 128. */
        for (unsigned j = 0; j < 256; j++)
            cr_expect(counts[j] > 3200 && counts[j] < 5000, "byte %u: %u times", j, counts[j]);
        /* Places are drawn: that three sends draw the one of the first is no accident. */
        int same = 0;
        for (size_t j = 1; j < 4; j++)
            same += memcmp(bytes, bytes + j * TL_STREAM_SPLICE_BYTES, TL_STREAM_SEND_BYTES) == 0;
        cr_expect_lt(same, 3, "%d: sends in a row carry the same", (int)paths[i]);
        close(fds[1]);
        tl_streams_destroy(sender);
    }
}
