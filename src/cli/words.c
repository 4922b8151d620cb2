/* Reading options: the one loop over getopt, and what it refuses. */
#include "words.h"

#include <stdio.h>

static const char *option_name(const struct cli_words *words, int val)
{
    for (const struct option *o = words->table; o->name; o++)
        if (o->val == val)
            return o->name;
    return "";
}

/* getopt's '?' and ':' (unknown, without its value, with a value it does not take). */
static int refuse(const struct cli_words *words, int found)
{
    /* optopt: 0 for a long name that is not known, the character of a short one, else val. */
    const char *name = option_name(words, optopt);
    if (found == ':')
        return cli_usage(words->command, "--%s lacks its value", name);
    if (name[0])
        return cli_usage(words->command, "--%s takes no value", name);
    if (optopt)
        return cli_usage(words->command, "-%c is no option of %s", optopt, words->command->name);
    return cli_no_option(words->command, words->argv[optind - 1]);
}

static int end(struct cli_words *words, int exit_code)
{
    words->exit_code = exit_code;
    words->last = -1;
    return -1;
}

int cli_next_option(struct cli_words *words)
{
    char letters[16];
    if (words->last < 0)
        return -1;
    bool first_ends = words->letters[0] == '+';
    snprintf(letters, sizeof letters, "%s:h%s", first_ends ? "+" : "", words->letters + first_ends);
    if (!words->last)
        optind = 1;
    opterr = 0;
    words->last = getopt_long(words->argc, words->argv, letters, words->table, NULL);
    if (words->last == 'h') {
        cli_print_help(words->command, stdout);
        return end(words, CLI_EXIT_OK);
    }
    if (words->last == '?' || words->last == ':')
        return end(words, refuse(words, words->last));
    if (words->last != -1)
        return words->last;
    words->argc -= optind;
    words->argv += optind;
    return 0;
}

bool cli_take_words(const struct cli_command *command, int argc, char **argv,
                    struct cli_words *ret_words)
{
    static const struct option none[] = {CLI_OPTIONS_END};
    *ret_words = (struct cli_words)CLI_WORDS(command, argc, argv, none, "");
    return cli_next_option(ret_words) == 0;
}

void cli_refuse_value(struct cli_words *words, const char *sentence)
{
    const char *name = option_name(words, words->last);
    (void)end(words, cli_usage(words->command, "--%s: %s", name, sentence));
}
