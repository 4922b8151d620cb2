/* Writes the document: the tables of layout.c, and what is no plain value in them. */
#include <math.h>
#include <string.h>

#include "json_private.h"
#include "layout.h"

#include "tightlink/base/json_write.h"
#include "tightlink/facts/save.h"
#include "tightlink/rules/goal.h"

/* A whole number of nanoseconds or bytes; absent when unknown. */
static void add_whole(struct tl_json_writer *w, const char *key, double value)
{
    if (isfinite(value) && fabs(value) < 9e18)
        tl_json_add_integer(w, key, llround(value));
}

/* --- members that are no plain value --- */

void layout_write_directions(struct tl_json_writer *w, const char *key, const void *member,
                             const struct layout_context *context)
{
    tl_json_begin_array(w, key);
    if (context->run->download)
        tl_json_add_string(w, NULL, tl_direction_name(TL_DOWNLOAD));
    if (context->run->upload)
        tl_json_add_string(w, NULL, tl_direction_name(TL_UPLOAD));
    tl_json_end(w);
}

static void add_goal_line(struct tl_json_writer *w, const struct tl_goal_line *line)
{
    tl_json_begin_object(w, NULL);
    tl_json_add_string(w, "name", line->name);
    tl_json_add_string(w, "direction", tl_direction_name(line->direction));
    tl_json_add_string(w, "answer", tl_goal_answer_name(line->answer));
    tl_json_add_string(w, "unit", tl_unit_name(line->unit));
    tl_json_add_number(w, "wanted", line->wanted);
    tl_json_add_number(w, "measured", line->measured);
    tl_json_add_number(w, "low", line->low);
    tl_json_add_number(w, "high", line->high);
    tl_json_add_string(w, "text", line->text);
    tl_json_end(w);
}

/* The goal's lines with their answers. */
void layout_write_goal_lines(struct tl_json_writer *w, const char *key, const void *member,
                             const struct layout_context *context)
{
    tl_json_begin_array(w, key);
    for (int d = TL_DOWNLOAD; d <= TL_UPLOAD; d++) {
        struct tl_goal_line lines[TL_GOAL_LINES_MAX];
        size_t count = tl_goal_judge(context->run, context->facts, (enum tl_direction)d, lines);
        for (size_t i = 0; i < count; i++)
            add_goal_line(w, &lines[i]);
    }
    tl_json_end(w);
}

void layout_write_values(struct tl_json_writer *w, const char *key, const void *member,
                         const struct layout_context *context)
{
    const struct tl_evidence *evidence = member;
    tl_json_begin_object(w, key);
    for (size_t i = 0; i < evidence->value_count; i++) {
        const struct tl_evidence_value *value = &evidence->values[i];
        char id[TL_FACT_ID_SIZE];
        tl_fact_id(value->key, id);
        if (!value->known)
            tl_json_add_null(w, id);
        else if (value->text)
            tl_json_add_string(w, id, value->text);
        else
            tl_json_add_number(w, id, value->number);
    }
    tl_json_end(w);
}

void layout_write_at_least(struct tl_json_writer *w, const char *key, const void *member,
                           const struct layout_context *context)
{
    if (isinf(*(const double *)member))
        tl_json_add_bool(w, key, true);
}

void layout_write_hit(struct tl_json_writer *w, const char *key, const void *member,
                      const struct layout_context *context)
{
    tl_json_add_bool(w, key, *(const enum tl_score *)member == TL_SCORE_HIT);
}

/* The ledger is of the steady part, which begins where the warm-up ends. */
void layout_write_span(struct tl_json_writer *w, const char *key, const void *member,
                       const struct layout_context *context)
{
    const struct tl_ledger_row *row = member;
    struct tl_fact_key warmup = row->direction == TL_DOWNLOAD ? TL_FLOW(TL_DOWNLOAD, warmup_ns)
                                                              : TL_FLOW(TL_UPLOAD, warmup_ns);
    double from = tl_facts_number(context->facts, warmup, (double)NAN);
    add_whole(w, key, from);
    add_whole(w, "to_ns", from + row->duration_ns);
}

