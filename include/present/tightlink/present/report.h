/* Reports: what was found, as text for people.
 *
 * Pure: reads a run and writes to a buffer; no files, no terminal. */
#ifndef TL_PRESENT_REPORT_H
#define TL_PRESENT_REPORT_H

#include "tightlink/document/document.h"
#include "tightlink/present/page.h"

/* The verdict as text, for a person who knows no networking first: who limits and by how much, what
 * to do and whom to ask; then rates, ladder, ledger, evidence, the rest. */
struct tl_text_style {
    int width;  /* columns, 60 to 200 */
    bool color; /* ANSI colour; never the only carrier of meaning */
    bool utf8;  /* block characters for bars; else + - | # */
};
enum tl_status tl_report_text(const struct tl_run *run, const struct tl_facts *facts,
                              const struct tl_findings *findings, const struct tl_text_style *style,
                              struct tl_buf *out) TL_WARN_UNUSED;

/* The same report in parts, for screens that place them themselves: the same words and the same
 * order within each. A part without content adds nothing. */
enum tl_report_part {
    TL_PART_HEAD,  /* what limits, what it means */
    TL_PART_FIX,   /* remedies, whom to send it to, what comes after them; or what would tell */
    TL_PART_RATES, /* the route, how sure, what was asked for and what came */
    TL_PART_MEASUREMENTS, /* the goal line by line, what would decide, ladder and ledger */
    TL_PART_EVIDENCE,     /* why, for and against */
    TL_PART_WAY,          /* the routers on the way */
    TL_PART_OTHERS,       /* parts of the way, also found, ruled out, not told */
    TL_PART_RUN,          /* hours of watching, disturbances, the run itself */
    TL_PART_COUNT
};
#define TL_REPORT_PART_WIDTH_MIN 56
/* Adds the part's lines to a page, whose width is widened to the least above (but for head and fix,
 * which need no columns) and narrowed to 200.
 * Memory that ends is in page->status. */
void tl_report_part(const struct tl_run *run, const struct tl_facts *facts,
                    const struct tl_findings *findings, enum tl_report_part part,
                    struct tl_page *page);

/* Adds the verdict in words that everybody has, and no others: what is wrong, what to do, how sure
 * that is, what to tell on the telephone. No number is more exact than a person needs it. */
void tl_report_plain(const struct tl_run *run, const struct tl_facts *facts,
                     const struct tl_findings *findings, struct tl_page *page);
/* The same in some ten lines, for what stays in a terminal and for the smallest screens. */
void tl_report_brief(const struct tl_run *run, const struct tl_facts *facts,
                     const struct tl_findings *findings, struct tl_page *page);

/* The first line alone: who limits, and by how much. */
void tl_report_headline(const struct tl_run *run, const struct tl_facts *facts,
                        const struct tl_findings *findings, struct tl_buf *out);

/* That line and what the limit is, in words that everybody has: for rows of lists. */
void tl_report_says(const struct tl_run *run, const struct tl_facts *facts,
                    const struct tl_findings *findings, struct tl_buf *out);

/* The same of a run of which only the row of a list is there. Texts are borrowed, never NULL and
 * may be ""; numbers are NAN where they are not known. Without a cause it says the sentence. */
struct tl_report_kept {
    const char *cause, *segment, *sentence; /* the verdict's */
    const char *target, *proxy, *kind;      /* whom the run went to */
    enum tl_direction direction;
    double confidence;
    double measured_bps, doubt_bps; /* half of what the rate may be off by */
    double fixed_bps;               /* what a fix was predicted to bring */
};
void tl_report_kept(const struct tl_report_kept *kept, struct tl_buf *out);

/* "2026-11-20 20:41 UTC" of "2026-11-20T20:41:07.123Z", as one says it on the telephone. */
const char *tl_report_minute(const char *started, char ret_text[32]);

/* What to send to whoever can do a remedy: the sentence of a request alone; a command with the
 * place where it is to be run, as it is where that is this PC. */
void tl_report_request(const struct tl_run *run, const struct tl_remedy *remedy,
                       struct tl_buf *out);

/* Words in a remedy's command that stand for what was not known, and where to find it, as a
 * sentence; nothing where it can be run as it stands. */
void tl_report_to_fill_in(const struct tl_run *run, const struct tl_remedy *remedy,
                          struct tl_buf *out);

/* What the plan decided: the stages in the order in which they were chosen and why, then those
 * left out and why. */
enum tl_status tl_report_plan(const struct tl_run *run, const struct tl_text_style *style,
                              struct tl_buf *out) TL_WARN_UNUSED;

#endif
