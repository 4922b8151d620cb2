/* A saved run back from its document, by the tables of layout.c: the run, its stages and segments,
 * its facts. Verdict, findings, ladder and ledger are not read: they are judged again. Remedies
 * that were tried, and what the plan decided, are.
 *
 * Everything here may be hostile; every text has the room of its field, every list
 * that of its array, every number its range. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"

#include "tightlink/base/far.h"
#include "tightlink/document/document.h"
#include "tightlink/facts/save.h"

/* A run has some 500 facts of at most 8 values each. */
#define VALUES_MAX 50000
#define DEPTH_MAX  16
/* Hops, packets of a probe: more is no such count. */
#define SMALL_MAX 1000000

/* --- values --- */

static enum tl_status read_text(const struct tl_json_at *at, char *ret_text, size_t size,
                                struct tl_error *reterr)
{
    const char *text;
    enum tl_status status = tl_json_string(at, &text, reterr);
    if (status != TL_OK)
        return status;
    if (strlen(text) >= size)
        return tl_json_error(at, reterr, TL_LIMIT, "longer than %zu bytes", size - 1);
    memcpy(ret_text, text, strlen(text) + 1);
    return TL_OK;
}

static enum tl_status read_texts(const struct tl_json_at *at, const struct layout_field *field,
                                 void *record, struct tl_error *reterr)
{
    char *texts = (char *)record + field->offset;
    enum tl_status status = TL_OK;
    int count = 0;
    for (size_t i = 0; status == TL_OK && i < tl_json_count(at); i++, count++) {
        struct tl_json_at item = tl_json_item(at, i);
        status = read_text(&item, texts + i * field->size, field->size, reterr);
    }
    memcpy((char *)record + field->count_offset, &count, sizeof count);
    return status;
}

static enum tl_status read_number(const struct tl_json_at *at, unsigned flags, double *ret_number,
                                  struct tl_error *reterr)
{
    double number;
    enum tl_status status = tl_json_number(at, &number, reterr);
    if (status == TL_OK && number < 0 && !(flags & LAYOUT_SIGNED))
        return tl_json_error(at, reterr, TL_RANGE, "%g is below 0", number);
    if (status == TL_OK)
        *ret_number = number;
    return status;
}

static const char *word_at(const struct layout_field *field, size_t index)
{
    return field->words ? field->words[index] : field->name(index);
}

/* One of the field's words: its index into a WORD, the word itself into a CHOICE. */
static enum tl_status read_word(const struct tl_json_at *at, const struct layout_field *field,
                                void *member, struct tl_error *reterr)
{
    const char *text;
    enum tl_status status = tl_json_string(at, &text, reterr);
    if (status != TL_OK)
        return status;
    for (size_t i = 0; i < field->word_count; i++) {
        if (strcmp(word_at(field, i), text) != 0)
            continue;
        if (field->words)
            return read_text(at, member, field->size, reterr);
        *(unsigned *)member = (unsigned)i;
        return TL_OK;
    }
    return tl_json_error(at, reterr, TL_UNKNOWN, "this word is not known here");
}

static enum tl_status read_record(const struct tl_json_at *object, const struct layout *layout,
                                  void *record, struct tl_error *reterr);

static enum tl_status read_records(const struct tl_json_at *at, const struct layout_field *field,
                                   void *record, struct tl_error *reterr)
{
    char *records = (char *)record + field->offset;
    enum tl_status status = TL_OK;
    int count = 0;
    for (size_t i = 0; status == TL_OK && i < tl_json_count(at); i++, count++) {
        struct tl_json_at item = tl_json_item(at, i);
        status = tl_json_expect(&item, TL_JSON_OBJECT, reterr);
        if (status == TL_OK)
            status = read_record(&item, field->sub, records + i * field->sub->size, reterr);
    }
    memcpy((char *)record + field->count_offset, &count, sizeof count);
    return status;
}

static enum tl_status read_array(const struct tl_json_at *at, const struct layout_field *field,
                                 void *record, struct tl_error *reterr)
{
    enum tl_status status = tl_json_expect(at, TL_JSON_ARRAY, reterr);
    if (status == TL_OK && tl_json_count(at) > field->max)
        return tl_json_error(at, reterr, TL_LIMIT, "more than %zu", field->max);
    if (status != TL_OK)
        return status;
    return field->kind == LAYOUT_TEXTS ? read_texts(at, field, record, reterr)
                                       : read_records(at, field, record, reterr);
}

