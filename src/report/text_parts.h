/* The parts of the text report, in their order; private to src/report. Each begins with
 * its own heading and prints nothing where it has nothing to say. */
#ifndef TL_REPORT_TEXT_PARTS_H
#define TL_REPORT_TEXT_PARTS_H

#include "text_layout.h"

/* What one report shows; borrowed. */
struct text_source {
    const struct tl_run *run;
    const struct tl_facts *facts;
    const struct tl_findings *findings;
};

/* text.c: the first sentence, for a person who knows no networking. */
void text_add_headline(const struct text_source *source, struct tl_buf *out);

/* text_ladder.c: rungs and measured rates of a direction on one axis, then its time ledger. */
void text_ladder(struct text *t, const struct text_source *source, enum tl_direction direction);
void text_ledger(struct text *t, const struct text_source *source, enum tl_direction direction);

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
