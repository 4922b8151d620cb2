/* Whole documents of a run; private to src/present. */
#ifndef TL_PRESENT_DOCUMENTS_H
#define TL_PRESENT_DOCUMENTS_H

#include "text_parts.h"
#include "tightlink/facts/samples.h"

/* markdown.c */
void report_markdown(const struct text_source *source, struct tl_buf *out);

/* html.c; samples may be empty. */
void report_html(const struct text_source *source, const struct tl_samples *samples,
                 struct tl_buf *out);

/* The head as label and text, for both; fills at most DOCUMENT_FIELDS and returns how many. The
 * caller finishes each text. */
#define DOCUMENT_FIELDS 6
struct document_field {
    const char *label;
    struct tl_buf text;
};
size_t document_fields(const struct text_source *source,
                       struct document_field ret_fields[DOCUMENT_FIELDS]);

/* html_chart.c: pictures as inline SVG, coloured by the page's style sheet. Each adds nothing
 * where there is nothing to draw. Ladder and ledger stand below their part's heading; those over
 * time bring their own. */
void chart_ladder(struct tl_buf *out, const struct text_source *source,
                  enum tl_direction direction);
void chart_ledger(struct tl_buf *out, const struct tl_ledger_row *row);
enum chart_of_time {
    CHART_RATE,
    CHART_RTT,
    CHART_FLIGHT,
    CHART_SEQUENCE, /* of Stevens: what was acknowledged so far */
    CHART_EDGES,    /* of tcptrace: that, what was sent, and the edge of the receiver's window */
};
void chart_time(struct tl_buf *out, const struct tl_samples *samples, enum chart_of_time what);

#endif
