/* Reports: what was found, as text for people and JSON for programs.
 *
 * Pure: reads a run and writes to a buffer; no files, no terminal. */
#ifndef TL_REPORT_REPORT_H
#define TL_REPORT_REPORT_H

#include "tightlink/base/buf.h"
#include "tightlink/facts/facts.h"
#include "tightlink/rules/findings.h"
#include "tightlink/rules/rules.h"

enum tl_stage_state {
    TL_STAGE_DONE,
    TL_STAGE_LIMITED,
    TL_STAGE_SKIPPED,
    TL_STAGE_FAILED,
    TL_STAGE_NOT_POSSIBLE
};
const char *tl_stage_state_name(enum tl_stage_state state); /* as in the schema */

struct tl_stage_record {
    char id[24];
    enum tl_stage_state state;
    char reason[256];
    long long duration_ns, sent_bytes, received_bytes;
};

struct tl_segment_record {
    char id[16];   /* near-host, lan, path, far-lan, far-host: the ids findings use */
    char kind[16]; /* the same words */
    char name[128];
    double rtt_add_ns, mtu_bytes, loss_ratio, loaded_rtt_add_ns; /* NAN where unknown */
};

#define TL_RUN_STAGES_MAX   16
#define TL_RUN_SEGMENTS_MAX 8
#define TL_RUN_REASONS_MAX  8

/* One run without its facts and findings: the "run", "stages" and "segments" of the schema. */
struct tl_run {
    char id[27];      /* ULID */
    char started[32]; /* RFC 3339 */
    long long duration_ns;
    char tool_version[32];
    char target_name[256], target_address[64];
    int target_family;    /* 4, 6 or 0 */
    char target_kind[16]; /* "tightlink", "demo" … as in the schema */
    bool download, upload;
    double goal_bps, goal_rtt_ns; /* NAN without */
    char complaint[64];           /* "" without */
    long long sent_bytes, received_bytes;
    enum tl_quality quality;
    char reasons[TL_RUN_REASONS_MAX][256];
    int reason_count;
    struct tl_stage_record stages[TL_RUN_STAGES_MAX];
    int stage_count;
    struct tl_segment_record segments[TL_RUN_SEGMENTS_MAX];
    int segment_count;
};

/* The document of findings.schema.json, format tightlink.findings/1, with all facts. */
enum tl_status tl_report_json(const struct tl_run *run, const struct tl_facts *facts,
                              const struct tl_findings *findings,
                              struct tl_buf *out) TL_WARN_UNUSED;

/* Reads such a document back: run and facts, so that it can be judged again.
 * *run is untouched on failure; the error names the place as a JSON pointer. */
enum tl_status tl_report_read_json(const char *text, size_t len, struct tl_run *run,
                                   struct tl_facts **ret_facts,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

/* The verdict as text: first two lines for a person who knows no networking,
 * then ladder, ledger, evidence, fix, undo and whom to send it to. */
struct tl_text_style {
    int width;  /* columns, 60 to 200 */
    bool color; /* ANSI colour; never the only carrier of meaning */
    bool utf8;  /* block characters for bars; else + - | # */
};
enum tl_status tl_report_text(const struct tl_run *run, const struct tl_facts *facts,
                              const struct tl_findings *findings, const struct tl_text_style *style,
                              struct tl_buf *out) TL_WARN_UNUSED;

#endif
