/* The loop's own state, shared by screen.c (what comes in) and actions.c (what is asked for).
 * Private to them; main thread only. */
#ifndef TL_TUI_SCREEN_H
#define TL_TUI_SCREEN_H

#include "grid.h"
#include "lookup.h"
#include "state.h"
#include "tightlink/tui/tui.h"

struct screen {
    const struct tl_tui_request *request;
    struct tui_state state;
    struct tui_grid grids[2]; /* the one shown and the next */
    int painted;              /* the one shown; -1: nothing yet, or not to be trusted */
    struct tl_session *session;
    struct tl_session_result result; /* of the diagnosis that ran last, where has_result */
    struct tl_session_result shown;  /* what the state shows: the same, or the saved one; its
                                        pointers are borrowed, its run has what was verified */
    bool verifying;                  /* the session only tries a remedy */
    bool agreed;                     /* --yes holds for the session's far end */
    bool has_result, quit, interrupted, dirty;
    struct tui_lookup *lookup;
    struct tl_history *history;       /* NULL until it is needed */
    struct tl_history_list list;      /* what its screen shows */
    struct tl_comparison *comparison; /* likewise; owned */
    struct tl_session_result opened;  /* a run out of the history; owned */
    struct tl_buf preview;            /* what would leave */
    struct tl_redactor *redactor;
    struct handover *handover; /* of handover.c; NULL until it is needed */
    struct tl_buf requests;    /* of a sending, as commands */
    bool look_again;           /* asked for while one was on its way */
    struct watcher *watcher;   /* of actions_watch.c; NULL until transfers are watched */
    struct unpacked *unpacked; /* of actions_packets.c; NULL without a capture */
    int signal_fd;
    int64_t painted_ns;
};

/* Begins a diagnosis as the start screen asks for it; or says why not. */
void screen_start_session(struct screen *screen);
/* Does what a key asked for: enum tui_action flags. */
void screen_act(struct screen *screen, unsigned actions);
/* What a run would cost, for the start screen: asks, and takes the answer. */
void screen_look_up(struct screen *screen);
void screen_take_lookup(struct screen *screen);
/* The same for the history and export screens; what they hold; a run that has ended. */
void screen_act_on_store(struct screen *screen, unsigned actions);
void screen_finish_store(struct screen *screen);
/* Into the history, where runs are kept. */
void screen_keep(struct screen *screen, const struct tl_session_result *result);
/* The far ends of the newest runs, for the start screen. */
void screen_list_recent(struct screen *screen);
void screen_forget_opened(struct screen *screen);
/* The masks of the preview with their values stay here, for the user's own eyes; *ret_text says
 * where: "; what the masks stand for: PATH", or nothing. */
void screen_keep_masks(struct screen *screen, char *ret_text, size_t size);
/* What others transferred, judged, as the run that is shown; the screen owns it from now on. */
void screen_show_judged(struct screen *screen, const struct tl_session_result *result);
/* Transfers that run: what keys ask for, the steps, and the end. */
void screen_act_on_watch(struct screen *screen, unsigned actions);
/* Milliseconds until screen_step_watch() has something to do; -1: never. */
int screen_watch_wait(const struct screen *screen);
void screen_step_watch(struct screen *screen);
/* Readable while a capture ends; -1 without one. */
int screen_capture_fd(const struct screen *screen);
void screen_take_capture(struct screen *screen);
void screen_finish_watch(struct screen *screen);
/* Connections of a capture: the screen of them, what keys ask for, the next rows to judge (-1 ms:
 * none), and the end. */
void screen_open_packets(struct screen *screen);
void screen_act_on_packets(struct screen *screen, unsigned actions);
int screen_packets_wait(const struct screen *screen);
void screen_step_packets(struct screen *screen);
void screen_finish_packets(struct screen *screen);
/* The session has said that it is done, or was stopped: takes its result over. */
void screen_end_session(struct screen *screen);

#endif
