/* Two runs side by side: what changed, and whether the change is more than noise.
 *
 * Pure functions over two documents (findings.schema.json), which may be hostile.
 *
 * Noise. A rate of one run is known within bounds. Where a document has the readings of its
 * steady part, the ratio's 95 % interval is a bootstrap over blocks of them
 * (tl_stats_bootstrap_ratio95); else it follows from the 95 % bounds that were kept with the
 * fact. A change counts as beyond noise when the interval leaves out "no change" and the
 * change is larger than TL_COMPARE_LEAST_RATIO, because a rate is only measured to 3 %.
 * Both describe noise within a run; two runs at different hours may differ for other reasons,
 * which no comparison of one run with one can tell. */
#ifndef TL_STORE_COMPARE_H
#define TL_STORE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/buf.h"
#include "tightlink/base/json_write.h"
#include "tightlink/base/status.h"
#include "tightlink/facts/facts.h"
#include "tightlink/store/history.h"

#define TL_COMPARE_LEAST_RATIO  0.03
#define TL_COMPARE_ROWS_MAX     12
#define TL_COMPARE_SETTINGS_MAX 32

enum tl_beyond_noise { TL_BEYOND_NO, TL_BEYOND_YES, TL_BEYOND_CANNOT_TELL };
const char *tl_beyond_noise_name(enum tl_beyond_noise beyond); /* "no", "yes", "cannot tell" */

/* One measured quantity. NAN where a run does not know it; then the change is NAN too. */
struct tl_compare_row {
    char id[64];    /* "download.goodput_bps" */
    char label[32]; /* "one stream" */
    enum tl_unit unit;
    double a, b;
    double a_doubt, b_doubt; /* half of what they may be off by; 0 where nobody knows */
    double change_ratio, low_ratio, high_ratio; /* b / a - 1 with its 95 % interval */
    enum tl_beyond_noise beyond;
    const char *method; /* "readings", "bounds"; "" without an interval. Static. */
};

/* The change, or an end of its interval, no more exact than the interval leaves it. */
double tl_compare_known_ratio(const struct tl_compare_row *row, double ratio);

/* A setting of either host that differs. */
struct tl_compare_setting {
    char id[64]; /* "near.tcp_rmem_max_bytes" */
    enum tl_unit unit;
    double a, b;                 /* NAN where it is a text */
    char a_text[64], b_text[64]; /* "" where it is a number; may be cut */
};

struct tl_compare_side {
    char id[27], started[32], target[TL_HISTORY_TARGET_SIZE], direction[16];
    char state[16], cause[48], segment[16], quality[16], sentence[256];
    double measured_bps, fixed_bps;
    double measured_doubt_bps, fixed_doubt_bps; /* half of what they may be off by */
};

struct tl_comparison {
    struct tl_compare_side a, b;
    bool same_target;
    bool verdict_moved; /* another state, cause or segment */
    struct tl_compare_row rows[TL_COMPARE_ROWS_MAX];
    size_t row_count;
    struct tl_compare_setting settings[TL_COMPARE_SETTINGS_MAX];
    size_t setting_count, setting_total; /* kept, and all that differ */
    /* What A promised for the time after its fix, against what B measured: only where the
     * target and direction are the same and A's cause is no longer B's. */
    bool predicted;
    double predicted_bps, got_bps; /* hit: within 10 % */
    bool hit;
    char sentence[320]; /* the whole in one sentence */
};

/* TL_SYNTAX, TL_RANGE, TL_LIMIT, TL_UNKNOWN: a document is none; the sentence says which. */
enum tl_status tl_compare_documents(const char *a, size_t a_len, const char *b, size_t b_len,
                                    struct tl_comparison *ret_comparison,
                                    struct tl_error *reterr) TL_WARN_UNUSED;

/* The comparison as one JSON object, format tightlink.comparison/1. */
void tl_compare_json(const struct tl_comparison *comparison, struct tl_json_writer *writer);

/* The comparison as text, in ASCII: a table of 80 columns, or lines where there are fewer than it
 * takes. */
void tl_compare_text(const struct tl_comparison *comparison, int columns, struct tl_buf *out);

/* --- An alarm when the verdict moves -------------------------------------------------------- */

struct tl_history;
/* How the newest run of a target stands to the one before it, in the same direction and of a
 * trustworthy quality. */
struct tl_verdict_move {
    bool moved;
    char from[48], to[48]; /* cause, or state where there is none */
    char sentence[256];
};
/* id: the newer run. moved is false, with an empty sentence, where there is no run before it. */
enum tl_status tl_history_move(struct tl_history *history, const char *id,
                               struct tl_verdict_move *ret_move,
                               struct tl_error *reterr) TL_WARN_UNUSED;

#endif
