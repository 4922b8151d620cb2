/* Rules: a pure function from facts to findings. No sockets, no clock, no
 * global state: the same facts and rules give the same findings on every
 * machine, so that a saved run can be judged again.
 *
 * doc/rule-format.md describes the files. A loaded set is immutable and may be
 * read by several threads. */
#ifndef TL_RULES_RULES_H
#define TL_RULES_RULES_H

#include "tightlink/base/buf.h"
#include "tightlink/facts/run.h"
#include "tightlink/rules/findings.h"

/* Limits on rule files (promise P13): what a hostile file can make us do. */
#define TL_RULE_FILE_BYTES_MAX (256 * 1024)
#define TL_RULE_COUNT_MAX      1000
#define TL_RULE_DEPTH_MAX      16

struct tl_rules;

/* The rules compiled into the program (rules/ of the source tree, embedded at build time). */
enum tl_status tl_rules_load_builtin(struct tl_rules **ret_rules,
                                     struct tl_error *reterr) TL_WARN_UNUSED;

/* All *.json of a directory and its sub-directories. The error names file and JSON pointer. */
enum tl_status tl_rules_load_directory(const char *path, struct tl_rules **ret_rules,
                                       struct tl_error *reterr) TL_WARN_UNUSED;
void tl_rules_destroy(struct tl_rules *rules);

/* What a directory of a user's own rules did to the built-in ones. */
struct tl_own_rules {
    size_t replaced, added, disabled, refused; /* refused: faults, a line each in the report */
};

/* The built-in rules with those of a directory over them: a rule of the same id replaces, one
 * that only has {"format", "id", "disabled": true} removes, others are added. Whatever is wrong
 * with a file goes to the report and that file is left out: a foreign rule never stops a
 * diagnosis. A directory that does not exist holds none. */
enum tl_status tl_rules_load_over_builtin(const char *directory, struct tl_buf *report,
                                          struct tl_rules **ret_rules, struct tl_own_rules *ret_own,
                                          struct tl_error *reterr) TL_WARN_UNUSED;

/* Which rules these are, "70 rules, 1f0c9a3b5d7e2468": the same text for the same files, whatever
 * their order. Not against forgery. */
#define TL_RULES_VERSION_SIZE 48
void tl_rules_version(const struct tl_rules *rules, char ret_text[TL_RULES_VERSION_SIZE]);

size_t tl_rules_count(const struct tl_rules *rules);
const char *tl_rules_id_at(const struct tl_rules *rules, size_t index);
const char *tl_rules_cause_at(const struct tl_rules *rules, size_t index);
const char *tl_rules_title_at(const struct tl_rules *rules, size_t index);

/* Adds a readable page about one rule, or about a cause with all its rules; TL_UNKNOWN if neither
 * has this id. */
enum tl_status tl_rules_explain(const struct tl_rules *rules, const char *id,
                                struct tl_buf *out) TL_WARN_UNUSED;

/* For `rules check`: loads a directory and reports every fault, one a line, not only the first
 * ("receive-window.json: /when/all/0/test/0: ..."). cases_path (may be NULL) is the folder of the
 * cases; a rule without <id>.json there counts as a fault too. TL_OK with *ret_errors > 0 when
 * the files are faulty; other statuses only where the directory cannot be read. */
enum tl_status tl_rules_check_directory(const char *path, const char *cases_path,
                                        struct tl_buf *report, size_t *ret_errors,
                                        struct tl_error *reterr) TL_WARN_UNUSED;

/* What was asked, besides the facts. */
struct tl_question {
    bool download, upload;   /* directions to judge */
    bool overheard;          /* a capture: neither end is this machine; sentences say "the client"
                              * for the near one, which opened the connection, and "the server" */
    const char *stranger;    /* "a web server": the far end, where it is no responder, which would
                              * tell more; NULL: it is one, or nobody could be */
    double goal_bps;         /* NAN without a goal */
    double goal_rtt_ns;      /* NAN without one */
    enum tl_quality quality; /* invalid and aborted forbid a verdict */
    const char *quality_reason; /* half sentence, "" when valid */
};

/* Judges all rules and names the verdict. On success *ret_findings is owned by the caller. */
enum tl_status tl_rules_judge(const struct tl_rules *rules, const struct tl_facts *facts,
                              const struct tl_question *question, struct tl_findings **ret_findings,
                              struct tl_error *reterr) TL_WARN_UNUSED;

/* Whether a measured rate lies so far below a goal that no doubt is left; false without either. */
bool tl_goal_is_missed(double goal_bps, const struct tl_fact *goodput);

#endif