void layout_write_planned(struct tl_json_writer *w, const char *key, const void *member,
                          const struct layout_context *context)
{
    const struct tl_plan_record *record = member;
    if (record->has_direction)
        tl_json_add_string(w, key, tl_direction_name(record->direction));
}

/* --- the tables --- */

static void add_text(struct tl_json_writer *w, const struct layout_field *field, const char *text)
{
    if ((text && *text) || field->flags & LAYOUT_NEEDED)
        tl_json_add_string(w, field->key, text ? text : "");
    else if (field->flags & LAYOUT_NULLABLE)
        tl_json_add_null(w, field->key);
}

static void add_double(struct tl_json_writer *w, const struct layout_field *field, double number)
{
    if (field->flags & LAYOUT_SPARSE && !(number > 0))
        return;
    if (field->kind == LAYOUT_WHOLE)
        add_whole(w, field->key, number);
    else
        tl_json_add_number(w, field->key, number);
}

static void add_record(struct tl_json_writer *w, const struct layout *layout, const void *record,
                       const struct layout_context *context);

static void add_records(struct tl_json_writer *w, const struct layout_field *field,
                        const void *record, const struct layout_context *context)
{
    const char *at = (const char *)record + field->offset, *items = at;
    size_t count = layout_count(field, record);
    if (field->flags & LAYOUT_SPARSE && count == 0)
        return;
    if (field->kind == LAYOUT_ARRAY)
        memcpy(&items, at, sizeof items);
    tl_json_begin_array(w, field->key);
    for (size_t i = 0; i < count; i++) {
        tl_json_begin_object(w, NULL);
        add_record(w, field->sub, items + i * field->sub->size, context);
        tl_json_end(w);
    }
    tl_json_end(w);
}

/* Texts and names of facts. */
static void add_strings(struct tl_json_writer *w, const struct layout_field *field,
                        const void *record)
{
    const void *at = (const char *)record + field->offset;
    size_t count = layout_count(field, record);
    char id[TL_FACT_ID_SIZE];
    tl_json_begin_array(w, field->key);
    for (size_t i = 0; i < count; i++)
        if (field->kind == LAYOUT_TEXTS)
            tl_json_add_string(w, NULL, (const char *)at + i * field->size);
        else if (field->kind == LAYOUT_STRINGS)
            tl_json_add_string(w, NULL, (*(char *const *const *)at)[i]);
        else
            tl_json_add_string(w, NULL,
                               tl_fact_id((*(const struct tl_fact_key *const *)at)[i], id));
    tl_json_end(w);
}

/* A member that is no list and no object. */
static void add_plain(struct tl_json_writer *w, const struct layout_field *field, const void *at)
{
    bool sparse = field->flags & LAYOUT_SPARSE;
    switch (field->kind) {
    case LAYOUT_TEXT:
    case LAYOUT_CHOICE:
        add_text(w, field, at);
        break;
    case LAYOUT_STRING:
        add_text(w, field, *(const char *const *)at);
        break;
    case LAYOUT_COUNT:
        tl_json_add_integer(w, field->key, *(const long long *)at);
        break;
    case LAYOUT_INT:
        if (!sparse || *(const int *)at)
            tl_json_add_integer(w, field->key, *(const int *)at);
        break;
    case LAYOUT_NUMBER:
    case LAYOUT_WHOLE:
        add_double(w, field, *(const double *)at);
        break;
    case LAYOUT_BOOL:
        if (!sparse || *(const bool *)at)
            tl_json_add_bool(w, field->key, *(const bool *)at);
        break;
    case LAYOUT_WORD:
        tl_json_add_string(w, field->key, field->name(*(const unsigned *)at));
        break;
    default:
        break;
    }
}

