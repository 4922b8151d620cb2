/* Members of the document that are no plain value, written and read. */
#include <math.h>
#include <string.h>

#include "layout.h"
#include "tightlink/rules/goal.h"

void layout_add_whole(struct tl_json_writer *w, const char *key, double value)
{
    if (isfinite(value) && fabs(value) < 9e18)
        tl_json_add_integer(w, key, llround(value));
}

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
    layout_add_whole(w, key, from);
    layout_add_whole(w, "to_ns", from + row->duration_ns);
}

void layout_write_planned(struct tl_json_writer *w, const char *key, const void *member,
                          const struct layout_context *context)
{
    const struct tl_plan_record *record = member;
    if (record->has_direction)
        tl_json_add_string(w, key, tl_direction_name(record->direction));
}

enum tl_status layout_read_direction(const struct tl_json_at *at, enum tl_direction *ret_direction,
                                     struct tl_error *reterr)
{
    const char *text;
    enum tl_status status = tl_json_string(at, &text, reterr);
    if (status != TL_OK)
        return status;
    for (enum tl_direction d = TL_DOWNLOAD; d <= TL_UPLOAD; d++) {
        if (strcmp(text, tl_direction_name(d)) == 0) {
            *ret_direction = d;
            return TL_OK;
        }
    }
    return tl_json_error(at, reterr, TL_UNKNOWN, "neither download nor upload");
}

enum tl_status layout_read_directions(const struct tl_json_at *object, const char *key,
                                      void *member, struct tl_error *reterr)
{
    struct tl_run *run = member;
    struct tl_json_at directions;
    enum tl_status status = tl_json_get_array(object, key, &directions, reterr);
    for (size_t i = 0; status == TL_OK && i < tl_json_count(&directions); i++) {
        struct tl_json_at at = tl_json_item(&directions, i);
        enum tl_direction direction = TL_DOWNLOAD;
        status = layout_read_direction(&at, &direction, reterr);
        if (status == TL_OK)
            *(direction == TL_DOWNLOAD ? &run->download : &run->upload) = true;
    }
    if (status == TL_OK && !run->download && !run->upload)
        status = tl_json_error(&directions, reterr, TL_SYNTAX, "no direction");
    return status;
}

enum tl_status layout_read_at_least(const struct tl_json_at *object, const char *key, void *member,
                                    struct tl_error *reterr)
{
    struct tl_json_at at;
    bool at_least = false;
    enum tl_status status =
        tl_json_find(object, key, &at) ? tl_json_bool(&at, &at_least, reterr) : TL_OK;
    if (at_least)
        *(double *)member = INFINITY;
    return status;
}

enum tl_status layout_read_planned(const struct tl_json_at *object, const char *key, void *member,
                                   struct tl_error *reterr)
{
    struct tl_plan_record *record = member;
    struct tl_json_at at;
    record->has_direction = tl_json_find(object, key, &at);
    return record->has_direction ? layout_read_direction(&at, &record->direction, reterr) : TL_OK;
}
