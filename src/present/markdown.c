/* A run for a ticket: the first lines stand alone, what to do follows, evidence after it. */
#include "documents.h"

#include "escape.h"
#include "plain.h"

static void add(struct document_field *fields, size_t *count, const char *label,
                const struct text_source *source,
                void (*make)(const struct text_source *source, struct tl_buf *out))
{
    struct document_field *field = &fields[*count];
    *field = (struct document_field){.label = label};
    make(source, &field->text);
    if (field->text.len || field->text.status != TL_OK)
        (*count)++;
    else
        tl_buf_finish(&field->text);
}

static void make_route(const struct text_source *source, struct tl_buf *out)
{
    text_add_route(source, "→", out);
    tl_buf_addf(out, ", %s", tl_direction_name(source->findings->verdict.direction));
}

static void make_send_to(const struct text_source *source, struct tl_buf *out)
{
    const char *send_to = source->findings->verdict.send_to;
    plain_add_named(source, send_to ? send_to : "", out);
}

size_t document_fields(const struct text_source *source,
                       struct document_field ret_fields[DOCUMENT_FIELDS])
{
    size_t count = 0;
    bool told = source->findings->verdict.state != TL_VERDICT_INVALID;
    add(ret_fields, &count, "transfer", source, make_route);
    if (told)
        add(ret_fields, &count, "rates", source, text_add_rates);
    add(ret_fields, &count, "10 GB file", source, text_add_file_times);
    add(ret_fields, &count, "confidence", source, text_add_confidence);
    add(ret_fields, &count, "send to", source, make_send_to);
    add(ret_fields, &count, "read more", source, text_add_page);
    return count;
}

static void add_paragraph(struct text *t, const struct text_source *source,
                          void (*make)(const struct text_source *source, struct tl_buf *out))
{
    struct tl_buf line = TL_BUF_INIT;
    make(source, &line);
    if (line.len)
        text_wrap(t, 0, tl_buf_text(&line));
    text_keep_status(t, line.status);
    tl_buf_finish(&line);
}

static void add_head(struct text *t, const struct text_source *source)
{
    struct document_field fields[DOCUMENT_FIELDS];
    struct tl_buf headline = TL_BUF_INIT;
    text_add_headline(source, &headline);
    tl_buf_adds(t->out, "## ");
    escape_markdown(t->out, tl_buf_text(&headline));
    tl_buf_adds(t->out, "\n");
    text_keep_status(t, headline.status);
    tl_buf_finish(&headline);
    add_paragraph(t, source, text_add_origin);
    tl_buf_adds(t->out, "\n");
    add_paragraph(t, source, text_add_cause);
    add_paragraph(t, source, text_add_consequence);
    size_t count = document_fields(source, fields);
    tl_buf_adds(t->out, "\n");
    for (size_t i = 0; i < count; i++) {
        text_entry(t, fields[i].label, 0, tl_buf_text(&fields[i].text));
        text_keep_status(t, fields[i].text.status);
        tl_buf_finish(&fields[i].text);
    }
}

void report_markdown(const struct text_source *source, struct tl_buf *out)
{
    static const enum tl_report_part parts[] = {TL_PART_FIX, TL_PART_MEASUREMENTS, TL_PART_EVIDENCE,
                                                TL_PART_WAY, TL_PART_OTHERS,       TL_PART_RUN};
    struct text t = {.sink = &text_markdown, .out = out};
    add_head(&t, source);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        text_part(&t, source, parts[i]);
}
