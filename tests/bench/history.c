/* How long lists of 100,000 runs take: the newest page, filters, everything. Prints medians of
 * nine tries in ms; judges nothing. Runs are written as rows without documents of full size, but
 * through the history itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/base/buf.h"
#include "tightlink/base/stats.h"
#include "tightlink/base/time.h"
#include "tightlink/store/history.h"

enum { RUNS = 100000, TRIES = 9 };

static const char *const causes[] = {
    "receive-window", "capacity", "random-loss", "policer", "cpu", "wifi", "send-buffer"};

static void make_document(int number, struct tl_buf *out)
{
    char started[TL_TIME_TEXT_SIZE];
    tl_time_format_utc((INT64_C(1600000000) + number * INT64_C(900)) * TL_NS_PER_S, started);
    out->len = 0;
    tl_buf_addf(
        out,
        "{\"format\":\"tightlink.findings/1\",\"run\":{\"id\":\"01J9ZK%020d\",\"started\":\"%s\","
        "\"duration_ns\":20000000000,\"tool_version\":\"0\",\"target\":{\"name\":\"srv-%d.example."
        "net\",\"kind\":\"tightlink\"},\"directions\":[\"download\"],\"quality\":{\"status\":"
        "\"valid\",\"reasons\":[]}},\"verdict\":{\"state\":\"limited\",\"cause\":\"%s\","
        "\"segment\":\"near-host\",\"direction\":\"download\",\"confidence\":0.9,\"sentence\":"
        "\"This PC limits the download: 96.1 Mb/s instead of about 930 Mb/s, because its TCP "
        "receive buffer lets only 512 KiB be on the way at once.\",\"measured_bps\":%d},"
        "\"findings\":[],\"facts\":{\"download.goodput_bps\":{\"state\":\"known\",\"value\":%d},"
        "\"path.rtt_min_ns\":{\"state\":\"known\",\"value\":42000000}}}",
        number, started, number % 50, causes[number % 7], 96000000 + number, 96000000 + number);
}

static bool look(const struct tl_history_run *run, void *context)
{
    *(size_t *)context += run->id[0] && !isnan(run->stream_bps);
    return true;
}

static void measure(struct tl_history *history, const char *what,
                    const struct tl_history_filter *filter)
{
    double ms[TRIES], cpu_ms[TRIES];
    size_t seen = 0;
    for (int i = 0; i < TRIES; i++) {
        int64_t begin_ns = tl_now_ns(), begin_cpu_ns = tl_thread_cpu_ns();
        seen = 0;
        if (tl_history_each(history, filter, look, &seen, NULL) != TL_OK)
            exit(1);
        ms[i] = (double)(tl_now_ns() - begin_ns) / 1e6;
        cpu_ms[i] = (double)(tl_thread_cpu_ns() - begin_cpu_ns) / 1e6;
    }
    printf("%-34s %7zu rows  median %6.1f ms, of processor %6.1f ms\n", what, seen,
           tl_stats_median(ms, TRIES), tl_stats_median(cpu_ms, TRIES));
}

int main(void)
{
    char folder[] = "/var/tmp/tl-bench-history-XXXXXX", path[128], command[128];
    struct tl_history *history;
    struct tl_buf document = TL_BUF_INIT;
    struct tl_error error = {0};
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/h.sqlite", folder);
    if (tl_history_open(path, &history, &error) != TL_OK)
        return 1;
    int64_t begin_ns = tl_now_ns();
    for (int i = 0; i < RUNS; i++) {
        make_document(i, &document);
        if (tl_history_add(history, document.data, document.len, &error) != TL_OK) {
            fprintf(stderr, "%s\n", error.text);
            return 1;
        }
    }
    printf("%d runs kept in %.1f s\n", RUNS, (double)(tl_now_ns() - begin_ns) / 1e9);
    int64_t since = (INT64_C(1600000000) + 90000 * INT64_C(900)) * TL_NS_PER_S;
    measure(history, "newest 50", &(struct tl_history_filter){.limit = 50});
    measure(history, "everything", &(struct tl_history_filter){0});
    measure(history, "one target", &(struct tl_history_filter){.target = "srv-7.example.net"});
    measure(history, "one cause", &(struct tl_history_filter){.cause = "policer"});
    measure(history, "target, cause, since",
            &(struct tl_history_filter){
                .target = "srv-7.example.net", .cause = "policer", .since_ns = since});
    measure(history, "since (the newest tenth)", &(struct tl_history_filter){.since_ns = since});
    measure(history, "text in no run", &(struct tl_history_filter){.text = "nowhere"});
    measure(history, "text in a fiftieth", &(struct tl_history_filter){.text = "srv-7.example"});
    tl_history_close(history);
    tl_buf_finish(&document);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0;
}
