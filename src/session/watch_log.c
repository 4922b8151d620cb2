/* Bounded memory of a long watch. */
#include "watch_log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/base/time.h"

#define STEP_NS    TL_NS_PER_S
#define BIN_LEAST  1e3
#define BIN_FACTOR 1.04

_Static_assert(sizeof(struct tl_watch_header) == 64, "the header is 64 bytes");
_Static_assert(sizeof(struct tl_watch_sample) == 32, "a record is 32 bytes");

enum tl_status tl_watch_log_init(struct tl_watch_log *log, const char *path, int64_t start_ns,
                                 int64_t now_ns, int64_t patience_ns,
                                 struct tl_watch_record *record, struct tl_error *reterr)
{
    double nan = (double)NAN;
    *log = (struct tl_watch_log){.fd = -1,
                                 .records_max = TL_WATCH_RECORDS_MAX,
                                 .per_record = 1,
                                 .graph_per = 1,
                                 .record = record,
                                 .progress_ns = now_ns,
                                 .patience_ns = patience_ns};
    log->header = (struct tl_watch_header){.magic = {'T', 'L', 'W', 'A', 'T', 'C', 'H', '1'},
                                           .record_bytes = sizeof(struct tl_watch_sample),
                                           .records_max = TL_WATCH_RECORDS_MAX,
                                           .start_ns = start_ns,
                                           .step_ns = STEP_NS};
    *record = (struct tl_watch_record){.ran = true,
                                       .p5_bps = nan,
                                       .p50_bps = nan,
                                       .p95_bps = nan,
                                       .least_bps = nan,
                                       .most_bps = nan,
                                       .graph_step_ns = (double)STEP_NS};
    if (!path)
        return TL_OK;
    log->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log->fd < 0)
        return tl_error_set(reterr, TL_IO, "%.200s cannot be made for the samples: %s", path,
                            strerror(errno));
    snprintf(record->path, sizeof record->path, "%.255s", path);
    return TL_OK;
}

/* --- the file --- */

static off_t place(uint64_t index)
{
    return (off_t)(sizeof(struct tl_watch_header) + index * sizeof(struct tl_watch_sample));
}

static void put(struct tl_watch_log *log, const void *data, size_t len, off_t at)
{
    if (log->fd >= 0 && pwrite(log->fd, data, len, at) != (ssize_t)len)
        log->write_failed = true;
}

static void put_header(struct tl_watch_log *log)
{
    put(log, &log->header, sizeof log->header, 0);
}

static double mean(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : (a + b) / 2;
}

static struct tl_watch_sample merge(const struct tl_watch_sample *a,
                                    const struct tl_watch_sample *b)
{
    return (struct tl_watch_sample){.offset_ns = a->offset_ns,
                                    .rate_bps = (a->rate_bps + b->rate_bps) / 2,
                                    .rtt_ns = mean(a->rtt_ns, b->rtt_ns),
                                    .flags = a->flags | b->flags,
                                    .retrans_count = a->retrans_count + b->retrans_count};
}

/* Half as many records, each of twice the time. A crash in the middle leaves a file whose header
 * still tells the old step. */
static void thin(struct tl_watch_log *log)
{
    struct tl_watch_sample two[2];
    uint64_t half = log->header.records / 2;
    for (uint64_t i = 0; log->fd >= 0 && i < half; i++) {
        if (pread(log->fd, two, sizeof two, place(2 * i)) != (ssize_t)sizeof two) {
            log->write_failed = true;
            return;
        }
        struct tl_watch_sample one = merge(&two[0], &two[1]);
        put(log, &one, sizeof one, place(i));
    }
    log->header.records = half;
    log->header.step_ns *= 2;
    log->per_record *= 2;
    put_header(log);
    if (log->fd >= 0 && ftruncate(log->fd, place(half)) < 0)
        log->write_failed = true;
}

static void add_to_file(struct tl_watch_log *log, const struct tl_watch_sample *sample)
{
    struct tl_watch_sample *half = &log->half;
    if (log->half_count == 0) {
        *half = *sample;
    } else {
        double share = 1.0 / (log->half_count + 1);
        half->rate_bps += share * (sample->rate_bps - half->rate_bps);
        if (!isnan(sample->rtt_ns))
            half->rtt_ns = mean(half->rtt_ns, sample->rtt_ns);
        half->flags |= sample->flags;
        half->retrans_count += sample->retrans_count;
    }
    if (++log->half_count < log->per_record)
        return;
    log->half_count = 0;
    put(log, half, sizeof *half, place(log->header.records++));
    put_header(log);
    if (log->header.records == log->records_max)
        thin(log);
}

