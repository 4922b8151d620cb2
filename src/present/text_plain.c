/* The verdict in plain words, for who will not read the rest: on a page of its own, and in the few
 * lines that a terminal keeps. */
#include <string.h>

#include "plain.h"
#include "text_parts.h"
#include "text_words.h"
#include "tightlink/rules/verdict.h"

#define LABEL_COLUMNS 10

static void heading(struct text *t, const char *text)
{
    if (t->page->line_count)
        tl_page_end_line(t->page, TL_LINE_TEXT);
    tl_page_add(t->page, TL_SAID_STRONG, text);
    tl_page_end_line(t->page, TL_LINE_HEADING);
}

/* Makes a sentence and writes it, indented; nothing where it is empty. */
static void sentence(struct text *t, const struct text_source *source,
                     void (*add)(const struct text_source *source, struct tl_buf *out))
{
    struct tl_buf line = TL_BUF_INIT;
    add(source, &line);
    if (line.len)
        text_item(t, 2, tl_buf_text(&line));
    text_keep_status(t, line.status);
    tl_buf_finish(&line);
}

/* "On this PC, as its administrator (root):" */
static void add_where(const struct text_source *source, const struct tl_remedy *remedy,
                      struct tl_buf *out)
{
    tl_buf_adds(out, strcmp(remedy->where, "flow") == 0 ? "In " : "On ");
    plain_add_place(source, remedy->where, false, out);
    plain_add_system(source, remedy, out);
    if (remedy->needs[0])
        tl_buf_addf(out, ", %s", text_needs(remedy->needs));
}

static void add_send_to(const struct text_source *source, struct tl_buf *out)
{
    const char *send_to = source->findings->verdict.send_to;
    plain_add_named(source, send_to ? send_to : "", out);
}

static void entry(struct text *t, const struct text_source *source, const char *label,
                  void (*add)(const struct text_source *source, struct tl_buf *out))
{
    struct tl_buf line = TL_BUF_INIT;
    add(source, &line);
    if (line.len)
        text_entry(t, label, LABEL_COLUMNS, tl_buf_text(&line));
    text_keep_status(t, line.status);
    tl_buf_finish(&line);
}

/* What to do before where: on the smallest screens it stands in the first picture. */
static void first_fix(struct text *t, const struct text_source *source, bool undo)
{
    const struct tl_finding *finding = tl_findings_verdict(source->findings);
    const struct tl_remedy *remedy =
        finding && finding->remedy_count ? &finding->remedies[0] : NULL;
    struct tl_buf where = TL_BUF_INIT, does = TL_BUF_INIT;
    if (!remedy) {
        text_entry(t, "do", LABEL_COLUMNS, "No setting is known that helps here.");
        entry(t, source, "ask", add_send_to);
        return;
    }
    add_where(source, remedy, &where);
    plain_add_named(source, remedy->does, &does);
    if (tl_remedy_is_command(remedy->does))
        text_command(t, "do", LABEL_COLUMNS, remedy->does);
    else
        text_entry(t, "do", LABEL_COLUMNS, tl_buf_text(&does));
    text_entry(t, "where", LABEL_COLUMNS, tl_buf_text(&where));
    text_to_fill_in(t, source, remedy);
    if (undo && tl_remedy_is_command(remedy->undo))
        text_command(t, "undo", LABEL_COLUMNS, remedy->undo);
    if (!tl_remedy_is_request(remedy->does)) /* which names who is asked */
        entry(t, source, "ask", add_send_to);
    text_keep_status(t, where.status);
    text_keep_status(t, does.status);
    tl_buf_finish(&where);
    tl_buf_finish(&does);
}

static void how_sure(struct text *t, const struct text_source *source)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    bool met = verdict->state == TL_GOAL_MET;
    if (met && source->run->quality != TL_QUALITY_DEGRADED)
        return; /* the rate was measured: there is nothing to be unsure of */
    heading(t, "How sure that is");
    if (verdict->state != TL_LIMITED) {
        if (!met)
            text_item(t, 2, "No cause was named, so none can be wrong.");
        sentence(t, source, text_add_disturbance);
        return;
    }
    /* Words alone: a share would be read as if it had been counted. */
    text_item(t, 2,
              verdict->confidence >= TL_CONFIDENCE_HIGH     ? "very sure"
              : verdict->confidence >= TL_CONFIDENCE_MEDIUM ? "fairly sure"
                                                            : "not sure");
}

void tl_report_plain(const struct tl_run *run, const struct tl_facts *facts,
                     const struct tl_findings *findings, struct tl_page *page)
{
    static const char *const heads[] = {[TL_LIMITED] = "What is wrong",
                                        [TL_GOAL_MET] = "Nothing is wrong",
                                        [TL_INCONCLUSIVE] = "It is not known yet",
                                        [TL_VERDICT_INVALID] =
                                            "The measurement was disturbed: no verdict"};
    const struct text_source source = text_source_of_page(run, facts, findings, page);
    struct text t = {.sink = &text_columns, .page = page};
    char when[32];
    heading(&t, plain_nothing_was_measured(run)    ? "Nothing was measured"
                : plain_stopped_too_early(&source) ? "It was stopped too early: no verdict"
                                                   : heads[findings->verdict.state]);
    sentence(&t, &source, text_add_headline);
    sentence(&t, &source, text_add_cause);
    sentence(&t, &source, text_add_consequence);
    if (findings->verdict.state == TL_LIMITED) {
        heading(&t, "What to do");
        first_fix(&t, &source, true);
    }
    text_way_on(&t, &source, heading);
    how_sure(&t, &source);
    heading(&t, "If somebody helps you on the telephone, tell");
    text_entry(&t, "run", LABEL_COLUMNS, run->id);
    text_entry(&t, "when", LABEL_COLUMNS, tl_report_minute(run->started, when));
    text_entry(&t, "with", LABEL_COLUMNS, run->target_name);
    text_entry(&t, "version", LABEL_COLUMNS, run->tool_version);
}

void tl_report_brief(const struct tl_run *run, const struct tl_facts *facts,
                     const struct tl_findings *findings, struct tl_page *page)
{
    const struct text_source source = text_source_of_page(run, facts, findings, page);
    struct text t = {.sink = &text_columns, .page = page};
    text_headline(&t, &source);
    if (findings->verdict.state == TL_LIMITED)
        first_fix(&t, &source, false);
    text_way_on(&t, &source, NULL);
    text_meaning(&t, &source);
}
