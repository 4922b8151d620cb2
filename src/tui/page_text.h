/* The text of a page: one thing in detail, in words. Pure. */
#ifndef TL_TUI_PAGE_TEXT_H
#define TL_TUI_PAGE_TEXT_H

#include "state.h"
#include "tightlink/present/page.h"

/* Adds the text of the open page. Foreign text in it is clean. */
void tui_page_build(const struct tui_state *state, struct tl_page *page);

/* Its heading: "Hop 4: 203.0.113.33". */
const char *tui_page_title(const struct tui_state *state, char ret_title[160]);

/* "this PC" for "near-host" and so on, "client" where the run is of a capture, of which neither end
 * need be this machine; what is not known stays as it is. run may be NULL. */
const char *tui_place(const struct tl_run *run, const char *segment);

/* A host's name or address as the screen may show it: "<hidden>" while names are private. */
const char *tui_name(const struct tui_state *state, const char *name);

#endif