/* What a record says of a member that its document lacks. */
static enum tl_status read_absent(const struct layout_field *field, void *record,
                                  struct tl_error *reterr)
{
    static const struct tl_json_at nothing;
    if (field->kind == LAYOUT_NUMBER || field->kind == LAYOUT_WHOLE)
        *(double *)(void *)((char *)record + field->offset) = (double)NAN;
    return field->kind == LAYOUT_GROUP ? read_record(&nothing, field->sub, record, reterr) : TL_OK;
}

/* A member that is there. */
static enum tl_status read_member(const struct tl_json_at *at, const struct layout_field *field,
                                  void *record, struct tl_error *reterr)
{
    void *member = (char *)record + field->offset;
    int64_t whole = 0;
    enum tl_status status = TL_OK;
    switch (field->kind) {
    case LAYOUT_TEXT:
        return read_text(at, member, field->size, reterr);
    case LAYOUT_NUMBER:
    case LAYOUT_WHOLE:
        return read_number(at, field->flags, member, reterr);
    case LAYOUT_BOOL:
        return tl_json_bool(at, member, reterr);
    case LAYOUT_WORD:
    case LAYOUT_CHOICE:
        return read_word(at, field, member, reterr);
    case LAYOUT_TEXTS:
    case LAYOUT_LIST:
        return read_array(at, field, record, reterr);
    case LAYOUT_COUNT:
        status = tl_json_integer(at, 0, INT64_MAX, &whole, reterr);
        *(long long *)member = whole;
        return status;
    case LAYOUT_INT:
        status = tl_json_integer(at, 0, SMALL_MAX, &whole, reterr);
        *(int *)member = (int)whole;
        return status;
    case LAYOUT_GROUP:
        status = tl_json_expect(at, TL_JSON_OBJECT, reterr);
        return status == TL_OK ? read_record(at, field->sub, record, reterr) : status;
    default:
        return TL_OK; /* of findings, which are judged */
    }
}

/* The record comes zeroed. */
static enum tl_status read_record(const struct tl_json_at *object, const struct layout *layout,
                                  void *record, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < layout->count; i++) {
        const struct layout_field *field = &layout->fields[i];
        bool needed = field->flags & LAYOUT_NEEDED;
        struct tl_json_at at;
        if (!field->key || field->flags & LAYOUT_UNREAD)
            continue;
        if (field->kind == LAYOUT_OTHER)
            status = field->read
                         ? field->read(object, field->key, (char *)record + field->offset, reterr)
                         : TL_OK;
        else if (needed && (status = tl_json_get(object, field->key, &at, reterr)) != TL_OK)
            break;
        else if (needed ||
                 (tl_json_find(object, field->key, &at) && tl_json_type(&at) != TL_JSON_NULL))
            status = read_member(&at, field, record, reterr);
        else
            status = read_absent(field, record, reterr);
    }
    return status;
}

/* --- what was tried --- */

/* A measurement: it stays, while its finding is judged anew. */
static enum tl_status read_verified(const struct tl_json_at *finding, const struct tl_json_at *at,
                                    struct tl_verified_record *record, struct tl_error *reterr)
{
    struct tl_json_at member;
    enum tl_status status = tl_json_get(finding, "rule", &member, reterr);
    if (status == TL_OK)
        status = read_text(&member, record->rule, sizeof record->rule, reterr);
    if (status == TL_OK)
        status = tl_json_get(finding, "direction", &member, reterr);
    if (status == TL_OK)
        status = layout_read_direction(&member, &record->direction, reterr);
    if (status == TL_OK)
        status = read_record(at, &layout_verified, record, reterr);
    if (status == TL_OK)
        record->score = tl_prediction_score(&record->predicted, record->measured_bps);
    return status;
}

static enum tl_status read_all_verified(const struct tl_json_at *root, struct tl_run *run,
                                        struct tl_error *reterr)
{
    struct tl_json_at list, finding, at;
    enum tl_status status = tl_json_get_array(root, "findings", &list, reterr);
    for (size_t i = 0; status == TL_OK && i < tl_json_count(&list); i++) {
        finding = tl_json_item(&list, i);
        if (tl_json_type(&finding) != TL_JSON_OBJECT || !tl_json_find(&finding, "verified", &at) ||
            tl_json_type(&at) != TL_JSON_OBJECT || run->verified_count == TL_RUN_VERIFIED_MAX)
            continue;
        status = read_verified(&finding, &at, &run->verified[run->verified_count++], reterr);
    }
    return status;
}

/* --- the document --- */

