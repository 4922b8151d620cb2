/* A loaded rule and a loaded set. Immutable after loading; everything lives in
 * the set's arena. Private to the rules layer. */
#ifndef TL_RULES_RULE_H
#define TL_RULES_RULE_H

#include "logic.h"
#include <stdint.h>

#include "tightlink/rules/rules.h"

/* Operations of a set, of which each direction takes its own: 20 to 90 ns each, so that a judgement
 * ends in 100 ms (P13). Beside its formulas a test takes as long as some thirty operations: what it
 * found is written down. The program's own rules have a sixth of it. */
#define TL_RULES_COST_MAX      300000
#define TL_RULE_TEST_COST      30
#define TL_RULE_CEILINGS_MAX   4
#define TL_RULE_SUPPORTS_MAX   16
#define TL_RULE_REMEDIES_MAX   12
#define TL_RULE_REFERENCES_MAX 12
#define TL_RULE_YIELDS_MAX     16
#define TL_RULE_GROUPS_MAX     48 /* a bit each where a rule is explained: 64 at most */

/* Whose fault it is, by role; a direction turns it into a segment of the schema. */
enum tl_role {
    TL_ROLE_RECEIVER,
    TL_ROLE_SENDER,
    TL_ROLE_PATH,
    TL_ROLE_LAN,
    TL_ROLE_FLOW,
    TL_ROLE_RECEIVER_LAN,
    TL_ROLE_SENDER_LAN,
    TL_ROLE_COUNT
};
const char *tl_role_name(enum tl_role role);                                 /* "receiver" */
const char *tl_role_segment(enum tl_role role, enum tl_direction direction); /* "near-host" */
/* "this PC", "the network team" … overheard: neither end is this machine (struct tl_question). */
const char *tl_role_place(enum tl_role role, enum tl_direction direction, bool overheard);

/* The part of the time ledger that must speak for a cause. */
enum tl_share { TL_SHARE_NONE, TL_SHARE_APP, TL_SHARE_SNDBUF, TL_SHARE_RWND, TL_SHARE_NETWORK };
const char *tl_share_name(enum tl_share share);
#define TL_SHARE_COUNT 5

/* One way to compute the ceiling; the first whose condition holds is taken. */
struct tl_ceiling {
    const struct tl_logic *when; /* NULL: always */
    struct tl_formula bps, low, high;
    struct tl_template label;
    const char *because; /* of its constants; NULL where nothing is said */
};

struct tl_remedy_rule {
    enum tl_role where;
    const char *os, *needs;      /* "" for any */
    const struct tl_logic *when; /* NULL: always */
    struct tl_template does, undo, persist, why, risk;
    struct tl_formula predicted, predicted_low, predicted_high; /* not given: the next rung */
    enum tl_trial_kind trial;
    struct tl_formula trial_value;
    const char *trial_name; /* "" where the kind has none */
    const char *because;    /* of its constants; NULL where nothing is said */
};

struct tl_rule {
    const char *id, *cause, *title, *file;
    uint64_t digest; /* of its file */
    enum tl_role role;
    enum tl_severity severity;
    bool disabled;   /* stands for "not this one": its file has no more than the id */
    bool essential;  /* without its rung nobody knows what a fix of another cause brings */
    bool is_located; /* a text fact names the segment, where it is known */
    struct tl_role_fact located_by;
    bool overrides;       /* found, it is the verdict: it broke the transfer, whatever its rate */
    bool extrapolates;    /* the ceiling is the measured rate over the share of a resource used */
    bool scales_with_rtt; /* the ceiling falls as the round-trip time grows (windows, loss) */
    enum tl_share ledger;
    double ledger_ratio;        /* the share that speaks for this cause begins here */
    const char *ledger_because; /* NULL where nothing is said */
    struct tl_formula_scope scope;
    size_t test_count;
    struct tl_test *tests;
    size_t group_count; /* conditions with an id, which others refer to */
    const struct tl_logic *groups[TL_RULE_GROUPS_MAX];
    const struct tl_logic *applies, *when, *not_when, *agrees; /* NULL: not given */
    size_t support_count;
    size_t supports[TL_RULE_SUPPORTS_MAX]; /* indexes of tests that add or take confidence */
    size_t ceiling_count;
    struct tl_ceiling ceilings[TL_RULE_CEILINGS_MAX];
    struct tl_template no_ceiling; /* why there is no rung when no condition holds */
    size_t yields_count;
    const char *yields_to[TL_RULE_YIELDS_MAX]; /* causes that go first when both agree */
    struct tl_template found, ruled_out, unsure, change;
    size_t remedy_count;
    struct tl_remedy_rule remedies[TL_RULE_REMEDIES_MAX];
    size_t reference_count;
    const char *references[TL_RULE_REFERENCES_MAX];
};
/* Whom its verdict goes to: as its place has it, the provider where its first remedy asks that. */
const char *tl_rule_send_to(const struct tl_rule *rule, enum tl_direction direction,
                            bool overheard);

struct tl_rules {
    struct tl_arena arena;
    size_t count, capacity;
    uint64_t cost;          /* operations of all their formulas */
    struct tl_rule **rules; /* sorted by id */
    struct tl_rules *own;   /* a user's set, some of whose rules stand in `rules`; NULL without */
};

/* The closed list of causes (causes.json, compiled in). */
struct tl_cause {
    const char *id, *where, *title;
};
const struct tl_cause *tl_cause_find(const char *id); /* NULL if there is none */

/* A file of the rules folder compiled in. */
struct tl_builtin_file {
    const char *path; /* "rules/host/receive-window.json" */
    const char *text;
    size_t len;
};
/* counted.json: verdicts on emulated paths, and how many of them were right. */
struct tl_counted_doubt {
    const char *id;
    int verdicts, right;
    double weight; /* of the share that is right; 1 where wrong verdicts do not come with it */
    double most;   /* what a verdict with it is told at most: few verdicts prove little */
};
struct tl_counted_level {
    double score; /* where it begins: the undoubted share times the weights */
    int verdicts, right;
    double low; /* the lower bound of the share that is right (Wilson 1927, 95 %) */
};
extern const struct tl_counted_doubt tl_counted_doubts[];
extern const size_t tl_counted_doubt_count;
extern const struct tl_counted_level tl_counted_levels[]; /* by score */
extern const size_t tl_counted_level_count;
extern const double tl_counted_undoubted; /* the share right of those without a doubt */

extern const struct tl_cause tl_causes[];
extern const size_t tl_cause_count;
extern const struct tl_builtin_file tl_builtin_shared; /* rules/shared.json */
extern const struct tl_builtin_file tl_builtin_files[];
extern const size_t tl_builtin_file_count;

#endif
