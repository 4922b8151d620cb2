/* run HOST --compare OTHER,...: the others are measured as HOST was, one after the other; then one
 * table and one sentence. */
#include "beside.h"

#include <math.h>
#include <string.h>

#include "tightlink/app/beside.h"
#include "tightlink/app/open.h"
#include "tightlink/base/cause_name.h"
#include "tightlink/base/units.h"

/* The same questions, light: one connection, and several where HOST was asked with several. */
static bool measure(const struct cli_run_options *options, const char *name,
                    enum tl_direction direction, struct tl_app_beside_row *ret_row)
{
    struct cli_run_options other = *options;
    struct tl_session_result result;
    struct tl_error error = {0};

    other.config.host = name;
    other.config.target_name = NULL;
    other.config.key = NULL; /* what HOST is told is for HOST */
    other.config.login = NULL;
    other.config.port = CLI_DEFAULT_PORT;
    other.config.via_count = 0;
    other.config.watch_ns = 0;
    other.config.verify = false;
    other.config.download = direction == TL_DOWNLOAD;
    other.config.upload = direction == TL_UPLOAD;
    other.config.skip = 0;
    other.config.force = UINT32_C(1) << tl_session_stage_find("stream") |
                         UINT32_C(1) << tl_session_stage_find("streams");
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
    bool stopped = result.status == TL_CANCELLED;
    tl_app_result_finish(&result);
    return !stopped;
}

static const char *rate_text(double bps, char text[TL_UNIT_TEXT_SIZE])
{
    return bps > 0 ? tl_format_bps(bps, text) : "-";
}

static void print_row(const struct tl_app_beside_row *row, FILE *out)
{
    char one[TL_UNIT_TEXT_SIZE], best[TL_UNIT_TEXT_SIZE], rtt[TL_UNIT_TEXT_SIZE];

    fprintf(out, "  %-10s %12s %12s %10s  ", row->kind, rate_text(row->one_bps, one),
            rate_text(row->best_bps, best), row->rtt_ns > 0 ? tl_format_ns(row->rtt_ns, rtt) : "-");
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
    fprintf(out, "\nBeside one another\n  %-10s %12s %12s %10s  far end\n", "kind", "one", "most",
            "round trip");
    for (size_t i = 0; i < count; i++)
        print_row(&rows[i], out);
    fputs("  ", out);
    cli_put_clean(sentence, out);
    fputc('\n', out);
}

void cli_compare_others(const struct cli_run_options *options,
                        const struct tl_session_result *result)
{
    struct tl_app_beside_row rows[TL_APP_BESIDE_MAX];
    enum tl_direction direction = options->config.download ? TL_DOWNLOAD : TL_UPLOAD;
    char name[256];
    size_t count = 1;
    bool going = result->status != TL_CANCELLED;

    tl_app_beside_take(result, direction, options->config.host, &rows[0]);
    for (const char *at = options->compare; going && *at && count < TL_APP_BESIDE_MAX;) {
        size_t len = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)len, at);
        going = len > 0 && measure(options, name, direction, &rows[count]);
        count += going;
        at += len + (at[len] == ',');
    }
    print(rows, count, options->json || options->json_lines ? stderr : stdout);
    fflush(stdout);
}
