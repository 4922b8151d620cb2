/* What keys do; private to keys*.c. Each takes one key and returns enum tui_action flags. */
#ifndef TL_TUI_KEYS_H
#define TL_TUI_KEYS_H

#include "keymap.h"
#include "state.h"
#include "tightlink/base/utf8.h"

unsigned tui_prompt_key(struct tui_state *state, int key); /* while a line is asked for */
unsigned tui_start_text(struct tui_state *state, int key); /* in a text field of the start screen */
bool tui_start_is_typing(const struct tui_state *state);
/* Esc: what is undone first (a filter, marks), then one page or screen back. */
unsigned tui_back(struct tui_state *state, int key);
/* Whether that leads anywhere. */
bool tui_has_back(const struct tui_state *state);
unsigned tui_interrupt(struct tui_state *state, int key);

/* Of a verdict, wherever it is looked at. */
unsigned tui_copy_fix(struct tui_state *state, int key);
unsigned tui_try_fix(struct tui_state *state, int key);
unsigned tui_export(struct tui_state *state, int key);
unsigned tui_ticket(struct tui_state *state, int key);
unsigned tui_save(struct tui_state *state, int key);
unsigned tui_why_not(struct tui_state *state, int key);
unsigned tui_next(struct tui_state *state, int key); /* the next cause */
/* There is a command to copy for this PC; a sentence for somebody else; something to try. */
bool tui_has_own_fix(const struct tui_state *state);
bool tui_has_request(const struct tui_state *state);
bool tui_can_try(const struct tui_state *state);
bool tui_has_next(const struct tui_state *state);
bool tui_is_judged(const struct tui_state *state);
/* A page about the verdict, where there is one. */
unsigned tui_verdict_page(struct tui_state *state, enum tui_page kind);

/* Asks for a line of text that begins with text. */
void tui_prompt_open(struct tui_state *state, enum tui_prompt prompt, const char *text);
unsigned tui_filter(struct tui_state *state, int key); /* asks for that of the list that is shown */
unsigned tui_mask_names(struct tui_state *state, int key); /* on the screen */
/* Moves a selected row, or the first row shown, within 0 and last. */
void tui_move(int *at, int key, int page, int last);
/* Moves the cursor of a page over `count` readings; -1, the newest, follows what comes. */
unsigned tui_move_cursor(struct tui_state *state, int key, int count);

/* Edits a text field of size bytes: a character at its end, where it is printable and fits. */
void tui_text_add(char *text, size_t size, uint32_t character);
void tui_text_remove(char *text);

#endif
