/* tightlink pcap FILE: why the transfers in a capture are not faster. */
#include "cli.h"
#include "flow_plot.h"
#include "keep.h"
#include "screen.h"
#include "words.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/app/open.h"
#include "tightlink/app/pcap.h"
#include "tightlink/base/cause_name.h"
#include "tightlink/base/units.h"
#include "tightlink/rules/verdict.h"

#define ROWS_SHORT      10   /* flows listed below the verdict */
#define ROWS_JSON       1000 /* in the document; with --all as many as a list takes */
#define WIDTH           78
#define REASONS_IN_HEAD 2 /* of a degraded run; of one that cannot be used its sentence has one */

struct pcap_options {
    const char *path;
    size_t number; /* 0: not given */
    const char *save;
    bool all, json;
    struct cli_run_options screen; /* what is asked of it */
};

/* Words up to the width, indented. */
static void print_wrapped(const char *text, size_t first, size_t indent)
{
    size_t column = first;
    for (const char *word = text; *word;) {
        size_t len = strcspn(word, " ");
        char piece[512];
        if (column > indent && column + 1 + len > WIDTH) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            putchar(' ');
            column++;
        }
        snprintf(piece, sizeof piece, "%.*s", (int)(len < sizeof piece ? len : sizeof piece - 1),
                 word);
        cli_put_clean(piece, stdout);
        column += len;
        word += len + strspn(word + len, " ");
    }
    putchar('\n');
}

static void print_item(const char *text)
{
    fputs("  - ", stdout);
    print_wrapped(text, 4, 4);
}

static void print_file(const struct tl_app_pcap *pcap, const char *path)
{
    const struct tl_app_pcap_file *file = tl_app_pcap_file(pcap);
    size_t count = tl_app_pcap_count(pcap);
    cli_put_clean(path, stdout);
    printf(": %s%s%s, %llu packets, %zu TCP flow%s\n", file->info.format,
           strcmp(file->info.compression, "none") ? " packed with " : "",
           strcmp(file->info.compression, "none") ? file->info.compression : "",
           (unsigned long long)file->info.packets_count, count, count == 1 ? "" : "s");
    if (file->strange_link_count)
        printf("  %llu packets have a link layer that is not read\n",
               (unsigned long long)file->strange_link_count);
    if (file->left_out_count)
        printf("  %llu TCP packets belong to more flows than are counted\n",
               (unsigned long long)file->left_out_count);
    if (file->broken[0]) {
        fputs("  broken: ", stdout);
        print_wrapped(file->broken, 10, 10);
    }
}

static void print_flow(const struct tl_app_pcap_row *row)
{
    char bytes[TL_UNIT_TEXT_SIZE], span[TL_UNIT_TEXT_SIZE], rate[TL_UNIT_TEXT_SIZE];
    char rtt[TL_UNIT_TEXT_SIZE], resent[TL_UNIT_TEXT_SIZE];
    bool download = row->direction == TL_DOWNLOAD;
    printf("\nFlow %zu: %s -> %s (%s%s)\n", row->number, download ? row->server : row->client,
           download ? row->client : row->server, download ? "from the server" : "from the client",
           row->client_known ? "" : ", by the ports: its handshake is missing");
    printf("  %s in %s, %s; shortest round trip %s, %s sent again\n",
           tl_format_traffic((double)row->payload_bytes, bytes), tl_format_ns(row->span_ns, span),
           tl_format_bps(row->rate_bps, rate),
           isfinite(row->rtt_min_ns) ? tl_format_ns(row->rtt_min_ns, rtt) : "unknown",
           isfinite(row->retrans_ratio) ? tl_format_ratio(row->retrans_ratio, resent) : "unknown");
    if (row->place[0])
        printf("  captured %s\n", row->place);
}

static void print_ledger(const struct tl_findings *findings)
{
    for (size_t i = 0; i < findings->ledger_count; i++) {
        const struct tl_ledger_row *row = &findings->ledger[i];
        printf("\nWhat the sender waited for: its program %.0f %%, its send buffer %.0f %%, the "
               "receive\nwindow %.0f %%, the network %.0f %%\n",
               100 * row->app_ratio, 100 * row->sndbuf_ratio, 100 * row->rwnd_ratio,
               100 * row->network_ratio);
    }
}

/* Found beside the verdict, one line each. */
static void print_beside(const struct tl_findings *findings)
{
    bool said = false;
    for (size_t i = 0; i < findings->finding_count; i++) {
        const struct tl_finding *finding = &findings->findings[i];
        if (!tl_findings_is_beside(findings, finding))
            continue;
        if (!said)
            puts("\nAlso found:");
        said = true;
        print_item(finding->sentence);
    }
}

