/* Text pages of the rules layer: explain, why, causes. Private to the rules layer. */
#ifndef TL_RULES_PAGE_H
#define TL_RULES_PAGE_H

#include "tightlink/base/buf.h"

/* Adds text broken at spaces, each line after the indent, and ends the line. */
void tl_page_wrap(struct tl_buf *out, unsigned indent, const char *text);

#endif
