/* What the screen knows: fed by session events and keys, read by views. No terminal, no
 * session, no clock in here: what has to be done comes back as flags, and the loop does it.
 *
 *   START --Enter--> RUN --done--> VERDICT <--keys--> PATH
 *     ^------------- new run (number keys) ----------/   */
#ifndef TL_TUI_STATE_H
#define TL_TUI_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/app/live.h"
#include "tightlink/app/pcap.h"
#include "tightlink/present/formats.h"
#include "tightlink/present/report.h"
#include "tightlink/session/session.h"
#include "tightlink/store/compare.h"
#include "tightlink/store/history.h"

/* Keys, whatever the terminal sends for them; characters are themselves. */
enum tui_key {
    TUI_KEY_NONE = 0,
    TUI_KEY_TAB = '\t',
    TUI_KEY_ENTER = '\n',
    TUI_KEY_ESCAPE = 27,
    TUI_KEY_UP = 0x110000, /* above Unicode */
    TUI_KEY_DOWN,
    TUI_KEY_LEFT,
    TUI_KEY_RIGHT,
    TUI_KEY_PAGE_UP,
    TUI_KEY_PAGE_DOWN,
    TUI_KEY_HOME,
    TUI_KEY_END,
    TUI_KEY_BACKSPACE,
    TUI_KEY_BACK_TAB,
    TUI_KEY_INTERRUPT, /* ^C */
    TUI_KEY_HELP,      /* F1 */
    TUI_KEY_QUIT,      /* F10 */
    /* The mouse, for tui_state_click() and tui_state_wheel(): no keys for the state. */
    TUI_KEY_CLICK,
    TUI_KEY_WHEEL_UP,
    TUI_KEY_WHEEL_DOWN,
};

/* What a key asks of the loop. */
enum tui_action {
    TUI_DO_NOTHING = 0,
    TUI_DO_LOOK_UP = 1 << 0, /* what a run would cost: the target or a toggle changed */
    TUI_DO_START = 1 << 1,
    TUI_DO_CONSENT = 1 << 2,
    TUI_DO_REFUSE = 1 << 3,
    TUI_DO_STOP = 1 << 4, /* and keep */
    TUI_DO_PAUSE = 1 << 5,
    TUI_DO_RESUME = 1 << 6,
    TUI_DO_SKIP = 1 << 7,
    TUI_DO_REDO = 1 << 8, /* the selected stage */
    TUI_DO_COPY = 1 << 9,
    TUI_DO_SAVE = 1 << 10,
    TUI_DO_QUIT = 1 << 11,
    TUI_DO_REDRAW = 1 << 12,  /* everything, ^L */
    TUI_DO_VERIFY = 1 << 13,  /* try the verdict's remedy */
    TUI_DO_BUDGET = 1 << 14,  /* state.run.new_ns and new_bytes for the running session */
    TUI_DO_LIST = 1 << 15,    /* the history, as state.history.filter leaves it */
    TUI_DO_OPEN = 1 << 16,    /* the selected run of it */
    TUI_DO_COMPARE = 1 << 17, /* runs a and b */
    TUI_DO_NOTE = 1 << 18,    /* prompt_text for the selected run */
    TUI_DO_TAG = 1 << 19,     /* likewise; "-tag" takes it away */
    TUI_DO_DELETE = 1 << 20,
    TUI_DO_PREVIEW = 1 << 21, /* what would leave, as state.leaving wants it */
    TUI_DO_WRITE = 1 << 22,   /* that, into a file */
    TUI_DO_CLIP = 1 << 23,    /* that, onto the clipboard */
    TUI_DO_SEND = 1 << 24,    /* that, to the chosen ticket system */
    TUI_DO_TICKET = 1 << 26,  /* the first ticket system is chosen */
    TUI_DO_PAIR = 1 << 27,    /* the comparison of a and b, into a file */
    TUI_DO_CURL = 1 << 25,    /* the requests of that as commands */
    TUI_DO_WATCH = 1 << 28,   /* transfers that run now, from now on */
    TUI_DO_JUDGE = 1 << 29,   /* the whole verdict of tui_watch_row(), or of tui_packets_row() on
                                 their screen, as the run that is shown */
    TUI_DO_CAPTURE = 1 << 30, /* its headers, into a file */
};

