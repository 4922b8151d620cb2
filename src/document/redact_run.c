/* A run as it may leave: every text of run, facts and findings, one by one, through the
 * redactor. A field that is added to one of these structures gets its line here; the test with
 * a canary in every field finds the one that was forgotten. */
#include "redact_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- texts of fixed size --- */

/* Masks are short: what does not fit is cut at a whole character. */
static void put_back(struct copier *c, struct tl_buf *text, char *field, size_t size)
{
    if (text->status != TL_OK) {
        c->status = text->status;
        *field = '\0';
    } else {
        snprintf(field, size, "%s", tl_buf_text(text));
        for (size_t len = strlen(field); len && len + 1 == size && (field[len - 1] & 0x80); len--)
            field[len - 1] = '\0';
    }
    tl_buf_finish(text);
}

static void mask_text(struct copier *c, char *field, size_t size)
{
    struct tl_buf text = TL_BUF_INIT;
    if (!c->redactor || !*field)
        return;
    tl_redact_text(c->redactor, field, &text);
    put_back(c, &text, field, size);
}

static void mask_name(struct copier *c, enum tl_mask_kind kind, char *field, size_t size)
{
    struct tl_buf text = TL_BUF_INIT;
    if (!c->redactor || !*field)
        return;
    tl_redact_name(c->redactor, kind, field, &text);
    put_back(c, &text, field, size);
}

#define MASK_TEXT(c, field)       mask_text(c, field, sizeof(field))
#define MASK_NAME(c, kind, field) mask_name(c, kind, field, sizeof(field))

/* --- the run --- */

/* Our own words for a part of the way; anything else in that field names a host. */
static bool is_sentence(const char *name)
{
    return strchr(name, ' ') != NULL;
}

void tl_redactor_learn_run(struct tl_redactor *redactor, const struct tl_run *run,
                           const struct tl_facts *facts)
{
    const struct {
        struct tl_fact_key key;
        enum tl_mask_kind kind;
    } named[] = {{TL_NEAR(name), TL_MASK_HOST},
                 {TL_NEAR(disk_directory), TL_MASK_PATH},
                 {TL_FAR(disk_directory), TL_MASK_PATH}};
    struct tl_fact fact;
    tl_redactor_learn(redactor, TL_MASK_HOST, run->target_name);
    tl_redactor_learn(redactor, TL_MASK_HOST, run->target_address);
    for (int i = 0; i < run->hop_count; i++) {
        tl_redactor_learn(redactor, TL_MASK_HOST, run->hops[i].name);
        tl_redactor_learn(redactor, TL_MASK_HOST, run->hops[i].address);
    }
    for (int i = 0; i < run->segment_count; i++)
        if (!is_sentence(run->segments[i].name))
            tl_redactor_learn(redactor, TL_MASK_HOST, run->segments[i].name);
    tl_redactor_learn(redactor, TL_MASK_PATH, run->watch.path);
    for (size_t i = 0; facts && i < sizeof named / sizeof *named; i++) {
        tl_facts_get(facts, named[i].key, &fact);
        if (fact.state == TL_FACT_KNOWN)
            tl_redactor_learn(redactor, named[i].kind, fact.text);
    }
}

/* Ids of parts of the way are a closed set, but the field of a file may hold anything. */
static bool is_segment_id(const char *id)
{
    static const char *const ids[] = {"near-host", "lan",  "path", "far-lan",
                                      "far-host",  "flow", "link", ""};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (strcmp(ids[i], id) == 0)
            return true;
    return strncmp(id, "path-", 5) == 0 && strspn(id + 5, "0123456789") == strlen(id + 5);
}

static void copy_segments(struct copier *c, struct tl_run *run)
{
    for (int i = 0; i < run->segment_count; i++) {
        struct tl_segment_record *segment = &run->segments[i];
        if (!is_segment_id(segment->id))
            MASK_TEXT(c, segment->id);
        if (is_sentence(segment->name))
            MASK_TEXT(c, segment->name);
        else
            MASK_NAME(c, TL_MASK_HOST, segment->name);
    }
}

