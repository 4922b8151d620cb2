/* Our half of a TCP test with a stranger: near_half.h. */
#include "near_half.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "far_socket.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/sampler.h"

/* Bytes that may still come once the end was asked for: those of this time, and of two round trips,
 * at more than the mean rate. */
#define AHEAD_NS        (30 * TL_NS_PER_MS)
#define AHEAD_RATIO     1.5
#define CLOSE_NS        (5 * TL_NS_PER_MS)   /* between looks where the bytes may run out */
#define ANALYSIS_NS     (500 * TL_NS_PER_MS) /* between looks whether the rate is known */
#define WINDOW_READINGS 3 /* of a stream, that tell what its receiver offers at most */
/* nuttcp tells four digits of a MiB. */
#define COUNT_ROUNDING_BYTES 128

static void read_before(struct near_half *half)
{
    const struct sockaddr *peer = (const struct sockaddr *)&half->peer->info.peer;
    tl_host_counters_read(&half->counters, "", tl_host_link_index(peer));
    tl_cpu_reading_take(&half->cpu_reader, &half->cpu);
}

static struct near_half *make(const struct far_peer *peer, const struct tl_tcp_spec *spec,
                              struct tl_tcp_result *result, tl_tcp_live_fn *live, void *context)
{
    struct near_half *half = calloc(1, sizeof *half);
    if (!half)
        return NULL;
    half->spec = spec;
    half->peer = peer;
    half->result = result;
    half->live = live;
    half->context = context;
    half->rate.bps = NAN;
    tl_cpu_reader_init(&half->cpu_reader, "");
    result->streams = spec->streams > 0 ? spec->streams : 1;
    result->granted_ns = spec->duration_ns;
    result->granted_bytes = spec->max_bytes;
    return half;
}

enum tl_status near_half_begin(const struct far_peer *peer, const struct tl_tcp_spec *spec,
                               int64_t grace_ns, struct tl_tcp_result *result, tl_tcp_live_fn *live,
                               void *context, struct near_half **ret_half, struct tl_error *reterr)
{
    unsigned streams = spec->streams > 0 ? spec->streams : 1;
    struct tl_streams_spec ours = {
        .send = spec->direction == TL_WIRE_UPLOAD,
        .send_path = spec->send_path,
        .discard = spec->discard,
        .duration_ns = spec->duration_ns + grace_ns,
        .bytes_cap = spec->max_bytes > 0 ? spec->max_bytes / streams + 1 : 0,
        .interval_ns = spec->interval_ns > 0          ? spec->interval_ns
                       : streams > TL_TCP_FEW_STREAMS ? 2 * TL_STREAM_INTERVAL_NS
                                                      : TL_STREAM_INTERVAL_NS,
    };
    struct near_half *half = make(peer, spec, result, live, context);
    if (!half)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a test");
    half->log_max = (size_t)(ours.duration_ns / ours.interval_ns) + 64;
    enum tl_status status = tl_streams_create(&ours, &half->streams, reterr);
    if (status == TL_OK)
        *ret_half = half;
    else
        free(half);
    return status;
}

enum tl_status near_half_begin_by_hand(const struct far_peer *peer, const struct tl_tcp_spec *spec,
                                       struct tl_tcp_result *result, tl_tcp_live_fn *live,
                                       void *context, struct near_half **ret_half,
                                       struct tl_error *reterr)
{
    struct near_half *half = make(peer, spec, result, live, context);
    if (!half)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a test");
    half->log_max = (size_t)(spec->duration_ns / TL_STREAM_INTERVAL_NS) + 64;
    *ret_half = half;
    return TL_OK;
}

void near_half_destroy(struct near_half *half)
{
    if (!half)
        return;
    if (half->streams)
        tl_streams_destroy(half->streams);
    for (unsigned i = 0; i < half->kept_count; i++)
        close(half->kept_fds[i]);
    free(half);
}

enum tl_status near_half_add(struct near_half *half, int fd, struct tl_error *reterr)
{
    int kept_fd = half->result->near_sends ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    enum tl_status status = tl_streams_add(half->streams, fd, reterr);
    if (status != TL_OK)
        close(fd);
    if (kept_fd >= 0)
        half->kept_fds[half->kept_count++] = kept_fd;
    return status;
}

