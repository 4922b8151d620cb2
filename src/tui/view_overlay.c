/* What lies over a screen: help, questions, the text that was copied. */
#include <stdio.h>
#include <string.h>

#include "lines.h"
#include "view.h"
#include "watch.h"
#include "zones.h"

/* Lines of at most 54 columns, and few enough for 15 rows. */
static const char everywhere[] = "F10, q      leave (q where no text is typed)\n"
                                 "Esc         back; a filter or marks go first\n"
                                 "1 to 7      start run verdict path history export live\n"
                                 "^C          stop a run and keep what it has; else leave\n"
                                 "Marks       (!) limits  ok  -- not tested\n"
                                 "            (?) cannot tell  (x) failed\n\n";
static const char *const help_texts[] = {
    [TUI_START] = "Enter       start; nothing loads before you agree\n"
                  "Tab, arrows next field, next stage\n"
                  "Space       change; leave out a stage, or ask for it\n"
                  "^N  ^K      a host of an earlier run; a key or none\n"
                  "^W  w       transfers that run now (w: outside of text)\n"
                  "^Z, ^L      to the shell; draw everything anew",
    [TUI_RUN] = "p  z        pause after this stage; picture stands still\n"
                "n  r        next stage (skip this one); redo the selected\n"
                "d           another budget of data, time or both\n"
                "up, down    select a stage; Enter shows its samples",
    [TUI_VERDICT] = "y  v        copy the fix (again: the next); try it\n"
                    "x  Enter    in plain words; for an engineer\n"
                    "e  t  s     export; to a ticket system; save the run\n"
                    "n  w        next cause found; why not the others\n"
                    "l i f o     go to ladder, evidence, fix, the others\n"
                    "arrows, PgUp, PgDn, g, G    scroll",
    [TUI_PATH] = "up, down    select a router; Enter shows all of it\n"
                 "g  o        graph of round trips; ways of other flows\n"
                 "m           mask names and addresses\n"
                 "/           filter by name, address or note",
    [TUI_HISTORY] = "up, down    select a run; Enter opens it, judged anew\n"
                    "a  b        mark two runs and compare them\n"
                    "<  >  s     scroll the comparison; save it, masked\n"
                    "g  /        its rates over time; filter\n"
                    "N  T        note and tag of the selected run\n"
                    "D           delete it, after a question",
    [TUI_EXPORT] = "left, right form: text, JSON ...\n"
                   "m  M        mask names and addresses; list the masks\n"
                   "t           to: file and clipboard, or a ticket system\n"
                   "Enter  c    send, after a question; add to a ticket\n"
                   "P           what is sent, as commands for curl\n"
                   "s  y        save a file; copy to the clipboard\n"
                   "arrows      scroll what would leave, word for word",
    [TUI_WATCH] = "up, down    select a transfer; Enter: over time\n"
                  "            Enter again: its verdict, fixes, why not\n"
                  "r  c        diagnose the way to it; capture headers\n"
                  "e  m        export its verdict; mask names\n"
                  "z  /        picture stands still; filter\n"
                  "<  >        the cursor, ten seconds at once",
};

/* Frames a place in the middle; returns its first inner row and column. */
static void open_box(struct tui_grid *grid, int rows, int columns, int *ret_row, int *ret_col)
{
    int row = (grid->rows - rows) / 2, col = (grid->cols - columns) / 2;
    tui_box(grid, row, col, rows, columns);
    *ret_row = row + 1;
    *ret_col = col + 2;
}

static void draw_question(struct tui_grid *grid, const char *title, const char *text,
                          const char *keys)
{
    int columns = grid->cols < 72 ? grid->cols - 4 : 68, inner = columns - 4, row, col;
    int lines = tui_wrap(grid, 0, 0, 0, inner, TUI_PLAIN, text);
    int most = grid->rows - 6;
    lines = lines > most ? most : lines;
    open_box(grid, lines + 5, columns, &row, &col);
    (void)tui_put(grid, row, col, inner, TUI_BOLD, title);
    (void)tui_wrap(grid, row + 1, col, lines, inner, TUI_PLAIN, text);
    (void)tui_put(grid, row + 2 + lines, col, inner, TUI_BOLD, keys);
    grid->zone_count = 0; /* what lies below is not for now */
    tui_zone_hints(grid, row + 2 + lines, col, inner, keys);
}

static void draw_help(const struct tui_state *state, struct tui_grid *grid)
{
    int columns = 60, inner = columns - 4, row, col;
    int above = tui_lines(grid, 0, 0, 0, inner, 0, everywhere);
    int below = tui_lines(grid, 0, 0, 0, inner, 0, help_texts[state->screen]);
    int most = grid->rows - 2, lines = above + below > most ? most : above + below;
    open_box(grid, lines + 2, columns, &row, &col);
    grid->zone_count = 0; /* a click closes it */
    (void)tui_lines(grid, row, col, lines, inner, 0, everywhere);
    (void)tui_lines(grid, row + above, col, lines - above, inner, 0, help_texts[state->screen]);
}

