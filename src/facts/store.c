/* The store: set, get, clone, visit. Roles are in view.c, formulas in derive.c. */
#include "store.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tl_unit_name(enum tl_unit unit)
{
    static const char *const names[] = {"number", "bps",   "bytes", "ns",
                                        "ratio",  "count", "bool",  "text"};
    return names[unit];
}

const char *tl_direction_name(enum tl_direction direction)
{
    return direction == TL_DOWNLOAD ? "download" : "upload";
}

static const char *scope_name(enum tl_scope scope)
{
    static const char *const names[] = {"near", "far", "path", "download", "upload"};
    return names[scope];
}

/* True if facts of this subject live in this scope. */
static bool scope_holds(enum tl_scope scope, enum tl_subject subject)
{
    switch (scope) {
    case TL_SCOPE_NEAR:
    case TL_SCOPE_FAR:
        return subject == TL_SUBJECT_HOST;
    case TL_SCOPE_PATH:
        return subject == TL_SUBJECT_PATH;
    default:
        return subject == TL_SUBJECT_FLOW;
    }
}

const char *tl_fact_id(struct tl_fact_key key, char ret_id[TL_FACT_ID_SIZE])
{
    snprintf(ret_id, TL_FACT_ID_SIZE, "%s.%s", scope_name(key.scope), tl_fact_def(key.fact)->name);
    return ret_id;
}

bool tl_fact_id_parse(const char *id, struct tl_fact_key *ret_key)
{
    static const enum tl_subject subjects[] = {TL_SUBJECT_HOST, TL_SUBJECT_HOST, TL_SUBJECT_PATH,
                                               TL_SUBJECT_FLOW, TL_SUBJECT_FLOW};
    for (int s = 0; s < TL_SCOPE_COUNT; s++) {
        const char *name = scope_name((enum tl_scope)s);
        size_t len = strlen(name);
        if (strncmp(id, name, len) != 0 || id[len] != '.')
            continue;
        ret_key->scope = (enum tl_scope)s;
        return tl_fact_find(subjects[s], id + len + 1, &ret_key->fact);
    }
    return false;
}

/* --- life --- */

static size_t slot_count(void)
{
    return (size_t)TL_FACT_COUNT * TL_SCOPE_COUNT;
}

struct tl_facts *tl_facts_create(void)
{
    struct tl_facts *facts = calloc(1, sizeof *facts);
    if (!facts)
        return NULL;
    facts->slots = calloc(slot_count(), sizeof *facts->slots);
    if (!facts->slots) {
        free(facts);
        return NULL;
    }
    return facts;
}

static void slot_clear(struct tl_fact_slot *slot)
{
    free(slot->text);
    free(slot->reason);
    free(slot->method);
    *slot = (struct tl_fact_slot){0};
}

void tl_facts_destroy(struct tl_facts *facts)
{
    if (!facts)
        return;
    for (size_t i = 0; i < slot_count(); i++)
        slot_clear(&facts->slots[i]);
    free(facts->slots);
    free(facts);
}

/* A copy of text (NULL and "" stay NULL); notes a failure. */
static char *keep_text(struct tl_facts *facts, const char *text)
{
    if (!text || !*text)
        return NULL;
    char *copy = strdup(text);
    if (!copy)
        facts->status = TL_NOMEM;
    return copy;
}

/* NULL stays NULL; notes a failure. */
static char *map_text(struct tl_facts *facts, const char *text, tl_facts_map *map, void *context)
{
    char *copy = text ? map(text, context) : NULL;
    if (text && !copy)
        facts->status = TL_NOMEM;
    return copy;
}

struct tl_facts *tl_facts_clone_mapped(const struct tl_facts *facts, tl_facts_map *map,
                                       void *context)
{
    struct tl_facts *clone = tl_facts_create();
    if (!clone)
        return NULL;
    for (size_t i = 0; i < slot_count(); i++) {
        const struct tl_fact_slot *from = &facts->slots[i];
        struct tl_fact_slot *to = &clone->slots[i];
        *to = *from;
        to->text = map_text(clone, from->text, map, context);
        to->reason = map_text(clone, from->reason, map, context);
        to->method = map_text(clone, from->method, map, context);
    }
    if (clone->status != TL_OK) {
        tl_facts_destroy(clone);
        return NULL;
    }
    clone->status = facts->status;
    return clone;
}

