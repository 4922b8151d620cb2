/* Inside of tl_session: what its files share. Nobody else includes this.
 *
 *   session.c    create, start, finish; the owner's commands
 *   worker.c     the way of a run: consent, connect, light stages, plan, what follows
 *   run_stage.c  one stage: probe, events, record
 *   beside.c     two light stages at once
 *   decisions.c  what the plan decided, as records and as the list of a screen
 *   far.c        which kind of far end it is, and what it cannot
 *   apart.c      nothing there that could be measured with
 *   redial.c     a path that went dead and came back
 *   prefixes.c   responders on the way
 *   trial.c      the verdict's remedy, tried
 *   vigil.c      going on for hours */
#ifndef TL_SESSION_SESSION_PRIVATE_H
#define TL_SESSION_SESSION_PRIVATE_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "events.h"
#include "plan.h"
#include "prefixes.h"
#include "tightlink/base/proxy.h"
#include "tightlink/probes/hop_names.h"
#include "tightlink/probes/watch.h"
#include "tightlink/session/session.h"

/* What the owner wants; taken over by the worker between stages. */
struct tl_commands {
    pthread_mutex_t lock;
    bool paused;
    uint32_t skip, redo;
    int64_t time_ns, bytes; /* new budgets, 0 none */
    int running;            /* index of the running stage, -1 none */
};

struct tl_session {
    struct tl_session_config config; /* texts point into the fields below */
    struct tl_target named;          /* as the user wrote it */
    const char *proxy;               /* the variable that names one for it; NULL: none */
    struct tl_proxy via_proxy;       /* what it names; host "": nothing that is spoken to */
    struct tl_error no_proxy;        /* then: why */
    char host[256], other_host[256], target_name[256], target_kind[16], directory[PATH_MAX];
    char target_link[TL_RUN_LINK_SIZE];
    char watch_path[PATH_MAX], via[TL_SESSION_VIA_MAX][256];

    pthread_t thread;
    bool started, joined;
    int cancel_fd;  /* eventfd: the running stage shall end */
    int dial_fd;    /* epoll: cancel_fd, and while one dials who else answers; -1 before */
    int consent_fd; /* eventfd: 1 no, 2 yes */
    int64_t agreed_ns, agreed_bytes; /* the most that the owner has said yes to */
    int wake_fd;                     /* eventfd: a command came */
    atomic_bool stopped;
    struct tl_commands commands;
    struct tl_events events;

    /* The worker's own. */
    struct tl_session_result result;
    struct tl_samples samples;
    struct tl_probe_target target;
    struct tl_far *far;
    struct tl_watch *watch;
    struct tl_plan_state plan;
    bool repeated[TL_PLAN_COUNT][2]; /* done again because the path was interrupted */
    bool asked_again; /* a stage ended without an answer of a far end that was there: once is enough
                       */
    int64_t budget_time_ns, budget_bytes; /* as a whole; plan has what is left */
    bool budget_set;                      /* the bytes were set during the run */
    int64_t start_ns;
    struct tl_hop_names *names; /* of the routers, asked for meanwhile; NULL: not */
    const char *stage;          /* the running one, for live events */
    bool has_direction;
    enum tl_direction direction;
    double expected_ns;
    struct session_prefix prefixes[TL_SESSION_VIA_MAX + 1]; /* the last is the whole path */
    size_t prefix_count;                                    /* of those to responders on the way */
};

static inline bool session_is_stopped(struct tl_session *session)
{
    return atomic_load(&session->stopped);
}

/* run_stage.c */
struct tl_probe session_probe(struct tl_session *session);
/* Begin and end of a stage for screens and records; end also counts bytes and quality. */
void session_begin_stage(struct tl_session *session, const char *id,
                         const enum tl_direction *direction, int64_t expected_ns, const char *why);
void session_end_stage(struct tl_session *session, const struct tl_probe_outcome *outcome);
/* Around a stage: which one a skip ends (-1: none), and what a cancelled one comes to: TL_OK and
 * a record that says "skipped by you" where it was a skip. */
void session_enter_stage(struct tl_session *session, int stage);
enum tl_status session_leave_stage(struct tl_session *session, enum tl_status status,
                                   struct tl_probe_outcome *outcome);
