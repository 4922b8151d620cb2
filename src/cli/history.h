/* What the parts of `tightlink history` share. Private to src/cli. */
#ifndef TL_CLI_HISTORY_H
#define TL_CLI_HISTORY_H

#include "cli.h"
#include "tightlink/app/leave.h"
#include "tightlink/store/history.h"

struct history_request {
    struct tl_history *history;
    const char *action;
    char **arguments; /* as many as the action takes */
    size_t argument_count;
    struct tl_history_filter filter;
    bool limit_given, json, all;
    enum tl_app_masks masks; /* of an export */
    int64_t before_ns;
    size_t keep_count;
    const char *out; /* NULL: standard output */
};

/* Whether the first word of `tightlink history` may be this one. */
bool cli_is_history_word(const char *word);

/* Each returns an exit code. */
int cli_history_list(const struct cli_command *command, struct history_request *request);
int cli_history_trend(const struct cli_command *command, struct history_request *request);
int cli_history_score(const struct cli_command *command, struct history_request *request);
int cli_history_export(const struct cli_command *command, struct history_request *request);

#endif
