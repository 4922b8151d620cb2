/* tightlink compare A B: what changed between two runs, and whether that is more than noise. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "keep.h"
#include "pager.h"
#include "tightlink/base/json_write.h"
#include "tightlink/store/compare.h"
#include "words.h"

static int print(const struct tl_comparison *comparison, bool json)
{
    struct tl_buf out = TL_BUF_INIT;
    struct tl_json_writer writer;
    int exit_code = CLI_EXIT_OK;
    if (json) {
        tl_json_writer_init(&writer, &out, false);
        tl_compare_json(comparison, &writer);
        tl_buf_adds(&out, "\n");
    } else {
        tl_compare_text(comparison, cli_stdout_columns(), &out);
    }
    if (out.status != TL_OK || !cli_write_stdout(out.data, out.len)) {
        cli_complain("writing the comparison failed: %s",
                     out.status != TL_OK ? tl_status_text(out.status) : strerror(errno));
        exit_code = CLI_EXIT_EXPORT;
    }
    tl_buf_finish(&out);
    return exit_code;
}

static enum tl_status compare(char *const names[2], struct tl_comparison *comparison,
                              struct tl_error *reterr)
{
    char *texts[2] = {NULL, NULL};
    size_t lens[2];
    enum tl_status status = TL_OK;
    for (int i = 0; i < 2 && status == TL_OK; i++)
        status = cli_read_document(names[i], &texts[i], &lens[i], reterr);
    if (status == TL_OK)
        status = tl_compare_documents(texts[0], lens[0], texts[1], lens[1], comparison, reterr);
    free(texts[0]);
    free(texts[1]);
    return status;
}

struct comparing {
    bool json;
};

static const struct cli_option options[] = {
    {CLI_FLAG("json", struct comparing, json)},
    {.name = NULL},
};

int cli_compare(const struct cli_command *command, int argc, char **argv)
{
    struct tl_comparison comparison;
    struct tl_error error = {0};
    struct comparing comparing = {0};
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    if (!cli_take_options(&words, options, &comparing))
        return words.exit_code;
    if (words.argc != 2)
        return cli_usage(command, "name two runs: files, or ids that tightlink history lists");
    cli_page();
    if (compare(words.argv, &comparison, &error) != TL_OK) {
        (void)cli_fail(&error);
        return CLI_EXIT_USAGE;
    }
    return print(&comparison, comparing.json);
}
