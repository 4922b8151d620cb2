/* Reading options: the one loop over getopt, and what it refuses. */
#include "words.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/nearest.h"
#include "tightlink/base/time.h"

#define OPTIONS_MAX 48
#define ROW_VAL     256 /* what getopt calls the first row: behind all letters */

static bool takes_word(const struct cli_option *option)
{
    return option->takes >= CLI_TAKES_TEXT;
}

/* The table as getopt wants it. */
static void lay_out(const struct cli_option *table, bool first_word_ends, struct option *longs,
                    char *letters)
{
    size_t count = 0;
    letters += sprintf(letters, "%s:h", first_word_ends ? "+" : "");
    for (const struct cli_option *row = table; row && row->name; row++) {
        int has_arg = takes_word(row) ? required_argument : no_argument;
        assert(row - table < OPTIONS_MAX);
        if (row->name[0])
            longs[count++] =
                (struct option){row->name, has_arg, NULL, ROW_VAL + (int)(row - table)};
        if (row->letter)
            letters += sprintf(letters, "%c%s", row->letter, takes_word(row) ? ":" : "");
    }
    longs[count++] = (struct option){"help", no_argument, NULL, 'h'};
    longs[count] = (struct option){NULL, 0, NULL, 0};
}

/* Of a row's val or its letter; NULL: there is none. */
static const struct cli_option *row_of(const struct cli_option *table, int val)
{
    for (const struct cli_option *row = table; row && row->name; row++)
        if (val == ROW_VAL + (int)(row - table) || (val && val == row->letter))
            return row;
    return NULL;
}

/* The one that may have been meant: of the table, where the command's help names it (run and demo
 * share a table), and of those that all commands take. */
static int refuse_unknown(const struct cli_words *words, const struct cli_option *table,
                          const char *word)
{
    static const char *const everywhere[] = {"--help", "--no-pager", "--paginate"};
    static char names[OPTIONS_MAX][32];
    struct tl_nearest nearest = {0};
    for (const struct cli_option *row = table; row && row->name; row++) {
        char *name = names[row - table];
        snprintf(name, sizeof names[0], "--%s", row->name);
        if (row->name[0] && strstr(words->command->help, name))
            tl_nearest_offer(&nearest, word, name);
    }
    for (size_t i = 0; i < sizeof everywhere / sizeof *everywhere; i++)
        tl_nearest_offer(&nearest, word, everywhere[i]);
    return cli_usage(words->command, "%s is no option of %s%s", word, words->command->name,
                     tl_nearest_text(&nearest));
}

/* getopt's '?' and ':' (unknown, without its value, with a value it does not take). */
static int refuse(const struct cli_words *words, const struct cli_option *table, int found)
{
    /* optopt: 0 for a long name that is not known, the character of a short one, else val. */
    const struct cli_option *row = row_of(table, optopt);
    const char *name = row ? row->name : optopt == 'h' ? "help" : "";
    if (found == ':')
        return cli_usage(words->command, "--%s lacks its value", name);
    if (name[0])
        return cli_usage(words->command, "--%s takes no value", name);
    if (optopt)
        return cli_usage(words->command, "-%c is no option of %s", optopt, words->command->name);
    return refuse_unknown(words, table, words->argv[optind - 1]);
}

static enum tl_status take(const struct cli_option *row, const char *text, void *options,
                           struct tl_error *reterr)
{
    void *member = (char *)options + row->at;
    switch (row->takes) {
    case CLI_TAKES_FLAG:
        *(bool *)member = true;
        return TL_OK;
    case CLI_TAKES_SET:
        *(int *)member = row->value;
        return TL_OK;
    case CLI_TAKES_TEXT:
        *(const char **)member = text;
        return TL_OK;
    case CLI_TAKES_OUT:
        *(const char **)member = cli_out_path(text);
        return TL_OK;
    case CLI_TAKES_PORT:
        return cli_parse_port(text, member, reterr);
    case CLI_TAKES_TIME:
        return cli_parse_time_budget(text, member, reterr);
    case CLI_TAKES_WHEN:
        return cli_parse_when(text, tl_realtime_ns(), member, reterr);
    case CLI_TAKES_COUNT:
        return cli_parse_count(text, member, reterr);
    case CLI_TAKES_COLOR:
        return cli_parse_color(text, member, reterr);
    default:
        return row->read(text, options, reterr);
    }
}

bool cli_take_options(struct cli_words *words, const struct cli_option *table, void *options)
{
    struct option longs[OPTIONS_MAX + 2];
    char letters[2 * OPTIONS_MAX + 4];
    struct tl_error error = {0};
    int found;
    lay_out(table, words->first_word_ends, longs, letters);
    optind = 1;
    opterr = 0;
    words->exit_code = CLI_EXIT_OK;
    while ((found = getopt_long(words->argc, words->argv, letters, longs, NULL)) != -1) {
        const struct cli_option *row = row_of(table, found);
        if (row && take(row, takes_word(row) ? optarg : NULL, options, &error) == TL_OK)
            continue;
        if (row)
            words->exit_code = cli_usage(words->command, "--%s: %s", row->name, error.text);
        else if (found == 'h')
            cli_print_help(words->command, stdout);
        else
            words->exit_code = refuse(words, table, found);
        return false;
    }
    words->argc -= optind;
    words->argv += optind;
    return true;
}
