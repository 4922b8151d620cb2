/* tightlink ticket: hands a run to a ticket system, once; shows and sends the outbox. */
#include "cli.h"

#include <stdlib.h>

#if TL_WITH_TICKETS

#include "keep.h"
#include "pager.h"
#include "tightlink/app/open.h"
#include "tightlink/app/send.h"
#include "tightlink/base/time.h"
#include "words.h"

struct request {
    const char *to, *comment_on, *config_path, *operand;
    enum tl_app_masks masks;
    bool list, retry, dry_run, print_curl, targets;
};

/* --- What is sent ---------------------------------------------------------------------------- */

struct parcel {
    struct tl_session_result result;
    struct tl_app_leaving leaving;
    struct tl_app_parcel texts;
    struct tl_ticket_message message;
};

static enum tl_status pack(struct parcel *parcel, const struct request *request,
                           struct tl_error *reterr)
{
    enum tl_status status = cli_judge_file(request->operand, &parcel->result, reterr);
    if (status == TL_OK)
        status = tl_app_leave(&parcel->result, request->masks, &parcel->leaving, reterr);
    if (status == TL_OK)
        status = tl_app_pack(parcel->leaving.export, &parcel->texts, reterr);
    parcel->message = tl_app_message(&parcel->texts, parcel->result.run.id, request->comment_on);
    return status;
}

static void unpack(struct parcel *parcel)
{
    tl_app_unpack(&parcel->texts);
    tl_app_leaving_finish(&parcel->leaving);
    tl_app_result_finish(&parcel->result);
}

/* --- Sending --- */

static int failed(const struct tl_error *error)
{
    (void)cli_fail(error);
    switch (error->status) {
    case TL_AUTH:
        return CLI_EXIT_AUTH;
    case TL_UNKNOWN:
    case TL_USAGE:
    case TL_SYNTAX:
        return CLI_EXIT_USAGE;
    default:
        return CLI_EXIT_EXPORT;
    }
}

static enum tl_status open_outbox(struct tl_outbox **ret_outbox, struct tl_error *reterr)
{
    enum tl_status status = tl_outbox_open(NULL, ret_outbox, reterr);
    if (status == TL_OK && tl_outbox_notice(*ret_outbox)[0])
        cli_complain("%s", tl_outbox_notice(*ret_outbox));
    return status;
}

static int tell(const struct tl_ticket_result *result, const char *target, enum tl_status status,
                const struct tl_error *error)
{
    if (status != TL_OK) {
        int exit_code = failed(error);
        if (result->waits)
            cli_complain("it stays in the outbox: tightlink ticket --retry sends it");
        return exit_code;
    }
    cli_put_clean(target, stdout);
    printf(" %s%s\n", result->ticket, result->existed ? " (it was there already)" : "");
    return CLI_EXIT_OK;
}

static int preview(const struct tl_ticket_config *config, const struct request *request,
                   const struct parcel *parcel)
{
    struct tl_buf out = TL_BUF_INIT;
    struct tl_error error = {0};
    int exit_code = CLI_EXIT_OK;
    cli_page();
    enum tl_status status =
        tl_ticket_plan(config, request->to, &parcel->message, request->print_curl, &out, &error);
    if (status == TL_OK && request->dry_run) {
        tl_buf_addf(&out, "\nTitle: [tightlink %s] %s\n\n%s", parcel->message.run_id,
                    parcel->message.title, parcel->message.text);
        size_t masks = parcel->leaving.redactor ? tl_redactor_count(parcel->leaving.redactor) : 0;
        tl_buf_addf(&out, "\n%zu value%s masked%s\n", masks, masks == 1 ? " is" : "s are",
                    masks ? ":" : ".");
        for (size_t i = 0; i < masks; i++) {
            struct tl_mask mask = tl_redactor_at(parcel->leaving.redactor, i);
            tl_buf_addf(&out, "  %-14s stands for %.200s\n", mask.mask, mask.value);
        }
    }
    if (status != TL_OK)
        exit_code = failed(&error);
    else if (request->dry_run) /* masked values are as the file had them */
        cli_put_clean_lines(tl_buf_text(&out), stdout);
    else if (!cli_write_stdout(tl_buf_text(&out), out.len))
        exit_code = CLI_EXIT_EXPORT;
    else /* whoever runs the script sends these masks */
        cli_keep_masks(parcel->leaving.redactor, parcel->result.run.id);
    tl_buf_finish(&out);
    return exit_code;
}

static int send_run(const struct tl_ticket_config *config, const struct request *request)
{
    struct parcel parcel = {0};
    struct tl_outbox *outbox = NULL;
    struct tl_ticket_result result = {0};
    struct tl_error error = {0};
    int exit_code;
    enum tl_status status = pack(&parcel, request, &error);
    if (status != TL_OK) {
        (void)cli_fail(&error);
        exit_code = CLI_EXIT_USAGE;
    } else if (request->dry_run || request->print_curl) {
        exit_code = preview(config, request, &parcel);
    } else if (open_outbox(&outbox, &error) != TL_OK) {
        exit_code = failed(&error);
    } else {
        status = tl_ticket_send(config, outbox, request->to, &parcel.message, &result, &error);
        exit_code = tell(&result, request->to, status, &error);
        if (status == TL_OK && !result.existed)
            cli_keep_masks(parcel.leaving.redactor, parcel.result.run.id);
    }
    tl_outbox_close(outbox);
    unpack(&parcel);
    return exit_code;
}