enum tui_screen {
    TUI_START = 1,
    TUI_RUN,
    TUI_VERDICT,
    TUI_PATH,
    TUI_HISTORY,
    TUI_EXPORT,
    TUI_WATCH,   /* transfers of other programs */
    TUI_PACKETS, /* connections of a capture */
};
enum tui_overlay {
    TUI_NO_OVERLAY,
    TUI_HELP,
    TUI_CONSENT,
    TUI_ASK_STOP,
    TUI_ASK_MORE, /* a larger budget than was agreed to */
    TUI_ASK_DELETE,
    TUI_ASK_SEND,
    TUI_ASK_CAPTURE,
    TUI_COPIED
};

/* One line of text that is asked for at the foot of the screen. */
enum tui_prompt {
    TUI_NO_PROMPT,
    TUI_ASK_FILTER,
    TUI_ASK_BUDGET,
    TUI_ASK_NOTE,
    TUI_ASK_TAG,
    TUI_ASK_COMMENT_ON, /* a ticket's number; empty: a new one */
};

/* A page over a screen: one thing in detail. Esc goes back to where it was opened. */
enum tui_page {
    TUI_NO_PAGE,
    TUI_PAGE_SIMPLE,   /* the verdict in plain words */
    TUI_PAGE_ENGINEER, /* the trace of the judgement */
    TUI_PAGE_CAUSES,   /* a list: every cause that is not the verdict */
    TUI_PAGE_CAUSE,    /* why one of them is not; index: of the finding */
    TUI_PAGE_FINDING,  /* one that was found: evidence and remedies; index likewise */
    TUI_PAGE_HOP,      /* index: of run.hops */
    TUI_PAGE_STAGE,    /* index: of state.run.stages; its samples with a cursor */
    TUI_PAGE_VERIFY,   /* prediction against result */
    TUI_PAGE_MASKS,    /* what an export masks, and by what */
    TUI_PAGE_CURL,     /* a sending as commands */
    TUI_PAGE_WATCH,    /* one transfer that runs, over time; index: none */
    TUI_PAGE_PACKETS,  /* one connection of a capture, over time; index: none */
};
struct tui_page_state {
    enum tui_page kind, back; /* back: what Esc shows; TUI_NO_PAGE: the screen */
    size_t index;
    int scroll, total, shown; /* rows; the last two are set by the view */
    int cursor;               /* on a stage's samples; -1: the newest */
};

/* A list with a selected row and a filter. */
#define TUI_FILTER_SIZE 64
struct tui_list {
    int selected;
    char filter[TUI_FILTER_SIZE];
};

/* --- start screen --- */

enum tui_field { TUI_TARGET, TUI_DIRECTION, TUI_GOAL, TUI_BUDGET, TUI_STAGES };
#define TUI_TEXT_SIZE  254 /* the longest host name */
#define TUI_RECENT_MAX 4
#define TUI_KEYS_MAX   16

struct tui_start {
    enum tui_field field;
    char target[TUI_TEXT_SIZE], goal[TUI_TEXT_SIZE], budget[TUI_TEXT_SIZE];
    bool download, upload;
    uint32_t skip, force; /* as in the session's configuration */
    bool verify;
    bool directory;              /* one was named for disk stages */
    char key[64];                /* the name of the key that is used; "": none */
    char keys[TUI_KEYS_MAX][64]; /* those there are to choose from */
    int key_count;
    char recent[TUI_RECENT_MAX][TUI_TEXT_SIZE]; /* far ends of earlier runs */
    int recent_count, recent_at;                /* the last counts from 1, 0: none taken yet */
    size_t stage;                               /* selected */
    bool has_preview, looking_up;
    struct tl_session_preview preview; /* where has_preview */
};

