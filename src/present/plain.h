/* A verdict in words that everybody has; private to src/present. No word of the trade stands in
 * them: whoever wants those finds them in the evidence. */
#ifndef TL_PRESENT_PLAIN_H
#define TL_PRESENT_PLAIN_H

#include "text_parts.h"

/* "this PC", "srv-b.example.net", "the line to srv-b.example.net" ... for a segment's id; begins:
 * with a capital, as a sentence begins. Adds to out. */
void plain_add_place(const struct text_source *source, const char *segment, bool begins,
                     struct tl_buf *out);

/* ", if it runs macOS": behind the place of a remedy for one system, where nobody knows which it
 * has. */
void plain_add_system(const struct text_source *source, const struct tl_remedy *remedy,
                      struct tl_buf *out);

/* What is wrong, in one sentence; nothing for a cause that has none. */
void plain_add_cause(const struct text_source *source, struct tl_buf *out);

/* A sentence of a rule with the other host's own name in the place of "the far end", and the
 * command that reaches it in the place of "tightlink run HOST". */
void plain_add_named(const struct text_source *source, const char *text, struct tl_buf *out);

/* The command that measures the same again, for options to follow; false and nothing where there is
 * none. */
bool plain_add_again(const struct text_source *source, struct tl_buf *out);

/* What an administrator has to put into a remedy's command before it can be run, and where that is
 * found, in a sentence; nothing where it can be run as it stands, or is none. */
void plain_add_to_fill_in(const struct text_source *source, const struct tl_remedy *remedy,
                          struct tl_buf *out);

/* What to put into such a command where the name was masked, in a sentence; nothing where the
 * command has the name. */
void plain_add_stand_in(const struct text_source *source, struct tl_buf *out);

/* It was given up before anything was sent: nobody answered there, for instance. */
bool plain_nothing_was_measured(const struct tl_run *run);

/* The user ended it before it could tell anything: nothing failed. */
bool plain_stopped_too_early(const struct text_source *source);

/* What to do where no cause was named: a sentence, and the command that would tell, where one can
 * be run. False and nothing where a cause is known, or nothing was measured. */
bool plain_add_way_on(const struct text_source *source, struct tl_buf *ret_says,
                      struct tl_buf *ret_command);

/* That of a file of 10 GB at this rate. */
const char *plain_file_time(double bps, char ret_text[32]);

#endif
