/* A row for each connection that moved lately; the one that is held up most first. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live_private.h"
#include "overheard.h"
#include "tightlink/base/units.h"
#include "tightlink/base/utf8.h"
#include "tightlink/probes/live_flow.h"

/* As the kernel's socket has it, IPv4 inside IPv6. */
static void format_end(const unsigned char address[16], uint16_t port, char *ret_text, size_t size)
{
    struct tl_flow_address end;

    memcpy(end.bytes, address, sizeof end.bytes);
    overheard_format_end(&end, port, ret_text, size);
}

static double rate_bps(const struct tl_live_interval *interval, enum tl_direction direction)
{
    return tl_bps_from_bytes_ns(
        (double)(direction == TL_UPLOAD ? interval->sent_bytes : interval->received_bytes),
        (double)interval->span_ns);
}

static void fill_program(const struct tl_flow_watch_program *program, struct tl_app_live_row *row)
{
    char name[80];

    row->cpu_ratio = row->thread_ratio = row->file_bps = NAN;
    row->disk_read_bps = row->disk_write_bps = NAN;
    if (!program || !program->process.known)
        return;
    tl_utf8_clean(program->process.name, strlen(program->process.name), name, sizeof name);
    snprintf(row->program, sizeof row->program, "%s (%d)", name, (int)program->process.pid);
    tl_utf8_clean(program->process.group, strlen(program->process.group), row->group,
                  sizeof row->group);
    tl_utf8_clean(program->file, strlen(program->file), row->file, sizeof row->file);
    row->file_written = program->file_written;
    row->cpu_ratio = program->cpu_ratio;
    row->thread_ratio = program->busiest_thread_ratio;
    row->file_bps = program->file_bps;
    row->disk_read_bps = program->disk_read_bps;
    row->disk_write_bps = program->disk_write_bps;
}

static void fill_numbers(const struct tl_live_flow *flow, const struct tl_live_interval *joined,
                         struct tl_app_live_row *row)
{
    bool sends = row->direction == TL_UPLOAD;

    row->now_bps = rate_bps(tl_live_interval_at(flow, 0), row->direction);
    row->mean_bps = rate_bps(joined, row->direction);
    row->app_ratio = sends ? joined->parts_ratio[TL_LIVE_APP] : NAN;
    row->sndbuf_ratio = sends ? joined->parts_ratio[TL_LIVE_SNDBUF] : NAN;
    row->rwnd_ratio = sends ? joined->parts_ratio[TL_LIVE_RWND] : NAN;
    row->network_ratio = sends ? joined->parts_ratio[TL_LIVE_NETWORK] : NAN;
    row->queue_ratio = sends ? NAN : joined->read_queue_ratio;
    row->rtt_ns = sends ? joined->rtt_mean_ns : joined->rcv_rtt_ns;
    row->retrans_ratio = sends && joined->segments_count
                             ? (double)joined->retrans_count / joined->segments_count
                             : NAN;
    row->held_ratio = tl_live_held_ratio(joined);
    row->stands = tl_live_stood(tl_live_interval_at(flow, 0));
}

static void fill_opinion(struct tl_app_live *live, struct tl_app_live_row *row)
{
    row->state = TL_INCONCLUSIVE;
    for (size_t i = 0; i < live->opinion_count; i++) {
        struct live_opinion *opinion = &live->opinions[i];
        if (opinion->cookie != row->cookie)
            continue;
        row->state = opinion->state;
        row->confidence = opinion->confidence;
        row->moved = opinion->moved; /* said once */
        opinion->moved = false;
        memcpy(row->was, opinion->was, sizeof row->was);
        memcpy(row->cause, opinion->cause, sizeof row->cause);
        memcpy(row->says, opinion->says, sizeof row->says);
        if (row->program[0])
            memcpy(opinion->program, row->program, sizeof row->program);
        else if (row->ended) /* who held it is known no more, but was */
            memcpy(row->program, opinion->program, sizeof row->program);
    }
}

/* False for one that moved nothing lately and had nothing to move. */
static bool fill_row(struct tl_app_live *live, const struct tl_live_flow *flow,
                     struct tl_app_live_row *row)
{
    struct tl_live_interval joined;

    tl_live_join(flow, LIVE_JUDGED_INTERVALS, &joined);
    if (joined.span_ns == 0 || !tl_live_is_active(&joined))
        return false;
    *row = (struct tl_app_live_row){
        .cookie = flow->socket.cookie,
        .direction = tl_live_flow_direction(flow, &joined),
        .ended = flow->ended,
    };
    format_end(flow->socket.local, flow->socket.local_port, row->local, sizeof row->local);
    format_end(flow->socket.remote, flow->socket.remote_port, row->peer, sizeof row->peer);
    fill_numbers(flow, &joined, row);
    fill_program(tl_flow_watch_program(live->watch, flow), row);
    fill_opinion(live, row);
    return true;
}

int live_by_loss(const void *a, const void *b)
{
    const struct tl_app_live_row *left = a, *right = b;
    if (left->ended != right->ended)
        return left->ended - right->ended;
    if (left->stands != right->stands)
        return right->stands - left->stands;
    double difference = right->held_ratio * right->mean_bps - left->held_ratio * left->mean_bps;
    return (difference > 0) - (difference < 0);
}

enum tl_status live_make_rows(struct tl_app_live *live)
{
    const struct tl_live *flows = tl_flow_watch_live(live->watch);
    size_t count = tl_live_count(flows);

    if (count > live->row_cap) {
        struct tl_app_live_row *grown = realloc(live->rows, 2 * count * sizeof *grown);
        if (!grown)
            return TL_NOMEM;
        live->rows = grown;
        live->row_cap = 2 * count;
    }
    live->row_count = 0;
    for (size_t i = 0; i < count; i++)
        live->row_count += fill_row(live, tl_live_at(flows, i), &live->rows[live->row_count]);
    if (live->row_count)
        qsort(live->rows, live->row_count, sizeof *live->rows, live_by_loss);
    return TL_OK;
}
