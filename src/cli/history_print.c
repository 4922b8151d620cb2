/* Lists, trends and scores of the history, as text and as JSON. */
#include "cause.h"
#include "history.h"
#include "pager.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "tightlink/base/cause_name.h"
#include "tightlink/base/json_write.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/base/utf8.h"

/* Rows of a list on which nobody set a limit. */
#define LIST_DEFAULT 50
/* Columns beside id and far end: when, way, rate, round trip and the longest name of a cause. */
#define OTHER_COLUMNS 59
/* And of its id, for engineers. */
#define ID_COLUMNS  21
#define RTT_COLUMNS 8
/* A far end's name keeps so many, however narrow the terminal. */
#define TARGET_MIN  10
#define NOTE_INDENT 10

/* "11-20 20:41", or the day alone where it is so long ago that the year matters. */
static const char *short_time(int64_t ns, char ret_text[32])
{
    time_t seconds = (time_t)(ns / TL_NS_PER_S);
    bool old = tl_realtime_ns() - ns > INT64_C(300) * 86400 * TL_NS_PER_S;
    struct tm tm;
    ret_text[0] = '\0';
    if (localtime_r(&seconds, &tm))
        (void)strftime(ret_text, 32, old ? "%Y-%m-%d " : "%m-%d %H:%M", &tm);
    return ret_text;
}

static const char *rate(double bps, double doubt_bps, char ret_text[TL_UNIT_TEXT_SIZE])
{
    return isnan(bps) ? "-" : tl_format_bps_known(bps, doubt_bps, ret_text);
}

/* How wide what differs from run to run is. */
struct table {
    size_t id, target, rest; /* columns; rest: of the line with tags and note */
    bool rtt, ids;           /* there is room for them */
};

/* A name in so many columns, padded. */
static void put_cell(const char *text, size_t columns)
{
    struct tl_buf cell = TL_BUF_INIT;
    tl_utf8_add_short(&cell, text, columns, !cli_locale_is_utf8());
    printf("%s%*s", tl_buf_text(&cell), (int)(columns - tl_utf8_width(tl_buf_text(&cell))), "");
    tl_buf_finish(&cell);
}

static size_t clean_width(const char *text)
{
    struct tl_buf clean = TL_BUF_INIT;
    tl_utf8_add_clean(&clean, text, !cli_locale_is_utf8());
    size_t width = tl_utf8_width(tl_buf_text(&clean));
    tl_buf_finish(&clean);
    return width;
}

/* Names take what the terminal has left; a program reads them whole. */
static struct table lay_out(const struct tl_history_list *list, size_t id)
{
    struct table table = {
        .id = id, .target = TARGET_MIN, .rest = SIZE_MAX, .rtt = true, .ids = true};
    size_t columns = (size_t)cli_stdout_columns(), others = id + OTHER_COLUMNS;
    for (size_t i = 0; i < list->count; i++) {
        size_t width = clean_width(list->runs[i].target);
        table.target = width > table.target ? width : table.target;
    }
    if (!cli_stdout_is_terminal())
        return table;
    table.rtt = columns >= others + TARGET_MIN;
    others -= table.rtt ? 0 : RTT_COLUMNS;
    table.ids = columns >= others + ID_COLUMNS + table.target; /* names come first */
    others += table.ids ? ID_COLUMNS : 0;
    size_t room = columns > others + TARGET_MIN ? columns - others : TARGET_MIN;
    table.target = table.target > room ? room : table.target;
    table.rest = columns > NOTE_INDENT + TARGET_MIN ? columns - NOTE_INDENT : TARGET_MIN;
    return table;
}

