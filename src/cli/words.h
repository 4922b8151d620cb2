/* The words of a command line: options by a table, then what they are about. Private to src/cli. */
#ifndef TL_CLI_WORDS_H
#define TL_CLI_WORDS_H

#include <getopt.h>
#include <stdbool.h>

#include "cli.h"

/* Ends a table of options: every command has this one. */
#define CLI_OPTIONS_END                                                                            \
    {"help", no_argument, NULL, 'h'},                                                              \
    {                                                                                              \
        NULL, 0, NULL, 0                                                                           \
    }

struct cli_words {
    const struct cli_command *command;
    int argc; /* after the options: what is left */
    char **argv;
    const struct option *table; /* ends with CLI_OPTIONS_END */
    const char *letters;        /* short ones, as getopt's; behind a '+' options end at the first
                                   word that is none */
    int exit_code;              /* of the command, where it ends here */
    int last;                   /* what was read last; 0 at first, -1 at the end */
};

#define CLI_WORDS(of_command, count, words, options, short_ones)                                   \
    {                                                                                              \
        .command = (of_command), .argc = (count), .argv = (words), .table = (options),             \
        .letters = (short_ones)                                                                    \
    }

/* The next option's val, its value in optarg; 0 at their end, with argc and argv the words behind
 * them; -1 where the command ends here: help was asked for, or the sentence to stderr says what is
 * wrong. Of one thread, like getopt. */
int cli_next_option(struct cli_words *words);
/* The words of a command that has no options but --help; false where it ends here. */
bool cli_take_words(const struct cli_command *command, int argc, char **argv,
                    struct cli_words *ret_words);
/* Says on stderr what the value of the option that was read last must be: the next call is -1. */
void cli_refuse_value(struct cli_words *words, const char *sentence);

#endif
