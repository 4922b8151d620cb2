/* tightlink explain FILE: the rules judge a saved run again, without a network. */
#include "cli.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "keep.h"
#include "tightlink/document/document.h"
#include "tightlink/session/question.h"

static enum tl_status unreadable(const char *path, int errnum, struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_USAGE,
                        "%.200s: %s; name a file of tightlink run --save or run --json", path,
                        strerror(errnum));
}

enum tl_status cli_read_file(const char *path, size_t limit, char **ret_text, size_t *ret_len,
                             struct tl_error *reterr)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "re");
    if (!file)
        return unreadable(path, errno, reterr);
    struct tl_buf buf = TL_BUF_INIT;
    char piece[65536];
    size_t n;
    while (buf.len <= limit && (n = fread(piece, 1, sizeof piece, file)) > 0)
        tl_buf_add(&buf, piece, n);
    bool failed = ferror(file);
    int errnum = errno;
    if (!standard)
        fclose(file);
    enum tl_status status = TL_OK;
    if (failed)
        status = unreadable(path, errnum, reterr);
    else if (buf.len > limit)
        status = tl_error_set(reterr, TL_LIMIT, "%.200s: larger than %zu MiB, this is no saved run",
                              path, limit >> 20);
    else
        status = buf.status;
    if (status == TL_OK) {
        *ret_len = buf.len;
        *ret_text = tl_buf_steal(&buf);
        if (!*ret_text)
            status = tl_error_set(reterr, TL_NOMEM, "out of memory");
    }
    tl_buf_finish(&buf);
    return status;
}

enum tl_status cli_judge_file(const char *path, struct tl_session_result *result,
                              struct tl_error *reterr)
{
    char *text = NULL;
    size_t len;
    struct tl_rules *rules = NULL;
    enum tl_status status = cli_read_saved(path, &text, &len, &result->samples, reterr);
    if (status == TL_OK) {
        status = tl_document_read(text, len, &result->run, &result->facts, reterr);
        if (status == TL_VERSION)
            (void)tl_error_set(reterr, status,
                               "%.200s is in another format than this tightlink reads "
                               "(tightlink.findings/1): was it written by a newer one?",
                               path);
        else if (status != TL_OK)
            tl_error_prefix(reterr, "%.200s is no saved run", path);
    }
    free(text);
    if (status == TL_OK)
        status = cli_load_rules(&rules, reterr);
    if (status == TL_OK) {
        struct tl_question question;
        tl_question_of_run(&result->run, &question);
        tl_facts_derive(result->facts);
        tl_rules_version(rules, result->rules_version);
        status = tl_rules_judge(rules, result->facts, &question, &result->findings, reterr);
    }
    tl_rules_destroy(rules);
    return status;
}

int cli_explain(const struct cli_command *command, int argc, char **argv)
{
    static const struct option long_options[] = {
        {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    struct cli_run_options options = {0};
    int option;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        if (option == 'h') {
            cli_print_help(command, stdout);
            return CLI_EXIT_OK;
        }
        if (option == '?')
            return cli_usage(command, "%s is no option of explain", argv[optind - 1]);
        options.json = true;
    }
    if (argc - optind != 1)
        return cli_usage(command, "name one saved run, or - for standard input");
    struct tl_session_result result = {0};
    struct tl_error error = {0};
    int exit_code;
    if (cli_judge_file(argv[optind], &result, &error) == TL_OK) {
        exit_code = cli_deliver(&options, &result);
    } else {
        cli_complain("%s", error.text);
        exit_code = CLI_EXIT_USAGE;
    }
    cli_result_finish(&result);
    return exit_code;
}
