/* tightlink history: the runs that were kept. What leaves by `export` is in history_export.c,
 * how a list looks in history_print.c. */
#include "history.h"

#include <string.h>

#include "keep.h"
#include "tightlink/app/open.h"
#include "tightlink/base/cause_name.h"
#include "tightlink/base/nearest.h"
#include "tightlink/facts/facts.h"
#include "words.h"

static enum tl_status take_direction(const char *text, void *into, struct tl_error *reterr)
{
    struct history_request *request = into;
    bool download, upload;
    enum tl_status status = cli_parse_direction(text, &download, &upload, reterr);
    if (status == TL_OK && download != upload)
        request->filter.direction = tl_direction_name(upload ? TL_UPLOAD : TL_DOWNLOAD);
    return status;
}

static enum tl_status take_cause(const char *text, void *into, struct tl_error *reterr)
{
    struct history_request *request = into;
    request->filter.cause = tl_cause_id_of(text);
    return TL_OK;
}

static enum tl_status take_limit(const char *text, void *into, struct tl_error *reterr)
{
    struct history_request *request = into;
    request->limit_given = true;
    return cli_parse_count(text, &request->filter.limit, reterr);
}

static const struct cli_option options[] = {
    {CLI_TEXT("target", struct history_request, filter.target)},
    {CLI_READ("cause", take_cause)},
    {CLI_READ("direction", take_direction)},
    {CLI_TEXT("tag", struct history_request, filter.tag)},
    {CLI_TEXT("text", struct history_request, filter.text)},
    {CLI_WHEN("since", struct history_request, filter.since_ns)},
    {CLI_WHEN("until", struct history_request, filter.until_ns)},
    {CLI_READ("limit", take_limit)},
    {CLI_FLAG("json", struct history_request, json)},
    {CLI_WHEN("before", struct history_request, before_ns)},
    {CLI_COUNT("keep", struct history_request, keep_count)},
    {CLI_FLAG("all", struct history_request, all)},
    {CLI_OUT("out", struct history_request, out)},
    {CLI_SET("unmask", struct history_request, masks, enum tl_app_masks, TL_APP_MASKS_NONE)},
    {CLI_SET("site-masks", struct history_request, masks, enum tl_app_masks, TL_APP_MASKS_SITE)},
    {.name = NULL},
};

/* --- Actions --------------------------------------------------------------------------------- */

typedef int act(const struct cli_command *command, struct history_request *request);

static int failed(const struct tl_error *error)
{
    (void)cli_fail(error);
    /* What else cli_exit_for() says of these speaks of a far end. */
    switch (error->status) {
    case TL_IO:
    case TL_NOSPACE:
    case TL_DENIED:
    case TL_BUSY:
    case TL_VERSION:
        return CLI_EXIT_EXPORT;
    default:
        return (int)cli_exit_for(error->status);
    }
}

/* note, tag, untag and delete: the run is found first, whatever is done to it. */
static int change_run(const struct cli_command *command, struct history_request *request)
{
    char id[TL_HISTORY_ID_SIZE];
    struct tl_error error = {0};
    const char *action = request->action, *text = request->arguments[1];
    bool deletes = strcmp(action, "delete") == 0;
    enum tl_status status = tl_history_resolve(request->history, request->arguments[0], id, &error);
    if (status == TL_OK && deletes)
        status = tl_history_delete(request->history, id, &error);
    else if (status == TL_OK && strcmp(action, "note") == 0)
        status = tl_history_set_note(request->history, id, text, &error);
    else if (status == TL_OK)
        status = tl_history_tag(request->history, id, text, strcmp(action, "tag") == 0, &error);
    if (status != TL_OK)
        return failed(&error);
    if (deletes)
        cli_complain("deleted the run %s", id);
    return CLI_EXIT_OK;
}

static int prune(const struct cli_command *command, struct history_request *request)
{
    struct tl_error error = {0};
    size_t count = 0;
    if (!request->before_ns && !request->keep_count)
        return cli_usage(command, "prune needs --before TIME, --keep N or both");
    if (tl_history_prune(request->history, request->before_ns, request->keep_count, request->all,
                         &count, &error) != TL_OK)
        return failed(&error);
    cli_complain("deleted %zu run%s%s", count, count == 1 ? "" : "s",
                 request->all ? "" : "; those with a note or a tag stay (--all deletes them too)");
    return CLI_EXIT_OK;
}

/* Each is judged by the rules of today; one that is no run does not hinder the others. */
static int import(const struct cli_command *command, struct history_request *request)
{
    int exit_code = CLI_EXIT_OK;
    for (size_t i = 0; i < request->argument_count; i++) {
        const char *name = request->arguments[i];
        struct tl_session_result result = {0};
        bool opened = cli_open_run(name, &result);
        if (opened && cli_import_run(&result))
            printf("%s  %.200s\n", result.run.id, name);
        else
            exit_code = opened ? CLI_EXIT_EXPORT : CLI_EXIT_USAGE;
        tl_app_result_finish(&result);
    }
    return exit_code;
}

/* How many arguments an action takes (SOME: one or more), and what does it. */
#define SOME (-1)
static const struct {
    const char *name;
    int arguments;
    act *act;
} actions[] = {
    {"list", 0, cli_history_list},
    {"note", 2, change_run},
    {"tag", 2, change_run},
    {"untag", 2, change_run},
    {"delete", 1, change_run},
    {"prune", 0, prune},
    {"export", 0, cli_history_export},
    {"trend", 0, cli_history_trend},
    {"score", 0, cli_history_score},
    {"import", SOME, import},
};

bool cli_is_history_word(const char *word)
{
    bool known = false;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        known |= strcmp(actions[i].name, word) == 0;
    return known;
}

static int no_action(const struct cli_command *command, const char *word)
{
    struct tl_nearest nearest = {0};
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        tl_nearest_offer(&nearest, word, actions[i].name);
    return cli_usage(command, "history does not know \"%.60s\"%s", word, tl_nearest_text(&nearest));
}

int cli_history(const struct cli_command *command, int argc, char **argv)
{
    struct history_request request = {.filter = {.limit = 0}};
    struct tl_error error = {0};
    int exit_code;
    size_t index = 0;
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    if (!cli_take_options(&words, options, &request))
        return words.exit_code;
    request.action = words.argc ? words.argv[0] : "list";
    request.arguments = words.argv + (words.argc > 0);
    int count = words.argc - (words.argc > 0);
    while (index < sizeof actions / sizeof *actions &&
           strcmp(actions[index].name, request.action) != 0)
        index++;
    if (index == sizeof actions / sizeof *actions)
        return no_action(command, request.action);
    request.argument_count = (size_t)count;
    if (actions[index].arguments == SOME && count == 0)
        return cli_usage(command, "%s takes files of saved runs", request.action);
    if (actions[index].arguments != SOME && count != actions[index].arguments)
        return cli_usage(command,
                         actions[index].act == cli_history_trend
                             ? "%s takes the far end as --target HOST"
                         : actions[index].arguments == 0 ? "%s takes no further words"
                         : actions[index].arguments == 1 ? "%s takes a run"
                                                         : "%s takes a run and a text",
                         request.action);
    if (cli_open_history(&request.history, &error) != TL_OK)
        return failed(&error);
    exit_code = actions[index].act(command, &request);
    tl_history_close(request.history);
    return exit_code;
}
