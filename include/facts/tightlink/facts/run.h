/* How one run went, besides its facts: what was asked, which stages ran, which
 * segments the path has, and how far the measurements can be trusted. Plain data,
 * filled by the session, judged by rules, kept by reports; the "run", "stages" and
 * "segments" of findings.schema.json. */
#ifndef TL_FACTS_RUN_H
#define TL_FACTS_RUN_H

#include <stdbool.h>

#include "tightlink/base/far.h"
#include "tightlink/facts/facts.h"
#include "tightlink/facts/trial.h"

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

/* A decision of the plan: a stage that was chosen, in the order of choice, or one that was
 * left out at the end. */
struct tl_plan_record {
    char stage[24];
    bool has_direction;
    enum tl_direction direction;
    bool chosen;
    double worth;             /* 0 to 1; NAN where nothing was weighed (first, asked for) */
    long long time_ns, bytes; /* at most, as it was planned */
    char why[200];
};

/* A remedy that was tried in the program's own sockets. */
struct tl_verified_record {
    char rule[64];
    enum tl_direction direction;
    char what[160]; /* "receive buffer of 4 MiB" */
    struct tl_prediction predicted;
    double measured_bps;
    enum tl_score score;
};

struct tl_watch_outage {
    char start[32]; /* RFC 3339 */
    long long length_ns;
    bool open; /* still lasting at the end */
};

#define TL_WATCH_OUTAGES_MAX 32
#define TL_WATCH_GRAPH_MAX   60

/* What was seen after the verdict (run --for). Rates of whole seconds, those at the beginning of
 * a transfer left out; NAN where none counts. */
struct tl_watch_record {
    bool ran;
    long long duration_ns, bytes;
    long long seconds_count; /* that count */
    double p5_bps, p50_bps, p95_bps, least_bps, most_bps;
    long long outage_count, outage_ns;                    /* all of them */
    struct tl_watch_outage outages[TL_WATCH_OUTAGES_MAX]; /* the first of them */
    double graph_bps[TL_WATCH_GRAPH_MAX]; /* means of equal steps, NAN where nothing came */
    int graph_count;
    double graph_step_ns;
    char path[256];  /* of the file with the samples, "" without */
    char ended[160]; /* why it ended */
};

/* A router on the way, or the far end, which is the last one. From this PC, 1 is the first. */
struct tl_hop_record {
    int hop;
    char address[64]; /* "" where it never answered */
    char name[128];   /* "" where it has none */
    int sent_count, answered_count;
    double rtt_min_ns, rtt_mean_ns, rtt_max_ns; /* idle; NAN where it never answered */
    double loaded_rtt_ns;                       /* median beside a load; NAN */
    char note[96];                              /* "" without */
};

struct tl_segment_record {
    char id[16];   /* near-host, lan, path, far-lan, far-host: the ids findings use */
    char kind[16]; /* the same words */
    char name[128];
    double rtt_add_ns, mtu_bytes, loss_ratio, loaded_rtt_add_ns; /* NAN where unknown */
    /* Responders on the way: what one stream from this host to the segment's far end got, and
     * what it could at most. NAN without. */
    double prefix_rate_bps, prefix_ceiling_bps, prefix_rtt_ns;
    int first_hop, last_hop; /* from this PC; last_hop 0 where they are not known */
    bool tight;              /* the limit lies in this segment */
};

/* What the user asked for. */
struct tl_run_goal {
    double bps, rtt_ns;                       /* "900M", "900M@80ms"; NAN without */
    double bytes, time_ns;                    /* "1TB in 3h", from which bps follows; or 0, NAN */
    double loss_ratio, rtt_max_ns, mtu_bytes; /* a service table, line by line; or 0, NAN */
};

#define TL_RUN_HOPS_MAX     30
#define TL_RUN_STAGES_MAX   64 /* every stage both ways, and some done again */
#define TL_RUN_SEGMENTS_MAX 16
#define TL_RUN_REASONS_MAX  8
#define TL_RUN_PLAN_MAX     96
#define TL_RUN_VERIFIED_MAX 4
/* The reason of a run, or of a stage, that its user ended early. */
#define TL_RUN_STOPPED "stopped by you"

/* The specification of an emulated path (demo --link), its NUL included. */
#define TL_RUN_LINK_SIZE 1024

#define TL_RUN_HOST_MARK_SIZE 33 /* 128 bits in hexadecimal */

/* One run without its facts and findings: the "run", "stages" and "segments" of the schema. */
struct tl_run {
    char id[27];                           /* ULID */
    char host_mark[TL_RUN_HOST_MARK_SIZE]; /* of who made it (probes/mark.h); "" where not told */
    char started[32];                      /* RFC 3339 */
    long long duration_ns;
    char tool_version[32];
    char target_name[256], target_address[64];
    char target_proxy[256]; /* on the way to it: what was measured, as is the address; "" without */
    int target_family;      /* 4, 6 or 0 */
    char target_kind[16];   /* "tightlink", "demo" … as in the schema */
    /* What else one has to say to reach it again; 0, false or "" where it is the usual. */
    int target_port;                    /* that was asked for */
    bool target_http1;                  /* HTTP/1.1 was asked for where the server offers HTTP/2 */
    int target_only;                    /* 4 or 6: of the two families this one was asked for */
    bool target_keyed;                  /* a key was used */
    bool target_login;                  /* a name and a password were given (iperf3) */
    char target_far[16];                /* of a demo: the kind of its far end */
    char target_link[TL_RUN_LINK_SIZE]; /* of a demo: what --link said of the path */
    bool download, upload;
    struct tl_run_goal goal;
    char complaint[64]; /* "" without */
    long long sent_bytes, received_bytes;
    enum tl_quality quality;
    char reasons[TL_RUN_REASONS_MAX][256];
    int reason_count;
    struct tl_stage_record stages[TL_RUN_STAGES_MAX];
    int stage_count;
    struct tl_segment_record segments[TL_RUN_SEGMENTS_MAX];
    int segment_count;
    struct tl_hop_record hops[TL_RUN_HOPS_MAX];
    int hop_count;
    struct tl_plan_record plan[TL_RUN_PLAN_MAX];
    int plan_count;
    struct tl_verified_record verified[TL_RUN_VERIFIED_MAX];
    int verified_count;
    struct tl_watch_record watch;
    int strange_facts;     /* read from a file: ids that this program does not know */
    char strange_fact[64]; /* the first of them, "" without */
};

/* Its two ends are hosts that are not this one: of a capture, or nodes that measured. */
bool tl_run_is_of_others(const struct tl_run *run);
/* Somebody else's transfer, live or in a capture: it was only watched, nothing was sent. */
bool tl_run_is_watched(const struct tl_run *run);

/* What was measured against; TL_FAR_KIND_COUNT: no far end of ours (a capture, others' hosts). */
enum tl_far_kind tl_run_far_kind(const struct tl_run *run);
/* "a web server": a far end that is no responder, which would tell more; NULL otherwise. */
const char *tl_run_stranger(const struct tl_run *run);

/* One segment more, of which nothing is known yet; id is its kind too. There must be room. */
struct tl_segment_record *tl_run_add_segment(struct tl_run *run, const char *id, const char *name);

#endif
