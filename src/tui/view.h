/* Views: from state to a grid. Pure, but for what a view notes in the state about its own
 * size (how far can be scrolled). */
#ifndef TL_TUI_VIEW_H
#define TL_TUI_VIEW_H

#include "grid.h"
#include "state.h"

/* Below this one column shows the verdict, or how far the run is, alone. */
#define TUI_ROWS_MIN 15
#define TUI_COLS_MIN 60

/* Draws everything: tabs, the screen, message and key lines, overlay. */
void tui_view(struct tui_state *state, struct tui_grid *grid);

/* --- parts, private to the views: each draws rows first to last (exclusive) --- */
void tui_view_start(struct tui_state *state, struct tui_grid *grid, int first, int last);
void tui_view_run(struct tui_state *state, struct tui_grid *grid, int first, int last);
void tui_view_verdict(struct tui_state *state, struct tui_grid *grid, int first, int last);
void tui_view_path(struct tui_state *state, struct tui_grid *grid, int first, int last);
/* Pages (view_page.c), instead of the screen they were opened on. */
void tui_view_page(struct tui_state *state, struct tui_grid *grid, int first, int last);
/* The body of the verdict for wide terminals, on a grid of its own that is as tall as it takes;
 * returns the rows used and notes where parts begin. */
int tui_view_wide(struct tui_state *state, struct tui_grid *tall);
/* From so many columns and rows on. */
#define TUI_WIDE_COLS 110
void tui_view_history(struct tui_state *state, struct tui_grid *grid, int first, int last);
void tui_view_export(struct tui_state *state, struct tui_grid *grid, int first, int last);
void tui_view_watch(struct tui_state *state, struct tui_grid *grid, int first, int last);
void tui_watch_page(struct tui_state *state, struct tui_grid *grid, int first, int last);
/* Connections of a capture: the list, one over time. */
void tui_view_packets(struct tui_state *state, struct tui_grid *grid, int first, int last);
void tui_packets_page(struct tui_state *state, struct tui_grid *grid, int first, int last);
/* In so many rows of a very small terminal. */
void tui_packets_small(struct tui_state *state, struct tui_grid *grid, int rows);
void tui_watch_small(struct tui_state *state, struct tui_grid *grid, int rows);
/* One column and the keys, where there is no room for a frame. */
void tui_view_small(struct tui_state *state, struct tui_grid *grid);
/* What was copied, and what has to be put into it before it can be run. */
void tui_add_copied(const struct tui_state *state, struct tl_buf *out);

void tui_view_overlay(struct tui_state *state, struct tui_grid *grid);
/* The keys that answer what is asked, three spaces or more apart; "" where nothing is. */
const char *tui_question_keys(const struct tui_state *state);

/* The keys of where one is, in a row. */
void tui_view_keys(const struct tui_state *state, struct tui_grid *grid, int row);
/* The same of a sending and of a capture. */
void tui_send_text(const struct tui_state *state, char *ret_title, size_t title_size,
                   char *ret_text, size_t size);
void tui_capture_text(const struct tui_state *state, char *ret_text, size_t size);
/* What the consent is asked for and what it would send at most; returns the title. */
const char *tui_consent_text(const struct tui_state *state, char *ret_text, size_t size);
/* "filter: " and such, before the text that is typed. */
const char *tui_prompt_label(enum tui_prompt prompt);
/* "11-20 20:58", local time: people remember when they were at it. */
const char *tui_history_when(int64_t started_ns, char ret_text[20]);
/* The rates of the selected run's far end over its runs. */
void tui_history_graph(const struct tui_state *state, struct tui_grid *grid, int row, int rows);
/* Why no run is listed. */
const char *tui_history_empty(const struct tui_history *history);
/* "(!)", "ok ", ... of one cause, and its ink. */
const char *tui_finding_mark(const struct tl_finding *finding, enum tui_ink *ret_ink);

/* Longer previews are cut here; the file has all of it. */
#define TUI_PREVIEW_MAX 200000

/* The first row shown of a list so that the selected one stays in the middle where it can. */
int tui_list_top(int selected, int rows, int count);
/* How many lines of so many entries are shown in `room` rows of which `below` stay for what stands
 * under the list, and one for the rule between; at least one. */
int tui_list_lines(int count, int room, int below);
/* The rows below a list that has a picture of what is selected. */
int tui_list_below(int room);

/* Marks the selected row of a list, with more than colour. */
void tui_select_row(struct tui_grid *grid, int row, int columns);

/* "(!) ", "ok  ", "(?) ", "(x) " and its ink. */
const char *tui_verdict_mark(enum tl_verdict_state state, enum tui_ink *ret_ink);
/* "one line for people": the verdict's sentence, or why there is none. */
const char *tui_verdict_sentence(const struct tl_session_result *result);
/* The first line of the verdict where there is one, else the same. */
#define TUI_HEADLINE_SIZE 700
const char *tui_verdict_headline(const struct tl_session_result *result,
                                 char ret_text[TUI_HEADLINE_SIZE]);

#endif
