/* How one run went, besides its facts: what was asked, which stages ran, which
 * segments the path has, and how far the measurements can be trusted. Plain data,
 * filled by the session, judged by rules, kept by reports; the "run", "stages" and
 * "segments" of findings.schema.json. */
#ifndef TL_FACTS_RUN_H
#define TL_FACTS_RUN_H

#include <stdbool.h>

/* How far the measurements can be trusted (doc/architecture.md, "Faults during a diagnosis"). */
enum tl_quality { TL_QUALITY_VALID, TL_QUALITY_DEGRADED, TL_QUALITY_INVALID, TL_QUALITY_ABORTED };
const char *tl_quality_name(enum tl_quality quality);

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
    int strange_facts;     /* read from a file: ids that this program does not know */
    char strange_fact[64]; /* the first of them, "" without */
};

#endif
