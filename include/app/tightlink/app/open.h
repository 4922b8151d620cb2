/* Opening a run that was kept: found by its name, read, judged by the rules of today.
 *
 * What a user should know beside the result (rules of their own in use, a damaged history moved
 * aside) is added to notices, a line each; the caller shows it in its own way. */
#ifndef TL_APP_OPEN_H
#define TL_APP_OPEN_H

#include "tightlink/base/buf.h"
#include "tightlink/rules/rules.h"
#include "tightlink/session/session.h"
#include "tightlink/store/history.h"

/* The built-in rules and over them those of $XDG_CONFIG_HOME/tightlink/rules (~/.config without).
 * What is wrong there is a notice and stops nothing. Errors of tl_rules_load_over_builtin(). */
enum tl_status tl_app_load_rules(struct tl_rules **ret_rules, struct tl_buf *notices,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* The user's history. Errors of tl_history_open(). */
enum tl_status tl_app_open_history(struct tl_history **ret_history, struct tl_buf *notices,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

/* The document of a run that a user names: a file, "-" for standard input, or a run of the history
 * (an id, its beginning, last, last-1); a file comes first. Of a bundle its document. *ret_text is
 * the caller's. samples: filled with what was kept of its readings, for the caller to finish; NULL
 * where nobody wants them. TL_USAGE: there is no such run; TL_LIMIT, TL_SYNTAX ... */
enum tl_status tl_app_read_document(const char *name, char **ret_text, size_t *ret_len,
                                    struct tl_samples *samples, struct tl_buf *notices,
                                    struct tl_error *reterr) TL_WARN_UNUSED;

/* Reads a document and judges it: the one place where that is done. ret_result has run, facts,
 * findings and the version of the rules; samples stay NULL. The caller finishes it, also after a
 * failure. Errors of tl_document_read() and tl_rules_judge(). */
enum tl_status tl_app_judge(const struct tl_rules *rules, const char *text, size_t len,
                            struct tl_session_result *ret_result,
                            struct tl_error *reterr) TL_WARN_UNUSED;

/* Both, with the user's rules; a failure is a sentence that names the run. */
enum tl_status tl_app_open(const char *name, struct tl_session_result *ret_result,
                           struct tl_buf *notices, struct tl_error *reterr) TL_WARN_UNUSED;

/* A run of an open history, judged by these rules, with its readings. */
enum tl_status tl_app_open_kept(struct tl_history *history, const char *id,
                                const struct tl_rules *rules, struct tl_session_result *ret_result,
                                struct tl_error *reterr) TL_WARN_UNUSED;

/* Whether this machine made the run. TL_OK, or TL_DENIED with why it is not taken for one: another
 * machine's mark, none (masked, a capture, an older version), or no id on this machine. */
enum tl_status tl_app_is_own_run(const struct tl_run *run, struct tl_error *reterr) TL_WARN_UNUSED;

/* Its verdict in plain words, for a row of a list: without the peer's name or address, which stand
 * in the row and may be hidden there. result->run forgets them. */
void tl_app_result_say(struct tl_session_result *result, char *ret_text, size_t size);

/* Frees what a result owns; it is empty then. */
void tl_app_result_finish(struct tl_session_result *result);

/* What reaches the far end of a kept run again: what the user wrote where that names its kind, else
 * its address with the kind that answered there. written NULL: as the run has it. */
struct tl_app_target {
    char text[1400];
};
void tl_app_target_of_run(const struct tl_run *run, const char *written,
                          struct tl_app_target *ret_target);

/* Why the path of a kept run cannot be measured from here, a sentence; NULL: it can. */
const char *tl_app_why_not_again(const struct tl_run *run);

/* The same path, directions and goal as a kept run, for measuring or verifying again; its port and
 * family too where config has none or the usual one. Texts are borrowed from run and target
 * (tl_app_target_of_run). Asks nothing else. */
void tl_app_config_of_run(const struct tl_run *run, const struct tl_app_target *target,
                          struct tl_session_config *config);

#endif