/* About a member of the run, or of a group in it. */
static enum tl_status refuse(const struct tl_json_at *run_at, const char *group, const char *key,
                             enum tl_status status, const char *sentence, struct tl_error *reterr)
{
    struct tl_json_at parent = *run_at, at = *run_at;
    if (group)
        (void)tl_json_find(run_at, group, &parent);
    (void)tl_json_find(&parent, key, &at);
    return tl_json_error(&at, reterr, status, "%s", sentence);
}

/* Id, start and the host's mark are written again as they are: they must have their forms. */
static enum tl_status check_run(const struct tl_json_at *at, const struct tl_run *run,
                                struct tl_error *reterr)
{
    size_t digits = strlen(run->host_mark);
    if (strlen(run->id) != 26 || strspn(run->id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != 26)
        return refuse(at, NULL, "id", TL_SYNTAX, "this is no ULID", reterr);
    if (digits > 0 && (digits != sizeof run->host_mark - 1 ||
                       strspn(run->host_mark, "0123456789abcdef") != digits))
        return refuse(at, NULL, "host_mark", TL_SYNTAX, "this is no mark of a host", reterr);
    if (strlen(run->started) < 20 || run->started[10] != 'T' ||
        strspn(run->started, "0123456789-:.+TZ") != strlen(run->started))
        return refuse(at, NULL, "started", TL_SYNTAX, "this is no RFC 3339 time", reterr);
    if (run->target_family && run->target_family != 4 && run->target_family != 6)
        return refuse(at, "target", "family", TL_RANGE, "the family is 4 or 6", reterr);
    if (run->target_only && run->target_only != 4 && run->target_only != 6)
        return refuse(at, "target", "only_family", TL_RANGE, "the family is 4 or 6", reterr);
    if (run->target_port > UINT16_MAX)
        return refuse(at, "target", "port", TL_RANGE, "a port is 1 to 65535", reterr);
    if (tl_far_kind_of_id(run->target_far) == TL_FAR_KIND_COUNT && run->target_far[0])
        return refuse(at, "target", "far", TL_SYNTAX, "this is no kind of far end", reterr);
    if (run->goal.bps < 1)
        return refuse(at, "goal", "rate_bps", TL_RANGE, "this is below 1", reterr);
    return TL_OK;
}

static enum tl_status check_format(const struct tl_json_at *root, struct tl_error *reterr)
{
    const char *format;
    enum tl_status status = tl_json_get_string(root, "format", &format, reterr);
    if (status == TL_OK && strcmp(format, "tightlink.findings/1") != 0)
        status = tl_error_set(reterr, TL_VERSION,
                              "/format: this is no document of format tightlink.findings/1");
    return status;
}

static enum tl_status read_document(const struct tl_json_at *root, struct tl_run *run,
                                    struct tl_facts **ret_facts, struct tl_error *reterr)
{
    struct tl_json_at at;
    struct tl_facts_strange strange;
    enum tl_status status = check_format(root, reterr);
    if (status == TL_OK)
        status = tl_json_get_object(root, "run", &at, reterr);
    if (status == TL_OK)
        status = read_record(&at, &layout_run, run, reterr);
    if (status == TL_OK)
        status = check_run(&at, run, reterr);
    if (status == TL_OK)
        status = read_record(root, &layout_measured, run, reterr);
    if (status == TL_OK)
        status = read_all_verified(root, run, reterr);
    if (status == TL_OK)
        status = tl_json_get(root, "facts", &at, reterr);
    if (status == TL_OK)
        status = tl_facts_load(&at, ret_facts, &strange, reterr);
    if (status != TL_OK)
        return status;
    run->strange_facts = (int)strange.count;
    memcpy(run->strange_fact, strange.first, sizeof run->strange_fact);
    return TL_OK;
}

enum tl_status tl_document_read(const char *text, size_t len, struct tl_run *run,
                                struct tl_facts **ret_facts, struct tl_error *reterr)
{
    static const struct tl_json_limits limits = {TL_DOCUMENT_BYTES_MAX, VALUES_MAX, DEPTH_MAX};
    struct tl_json *doc;
    enum tl_status status = tl_json_parse(text, len, &limits, &doc, reterr);
    if (status != TL_OK)
        return status;
    struct tl_run *read = calloc(1, sizeof *read);
    struct tl_json_at root = tl_json_root(doc);
    if (read)
        status = read_document(&root, read, ret_facts, reterr);
    else
        status = tl_error_set(reterr, TL_NOMEM, "%s", tl_status_text(TL_NOMEM));
    if (status == TL_OK)
        *run = *read;
    free(read);
    tl_json_destroy(doc);
    return status;
}
