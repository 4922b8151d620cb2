/* A session: one diagnosis from the first connect to the verdict.
 *
 * A worker thread owns the facts, runs the stages and asks the rules after each
 * what is still missing. The owner (command line or screen) reads events from one
 * queue and sends commands; nothing else is shared.
 *
 *   CONSENT wanted, with worst-case bytes; before it nothing is sent and no name resolved
 *   consent given -> CONNECTING -> light stages (hosts, path ...) -> CONSENT again, where the way
 *     costs more than was said -> stream -> judge -> the stage with the most worth -> judge ...
 *   stop, budget spent or nothing left that could change the verdict
 *     -> responders on the way, verify, watching: each where asked for -> DONE
 *
 * No responder at the far end: what can be seen without one, then DONE.
 *
 * What a screen draws, and from which event:
 *
 *   list of stages      PLAN, one for each stage at the start and at every change of its state
 *   progress            LIVE elapsed_ns of expected_ns, bytes; STAGE_START, STAGE_END
 *   rate, RTT, losses   LIVE live
 *   ledger as it fills  LIVE live.*_ratio
 *   early reading       LIVE text (of the running stream), READING (after each judgement)
 *   decisions           NOTE
 *   watching (--for)    LIVE of stage "watch", NOTE for each outage
 *
 * A stopped or failed session still gives what it has. */
#ifndef TL_SESSION_SESSION_H
#define TL_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/facts/facts.h"
#include "tightlink/facts/run.h"
#include "tightlink/facts/samples.h"
#include "tightlink/probes/probes.h"
#include "tightlink/rules/rules.h"

struct tl_key; /* base/key.h */
#define TL_SESSION_VIA_MAX 6
/* Stages that a user may name: fewer than 32, so that a set of them is one word. */
#define TL_SESSION_STAGES_MAX 32

struct tl_session_config {
    const char *host; /* the far end as a user names it (base/far.h, tl_target_parse); copied */
    const char *other_host; /* its address of the other family where host has one alone; copied;
                             * NULL: looked up by name */
    uint16_t port;          /* of a responder; another kind has its own unless it is in host */
    int family;             /* 4, 6 or 0 for either */
    bool http1;             /* HTTP/1.1 to a web server that offers HTTP/2, too */
    bool numeric;           /* no resolver is asked for names of routers */
    bool download, upload;
    struct tl_run_goal goal;
    int64_t time_budget_ns;    /* for the loading stages; 0: 25 s, or 45 s where no sure verdict
                                * is there by then; more on long paths */
    int64_t data_budget_bytes; /* 0: TL_SESSION_DATA_BUDGET, more on links above 1 Gb/s */
    const char *target_kind;   /* "demo"; "tightlink": whatever kind the far end turns out to be */
    const char *target_name;   /* as findings shall call it; NULL: host */
    const char *target_link;   /* of a demo: what --link said; copied; NULL: nothing */
    const char *directory;     /* where disk stages may test; copied; NULL: nowhere */
    bool far_disk;             /* and in the directory that the far end's administrator opened */
    const struct tl_rules *rules;     /* borrowed, outlives the session */
    const struct tl_far_login *login; /* of an iperf3 server that asks; borrowed; NULL: none */
    const struct tl_key *key;         /* of the responder; borrowed likewise; NULL: open mode */
    /* Sets of stages, bit i for the i-th of tl_session_stage_at(). */
    uint32_t skip;   /* never run */
    uint32_t force;  /* run whatever they are worth, before those that the plan chooses */
    bool only_force; /* besides the light ones run nothing else */
    const struct tl_facts *prior; /* of a saved run, borrowed: measure nothing, only verify */
    bool verify;                  /* try the verdict's remedy at the end */
    int64_t watch_ns;             /* 0, or go on for so long after the verdict */
    const char *watch_path;       /* file of the samples; copied; NULL: in the state directory */
    const char *via[TL_SESSION_VIA_MAX]; /* responders on the way, nearest first; copied */
    size_t via_count;
    /* What the owner alone can see of the path: asked by the worker, once all is measured and
     * before it is judged for the last time. True and a sentence part: the run is degraded by it.
     * NULL: the owner sees nothing. The context is borrowed until the session has ended. */
    bool (*disturbed)(void *context, char *ret_reason, size_t reason_size);
    void *disturbed_context;
};