static void copy_hops(struct copier *c, struct tl_run *run)
{
    for (int i = 0; i < run->hop_count; i++) {
        MASK_NAME(c, TL_MASK_HOST, run->hops[i].address);
        MASK_NAME(c, TL_MASK_HOST, run->hops[i].name);
        MASK_TEXT(c, run->hops[i].note);
    }
}

void redact_copy_run(struct copier *c, const struct tl_run *from, struct tl_run *run)
{
    *run = *from;
    if (c->redactor)
        run->host_mark[0] = '\0'; /* nobody else has use for it */
    MASK_TEXT(c, run->tool_version);
    MASK_NAME(c, TL_MASK_HOST, run->target_name);
    MASK_NAME(c, TL_MASK_HOST, run->target_address);
    MASK_TEXT(c, run->complaint);
    for (int i = 0; i < run->reason_count; i++)
        MASK_TEXT(c, run->reasons[i]);
    for (int i = 0; i < run->stage_count; i++) {
        MASK_TEXT(c, run->stages[i].id);
        MASK_TEXT(c, run->stages[i].reason);
    }
    copy_segments(c, run);
    copy_hops(c, run);
    for (int i = 0; i < run->plan_count; i++) {
        MASK_TEXT(c, run->plan[i].stage);
        MASK_TEXT(c, run->plan[i].why);
    }
    for (int i = 0; i < run->verified_count; i++) {
        MASK_TEXT(c, run->verified[i].rule);
        MASK_TEXT(c, run->verified[i].what);
    }
    MASK_NAME(c, TL_MASK_PATH, run->watch.path);
    MASK_TEXT(c, run->watch.ended);
    for (int i = 0; i < TL_WATCH_OUTAGES_MAX; i++)
        MASK_TEXT(c, run->watch.outages[i].start);
    MASK_TEXT(c, run->strange_fact);
}

void redact_copy_reading(struct copier *c, struct tl_reading *reading)
{
    MASK_TEXT(c, reading->stage);
}

/* --- facts --- */

static char *map_fact(const char *text, void *context)
{
    struct copier *c = context;
    struct tl_buf out = TL_BUF_INIT;
    if (!c->redactor)
        return strdup(text);
    tl_redact_text(c->redactor, text, &out);
    return tl_buf_steal(&out); /* finishes it when it cannot */
}

struct tl_facts *redact_copy_facts(struct copier *c, const struct tl_facts *from)
{
    struct tl_facts *facts = tl_facts_clone_mapped(from, map_fact, c);
    if (!facts)
        c->status = TL_NOMEM;
    return facts;
}

/* --- findings --- */

/* Memory that goes with the copier; NULL when there is none. */
static void *keep(struct copier *c, void *memory)
{
    struct copier_piece *piece = memory ? malloc(sizeof *piece) : NULL;
    if (!piece) {
        free(memory);
        c->status = TL_NOMEM;
        return NULL;
    }
    *piece = (struct copier_piece){c->pieces, memory};
    c->pieces = piece;
    return memory;
}

void redact_copier_finish(struct copier *c)
{
    while (c->pieces) {
        struct copier_piece *piece = c->pieces;
        c->pieces = piece->next;
        free(piece->memory);
        free(piece);
    }
}

static void *copy_array(struct copier *c, const void *from, size_t count, size_t size)
{
    if (!count)
        return NULL;
    void *array = keep(c, calloc(count, size));
    if (array)
        memcpy(array, from, count * size);
    return array;
}

/* Ids of a closed set: segments, systems, rights. */
static char *copy_word(struct copier *c, const char *text)
{
    return text ? keep(c, strdup(text)) : NULL;
}

static char *copy_text(struct copier *c, const char *text)
{
    return text ? keep(c, map_fact(text, c)) : NULL;
}

static char **copy_texts(struct copier *c, char *const *from, size_t count)
{
    char **texts = copy_array(c, from, count, sizeof *from);
    for (size_t i = 0; texts && i < count; i++)
        texts[i] = copy_text(c, from[i]);
    return texts;
}

