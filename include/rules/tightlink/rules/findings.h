/* What the rules found: plain data that reports print and files keep.
 *
 * Mirrors the verdict, findings, ladder and ledger of findings.schema.json.
 * Made by tl_rules_judge() alone. Everything is owned by struct tl_findings and
 * dies with it; texts are UTF-8 and clean of control characters. Rates are
 * payload bit/s; NAN means "none". */
#ifndef TL_RULES_FINDINGS_H
#define TL_RULES_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "tightlink/base/status.h"
#include "tightlink/facts/facts.h"
#include "tightlink/facts/told.h"
#include "tightlink/facts/trial.h"

enum tl_result { TL_FOUND, TL_RULED_OUT, TL_CANNOT_TELL, TL_NOT_APPLICABLE };
enum tl_severity { TL_LIMITS, TL_CONTRIBUTES, TL_NOTE };
enum tl_truth { TL_FALSE, TL_UNKNOWN_TRUTH, TL_TRUE }; /* Kleene's order */
enum tl_verdict_state { TL_LIMITED, TL_GOAL_MET, TL_INCONCLUSIVE, TL_VERDICT_INVALID };

/* The words of findings.schema.json: "ruled-out", "limits", "true", "goal-met" … */
const char *tl_result_name(enum tl_result result);
const char *tl_severity_name(enum tl_severity severity);
const char *tl_truth_name(enum tl_truth truth);
const char *tl_verdict_state_name(enum tl_verdict_state state);

/* One test of a rule with the values it saw. */
struct tl_evidence {
    char *id;
    char *say;  /* sentence with the numbers filled in, that fits the result */
    char *test; /* "flow.ledger_rwnd_ratio > 0.1" */
    enum tl_truth truth;
    bool is_for;   /* true: speaks for the cause; false: speaks against it */
    bool is_spare; /* speaks neither way: one of several that would do, and another holds, or the
                    * rule has no sentence for this outcome (say is the test itself then) */
    struct tl_evidence_value {
        struct tl_fact_key key;
        bool known;
        double number; /* NAN for text */
        char *text;    /* NULL for numbers */
    } * values;
    size_t value_count;
};

struct tl_remedy {
    char *where;                       /* segment id: "near-host" … */
    char *os;                          /* "linux", "macos", "windows", or "" for any */
    char *needs;                       /* user, root, network-team, provider, developer */
    char *does;                        /* the command or the sentence to send, numbers filled in */
    char *undo, *persist, *why, *risk; /* "" where there is none */
    struct tl_prediction predicted;
    bool promised;         /* predicted may be promised, as verdict.fixed_promised */
    struct tl_trial trial; /* how a program can try it by itself; NONE: it cannot */
};

/* Whether what a remedy says (do, undo, persist) is a command to be copied whole, or words: for one
 * system alone it may be either. NULL is none. */
bool tl_remedy_is_command(const char *text);
/* Whether it asks somebody who is named: 'Ask the network team: "..." Until then ...' */
bool tl_remedy_is_request(const char *text);

struct tl_finding {
    char *rule, *cause;
    char *title;   /* of the rule: what it is, for people */
    char *segment; /* near-host, far-host, lan, path, far-lan, flow */
    enum tl_direction direction;
    enum tl_result result;
    enum tl_severity severity;                             /* meaningful when found */
    double confidence;                                     /* 0 to 1; meaningful when found */
    double ceiling_bps, ceiling_low_bps, ceiling_high_bps; /* NAN where none */
    char *sentence;
    char *send_to;
    struct tl_evidence *evidence;
    size_t evidence_count;
    struct tl_fact_key *missing; /* facts that would decide; cannot-tell only */
    size_t missing_count;
    struct tl_remedy *remedies;
    size_t remedy_count;
    char **references;
    size_t reference_count;
    char *standing;     /* how it stands to the verdict, for people: why it is, or why it is not */
    char *would_change; /* what would change this finding, for people; "" where nothing is said */
};

struct tl_rung {
    char *cause, *segment;
    enum tl_direction direction;
    bool tested;
    double bps, low_bps, high_bps; /* NAN when not tested */
    char *label;                   /* "receive buffer", "8 streams agree" */
    char *why_not;                 /* "" when tested */
    bool limits;                   /* this rung is the verdict */
    bool essential;                /* without it nobody knows what fixing another cause brings */
    struct tl_fact_key *missing;   /* the facts it lacks; not tested only */
    size_t missing_count;
};

struct tl_ledger_row {
    enum tl_direction direction;
    double app_ratio, sndbuf_ratio, rwnd_ratio, network_ratio; /* sum 1 */
    double duration_ns;
};

/* What people are shown: high, medium or low ("possibly"), which alone settles nothing. */
#define TL_CONFIDENCE_HIGH   0.8
#define TL_CONFIDENCE_MEDIUM 0.5

struct tl_verdict {
    enum tl_verdict_state state;
    char *cause, *segment; /* NULL unless limited */
    enum tl_direction direction;
    double confidence; /* lower bound of the share of such verdicts that was right (counted.json) */
    double undisturbed;       /* the same, had nothing disturbed the run; only while it is judged */
    char *confidence_reasons; /* why not less and why not more, for people; "" unless limited */
    char *sentence;           /* for a person who knows no networking */
    double measured_bps, ceiling_bps, fixed_bps; /* NAN where unknown */
    /* fixed_bps was seen in other circumstances and is only a lower bound: what comes after the
     * fix was not measured. */
    bool fixed_at_least;
    /* fixed_bps may be promised to a person: a host's limit was measured by itself and goes away
     * with its setting; of a path only what it was seen to carry. The one place where that is
     * decided; text, plain words, JSON, history and tickets all follow it. */
    bool fixed_promised;
    char *fixed_stage; /* would tell what comes after the fix; NULL: it is known, or none would */
    char *next_cause;  /* NULL where unknown */
    bool undecided;    /* no cause could be named, and no disturbance is why: sentence says what
                          might be and what would decide */
    bool broken;       /* the cause broke the transfer rather than limited its rate */
    char *send_to;     /* NULL where nobody */
    /* Unknown facts that could still change this verdict, each once, those of
     * the most promising open cause first: what the session measures next. */
    struct tl_fact_key *deciding;
    size_t deciding_count;
};

struct tl_findings {
    struct tl_verdict verdict; /* of the whole run: the direction that was asked about, or the
                                  slower against its goal when both were */
    struct tl_finding *findings;
    size_t finding_count;
    struct tl_rung *ladder; /* lowest first within each direction, untested last */
    size_t rung_count;
    struct tl_ledger_row *ledger;
    size_t ledger_count;
};

/* Half of what a rate may be off by, as it is told (base/units.h, tl_format_bps_known): one that
 * was measured in that direction as that is known; another by the bounds given; what the verdict
 * (NULL: none yet) says comes after the fix no better than predictions are. NAN where nobody knows.
 * One number is written with the same digits wherever it stands. */
double tl_told_doubt(const struct tl_facts *facts, const struct tl_verdict *verdict,
                     enum tl_direction direction, double bps, double low_bps, double high_bps);

/* NULL is fine. */
void tl_findings_destroy(struct tl_findings *findings);

#endif
