/* tightlink fix: applies the remedy of a saved run to this machine, verifies it, sets it back
 * unless told to keep it; undoes what an earlier one left. The only command that changes a
 * setting. */
#include "cause.h"
#include "cli.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/app/open.h"
#include "tightlink/base/units.h"
#include "tightlink/facts/told.h"
#include "tightlink/fix/fix.h"
#include "tightlink/rules/rules.h"
#include "words.h"

struct fix_options {
    struct cli_run_options run; /* of the measurement afterwards */
    bool dry_run, apply, keep, undo, measure, at_far_end, other_host;
    const char *cause;
};

/* A remedy that can be applied here, and what it would change. */
struct chosen {
    const struct tl_finding *finding;
    const struct tl_remedy *remedy;
    struct tl_fix fix;
};

/* A label and its text, wrapped between words to 80 columns. */
static void put_line(const char *label, const char *text)
{
    enum { INDENT = 12, WIDTH = 80 - INDENT };
    if (!text[0])
        return;
    printf("  %-9s ", label);
    while (strlen(text) > WIDTH) {
        size_t len = WIDTH;
        while (len > 0 && text[len] != ' ')
            len--;
        if (len == 0)
            len = strcspn(text, " ");
        struct tl_buf line = TL_BUF_INIT;
        tl_buf_add(&line, text, len);
        cli_put_clean(tl_buf_text(&line), stdout);
        tl_buf_finish(&line);
        text += len + strspn(text + len, " ");
        if (*text)
            printf("\n%*s", INDENT, "");
    }
    cli_put_clean(text, stdout);
    putchar('\n');
}

static bool is_asked_about(const struct tl_finding *finding, const struct tl_findings *findings,
                           const char *cause)
{
    if (finding->result != TL_FOUND)
        return false;
    if (cause)
        return strcmp(finding->cause, cause) == 0;
    return findings->verdict.cause && strcmp(finding->cause, findings->verdict.cause) == 0 &&
           finding->direction == findings->verdict.direction;
}

static bool is_for_here(const struct tl_remedy *remedy, bool at_far_end)
{
    return strcmp(remedy->where, at_far_end ? "far-host" : "near-host") == 0 &&
           (!remedy->os[0] || strcmp(remedy->os, "linux") == 0);
}

/* The first remedy that changes something here. What is wrong with the others is told. */
static bool choose(const struct tl_findings *findings, const struct fix_options *options,
                   struct chosen *ret_chosen, struct tl_error *reterr)
{
    bool any = false;
    for (size_t f = 0; f < findings->finding_count; f++) {
        const struct tl_finding *finding = &findings->findings[f];
        if (!is_asked_about(finding, findings, options->cause))
            continue;
        for (size_t r = 0; r < finding->remedy_count; r++) {
            const struct tl_remedy *remedy = &finding->remedies[r];
            struct tl_fix fix = {.root = TL_FIX_ROOT};
            struct tl_error error;
            if (!is_for_here(remedy, options->at_far_end))
                continue;
            if (tl_fix_parse(remedy->does, &fix, &error) == TL_OK &&
                tl_fix_read(&fix, &error) == TL_OK) {
                if (fix.count) {
                    *ret_chosen = (struct chosen){finding, remedy, fix};
                    return true;
                }
                (void)tl_error_set(&error, TL_OK, "it is set so already");
            }
            if (!any)
                puts("Not applied by tightlink:");
            any = true;
            put_line("", remedy->does);
            put_line("", error.text);
        }
    }
    (void)tl_error_set(reterr, TL_UNSUPPORTED,
                       any ? "nothing of it can be applied here"
                           : "%s names no remedy for this machine%s",
                       options->cause ? options->cause : "the verdict of this run",
                       options->at_far_end ? "" : "; at the far end of that run, add --far-end");
    return false;
}

static void describe(const struct chosen *chosen, bool dry_run)
{
    char rate[TL_UNIT_TEXT_SIZE];
    put_line("cause", chosen->finding->cause);
    put_line("because", chosen->finding->sentence);
    printf("%s on this machine, until its next start:\n", dry_run ? "Would change" : "Changes");
    for (size_t i = 0; i < chosen->fix.count; i++) {
        put_line("setting", chosen->fix.settings[i].key);
        put_line("now", chosen->fix.settings[i].before);
        put_line("then", chosen->fix.settings[i].after);
    }
    put_line("why", chosen->remedy->why);
    put_line("risk", chosen->remedy->risk);
    if (chosen->remedy->promised)
        put_line(isinf(chosen->remedy->predicted.high_bps) ? "at least" : "brings",
                 tl_format_bps_known(chosen->remedy->predicted.bps,
                                     TL_PREDICTION_DOUBT * chosen->remedy->predicted.bps, rate));
    put_line("for good", chosen->remedy->persist);
    fflush(stdout);
}

