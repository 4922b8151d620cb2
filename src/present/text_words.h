/* Words for people: places, stages, times of a file; private to src/present. */
#ifndef TL_PRESENT_TEXT_WORDS_H
#define TL_PRESENT_TEXT_WORDS_H

#include "tightlink/facts/facts.h"
#include "tightlink/present/report.h"

/* "near-host" -> "this PC", in a capture "client"; a segment that is not known stays as it is. */
const char *text_place(const struct tl_run *run, const char *segment);

/* The end's name, "192.0.2.1:40000"; "" where the document does not tell. segment: near-host or
 * far-host. */
const char *text_end_name(const struct tl_run *run, const char *segment);

/* "root" -> "as its administrator (root)", "provider" -> "for the provider". */
const char *text_needs(const char *needs);

/* "high" from 0.8, "medium" from 0.5, else "low". */
const char *text_confidence(double confidence);

/* The stage that would make a fact known: for a derived fact that of the input it waits
 * for. "" where there is none. Static storage. */
const char *text_stage_of(const struct tl_facts *facts, struct tl_fact_key key);
/* That stage was run, or could not be, and did not make it known: running it again would not. */
bool text_is_tried(const struct tl_facts *facts, struct tl_fact_key key);

/* The file whose time stands for a rate. */
#define TEXT_FILE_BYTES 10e9

/* How a prediction fared: "HIT", and what that means behind the numbers: " (within 10 %)". */
const char *text_score(enum tl_score score);
const char *text_score_note(enum tl_score score);

/* A number; NAN where it is not known. */
double text_number(const struct tl_facts *facts, struct tl_fact_key key);

#endif
