/* Keys of a running diagnosis, of the verdict and of the path. */

#include "keys.h"
#include "tightlink/base/units.h"

/* --- run --- */

static unsigned freeze(struct tui_state *state, int key)
{
    struct tui_progress_state *run = &state->run;
    run->frozen = !run->frozen;
    if (run->frozen && run->sampled >= 0) {
        run->still = run->stages[run->sampled].samples;
        run->still_live = run->live;
    } else {
        run->frozen = false;
    }
    tui_say(state, run->frozen ? "the picture stands still, the run goes on; z lets it move"
                               : "the picture moves");
    return TUI_DO_NOTHING;
}

static unsigned pause_run(struct tui_state *state, int key)
{
    struct tui_progress_state *run = &state->run;
    run->paused = !run->paused;
    tui_say(state, run->paused ? "waits after the running stage; p goes on" : "goes on");
    return run->paused ? TUI_DO_PAUSE : TUI_DO_RESUME;
}

static unsigned skip(struct tui_state *state, int key)
{
    return state->run.running ? TUI_DO_SKIP : TUI_DO_NOTHING;
}

static bool can_redo(const struct tui_state *state)
{
    return state->run.stage_count && !state->run.verifying;
}

static unsigned redo(struct tui_state *state, int key)
{
    return can_redo(state) ? TUI_DO_REDO : TUI_DO_NOTHING;
}

static unsigned ask_budget(struct tui_state *state, int key)
{
    const struct tui_progress_state *run = &state->run;
    char bytes[TL_UNIT_TEXT_SIZE];
    tui_prompt_open(state, TUI_ASK_BUDGET,
                    run->worst_bytes > 0 ? tl_format_traffic((double)run->worst_bytes, bytes) : "");
    return TUI_DO_NOTHING;
}

static unsigned open_stage(struct tui_state *state, int key)
{
    if (state->run.stage_count)
        tui_page_open(state, TUI_PAGE_STAGE, (size_t)state->run.selected);
    return TUI_DO_NOTHING;
}

static unsigned select_stage(struct tui_state *state, int key)
{
    tui_move(&state->run.selected, key, state->rows_shown, state->run.stage_count - 1);
    return TUI_DO_NOTHING;
}

const struct tui_binding tui_run_keys[] = {
    {TUI_MEANS_STOP, "stop and keep", NULL, tui_interrupt, NULL},
    {TUI_MEANS_PAUSE, "pause", "wait after this stage; again: go on", pause_run, NULL},
    {TUI_MEANS_SKIP, "skip stage", "leave the running stage out", skip, NULL},
    {TUI_MEANS_MEASURE, "redo", "the selected stage once more", redo, can_redo},
    {TUI_MEANS_BUDGET, "budget", "another budget of data, time or both", ask_budget, NULL},
    {TUI_MEANS_ENTER, "details", "the selected stage and its samples", open_stage, NULL},
    {TUI_MEANS_FREEZE, "freeze", "the picture stands still, the run goes on", freeze, NULL},
    {TUI_MEANS_MOVE, NULL, "another stage", select_stage, NULL},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};

const struct tui_binding tui_ended_keys[] = {
    {TUI_MEANS_MOVE, "stage", "another stage", select_stage, NULL},
    {TUI_MEANS_ENTER, "details", "the selected stage and its samples", open_stage, NULL},
    {TUI_MEANS_EXPORT, "export", "hand this run on", tui_export, NULL},
    {TUI_MEANS_TICKET, "ticket", "to a ticket system", tui_ticket, NULL},
    {TUI_MEANS_SAVE, "save", "save this run into a file here", tui_save, NULL},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};

/* --- verdict --- */

static unsigned open_plain(struct tui_state *state, int key)
{
    return tui_verdict_page(state, TUI_PAGE_SIMPLE);
}

static unsigned open_engineer(struct tui_state *state, int key)
{
    return tui_verdict_page(state, TUI_PAGE_ENGINEER);
}

