/* History: every run kept, to be found, noted, tagged, compared and scored.
 *
 * One SQLite file in WAL mode, in the data directory of the XDG base directory
 * specification ($XDG_DATA_HOME/tightlink/history.sqlite, else ~/.local/share/tightlink),
 * for its owner alone (0700 and 0600). Several programs may use it at once. What is kept of
 * a run is its whole document (findings.schema.json), and beside it one narrow row for lists.
 *
 * A file of a newer tightlink is refused (TL_VERSION) and left alone. A damaged one is moved
 * aside and a new one begun; tl_history_notice() has the sentence. Where nothing can be
 * written (read-only file system) lists still work and changes fail with TL_DENIED.
 *
 * Errors of all functions: TL_IO, TL_NOSPACE, TL_DENIED, TL_BUSY (another program writes for
 * more than 5 s), TL_UNKNOWN (no such run), TL_NOMEM; others are named. Outputs are untouched
 * on failure. A history belongs to one thread at a time. */
#ifndef TL_STORE_HISTORY_H
#define TL_STORE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

struct tl_history;

/* The longest note and tag, in bytes without NUL, and the most tags of one run. */
#define TL_HISTORY_NOTE_MAX 4096
#define TL_HISTORY_TAG_MAX  48
#define TL_HISTORY_TAGS_MAX 16

/* path NULL: the user's own file, whose directories are made. TL_VERSION: a newer
 * tightlink's; TL_UNKNOWN: path is NULL and the user has no home. */
enum tl_status tl_history_open(const char *path, struct tl_history **ret_history,
                               struct tl_error *reterr) TL_WARN_UNUSED;
void tl_history_close(struct tl_history *history); /* takes NULL */

/* Where it lies. Lives as long as the history. */
const char *tl_history_path(const struct tl_history *history);
/* What a user should know about the opening or the last change (a damaged file was moved
 * aside, nothing can be written); "" without. */
const char *tl_history_notice(const struct tl_history *history);

/* The time of a document, RFC 3339 ("2026-11-20T20:41:07.123Z", or with "+02:00"), in ns since
 * 1970. TL_SYNTAX. */
enum tl_status tl_history_time(const char *text, int64_t *ret_ns) TL_WARN_UNUSED;

/* --- Keeping -------------------------------------------------------------------------- */

/* Keeps the document of a run (TL_DOCUMENT_BYTES_MAX at most). The same run again replaces
 * its document and keeps note and tags. TL_SYNTAX, TL_RANGE, TL_LIMIT: it is no such document. */
enum tl_status tl_history_add(struct tl_history *history, const char *document, size_t len,
                              struct tl_error *reterr) TL_WARN_UNUSED;

/* The document as it was kept; *ret_text is NUL-terminated, the caller frees it. */
enum tl_status tl_history_document(struct tl_history *history, const char *id, char **ret_text,
                                   size_t *ret_len, struct tl_error *reterr) TL_WARN_UNUSED;

/* --- Lists ------------------------------------------------------------------------------ */

/* What a run went to: the name of its far end and, where a proxy was measured in its place, behind
 * TL_HISTORY_VIA that proxy. Two ways to one far end are two rows of a trend. */
#define TL_HISTORY_VIA         " by way of "
#define TL_HISTORY_TARGET_SIZE 528

/* One row of a list. Numbers are NAN where they are not known; texts are never NULL, may be
 * "", and come from files and far ends: clean them on the way to a terminal (base/utf8.h). */
struct tl_history_run {
    const char *id;     /* ULID */
    int64_t started_ns; /* wall clock */
    int64_t duration_ns;
    const char *target, *target_kind, *direction;
    const char *state, *cause, *segment, *sentence; /* the verdict's; cause "" without */
    const char *quality;
    double confidence;
    double measured_bps;            /* of the verdict's direction */
    double stream_bps, streams_bps; /* one stream, several */
    /* Half of what they may be off by (base/units.h, tl_format_bps_known); NAN also in runs that an
     * older tightlink kept. */
    double stream_doubt_bps, streams_doubt_bps;
    double rtt_ns, loaded_rtt_ns, retrans_ratio;
    double fixed_bps; /* what a fix was predicted to bring */
    /* The remedy that was tried, where one was. */
    double tried_predicted_bps, tried_measured_bps;
    double tried_doubt_bps;  /* of the prediction */
    int hit;                 /* 1 within 10 % of the prediction, 0 not, -1 nothing was tried */
    const char *note, *tags; /* tags: "before, after fix" */
};

/* Which runs; NULL and 0 ask for nothing. */
struct tl_history_filter {
    const char *target; /* the whole name */
    const char *cause, *tag;
    const char *direction; /* "download", "upload" */
    const char *text; /* somewhere in target, cause, sentence, note or tags; ASCII case apart */
    int64_t since_ns, until_ns; /* wall clock, until exclusive */
    size_t limit;               /* 0: all */
    size_t offset;              /* rows skipped, newest first */
};