/* --- The outbox --- */

static bool print_row(const struct tl_outbox_row *row, void *context)
{
    int *count = context;
    char when[TL_TIME_TEXT_SIZE];
    tl_time_format_utc(row->created_ns, when);
    printf("%4lld  %.16sZ  %-8s ", (long long)row->id, when, tl_outbox_state_name(row->state));
    cli_put_clean(row->target, stdout);
    printf(" %s  %.10s\n", row->ticket[0] ? row->ticket : "-", row->run);
    if (row->error[0] && row->state != TL_OUTBOX_SENT) {
        fputs("      ", stdout);
        cli_put_clean(row->error, stdout);
        putchar('\n');
    }
    ++*count;
    return !ferror(stdout);
}

static int list_rows(void)
{
    struct tl_outbox *outbox = NULL;
    struct tl_error error = {0};
    int count = 0;
    enum tl_status status = open_outbox(&outbox, &error);
    if (status == TL_OK)
        status = tl_outbox_each(outbox, 0, print_row, &count, &error);
    tl_outbox_close(outbox);
    if (status != TL_OK)
        return failed(&error);
    if (!count)
        cli_complain("the outbox is empty: tightlink ticket RUN --to NAME sends a run");
    return CLI_EXIT_OK;
}

#define RETRY_MAX 1000

struct due {
    int64_t ids[RETRY_MAX];
    char names[RETRY_MAX][TL_TICKET_NAME_SIZE];
    size_t count;
};

static bool take_due(const struct tl_outbox_row *row, void *context)
{
    struct due *due = context;
    due->ids[due->count] = row->id;
    snprintf(due->names[due->count++], TL_TICKET_NAME_SIZE, "%s", row->target);
    return due->count < RETRY_MAX;
}

/* What waits and whose time has come. */
static int retry_rows(const struct tl_ticket_config *config)
{
    struct tl_outbox *outbox = NULL;
    struct tl_error error = {0};
    struct due *due = calloc(1, sizeof *due);
    int exit_code = CLI_EXIT_OK;
    enum tl_status status = due ? open_outbox(&outbox, &error)
                                : tl_error_set(&error, TL_NOMEM, "no memory for the outbox");
    if (status == TL_OK)
        status = tl_outbox_each(outbox, tl_realtime_ns(), take_due, due, &error);
    if (status != TL_OK)
        exit_code = failed(&error);
    for (size_t i = 0; status == TL_OK && i < due->count; i++) {
        struct tl_ticket_result result = {0};
        enum tl_status sent = tl_ticket_retry(config, outbox, due->ids[i], &result, &error);
        int one = tell(&result, due->names[i], sent, &error);
        exit_code = one ? one : exit_code;
    }
    if (status == TL_OK && !due->count)
        cli_complain("nothing in the outbox is due (tightlink ticket --list shows it)");
    tl_outbox_close(outbox);
    free(due);
    return exit_code;
}

static int list_targets(const struct tl_ticket_config *config)
{
    for (size_t i = 0; i < tl_ticket_target_count(config); i++) {
        struct tl_ticket_target_info target = tl_ticket_target_at(config, i);
        printf("%-20s %-12s %s\n", target.name, target.system, target.url);
    }
    if (!tl_ticket_target_count(config))
        cli_complain("%s names no ticket system", tl_ticket_config_path(config));
    return CLI_EXIT_OK;
}

/* --- Options --- */

static const struct cli_option options[] = {
    {CLI_TEXT("to", struct request, to)},
    {CLI_TEXT("comment-on", struct request, comment_on)},
    {CLI_TEXT("config", struct request, config_path)},
    {CLI_FLAG("list", struct request, list)},
    {CLI_FLAG("retry", struct request, retry)},
    {CLI_FLAG("dry-run", struct request, dry_run)},
    {CLI_FLAG("print-curl", struct request, print_curl)},
    {CLI_SET("unmask", struct request, masks, enum tl_app_masks, TL_APP_MASKS_NONE)},
    {CLI_SET("site-masks", struct request, masks, enum tl_app_masks, TL_APP_MASKS_SITE)},
    {CLI_FLAG("targets", struct request, targets)},
    {.name = NULL},
};

int cli_ticket(const struct cli_command *command, int argc, char **argv)
{
    struct request request = {0};
    struct tl_ticket_config *config = NULL;
    struct tl_error error = {0};
    int exit_code;
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    if (!cli_take_options(&words, options, &request))
        return words.exit_code;
    request.operand = words.argc ? words.argv[0] : NULL;
    if (words.argc > 1)
        return cli_usage(command, "one run only, not also \"%s\"", words.argv[1]);
    bool without_run = request.list || request.retry || request.targets;
    if (request.list + request.retry + request.targets > 1 ||
        without_run == (request.operand != NULL))
        return cli_usage(command, "name a run and --to NAME, or one of --list, --retry, --targets");
    if (request.operand && !request.to)
        return cli_usage(command, "which system? --to NAME; --targets lists them");
    if (request.list)
        return list_rows();
    if (tl_ticket_config_load(request.config_path, &config, &error) != TL_OK)
        return failed(&error);
    exit_code = request.targets ? list_targets(config)
                : request.retry ? retry_rows(config)
                                : send_run(config, &request);
    tl_ticket_config_destroy(config);
    return exit_code;
}

#else

int cli_ticket(const struct cli_command *command, int argc, char **argv)
{
    return cli_usage(command, "this tightlink was built without ticket systems (libcurl and inih)");
}

#endif