static unsigned jump(struct tui_state *state, int key)
{
    enum tl_report_part part = key == 'l'   ? TL_PART_MEASUREMENTS
                               : key == 'i' ? TL_PART_EVIDENCE
                                            : TL_PART_FIX;
    int last = state->rows_total - state->rows_shown;
    if (!tui_is_judged(state) || state->jump[part] < 0) {
        tui_say(state, "this run has none");
        return TUI_DO_NOTHING;
    }
    state->scroll = state->jump[part] > last ? last : state->jump[part];
    state->scroll = state->scroll < 0 ? 0 : state->scroll;
    return TUI_DO_NOTHING;
}

static unsigned scroll(struct tui_state *state, int key)
{
    tui_move(&state->scroll, key, state->rows_shown, state->rows_total - state->rows_shown);
    return TUI_DO_NOTHING;
}

const struct tui_binding tui_verdict_keys[] = {
    {TUI_MEANS_COPY, "copy fix", "copy the fix; again: the next one", tui_copy_fix,
     tui_has_own_fix},
    {TUI_MEANS_COPY, "copy request", "copy what to ask for; again: the next one", tui_copy_fix,
     tui_has_request},
    {TUI_MEANS_PLAIN, "plain", "in plain words", open_plain, tui_is_judged},
    {TUI_MEANS_TRY, "try it", "try the fix; changes no setting", tui_try_fix, tui_can_try},
    {TUI_MEANS_TICKET, "ticket", "to a ticket system", tui_ticket, tui_is_judged},
    {TUI_MEANS_EXPORT, "export", "hand this run on", tui_export, tui_is_judged},
    {TUI_MEANS_WHY_NOT, "why not", "why not the other causes", tui_why_not, tui_is_judged},
    {TUI_MEANS_NEXT_CAUSE, "next cause", "the next cause that was found", tui_next, tui_has_next},
    {TUI_MEANS_SAVE, "save", "save this run into a file here", tui_save, tui_is_judged},
    {TUI_MEANS_PART, "parts", "go to ladder, evidence, fix", jump, tui_is_judged},
    {TUI_MEANS_ENTER, NULL, "for an engineer: the whole judgement", open_engineer, tui_is_judged},
    {TUI_MEANS_MOVE, NULL, "scroll; PgUp, PgDn, Home, End too", scroll, NULL},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};

/* --- path --- */

static unsigned turn_chart(struct tui_state *state, int key)
{
    state->hop_chart = !state->hop_chart;
    return TUI_DO_NOTHING;
}

static unsigned turn_flows(struct tui_state *state, int key)
{
    state->flows = !state->flows;
    return TUI_DO_NOTHING;
}

static unsigned open_hop(struct tui_state *state, int key)
{
    size_t index[TUI_LIST_MAX];
    if (state->hops.selected < (int)tui_list_hops(state, index))
        tui_page_open(state, TUI_PAGE_HOP, index[state->hops.selected]);
    return TUI_DO_NOTHING;
}

static unsigned select_hop(struct tui_state *state, int key)
{
    size_t index[TUI_LIST_MAX];
    tui_move(&state->hops.selected, key, state->rows_shown, (int)tui_list_hops(state, index) - 1);
    return TUI_DO_NOTHING;
}

const struct tui_binding tui_path_keys[] = {
    {TUI_MEANS_MOVE, "hop", "another router", select_hop, NULL},
    {TUI_MEANS_ENTER, "detail", "all that is known of the router", open_hop, NULL},
    {TUI_MEANS_GRAPH, "graph", "graph of round trips", turn_chart, NULL},
    {TUI_MEANS_FILTER, "filter", "filter by name, address or note", tui_filter, NULL},
    {TUI_MEANS_FLOWS, "other flows", "ways that other flows take", turn_flows, NULL},
    {TUI_MEANS_MASK, "mask names", "mask names and addresses on the screen", tui_mask_names, NULL},
    {TUI_MEANS_EXPORT, NULL, "hand this run on", tui_export, NULL},
    {TUI_MEANS_TICKET, NULL, "to a ticket system", tui_ticket, NULL},
    {TUI_MEANS_NOTHING, NULL, NULL, NULL, NULL}};
