/* The history as the commands use it. Private to src/cli. */
#ifndef TL_CLI_KEEP_H
#define TL_CLI_KEEP_H

#include "cli.h"
#include "tightlink/document/redact.h"
#include "tightlink/store/history.h"

/* Opens the user's history; what it has to say goes to stderr. */
enum tl_status cli_open_history(struct tl_history **ret_history,
                                struct tl_error *reterr) TL_WARN_UNUSED;

/* Keeps a run that measured something, and says on stderr when the verdict moved since the run
 * before. A failure is one sentence and stops nothing. *ret_kept: it is in the history (NULL where
 * nobody asks). Returns whether the verdict moved. */
bool cli_keep_run(const struct tl_session_result *result, bool *ret_kept);

/* The document of a run that a user names (tightlink/app/open.h); *ret_text is the caller's. */
enum tl_status cli_read_document(const char *name, char **ret_text, size_t *ret_len,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* Puts a run that was opened into the history; false with a sentence on stderr. */
bool cli_import_run(const struct tl_session_result *result);

/* What masks stand for stays with the user: kept, with a sentence on stderr that says where and how
 * many there are. Nothing where nothing is masked (redactor NULL, too). */
void cli_keep_masks(const struct tl_redactor *redactor, const char *run_id);

#endif