static void print_row(const struct tl_history_run *run, const struct table *table)
{
    char when[32], one[TL_UNIT_TEXT_SIZE], rtt[TL_UNIT_TEXT_SIZE];
    struct tl_buf text = TL_BUF_INIT, more = TL_BUF_INIT;
    printf("%.*s  %-11s  ", (int)table->id, run->id, short_time(run->started_ns, when));
    put_cell(run->target, table->target);
    printf(" %-4s %10s", strcmp(run->direction, "upload") == 0 ? "up" : "down",
           rate(run->stream_bps, run->stream_doubt_bps, one));
    if (table->rtt)
        printf(" %7s", isnan(run->rtt_ns) ? "-" : tl_format_ns(run->rtt_ns, rtt));
    fputs("  ", stdout);
    cli_put_clean(tl_cause_name(run->cause[0] ? run->cause : run->state), stdout);
    if (table->ids && run->cause[0]) {
        fputs(" [", stdout);
        cli_put_clean(run->cause, stdout);
        putchar(']');
    }
    putchar('\n');
    if (run->tags[0] || run->note[0]) {
        tl_buf_addf(&more, "%s%s%.*s", run->tags, run->tags[0] && run->note[0] ? ": " : "",
                    (int)strcspn(run->note, "\n"), run->note);
        tl_utf8_add_short(&text, tl_buf_text(&more), table->rest, !cli_locale_is_utf8());
        printf("%*s%s\n", NOTE_INDENT, "", tl_buf_text(&text));
    }
    tl_buf_finish(&text);
    tl_buf_finish(&more);
}

static void print_list(const struct tl_history_list *list, size_t id_length)
{
    struct table table = lay_out(list, id_length);
    printf("%-*s  %-11s  %-*s %-4s %10s%s  verdict\n", (int)table.id, "run", "when",
           (int)table.target, "far end", "way", "1 stream", table.rtt ? "     RTT" : "");
    for (size_t i = 0; i < list->count && !ferror(stdout); i++)
        print_row(&list->runs[i], &table);
    if (list->total > list->count)
        printf("%zu more: --limit 0 shows all\n", list->total - list->count);
}

static bool add_row(const struct tl_history_run *run, void *context)
{
    struct tl_json_writer *w = context;
    char started[TL_TIME_TEXT_SIZE];
    tl_time_format_utc(run->started_ns, started);
    tl_json_begin_object(w, NULL);
    tl_json_add_string(w, "id", run->id);
    tl_json_add_string(w, "started", started);
    tl_json_add_integer(w, "duration_ns", run->duration_ns);
    tl_json_add_string(w, "target", run->target);
    tl_json_add_string(w, "target_kind", run->target_kind);
    tl_json_add_string(w, "direction", run->direction);
    tl_json_add_string(w, "state", run->state);
    if (run->cause[0])
        tl_json_add_string(w, "cause", run->cause);
    if (run->segment[0])
        tl_json_add_string(w, "segment", run->segment);
    tl_json_add_string(w, "sentence", run->sentence);
    tl_json_add_string(w, "quality", run->quality);
    tl_json_add_number(w, "confidence", run->confidence);
    tl_json_add_number(w, "measured_bps", run->measured_bps);
    tl_json_add_number(w, "stream_bps", run->stream_bps);
    tl_json_add_number(w, "streams_bps", run->streams_bps);
    tl_json_add_number(w, "rtt_ns", run->rtt_ns);
    tl_json_add_number(w, "loaded_rtt_ns", run->loaded_rtt_ns);
    tl_json_add_number(w, "retrans_ratio", run->retrans_ratio);
    tl_json_add_number(w, "fixed_bps", run->fixed_bps);
    if (run->hit >= 0) {
        tl_json_add_number(w, "tried_predicted_bps", run->tried_predicted_bps);
        tl_json_add_number(w, "tried_measured_bps", run->tried_measured_bps);
        tl_json_add_bool(w, "hit", run->hit == 1);
    }
    tl_json_add_string(w, "tags", run->tags);
    tl_json_add_string(w, "note", run->note);
    tl_json_end(w);
    return w->out->status == TL_OK;
}

static int write_json(struct tl_buf *out)
{
    tl_buf_adds(out, "\n");
    int exit_code = out->status == TL_OK && cli_write_stdout(out->data, out->len) ? CLI_EXIT_OK
                                                                                  : CLI_EXIT_EXPORT;
    if (exit_code != CLI_EXIT_OK)
        cli_complain("the list could not be written");
    tl_buf_finish(out);
    return exit_code;
}

