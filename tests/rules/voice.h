/* One voice: what a report says in two places does not contradict itself, and one number has the
 * same digits wherever it stands. Complaints are added to out. */
#ifndef TL_TESTS_VOICE_H
#define TL_TESTS_VOICE_H

#include "case_file.h"
#include "tightlink/base/buf.h"

/* Complains of each rate of the text that is one of the ladder's and is written otherwise there,
 * and of rates that the ladder lacks. Returns how many were compared. */
size_t voice_digits(const struct tl_case *test, const struct tl_findings *findings,
                    const char *text, const char *ladder, struct tl_buf *out);

/* "At most 8.9 Mb/s; 9.3 were seen": the bounds of the verdict's ceiling hold what it explains.
 * finding: the verdict's; NULL: there is none. */
void voice_seen(const struct tl_case *test, const struct tl_findings *findings,
                const struct tl_finding *finding, struct tl_buf *out);

/* A cause that is said to be ruled out is not also said not to have been tested, by a rung or by
 * another rule. words: of the whole report in that format (plain_words_alone). */
void voice_ruled_out(const struct tl_case *test, const struct tl_findings *findings,
                     const char *format, const char *words, struct tl_buf *out);

/* No item of a list stands there twice. text: as Markdown, where each is one line. */
void voice_lists(const struct tl_case *test, const char *text, struct tl_buf *out);

#endif
