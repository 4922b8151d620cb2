/* Results to stdout; when that fails, to a file, so that nothing measured is lost. */
#include "cli.h"
#include "pager.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/app/files.h"
#include "tightlink/app/pcap.h"
#include "tightlink/base/fd.h"
#include "tightlink/base/units.h"
#include "tightlink/present/report.h"
#include "tightlink/rules/goal.h"

/* The narrowest terminal that text is broken for. */
#define PARAGRAPH_COLUMNS 24

int cli_refuse_taken(const char *path)
{
    char name[PATH_MAX];
    bool free = tl_app_free_name(path, name, sizeof name);
    cli_complain("%s is there already and stays as it is%s%s", path,
                 free ? "; this name is free: " : "; name a new file", free ? name : "");
    return CLI_EXIT_EXPORT;
}

const char *cli_out_path(const char *path)
{
    return strcmp(path, "-") == 0 ? NULL : path;
}

bool cli_reader_has_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

bool cli_write_stdout(const char *text, size_t len)
{
    return (fflush(stdout) == 0 && tl_fd_write(STDOUT_FILENO, text, len)) || errno == EPIPE;
}

static int terminal_width(void)
{
    int columns = cli_stdout_columns();
    return columns > 120 ? 120 : columns >= 60 ? columns : 80;
}

/* Sentences fit where tables do not. Who reads from a pipe breaks lines himself. */
static int paragraph_width(void)
{
    int columns = cli_stdout_columns();
    return !cli_stdout_is_terminal()      ? INT_MAX / 2
           : columns > 120                ? 120
           : columns >= PARAGRAPH_COLUMNS ? columns
                                          : 80;
}

void cli_print_paragraph(const char *text)
{
    struct tl_page page;
    struct tl_buf out = TL_BUF_INIT;
    tl_page_init(&page, paragraph_width(), cli_locale_is_utf8());
    tl_page_paragraph(&page, TL_SAID_PLAIN, 0, TL_LINE_TEXT, TL_LINE_TEXT, text);
    if (tl_page_print(&page, false, &out) == TL_OK)
        (void)cli_write_stdout(tl_buf_text(&out), out.len);
    tl_page_finish(&page);
    tl_buf_finish(&out);
}

bool cli_print_lines(const char *text)
{
    struct tl_page page;
    struct tl_buf out = TL_BUF_INIT;
    tl_page_init(&page, cli_stdout_is_terminal() ? terminal_width() : 80, cli_locale_is_utf8());
    tl_page_add_lines(&page, text);
    bool written =
        tl_page_print(&page, false, &out) == TL_OK && cli_write_stdout(tl_buf_text(&out), out.len);
    tl_page_finish(&page);
    tl_buf_finish(&out);
    return written;
}

static struct tl_text_style style_of_stdout(enum cli_color color)
{
    bool terminal = cli_stdout_is_terminal();
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    return (struct tl_text_style){
        .width = terminal ? terminal_width() : 80,
        .color =
            color == CLI_COLOR_ALWAYS || (color == CLI_COLOR_AUTO && terminal && term &&
                                          strcmp(term, "dumb") != 0 && !(no_color && *no_color)),
        .utf8 = cli_locale_is_utf8(),
    };
}

/* Tries to keep text in a new file of directory; says where on success. */
static bool keep_in(const char *directory, const char *run_id, const char *text, size_t len)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/tightlink-%s.json", directory, run_id);
    if (n < 0 || (size_t)n >= sizeof path)
        return false;
    if (tl_app_create_file(path, text, len) != 0)
        return false;
    cli_complain("the run is kept in %s; print it with: tightlink explain %s", path, path);
    return true;
}