static int list_json(struct history_request *request)
{
    struct tl_buf out = TL_BUF_INIT;
    struct tl_json_writer writer;
    struct tl_error error = {0};
    tl_json_writer_init(&writer, &out, false);
    tl_json_begin_object(&writer, NULL);
    tl_json_add_string(&writer, "format", "tightlink.history/1");
    tl_json_begin_array(&writer, "runs");
    if (tl_history_each(request->history, &request->filter, add_row, &writer, &error) != TL_OK) {
        tl_buf_finish(&out);
        return cli_fail(&error);
    }
    tl_json_end(&writer);
    tl_json_end(&writer);
    return write_json(&out);
}

/* A cause of the user's own rules is none of the list, and no mistake. */
static void tell_of_none(const struct tl_history_filter *filter)
{
    struct tl_nearest nearest = {0};
    if (filter->cause)
        nearest = cli_cause_near(filter->cause);
    if (nearest.word && nearest.distance > 0)
        cli_complain("no run is kept whose cause is %.60s%s", filter->cause,
                     tl_nearest_text(&nearest));
    else if (filter->target || filter->cause || filter->direction || filter->tag || filter->text ||
             filter->since_ns || filter->until_ns)
        cli_complain("no run is kept that fits; every tightlink run HOST is, unless --no-history");
    else
        cli_complain("no run is kept yet; tightlink run HOST keeps one");
}

int cli_history_list(const struct cli_command *command, struct history_request *request)
{
    struct tl_history_list list = {0};
    struct tl_error error = {0};
    size_t id_length;
    if (request->json)
        return list_json(request);
    if (!request->limit_given)
        request->filter.limit = LIST_DEFAULT;
    if (tl_history_list(request->history, &request->filter, &list, &error) != TL_OK)
        return cli_fail(&error);
    int exit_code = CLI_EXIT_OK;
    if (list.total == 0) {
        tell_of_none(&request->filter);
    } else if (tl_history_id_length(request->history, &id_length, &error) != TL_OK) {
        exit_code = cli_fail(&error);
    } else {
        cli_page();
        print_list(&list, id_length);
    }
    tl_history_list_finish(&list);
    return exit_code;
}

/* --- Trend --- */

/* "2026-11-20", local time as in the list. */
static const char *date_of(int64_t ns, char ret_text[32])
{
    time_t seconds = (time_t)(ns / TL_NS_PER_S);
    struct tm tm;
    if (!ns || !localtime_r(&seconds, &tm) || !strftime(ret_text, 32, "%Y-%m-%d", &tm))
        snprintf(ret_text, 32, "-");
    return ret_text;
}

/* "-1.2 Mb/s" and "+300 kb/s", in the unit that fits. */
static const char *change(double bps, double doubt_bps, char ret_text[TL_UNIT_TEXT_SIZE + 1])
{
    char size[TL_UNIT_TEXT_SIZE];
    snprintf(ret_text, TL_UNIT_TEXT_SIZE + 1, "%c%s", bps < 0 ? '-' : '+',
             tl_format_bps_known(fabs(bps), doubt_bps, size));
    return ret_text;
}

static void print_rate(const char *what, struct tl_history_rate of)
{
    char text[TL_UNIT_TEXT_SIZE];
    printf("%s %s", what, rate(of.bps, of.doubt_bps, text));
}

static void print_trend(const struct tl_history_trend *trend)
{
    char from[32], to[32];
    char slope[TL_UNIT_TEXT_SIZE + 1], low[TL_UNIT_TEXT_SIZE + 1], high[TL_UNIT_TEXT_SIZE + 1];
    bool one_day = strcmp(date_of(trend->oldest_ns, from), date_of(trend->newest_ns, to)) == 0;
    printf("%zu run%s of one stream, %s, %s%s%s:", trend->count, trend->count == 1 ? "" : "s",
           trend->direction, from, one_day ? "" : " to ", one_day ? "" : to);
    if (trend->count == 1) {
        print_rate("", trend->newest);
        puts("\nNo trend: that takes four runs.");
        return;
    }
    print_rate(" median", trend->median);
    print_rate(", least", trend->least);
    print_rate(", most", trend->most);
    print_rate(", newest", trend->newest);
    putchar('\n');
    if (isnan(trend->slope_bps_per_day)) {
        puts("No trend: that takes four runs.");
        return;
    }
    double doubt = (trend->high_bps_per_day - trend->low_bps_per_day) / 2;
    printf("Trend: %s a day (95 %% interval %s to %s): %s\n",
           change(trend->slope_bps_per_day, doubt, slope),
           change(trend->low_bps_per_day, doubt, low), change(trend->high_bps_per_day, doubt, high),
           trend->low_bps_per_day > 0    ? "it becomes faster."
           : trend->high_bps_per_day < 0 ? "it becomes slower."
                                         : "no direction can be told from noise.");
}