/* --- run screen --- */

/* Samples of a stage. When full every other one goes, so that the plot always shows the stage
 * from its beginning. */
#define TUI_SAMPLES_MAX 512
struct tui_samples {
    int count, stride, skipped;
    double at_ns[TUI_SAMPLES_MAX]; /* since the stage began */
    double rate_bps[TUI_SAMPLES_MAX], rtt_ns[TUI_SAMPLES_MAX], retrans[TUI_SAMPLES_MAX];
};

struct tui_stage {
    char id[24];
    bool has_direction;
    enum tl_direction direction;
    enum tl_event_stage_state state;
    double expected_ns;
    struct tl_stage_record record; /* where ended */
    char why[256];
    struct tui_samples samples;
};

#define TUI_STAGES_MAX (2 * TL_SESSION_STAGES_MAX)
struct tui_progress_state {
    bool active, stopping, paused;
    int64_t started_ns, now_ns; /* on the loop's clock */
    struct tui_stage stages[TUI_STAGES_MAX];
    int stage_count, selected;
    bool running;         /* a stage is */
    struct tl_event live; /* the last LIVE of the running stage */
    bool has_live;
    int sampled;              /* the stage whose samples are the newest; -1: none has any */
    bool frozen;              /* plots and numbers stand still while the run goes on */
    struct tui_samples still; /* what is shown then */
    struct tl_event still_live;
    bool verifying;            /* only the remedy of a verdict is tried */
    int64_t new_ns, new_bytes; /* with TUI_DO_BUDGET; 0: as it is */
    int64_t bytes;             /* moved by stages that ended */
    int64_t worst_bytes;
    bool worst_is_open; /* nobody knows what this PC's link carries */
    double worst_ns;    /* what was consented to; 0 before */
    char consent_text[256];
    char reading[256]; /* the verdict so far */
    char early[256];   /* of the running stage */
};

/* --- history and export screens --- */

/* The loop owns list and comparison; they change only between keys. */
struct tui_history {
    const struct tl_history_list *list; /* NULL: not asked for yet, or it cannot be read */
    char problem[256];                  /* why, and what else is wrong with the file */
    int selected;
    char filter[TUI_FILTER_SIZE];
    char a[TL_HISTORY_ID_SIZE], b[TL_HISTORY_ID_SIZE]; /* "" where not marked */
    const struct tl_comparison *comparison;            /* of a and b; NULL without */
    int scroll;                                        /* of the comparison */
    bool graph;
};

/* A ticket system of tightlink.conf. */
#define TUI_TARGETS_MAX 32
struct tui_target {
    char name[64], system[24], url[256];
};

/* What would leave this machine; the loop owns the text, the redactor and the requests. */
struct tui_export {
    struct tui_target targets[TUI_TARGETS_MAX];
    int target_count;
    char no_targets[256];      /* why there are none, where something is wrong */
    int to;                    /* 0: a file or the clipboard; else a target, from 1 */
    char comment_on[64];       /* the ticket to add to; "": a new one */
    char earlier[64];          /* the ticket that this run has there already */
    size_t json_len, html_len; /* of the attachments */
    const char *requests;      /* of TUI_PAGE_CURL */
    bool sending, warned;      /* warned: that leaving waits for the answer */
    bool answered_well;
    char answer[1024]; /* to the last sending */
    enum tl_export_format format;
    bool unmasked;
    const char *text; /* in that format; NULL without */
    size_t len;
    const struct tl_redactor *redactor; /* knows what was masked; NULL: nothing was */
    int scroll, total, shown;
};

/* Values that are masked in it. */
size_t tui_masked_count(const struct tui_export *leaving);