/* Calls visit for each row, newest first, until it returns false. The row and its texts
 * live during the call. visit must not change the history. */
typedef bool tl_history_visit(const struct tl_history_run *run, void *context);
enum tl_status tl_history_each(struct tl_history *history, const struct tl_history_filter *filter,
                               tl_history_visit *visit, void *context,
                               struct tl_error *reterr) TL_WARN_UNUSED;

/* The same as an array, for screens that move about in it. Free with tl_history_list_finish. */
struct tl_history_list {
    struct tl_history_run *runs;
    size_t count;
    size_t total; /* without limit and offset */
    void *memory; /* private */
};
enum tl_status tl_history_list(struct tl_history *history, const struct tl_history_filter *filter,
                               struct tl_history_list *ret_list,
                               struct tl_error *reterr) TL_WARN_UNUSED;
void tl_history_list_finish(struct tl_history_list *list);

/* How many there are, without limit and offset. */
enum tl_status tl_history_count(struct tl_history *history, const struct tl_history_filter *filter,
                                size_t *ret_count, struct tl_error *reterr) TL_WARN_UNUSED;

/* The id that a user means: an id, the beginning of exactly one (case apart), "last", or
 * "last-2" for the second before it. TL_UNKNOWN: none; TL_RANGE: several. */
#define TL_HISTORY_ID_SIZE 27
enum tl_status tl_history_resolve(struct tl_history *history, const char *name,
                                  char ret_id[TL_HISTORY_ID_SIZE],
                                  struct tl_error *reterr) TL_WARN_UNUSED;

/* How many first characters tell every id of the history from the others; at least 8 for people's
 * eyes. What is so long is found again by tl_history_resolve(). */
enum tl_status tl_history_id_length(struct tl_history *history, size_t *ret_length,
                                    struct tl_error *reterr) TL_WARN_UNUSED;

/* --- Changes ------------------------------------------------------------------------------ */

/* "" takes the note away. TL_LIMIT: too long; TL_SYNTAX: not UTF-8. */
enum tl_status tl_history_set_note(struct tl_history *history, const char *id, const char *note,
                                   struct tl_error *reterr) TL_WARN_UNUSED;
/* Adds a tag or takes it away; doing it twice changes nothing. TL_SYNTAX: a tag is 1 to
 * TL_HISTORY_TAG_MAX bytes of printable UTF-8 without commas; TL_LIMIT: too many. */
enum tl_status tl_history_tag(struct tl_history *history, const char *id, const char *tag, bool on,
                              struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_history_delete(struct tl_history *history, const char *id,
                                 struct tl_error *reterr) TL_WARN_UNUSED;
/* Deletes what began before that time, and of the rest all but the newest keep_count (0: no
 * such limit). Runs with a note or a tag stay unless all. The file shrinks. */
enum tl_status tl_history_prune(struct tl_history *history, int64_t before_ns, size_t keep_count,
                                bool all, size_t *ret_count,
                                struct tl_error *reterr) TL_WARN_UNUSED;

/* --- Over time ------------------------------------------------------------------------------ */

/* Predictions that were tried, and how many came true, by calendar month (UTC), oldest first. */
struct tl_history_score {
    char month[8]; /* "2026-11" */
    size_t tried_count, hit_count;
};
/* Fills at most max, the newest; *ret_count tells how many. */
enum tl_status tl_history_score(struct tl_history *history, const struct tl_history_filter *filter,
                                struct tl_history_score *ret_scores, size_t max, size_t *ret_count,
                                struct tl_error *reterr) TL_WARN_UNUSED;

/* A rate and half of what it may be off by, NAN where that is not known. */
struct tl_history_rate {
    double bps, doubt_bps;
};

/* The one-stream rate of a target over its runs of one direction, that of the newest: Theil and
 * Sen's slope (the median of the slopes between all pairs; Sen 1968), which single bad runs do not
 * move, with its 95 % interval after Kendall. Runs without a rate, and invalid ones, do not count;
 * of more than TL_HISTORY_TREND_MAX the newest do. */
#define TL_HISTORY_TREND_MAX 400
struct tl_history_trend {
    size_t count;
    int64_t oldest_ns, newest_ns;                       /* when they began; 0 without runs */
    char direction[16];                                 /* "download"; "" without runs */
    struct tl_history_rate median, least, most, newest; /* NAN without runs */
    double slope_bps_per_day, low_bps_per_day, high_bps_per_day; /* NAN below 4 runs */
};
enum tl_status tl_history_trend(struct tl_history *history, const struct tl_history_filter *filter,
                                struct tl_history_trend *ret_trend,
                                struct tl_error *reterr) TL_WARN_UNUSED;

#endif