static void draw_send(const struct tui_state *state, struct tui_grid *grid)
{
    const struct tui_export *leaving = &state->leaving;
    const struct tui_target *target = &leaving->targets[leaving->to ? leaving->to - 1 : 0];
    char title[160], text[600], masks[80];
    snprintf(title, sizeof title, "Send this run to %.60s (%s)?", target->name, target->system);
    if (leaving->unmasked)
        snprintf(masks, sizeof masks, "Names and addresses leave as they are.");
    else
        snprintf(masks, sizeof masks, "%zu values are masked.",
                 leaving->redactor ? tl_redactor_count(leaving->redactor) : 0);
    bool webhook = strcmp(target->system, "webhook") == 0;
    snprintf(text, sizeof text, "%s%.60s%s%.200s gets what the preview shows. %s",
             webhook                  ? ""
             : leaving->comment_on[0] ? "Ticket "
                                      : "A new ticket",
             webhook ? "" : leaving->comment_on, webhook ? "" : " at ", target->url, masks);
    draw_question(grid, title, text, "y send      n do not");
}

static void draw_try(const struct tui_state *state, struct tui_grid *grid)
{
    char text[600];
    snprintf(text, sizeof text,
             "This run was kept; nothing has been sent. Trying its fix connects to %.253s and "
             "measures the transfer again with the fix in tightlink's own connections. No setting "
             "is changed. How much it loads is asked before it does.",
             state->title);
    draw_question(grid, "Connect and try the fix?", text, "y connect      n do not");
}

static void draw_diagnose(const struct tui_state *state, struct tui_grid *grid)
{
    char text[600];
    const char *peer = tui_watch_peer(state, &state->watch.open), *port = strrchr(peer, ':');
    snprintf(text, sizeof text,
             "This connects to %.*s, where tightlink serve has to run, and tests the %s. The "
             "transfer that you watch goes on and shares the way. How much it loads is asked "
             "before it does.",
             port ? (int)(port - peer) : 80, peer, tl_direction_name(state->watch.open.direction));
    draw_question(grid, "Diagnose the way to it?", text, "y connect      n do not");
}

static void draw_capture(const struct tui_state *state, struct tui_grid *grid)
{
    char text[600];
    snprintf(text, sizeof text,
             "The headers of the connection with %.80s go into a file here for %d s, %d MB at "
             "most. What is transferred is left out; addresses and ports are in it.",
             tui_watch_peer(state, &state->watch.open), TUI_CAPTURE_S, TUI_CAPTURE_MB);
    draw_question(grid, "Capture this transfer?", text, "y capture      n do not");
}

void tui_view_overlay(struct tui_state *state, struct tui_grid *grid)
{
    const struct tl_finding *finding = tui_state_finding(state);
    char title[96];
    switch (state->overlay) {
    case TUI_HELP:
        draw_help(state, grid);
        break;
    case TUI_CONSENT:
        draw_question(grid, "Load the path?", state->run.consent_text,
                      "y go on      n end here, with what is known");
        break;
    case TUI_ASK_STOP:
        draw_question(grid, "A diagnosis is running.",
                      "Stop it and keep what was measured? The verdict says how far that goes.",
                      "y stop and keep      n go on");
        break;
    case TUI_ASK_TRY:
        draw_try(state, grid);
        break;
    case TUI_ASK_DIAGNOSE:
        draw_diagnose(state, grid);
        break;
    case TUI_ASK_CAPTURE:
        draw_capture(state, grid);
        break;
    case TUI_ASK_DELETE:
        draw_question(grid, "Delete this run from the history?",
                      "Its note and tags go with it. A file that was saved of it stays.",
                      "y delete      n keep it");
        break;
    case TUI_ASK_SEND:
        draw_send(state, grid);
        break;
    case TUI_ASK_MORE:
        draw_question(grid, "More than you agreed to.",
                      "The new budget is larger than the one the run began with; others on the "
                      "same path may notice for longer.",
                      "y take it      n keep the old one");
        break;
    case TUI_COPIED:
        snprintf(title, sizeof title, "Sent to the clipboard: fix %zu of %zu", state->remedy + 1,
                 finding ? finding->remedy_count : 0);
        draw_question(
            grid, title, state->copied,
            "y the next one      any other key closes (OSC 52: not all terminals take it)");
        break;
    case TUI_NO_OVERLAY:
        break;
    }
}
