/* How facts lie in memory; private to src/facts.
 *
 * One slot for each definition and scope (a few unused: a path fact has one scope
 * out of five); a slot owns its texts. */
#ifndef TL_FACTS_STORE_H
#define TL_FACTS_STORE_H

#include "tightlink/facts/facts.h"

struct tl_fact_slot {
    bool is_set; /* false: never set, "not measured" */
    enum tl_fact_state state;
    double number, low, high;
    char *text;     /* known text facts */
    char *reason;   /* unknown facts; NULL: "not measured" */
    char *method;   /* NULL: "" */
    bool lacks_one; /* a derived fact is unknown for want of this one */
    struct tl_fact_key lacks;
};

struct tl_facts {
    enum tl_status status;      /* TL_NOMEM once a text could not be kept */
    struct tl_fact_slot *slots; /* [TL_FACT_COUNT][TL_SCOPE_COUNT] */
};

/* A derived fact is unknown because another one is (or is zero). */
void tl_facts_set_lacking(struct tl_facts *facts, struct tl_fact_key key, struct tl_fact_key lacks);

#endif
