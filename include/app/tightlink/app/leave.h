/* A run that leaves this machine: masked once, in whatever format, by whatever way. */
#ifndef TL_APP_LEAVE_H
#define TL_APP_LEAVE_H

#include "tightlink/present/formats.h"
#include "tightlink/session/session.h"
#include "tightlink/store/compare.h"

/* What leaves, and what its masks stand for. Zero-initialised is empty. */
struct tl_app_leaving {
    struct tl_redactor *redactor; /* NULL: nothing is masked */
    struct tl_export *export;
};

enum tl_app_masks {
    TL_APP_MASKS_NEW,  /* of this export alone: two exports cannot be joined */
    TL_APP_MASKS_SITE, /* the same in each export from here: two tickets about one host match */
    TL_APP_MASKS_NONE, /* names and addresses leave as they are */
};

/* A copy of a judged run with its readings and the version of the rules.
 * TL_NOMEM, TL_IO, TL_LIMIT. */
enum tl_status tl_app_leave(const struct tl_session_result *result, enum tl_app_masks masks,
                            struct tl_app_leaving *ret_leaving,
                            struct tl_error *reterr) TL_WARN_UNUSED;
/* The same with the masks of another export; redactor is borrowed and outlives the export, NULL:
 * nothing is masked. The caller destroys *ret_export. */
enum tl_status tl_app_leave_with(const struct tl_session_result *result,
                                 struct tl_redactor *redactor, struct tl_export **ret_export,
                                 struct tl_error *reterr) TL_WARN_UNUSED;
void tl_app_leaving_finish(struct tl_app_leaving *leaving);

/* A redactor that knows this machine's own names; NULL for TL_APP_MASKS_NONE. TL_NOMEM, TL_IO;
 * of a site's key also TL_UNKNOWN (the user has no home), TL_DENIED, TL_SYNTAX. */
enum tl_status tl_app_redactor(enum tl_app_masks masks, struct tl_redactor **ret_redactor,
                               struct tl_error *reterr) TL_WARN_UNUSED;

/* Keeps what the masks of a run stand for, for this user's eyes. *ret_path, of size bytes, is ""
 * where there was nothing to keep. TL_UNKNOWN: the user has no home; TL_IO ... */
enum tl_status tl_app_keep_masks(const struct tl_redactor *redactor, const char *run_id,
                                 char *ret_path, size_t size,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* A comparison as text, the far ends' names masked. TL_NOMEM, TL_IO. */
enum tl_status tl_app_comparison_text(const struct tl_comparison *comparison, struct tl_buf *out,
                                      struct tl_error *reterr) TL_WARN_UNUSED;

/* Whether a run is kept under that name as a document, as --json prints it: a name that ends in
 * .json says so. Any other is a bundle, which has the readings, too. */
bool tl_app_saves_document(const char *path);

/* A run for its owner alone, unmasked, over what is there, as its name says. */
enum tl_status tl_app_save_run(const char *path, const struct tl_session_result *result,
                               struct tl_error *reterr) TL_WARN_UNUSED;

#endif
