/* Foreign text inside Markdown and HTML: the one place where it is made harmless; private to
 * src/present. Control, bidi and invisible characters become \u{..} first (P12). */
#ifndef TL_PRESENT_ESCAPE_H
#define TL_PRESENT_ESCAPE_H

#include "tightlink/base/buf.h"

/* For text between tags and for quoted attributes. */
void escape_html(struct tl_buf *out, const char *text);

/* For text inside a paragraph, a list item or a table cell, CommonMark and its GitHub dialect:
 * no emphasis, link, image, heading, quote, table border, HTML or autolink comes of it. */
void escape_markdown(struct tl_buf *out, const char *text);

/* A fenced block of code that text cannot end. Line breaks of text are kept. */
void escape_markdown_block(struct tl_buf *out, const char *text);

#endif
