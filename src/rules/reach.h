/* What can be said about rules without any facts: that a condition can never hold, that one rule
 * is found whenever another is. Says "cannot" only where it is sure: tests about the same formula
 * that contradict one another; where the search grows too long the answer is "may hold".
 * Private to the rules layer. */
#ifndef TL_RULES_REACH_H
#define TL_RULES_REACH_H

#include "rule.h"

/* A condition that is asked to be true or false; NULL logic is true. */
struct tl_goal {
    const struct tl_rule *rule; /* whose tests the logic names */
    const struct tl_logic *logic;
    bool wanted;
};
#define TL_GOALS_MAX 8

/* False only if no facts make all goals come true at once. */
bool tl_goals_may_hold(const struct tl_goal *goals, size_t count);

/* False only if no facts make the rule found. */
bool tl_rule_may_be_found(const struct tl_rule *rule);

/* Whether the second is found whenever the first is, and rests on no fact that the first one does
 * not need. */
bool tl_rule_implies(const struct tl_rule *rule, const struct tl_rule *other);

/* Whether both may be found on the same facts. */
bool tl_rules_may_meet(const struct tl_rule *rule, const struct tl_rule *other);

/* A formula in one form, with names put in: two formulas of two rules mean the same if their
 * texts are equal. False where it grows too long to compare. */
bool tl_formula_canonical(const struct tl_formula *formula, const struct tl_formula_scope *scope,
                          struct tl_buf *out);

#endif
