/* What lies over a screen: help, questions, the text that was copied. */
#include <stdio.h>
#include <string.h>

#include "keymap.h"
#include "lines.h"
#include "tightlink/present/report.h"
#include "view.h"
#include "watch.h"
#include "zones.h"

/* Frames a place in the middle; returns its first inner row and column. */
static void open_box(struct tui_grid *grid, int rows, int columns, int *ret_row, int *ret_col)
{
    int row = (grid->rows - rows) / 2, col = (grid->cols - columns) / 2;
    tui_box(grid, row, col, rows, columns);
    *ret_row = row + 1;
    *ret_col = col + 2;
}

/* Text in so many rows of a box, from where it was scrolled to; tells where there is more. */
static void draw_scrolled(struct tui_state *state, struct tui_grid *grid, int row, int col,
                          int rows, int columns, const char *text)
{
    struct tui_box_state *box = &state->box;
    box->total = tui_lines(grid, 0, 0, 0, columns, 0, text);
    box->shown = rows;
    int last = box->total > rows ? box->total - rows : 0;
    box->scroll = box->scroll > last ? last : box->scroll;
    (void)tui_lines(grid, row, col, rows, columns, box->scroll, text);
    if (box->scroll < last)
        tui_put_right(grid, row + rows, col, columns, TUI_DIM,
                      grid->utf8 ? " ↓ up/dn: more " : " v up/dn: more ");
}

const char *tui_question_keys(const struct tui_state *state)
{
    const struct tl_finding *finding;
    switch (state->overlay) {
    case TUI_HELP:
        return "up/dn scroll   Esc closes";
    case TUI_CONSENT:
        return tui_is_first_question(state) ? "y go on      n send nothing"
                                            : "y go on      n end with what is known";
    case TUI_ASK_STOP:
        return "y stop and keep      n go on";
    case TUI_ASK_CAPTURE:
        return "y capture      n do not";
    case TUI_ASK_DELETE:
        return "y delete      n keep it";
    case TUI_ASK_SEND:
        return "y send      n do not";
    case TUI_ASK_MORE:
        return "y take it      n keep the old one";
    case TUI_COPIED:
        finding = tui_finding_in_view(state);
        return finding && finding->remedy_count > 1 ? "y the next one   any other key closes"
                                                    : "any key closes";
    case TUI_NO_OVERLAY:
        break;
    }
    return "";
}

/* The last row: what answers, not the keys of the screen below. */
static void draw_answers(const struct tui_state *state, struct tui_grid *grid)
{
    const char *keys = tui_question_keys(state);
    int row = grid->rows - 1;
    (void)tui_putf(grid, row, 0, grid->cols, TUI_BAR, "%*s", grid->cols, "");
    (void)tui_put(grid, row, 1, grid->cols - 1, TUI_BAR, keys);
    tui_ink_cells(grid, row, 0, grid->cols, TUI_BAR);
    tui_zone_hints(grid, row, 1, grid->cols - 1, keys);
}

/* A title, a text that scrolls where it must, the keys that answer. */
static void draw_question(struct tui_state *state, struct tui_grid *grid, const char *title,
                          const char *text)
{
    const char *keys = tui_question_keys(state);
    int columns = grid->cols < 72 ? grid->cols - 4 : 68, inner = columns - 4, row, col;
    int lines = tui_lines(grid, 0, 0, 0, inner, 0, text);
    int most = grid->rows - 6;
    lines = lines > most ? most : lines;
    open_box(grid, lines + 5, columns, &row, &col);
    (void)tui_put_short(grid, row, col, inner, TUI_BOLD, title);
    draw_scrolled(state, grid, row + 1, col, lines, inner, text);
    (void)tui_put(grid, row + 2 + lines, col, inner, TUI_BOLD, keys);
    grid->zone_count = 0; /* what lies below is not for now */
    tui_zone_hints(grid, row + 2 + lines, col, inner, keys);
}

static void draw_help(struct tui_state *state, struct tui_grid *grid)
{
    int columns = grid->cols < 64 ? grid->cols - 4 : 60, inner = columns - 4, row, col;
    struct tl_buf text = TL_BUF_INIT;
    tui_help_text(state, &text);
    int lines = tui_lines(grid, 0, 0, 0, inner, 0, tl_buf_text(&text));
    int most = grid->rows - 5;
    lines = lines > most ? most : lines;
    open_box(grid, lines + 3, columns, &row, &col);
    grid->zone_count = 0; /* a click closes it */
    draw_scrolled(state, grid, row, col, lines, inner, tl_buf_text(&text));
    (void)tui_put(grid, row + lines, col, inner - 16, TUI_BOLD, "any other key closes");
    tl_buf_finish(&text);
}

