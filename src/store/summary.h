/* What a list or a comparison needs of a document. Private to src/store. */
#ifndef TL_STORE_SUMMARY_H
#define TL_STORE_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/json.h"
#include "tightlink/base/status.h"
#include "tightlink/store/history.h"

/* Texts are cut to their room; NAN where a number is not known. */
struct tl_summary {
    char id[27], started[32];
    int64_t started_ns, duration_ns;
    char target[TL_HISTORY_TARGET_SIZE], target_kind[16], direction[16];
    char state[16], cause[48], segment[16], sentence[384], quality[16];
    double confidence, measured_bps, fixed_bps;
    double stream_bps, streams_bps, rtt_ns, loaded_rtt_ns, retrans_ratio;
    double tried_predicted_bps, tried_measured_bps;
    /* Half of what the rates may be off by, as they are told. */
    double measured_doubt_bps, fixed_doubt_bps, stream_doubt_bps, streams_doubt_bps;
    double tried_doubt_bps; /* of what was predicted */
    int hit;                /* -1: nothing was tried */
};

/* Parses a document. *ret_doc is owned by the caller. The limits of saved runs hold. */
enum tl_status tl_summary_parse(const char *text, size_t len, struct tl_json **ret_doc,
                                struct tl_error *reterr) TL_WARN_UNUSED;

/* TL_SYNTAX, TL_RANGE, TL_UNKNOWN (with the JSON pointer), TL_VERSION: another format. */
enum tl_status tl_summary_read(const struct tl_json *doc, struct tl_summary *ret_summary,
                               struct tl_error *reterr) TL_WARN_UNUSED;

/* Value of a known fact, NAN otherwise; bounds where they are given, else the value. */
double tl_summary_fact(const struct tl_json *doc, const char *id, double *ret_low,
                       double *ret_high);

#endif
