/* A session: one diagnosis from the first connect to the verdict.
 *
 * A worker thread owns the facts, runs the stages and asks the rules after each
 * what is still missing. The owner (command line or screen) reads events from one
 * queue and sends commands; nothing else is shared.
 *
 *   CONNECTING -> hosts, path (light)      -> CONSENT wanted, with worst-case bytes
 *   consent given -> stream -> judge -> the stage with the missing facts -> judge ...
 *   stop, budget spent or nothing left that could change the verdict -> DONE
 *
 * A stopped or failed session still gives what it has. */
#ifndef TL_SESSION_SESSION_H
#define TL_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/facts/facts.h"
#include "tightlink/facts/run.h"
#include "tightlink/rules/rules.h"

struct tl_session_config {
    const char *host; /* name or address of the responder; copied */
    uint16_t port;
    int family; /* 4, 6 or 0 for either */
    bool download, upload;
    double goal_bps, goal_rtt_ns; /* NAN without */
    int64_t time_budget_ns;       /* for the loading stages; 0: 25 s, more on long paths */
    int64_t data_budget_bytes;    /* 0: TL_SESSION_DATA_BUDGET, more on links above 1 Gb/s */
    const char *target_kind;      /* "tightlink" or "demo" */
    const char *target_name;      /* as findings shall call it; NULL: host */
    const struct tl_rules *rules; /* borrowed, outlives the session */
};

/* What a diagnosis may send where the path carries 1 Gb/s or less. */
#define TL_SESSION_DATA_BUDGET INT64_C(1500000000)

enum tl_event_kind {
    TL_EVENT_STAGE_START, /* stage, direction where it has one, expected time */
    TL_EVENT_STAGE_END,   /* stage and its record */
    TL_EVENT_LIVE,        /* the rate of the running stage */
    TL_EVENT_NOTE,    /* a sentence: queued behind others, early reading, a decision of the plan */
    TL_EVENT_CONSENT, /* worst-case bytes and time; answer with tl_session_consent */
    TL_EVENT_DONE,    /* the worker has ended: tl_session_finish does not wait long */
};

struct tl_event {
    enum tl_event_kind kind;
    int64_t time_ns; /* since the session's start */
    char stage[24];
    bool has_direction;
    enum tl_direction direction;
    double expected_ns;            /* STAGE_START, CONSENT */
    double rate_bps, rtt_ns;       /* LIVE; NAN where unknown */
    double elapsed_ns;             /* LIVE: since the stage began */
    int64_t worst_bytes;           /* CONSENT */
    struct tl_stage_record record; /* STAGE_END */
    char text[256];                /* NOTE, CONSENT: one sentence, clean */
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

struct tl_session_result {
    enum tl_status status; /* why it ended: OK, or what stopped it before a verdict could be */
    struct tl_error error; /* the sentence behind status */
    struct tl_run run;
    struct tl_facts *facts;       /* owned by the caller */
    struct tl_findings *findings; /* owned by the caller; NULL only when nothing could be judged */
};

/* Waits for the worker and hands its results over. Once. */
void tl_session_finish(struct tl_session *session, struct tl_session_result *ret_result);
void tl_session_destroy(struct tl_session *session); /* stops and waits when still running */

#endif