static char *same_text(const char *text, void *context)
{
    return strdup(text);
}

struct tl_facts *tl_facts_clone(const struct tl_facts *facts)
{
    return tl_facts_clone_mapped(facts, same_text, NULL);
}

void tl_facts_take(struct tl_facts *facts, struct tl_facts *from)
{
    for (size_t i = 0; i < slot_count(); i++) {
        if (!from->slots[i].is_set)
            continue;
        slot_clear(&facts->slots[i]);
        facts->slots[i] = from->slots[i];
        from->slots[i] = (struct tl_fact_slot){0};
    }
    if (facts->status == TL_OK)
        facts->status = from->status;
}

enum tl_status tl_facts_status(const struct tl_facts *facts, struct tl_error *reterr)
{
    return facts->status == TL_OK
               ? TL_OK
               : tl_error_set(reterr, facts->status, "no memory for what the measurements mean");
}

/* --- setting --- */

static struct tl_fact_slot *slot_of(const struct tl_facts *facts, struct tl_fact_key key)
{
    assert(scope_holds(key.scope, tl_fact_def(key.fact)->subject));
    return &facts->slots[(size_t)key.fact * TL_SCOPE_COUNT + key.scope];
}

/* The emptied slot of a fact. *ret_unit (may be NULL) is its unit. */
static struct tl_fact_slot *slot_to_set(struct tl_facts *facts, struct tl_fact_key key,
                                        enum tl_unit *ret_unit)
{
    struct tl_fact_slot *slot = slot_of(facts, key);
    slot_clear(slot);
    slot->is_set = true;
    if (ret_unit)
        *ret_unit = tl_fact_def(key.fact)->unit;
    return slot;
}

static void set_value(struct tl_facts *facts, struct tl_fact_slot *slot, double value,
                      const char *method)
{
    if (!isfinite(value)) {
        slot->reason = keep_text(facts, "not a number");
        return;
    }
    slot->state = TL_FACT_KNOWN;
    slot->number = slot->low = slot->high = value;
    slot->method = keep_text(facts, method);
}

void tl_facts_set_number(struct tl_facts *facts, struct tl_fact_key key, double value,
                         const char *method)
{
    tl_facts_set_range(facts, key, value, value, value, method);
}

void tl_facts_set_range(struct tl_facts *facts, struct tl_fact_key key, double value, double low,
                        double high, const char *method)
{
    enum tl_unit unit;
    struct tl_fact_slot *slot = slot_to_set(facts, key, &unit);
    assert(unit != TL_UNIT_TEXT && unit != TL_UNIT_BOOL);
    set_value(facts, slot, value, method);
    if (slot->state != TL_FACT_KNOWN)
        return;
    slot->low = isfinite(low) ? fmin(low, value) : value;
    slot->high = isfinite(high) ? fmax(high, value) : value;
}

void tl_facts_set_bool(struct tl_facts *facts, struct tl_fact_key key, bool value,
                       const char *method)
{
    enum tl_unit unit;
    struct tl_fact_slot *slot = slot_to_set(facts, key, &unit);
    assert(unit == TL_UNIT_BOOL);
    set_value(facts, slot, value, method);
}

void tl_facts_set_text(struct tl_facts *facts, struct tl_fact_key key, const char *text,
                       const char *method)
{
    enum tl_unit unit;
    char *copy = strdup(text); /* before the slot is emptied: text may be its own */
    struct tl_fact_slot *slot = slot_to_set(facts, key, &unit);
    assert(unit == TL_UNIT_TEXT);
    if (!copy) {
        facts->status = TL_NOMEM;
        return;
    }
    slot->state = TL_FACT_KNOWN;
    slot->text = copy;
    slot->method = keep_text(facts, method);
}