/* The run again, over the same path. An exit code; *ret_bps is NAN where no rate was measured. */
static int measure_again(struct fix_options *options, const struct tl_run *run,
                         enum tl_direction direction, double *ret_bps)
{
    struct tl_session_result result = {0};
    struct tl_error error = {0};
    struct tl_rules *rules = NULL;
    int exit_code = CLI_EXIT_OK;
    *ret_bps = (double)NAN;
    enum tl_status status = cli_load_rules(&rules, &error);
    struct tl_app_target target;
    tl_app_target_of_run(run, NULL, &target);
    tl_app_config_of_run(run, &target, &options->run.config);
    options->run.config.download = direction == TL_DOWNLOAD;
    options->run.config.upload = direction == TL_UPLOAD;
    options->run.config.rules = rules;
    if (status == TL_OK)
        status = cli_drive_session(&options->run, &result, &error);
    if (status == TL_OK && result.status != TL_OK) {
        status = result.status;
        error = result.error;
    }
    if (status == TL_OK) {
        *ret_bps = tl_facts_number(result.facts, TL_FLOW(direction, goodput_bps), (double)NAN);
        exit_code = isnan(*ret_bps) ? CLI_EXIT_INCONCLUSIVE : CLI_EXIT_OK;
    } else {
        exit_code = cli_fail(&error);
    }
    tl_app_result_finish(&result);
    tl_rules_destroy(rules);
    return exit_code;
}

static void compare(const struct chosen *chosen, const struct tl_facts *before, double after)
{
    struct tl_fact_key rate = TL_FLOW(chosen->finding->direction, goodput_bps);
    char text[TL_UNIT_TEXT_SIZE];
    const struct tl_prediction *predicted = &chosen->remedy->predicted;
    put_line("before", tl_format_bps(tl_facts_number(before, rate, (double)NAN), text));
    put_line("after", tl_format_bps(after, text));
    static const char *const words[TL_SCORES] = {
        [TL_SCORE_MISS] = "MISS",
        [TL_SCORE_HIT] = "HIT",
        [TL_SCORE_INSIDE] = "INSIDE",
        [TL_SCORE_BOUND] = "BOUND",
    };
    if (predicted->bps > 0 && after > 0)
        put_line(words[tl_prediction_score(predicted, after)], "against what was predicted");
    fflush(stdout);
}

static void tell_step(const char *step, const char *key, void *context)
{
    put_line(step, key);
    fflush(stdout);
}

/* With signals held back, so that Ctrl-C comes before or after, never in between. */
static int apply_held(struct fix_options *options, const struct chosen *chosen,
                      const struct tl_session_result *result)
{
    char directory[TL_FIX_PATH_SIZE], undo[TL_FIX_PATH_SIZE];
    struct tl_error error = {0};
    int lock = -1;
    enum tl_status status = tl_fix_directory(directory, &error);
    if (status == TL_OK)
        status = tl_fix_lock(directory, &lock, &error);
    if (status == TL_OK)
        status = tl_fix_undo_write(&chosen->fix, directory, undo, &error);
    if (status != TL_OK) {
        tl_error_prefix(&error, "nothing was changed");
        if (lock >= 0)
            close(lock);
        return cli_fail(&error);
    }
    put_line("undo", undo);
    status = tl_fix_apply(&chosen->fix, tell_step, NULL, &error);
    bool back = status != TL_OK || !options->keep;
    int exit_code = status == TL_OK ? CLI_EXIT_OK : cli_fail(&error);
    if (status == TL_OK && options->measure) {
        double after_bps;
        exit_code = measure_again(options, &result->run, chosen->finding->direction, &after_bps);
        compare(chosen, result->facts, after_bps);
    }
    if (back) {
        status = tl_fix_restore(&chosen->fix, tell_step, NULL, &error);
        if (status == TL_OK)
            status = tl_fix_undo_remove(undo, &error);
        if (status == TL_OK)
            puts("Everything is as it was. To keep the change: tightlink fix --apply --keep");
        else
            exit_code = cli_fail(&error);
    } else {
        puts("Kept until this machine's next start. Back to before: tightlink fix --undo");
    }
    close(lock);
    return exit_code;
}

static int apply(struct fix_options *options, const struct chosen *chosen,
                 const struct tl_session_result *result)
{
    sigset_t signals, before;
    struct tl_error error = {0};
    if (geteuid() != 0) {
        cli_complain("changing a setting needs root; as you are, --dry-run shows the change");
        return CLI_EXIT_USAGE;
    }
    const char *why = options->measure ? tl_app_why_not_again(&result->run) : NULL;
    if (why) {
        cli_complain("--measure: %s; nothing was changed", why);
        return CLI_EXIT_USAGE;
    }
    if (options->measure && cli_consent_possible(&options->run, &error) != TL_OK) {
        tl_error_prefix(&error, "nothing was changed");
        return cli_fail(&error);
    }
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, &before);
    int exit_code = apply_held(options, chosen, result);
    fflush(stdout);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return exit_code;
}

