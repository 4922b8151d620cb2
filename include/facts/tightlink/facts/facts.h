/* Facts: everything that was measured, with name, unit, state and origin.
 *
 * A fact is known (a value, perhaps with bounds) or unknown (with a reason);
 * "could not measure" is no error. The closed table of definitions
 * (facts/table.c, printed as doc/facts.md) says what each one means and which
 * stage measures it, so that a rule that misses one can name the stage to run.
 *
 * Scopes. A fact is stored for one of five scopes: the two hosts (near runs
 * tightlink, far runs the responder), the path, and the flow in each
 * direction. A rule is written once for both directions and says sender,
 * receiver, path and flow; struct tl_fact_view binds these roles: in a download
 * the sender is far, in an upload it is near.
 *
 * Threads: a store belongs to one thread at a time. */
#ifndef TL_FACTS_FACTS_H
#define TL_FACTS_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "tightlink/base/status.h"

/* What a number is; the end of the fact's name says the same. */
enum tl_unit {
    TL_UNIT_NUMBER, /* no dimension: a version, a factor */
    TL_UNIT_BPS,    /* payload bits a second */
    TL_UNIT_BYTES,
    TL_UNIT_NS,
    TL_UNIT_RATIO, /* 0 to 1 */
    TL_UNIT_COUNT,
    TL_UNIT_BOOL, /* 0 or 1 */
    TL_UNIT_TEXT,
};

/* "bps", "bytes", …; never NULL. */
const char *tl_unit_name(enum tl_unit unit);

enum tl_direction { TL_DOWNLOAD, TL_UPLOAD };
const char *tl_direction_name(enum tl_direction direction); /* "download", "upload" */

/* Where a value is stored. */
enum tl_scope {
    TL_SCOPE_NEAR,
    TL_SCOPE_FAR,
    TL_SCOPE_PATH,
    TL_SCOPE_DOWNLOAD,
    TL_SCOPE_UPLOAD,
    TL_SCOPE_COUNT
};
const char *tl_scope_name(enum tl_scope scope); /* "near", … */

/* What a definition belongs to: a host fact has two places, a flow fact two, a path fact one. */
enum tl_subject { TL_SUBJECT_HOST, TL_SUBJECT_PATH, TL_SUBJECT_FLOW };

/* One row of the table. Static storage. */
struct tl_fact_def {
    const char *name; /* without scope: "tcp_rmem_max_bytes" */
    enum tl_subject subject;
    enum tl_unit unit;
    const char *stage;   /* the stage that measures it: "hosts", "path", "stream", …, "derived" */
    const char *meaning; /* one sentence for doc/facts.md and `rules explain` */
};

size_t tl_fact_def_count(void);
const struct tl_fact_def *tl_fact_def_at(size_t index);
/* By subject and name without scope; NULL if there is none. */
const struct tl_fact_def *tl_fact_def_find(enum tl_subject subject, const char *name);

enum tl_fact_state { TL_FACT_UNKNOWN, TL_FACT_KNOWN };

/* A value as read from the store. Texts live as long as the store and its next change. */
struct tl_fact {
    enum tl_fact_state state;
    enum tl_unit unit;
    double number;      /* known and not text; booleans 0 or 1 */
    const char *text;   /* known and TL_UNIT_TEXT, else NULL */
    double low, high;   /* bounds of the number; equal to it where none were given */
    const char *reason; /* unknown: why, a half sentence ("not measured" by default) */
    bool tried;         /* unknown with a reason of its own: its stage was run without bringing it,
                           or could not be run */
    const char *stage;
    const char *method; /* how it was measured, "" where the definition says all */
};

/* Opaque; owns all texts. */
struct tl_facts;

struct tl_facts *tl_facts_create(void); /* NULL when out of memory; everything unknown */
void tl_facts_destroy(struct tl_facts *facts);
struct tl_facts *tl_facts_clone(const struct tl_facts *facts); /* NULL when out of memory */

/* A copy whose texts (of text facts, reasons and methods) are what map makes of them, for
 * instance with names masked. map returns memory for free(), NULL when it has none; NULL then. */
typedef char *tl_facts_map(const char *text, void *context);
struct tl_facts *tl_facts_clone_mapped(const struct tl_facts *facts, tl_facts_map *map,
                                       void *context);

/* Setters name a fact in full, "near.tcp_rmem_max_bytes". An id or a kind that
 * the table does not know is our bug (assert). Numbers that are not finite are
 * stored as unknown ("not a number"); bounds that are not finite, or on the wrong side
 * of the value, become the value. Texts are copied; method may be NULL. A failed
 * allocation is remembered: tl_facts_status() tells. */
void tl_facts_set_number(struct tl_facts *facts, const char *id, double value, const char *method);
void tl_facts_set_range(struct tl_facts *facts, const char *id, double value, double low,
                        double high, const char *method);
void tl_facts_set_bool(struct tl_facts *facts, const char *id, bool value, const char *method);
void tl_facts_set_text(struct tl_facts *facts, const char *id, const char *text,
                       const char *method);
void tl_facts_set_unknown(struct tl_facts *facts, const char *id, const char *fmt, ...)
    TL_PRINTF(3, 4);
/* A stage ended: gives this reason to each of its facts that is unknown without one. Facts of a
 * flow get it in this direction only, or in both where direction is NULL. */
void tl_facts_explain_stage(struct tl_facts *facts, const char *stage,
                            const enum tl_direction *direction, const char *reason);
enum tl_status tl_facts_status(const struct tl_facts *facts);

/* Reads "scope.name". False (and an unknown fact with the reason "no such fact")
 * if the table does not know the id: ids may come from files. */
bool tl_facts_get(const struct tl_facts *facts, const char *id, struct tl_fact *ret_fact);
/* The same, but where a derived fact is unknown: the measured one that it lacks, which is what
 * tells the stage to run. Stays with the derived fact where its reason names none. */
void tl_facts_get_lacking(const struct tl_facts *facts, const char *id, struct tl_fact *ret_fact);
/* The number, or fallback when it is not known. */
double tl_facts_number(const struct tl_facts *facts, const char *id, double fallback);

/* Computes every fact of stage "derived" from the others by the formulas of the table
 * (doc/facts.md; the reasons stand in derive.c). Of several inputs the known ones
 * count; where a needed one is unknown the result is unknown with the reason "needs
 * download.mss_bytes (not measured)". Call after each stage, as often as you like. */
void tl_facts_derive(struct tl_facts *facts);

/* Calls visit for each fact that was ever set (known, or unknown with a reason), in table order. */
typedef void tl_fact_visit(const char *id, const struct tl_fact *fact, void *context);
void tl_facts_each(const struct tl_facts *facts, tl_fact_visit *visit, void *context);

/* Role-based reading for rules: ids begin with sender., receiver., path. or flow. */
struct tl_fact_view {
    const struct tl_facts *facts;
    enum tl_direction direction;
};
/* "receiver.tcp_rmem_max_bytes" -> "near.tcp_rmem_max_bytes" in a download.
 * TL_UNKNOWN if role or name does not exist, TL_RANGE if ret_id is too small. */
enum tl_status tl_fact_view_resolve(enum tl_direction direction, const char *role_id, char *ret_id,
                                    size_t size) TL_WARN_UNUSED;
bool tl_fact_view_get(const struct tl_fact_view *view, const char *role_id,
                      struct tl_fact *ret_fact);
/* The definition behind a role id, NULL if role or name does not exist. */
const struct tl_fact_def *tl_fact_role_def(const char *role_id);

#endif
