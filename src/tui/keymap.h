/* What keys mean. Two tables, read by whoever takes a key, by the footer and by help: meanings give
 * each key one meaning for all screens; places tell which of them are taken where, and what is
 * done.
 *
 * Answers to a question (y, n) and text that is typed come before both; a question names its keys.
 */
#ifndef TL_TUI_KEYMAP_H
#define TL_TUI_KEYMAP_H

#include "state.h"

enum tui_means {
    TUI_MEANS_NOTHING, /* ends a place's bindings */
    TUI_MEANS_HELP,
    TUI_MEANS_QUIT,
    TUI_MEANS_BACK,
    TUI_MEANS_STOP,
    TUI_MEANS_SCREEN,
    TUI_MEANS_REDRAW,
    TUI_MEANS_MOVE,  /* up and down: select, scroll */
    TUI_MEANS_ASIDE, /* left and right */
    TUI_MEANS_FARTHER,
    TUI_MEANS_ENTER,
    TUI_MEANS_FIELD,
    TUI_MEANS_CHANGE,
    TUI_MEANS_RECENT,
    TUI_MEANS_KEY,
    TUI_MEANS_LIVE,
    TUI_MEANS_ERASE,
    TUI_MEANS_COPY,
    TUI_MEANS_TRY,
    TUI_MEANS_PLAIN,
    TUI_MEANS_EXPORT,
    TUI_MEANS_TICKET,
    TUI_MEANS_WHY_NOT,
    TUI_MEANS_NEXT_CAUSE,
    TUI_MEANS_SAVE,
    TUI_MEANS_PART,
    TUI_MEANS_GRAPH,
    TUI_MEANS_FLOWS,
    TUI_MEANS_MASK,
    TUI_MEANS_MASKS,
    TUI_MEANS_FILTER,
    TUI_MEANS_FREEZE,
    TUI_MEANS_PAUSE,
    TUI_MEANS_SKIP,
    TUI_MEANS_MEASURE, /* what is selected: a stage once more, the way of a transfer */
    TUI_MEANS_BUDGET,
    TUI_MEANS_CAPTURE,
    TUI_MEANS_ADD_TO,
    TUI_MEANS_CURL,
    TUI_MEANS_MARK,
    TUI_MEANS_NOTE,
    TUI_MEANS_TAG,
    TUI_MEANS_DELETE,
    TUI_MEANINGS
};

#define TUI_MEANING_KEYS 10
struct tui_meaning {
    const char *name;           /* as footer and help write it: "y", "Esc", "up/dn" */
    int keys[TUI_MEANING_KEYS]; /* ends with TUI_KEY_NONE */
};
const struct tui_meaning *tui_meaning(enum tui_means means);
/* What a key means; TUI_MEANS_NOTHING for one that has no meaning anywhere. */
enum tui_means tui_meaning_of(int key);

/* What a place does with one of them. The same meaning may stand twice with other words, where
 * `offered` excludes one another. */
struct tui_binding {
    enum tui_means means;
    const char *hint; /* in the footer behind the key; NULL: it does not stand there */
    const char *help; /* in help likewise */
    /* Returns enum tui_action flags. Asked even where it is not offered: it says why not. */
    unsigned (*act)(struct tui_state *state, int key);
    bool (*offered)(const struct tui_state *state); /* NULL: always */
};

/* The bindings of where one is, those first that matter most, and those that hold everywhere. */
const struct tui_binding *tui_bindings_here(const struct tui_state *state);
const struct tui_binding *tui_bindings_everywhere(void);
/* The binding of a key in one of the two; NULL without. */
const struct tui_binding *tui_binding_find(const struct tui_binding *bindings, int key);
bool tui_binding_is_offered(const struct tui_binding *binding, const struct tui_state *state);
/* All of them in words, a line each, for the help of where one is. */
void tui_help_text(const struct tui_state *state, struct tl_buf *out);

/* Bindings by place; each beside the functions that it names (keys*.c). */
extern const struct tui_binding tui_start_keys[], tui_run_keys[], tui_ended_keys[],
    tui_verdict_keys[], tui_path_keys[], tui_history_keys[], tui_export_keys[], tui_ticket_keys[],
    tui_watch_keys[], tui_packets_keys[], tui_prompt_keys[], tui_everywhere_keys[];
extern const struct tui_binding tui_page_keys[], tui_simple_keys[], tui_engineer_keys[],
    tui_causes_keys[], tui_cause_keys[], tui_stage_keys[], tui_transfer_keys[],
    tui_connection_keys[];

#endif