static void copy_evidence(struct copier *c, struct tl_evidence *evidence)
{
    evidence->id = copy_text(c, evidence->id);
    evidence->say = copy_text(c, evidence->say);
    evidence->test = copy_text(c, evidence->test);
    evidence->values =
        copy_array(c, evidence->values, evidence->value_count, sizeof *evidence->values);
    for (size_t i = 0; evidence->values && i < evidence->value_count; i++)
        evidence->values[i].text = copy_text(c, evidence->values[i].text);
}

static void copy_remedy(struct copier *c, struct tl_remedy *remedy)
{
    remedy->where = copy_word(c, remedy->where);
    remedy->os = copy_word(c, remedy->os);
    remedy->needs = copy_word(c, remedy->needs);
    remedy->does = copy_text(c, remedy->does);
    remedy->undo = copy_text(c, remedy->undo);
    remedy->persist = copy_text(c, remedy->persist);
    remedy->why = copy_text(c, remedy->why);
    remedy->risk = copy_text(c, remedy->risk);
}

static void copy_finding(struct copier *c, struct tl_finding *finding)
{
    finding->rule = copy_text(c, finding->rule);
    finding->cause = copy_text(c, finding->cause);
    finding->title = copy_text(c, finding->title);
    finding->segment = copy_word(c, finding->segment);
    finding->sentence = copy_text(c, finding->sentence);
    finding->send_to = copy_text(c, finding->send_to);
    finding->evidence =
        copy_array(c, finding->evidence, finding->evidence_count, sizeof *finding->evidence);
    for (size_t i = 0; finding->evidence && i < finding->evidence_count; i++)
        copy_evidence(c, &finding->evidence[i]);
    finding->missing =
        copy_array(c, finding->missing, finding->missing_count, sizeof *finding->missing);
    finding->remedies =
        copy_array(c, finding->remedies, finding->remedy_count, sizeof *finding->remedies);
    for (size_t i = 0; finding->remedies && i < finding->remedy_count; i++)
        copy_remedy(c, &finding->remedies[i]);
    finding->references = copy_texts(c, finding->references, finding->reference_count);
    finding->standing = copy_text(c, finding->standing);
    finding->would_change = copy_text(c, finding->would_change);
}

static void copy_rung(struct copier *c, struct tl_rung *rung)
{
    rung->cause = copy_text(c, rung->cause);
    rung->segment = copy_word(c, rung->segment);
    rung->label = copy_text(c, rung->label);
    rung->why_not = copy_text(c, rung->why_not);
    rung->missing = copy_array(c, rung->missing, rung->missing_count, sizeof *rung->missing);
}

static void copy_verdict(struct copier *c, struct tl_verdict *verdict)
{
    verdict->cause = copy_text(c, verdict->cause);
    verdict->segment = copy_word(c, verdict->segment);
    verdict->confidence_reasons = copy_text(c, verdict->confidence_reasons);
    verdict->sentence = copy_text(c, verdict->sentence);
    verdict->fixed_stage = copy_text(c, verdict->fixed_stage);
    verdict->next_cause = copy_text(c, verdict->next_cause);
    verdict->send_to = copy_text(c, verdict->send_to);
    verdict->deciding =
        copy_array(c, verdict->deciding, verdict->deciding_count, sizeof *verdict->deciding);
}

void redact_copy_findings(struct copier *c, const struct tl_findings *from,
                          struct tl_findings *findings)
{
    *findings = *from;
    copy_verdict(c, &findings->verdict);
    findings->findings = copy_array(c, from->findings, from->finding_count, sizeof *from->findings);
    for (size_t i = 0; findings->findings && i < from->finding_count; i++)
        copy_finding(c, &findings->findings[i]);
    findings->ladder = copy_array(c, from->ladder, from->rung_count, sizeof *from->ladder);
    for (size_t i = 0; findings->ladder && i < from->rung_count; i++)
        copy_rung(c, &findings->ladder[i]);
    findings->ledger = copy_array(c, from->ledger, from->ledger_count, sizeof *from->ledger);
}
