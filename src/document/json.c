/* Writes the document by the tables of layout.c. */
#include <string.h>

#include "json_private.h"
#include "layout.h"

#include "tightlink/base/json_write.h"
#include "tightlink/facts/save.h"

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
        layout_add_whole(w, field->key, number);
    else
        tl_json_add_number(w, field->key, number);
}

static void add_record(struct tl_json_writer *w, const struct layout *layout, const void *record,
                       const struct layout_context *context);

static void add_tried(struct tl_json_writer *w, const struct layout_field *field,
                      const struct tl_finding *finding, const struct layout_context *context);

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
    case LAYOUT_TRIED:
        add_tried(w, field, record, context);
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
static void add_tried(struct tl_json_writer *w, const struct layout_field *field,
                      const struct tl_finding *finding, const struct layout_context *context)
{
    for (int i = 0; i < context->run->verified_count; i++) {
        const struct tl_verified_record *verified = &context->run->verified[i];
        if (verified->direction != finding->direction || strcmp(verified->rule, finding->rule) != 0)
            continue;
        tl_json_begin_object(w, field->key);
        add_record(w, field->sub, verified, context);
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