enum tl_status near_half_start(struct near_half *half, struct tl_error *reterr)
{
    read_before(half);
    if (!half->streams)
        tl_cpu_thread_reading_take("", 0, &half->thread_at_start);
    enum tl_status status = half->streams ? tl_streams_start(half->streams, reterr) : TL_OK;
    half->start_ns = half->analysis_ns = tl_now_ns();
    half->live_ns = half->start_ns + TL_CLIENT_LIVE_NS;
    return status;
}

/* --- Running ------------------------------------------------------------------------------- */

static uint64_t own_bytes(const struct near_half *half)
{
    return half->streams ? tl_streams_bytes(half->streams) : near_hands_bytes(half);
}

/* As if every stream had moved what the first of them has: each has its share of the cap. */
static uint64_t foremost_bytes(const struct near_half *half)
{
    return half->streams ? half->result->streams * tl_streams_most_bytes(half->streams)
                         : near_hands_bytes(half);
}

static bool is_done(const struct near_half *half)
{
    return half->streams && tl_streams_done(half->streams);
}

static void drain(struct near_half *half)
{
    if (!half->streams)
        return;
    struct tl_tcp_sample batch[16];
    size_t count;
    while ((count = tl_streams_drain(half->streams, batch, 16)) > 0)
        for (size_t i = 0; i < count; i++)
            near_half_own_sample(half, &batch[i]);
}

static void analyse(struct near_half *half)
{
    struct tl_tcp_result *result = half->result;
    tl_steady_analyse(result->sender.logs, result->receiver.logs, result->streams,
                      result->sender.congestion, half->points, &result->steady);
}

/* What the receiver has, as far as this end knows. */
static uint64_t received_bytes(const struct near_half *half)
{
    const struct tl_tcp_result *result = half->result;
    uint64_t bytes = 0;
    if (!result->near_sends)
        return own_bytes(half);
    for (unsigned i = 0; i < result->streams; i++) {
        const struct tl_sample_log *log = &result->receiver.logs[i];
        bytes += log->count > 0 ? log->samples[log->count - 1].app_bytes : 0;
    }
    return bytes;
}

static void tell_live(struct near_half *half, int64_t now_ns)
{
    const struct tl_tcp_result *result = half->result;
    const struct tl_sample_log *log = &result->sender.logs[0];
    const struct tl_tcp_sample *sender = log->count > 0 ? &log->samples[log->count - 1] : NULL;
    const struct tl_steady_rate *rate = &result->steady.rate;
    uint64_t bytes = received_bytes(half);
    live_rate_update(&half->rate, now_ns - half->start_ns, bytes);
    struct tl_tcp_live live = {
        .elapsed_ns = now_ns - half->start_ns,
        .received_bytes = bytes,
        .rate_bps = half->rate.bps,
        .rtt_ns = sender && tl_sample_has(sender, TL_SF_rtt_ns) ? (double)sender->rtt_ns : NAN,
        .sender = sender,
        .low_bps = rate->valid ? rate->low_bps : NAN,
        .high_bps = rate->valid ? rate->high_bps : NAN};
    tl_ledger_so_far(sender, &live.ledger);
    if (half->live)
        half->live(half->context, &live);
}

void near_half_tick(void *context)
{
    struct near_half *half = context;
    int64_t now_ns = tl_now_ns();
    if (half->start_ns == 0 || now_ns < half->live_ns)
        return;
    half->live_ns = now_ns + TL_CLIENT_LIVE_NS;
    if (!half->stopped)
        drain(half);
    tell_live(half, now_ns);
}

/* Whether the bytes will be there before the far end hears of it. Each stream stops at its share of
 * the cap by itself, but a connection that is cut off is an error to a stranger. */
static bool is_spent(const struct near_half *half, int64_t now_ns)
{
    double bytes = (double)foremost_bytes(half), max = (double)half->spec->max_bytes;
    double ahead_ns = (double)(AHEAD_NS + 2 * half->peer->info.connect_rtt_ns);
    double elapsed_ns = (double)(now_ns - half->start_ns);
    return max > 0 && bytes + AHEAD_RATIO * bytes * ahead_ns / fmax(elapsed_ns, ahead_ns) >= max;
}

