/* What the commands of tightlink share. Private to src/cli. */
#ifndef TL_CLI_CLI_H
#define TL_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "parse.h"
#include "tightlink/base/buf.h"
#include "tightlink/base/status.h"
#include "tightlink/present/report.h"
#include "tightlink/session/session.h"

/* Exit codes, part of the interface: README and `tightlink --help` list them. */
enum cli_exit {
    CLI_EXIT_OK = 0,
    CLI_EXIT_MISSED = 1, /* a goal given by the user was missed */
    CLI_EXIT_USAGE = 2,
    CLI_EXIT_UNREACHABLE = 3,
    CLI_EXIT_INCONCLUSIVE = 4, /* or invalid */
    CLI_EXIT_AUTH = 5,
    CLI_EXIT_EXPORT = 6,
    CLI_EXIT_INTERRUPTED = 130,
};

#define CLI_DEFAULT_PORT 5411

/* One command. argv[0] is the command's own name. Returns an exit code. */
struct cli_command {
    const char *name;
    const char *arguments; /* for the usage line */
    const char *summary;
    const char *help; /* the options, a line each */
    int (*run)(const struct cli_command *command, int argc, char **argv);
};

int cli_run(const struct cli_command *command, int argc, char **argv);
/* `tightlink` alone and `tightlink HOST`: the screen where the terminal can show it, else what
 * cli_run does; without a HOST and without a screen false, and nothing was done. */
bool cli_screen(const struct cli_command *command, int argc, char **argv, int *ret_exit);
int cli_show(const struct cli_command *command, int argc, char **argv);
int cli_serve(const struct cli_command *command, int argc, char **argv);
int cli_demo(const struct cli_command *command, int argc, char **argv);
int cli_audit(const struct cli_command *command, int argc, char **argv);
int cli_verify(const struct cli_command *command, int argc, char **argv);
int cli_fix(const struct cli_command *command, int argc, char **argv);
int cli_explain(const struct cli_command *command, int argc, char **argv);
int cli_export(const struct cli_command *command, int argc, char **argv);
int cli_why(const struct cli_command *command, int argc, char **argv);
int cli_why_not(const struct cli_command *command, int argc, char **argv);
int cli_rules(const struct cli_command *command, int argc, char **argv);
int cli_schema(const struct cli_command *command, int argc, char **argv);
int cli_between(const struct cli_command *command, int argc, char **argv);
int cli_pcap(const struct cli_command *command, int argc, char **argv);
int cli_mover(const struct cli_command *command, int argc, char **argv);
int cli_capture(const struct cli_command *command, int argc, char **argv);
int cli_live(const struct cli_command *command, int argc, char **argv);
int cli_mesh(const struct cli_command *command, int argc, char **argv);
int cli_key(const struct cli_command *command, int argc, char **argv);
int cli_history(const struct cli_command *command, int argc, char **argv);
int cli_telemetry(const struct cli_command *command, int argc, char **argv);
int cli_ticket(const struct cli_command *command, int argc, char **argv);
int cli_compare(const struct cli_command *command, int argc, char **argv);
int cli_config(const struct cli_command *command, int argc, char **argv);
int cli_doctor(const struct cli_command *command, int argc, char **argv);

/* Prints all commands in their groups (overview.c). */
void cli_print_groups(const struct cli_command *commands, size_t count, FILE *out);

/* Prints the usage of one command to out, and two examples (overview.c). */
void cli_print_help(const struct cli_command *command, FILE *out);

/* Whether people here read UTF-8; else what we print is ASCII (LC_CTYPE, set in main). */
bool cli_locale_is_utf8(void);
/* Text of which not all is our own: control and bidi characters become \u{..} (P12). */
void cli_put_clean(const char *text, FILE *out);
/* The same for text of several lines, whose ends stay. */
void cli_put_clean_lines(const char *text, FILE *out);

/* "tightlink: sentence" on stderr, cleaned. */
void cli_complain(const char *fmt, ...) TL_PRINTF(1, 2);
/* One line, broken between words for so many columns (0: as it is), what follows a break below the
 * column hang. A word that is longer than a line, a path for instance, stays whole: the terminal
 * breaks it so that it can still be copied. */
void cli_put_wrapped(const char *text, size_t columns, size_t hang, FILE *out);
/* While a pager stands before the terminal: broken for its columns. 0: stderr is its own again. */
void cli_complain_in(int columns);
/* The same for an error; returns the exit code that fits the status. */
int cli_fail(const struct tl_error *error);
/* The same for a wrong command line, with a pointer to --help; returns CLI_EXIT_USAGE. */
int cli_usage(const struct cli_command *command, const char *fmt, ...) TL_PRINTF(2, 3);
enum cli_exit cli_exit_for(enum tl_status status);

