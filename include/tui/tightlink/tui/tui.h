/* The screen: start, run, verdict and path, on a terminal.
 *
 * One thread: the caller's. It owns the terminal from tl_tui_run() to its return, and starts
 * and drives sessions itself. Nothing else of the program may write to the terminal then. The
 * terminal is restored whatever ends the screen, a crash included; what was found is the
 * caller's to print afterwards, so that it stays in the scrollback. */
#ifndef TL_TUI_TUI_H
#define TL_TUI_TUI_H

#include <stdbool.h>

#include "tightlink/app/live.h"
#include "tightlink/app/pcap.h"
#include "tightlink/base/key.h"
#include "tightlink/base/status.h"
#include "tightlink/rules/findings.h"
#include "tightlink/session/session.h"

enum tl_tui_color { TL_TUI_COLOR_AUTO, TL_TUI_COLOR_ALWAYS, TL_TUI_COLOR_NEVER };

struct tl_tui_request {
    /* What the start screen begins with; host may be NULL or "". The user may change host,
     * direction, goal, budget and stages. Borrowed, with all it points to. */
    const struct tl_session_config *config;
    const struct tl_keys *keys; /* to choose from on the start screen; NULL without; borrowed */
    bool consented;             /* --yes: load the path to config->host without the question */
    enum tl_tui_color color;    /* AUTO honours NO_COLOR */
    bool utf8;                  /* the locale shows more than ASCII */
    bool mouse;                 /* take the mouse too, where the terminal has one */
    bool keep;                  /* runs go into the history */
    bool start;                 /* a demo: begin at once, without the start screen, also later */
    /* A saved run to look at instead: no start screen, no session. The screen ends with this
     * result as it was given. NULL without. */
    const struct tl_session_result *saved;
    /* Begins with the transfers that run now, as this watch sees them; borrowed, and the screen
     * alone steps it. NULL: the start screen, which begins a watch of its own when asked to. */
    struct tl_app_live *live;
    /* Begins with the connections of this capture; borrowed, and the screen alone asks it. NULL
     * without. */
    struct tl_app_pcap *pcap;
    /* The program that captures headers (tightlink-capture), "" or NULL without one. */
    const char *capture_program;
};

/* Whether this program was built with the screen, and standard input and output are a
 * terminal that can show it: TERM is known here, or like one that is (xterm-kitty is like
 * xterm-256color); not "dumb". */
bool tl_tui_is_possible(void);
/* Why not, where they are a terminal all the same: a sentence, or "". */
const char *tl_tui_why_not(void);

/* The type that terminfo shall be asked for: TERM where it is known, else the one that it is like
 * (xterm-256color for xterm-kitty); NULL where TERM is not set, "dumb", or like none. Static. */
const char *tl_tui_terminal_type(void);

/* Shows the screen until the user quits or a signal ends it. *ret_has_result tells whether a
 * diagnosis ran; then *ret_result is the caller's, as of tl_session_finish(). A signal (TERM,
 * HUP) stops a running diagnosis, keeps what it has and makes its status TL_CANCELLED.
 * TL_UNSUPPORTED where the terminal cannot be used, TL_NOMEM, TL_IO. */
enum tl_status tl_tui_run(const struct tl_tui_request *request,
                          struct tl_session_result *ret_result, bool *ret_has_result,
                          struct tl_error *reterr) TL_WARN_UNUSED;

#endif
