/* What app does, with its notices and failures said on stderr. */
#include "keep.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cause.h"
#include "tightlink/app/files.h"
#include "tightlink/app/keep.h"
#include "tightlink/app/leave.h"
#include "tightlink/app/open.h"
#include "tightlink/base/nearest.h"

/* A line each; the buffer is finished. */
static void say(struct tl_buf *notices)
{
    for (const char *line = tl_buf_text(notices); *line;) {
        size_t len = strcspn(line, "\n");
        cli_complain("%.*s", (int)len, line);
        line += len + (line[len] == '\n');
    }
    tl_buf_finish(notices);
}

enum tl_status cli_load_rules(struct tl_rules **ret_rules, struct tl_error *reterr)
{
    struct tl_buf notices = TL_BUF_INIT;
    enum tl_status status = tl_app_load_rules(ret_rules, &notices, reterr);
    say(&notices);
    return status;
}

enum tl_status cli_open_history(struct tl_history **ret_history, struct tl_error *reterr)
{
    struct tl_buf notices = TL_BUF_INIT;
    enum tl_status status = tl_app_open_history(ret_history, &notices, reterr);
    say(&notices);
    return status;
}

/* Where a run was asked for that is none: a cause has a page, and "lsat" was meant to be a run. */
static enum tl_status offer_instead(const char *name, enum tl_status status,
                                    struct tl_error *reterr)
{
    if (status != TL_USAGE || !reterr)
        return status;
    struct tl_error said = *reterr;
    struct tl_nearest nearest = cli_cause_near(name);
    if (nearest.word)
        return tl_error_set(reterr, status, "%s; a cause: tightlink rules explain %s", said.text,
                            cli_cause_id(nearest.word));
    const char *user = getenv("SUDO_USER");
    if (strncmp(name, "last", 4) != 0)
        tl_nearest_offer(&nearest, name, "last");
    else if (geteuid() == 0 && user && *user) /* whose history is not root's */
        return tl_error_set(reterr, status,
                            "%s; those of %.32s: tightlink explain %.20s --json | sudo tightlink "
                            "fix --dry-run -",
                            said.text, user, name);
    return tl_error_set(reterr, status, "%s%s", said.text, tl_nearest_text(&nearest));
}

enum tl_status cli_judge_file(const char *path, struct tl_session_result *result,
                              struct tl_error *reterr)
{
    struct tl_buf notices = TL_BUF_INIT;
    enum tl_status status = tl_app_open(path, result, &notices, reterr);
    say(&notices);
    return offer_instead(path, status, reterr);
}

bool cli_open_run(const char *name, struct tl_session_result *ret_result)
{
    struct tl_error error = {0};
    if (cli_judge_file(name, ret_result, &error) == TL_OK)
        return true;
    cli_complain("%s", error.text);
    return false;
}

enum tl_status cli_read_document(const char *name, char **ret_text, size_t *ret_len,
                                 struct tl_error *reterr)
{
    struct tl_buf notices = TL_BUF_INIT;
    enum tl_status status = tl_app_read_document(name, ret_text, ret_len, NULL, &notices, reterr);
    say(&notices);
    return offer_instead(name, status, reterr);
}

bool cli_keep_run(const struct tl_session_result *result, bool *ret_kept)
{
    bool ignored = false;
    ret_kept = ret_kept ? ret_kept : &ignored;
    *ret_kept = false;
    struct tl_history *history = NULL;
    struct tl_verdict_move move = {0};
    struct tl_buf notices = TL_BUF_INIT;
    struct tl_error error = {0};
    if (!tl_app_is_worth_keeping(result))
        return false;
    enum tl_status status = tl_app_open_history(&history, &notices, &error);
    if (status == TL_OK)
        status = tl_app_keep(history, result, &move, &notices, &error);
    tl_history_close(history);
    say(&notices);
    *ret_kept = status == TL_OK;
    if (status != TL_OK)
        cli_complain("this run is not in the history: %s",
                     error.text[0] ? error.text : tl_status_text(status));
    else if (move.moved)
        cli_complain("%s", move.sentence);
    return move.moved;
}

bool cli_import_run(const struct tl_session_result *result)
{
    struct tl_history *history = NULL;
    struct tl_buf notices = TL_BUF_INIT;
    struct tl_error error = {0};
    enum tl_status status = tl_app_open_history(&history, &notices, &error);
    if (status == TL_OK)
        status = tl_app_keep(history, result, NULL, &notices, &error);
    tl_history_close(history);
    say(&notices);
    if (status != TL_OK)
        cli_complain("%s", error.text[0] ? error.text : tl_status_text(status));
    return status == TL_OK;
}

bool cli_save_run(const char *path, const struct tl_session_result *result)
{
    struct tl_error error = {0};
    if (!result->findings)
        return true; /* nothing was measured, and that was said */
    char name[PATH_MAX];
    if (!tl_app_untaken(path, name, sizeof name)) {
        cli_complain("--save: %s is there already, and no name beside it is free", path);
        return false;
    }
    enum tl_status status = tl_app_save_run(name, result, &error);
    if (status != TL_OK)
        cli_complain("--save: %s was not written: %s", name, error.text);
    else
        cli_complain(
            "%s%ssaved in %s%s; tightlink show %s opens it", strcmp(name, path) == 0 ? "" : path,
            strcmp(name, path) == 0 ? "" : " is there already and stays as it is; ", name,
            tl_app_saves_document(name) ? ", as JSON and so without the readings" : "", name);
    return status == TL_OK;
}

void cli_keep_masks(const struct tl_redactor *redactor, const char *run_id)
{
    char path[PATH_MAX];
    struct tl_error error = {0};
    size_t count = redactor ? tl_redactor_count(redactor) : 0;
    if (!count)
        return;
    enum tl_status status = tl_app_keep_masks(redactor, run_id, path, sizeof path, &error);
    bool kept = status == TL_OK;
    cli_complain("%zu %s masked; %s%s%s", count,
                 count == 1 ? "name or address is" : "names and addresses are",
                 kept ? "what stands for what is in " : "", kept ? path : error.text,
                 kept ? ", for you alone" : "");
}
