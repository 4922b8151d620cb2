/* Facts: everything that was measured, with name, unit, state and origin.
 *
 * A fact is known (a value, perhaps with bounds) or unknown (with a reason);
 * "could not measure" is no error. The closed table of definitions
 * (table.def beside this file, printed as doc/facts.md) says what each one means and
 * which stage measures it, so that a rule that misses one can name the stage to run.
 * It makes the enum too: TL_FLOW(direction, goodput_bps) names a fact in code, and a
 * misspelt one does not compile. Texts like "download.goodput_bps" exist in files and
 * on screens only.
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

/* What a definition belongs to: a host fact has two places, a flow fact two, a path fact one. */
enum tl_subject { TL_SUBJECT_HOST, TL_SUBJECT_PATH, TL_SUBJECT_FLOW };

/* Every fact of the table: TL_FACT_HOST_os, TL_FACT_PATH_rtt_min_ns, TL_FACT_FLOW_goodput_bps. */
enum tl_fact_name {
#define HOST(name, ...) TL_FACT_HOST_##name,
#define PATH(name, ...) TL_FACT_PATH_##name,
#define FLOW(name, ...) TL_FACT_FLOW_##name,
#include "tightlink/facts/table.def"
    TL_FACT_COUNT
};

/* A fact of one place: what stands in files as "near.os", "download.goodput_bps". */
struct tl_fact_key {
    enum tl_scope scope;
    enum tl_fact_name fact;
};
#define TL_KEY(scope, fact)      ((struct tl_fact_key){scope, fact})
#define TL_HOST(scope, name)     TL_KEY(scope, TL_FACT_HOST_##name) /* TL_SCOPE_NEAR or _FAR */
#define TL_NEAR(name)            TL_HOST(TL_SCOPE_NEAR, name)
#define TL_FAR(name)             TL_HOST(TL_SCOPE_FAR, name)
#define TL_PATH(name)            TL_KEY(TL_SCOPE_PATH, TL_FACT_PATH_##name)
#define TL_FLOW(direction, name) TL_KEY(tl_scope_of(direction), TL_FACT_FLOW_##name)
/* A flow's fact of one end: TL_END(direction, TL_SENDER, cpu_wait_ratio). */
enum tl_end { TL_SENDER, TL_RECEIVER };
#define TL_END(direction, end, name)                                                               \
    TL_KEY(tl_scope_of(direction),                                                                 \
           (end) == TL_SENDER ? TL_FACT_FLOW_sender_##name : TL_FACT_FLOW_receiver_##name)
/* What a rule calls sender.os and receiver.os. */
#define TL_HOST_OF(direction, end, name) TL_HOST(tl_scope_of_end(direction, end), name)

static inline enum tl_scope tl_scope_of(enum tl_direction direction)
{
    return direction == TL_DOWNLOAD ? TL_SCOPE_DOWNLOAD : TL_SCOPE_UPLOAD;
}

/* In a download the sender is far, in an upload it is near. */
static inline enum tl_scope tl_scope_of_end(enum tl_direction direction, enum tl_end end)
{
    return (end == TL_SENDER) == (direction == TL_UPLOAD) ? TL_SCOPE_NEAR : TL_SCOPE_FAR;
}

static inline bool tl_fact_key_is(struct tl_fact_key a, struct tl_fact_key b)
{
    return a.scope == b.scope && a.fact == b.fact;
}

/* One row of the table. Static storage. */
struct tl_fact_def {
    const char *name; /* without scope: "tcp_rmem_max_bytes" */
    enum tl_subject subject;
    enum tl_unit unit;
    const char *stage;   /* the stage that measures it: "hosts", "path", "stream", …, "derived" */
    const char *meaning; /* one sentence for doc/facts.md and `rules explain` */
};

const struct tl_fact_def *tl_fact_def(enum tl_fact_name fact);
/* By subject and name without scope, as it stands in a file. False if there is none. */
bool tl_fact_find(enum tl_subject subject, const char *name, enum tl_fact_name *ret_fact);

/* Longest "scope.name" with its NUL. */
#define TL_FACT_ID_SIZE 64
/* "download.goodput_bps", written into ret_id, which is returned. */
const char *tl_fact_id(struct tl_fact_key key, char ret_id[TL_FACT_ID_SIZE]);
/* The same back, from a file or a person. False if there is no such fact. */
bool tl_fact_id_parse(const char *id, struct tl_fact_key *ret_key);

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

/* Moves what was ever set in *from into facts, over what stood there; *from is empty then. For a
 * stage that ran beside another one, with a store of its own. */
void tl_facts_take(struct tl_facts *facts, struct tl_facts *from);

/* A unit or a scope that is not the fact's is our bug (assert). Numbers that are not finite are
 * stored as unknown ("not a number"); bounds that are not finite, or on the wrong side
 * of the value, become the value. Texts are copied; method may be NULL. A failed
 * allocation is remembered: tl_facts_status() tells. */
void tl_facts_set_number(struct tl_facts *facts, struct tl_fact_key key, double value,
                         const char *method);
void tl_facts_set_range(struct tl_facts *facts, struct tl_fact_key key, double value, double low,
                        double high, const char *method);
void tl_facts_set_bool(struct tl_facts *facts, struct tl_fact_key key, bool value,
                       const char *method);
void tl_facts_set_text(struct tl_facts *facts, struct tl_fact_key key, const char *text,
                       const char *method);
void tl_facts_set_unknown(struct tl_facts *facts, struct tl_fact_key key, const char *fmt, ...)
    TL_PRINTF(3, 4);
/* A stage ended: gives this reason to each of its facts that is unknown without one. Facts of a
 * flow get it in this direction only, or in both where direction is NULL. */
void tl_facts_explain_stage(struct tl_facts *facts, const char *stage,
                            const enum tl_direction *direction, const char *reason);
/* The first failure of any call above. */
enum tl_status tl_facts_status(const struct tl_facts *facts, struct tl_error *reterr);

void tl_facts_get(const struct tl_facts *facts, struct tl_fact_key key, struct tl_fact *ret_fact);
/* The same, but where a derived fact is unknown: the measured one that it lacks, which is what
 * tells the stage to run. Stays with the derived fact where it lacks none. */
void tl_facts_get_lacking(const struct tl_facts *facts, struct tl_fact_key key,
                          struct tl_fact *ret_fact);
/* The number, or fallback when it is not known. */
double tl_facts_number(const struct tl_facts *facts, struct tl_fact_key key, double fallback);

/* Computes every fact of stage "derived" from the others by the formulas of the table
 * (doc/facts.md; the reasons stand in derive.c). Of several inputs the known ones
 * count; where a needed one is unknown the result is unknown with the reason "needs
 * download.mss_bytes (not measured)". Call after each stage, as often as you like. */
void tl_facts_derive(struct tl_facts *facts);

/* Calls visit for each fact that was ever set (known, or unknown with a reason), in table order. */
typedef void tl_fact_visit(struct tl_fact_key key, const struct tl_fact *fact, void *context);
void tl_facts_each(const struct tl_facts *facts, tl_fact_visit *visit, void *context);

/* A fact as a rule names it, before a direction binds its role. */
enum tl_fact_role { TL_FACT_OF_SENDER, TL_FACT_OF_RECEIVER, TL_FACT_OF_PATH, TL_FACT_OF_FLOW };
struct tl_role_fact {
    enum tl_fact_role role;
    enum tl_fact_name fact;
};
/* "receiver.tcp_rmem_max_bytes", "flow.goodput_bps". False if role or name does not exist. */
bool tl_role_fact_parse(const char *role_id, struct tl_role_fact *ret_fact);
struct tl_fact_key tl_role_fact_key(struct tl_role_fact fact, enum tl_direction direction);

#endif