/* What a diagnosis may send where the path carries 1 Gb/s or less. */
#define TL_SESSION_DATA_BUDGET INT64_C(1500000000)

/* --- What there is to measure ------------------------------------------------------- */

/* What becomes of a stage that nobody says anything about. */
enum tl_stage_choice {
    TL_STAGE_PLANNED,  /* the plan decides */
    TL_STAGE_IF_ASKED, /* left out until it is asked for */
    TL_STAGE_TRIAL,    /* tries the fix behind the verdict: asked for by config.verify */
};

/* A stage as a start screen and --dry-run show it. Texts are static or live in the struct. */
struct tl_session_stage {
    const char *id, *what;
    const char *when; /* "always", "first", "when wanted", "skipped" ...: for people */
    enum tl_stage_choice choice;
    char needs[64]; /* "responder, directory"; "" for nothing */
    bool loads;     /* fills the path; only after consent */
    bool per_direction;
    int64_t time_ns, bytes; /* the most, each direction; bytes are bounded by the data budget */
};

size_t tl_session_stage_count(void);
const char *tl_session_stage_at(size_t index); /* its id */
/* The index of a stage, tl_session_stage_count() when there is none of that id. */
size_t tl_session_stage_find(const char *id);

/* Whether a stage fills the path; false for an id that is not known. */
bool tl_session_stage_loads(const char *id);

/* What a session with this configuration could do and would cost at most, from this host's
 * settings: sends nothing and resolves no name (which others would see before anybody agreed).
 * TL_USAGE where the host is none, TL_NOMEM. */
