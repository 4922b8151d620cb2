/* Handing a run on: in which form, what is masked, and word for word what would leave. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "tightlink/base/units.h"
#include "tightlink/present/report.h"
#include "view.h"

/* Below so many columns the same is said in fewer words. */
#define NARROW 78
/* Of a sentence about a sending. */
#define ANSWER_ROWS 3

static void draw_formats(const struct tui_export *leaving, struct tui_grid *grid, int row)
{
    bool narrow = grid->cols < NARROW;
    int col = narrow ? 4 : 11;
    (void)tui_put(grid, row, 1, 10, TUI_PLAIN, "As");
    for (int i = 0; i < TL_EXPORT_FORMAT_COUNT; i++) {
        bool here = i == (int)leaving->format;
        col += tui_putf(grid, row, col, grid->cols - col, here ? TUI_FOCUS : TUI_PLAIN, "(%c) %s",
                        here ? 'x' : ' ', tl_export_format_name((enum tl_export_format)i)) +
               (narrow ? 1 : 2);
    }
}

static void draw_privacy(const struct tui_export *leaving, struct tui_grid *grid, int row)
{
    size_t masked = tui_masked_count(leaving);
    (void)tui_put(grid, row, 1, 10, TUI_PLAIN, "Privacy");
    if (leaving->unmasked)
        (void)tui_put(grid, row, 11, grid->cols - 12, TUI_BAD,
                      grid->cols < NARROW
                          ? "[ ] names leave as they are (m masks them)"
                          : "[ ] names and addresses leave as they are (m masks them)");
    else
        (void)tui_putf(
            grid, row, 11, grid->cols - 12, TUI_GOOD,
            grid->cols < NARROW
                ? "[x] names: %zu value%s masked (M lists them)"
                : "[x] hosts, addresses, users, paths: %zu value%s masked (M lists them)",
            masked, masked == 1 ? "" : "s");
}

/* "To  (x) file, clipboard  ( ) helpdesk: rt", the chosen one always among them. */
static void draw_targets(const struct tui_export *leaving, struct tui_grid *grid, int row)
{
    (void)tui_put(grid, row, 1, 10, TUI_PLAIN, "To");
    int col = 11, first = leaving->to > 1 ? leaving->to - 1 : 0;
    for (int i = first; i <= leaving->target_count && col < grid->cols - 8; i++) {
        bool here = i == leaving->to;
        const struct tui_target *target = &leaving->targets[i ? i - 1 : 0];
        char text[120] = "file, clipboard";
        if (i)
            snprintf(text, sizeof text, "%s: %s", target->name, target->system);
        col += tui_putf(grid, row, col, 4, here ? TUI_FOCUS : TUI_PLAIN, "(%c) ", here ? 'x' : ' ');
        col += 2 + tui_put_short(grid, row, col, grid->cols - col - 1, here ? TUI_FOCUS : TUI_PLAIN,
                                 text);
    }
    if (!leaving->target_count)
        (void)tui_put_short(grid, row, col, grid->cols - col - 1, TUI_DIM,
                            leaving->no_targets[0] ? leaving->no_targets
                            : grid->cols < NARROW  ? "tickets: t tells how"
                                                   : "tickets: tightlink config --example");
}

/* What becomes of it there. Returns the rows used. */
static int draw_action(const struct tui_export *leaving, bool webhook, struct tui_grid *grid,
                       int row)
{
    const char *text = webhook ? "one request; this run was not sent there before"
                               : "a new ticket; this run was not sent there before";
    char line[160];
    enum tui_ink ink = TUI_PLAIN;
    if (leaving->answer[0]) {
        text = leaving->answer;
        ink = leaving->answered_well ? TUI_GOOD : TUI_BAD;
    } else if (leaving->sending) {
        text = "on its way ...";
        ink = TUI_BOLD;
    } else if (leaving->comment_on[0] || leaving->earlier[0]) {
        snprintf(line, sizeof line,
                 leaving->comment_on[0] ? "add to ticket %.63s (# changes it)"
                                        : "none: this run was sent there before, as %.63s",
                 leaving->comment_on[0] ? leaving->comment_on : leaving->earlier);
        text = line;
        ink = TUI_BOLD;
    }
    (void)tui_put(grid, row, 1, 10, TUI_PLAIN, "Action");
    int used = tui_wrap(grid, row, 11, ANSWER_ROWS, grid->cols - 12, ink, text);
    return used < ANSWER_ROWS ? used : ANSWER_ROWS;
}

/* What a ticket system gets besides the text. Returns the rows used. */
static int draw_ticket(const struct tui_export *leaving, struct tui_grid *grid, int row)
{
    const struct tui_target *target = &leaving->targets[leaving->to - 1];
    bool webhook = strcmp(target->system, "webhook") == 0;
    char json[TL_UNIT_TEXT_SIZE], html[TL_UNIT_TEXT_SIZE], text[120];
    tl_format_traffic((double)leaving->json_len, json);
    tl_format_traffic((double)leaving->html_len, html);
    if (webhook)
        snprintf(text, sizeof text, "findings.json %s, signed", json);
    else
        snprintf(text, sizeof text, "findings.json %s, report.html %s", json, html);
    (void)tui_put(grid, row, 1, 10, TUI_PLAIN, webhook ? "Send" : "Attach");
    (void)tui_put(grid, row, 11, grid->cols - 12, TUI_PLAIN, text);
    return 1 + draw_action(leaving, webhook, grid, row + 1);
}

void tui_view_export(struct tui_state *state, struct tui_grid *grid, int first, int last)
{
    struct tui_export *leaving = &state->leaving;
    const struct tl_session_result *result = state->result;
    char bytes[TL_UNIT_TEXT_SIZE], when[32];
    if (!result)
        return;
    (void)tui_putf(grid, first, 1, grid->cols - 2, TUI_BOLD, "Run %.26s, %s", result->run.id,
                   tl_report_minute(result->run.started, when));
    tui_rule(grid, first + 1);
    draw_targets(leaving, grid, first + 2);
    int head = first + 4;
    if (leaving->to)
        head = first + 3 + draw_ticket(leaving, grid, first + 3);
    else
        draw_formats(leaving, grid, first + 3);
    draw_privacy(leaving, grid, head++);
    int row = head + 1, rows = last - row;
    tui_rule(grid, head);
    (void)tui_putf(grid, head, 1, grid->cols - 12, TUI_BOLD, " This is what leaves: %s ",
                   leaving->text ? tl_format_traffic((double)leaving->len, bytes) : "nothing");
    leaving->shown = rows;
    leaving->total = 0;
    if (!leaving->text || rows < 1)
        return;
    char *cut = NULL;
    if (leaving->len > TUI_PREVIEW_MAX)
        cut = strndup(leaving->text, TUI_PREVIEW_MAX);
    const char *text = cut ? cut : leaving->text;
    leaving->total = tui_lines(grid, row, 0, 0, grid->cols, 0, text);
    int lowest = leaving->total > rows ? leaving->total - rows : 0;
    leaving->scroll = leaving->scroll > lowest ? lowest : leaving->scroll;
    (void)tui_lines(grid, row, 0, rows, grid->cols, leaving->scroll, text);
    if (leaving->scroll < lowest)
        tui_put_right(grid, head, 0, grid->cols, TUI_DIM, grid->utf8 ? " ↓ more " : " v more ");
    free(cut);
}
