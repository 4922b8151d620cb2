/* run HOST --compare OTHER,...: the others are measured as HOST was, and then all once more, so
 * that what a path changes by itself lies between the turns of each (A B C A B C); one table and
 * one sentence. */
#include "beside.h"

#include <string.h>

#include "tightlink/app/beside.h"
#include "tightlink/app/open.h"
#include "tightlink/base/cause_name.h"
#include "tightlink/base/units.h"
#if TL_WITH_TICKETS
#include "tightlink/ticket/ticket.h"
#endif

/* One connection and several, or those of both that the user named. */
static uint32_t stages_of(const struct cli_run_options *options)
{
    uint32_t both = UINT32_C(1) << tl_session_stage_find("stream") |
                    UINT32_C(1) << tl_session_stage_find("streams");
    uint32_t named = options->config.only_force ? options->config.force & both : 0;
    return named ? named : both;
}

/* The same questions, light. False where it failed or *stopped was set. */
static bool measure(const struct cli_run_options *options, const char *name,
                    enum tl_direction direction, struct tl_app_beside_row *ret_row, bool *stopped)
{
    struct cli_run_options other = *options;
    struct tl_session_result result;
    struct tl_error error = {0};
    bool is_host = strcmp(name, options->config.host) == 0;

    if (!is_host) { /* what HOST is told is for HOST */
        other.config.host = name;
        other.config.key = NULL;
        other.config.login = NULL;
        other.config.port = CLI_DEFAULT_PORT;
    }
    other.config.target_name = NULL;
    other.config.via_count = 0;
    other.config.watch_ns = 0;
    other.config.verify = false;
    other.config.download = direction == TL_DOWNLOAD;
    other.config.upload = direction == TL_UPLOAD;
    other.config.skip = 0;
    other.config.force = stages_of(options);
    other.config.only_force = true;
    other.json = other.json_lines = false;
    fprintf(stderr, "beside it: ");
    cli_put_clean(name, stderr);
    fputc('\n', stderr);
    if (cli_drive_session(&other, &result, &error) != TL_OK) {
        (void)cli_fail(&error);
        return false;
    }
    tl_app_beside_take(&result, direction, name, ret_row);
    *stopped |= result.status == TL_CANCELLED;
    tl_app_result_finish(&result);
    return !*stopped;
}

static const char *rate_text(double bps, char text[TL_UNIT_TEXT_SIZE])
{
    return bps > 0 ? tl_format_bps(bps, text) : "-";
}

static void print_row(const struct tl_app_beside_row *row, FILE *out)
{
    char one[TL_UNIT_TEXT_SIZE], best[TL_UNIT_TEXT_SIZE], rtt[TL_UNIT_TEXT_SIZE];
    char low[TL_UNIT_TEXT_SIZE], turns[2 * TL_UNIT_TEXT_SIZE + 8] = "-";

    if (row->turns > 1)
        snprintf(turns, sizeof turns, "%s to %s", tl_format_bps(row->low_bps, low),
                 tl_format_bps(row->high_bps, best));
    fprintf(out, "  %-10s %12s %12s %26s %10s  ", row->kind, rate_text(row->one_bps, one),
            rate_text(row->best_bps, best), turns,
            row->rtt_ns > 0 ? tl_format_ns(row->rtt_ns, rtt) : "-");
    cli_put_clean(row->name, out);
    fputs(row->cause[0] ? ": " : "", out);
    fputs(tl_cause_name(row->cause), out);
    if (row->failed[0]) {
        fputs(": ", out);
        cli_put_clean(row->failed, out);
    }
    fputc('\n', out);
}

static void print(const struct tl_app_beside_row *rows, size_t count, FILE *out)
{
    char sentence[512];

    tl_app_beside_say(rows, count, sentence, sizeof sentence);
    fprintf(out, "\nBeside one another, by turns\n  %-10s %12s %12s %26s %10s  far end\n", "kind",
            "one", "most", "most, by turns", "round trip");
    for (size_t i = 0; i < count; i++)
        print_row(&rows[i], out);
    fputs("  ", out);
    cli_put_clean(sentence, out);
    fputc('\n', out);
}

/* OTHER,... as they were written. */
static size_t list_names(const char *text, char (*ret_names)[256], size_t max)
{
    size_t count = 0;
    while (count < max && *(text += strspn(text, ", "))) {
        size_t len = strcspn(text, ", ");
        snprintf(ret_names[count++], sizeof *ret_names, "%.*s", (int)len, text);
        text += len;
    }
    return count;
}

#if TL_WITH_TICKETS
bool cli_compare_list(struct cli_run_options *options, struct tl_error *reterr)
{
    struct tl_ticket_config *config = NULL;
    if (strpbrk(options->compare, ",:/")) /* no name of a list */
        return true;
    if (tl_ticket_config_load(NULL, &config, reterr) != TL_OK)
        return false;
    const char *far_ends = tl_compare_list_find(config, options->compare);
    if (far_ends) {
        snprintf(options->compare_list, sizeof options->compare_list, "%s", far_ends);
        options->compare = options->compare_list;
    }
    tl_ticket_config_destroy(config);
    return true;
}
#else
bool cli_compare_list(struct cli_run_options *options, struct tl_error *reterr)
{
    return true;
}
#endif

bool cli_compare_others(const struct cli_run_options *options,
                        const struct tl_app_held_signals *held,
                        const struct tl_session_result *result)
{
    struct tl_app_beside_row rows[TL_APP_BESIDE_MAX], turn;
    enum tl_direction direction = options->config.download ? TL_DOWNLOAD : TL_UPLOAD;
    char names[TL_APP_BESIDE_MAX][256];
    bool stopped = result->status == TL_CANCELLED, going = !stopped;
    size_t done = 1;

    snprintf(names[0], sizeof names[0], "%s", options->config.host);
    size_t count = 1 + list_names(options->compare, names + 1, TL_APP_BESIDE_MAX - 1);
    tl_app_beside_take(result, direction, names[0], &rows[0]);
    while (going && done < count) {
        stopped = tl_app_signals_come(held, 0);
        going = !stopped && measure(options, names[done], direction, &rows[done], &stopped);
        done += going;
    }
    for (size_t i = 0; going && done > 1 && i < count; i++) {
        if (rows[i].turns == 0) /* whoever did not answer is not asked again */
            continue;
        stopped = tl_app_signals_come(held, 0);
        going = !stopped && measure(options, names[i], direction, &turn, &stopped);
        if (going)
            tl_app_beside_again(&rows[i], &turn);
    }
    print(rows, done, options->json || options->json_lines ? stderr : stdout);
    fflush(stdout);
    return !stopped;
}