/* --- transfers that other programs run --- */

/* A capture from the screen: long enough for a plot and a verdict. */
#define TUI_CAPTURE_S  30
#define TUI_CAPTURE_MB 32

/* The loop owns the rows; they change only between keys (tui_watch_take()). */
struct tui_watch {
    bool on;           /* they are watched */
    char problem[256]; /* why not */
    const struct tl_app_live_row *rows;
    size_t count;
    struct tl_app_live_sum sum;
    struct tui_list list;             /* selected: of the rows as the filter leaves them */
    struct tl_app_live_row open;      /* of page or question; stays when the transfer has gone */
    struct tl_app_live_series series; /* of tui_watch_row(); count 0: none */
    bool frozen;
    bool export;         /* with TUI_DO_JUDGE: to be handed on */
    bool diagnosing;     /* the way to `open` is what a session was begun for */
    char moved[160];     /* the last cause that moved: whose, from what, to what */
    char capturing[128]; /* the file that headers go to; "" for none */
};

/* --- connections of a capture --- */

enum tui_packets_plot {
    TUI_PLOT_RATES,    /* throughput, data on the way with the window, round-trip time */
    TUI_PLOT_SEQUENCE, /* the time-sequence graph of Stevens: what was sent */
    TUI_PLOT_EDGES,    /* that of tcptrace: acknowledged, sent, and the window's edge */
    TUI_PLOTS
};

/* The loop owns rows and series; they change only between keys. */
struct tui_packets {
    char file[128];                     /* name, packets and connections; "" without a capture */
    char broken[256];                   /* where the file breaks; "" whole */
    const struct tl_app_pcap_row *rows; /* the largest, by payload */
    size_t count, total;                /* of them; of the capture */
    size_t judged;                      /* those before it are */
    bool by_held;                       /* sorted by held_ns, not by payload */
    struct tui_list list;               /* selected: of the rows as order and filter leave them */
    struct tl_app_pcap_row open;        /* of the page */
    const struct tl_app_pcap_series *series; /* of tui_packets_row(); NULL: not known */
    enum tui_packets_plot plot;
    int zoom;    /* the time shown is halved so often, around the cursor */
    bool export; /* with TUI_DO_JUDGE: to be handed on */
};

/* What lies over a screen scrolls where it does not fit. */
struct tui_box_state {
    int scroll, total, shown; /* rows; the last two are set by the view */
};

struct tui_state {
    enum tui_screen screen;
    enum tui_overlay overlay;
    struct tui_box_state box;  /* of the overlay */
    bool saved_only;           /* looking at a file: there is nothing to start */
    bool demo_only;            /* the path of a demo, which leads nowhere else */
    bool from_watch;           /* what is shown is a transfer that other programs run */
    bool from_packets;         /* or a connection of a capture */
    bool from_store;           /* what is shown was not measured by this program now */
    char title[TUI_TEXT_SIZE]; /* the far end */
    char message[300];         /* one sentence, until the next key */
    struct tui_start start;
    struct tui_progress_state run;
    const struct tl_session_result *result; /* borrowed from the loop; NULL without */
    int scroll, rows_total, rows_shown;     /* of the verdict; set by its view */
    /* First row of each report part, -1 where it has none; set by the view. */
    int jump[TL_PART_COUNT];
    size_t remedy; /* whose text y copies next */
    char copied[2048];
    struct tui_page_state page;
    struct tui_list causes, hops; /* of the page of causes and of the path */
    size_t next_cause;            /* how often n was pressed */
    bool private_names;           /* host names and addresses are hidden on the screen */
    bool hop_chart, flows;        /* on the path screen */
    struct tui_history history;
    struct tui_export leaving;
    struct tui_watch watch;
    struct tui_packets packets;
    enum tui_prompt prompt;
    char prompt_text[TUI_TEXT_SIZE];
};

void tui_state_init(struct tui_state *state, const struct tl_session_config *config);