/* The parts of a stage of the table: said to have begun; run up to its outcome; recorded. Between
 * the last two the path may have to come back (session_redial). */
void session_announce_step(struct tl_session *session, const struct tl_plan_step *step);
enum tl_status session_measure_step(struct tl_session *session, const struct tl_plan_step *step,
                                    struct tl_probe_outcome *ret_outcome,
                                    struct tl_error *reterr) TL_WARN_UNUSED;
void session_finish_step(struct tl_session *session, const struct tl_plan_step *step,
                         const struct tl_probe_outcome *outcome);
/* One stage of the table; a skip by the user is TL_OK. */
enum tl_status session_run_step(struct tl_session *session, const struct tl_plan_step *step,
                                struct tl_error *reterr) TL_WARN_UNUSED;
/* A stage that failed ends the session when its connection is gone or the user wants it. */
bool session_ends(enum tl_status status);
/* Judges what is known, and tells the reading so far. */
enum tl_status session_judge(struct tl_session *session, struct tl_error *reterr) TL_WARN_UNUSED;
/* Takes the owner's commands over; waits while paused. */
void session_take_commands(struct tl_session *session);
/* A new budget of bytes; what was sent already counts in it, so that none may be left. */
void session_set_bytes(struct tl_session *session, int64_t bytes);

/* redial.c: a stage ended with status. Where the path was dead and is back within seconds: TL_OK,
 * with a new connection, and *outcome says when and how long; else status. */
enum tl_status session_redial(struct tl_session *session, enum tl_status status,
                              struct tl_probe_outcome *outcome);
/* The same file: the path was dead during a stage whose connection it did not break. */
void session_keep_gap(struct tl_session *session, struct tl_probe_outcome *outcome);

/* beside.c: a light stage, and in a thread another one that does not disturb it. The status is that
 * of the first; the other one is not done where it could not be measured beside it. */
enum tl_status session_run_pair(struct tl_session *session, const struct tl_plan_step *step,
                                const struct tl_plan_step *companion,
                                struct tl_error *reterr) TL_WARN_UNUSED;

/* decisions.c */
void session_list_stages(struct tl_session *session);
void session_stage_changed(struct tl_session *session, enum tl_plan_stage stage,
                           enum tl_event_stage_state state, const char *why);
void session_record_choice(struct tl_session *session, const struct tl_plan_step *step);
/* At the end: what was left out and why; what lack of budget or of a probe took away. */
void session_record_rest(struct tl_session *session, const char *why_ended);

/* preview.c: the near host's facts, with the card of the way to a target that is an address; of a
 * name, whose resolving others would hear, with that of the default route. */
enum tl_status session_audit_unsent(const char *host, struct tl_facts **ret_facts,
                                    struct tl_error *reterr) TL_WARN_UNUSED;

/* far.c: connects to the kind of far end that was named; where none was and no responder answers,
 * to what else answers there. Sets plan.far and the run's kind. Errors as tl_probe_connect. */
enum tl_status session_connect(struct tl_session *session, struct tl_error *reterr) TL_WARN_UNUSED;
/* What this far end cannot do, said where a rule or a reader looks for it. */
void session_explain_lacks(struct tl_session *session);

/* apart.c: the far end has no responder, or does not let us reach it. */
bool session_can_go_apart(enum tl_status status);
void session_go_apart(struct tl_session *session, const struct tl_probe_target *target);

/* trial.c: after the verdict, where the user wants it. A stage that was not possible is TL_OK. */
enum tl_status session_try_remedy(struct tl_session *session,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

/* vigil.c: goes on for config.watch_ns; an interruption by the user is TL_OK. */
enum tl_status session_keep_watch(struct tl_session *session,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

/* prefixes.c: config.via_count responders, one stream each; after a judgement. */
enum tl_status session_run_prefixes(struct tl_session *session,
                                    struct tl_error *reterr) TL_WARN_UNUSED;
/* Adds the parts of the path behind the run's segments, the tight one marked. */
void session_add_parts(const struct tl_session *session, struct tl_run *run);

#endif