/* The verdict as every command tells it. What a capture cannot tell fills pages: explain has it. */
static void print_result(const struct tl_session_result *result)
{
    static const enum tl_report_part parts[] = {TL_PART_HEAD, TL_PART_FIX, TL_PART_RATES,
                                                TL_PART_EVIDENCE};
    putchar('\n');
    (void)cli_print_parts(result, parts, sizeof parts / sizeof *parts);
    print_ledger(result->findings);
    print_beside(result->findings);
    int told = result->run.quality == TL_QUALITY_DEGRADED ? REASONS_IN_HEAD : 1;
    for (int i = told; i < result->run.reason_count; i++) {
        if (i == told)
            puts("\nMind:");
        print_item(result->run.reasons[i]);
    }
}

enum tl_status cli_print_flows(struct tl_app_pcap *pcap, size_t max, struct tl_error *reterr)
{
    size_t count = tl_app_pcap_count(pcap);
    printf("\n%4s %-22s %-22s %10s %11s %s\n", "flow", "client", "server", "payload", "rate",
           "verdict");
    for (size_t number = 1; number <= count && number <= max; number++) {
        struct tl_app_pcap_row row;
        char bytes[TL_UNIT_TEXT_SIZE], rate[TL_UNIT_TEXT_SIZE];
        enum tl_status status = tl_app_pcap_list_row(pcap, number, &row, reterr);
        if (status != TL_OK)
            return status;
        printf("%4zu %-22s %-22s %10s %11s %s%s%s\n", number, row.client, row.server,
               tl_format_traffic((double)row.payload_bytes, bytes),
               isfinite(row.rate_bps) ? tl_format_bps(row.rate_bps, rate) : "-",
               !row.judged    ? "-"
               : row.cause[0] ? tl_cause_name(row.cause)
                              : "cannot tell",
               row.segment[0] ? ", " : "",
               strcmp(row.segment, "near-host") == 0  ? "client"
               : strcmp(row.segment, "far-host") == 0 ? "server"
                                                      : row.segment);
    }
    if (count > max && max < TL_APP_PCAP_LISTED_MAX)
        printf("     and %zu more: tightlink pcap --all lists them\n", count - max);
    else if (count > max)
        printf("     and %zu smaller ones\n", count - max);
    if (count > TL_APP_PCAP_JUDGED_MAX && max > TL_APP_PCAP_JUDGED_MAX)
        printf("     the first %d are judged, any other with --flow NUMBER\n",
               TL_APP_PCAP_JUDGED_MAX);
    return TL_OK;
}

/* Of what is known over time; a flow that had to make room has nothing. */
static void print_plots(struct tl_app_pcap *pcap, size_t number)
{
    struct tl_app_pcap_series *series = calloc(1, sizeof *series);
    struct tl_error error = {0};
    if (series && tl_app_pcap_over_time(pcap, number, series, &error) == TL_OK)
        cli_print_over_time(series);
    free(series);
}

static int print_text(struct tl_app_pcap *pcap, const struct pcap_options *options)
{
    size_t number = options->number ? options->number : 1, count = tl_app_pcap_count(pcap);
    struct tl_session_result result = {0};
    struct tl_app_pcap_row row;
    struct tl_error error = {0};
    print_file(pcap, options->path);
    enum tl_status status = tl_app_pcap_row(pcap, number, &row, &error);
    if (status == TL_OK)
        print_flow(&row);
    if (status == TL_OK)
        status = tl_app_pcap_result(pcap, number, &result, &error);
    if (status == TL_OK)
        print_result(&result);
    if (status == TL_OK)
        print_plots(pcap, number);
    int exit_code = status == TL_OK ? (int)cli_exit_for_result(&result) : CLI_EXIT_OK;
    tl_app_result_finish(&result);
    if (status == TL_OK && !options->number && count > 1)
        status = cli_print_flows(pcap, options->all ? TL_APP_PCAP_LISTED_MAX : ROWS_SHORT, &error);
    if (status == TL_OK)
        return exit_code;
    cli_complain("%s", error.text);
    return CLI_EXIT_USAGE;
}

static int print_json(struct tl_app_pcap *pcap, const struct pcap_options *options)
{
    struct tl_buf out = TL_BUF_INIT;
    struct tl_error error = {0};
    int exit_code = CLI_EXIT_OK;
    enum tl_status status = tl_app_pcap_document(pcap, options->number ? options->number : 1,
                                                 options->all ? SIZE_MAX : ROWS_JSON, &out, &error);
    if (status != TL_OK) {
        cli_complain("%s", error.text);
        exit_code = CLI_EXIT_USAGE;
    } else if (!cli_write_stdout(out.data, out.len)) {
        cli_complain("writing the output failed: %s", strerror(errno));
        exit_code = CLI_EXIT_EXPORT;
    }
    tl_buf_finish(&out);
    return exit_code;
}

