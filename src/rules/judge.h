/* What judging works with: each rule against one direction, then the ladder, then the verdict.
 * doc/rule-format.md, "How the verdict is found", tells the method.
 * Private to the rules layer. */
#ifndef TL_RULES_JUDGE_H
#define TL_RULES_JUDGE_H

#include "rule.h"

/* The measured rate agrees with a ceiling between these shares of its bounds. Below: a sawtooth
 * that halves spends its time at 3/4 of its peak on average (Mathis et al. 1997), and warm-up is
 * already left out. Above: window and RTT are sampled, not seen together, and a ceiling built from
 * the smallest RTT is late by a few percent when the mean was better. */
#define TL_AGREE_LOW  0.75
#define TL_AGREE_HIGH 1.1
/* Two rungs this close cannot be told apart by one run; both are shown. */
#define TL_NEAR_FACTOR 1.15
/* A found cause whose ceiling lies above this multiple of the rate has no part in it. */
#define TL_CONTRIBUTES_FACTOR 1.5
/* Shorter steady parts give no verdict (doc/architecture.md, "Faults"). */
#define TL_STEADY_NS_MIN   3e9
#define TL_STEADY_RTTS_MIN 20

/* Confidence where no verdict like this one was counted: medium, by judgement. */
#define TL_UNCOUNTED_MAX 0.75
/* A doubt that fewer of the counted verdicts had says nothing yet. */
#define TL_COUNTED_MIN 10

/* More traffic than that on our interface belongs to others: the rate is not the path's. */
#define TL_OTHER_TRAFFIC_MAX 0.25
/* A program that is starved (tl_trust_is_starved) may hold the rate itself, unless what it did kept
 * up: a receiver whose buffer was next to empty; a sender whose socket ran empty next to never. */
#define TL_KEPT_UP_QUEUE_MAX 0.02
#define TL_KEPT_UP_APP_MAX   0.03

/* One rule in one direction. */
struct tl_judged {
    const struct tl_rule *rule;
    enum tl_direction direction;
    bool overheard;      /* of the question */
    const char *segment; /* of the schema: the role's, or where a fact places it */
    struct tl_formula_env *env;
    struct tl_trace *traces; /* one a test */
    enum tl_result result;
    tl_fact_set missing; /* facts of the rule's scope that would decide; cannot-tell only */
    bool has_rung;       /* the ceiling is a number */
    double bps, low, high;
    double told; /* bps as it is told: with an upper bound no lower than what was seen and agrees */
    const struct tl_ceiling *ceiling; /* the one taken */
    tl_fact_set ceiling_missing;      /* facts without which it is unknown */
    /* Whether the measured rate fits the ceiling, the ledger's share fits, and the rule's own
     * condition holds. */
    enum tl_truth rate_agrees, ledger_agrees, own_agrees;
    tl_fact_set agrees_missing; /* facts that would decide own_agrees */
    enum tl_severity severity;  /* after comparison with the others */
    bool repeats_rate;          /* the rung is the rate that was seen, by the rule's own formula */
    double fixed;               /* next rung above this one; NAN */
    bool fixed_at_least;        /* fixed was seen elsewhere: a lower bound */
    const char *fixed_stage;    /* would tell what fixed really is; NULL */
    const struct tl_judged *next;
    bool is_verdict;
};

/* One direction. */
struct tl_side {
    enum tl_direction direction;
    const struct tl_facts *facts;
    const struct tl_question *question;
    struct tl_fact goodput;
    bool is_file;                          /* the rate is that of a file, disks included */
    struct tl_fact shares[TL_SHARE_COUNT]; /* index by enum tl_share */
    size_t count;
    struct tl_judged *judged; /* one a rule */
    bool disturbed, starved;  /* all causes rest; those of the network do */
    struct tl_verdict verdict;
    const struct tl_verdict *told_by; /* whose promise is told; NULL before there is one */
};

/* Half of what the rung of a judged rule may be off by, as every sentence tells it. */
double tl_judged_doubt(const struct tl_side *side, const struct tl_judged *judged);

/* Fills *ret_judged up to own_agrees; severity as the rule has it. */
void tl_judge_rule(struct tl_arena *arena, const struct tl_rule *rule, const struct tl_side *side,
                   struct tl_judged *ret_judged);

/* Whether the other's cause, where it is found too, explains what this rule saw. */
bool tl_judged_yields(const struct tl_judged *judged, const struct tl_judged *other);

/* Whether a rate after the fix of this cause may be promised (findings.h, fixed_promised). Asks the
 * side's verdict for the rate that was measured. */
