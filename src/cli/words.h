/* The words of a command line: options by a table, then what they are about. Private to src/cli. */
#ifndef TL_CLI_WORDS_H
#define TL_CLI_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli.h"

/* What becomes of an option's word, or of its being there. */
enum cli_takes {
    CLI_TAKES_FLAG,  /* no word: a bool becomes true */
    CLI_TAKES_SET,   /* no word: an int or enum becomes the row's value */
    CLI_TAKES_DOES,  /* no word: read() is called with NULL */
    CLI_TAKES_TEXT,  /* kept as it was typed */
    CLI_TAKES_OUT,   /* a file's name, NULL for standard output */
    CLI_TAKES_PORT,  /* cli_parse_port() */
    CLI_TAKES_TIME,  /* cli_parse_time_budget() */
    CLI_TAKES_WHEN,  /* cli_parse_when() */
    CLI_TAKES_COUNT, /* cli_parse_count() */
    CLI_TAKES_COLOR, /* auto, always, never */
    CLI_TAKES_READ,  /* read() makes of it what it likes */
};

/* One option. "options" is the struct that a command reads all of its options into. */
struct cli_option {
    const char *name; /* after "--"; "" where there is but a letter, NULL ends the table */
    enum cli_takes takes;
    char letter; /* after "-"; 0: none */
    int value;
    size_t at; /* of the member in the options */
    enum tl_status (*read)(const char *text, void *options, struct tl_error *reterr);
};

/* Rows: {CLI_FLAG("json", struct x, json)}, each held to the type of its member. */
#define CLI_AT(of, member, type)                                                                   \
    (offsetof(of, member) + 0 * sizeof(&((of *)0)->member == (type *)0))
#define CLI_ROW(of_name, kind, of, member, type)                                                   \
    .name = (of_name), .takes = CLI_TAKES_##kind, .at = CLI_AT(of, member, type)
#define CLI_FLAG(name, of, member)  CLI_ROW(name, FLAG, of, member, bool)
#define CLI_TEXT(name, of, member)  CLI_ROW(name, TEXT, of, member, const char *)
#define CLI_OUT(name, of, member)   CLI_ROW(name, OUT, of, member, const char *)
#define CLI_PORT(name, of, member)  CLI_ROW(name, PORT, of, member, uint16_t)
#define CLI_TIME(name, of, member)  CLI_ROW(name, TIME, of, member, int64_t)
#define CLI_WHEN(name, of, member)  CLI_ROW(name, WHEN, of, member, int64_t)
#define CLI_COUNT(name, of, member) CLI_ROW(name, COUNT, of, member, size_t)
#define CLI_COLOR(name, of, member) CLI_ROW(name, COLOR, of, member, enum cli_color)
#define CLI_SET(name, of, member, type, to)                                                        \
    CLI_ROW(name, SET, of, member, type) + 0 * sizeof(char[sizeof(type) == sizeof(int) ? 1 : -1]), \
        .value = (to)
#define CLI_DOES(of_name, function) .name = (of_name), .takes = CLI_TAKES_DOES, .read = (function)
#define CLI_READ(of_name, function) .name = (of_name), .takes = CLI_TAKES_READ, .read = (function)

struct cli_words {
    const struct cli_command *command;
    int argc; /* after the options: what is left */
    char **argv;
    bool first_word_ends; /* the options: what comes behind it is not ours */
    int exit_code;        /* of the command, where it ends here */
};

/* Takes all options (NULL, NULL: of a command that has none but --help) and leaves the other words
 * in argc and argv. False where the command ends here: help was asked for, or a sentence on stderr
 * says what is wrong. Of one thread, like getopt. */
bool cli_take_options(struct cli_words *words, const struct cli_option *table, void *options);

#endif
