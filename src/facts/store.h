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
    char *text;   /* known text facts */
    char *reason; /* unknown facts; NULL: "not measured" */
    char *method; /* NULL: "" */
};

struct tl_facts {
    enum tl_status status;      /* TL_NOMEM once a text could not be kept */
    struct tl_fact_slot *slots; /* [tl_fact_def_count()][TL_SCOPE_COUNT] */
};

/* Longest name of the table and longest "scope.name", each with its NUL. */
#define TL_FACT_NAME_SIZE 48
#define TL_FACT_ID_SIZE   64

/* True if facts of this subject live in this scope. */
bool tl_scope_holds(enum tl_scope scope, enum tl_subject subject);

/* "download.goodput_bps" -> its definition and scope; NULL if there is none. */
const struct tl_fact_def *tl_fact_id_parse(const char *id, enum tl_scope *ret_scope);

#endif