int cli_history_trend(const struct cli_command *command, struct history_request *request)
{
    struct tl_history_trend trend;
    struct tl_error error = {0};
    if (!request->filter.target)
        return cli_usage(command, "trend needs --target HOST");
    if (tl_history_trend(request->history, &request->filter, &trend, &error) != TL_OK)
        return cli_fail(&error);
    if (!request->json && !trend.count) {
        tell_of_none(&request->filter);
        return CLI_EXIT_OK;
    }
    if (!request->json) {
        cli_page();
        print_trend(&trend);
        return CLI_EXIT_OK;
    }
    struct tl_buf out = TL_BUF_INIT;
    struct tl_json_writer w;
    tl_json_writer_init(&w, &out, false);
    tl_json_begin_object(&w, NULL);
    tl_json_add_string(&w, "format", "tightlink.trend/1");
    tl_json_add_string(&w, "target", request->filter.target);
    if (trend.direction[0])
        tl_json_add_string(&w, "direction", trend.direction);
    tl_json_add_integer(&w, "runs_count", (int64_t)trend.count);
    tl_json_add_number(&w, "median_bps", trend.median.bps);
    tl_json_add_number(&w, "least_bps", trend.least.bps);
    tl_json_add_number(&w, "most_bps", trend.most.bps);
    tl_json_add_number(&w, "newest_bps", trend.newest.bps);
    tl_json_add_number(&w, "slope_bps_per_day", trend.slope_bps_per_day);
    tl_json_add_number(&w, "low_bps_per_day", trend.low_bps_per_day);
    tl_json_add_number(&w, "high_bps_per_day", trend.high_bps_per_day);
    tl_json_end(&w);
    return write_json(&out);
}

/* --- Score --- */

static int score_json(const struct tl_history_score *scores, size_t count)
{
    struct tl_buf out = TL_BUF_INIT;
    struct tl_json_writer w;
    tl_json_writer_init(&w, &out, false);
    tl_json_begin_object(&w, NULL);
    tl_json_add_string(&w, "format", "tightlink.score/1");
    tl_json_begin_array(&w, "months");
    for (size_t i = 0; i < count; i++) {
        tl_json_begin_object(&w, NULL);
        tl_json_add_string(&w, "month", scores[i].month);
        tl_json_add_integer(&w, "tried_count", (int64_t)scores[i].tried_count);
        tl_json_add_integer(&w, "hit_count", (int64_t)scores[i].hit_count);
        tl_json_end(&w);
    }
    tl_json_end(&w);
    tl_json_end(&w);
    return write_json(&out);
}

int cli_history_score(const struct cli_command *command, struct history_request *request)
{
    struct tl_history_score scores[120];
    struct tl_error error = {0};
    size_t count = 0, tried = 0, hits = 0;
    if (tl_history_score(request->history, &request->filter, scores, sizeof scores / sizeof *scores,
                         &count, &error) != TL_OK)
        return cli_fail(&error);
    if (request->json)
        return score_json(scores, count);
    for (size_t i = 0; i < count; i++) {
        printf("%s  %zu of %zu predictions came true within 10 %%\n", scores[i].month,
               scores[i].hit_count, scores[i].tried_count);
        tried += scores[i].tried_count;
        hits += scores[i].hit_count;
    }
    if (tried)
        printf("together %zu of %zu, %.0f %%\n", hits, tried, 100 * (double)hits / (double)tried);
    else
        puts("No prediction was tried yet: tightlink run HOST --verify tries one.");
    return CLI_EXIT_OK;
}