static void add_member(struct tl_json_writer *w, const struct layout_field *field,
                       const void *record, const struct layout_context *context)
{
    const void *at = (const char *)record + field->offset;
    switch (field->kind) {
    case LAYOUT_TEXTS:
    case LAYOUT_STRINGS:
    case LAYOUT_FACTS:
        add_strings(w, field, record);
        break;
    case LAYOUT_GROUP:
        tl_json_begin_object(w, field->key);
        add_record(w, field->sub, record, context);
        tl_json_end(w);
        break;
    case LAYOUT_LIST:
    case LAYOUT_ARRAY:
        add_records(w, field, record, context);
        break;
    case LAYOUT_OTHER:
        field->write(w, field->key, at, context);
        break;
    default:
        add_plain(w, field, at);
        break;
    }
}

/* The members of a record, inside an object that the caller opens and ends. */
static void add_record(struct tl_json_writer *w, const struct layout *layout, const void *record,
                       const struct layout_context *context)
{
    for (size_t i = 0; i < layout->count; i++) {
        const struct layout_field *field = &layout->fields[i];
        if (field->key && (!field->when || field->when(record)))
            add_member(w, field, record, context);
        else if (field->key && field->flags & LAYOUT_NULLABLE)
            tl_json_add_null(w, field->key);
    }
}

/* What was tried of a finding's remedies. */
void layout_write_verified(struct tl_json_writer *w, const char *key, const void *member,
                           const struct layout_context *context)
{
    const struct tl_finding *finding = member;
    for (int i = 0; i < context->run->verified_count; i++) {
        const struct tl_verified_record *verified = &context->run->verified[i];
        if (verified->direction != finding->direction || strcmp(verified->rule, finding->rule) != 0)
            continue;
        tl_json_begin_object(w, key);
        add_record(w, &layout_verified, verified, context);
        tl_json_end(w);
        return;
    }
}

/* Which masks stand in the document for what does not leave. */
static void add_privacy(struct tl_json_writer *w, void *context)
{
    const struct tl_redactor *redactor = *(const struct tl_redactor *const *)context;
    if (!redactor)
        return;
    tl_json_begin_object(w, "privacy");
    tl_json_begin_array(w, "masked");
    for (size_t i = 0; i < tl_redactor_count(redactor); i++)
        tl_json_add_string(w, NULL, tl_redactor_at(redactor, i).mask);
    tl_json_end(w);
    tl_json_end(w);
}

enum tl_status tl_document_write_with(const struct tl_run *run, const struct tl_facts *facts,
                                      const struct tl_findings *findings, bool pretty,
                                      tl_document_more *add, void *more, struct tl_buf *out)
{
    const struct layout_context context = {run, facts};
    struct tl_json_writer writer;
    tl_json_writer_init(&writer, out, !pretty);
    tl_json_begin_object(&writer, NULL);
    tl_json_add_string(&writer, "format", "tightlink.findings/1");
    tl_json_begin_object(&writer, "run");
    add_record(&writer, &layout_run, run, &context);
    tl_json_end(&writer);
    tl_json_begin_object(&writer, "verdict");
    add_record(&writer, &layout_verdict, &findings->verdict, &context);
    tl_json_end(&writer);
    add_record(&writer, &layout_judged, findings, &context);
    add_record(&writer, &layout_measured, run, &context);
    tl_facts_save(facts, &writer, "facts");
    add(&writer, more);
    tl_json_end(&writer);
    return out->status;
}

enum tl_status document_write_masked(const struct tl_run *run, const struct tl_facts *facts,
                                     const struct tl_findings *findings,
                                     const struct tl_redactor *redactor, bool pretty,
                                     struct tl_buf *out)
{
    return tl_document_write_with(run, facts, findings, pretty, add_privacy, &redactor, out);
}

enum tl_status tl_document_write(const struct tl_run *run, const struct tl_facts *facts,
                                 const struct tl_findings *findings, bool pretty,
                                 struct tl_buf *out)
{
    return document_write_masked(run, facts, findings, NULL, pretty, out);
}
