/* How watched transfers are printed: one line each, what it waits for as a bar of letters. */
#include "live_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/base/cause_name.h"
#include "tightlink/base/json_write.h"
#include "tightlink/base/units.h"

#define BAR 10

/* Ten letters for what a sender waited for: p program, b send buffer, w the receiver's window,
 * n network. A receiver knows one thing of that: u, unread data in its own buffer. */
static void make_bar(const struct tl_app_live_row *row, char ret_bar[BAR + 1])
{
    const struct {
        double share;
        char letter;
    } parts[] = {{row->rwnd_ratio, 'w'},
                 {row->sndbuf_ratio, 'b'},
                 {row->network_ratio, 'n'},
                 {row->app_ratio, 'p'},
                 {row->queue_ratio, 'u'}};
    double sum = 0;
    int filled = 0;

    memset(ret_bar, '.', BAR);
    ret_bar[BAR] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (isnan(parts[i].share))
            continue;
        sum += parts[i].share;
        while (filled < BAR && filled < (int)lround(sum * BAR))
            ret_bar[filled++] = parts[i].letter;
    }
}

static const char *likely(const struct tl_app_live_row *row, char *text, size_t size)
{
    if (row->state == TL_LIMITED)
        snprintf(text, size, "%s%s", row->moved ? "! " : "", tl_cause_name(row->cause));
    else
        snprintf(text, size, "%s", row->ended ? "ended" : "cannot tell");
    return text;
}

/* Cut in front: the end of an address tells it from its neighbours. */
static const char *fit_end(const char *text, size_t width, char *ret_text, size_t size)
{
    size_t len = strlen(text);
    if (len <= width)
        return text;
    snprintf(ret_text, size, "..%s", text + len - (width - 2));
    return ret_text;
}

/* What has ended can no longer be asked whose it was, and root may ask of all. */
static const char *nobody(const struct tl_app_live_row *row)
{
    return row->ended || geteuid() == 0 ? "not known" : "another user's";
}

static void add_row(const struct tl_app_live_row *row, size_t width, struct tl_buf *out)
{
    char bar[BAR + 1], rate[TL_UNIT_TEXT_SIZE], cause[64], peer[64];
    size_t room = width > 80 ? width - 80 : 0;
    size_t peer_width = 21 + (room > 24 ? 24 : room);

    make_bar(row, bar);
    tl_buf_addf(out, "%-4s %10s  %-*s %-16.16s [%s] %s\n",
                row->direction == TL_UPLOAD ? "out" : "in", tl_format_bps(row->mean_bps, rate),
                (int)peer_width, fit_end(row->peer, peer_width, peer, sizeof peer),
                row->program[0] ? row->program : nobody(row), bar,
                likely(row, cause, sizeof cause));
}

static void add_sum(const struct tl_app_live_sum *sum, struct tl_buf *out)
{
    char in[TL_UNIT_TEXT_SIZE], sent[TL_UNIT_TEXT_SIZE];

    tl_buf_addf(out, "all: %s in, %s out, %zu connection%s", tl_format_bps(sum->received_bps, in),
                tl_format_bps(sum->sent_bps, sent), sum->flows_count,
                sum->flows_count == 1 ? "" : "s");
    if (sum->short_count)
        tl_buf_addf(out, ", %zu of them shorter than a reading", sum->short_count);
    tl_buf_adds(out, "\n");
    if (sum->left_out[0])
        tl_buf_addf(out, "not in that sum: %s\n", sum->left_out);
}

void cli_live_table(const struct tl_app_live_row *rows, size_t count, size_t max,
                    const struct tl_app_live_sum *sum, size_t width, struct tl_buf *out)
{
    add_sum(sum, out);
    if (count == 0) {
        tl_buf_adds(out, sum->flows_count ? "none of them lasted long enough to be watched\n"
                                          : "no connection moved data in the last ten seconds\n");
        return;
    }
    tl_buf_addf(out, "way        rate  with                  program          waits for    "
                     "cause\n");
    for (size_t i = 0; i < count && i < max; i++)
        add_row(&rows[i], width, out);
    if (count > max)
        tl_buf_addf(out, "and %zu more\n", count - max);
    tl_buf_adds(out, "waits for: w the receiver's window, b send buffer, n network, p program;\n"
                     "           u unread data at a receiver\n");
}

/* --- JSON --- */

static void add_flow(const struct tl_app_live_row *row, struct tl_json_writer *json)
{
    tl_json_begin_object(json, NULL);
    tl_json_add_string(json, "local", row->local);
    tl_json_add_string(json, "peer", row->peer);
    tl_json_add_string(json, "program", row->program[0] ? row->program : NULL);
    tl_json_add_string(json, "group", row->group[0] ? row->group : NULL);
    tl_json_add_string(json, "file", row->file[0] ? row->file : NULL);
    tl_json_add_string(json, "direction", tl_direction_name(row->direction));
    tl_json_add_number(json, "rate_bps", row->now_bps);
    tl_json_add_number(json, "mean_bps", row->mean_bps);
    tl_json_add_number(json, "app_ratio", row->app_ratio);
    tl_json_add_number(json, "sndbuf_ratio", row->sndbuf_ratio);
    tl_json_add_number(json, "rwnd_ratio", row->rwnd_ratio);
    tl_json_add_number(json, "network_ratio", row->network_ratio);
    tl_json_add_number(json, "receiver_queue_ratio", row->queue_ratio);
    tl_json_add_number(json, "rtt_ns", row->rtt_ns);
    tl_json_add_number(json, "retrans_ratio", row->retrans_ratio);
    tl_json_add_number(json, "program_cpu_ratio", row->cpu_ratio);
    tl_json_add_number(json, "program_thread_cpu_ratio", row->thread_ratio);
    tl_json_add_number(json, "file_bps", row->file_bps);
    tl_json_add_number(json, "program_disk_read_bps", row->disk_read_bps);
    tl_json_add_number(json, "program_disk_write_bps", row->disk_write_bps);
    tl_json_add_string(json, "cause", row->cause[0] ? row->cause : NULL);
    tl_json_add_number(json, "confidence", row->cause[0] ? row->confidence : NAN);
    tl_json_add_bool(json, "cause_moved", row->moved);
    tl_json_add_string(json, "cause_was", row->was[0] ? row->was : NULL);
    tl_json_add_bool(json, "stands", row->stands);
    tl_json_add_bool(json, "ended", row->ended);
    tl_json_end(json);
}

void cli_live_json(const struct tl_app_live_row *rows, size_t count,
                   const struct tl_app_live_sum *sum, int64_t time_ns, struct tl_buf *out)
{
    struct tl_json_writer json;

    tl_json_writer_init(&json, out, true);
    tl_json_begin_object(&json, NULL);
    tl_json_add_string(&json, "event", "live");
    tl_json_add_integer(&json, "time_ns", time_ns);
    tl_json_begin_object(&json, "sum");
    tl_json_add_number(&json, "sent_bps", sum->sent_bps);
    tl_json_add_number(&json, "received_bps", sum->received_bps);
    tl_json_add_integer(&json, "connections_count", (int64_t)sum->flows_count);
    tl_json_add_integer(&json, "short_count", (int64_t)sum->short_count);
    tl_json_add_bool(&json, "whole", sum->whole);
    tl_json_end(&json);
    tl_json_begin_array(&json, "flows");
    for (size_t i = 0; i < count; i++)
        add_flow(&rows[i], &json);
    tl_json_end(&json);
    tl_json_end(&json);
}