struct tl_session_preview {
    struct tl_session_stage stages[TL_SESSION_STAGES_MAX];
    size_t count;
    int64_t time_ns, bytes; /* budgets of the loading stages together */
};
enum tl_status tl_session_preview(const struct tl_session_config *config,
                                  struct tl_session_preview *ret_preview,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

/* --- Events ---------------------------------------------------------------------------- */

enum tl_event_kind {
    TL_EVENT_STAGE_START, /* stage, direction where it has one, expected time, why in text */
    TL_EVENT_STAGE_END,   /* stage and its record */
    TL_EVENT_LIVE,        /* numbers of the running stage */
    TL_EVENT_NOTE,        /* a sentence: queued behind others, a decision of the plan, a pause */
    TL_EVENT_CONSENT,     /* worst-case bytes and time; answer with tl_session_consent, each time */
    TL_EVENT_DONE,        /* the worker has ended: tl_session_finish does not wait long */
    TL_EVENT_PLAN,        /* a stage of the list: its state, time and bytes at most, why in text */
    TL_EVENT_READING,     /* the verdict so far: sentence in text, confidence, state */
    TL_EVENT_PAUSED,      /* waits for tl_session_resume */
};

/* Of a stage in the list. */
enum tl_event_stage_state {
    TL_STAGE_WAITS, /* may come: the plan decides */
    TL_STAGE_RUNS,
    TL_STAGE_ENDED, /* its record tells how */
    TL_STAGE_OFF,   /* skipped, only when asked for, or impossible: text says why */
};

struct tl_event {
    enum tl_event_kind kind;
    int64_t time_ns; /* since the session's start */
    char stage[24];
    bool has_direction;
    enum tl_direction direction;
    double expected_ns;                    /* STAGE_START, LIVE, CONSENT, PLAN */
    double rate_bps, rtt_ns;               /* LIVE; NAN where unknown */
    double elapsed_ns;                     /* LIVE: since the stage began */
    struct tl_probe_live live;             /* LIVE: the same and all the rest */
    int64_t worst_bytes;                   /* CONSENT, PLAN */
    bool worst_is_open;                    /* CONSENT: it is no measure of what will be sent */
    int64_t bytes;                         /* STAGE_END, PLAN, READING: moved by the run so far */
    struct tl_stage_record record;         /* STAGE_END */
    enum tl_event_stage_state stage_state; /* PLAN */
    enum tl_verdict_state verdict;         /* READING */
    double confidence;                     /* READING; 0 unless limited */
    char text[256];                        /* one sentence, clean */
};

struct tl_session;

/* Copies the configuration; starts no thread. */
enum tl_status tl_session_create(const struct tl_session_config *config,
                                 struct tl_session **ret_session,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* Starts the worker, which inherits the network namespace of the calling thread. */
enum tl_status tl_session_start(struct tl_session *session, struct tl_error *reterr) TL_WARN_UNUSED;

/* Readable while events wait. */
int tl_session_event_fd(const struct tl_session *session);
/* Takes the oldest event; false when there is none. Owner's thread. */
bool tl_session_next_event(struct tl_session *session, struct tl_event *ret_event);

/* Answers TL_EVENT_CONSENT. Without consent the session ends with what it has. */
void tl_session_consent(struct tl_session *session, bool given);

/* Ends the running stage and the session; the wire is silent within 250 ms.
 * Safe from any thread and from signal handlers. */
void tl_session_stop(struct tl_session *session);

/* --- Commands: from any thread but signal handlers; they take effect where they can, and
 * do nothing once the session has ended ----------------------------------------------- */

/* Ends the named stage when it runs (its facts stay unknown) and keeps it from running.
 * NULL: the running one. TL_UNKNOWN for an id that the table does not know. */
enum tl_status tl_session_skip(struct tl_session *session, const char *stage) TL_WARN_UNUSED;
/* Runs the stage again (or at all) after the running one; its facts are replaced. */
enum tl_status tl_session_redo(struct tl_session *session, const char *stage) TL_WARN_UNUSED;
/* Waits after the running stage, until resumed, stopped, or destroyed. */
void tl_session_pause(struct tl_session *session);
void tl_session_resume(struct tl_session *session);
/* New budgets for the loading stages as a whole, from the next stage on; 0 leaves one as it
 * is. More than was consented to is the owner's to ask for. */
void tl_session_set_budget(struct tl_session *session, int64_t time_ns, int64_t bytes);

struct tl_session_result {
    enum tl_status status; /* why it ended: OK, or what stopped it before a verdict could be */
    struct tl_error error; /* the sentence behind status */
    bool not_begun; /* nobody agreed, so nothing was sent: there is nothing to keep or to show */
    bool answered;  /* anything at all came back from the far end, with or without a responder */
    struct tl_run run;
    struct tl_facts *facts;       /* owned by the caller */
    struct tl_findings *findings; /* owned by the caller; NULL only when nothing could be judged */
    char rules_version[TL_RULES_VERSION_SIZE]; /* that judged; "" where none did */
    struct tl_samples *samples; /* owned by the caller; NULL where they were not taken or read */
};

/* Waits for the worker and hands its results over. Once. */
void tl_session_finish(struct tl_session *session, struct tl_session_result *ret_result);
/* After tl_session_finish: the readings of all transfers (facts/samples.h), for the caller to
 * finish; empty when they were taken before. */
void tl_session_take_samples(struct tl_session *session, struct tl_samples *ret_samples);
/* The remedy of the verdict that a session of this program can try (config.verify): the first that
 * its own sockets can have and that says what it brings. NULL without; *ret_why then is a sentence.
 * Pure; both are borrowed from findings, or constant. */
const struct tl_remedy *tl_session_trial_remedy(const struct tl_findings *findings,
                                                const char **ret_why);
void tl_session_destroy(struct tl_session *session); /* stops and waits when still running */

#endif
