/* A run as it may leave: every text of run, facts and findings through the redactor, by the tables
 * of layout.c. The test with a canary in every field finds the one that was forgotten there. */
#include "redact_run.h"

#include "layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/name.h"

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
    if (!c->redactor || !*field || (c->listed && strcmp(field, c->listed) == 0))
        return;
    tl_redact_name(c->redactor, kind, field, &text);
    put_back(c, &text, field, size);
}

/* --- the run --- */

/* Our own words for a part of the way; anything else in that field names a host. */
static bool is_sentence(const char *name)
{
    return strchr(name, ' ') != NULL;
}

/* A demo's name is of the program's own list. Causes are called so too: masked as a host's, it
 * would take the word "policer" from the whole report, and from the commands in it. */
static const char *listed_name(const struct tl_run *run)
{
    bool listed = strcmp(run->target_kind, "demo") == 0 && !strchr(run->target_name, '.') &&
                  tl_is_command_name(run->target_name, "", TL_COMMAND_NAME_MAX);
    return listed ? run->target_name : NULL;
}

static void learn_host(struct tl_redactor *redactor, const char *listed, const char *name)
{
    if (!listed || strcmp(name, listed) != 0)
        tl_redactor_learn(redactor, TL_MASK_HOST, name);
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
    const char *listed = listed_name(run);
    struct tl_fact fact;
    learn_host(redactor, listed, run->target_name);
    tl_redactor_learn(redactor, TL_MASK_HOST, run->target_address);
    tl_redactor_learn(redactor, TL_MASK_HOST, run->target_proxy);
    for (int i = 0; i < run->hop_count; i++) {
        tl_redactor_learn(redactor, TL_MASK_HOST, run->hops[i].name);
        tl_redactor_learn(redactor, TL_MASK_HOST, run->hops[i].address);
    }
    for (int i = 0; i < run->segment_count; i++)
        if (!is_sentence(run->segments[i].name))
            learn_host(redactor, listed, run->segments[i].name);
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

/* --- memory of what is pointed to --- */

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

static char *copy_text(struct copier *c, enum layout_mask mask, const char *text)
{
    if (!text)
        return NULL;
    return keep(c, mask == LAYOUT_MASK_NONE ? strdup(text) : map_fact(text, c));
}

static char **copy_texts(struct copier *c, char *const *from, size_t count)
{
    char **texts = copy_array(c, from, count, sizeof *from);
    for (size_t i = 0; texts && i < count; i++)
        texts[i] = copy_text(c, LAYOUT_MASK_TEXT, from[i]);
    return texts;
}

/* --- the tables --- */

static void mask_field(struct copier *c, enum layout_mask mask, char *text, size_t size)
{
    switch (mask) {
    case LAYOUT_MASK_NONE:
        break;
    case LAYOUT_MASK_TEXT:
        mask_text(c, text, size);
        break;
    case LAYOUT_MASK_HOST:
        mask_name(c, TL_MASK_HOST, text, size);
        break;
    case LAYOUT_MASK_PATH:
        mask_name(c, TL_MASK_PATH, text, size);
        break;
    case LAYOUT_MASK_SEGMENT_ID:
        if (!is_segment_id(text))
            mask_text(c, text, size);
        break;
    case LAYOUT_MASK_SEGMENT_NAME:
        if (is_sentence(text))
            mask_text(c, text, size);
        else
            mask_name(c, TL_MASK_HOST, text, size);
        break;
    }
}

static void copy_record(struct copier *c, const struct layout *layout, void *record);

/* A copy of what a member points to. */
static void *copy_pointed(struct copier *c, const struct layout_field *field, size_t count,
                          void *from)
{
    switch (field->kind) {
    case LAYOUT_STRING:
        return copy_text(c, field->mask, from);
    case LAYOUT_STRINGS:
        return copy_texts(c, from, count);
    case LAYOUT_FACTS:
        return copy_array(c, from, count, sizeof(struct tl_fact_key));
    default:
        break;
    }
    char *records = copy_array(c, from, count, field->sub->size);
    for (size_t i = 0; records && i < count; i++)
        copy_record(c, field->sub, records + i * field->sub->size);
    return records;
}

/* What a record points to becomes the copier's own, masked; what it holds is masked in place. */
static void copy_record(struct copier *c, const struct layout *layout, void *record)
{
    for (size_t i = 0; i < layout->count; i++) {
        const struct layout_field *field = &layout->fields[i];
        char *at = (char *)record + field->offset;
        size_t count = field->count_size ? layout_count(field, record) : 1;
        void *pointed;
        switch (field->kind) {
        case LAYOUT_TEXT:
        case LAYOUT_TEXTS:
            for (size_t k = 0; k < count; k++)
                mask_field(c, field->mask, at + k * field->size, field->size);
            break;
        case LAYOUT_GROUP:
            copy_record(c, field->sub, record);
            break;
        case LAYOUT_LIST:
            for (size_t k = 0; k < count; k++)
                copy_record(c, field->sub, at + k * field->sub->size);
            break;
        case LAYOUT_STRING:
        case LAYOUT_STRINGS:
        case LAYOUT_FACTS:
        case LAYOUT_ARRAY:
            memcpy(&pointed, at, sizeof pointed);
            pointed = copy_pointed(c, field, count, pointed);
            memcpy(at, &pointed, sizeof pointed);
            break;
        default:
            break; /* no text */
        }
    }
}

void redact_copy_run(struct copier *c, const struct tl_run *from, struct tl_run *run)
{
    *run = *from;
    c->listed = listed_name(run);
    if (c->redactor)
        run->host_mark[0] = '\0'; /* nobody else has use for it */
    copy_record(c, &layout_run, run);
    copy_record(c, &layout_measured, run);
    for (int i = 0; i < run->verified_count; i++)
        copy_record(c, &layout_verified, &run->verified[i]);
    mask_text(c, run->strange_fact, sizeof run->strange_fact);
}

void redact_copy_reading(struct copier *c, struct tl_reading *reading)
{
    mask_text(c, reading->stage, sizeof reading->stage);
}

void redact_copy_findings(struct copier *c, const struct tl_findings *from,
                          struct tl_findings *findings)
{
    *findings = *from;
    copy_record(c, &layout_verdict, &findings->verdict);
    copy_record(c, &layout_judged, findings);
}