/* stdout failed: keep the document where there is room. */
static int keep(const struct tl_session_result *result, const char *json, size_t len)
{
    cli_complain("writing the result failed: %s", strerror(errno));
    const char *const directories[] = {getenv("XDG_STATE_HOME"), getenv("HOME"), getenv("TMPDIR"),
                                       "/var/tmp", "/tmp"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        if (directories[i] && directories[i][0] == '/' &&
            keep_in(directories[i], result->run.id, json, len))
            return CLI_EXIT_EXPORT;
    cli_complain("and no place was found to keep it. The verdict: %s",
                 result->findings->verdict.sentence);
    return CLI_EXIT_EXPORT;
}

/* Who wanted nothing kept went with the terminal; a demo is made again at will. */
static bool may_be_lost(const struct cli_run_options *options)
{
    const char *kind = options->config.target_kind;
    bool demo = kind && strcmp(kind, "demo") == 0;
    return (errno == EIO && (options->no_history || demo)) || (errno == EPIPE && demo);
}

/* stdout failed. Of what is kept already a reader that has gone has had enough. */
static int not_written(const struct cli_run_options *options,
                       const struct tl_session_result *result, const struct tl_buf *json,
                       int exit_code)
{
    bool is_kept = options->kept || options->saved_name;
    if (may_be_lost(options) || (is_kept && errno == EPIPE))
        return exit_code;
    if (!is_kept)
        return keep(result, json->data, json->len);
    cli_complain("writing the result failed: %s%s%s", strerror(errno),
                 options->kept ? "; it is in the history: tightlink explain " : "",
                 options->kept ? result->run.id : "");
    return CLI_EXIT_EXPORT;
}

/* Whether a loading stage began, whatever came of it. */
static bool was_loaded(const struct tl_run *run)
{
    for (int i = 0; i < run->stage_count; i++)
        if (tl_session_stage_loads(run->stages[i].id) && run->stages[i].duration_ns > 0)
            return true;
    return false;
}

/* The rate was measured and lies below the goal without doubt, whatever the cause. */
static bool missed_goal(const struct tl_session_result *result)
{
    struct tl_fact goodput;
    tl_facts_get(result->facts, TL_FLOW(result->findings->verdict.direction, goodput_bps),
                 &goodput);
    return tl_goal_is_missed(result->run.goal.bps, &goodput);
}

enum cli_exit cli_exit_for_result(const struct tl_session_result *result)
{
    const struct tl_verdict *verdict = result->findings ? &result->findings->verdict : NULL;
    if (result->status == TL_CANCELLED || result->status == TL_AUTH)
        return cli_exit_for(result->status);
    /* A far end that went away in the middle was reached; one that refuses us, or has no
     * session free, was not. */
    if (result->status != TL_OK && !result->answered)
        return result->status == TL_NOMEM ? CLI_EXIT_INCONCLUSIVE : CLI_EXIT_UNREACHABLE;
    if (result->status == TL_OK && verdict && verdict->state == TL_INCONCLUSIVE &&
        (missed_goal(result) || tl_goal_outcome(&result->run, result->facts) == TL_GOAL_FAIL))
        return CLI_EXIT_MISSED;
    if (result->status != TL_OK || !verdict || verdict->state == TL_INCONCLUSIVE ||
        verdict->state == TL_VERDICT_INVALID)
        return CLI_EXIT_INCONCLUSIVE;
    if (verdict->state == TL_LIMITED && result->run.goal.bps > 0)
        return CLI_EXIT_MISSED;
    switch (tl_goal_outcome(&result->run, result->facts)) {
    case TL_GOAL_FAIL:
        return CLI_EXIT_MISSED;
    case TL_GOAL_CANNOT_TELL:
        return CLI_EXIT_INCONCLUSIVE;
    default:
        return CLI_EXIT_OK;
    }
}

bool cli_print_parts(const struct tl_session_result *result, const enum tl_report_part *parts,
                     size_t count)
{
    struct tl_text_style style = style_of_stdout(CLI_COLOR_AUTO);
    struct tl_buf out = TL_BUF_INIT;
    struct tl_page page;
    tl_page_init(&page, style.width, style.utf8);
    for (size_t i = 0; i < count; i++)
        tl_report_part(&result->run, result->facts, result->findings, parts[i], &page);
    bool written = tl_page_print(&page, style.color, &out) == TL_OK &&
                   cli_write_stdout(tl_buf_text(&out), out.len);
    tl_page_finish(&page);
    tl_buf_finish(&out);
    return written;
}

/* What stays in a terminal that showed the screen: headline, fix, and where all of it is. */
static enum tl_status render_brief(const struct cli_run_options *options,
                                   const struct tl_session_result *result,
                                   const struct tl_text_style *style, struct tl_buf *out)
{
    struct tl_page page;
    tl_page_init(&page, paragraph_width(), style->utf8);
    tl_report_brief(&result->run, result->facts, result->findings, &page);
    if (options->kept)
        tl_page_addf(&page, TL_SAID_DIM, "All of it: tightlink explain %.26s", result->run.id);
    else if (options->saved_name || options->save)
        tl_page_addf(&page, TL_SAID_DIM, "All of it: tightlink explain %.200s",
                     options->saved_name ? options->saved_name : options->save);
    else
        tl_page_add(&page, TL_SAID_DIM, "All of it: --full prints it, --save FILE keeps it");
    tl_page_end_line(&page, TL_LINE_TEXT);
    enum tl_status status = tl_page_print(&page, style->color, out);
    tl_page_finish(&page);
    return status;
}

static enum tl_status render_text(const struct cli_run_options *options,
                                  const struct tl_session_result *result, struct tl_buf *out)
{
    struct tl_text_style style = style_of_stdout(options->color);
    if (options->brief && !options->full)
        return render_brief(options, result, &style, out);
    enum tl_status status =
        tl_report_text(&result->run, result->facts, result->findings, &style, out);
    if (status == TL_OK && options->explain_plan)
        status = tl_report_plan(&result->run, &style, out);
    return status;
}

static void print_known(const struct tl_session_result *result, struct tl_fact_key key,
                        const char *label)
{
    char text[TL_UNIT_TEXT_SIZE];
    struct tl_fact fact;
    tl_facts_get(result->facts, key, &fact);
    if (fact.state != TL_FACT_KNOWN)
        return;
    if (fact.unit == TL_UNIT_TEXT) {
        printf("  %-22s ", label);
        cli_put_clean(fact.text, stdout);
        putchar('\n');
        return;
    }
    if (fact.unit == TL_UNIT_NS)
        tl_format_ns(fact.number, text);
    else if (fact.unit == TL_UNIT_BPS)
        tl_format_bps(fact.number, text);
    else
        tl_format_bytes(fact.number, text);
    printf("  %-22s %s%s%s\n", label, text, fact.method && *fact.method ? ", " : "",
           fact.method ? fact.method : "");
}

/* Seen without a responder, and what that leaves open. Nothing when nothing answered. */
static void print_apart(const struct tl_session_result *result)
{
    const struct tl_run *run = &result->run;
    if (!result->answered || result->status == TL_CANCELLED)
        return;
    printf("Seen without a responder:\n");
    printf("  %-22s %s\n", "address", run->target_address);
    print_known(result, TL_PATH(connect_rtt_ns), "round trip");
    for (int i = 0; i < run->stage_count; i++) {
        if (!run->stages[i].reason[0] || strcmp(run->stages[i].id, "hosts") == 0)
            continue;
        printf("  %-22s ", run->stages[i].id);
        cli_put_clean(run->stages[i].reason, stdout);
        putchar('\n');
    }
    print_known(result, TL_NEAR(link_name), "interface here");
    print_known(result, TL_NEAR(link_speed_bps), "its speed");
    print_known(result, TL_NEAR(link_mtu_bytes), "its MTU");
    print_known(result, TL_NEAR(tcp_rmem_max_bytes), "receive buffer, most");
    print_known(result, TL_NEAR(tcp_wmem_max_bytes), "send buffer, most");
    puts("Left open: every rate, the windows in use, loss, delay under load, the far\n"
         "end's settings, its disks. To find out, start a responder there:\n"
         "  tightlink serve --open      (TCP and UDP port 5411)");
}

/* With the connections of its capture, where there is one. */
static enum tl_status write_document(const struct cli_run_options *options,
                                     const struct tl_session_result *result, struct tl_buf *out)
{
    bool pretty = !options->json_lines;
    if (options->pcap)
        return tl_app_pcap_add_to(options->pcap, result, pretty, out);
    return tl_document_write(&result->run, result->facts, result->findings, pretty, out);
}

int cli_deliver(const struct cli_run_options *options, const struct tl_session_result *result)
{
    struct tl_buf json = TL_BUF_INIT, text = TL_BUF_INIT;
    bool as_json = options->json || options->json_lines;
    int exit_code = (int)cli_exit_for_result(result);
    bool loaded = was_loaded(&result->run);
    /* Who stopped a test was answered when the signal came. */
    if (result->status != TL_OK && (result->status != TL_CANCELLED || !loaded))
        (void)cli_fail(&result->error);
    /* Where nothing was loaded the sentence above is the whole story for a person, but for
     * what was seen without a responder. */
    if (result->findings && result->status != TL_OK && !as_json && !loaded)
        print_apart(result);
    if (!result->findings || (result->status != TL_OK && !as_json && !loaded))
        return exit_code;
    enum tl_status status = write_document(options, result, &json);
    if (status == TL_OK && !as_json)
        status = render_text(options, result, &text);
    const struct tl_buf *out = as_json ? &json : &text;
    if (status != TL_OK) {
        struct tl_error error = {.status = status};
        exit_code = cli_fail(&error);
    } else if (!tl_fd_write(STDOUT_FILENO, out->data, out->len)) {
        exit_code = not_written(options, result, &json, exit_code);
    }
    tl_buf_finish(&json);
    tl_buf_finish(&text);
    return exit_code;
}
