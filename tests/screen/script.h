/* The screens that the golden files hold: a state made by hand, then keys. */
#ifndef TL_TESTS_SCREEN_SCRIPT_H
#define TL_TESTS_SCREEN_SCRIPT_H

#include "fixtures.h"
#include "state.h"

/* One screen: prepared, then driven by keys, a character each ('\t' and '\n' are Tab and Enter). */
struct scene;
struct script {
    const char *name, *title;
    const char *fixture; /* of tests/unit/document whose run is shown; NULL: none */
    void (*prepare)(struct tui_state *state);
    const char *keys;
    void (*add)(struct scene *scene); /* to the fixture's run, before it is shown; NULL: nothing */
};

extern const struct script scripts[]; /* ends with a NULL name */

/* Everything a screen borrows. */
struct scene {
    struct tui_state state;
    struct fixture fixture;
    struct tl_session_result result;
    bool has_fixture;
    struct tl_samples samples;
    /* Of the history and export screens; the loop of the program owns them there. */
    struct tl_history_list list;
    struct tl_comparison comparison;
    struct tl_redactor *redactor;
    struct tl_buf preview;
};

void scene_make(const struct script *script, struct scene *ret_scene);
/* The start screen with a plan; with far ends and keys of earlier runs (script_start.c). */
void start_with_plan(struct tui_state *state);
void start_with_recent(struct tui_state *state);
/* Transfers that run now, and one of them over time (script_watch.c). */
void scene_add_running(struct scene *scene);
void scene_add_seconds(struct scene *scene);
/* Connections of a capture, the second of them over time (script_packets.c). */
void scene_add_packets(struct scene *scene);
/* The script of that name; aborts where there is none. */
const struct script *script_named(const char *name);

/* The keys; screens are drawn between them because some go where a view has noted. */
void scene_play(const struct script *script, struct scene *scene, int rows, int cols, bool utf8,
                struct tl_buf *out);
void scene_finish(struct scene *scene);

#endif
