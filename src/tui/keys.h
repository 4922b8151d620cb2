/* Keys by place; private to keys*.c. Each takes one key and returns enum tui_action flags. */
#ifndef TL_TUI_KEYS_H
#define TL_TUI_KEYS_H

#include "state.h"
#include "tightlink/base/utf8.h"

unsigned tui_screen_key(struct tui_state *state, int key); /* run, verdict and later screens */
unsigned tui_store_key(struct tui_state *state, int key);  /* history and export */
unsigned tui_watch_key(struct tui_state *state, int key);  /* transfers that run, and one of them */
/* The start screen's target and direction become those of state.watch.open. */
void tui_watch_aim(struct tui_state *state);
unsigned tui_go_to(struct tui_state *state, enum tui_screen screen); /* or a message why not */
/* Asks for a line of text that begins with text. */
void tui_prompt_open(struct tui_state *state, enum tui_prompt prompt, const char *text);
/* Moves a selected row, or the first row shown, within 0 and last. */
void tui_move(int *at, int key, int page, int last);
unsigned tui_page_key(struct tui_state *state, int key);   /* while a page is open */
unsigned tui_prompt_key(struct tui_state *state, int key); /* while a line is asked for */

/* Edits a text field of size bytes: a character at its end, where it is printable and fits. */
void tui_text_add(char *text, size_t size, uint32_t character);
void tui_text_remove(char *text);

/* What Esc does where nothing else is to be undone first: one screen back. */
unsigned tui_step_back(struct tui_state *state);

#endif