/* What `run` and `demo` take from their command lines. */
struct cli_run_options {
    struct tl_session_config config;
    bool json, json_lines, yes, direction_given, port_given, dry_run, explain_plan;
    bool no_history;        /* run --no-history: keep nothing */
    bool alarm;             /* run --alarm: exit code 1 when the verdict moved */
    int64_t repeat_ns;      /* run --repeat; 0 without */
    const char *telemetry;  /* run --telemetry NAME, NULL without */
    const char *compare;    /* run --compare; NULL without */
    char compare_list[512]; /* of [compare NAME], where --compare names one */
    const char *operand;    /* HOST or scenario name, NULL when absent */
    const char *save;       /* --save; NULL without */
    bool capture;           /* run --capture */
    /* Called once, when the test was agreed to; NULL: nobody waits for that. */
    void (*agreed)(void *context);
    void *agreed_context;
    struct tl_app_pcap *pcap;  /* what it captured, for the document; NULL without */
    const char *link_spec;     /* demo --link */
    const char *far;           /* demo --far: the kind of its far end */
    struct tl_far_login login; /* for an iperf3 server that asks: texts of the files below */
    const char *password_file, *public_key_file;
    enum cli_color color;
    const struct tl_keys *keys;        /* of that file, for the screen; NULL without */
    const char *key_file, *key_name;   /* run --key, --key-name; NULL without */
    char via[TL_SESSION_VIA_MAX][254]; /* --via; config.via points here */
    bool no_screen, no_mouse;
    bool full;              /* --full: all of the report, also after the screen */
    bool brief;             /* the screen showed it all: the few lines that stay in the terminal */
    bool kept;              /* the run is in the history */
    bool keep_opened;       /* show --keep: the run that was opened goes into the history */
    const char *saved_name; /* of the run that show or explain opened; NULL: it is nowhere yet */
    bool begin;             /* the screen begins with the diagnosis */
    struct tl_app_live *live;    /* the screen begins with these transfers; NULL without */
    struct tl_app_pcap *packets; /* or with the connections of this capture; NULL without */
};

/* Fills options; *ret_exit is set when the command ends here (help or error).
 * Returns false in that case. */
bool cli_parse_run_options(const struct cli_command *command, int argc, char **argv,
                           struct cli_run_options *options, int *ret_exit);

/* Who names a disk asks about a file's way: the stages that measure it are run. */
void cli_ask_for_disks(struct tl_session_config *config);

/* Without --yes and a terminal nobody can agree to the test: TL_USAGE with a sentence, to be asked
 * before anything is sent or changed. */
enum tl_status cli_consent_possible(const struct cli_run_options *options, struct tl_error *reterr);

/* Asks on the terminal, which is there. False: *ret_exit is that of the command. */
bool cli_ask(const char *sentence, int *ret_exit);

/* The question before a name is looked up, where one is; likewise. host may be NULL. */
bool cli_may_look_up(const char *host, bool yes, int *ret_exit);

/* Runs a session with progress, consent and signals; fills *ret_result.
 * The caller finishes the result with tl_app_result_finish. */
enum tl_status cli_drive_session(const struct cli_run_options *options,
                                 struct tl_session_result *ret_result,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* --dry-run: prints what a run could do and would cost at most. Returns an exit code. */
int cli_dry_run(const struct cli_run_options *options);

/* A sentence on stdout, broken at words where a terminal shows it. */
void cli_print_paragraph(const char *text);
/* A page on stdout, too long lines broken under their beginning. False: errno says why not. */
bool cli_print_lines(const char *text);
/* Some parts of the report on stdout, in that order. False: errno says why not. */
bool cli_print_parts(const struct tl_session_result *result, const enum tl_report_part *parts,
                     size_t count);

/* Writes the result to stdout in the form asked for, and to stderr why the run ended early.
 * As JSON always a document; as text nothing where nothing was measured. When writing fails
 * the run is kept in a file that stderr names. Returns the exit code of the whole command. */
int cli_deliver(const struct cli_run_options *options, const struct tl_session_result *result);

/* The exit code that a run stands for: how it ended, then its verdict. */
enum cli_exit cli_exit_for_result(const struct tl_session_result *result);

/* Says that a file is there already, and which name beside it is free; returns the exit code. */
int cli_refuse_taken(const char *path);

/* What an --out names: NULL for "-", which is standard output. Static or path itself. */
const char *cli_out_path(const char *path);

/* Whether stdout is a pipe from which nobody reads any more: head or less, who had enough. */
bool cli_reader_has_gone(void);

/* Writes text to stdout whole; false when that failed (errno tells). A reader that has gone has
 * had enough: that is no failure. */
bool cli_write_stdout(const char *text, size_t len);

/* --save: the run as a bundle, unmasked, for its owner alone. Says on stderr where it is, or why
 * not; false then. */
bool cli_save_run(const char *path, const struct tl_session_result *result);

/* The path of another program of this project (tightlinkd): beside this one. */
bool cli_find_program(const char *name, char *ret_path, size_t size);

/* Reads a run that the user names and judges it again (tightlink/app/open.h); the caller finishes
 * the result, also after a failure. */
enum tl_status cli_judge_file(const char *path, struct tl_session_result *result,
                              struct tl_error *reterr) TL_WARN_UNUSED;
/* The same where nothing else is to be said of a failure: false, after a sentence on stderr. */
bool cli_open_run(const char *name, struct tl_session_result *ret_result);

struct tl_app_pcap;
/* The connections of a capture, at most max, a line each: judged (cmd_pcap.c). */
enum tl_status cli_print_flows(struct tl_app_pcap *pcap, size_t max,
                               struct tl_error *reterr) TL_WARN_UNUSED;

struct tl_rules;
/* The built-in rules and over them those of $XDG_CONFIG_HOME/tightlink/rules (~/.config without).
 * What is wrong there, and that such rules are in use, is said on stderr and stops nothing. */
enum tl_status cli_load_rules(struct tl_rules **ret_rules, struct tl_error *reterr) TL_WARN_UNUSED;

#endif