bool tl_verdict_may_promise(const struct tl_side *side, const struct tl_judged *judged, double bps);

/* Sets fixed and next of each judged rule. */
void tl_ladder_link(struct tl_side *side);
/* What spoils the measurement for a verdict of any cause, as a sentence; NULL where nothing
 * does. Other programs' traffic on this PC's interface: above TL_OTHER_TRAFFIC_MAX of all. */
char *tl_disturbance(struct tl_arena *arena, const struct tl_side *side);
/* The role whose program waited for a core so long that the rate may be its host's (-1: none):
 * causes of the network rest then. *ret_wait_ratio is its share of time. */
int tl_starved_role(const struct tl_side *side, double *ret_wait_ratio);
char *tl_starved_sentence(struct tl_arena *arena, const struct tl_side *side);

/* Appends the side's rungs, lowest first, untested last. ret_rungs has room for side->count. */
size_t tl_ladder_rungs(struct tl_arena *arena, const struct tl_side *side,
                       struct tl_rung *ret_rungs);

/* The rate at which a rule limits: its rung, or what was measured where it has none. */
double tl_judged_level(const struct tl_side *side, const struct tl_judged *judged);

/* A rule that nobody can judge yet, and whether something that can still be measured would tell. */
struct tl_open_rule {
    const struct tl_judged *judged;
    bool in_reach;
};

/* Those that can still be decided first, of them the most promising. In the arena. */
struct tl_open_rules {
    size_t count;
    struct tl_open_rule *rules;
};

/* The open rules beside the chosen one (NULL: there is none), and the facts that would decide them
 * into the side's verdict. */
struct tl_open_rules tl_open_rules_find(struct tl_arena *arena, struct tl_side *side,
                                        const struct tl_judged *chosen);

/* "Cannot tell, and here is what would decide": the side's verdict where no rule was chosen. */
void tl_open_rules_say(struct tl_arena *arena, struct tl_side *side,
                       const struct tl_open_rules *open);

/* Chooses the verdict of one direction and the severities of all found rules. */
void tl_verdict_choose(struct tl_arena *arena, struct tl_side *side);

/* The measurement speaks for no cause (disturbed), or not for this one (a starved host's). */
bool tl_verdict_rests(const struct tl_side *side, const struct tl_judged *judged);
/* Found, limiting by nature, and nothing measured speaks against it. */
bool tl_verdict_is_candidate(const struct tl_side *side, const struct tl_judged *judged);
/* Another candidate that explains what this one shows and goes first; NULL where none does. */
const struct tl_judged *tl_verdict_explainer(const struct tl_side *side,
                                             const struct tl_judged *judged);

/* How a judged rule stands to the chosen verdict, in sentences; "" where there is nothing to
 * compare. After tl_verdict_choose(). */
char *tl_standing_text(struct tl_arena *arena, const struct tl_side *side,
                       const struct tl_judged *judged);

/* How sure a found cause is: confidence as it was counted, with its reasons as one text. */
struct tl_sureness {
    double confidence, undisturbed; /* the latter but for what disturbed the run */
    char *reasons;
};
struct tl_sureness tl_sureness(struct tl_arena *arena, const struct tl_side *side,
                               const struct tl_judged *judged);

/* The finding as reports show it. */
void tl_finding_fill(struct tl_arena *arena, const struct tl_side *side,
                     const struct tl_judged *judged, struct tl_finding *ret_finding);

/* What its sentences name: the place, the ends. */
struct tl_template_words tl_judged_words(const struct tl_judged *judged);
/* The text as a copy of the arena's; finishes the buffer. */
char *tl_judged_keep_text(struct tl_arena *arena, struct tl_buf *text);
/* Renders into the arena; "" for templates that are not given. */
char *tl_judged_render(struct tl_arena *arena, const struct tl_judged *judged,
                       const struct tl_template *template);

/* Why facts of that set are not known, in the arena: "stages udp, paced would tell", or the reason
 * of one that was asked for in vain. */
char *tl_judged_lacking(struct tl_arena *arena, const struct tl_judged *judged, tl_fact_set set);

/* Fact i of the judged rule's scope, in this direction. */
struct tl_fact_key tl_judged_fact(const struct tl_judged *judged, size_t fact);
/* The keys of a set of those facts, *ret_count of them, in the arena. */
struct tl_fact_key *tl_judged_facts(struct tl_arena *arena, const struct tl_judged *judged,
                                    tl_fact_set set, size_t *ret_count);

#endif