bool near_half_step(struct near_half *half)
{
    struct tl_tcp_result *result = half->result;
    int64_t now_ns = tl_now_ns();
    near_hands_sample(half, now_ns);
    if (now_ns >= half->live_ns) {
        half->live_ns = now_ns + TL_CLIENT_LIVE_NS;
        drain(half);
        tell_live(half, now_ns);
    }
    if (now_ns >= half->analysis_ns + ANALYSIS_NS) {
        half->analysis_ns = now_ns;
        analyse(half);
    }
    bool spent = is_spent(half, now_ns);
    bool known = tl_steady_settles(&result->steady, &half->spec->enough, result->streams);
    if (spent)
        result->end = TL_TCP_END_BYTES;
    else if (known)
        result->end = TL_TCP_END_KNOWN;
    else if (now_ns - half->start_ns >= half->spec->duration_ns)
        result->end = TL_TCP_END_DEADLINE;
    return result->end != TL_TCP_END_NOT_RUN || is_done(half);
}

int64_t near_half_due_ns(const struct near_half *half)
{
    int64_t end_ns = half->start_ns + half->spec->duration_ns, now_ns = tl_now_ns();
    int64_t due_ns = half->live_ns < end_ns ? half->live_ns : end_ns;
    if (!half->streams && half->sample_ns < due_ns)
        due_ns = half->sample_ns;
    bool near_cap = 4 * foremost_bytes(half) > half->spec->max_bytes;
    return half->spec->max_bytes > 0 && near_cap && now_ns + CLOSE_NS < due_ns ? now_ns + CLOSE_NS
                                                                               : due_ns;
}

enum tl_status near_half_await(struct near_half *half, struct pollfd *fds, unsigned count,
                               bool more, struct tl_error *reterr)
{
    int64_t until_ns = more ? 0 : near_half_due_ns(half), begun_ns = tl_now_ns();
    enum tl_status status = far_await_any(half->peer, fds, more ? 0 : count, until_ns, NULL);
    if (!more)
        half->waited_ns += tl_now_ns() - begun_ns;
    return status == TL_CANCELLED ? tl_error_set(reterr, TL_CANCELLED, "cancelled") : TL_OK;
}

int near_half_event_fd(const struct near_half *half)
{
    return tl_streams_event_fd(half->streams);
}

/* --- Ending -------------------------------------------------------------------------------- */

void near_half_shut(struct near_half *half)
{
    for (unsigned i = 0; i < half->kept_count; i++)
        (void)shutdown(half->kept_fds[i], SHUT_WR);
}

void near_half_stop(struct near_half *half)
{
    if (half->start_ns == 0 || half->stopped)
        return;
    half->stopped = true;
    half->result->elapsed_ns = tl_now_ns() - half->start_ns;
    near_hands_complete(half);
    if (!half->streams)
        return;
    struct pollfd done = {.fd = tl_streams_event_fd(half->streams), .events = POLLIN};
    tl_streams_stop(half->streams);
    if (!tl_streams_done(half->streams))
        (void)poll(&done, 1, (int)(2 * TL_STREAM_STOP_NS / TL_NS_PER_MS));
    drain(half);
    result_complete_near(half->result, half->streams);
}

static enum tl_tcp_end end_of(const struct near_half *half, enum tl_status status)
{
    const struct tl_tcp_result *result = half->result;
    const struct tl_tcp_side *near = result->near_sends ? &result->sender : &result->receiver;
    bool silent = status == TL_TIMEOUT;
    for (unsigned i = 0; half->stopped && i < result->streams; i++)
        silent = silent || near->streams[i].end == TL_STREAM_END_TIMEOUT;
    if (status == TL_CANCELLED)
        return TL_TCP_END_CANCELLED;
    if (half->start_ns == 0)
        return TL_TCP_END_NOT_RUN;
    if (status == TL_PROTOCOL)
        return TL_TCP_END_UNRULY;
    if (silent)
        return TL_TCP_END_SILENT;
    if (status != TL_OK)
        return TL_TCP_END_LOST;
    return result->end == TL_TCP_END_NOT_RUN ? TL_TCP_END_FAILED : result->end;
}

void near_half_take_total(struct near_half *half, unsigned index, uint64_t bytes)
{
    struct tl_tcp_result *result = half->result;
    struct tl_tcp_side *far = result->near_sends ? &result->receiver : &result->sender;
    if (index < result->streams)
        far->streams[index].bytes = bytes;
}

void near_half_take_acknowledged(struct near_half *half)
{
    const struct tl_tcp_result *result = half->result;
    near_half_stop(half);
    for (unsigned i = 0; result->near_sends && i < result->streams; i++) {
        const struct tl_sample_log *log = &result->receiver.logs[i];
        if (log->count > 0)
            near_half_take_total(half, i, log->samples[log->count - 1].app_bytes);
    }
}

