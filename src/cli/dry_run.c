/* --dry-run: the stages, what each needs and costs at most. Sends nothing, and resolves
 * no name. */
#include "cli.h"

#include "tightlink/base/units.h"

static void print_stage(const struct tl_session_stage *stage)
{
    char time[TL_UNIT_TEXT_SIZE], bytes[TL_UNIT_TEXT_SIZE];
    tl_format_ns((double)stage->time_ns, time);
    tl_format_traffic((double)stage->bytes, bytes);
    printf("%-13s %-14s %7s  %-9s %s\n", stage->id, stage->when, time, stage->bytes ? bytes : "-",
           stage->needs[0] ? stage->needs : "-");
}

int cli_dry_run(const struct cli_run_options *options)
{
    struct tl_session_preview preview;
    struct tl_error error = {0};
    char time[TL_UNIT_TEXT_SIZE], bytes[TL_UNIT_TEXT_SIZE];
    if (tl_session_preview(&options->config, &preview, &error) != TL_OK)
        return cli_fail(&error);
    fputs("What a run to ", stdout);
    cli_put_clean(options->config.host, stdout);
    fputs(" could do; nothing was sent.\n\n", stdout);
    printf("%-13s %-14s %7s  %-9s %s\n", "stage", "when", "at most", "bytes", "needs");
    for (size_t i = 0; i < preview.count; i++)
        print_stage(&preview.stages[i]);
    tl_format_ns((double)preview.time_ns, time);
    tl_format_traffic((double)preview.bytes, bytes);
    printf("\nAll loading stages together take at most %s (more where a long round-trip\n"
           "time is found) and %s; the run ends as soon as nothing that is missing\n"
           "could change the verdict. Time is that of one direction%s.\n",
           time, bytes,
           options->config.download && options->config.upload ? "; two were asked for" : "");
    return CLI_EXIT_OK;
}