void tui_send_text(const struct tui_state *state, char *ret_title, size_t title_size,
                   char *ret_text, size_t size)
{
    const struct tui_export *leaving = &state->leaving;
    const struct tui_target *target = &leaving->targets[leaving->to ? leaving->to - 1 : 0];
    size_t masked = tui_masked_count(leaving);
    char masks[80];
    snprintf(ret_title, title_size, "Send this run to %.60s (%s)?", target->name, target->system);
    if (leaving->unmasked)
        snprintf(masks, sizeof masks, "Names and addresses leave as they are.");
    else
        snprintf(masks, sizeof masks, "%zu value%s masked.", masked, masked == 1 ? " is" : "s are");
    bool webhook = strcmp(target->system, "webhook") == 0;
    snprintf(ret_text, size, "%s%.60s%s%.200s gets what the preview shows. %s",
             webhook                  ? ""
             : leaving->comment_on[0] ? "Ticket "
                                      : "A new ticket",
             webhook ? "" : leaving->comment_on, webhook ? "" : " at ", target->url, masks);
}

static void draw_send(struct tui_state *state, struct tui_grid *grid)
{
    char title[160], text[600];
    tui_send_text(state, title, sizeof title, text, sizeof text);
    draw_question(state, grid, title, text);
}

const char *tui_consent_text(const struct tui_state *state, char *ret_text, size_t size)
{
    const struct tui_progress_state *run = &state->run;
    if (tui_is_first_question(state) && run->verifying) {
        snprintf(ret_text, size,
                 "This connects to %.253s and measures the transfer again with the fix in "
                 "tightlink's own connections; no setting is changed. %s",
                 state->title, run->consent_text);
        return "Connect and try the fix?";
    }
    if (tui_is_first_question(state) && state->watch.diagnosing) {
        const char *peer = tui_watch_peer(state, &state->watch.open), *port = strrchr(peer, ':');
        snprintf(ret_text, size,
                 "This connects to %.*s, where tightlink serve has to run, and tests the %s. The "
                 "transfer that you watch goes on and shares the way. %s",
                 port ? (int)(port - peer) : 80, peer,
                 tl_direction_name(state->watch.open.direction), run->consent_text);
        return "Diagnose the way to it?";
    }
    snprintf(ret_text, size, "%s", run->consent_text);
    return "Load the path?";
}

/* One question for all that is begun: what is done, what it sends at most. */
static void draw_consent(struct tui_state *state, struct tui_grid *grid)
{
    char text[900];
    const char *title = tui_consent_text(state, text, sizeof text);
    draw_question(state, grid, title, text);
}

void tui_capture_text(const struct tui_state *state, char *ret_text, size_t size)
{
    snprintf(ret_text, size,
             "The headers of the connection with %.80s go into a file here for %d s, %d MB at "
             "most. What is transferred is left out; addresses and ports are in it.",
             tui_watch_peer(state, &state->watch.open), TUI_CAPTURE_S, TUI_CAPTURE_MB);
}

static void draw_capture(struct tui_state *state, struct tui_grid *grid)
{
    char text[600];
    tui_capture_text(state, text, sizeof text);
    draw_question(state, grid, "Capture this transfer?", text);
}

void tui_add_copied(const struct tui_state *state, struct tl_buf *out)
{
    const struct tl_finding *finding = tui_finding_in_view(state);
    struct tl_buf says = TL_BUF_INIT;
    tl_buf_adds(out, state->copied);
    if (finding && state->remedy < finding->remedy_count)
        tl_report_to_fill_in(&state->result->run, &finding->remedies[state->remedy], &says);
    if (says.len)
        tl_buf_addf(out, "\n\n%s", tl_buf_text(&says));
    tl_buf_finish(&says);
}

static void draw_copied(struct tui_state *state, struct tui_grid *grid)
{
    const struct tl_finding *finding = tui_finding_in_view(state);
    size_t count = finding ? finding->remedy_count : 0;
    char title[96];
    struct tl_buf text = TL_BUF_INIT;
    snprintf(title, sizeof title, "Sent to the clipboard: fix %zu of %zu", state->remedy + 1,
             count);
    tui_add_copied(state, &text);
    draw_question(state, grid, title, tl_buf_text(&text));
    tl_buf_finish(&text);
}

void tui_view_overlay(struct tui_state *state, struct tui_grid *grid)
{
    switch (state->overlay) {
    case TUI_HELP:
        draw_help(state, grid);
        break;
    case TUI_CONSENT:
        draw_consent(state, grid);
        break;
    case TUI_ASK_STOP:
        draw_question(state, grid, "A diagnosis is running.",
                      "Stop it and keep what was measured? The verdict says how far that goes.");
        break;
    case TUI_ASK_CAPTURE:
        draw_capture(state, grid);
        break;
    case TUI_ASK_DELETE:
        draw_question(state, grid, "Delete this run from the history?",
                      "Its note and tags go with it. A file that was saved of it stays.");
        break;
    case TUI_ASK_SEND:
        draw_send(state, grid);
        break;
    case TUI_ASK_MORE:
        draw_question(state, grid, "More than you agreed to.",
                      "The new budget is larger than the one the run began with; others on the "
                      "same path may notice for longer.");
        break;
    case TUI_COPIED:
        draw_copied(state, grid);
        break;
    case TUI_NO_OVERLAY:
        return;
    }
    draw_answers(state, grid);
}