static void read_after(struct near_half *half)
{
    struct tl_tcp_result *result = half->result;
    struct tl_tcp_side *side = result->near_sends ? &result->sender : &result->receiver;
    struct tl_cpu_reading *cpu = malloc(sizeof *cpu);
    struct tl_host_counters *counters = malloc(sizeof *counters);
    if (cpu && counters) {
        tl_cpu_reading_take(&half->cpu_reader, cpu);
        tl_cpu_usage_between(&half->cpu_reader, &half->cpu, cpu, &side->cpu);
        tl_cpu_usage_clock(&half->cpu_reader, &side->cpu);
        tl_host_counters_read(counters, "", half->counters.ifindex);
        tl_host_counters_between(&half->counters, counters, &side->counters);
    }
    free(cpu);
    free(counters);
}

/* What the far end offered to take: the largest windows, and whether all stood open at last. */
struct offered {
    double bytes; /* NAN: a stream has too few readings to have seen its largest one */
    bool open;    /* else somebody is late with reading, by nobody knows how much */
};

static void add_offered(const struct tl_sample_log *log, struct offered *offered)
{
    double largest_bytes = NAN, last_bytes = NAN, mss_bytes = NAN;
    for (size_t k = 0; k < log->count; k++) {
        const struct tl_tcp_sample *sample = &log->samples[k];
        if (!tl_sample_has(sample, TL_SF_snd_wnd_bytes))
            continue;
        last_bytes = (double)sample->snd_wnd_bytes;
        largest_bytes = fmax(largest_bytes, last_bytes);
        mss_bytes = (double)sample->snd_mss_bytes;
    }
    offered->bytes += log->count >= WINDOW_READINGS ? largest_bytes : NAN;
    offered->open = offered->open && last_bytes >= fmax(largest_bytes / 2, mss_bytes);
}

/* How far the far end's count lies outside of what this end knows. A receiver that closes leaves
 * unread what its kernel had taken already: one that lags has offered what its queue left free, and
 * of a buffer that is half full the window is the other half. One that reads to the end counts
 * what stood in this end's send buffer, too: up to what was written. A sender's word about itself
 * decides nothing: this end counted what came. */
static double ends_agree(const struct near_half *half)
{
    const struct tl_tcp_result *result = half->result;
    if (!result->near_sends)
        return NAN;
    struct offered offered = {.open = true};
    for (unsigned i = 0; i < result->streams; i++)
        add_offered(&result->sender.logs[i], &offered);
    double acked = (double)received_bytes(half), received = (double)result->receiver.bytes;
    if (received >= acked)
        return received <= (double)result->sender.bytes + COUNT_ROUNDING_BYTES
                   ? 0
                   : result->ends_agree_ratio;
    if (acked - received <= 2 * offered.bytes)
        return 0;
    return offered.open && !isnan(offered.bytes) ? result->ends_agree_ratio : NAN;
}

static void analyse_whole(struct near_half *half)
{
    if (half->start_ns == 0)
        return;
    read_after(half);
    analyse(half);
    result_sum(half->result);
    half->result->ends_agree_ratio = ends_agree(half);
}

enum tl_status near_half_finish(struct near_half *half, int64_t asked_ns, enum tl_status status,
                                struct tl_error *reterr)
{
    struct tl_tcp_result *result = half->result;
    near_half_stop(half);
    result->exchange_ns = tl_now_ns() - asked_ns - result->elapsed_ns - result->queued_ns;
    if (status == TL_CLOSED && !result->near_sends && result->end == TL_TCP_END_BYTES) {
        status = TL_OK; /* our streams stopped at the cap before the far end heard of it: an error
                         * to it, and no loss to us, who counted */
        result->end_signed = true;
    }
    analyse_whole(half);
    result->end = end_of(half, status);
    if (status == TL_OK && result->end == TL_TCP_END_FAILED)
        return tl_error_set(reterr, TL_CLOSED, "%s ended the test early: a data connection broke",
                            half->peer->host);
    return status;
}

enum tl_status near_half_wait_turn(struct near_half *half, int64_t wait_ns, struct tl_error *reterr)
{
    struct tl_tcp_live live = {.queued = true, .place = 1, .wait_ns = wait_ns};
    struct pollfd cancel = {.fd = half->peer->cancel_fd, .events = POLLIN};
    if (half->live)
        half->live(half->context, &live);
    if (poll(&cancel, 1, (int)(wait_ns / TL_NS_PER_MS)) > 0)
        return tl_error_set(reterr, TL_CANCELLED, "cancelled");
    return TL_OK;
}
