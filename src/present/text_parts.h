/* The parts of the text report, in their order; private to src/present. Each begins with
 * its own heading and prints nothing where it has nothing to say. */
#ifndef TL_PRESENT_TEXT_PARTS_H
#define TL_PRESENT_TEXT_PARTS_H

#include "text_layout.h"
#include "tightlink/base/units.h"

/* What one report shows; borrowed. */
struct text_source {
    const struct tl_run *run;
    const struct tl_facts *facts;
    const struct tl_findings *findings;
    /* On a screen: a name in a sentence that takes more loses its middle, so that what is to be
     * done stays in sight; 0: as they are. */
    size_t name_columns;
    bool ascii; /* of such names */
};

/* text.c: for lines of a page: names in sentences take half of its width. */
struct text_source text_source_of_page(const struct tl_run *run, const struct tl_facts *facts,
                                       const struct tl_findings *findings,
                                       const struct tl_page *page);
/* One part of a report in any form; the head as plain text only. */
void text_part(struct text *t, const struct text_source *source, enum tl_report_part part);

/* text_head.c: the sentences of the head, each in words that every format uses. */
/* The rate that was measured, no more exact than its bounds; as a number and as text. */
double text_measured_bps(const struct text_source *source);
const char *text_measured_rate(const struct text_source *source, char ret_text[TL_UNIT_TEXT_SIZE]);
/* A rate that was predicted, no more exact than predictions come true; the least that it will be
 * is named from below. One voice: every part of a report names one prediction by one number, and
 * reckons times and factors with it. */
double text_predicted_bps(const struct text_source *source, double bps, bool at_least);
const char *text_predicted_rate(const struct text_source *source, double bps, bool at_least,
                                char ret_text[TL_UNIT_TEXT_SIZE]);
/* What limits once the verdict's cause is mended: NULL where that was not measured. Where the cause
 * broke the transfer that limits already, between its breaks. */
const struct tl_rung *text_next_rung(const struct tl_findings *findings);
/* The rate of a rung, no more exact than its bounds. */
const char *text_rung_rate(const struct text_source *source, const struct tl_rung *rung,
                           char ret_text[TL_UNIT_TEXT_SIZE]);
/* "Run 01J9..., 2026-11-20 20:41 UTC, measured on host-3fa9c1": what somebody who has many reports
 * looks for first. Nothing for a run without an id. */
void text_add_origin(const struct text_source *source, struct tl_buf *out);
/* The first sentence, for a person who knows no networking. */
void text_add_headline(const struct text_source *source, struct tl_buf *out);
/* What the rate means for a file of 10 GB. */
void text_add_consequence(const struct text_source *source, struct tl_buf *out);
/* The same in a few words: "about 14 min now, about 86 s after the fix". */
void text_add_file_times(const struct text_source *source, struct tl_buf *out);
/* What is wrong in one sentence that everybody understands; nothing where the first says it. */
void text_add_cause(const struct text_source *source, struct tl_buf *out);
/* The rule's own sentence, for who knows the trade; nothing where the first sentence was that. */
void text_add_why(const struct text_source *source, struct tl_buf *out);
/* "srv-b -> this PC", with that arrow. */
void text_add_route(const struct text_source *source, const char *arrow, struct tl_buf *out);
/* "high (93 %)"; nothing where nothing limits. */
void text_add_confidence(const struct text_source *source, struct tl_buf *out);
/* The command that shows what is known of the cause; nothing where none was named. */
void text_add_page(const struct text_source *source, struct tl_buf *out);
/* "asked 900 Mb/s, got 96.1 Mb/s, ...". */
void text_add_rates(const struct text_source *source, struct tl_buf *out);
/* "Disturbed: ..." with what made the run degraded, the first two reasons; else nothing. */
void text_add_disturbance(const struct text_source *source, struct tl_buf *out);
/* The first of them as lines: what limits, what that means. */
void text_headline(struct text *t,
                   const struct text_source *source); /* who limits, and by how much */
void text_meaning(struct text *t, const struct text_source *source); /* for a file; disturbances */
/* The others: the route, how sure, the rates. */
void text_rates(struct text *t, const struct text_source *source);

/* text_finding.c: a command that measures (plain.h) as an entry, with what to put into it. */
void text_command_again(struct text *t, const struct text_source *source, const char *command);

/* The same file: where no cause was named, what would tell, under a heading of its own (NULL:
 * none). */
void text_way_on(struct text *t, const struct text_source *source,
                 void (*heading)(struct text *t, const char *words));
/* The same file: what has to be put into a remedy's command, as an entry. */
void text_to_fill_in(struct text *t, const struct text_source *source,
                     const struct tl_remedy *remedy);

/* text_ladder.c: rungs and measured rates of a direction on one axis, then its time ledger. */
void text_ladder(struct text *t, const struct text_source *source, enum tl_direction direction);
void text_ledger(struct text *t, const struct text_source *source, enum tl_direction direction);

/* The same, for those who draw it themselves. */
struct ladder_row {
    const char *place; /* static or borrowed from the findings */
    char label[256];
    double bps, high_bps; /* high_bps NAN where there is no upper bound */
    double doubt_bps;     /* half of what bps may be off by, NAN where nobody knows */
    bool limits, measured;
};
#define LADDER_ROWS_MAX 64
/* Tested rungs, then what was measured; returns how many. */
size_t text_ladder_rows(const struct text_source *source, enum tl_direction direction,
                        struct ladder_row ret_rows[LADDER_ROWS_MAX]);
/* Half of what the rate of one of them may be off by, so that an axis tells it as its row does. */
double text_ladder_doubt(const struct ladder_row *rows, size_t count, double bps);
/* The ends of the axis; low is 0 on a linear one, above on a logarithmic one. high is 0 where
 * there is nothing to draw. And where a rate stands on it, 0 to 1. */
void text_ladder_scale(const struct text_source *source, enum tl_direction direction,
                       double *ret_low, double *ret_high);
double text_ladder_position(double low, double high, double bps);
/* For a page, whose ladder is a picture of those that were tested. */
void text_untested(struct text *t, const struct text_source *source);
const char *text_ladder_heading(enum tl_direction direction);

#define LEDGER_PARTS 4
struct ledger_part {
    const char *label;
    double ratio;
};
void text_ledger_parts(const struct tl_ledger_row *row, struct ledger_part ret_parts[LEDGER_PARTS]);
void text_add_ledger_heading(const struct tl_ledger_row *row, struct tl_buf *out);

/* text_disk.c: disks and memories at both ends, two by two. */
void text_file_matrix(struct text *t, const struct text_source *source,
                      enum tl_direction direction);

/* text_finding.c: the verdict's evidence, its remedies and what comes after them. */
void text_evidence(struct text *t, const struct text_source *source);
void text_fix(struct text *t, const struct text_source *source);

/* text_lists.c: what else was found, ruled out or left open, and how the run went. */
void text_also_found(struct text *t, const struct text_source *source);
void text_ruled_out(struct text *t, const struct text_source *source);
void text_open(struct text *t, const struct text_source *source);
void text_deciding(struct text *t, const struct text_source *source);
/* Segments and hops of the way, where they are known. */
void text_path(struct text *t, const struct text_source *source);
void text_parts(struct text *t, const struct text_source *source);
void text_disturbances(struct text *t, const struct text_source *source);
/* text_goal.c: a goal judged line by line. */
void text_goal(struct text *t, const struct text_source *source);
/* text_watch.c: the hours after the verdict. */
void text_watch(struct text *t, const struct text_source *source);
void text_footer(struct text *t, const struct text_source *source);

#endif
