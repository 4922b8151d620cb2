/* tightlink telemetry RUN --to NAME, and run --telemetry NAME: a run for systems that watch. */
#include "telemetry.h"
#include "words.h"

#include <math.h>

#include "tightlink/app/open.h"

#if TL_WITH_TICKETS

#include "tightlink/app/leave.h"
#include "tightlink/store/history.h"
#include "tightlink/ticket/telemetry.h"

static double number(const struct tl_facts *facts, struct tl_fact_key key)
{
    return tl_facts_number(facts, key, (double)NAN);
}

static struct tl_telemetry_record make_record(const struct tl_export *export, bool moved)
{
    const struct tl_run *run = tl_export_run(export);
    const struct tl_facts *facts = tl_export_facts(export);
    const struct tl_verdict *verdict = &tl_export_findings(export)->verdict;
    enum tl_direction way = verdict->direction;
    struct tl_telemetry_record record = {
        .run_id = run->id,
        .tool_version = run->tool_version,
        .target = run->target_name,
        .direction = tl_direction_name(way),
        .state = tl_verdict_state_name(verdict->state),
        .cause = verdict->cause ? verdict->cause : "",
        .segment = verdict->segment ? verdict->segment : "",
        .sentence = verdict->sentence ? verdict->sentence : "",
        .quality = tl_quality_name(run->quality),
        .confidence = verdict->state == TL_LIMITED ? verdict->confidence : (double)NAN,
        .measured_bps = verdict->measured_bps,
        .ceiling_bps = verdict->ceiling_bps,
        .fixed_bps =
            verdict->fixed_promised && !verdict->fixed_at_least ? verdict->fixed_bps : (double)NAN,
        .stream_bps = number(facts, TL_FLOW(way, goodput_bps)),
        .streams_bps = number(facts, TL_FLOW(way, streams_goodput_bps)),
        .rtt_ns = tl_facts_number(facts, TL_PATH(rtt_min_ns), (double)NAN),
        .loaded_rtt_ns = number(facts, TL_FLOW(way, loaded_rtt_ns)),
        .retrans_ratio = number(facts, TL_FLOW(way, retrans_ratio)),
        .moved = moved,
    };
    if (tl_history_time(run->started, &record.time_ns) != TL_OK)
        record.time_ns = 0;
    return record;
}

static enum tl_status send_to(const struct tl_ticket_config *config, const char *sink,
                              const struct tl_session_result *result, bool moved,
                              struct tl_error *reterr)
{
    struct tl_app_leaving leaving = {0};
    bool unmask = false;
    enum tl_status status = tl_telemetry_unmask(config, sink, &unmask, reterr);
    if (status == TL_OK)
        status =
            tl_app_leave(result, unmask ? TL_APP_MASKS_NONE : TL_APP_MASKS_NEW, &leaving, reterr);
    if (status == TL_OK) {
        struct tl_telemetry_record record = make_record(leaving.export, moved);
        status = tl_telemetry_send(config, sink, &record, reterr);
    }
    tl_app_leaving_finish(&leaving);
    return status;
}

int cli_send_telemetry(const struct tl_session_result *result, const char *sink,
                       const char *config_path, bool moved)
{
    struct tl_ticket_config *config = NULL;
    struct tl_error error = {0};
    enum tl_status status = tl_ticket_config_load(config_path, &config, &error);
    if (status == TL_OK)
        status = send_to(config, sink, result, moved, &error);
    tl_ticket_config_destroy(config);
    if (status == TL_OK)
        return CLI_EXIT_OK;
    cli_complain("telemetry %s: %s", sink, error.text[0] ? error.text : tl_status_text(status));
    return status == TL_UNKNOWN || status == TL_SYNTAX ? CLI_EXIT_USAGE
           : status == TL_AUTH                         ? CLI_EXIT_AUTH
                                                       : CLI_EXIT_EXPORT;
}

#else

int cli_send_telemetry(const struct tl_session_result *result, const char *sink,
                       const char *config_path, bool moved)
{
    cli_complain("telemetry %s: this tightlink was built without libcurl and inih", sink);
    return CLI_EXIT_USAGE;
}

#endif

struct sending {
    const char *sink, *config_path;
};

static const struct cli_option options[] = {
    {CLI_TEXT("to", struct sending, sink)},
    {CLI_TEXT("config", struct sending, config_path)},
    {.name = NULL},
};

int cli_telemetry(const struct cli_command *command, int argc, char **argv)
{
    struct sending sending = {NULL, NULL};
    struct tl_session_result result = {0};
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    int exit_code = CLI_EXIT_USAGE;
    if (!cli_take_options(&words, options, &sending))
        return words.exit_code;
    if (words.argc != 1 || !sending.sink)
        return cli_usage(command, "name a run and --to NAME");
    if (cli_open_run(words.argv[0], &result))
        exit_code = cli_send_telemetry(&result, sending.sink, sending.config_path, false);
    tl_app_result_finish(&result);
    return exit_code;
}
