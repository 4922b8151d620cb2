/* A verdict in words that everybody has; private to src/present. No word of the trade stands in
 * them: whoever wants those finds them in the evidence. */
#ifndef TL_PRESENT_PLAIN_H
#define TL_PRESENT_PLAIN_H

#include "text_parts.h"

/* "this PC", "srv-b.example.net", "the line to srv-b.example.net" ... for a segment's id; begins:
 * with a capital, as a sentence begins. Adds to out. */
void plain_add_place(const struct text_source *source, const char *segment, bool begins,
                     struct tl_buf *out);

/* What is wrong, in one sentence; nothing for a cause that has none. */
void plain_add_cause(const struct text_source *source, struct tl_buf *out);

/* A sentence of a rule with the other host's own name in the place of "the far end". */
void plain_add_named(const struct text_source *source, const char *text, struct tl_buf *out);

/* The command that measures the same again, for options to follow; false and nothing where there is
 * none. */
bool plain_add_again(const struct text_source *source, struct tl_buf *out);

/* What to put into such a command where the name was masked, in a sentence; nothing where the
 * command has the name. */
void plain_add_stand_in(const struct text_source *source, struct tl_buf *out);

/* The command that would tell the cause; nothing where none would, or where it is known. */
void plain_add_command(const struct text_source *source, struct tl_buf *out);

/* That of a file of 10 GB at this rate. */
const char *plain_file_time(double bps, char ret_text[32]);

#endif