void tl_facts_set_unknown(struct tl_facts *facts, struct tl_fact_key key, const char *fmt, ...)
{
    char reason[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(reason, sizeof reason, fmt, args);
    va_end(args);
    slot_to_set(facts, key, NULL)->reason = keep_text(facts, reason);
}

void tl_facts_set_lacking(struct tl_facts *facts, struct tl_fact_key key, struct tl_fact_key lacks)
{
    char id[TL_FACT_ID_SIZE];
    struct tl_fact fact;
    tl_facts_get(facts, lacks, &fact);
    if (fact.state == TL_FACT_KNOWN)
        tl_facts_set_unknown(facts, key, "%s is zero", tl_fact_id(lacks, id));
    else
        tl_facts_set_unknown(facts, key, "needs %s (%s)", tl_fact_id(lacks, id), fact.reason);
    struct tl_fact_slot *slot = slot_of(facts, key);
    slot->lacks_one = fact.state != TL_FACT_KNOWN;
    slot->lacks = lacks;
}

static bool is_of(enum tl_scope scope, const enum tl_direction *direction)
{
    enum tl_scope other =
        direction && *direction == TL_DOWNLOAD ? TL_SCOPE_UPLOAD : TL_SCOPE_DOWNLOAD;
    return !direction || scope != other;
}

void tl_facts_explain_stage(struct tl_facts *facts, const char *stage,
                            const enum tl_direction *direction, const char *reason)
{
    for (size_t i = 0; i < slot_count(); i++) {
        const struct tl_fact_def *def = tl_fact_def((enum tl_fact_name)(i / TL_SCOPE_COUNT));
        enum tl_scope scope = (enum tl_scope)(i % TL_SCOPE_COUNT);
        struct tl_fact_slot *slot = &facts->slots[i];
        if (slot->state == TL_FACT_KNOWN || slot->reason || !scope_holds(scope, def->subject) ||
            !is_of(scope, direction) || strcmp(def->stage, stage) != 0)
            continue;
        slot->is_set = true;
        slot->reason = keep_text(facts, reason);
    }
}

/* --- reading --- */

static void read_slot(const struct tl_fact_slot *slot, const struct tl_fact_def *def,
                      struct tl_fact *ret_fact)
{
    *ret_fact = (struct tl_fact){
        .state = slot->state,
        .unit = def->unit,
        .number = slot->number,
        .low = slot->low,
        .high = slot->high,
        .text = slot->text,
        .reason = slot->state == TL_FACT_KNOWN ? ""
                  : slot->reason               ? slot->reason
                                               : "not measured",
        .tried = slot->state == TL_FACT_UNKNOWN && slot->reason,
        .stage = def->stage,
        .method = slot->method ? slot->method : "",
    };
}

void tl_facts_get(const struct tl_facts *facts, struct tl_fact_key key, struct tl_fact *ret_fact)
{
    read_slot(slot_of(facts, key), tl_fact_def(key.fact), ret_fact);
}

/* A derived fact may lack a derived one: so many steps at most. */
#define DERIVED_STEPS_MAX 4

void tl_facts_get_lacking(const struct tl_facts *facts, struct tl_fact_key key,
                          struct tl_fact *ret_fact)
{
    const struct tl_fact_slot *slot = slot_of(facts, key);
    for (int i = 0; i < DERIVED_STEPS_MAX && slot->lacks_one; i++) {
        key = slot->lacks;
        slot = slot_of(facts, key);
    }
    tl_facts_get(facts, key, ret_fact);
}

double tl_facts_number(const struct tl_facts *facts, struct tl_fact_key key, double fallback)
{
    struct tl_fact fact;
    tl_facts_get(facts, key, &fact);
    return fact.state == TL_FACT_KNOWN && fact.unit != TL_UNIT_TEXT ? fact.number : fallback;
}

void tl_facts_each(const struct tl_facts *facts, tl_fact_visit *visit, void *context)
{
    for (size_t i = 0; i < slot_count(); i++) {
        struct tl_fact_key key = {(enum tl_scope)(i % TL_SCOPE_COUNT),
                                  (enum tl_fact_name)(i / TL_SCOPE_COUNT)};
        struct tl_fact fact;
        if (!facts->slots[i].is_set)
            continue;
        tl_facts_get(facts, key, &fact);
        visit(key, &fact, context);
    }
}