/* --- distribution and graph --- */

static void add_to_bins(struct tl_watch_log *log, double rate_bps)
{
    struct tl_watch_record *record = log->record;
    double bin = rate_bps > BIN_LEAST ? log10(rate_bps / BIN_LEAST) / log10(BIN_FACTOR) : 0;
    size_t index = bin < TL_WATCH_BINS - 1 ? (size_t)bin : TL_WATCH_BINS - 1;
    log->bins[index]++;
    record->seconds_count++;
    record->least_bps = fmin(record->least_bps, rate_bps);
    record->most_bps = fmax(record->most_bps, rate_bps);
}

static double percentile(const struct tl_watch_log *log, double share)
{
    const struct tl_watch_record *record = log->record;
    double wanted = share * (double)record->seconds_count, seen = 0;
    if (!record->seconds_count)
        return (double)NAN;
    for (int i = 0; i < TL_WATCH_BINS; i++) {
        seen += (double)log->bins[i];
        if (seen >= wanted && seen > 0) {
            if (i == 0) /* nothing, or next to it */
                return record->least_bps;
            double middle = BIN_LEAST * pow(BIN_FACTOR, i + 0.5);
            return fmin(fmax(middle, record->least_bps), record->most_bps);
        }
    }
    return record->most_bps;
}

static void add_to_graph(struct tl_watch_log *log, double rate_bps)
{
    struct tl_watch_record *record = log->record;
    log->graph_sum += rate_bps;
    if (++log->graph_half < log->graph_per)
        return;
    if (record->graph_count == TL_WATCH_GRAPH_MAX) {
        for (int i = 0; i < TL_WATCH_GRAPH_MAX / 2; i++)
            record->graph_bps[i] = (record->graph_bps[2 * i] + record->graph_bps[2 * i + 1]) / 2;
        record->graph_count = TL_WATCH_GRAPH_MAX / 2;
        record->graph_step_ns *= 2;
        log->graph_per *= 2;
        return; /* the point that was full is half of the next one */
    }
    record->graph_bps[record->graph_count++] = log->graph_sum / log->graph_half;
    log->graph_sum = 0;
    log->graph_half = 0;
}

void tl_watch_log_add(struct tl_watch_log *log, const struct tl_watch_sample *sample)
{
    add_to_file(log, sample);
    add_to_graph(log, sample->rate_bps);
    if (!(sample->flags & TL_WATCH_BEGINNING))
        add_to_bins(log, sample->rate_bps);
}

/* --- outages --- */

static void begin_outage(struct tl_watch_log *log, int64_t now_ns)
{
    struct tl_watch_record *record = log->record;
    log->out = true;
    log->out_ns = log->progress_ns;
    if (record->outage_count < TL_WATCH_OUTAGES_MAX)
        tl_time_format_utc(tl_realtime_ns() - (now_ns - log->out_ns),
                           record->outages[record->outage_count].start);
    record->outage_count++;
}

static void end_outage(struct tl_watch_log *log, int64_t now_ns, bool open)
{
    struct tl_watch_record *record = log->record;
    long long index = record->outage_count - 1;
    log->out = false;
    record->outage_ns += now_ns - log->out_ns;
    if (index < TL_WATCH_OUTAGES_MAX) {
        record->outages[index].length_ns = now_ns - log->out_ns;
        record->outages[index].open = open;
    }
}

bool tl_watch_log_progress(struct tl_watch_log *log, int64_t now_ns, bool came)
{
    bool was_out = log->out;
    if (!came && !log->out && now_ns - log->progress_ns >= log->patience_ns)
        begin_outage(log, now_ns);
    if (came && log->out)
        end_outage(log, now_ns, false);
    if (came)
        log->progress_ns = now_ns;
    return was_out != log->out;
}

void tl_watch_log_finish(struct tl_watch_log *log, int64_t now_ns)
{
    struct tl_watch_record *record = log->record;
    if (log->out)
        end_outage(log, now_ns, true);
    record->p5_bps = percentile(log, 0.05);
    record->p50_bps = percentile(log, 0.5);
    record->p95_bps = percentile(log, 0.95);
    if (log->fd < 0)
        return;
    put_header(log);
    if (log->write_failed || fsync(log->fd) < 0)
        snprintf(record->ended + strlen(record->ended),
                 sizeof record->ended - strlen(record->ended),
                 "; the file of samples is not complete");
    close(log->fd);
    log->fd = -1;
}