/* What the newest undo file holds, set back. */
static int undo_held(void)
{
    char directory[TL_FIX_PATH_SIZE], path[TL_FIX_PATH_SIZE];
    struct tl_error error = {0};
    struct tl_fix fix;
    size_t left = 0;
    int lock = -1;
    if (geteuid() != 0) {
        cli_complain("setting back needs root: sudo tightlink fix --undo");
        return CLI_EXIT_USAGE;
    }
    enum tl_status status = tl_fix_directory(directory, &error);
    if (status == TL_OK)
        status = tl_fix_lock(directory, &lock, &error);
    if (status == TL_OK)
        status = tl_fix_undo_find(directory, path, &left, &error);
    if (status == TL_OK)
        status = tl_fix_undo_read(path, &fix, &error);
    if (status == TL_OK) {
        put_line("undo", path);
        status = tl_fix_restore(&fix, tell_step, NULL, &error);
    }
    if (status == TL_OK)
        status = tl_fix_undo_remove(path, &error);
    if (lock >= 0)
        close(lock);
    if (status != TL_OK)
        return cli_fail(&error);
    puts("Everything is as it was before that change.");
    if (left)
        printf("%zu earlier %s kept: tightlink fix --undo again.\n", left,
               left == 1 ? "change is" : "changes are");
    return CLI_EXIT_OK;
}

static const struct cli_option fix_table[] = {
    {CLI_FLAG("dry-run", struct fix_options, dry_run)},
    {CLI_FLAG("apply", struct fix_options, apply)},
    {CLI_FLAG("keep", struct fix_options, keep)},
    {CLI_FLAG("undo", struct fix_options, undo)},
    {CLI_FLAG("measure", struct fix_options, measure)},
    {CLI_FLAG("far-end", struct fix_options, at_far_end)},
    {CLI_FLAG("other-host", struct fix_options, other_host)},
    {CLI_TEXT("cause", struct fix_options, cause)},
    {CLI_PORT("port", struct fix_options, run.config.port)},
    {CLI_FLAG("yes", struct fix_options, run.yes)},
    {.name = NULL},
};

/* What is wrong with what was asked for; NULL when nothing is. */
static const char *contradiction(const struct fix_options *options, int operands)
{
    if (options->dry_run + options->apply + options->undo != 1)
        return "say one of --dry-run, --apply and --undo";
    if (options->undo && operands)
        return "--undo takes no file: it restores what the last change found";
    if (!options->undo && operands != 1)
        return "name one saved run";
    if ((options->keep || options->measure) && !options->apply)
        return "--keep and --measure go with --apply";
    return NULL;
}

/* A file from elsewhere is reckoned from another host's numbers, and may be made to look like a
 * remedy. Who says that this is the far end of that run, or --other-host, was asked and means it.
 */
static enum tl_status check_origin(const struct fix_options *options, const struct tl_run *run,
                                   struct tl_error *reterr)
{
    if (options->at_far_end || options->other_host)
        return TL_OK;
    enum tl_status status = tl_app_is_own_run(run, reterr);
    if (status != TL_OK && strlen(reterr->text) + 80 < sizeof reterr->text)
        strcat(reterr->text, "; to apply its remedy here all the same, add --other-host");
    return status;
}

/* A dry run shows all of it and ends as the change would. */
static int show_or_apply(struct fix_options *options, const struct chosen *chosen,
                         const struct tl_session_result *result)
{
    struct tl_error error = {0};
    enum tl_status origin = check_origin(options, &result->run, &error);
    if (origin == TL_OK || options->dry_run)
        describe(chosen, options->dry_run);
    if (origin != TL_OK) {
        fflush(stdout);
        cli_complain("%s", error.text);
        return CLI_EXIT_USAGE;
    }
    return options->dry_run ? CLI_EXIT_OK : apply(options, chosen, result);
}

/* --cause as its id; false: there is none of that name. */
static bool find_cause(struct fix_options *options, struct tl_error *reterr)
{
    const char *cause = options->cause ? cli_cause_id(options->cause) : NULL;
    if (options->cause && !cause) {
        struct tl_nearest nearest = cli_cause_near(options->cause);
        (void)tl_error_set(reterr, TL_USAGE, "there is no cause \"%.60s\"%s", options->cause,
                           nearest.word ? tl_nearest_text(&nearest) : "; see: tightlink why-not");
        return false;
    }
    options->cause = cause;
    return true;
}

int cli_fix(const struct cli_command *command, int argc, char **argv)
{
    struct fix_options options = {.run.config = {.port = CLI_DEFAULT_PORT}};
    struct tl_session_result result = {0};
    struct tl_error error = {0};
    struct chosen chosen;
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    int exit_code;
    if (!cli_take_options(&words, fix_table, &options))
        return words.exit_code;
    const char *wrong = contradiction(&options, words.argc);
    if (wrong)
        return cli_usage(command, "%s", wrong);
    if (options.undo)
        return undo_held();
    if (!find_cause(&options, &error))
        return cli_usage(command, "%s", error.text);
    if (!cli_open_run(words.argv[0], &result)) {
        exit_code = CLI_EXIT_USAGE;
    } else if (!choose(result.findings, &options, &chosen, &error)) {
        fflush(stdout);
        exit_code = cli_fail(&error);
    } else {
        exit_code = show_or_apply(&options, &chosen, &result);
    }
    tl_app_result_finish(&result);
    return exit_code;
}