/* A session begins at now_ns of the loop's clock. */
void tui_state_begin(struct tui_state *state, int64_t now_ns);
/* A session that only tries the remedy begins: the stages of the run stay. */
void tui_state_begin_trial(struct tui_state *state, int64_t now_ns);
/* Takes one event. DONE only ends the run; the loop then gives its result. */
void tui_state_event(struct tui_state *state, const struct tl_event *event);

/* The budget of a consent that is asked for, or was given before. */
void tui_state_agreed(struct tui_progress_state *run, const struct tl_event *event);
/* The result to show from now on; NULL forgets it. */
void tui_state_result(struct tui_state *state, const struct tl_session_result *result);
/* Another run comes to be shown: the stages of the last one go. */
void tui_state_forget_run(struct tui_state *state);
/* Whether the question that is asked is the one before anything is sent. */
bool tui_is_first_question(const struct tui_state *state);
/* A verification has ended: its records and sentence, on a page of their own. result is what is
 * shown, with the records in it. */
void tui_state_verified(struct tui_state *state, const struct tl_session_result *result);
/* Takes one key. Returns enum tui_action flags. */
unsigned tui_state_key(struct tui_state *state, int key);

struct tui_grid; /* grid.h */
/* Takes a click into a picture of this state, or a step of the wheel; likewise. */
unsigned tui_state_click(struct tui_state *state, const struct tui_grid *grid, int row, int col);
unsigned tui_state_wheel(struct tui_state *state, bool down);

/* One sentence on the message line. */
void tui_say(struct tui_state *state, const char *text);
unsigned tui_go_to(struct tui_state *state, enum tui_screen screen); /* or a message why not */
/* Opens a page over the screen, or over the page that is open. */
void tui_page_open(struct tui_state *state, enum tui_page kind, size_t index);

/* The rows of a list as its filter leaves them: indices of findings (those that are not the
 * verdict's, found ones first) and of hops. Return how many. */
#define TUI_LIST_MAX 512
size_t tui_list_causes(const struct tui_state *state, size_t ret_index[TUI_LIST_MAX]);
size_t tui_list_hops(const struct tui_state *state, size_t ret_index[TUI_LIST_MAX]);
/* The same of transfers that run. */
size_t tui_list_watched(const struct tui_state *state, size_t ret_index[TUI_LIST_MAX]);
/* The one that is looked at: of the open page, else the selected; NULL without. */
const struct tl_app_live_row *tui_watch_row(const struct tui_state *state);
/* New rows, in another order perhaps: the selected one stays selected. Borrowed. */
void tui_watch_take(struct tui_state *state, const struct tl_app_live_row *rows, size_t count,
                    const struct tl_app_live_sum *sum);
/* The same of a capture's connections, in the order that is wished. */
size_t tui_list_packets(const struct tui_state *state, size_t ret_index[TUI_LIST_MAX]);
const struct tl_app_pcap_row *tui_packets_row(const struct tui_state *state);
/* The finding that n shows after `pressed` times: found ones beside the verdict's, those with a
 * ceiling first. NULL where there are no more. */
const struct tl_finding *tui_next_cause(const struct tui_state *state, size_t pressed);

/* The selected run of the history; NULL without. */
const struct tl_history_run *tui_state_stored(const struct tui_state *state);

/* The verdict's finding. NULL without. */
const struct tl_finding *tui_state_finding(const struct tui_state *state);
/* The one whose fix is copied where one is: that of the page, else the verdict's; NULL on pages
 * that tell why something is no cause. */
const struct tl_finding *tui_finding_in_view(const struct tui_state *state);

/* What the start screen asks for, written into a configuration that holds the rest. Texts
 * point into state. TL_USAGE, TL_SYNTAX, TL_RANGE with a sentence. */
enum tl_status tui_state_configure(const struct tui_state *state, struct tl_session_config *config,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

#endif