static enum tl_status take_number(const char *text, void *into, struct tl_error *reterr)
{
    struct pcap_options *options = into;
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (text[0] < '1' || text[0] > '9' || *end != '\0' || number > UINT32_MAX)
        return tl_error_set(reterr, TL_USAGE, "%s is no number of a flow", text);
    options->number = number;
    return TL_OK;
}

static const struct cli_option pcap_table[] = {
    {CLI_READ("flow", take_number)},
    {CLI_FLAG("all", struct pcap_options, all)},
    {CLI_FLAG("json", struct pcap_options, json)},
    {CLI_TEXT("save", struct pcap_options, save)},
    {CLI_FLAG("no-screen", struct pcap_options, screen.no_screen)},
    {CLI_FLAG("no-mouse", struct pcap_options, screen.no_mouse)},
    {CLI_COLOR("color", struct pcap_options, screen.color)},
    {.name = NULL},
};

/* --save: the flow that was asked for, with its readings for plots. */
static int save(struct tl_app_pcap *pcap, const struct pcap_options *options, int exit_code)
{
    struct tl_session_result result = {0};
    struct tl_error error = {0};
    bool saved = false;
    if (tl_app_pcap_result(pcap, options->number ? options->number : 1, &result, &error) == TL_OK)
        saved = cli_save_run(options->save, &result);
    else
        cli_complain("%s", error.text);
    tl_app_result_finish(&result);
    return saved ? exit_code : CLI_EXIT_EXPORT;
}

/* Whether people are to look around; who asks for a flow, a list or a file wants that. */
static bool wants_screen(const struct pcap_options *options)
{
    return !options->json && !options->all && !options->number && !options->save &&
           strcmp(options->path, "-") != 0 && cli_wants_screen(&options->screen);
}

/* The screen; what was seen there last stays in the terminal as text. */
static int show(const struct cli_command *command, struct tl_app_pcap *pcap,
                const struct tl_rules *rules, const struct pcap_options *options)
{
    static char word[] = "run";
    char *words[] = {word, NULL};
    struct cli_run_options screen;
    struct tl_session_result result;
    struct tl_error error = {0};
    bool has_result = false;
    int exit_code;
    if (!cli_parse_run_options(command, 1, words, &screen, &exit_code))
        return exit_code;
    screen.color = options->screen.color;
    screen.no_mouse = options->screen.no_mouse;
    screen.config.rules = rules;
    screen.packets = pcap;
    if (cli_drive_screen(&screen, NULL, &result, &has_result, &error) != TL_OK)
        return cli_fail(&error);
    if (!has_result)
        return print_text(pcap, options);
    screen.brief = true;
    exit_code = cli_deliver(&screen, &result);
    tl_app_result_finish(&result);
    return exit_code;
}

/* Who names a saved run here is told what reads it. */
static enum tl_status open_capture(const struct pcap_options *options, const struct tl_rules *rules,
                                   struct tl_app_pcap **ret_pcap, struct tl_error *reterr)
{
    char *text = NULL;
    size_t len;
    enum tl_status status = tl_app_pcap_open(options->path, rules, ret_pcap, reterr);
    if (status == TL_SYNTAX && strcmp(options->path, "-") != 0 &&
        cli_read_document(options->path, &text, &len, NULL) == TL_OK)
        (void)tl_error_set(reterr, status,
                           "%.200s is no capture; a saved run is explained by: tightlink explain "
                           "%.200s",
                           options->path, options->path);
    free(text);
    return status;
}

int cli_pcap(const struct cli_command *command, int argc, char **argv)
{
    struct pcap_options options = {0};
    struct tl_rules *rules = NULL;
    struct tl_app_pcap *pcap = NULL;
    struct tl_buf notices = TL_BUF_INIT;
    struct tl_error error = {0};
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    int exit_code;
    if (!cli_take_options(&words, pcap_table, &options))
        return words.exit_code;
    if (words.argc != 1)
        return cli_usage(command, "name one capture file, or - for standard input");
    options.path = words.argv[0];
    enum tl_status status = tl_app_load_rules(&rules, &notices, &error);
    if (status == TL_OK && notices.len)
        cli_complain("%s", tl_buf_text(&notices));
    if (status == TL_OK)
        status = open_capture(&options, rules, &pcap, &error);
    if (status == TL_OK && wants_screen(&options)) {
        exit_code = show(command, pcap, rules, &options);
    } else if (status == TL_OK) {
        exit_code = options.json ? print_json(pcap, &options) : print_text(pcap, &options);
        if (options.save && exit_code != CLI_EXIT_USAGE)
            exit_code = save(pcap, &options, exit_code);
    } else {
        cli_complain("%s", error.text);
        exit_code = CLI_EXIT_USAGE;
    }
    tl_app_pcap_close(pcap);
    tl_rules_destroy(rules);
    tl_buf_finish(&notices);
    return exit_code;
}
