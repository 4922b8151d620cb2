/* The verdict as text: which parts a report has, in which order.
 *
 * The causes, sentences and numbers come from the findings; nothing is concluded here. */
#include "text_parts.h"

#define WIDTH_MIN 60
#define WIDTH_MAX 200
/* Sentences and commands need no columns. */
#define NARROW_MIN 30

/* The direction of the verdict first. */
static void print_measurements(struct text *t, const struct text_source *source)
{
    enum tl_direction first = source->findings->verdict.direction;
    enum tl_direction second = first == TL_DOWNLOAD ? TL_UPLOAD : TL_DOWNLOAD;
    text_ladder(t, source, first);
    text_file_matrix(t, source, first);
    text_ledger(t, source, first);
    if (!source->run->download || !source->run->upload)
        return;
    text_ladder(t, source, second);
    text_file_matrix(t, source, second);
    text_ledger(t, source, second);
}

/* An invalid run has no numbers that could be believed: only its head and how it went. */
void text_part(struct text *t, const struct text_source *source, enum tl_report_part part)
{
    enum tl_verdict_state state = source->findings->verdict.state;
    bool told = state != TL_VERDICT_INVALID;
    if (part == TL_PART_HEAD && t->sink->columns) {
        text_headline(t, source);
        text_meaning(t, source);
    }
    if (part == TL_PART_RATES && t->sink->columns)
        text_rates(t, source);
    if (part == TL_PART_MEASUREMENTS && told) {
        text_goal(t, source);
        if (state == TL_INCONCLUSIVE)
            text_deciding(t, source);
        print_measurements(t, source);
    }
    if (part == TL_PART_EVIDENCE && state == TL_LIMITED)
        text_evidence(t, source);
    if (part == TL_PART_FIX)
        text_fix(t, source);
    if (part == TL_PART_WAY && told)
        text_path(t, source);
    if (part == TL_PART_OTHERS && told) {
        text_parts(t, source);
        text_also_found(t, source);
        text_ruled_out(t, source);
        text_open(t, source);
    }
    if (part == TL_PART_RUN) {
        if (told)
            text_watch(t, source);
        text_disturbances(t, source);
        text_footer(t, source);
    }
}

static int within(int width, int least)
{
    return width < least ? least : width > WIDTH_MAX ? WIDTH_MAX : width;
}

struct text_source text_source_of_page(const struct tl_run *run, const struct tl_facts *facts,
                                       const struct tl_findings *findings,
                                       const struct tl_page *page)
{
    return (struct text_source){run, facts, findings, (size_t)page->width / 2, !page->utf8};
}

void tl_report_part(const struct tl_run *run, const struct tl_facts *facts,
                    const struct tl_findings *findings, enum tl_report_part part,
                    struct tl_page *page)
{
    struct text t = {.sink = &text_columns, .page = page};
    page->width =
        within(page->width,
               part == TL_PART_HEAD || part == TL_PART_FIX ? NARROW_MIN : TL_REPORT_PART_WIDTH_MIN);
    const struct text_source source = text_source_of_page(run, facts, findings, page);
    text_part(&t, &source, part);
}

enum tl_status tl_report_text(const struct tl_run *run, const struct tl_facts *facts,
                              const struct tl_findings *findings, const struct tl_text_style *style,
                              struct tl_buf *out)
{
    const struct text_source source = {.run = run, .facts = facts, .findings = findings};
    struct tl_page page;
    struct text t = {.sink = &text_columns, .page = &page};
    tl_page_init(&page, within(style->width, WIDTH_MIN), style->utf8);
    for (int part = 0; part < TL_PART_COUNT; part++)
        text_part(&t, &source, (enum tl_report_part)part);
    enum tl_status status = tl_page_print(&page, style->color, out);
    tl_page_finish(&page);
    return status;
}
