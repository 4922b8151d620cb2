/* Keys of the screens behind the start screen, of pages, and of the line that asks for text. */
#include <stdio.h>
#include <string.h>

#include "keys.h"
#include "tightlink/base/units.h"

void tui_move(int *at, int key, int page, int last)
{
    last = last < 0 ? 0 : last;
    switch (key) {
    case TUI_KEY_UP:
    case 'k':
        --*at;
        break;
    case TUI_KEY_DOWN:
    case 'j':
        ++*at;
        break;
    case TUI_KEY_PAGE_UP:
        *at -= page;
        break;
    case TUI_KEY_PAGE_DOWN:
    case ' ':
        *at += page;
        break;
    case TUI_KEY_HOME:
    case 'g':
        *at = 0;
        break;
    case TUI_KEY_END:
    case 'G':
        *at = last;
        break;
    default:
        break;
    }
    *at = *at < 0 ? 0 : *at > last ? last : *at;
}

static void say(struct tui_state *state, const char *text)
{
    snprintf(state->message, sizeof state->message, "%s", text);
}

void tui_prompt_open(struct tui_state *state, enum tui_prompt prompt, const char *text)
{
    state->prompt = prompt;
    snprintf(state->prompt_text, sizeof state->prompt_text, "%s", text);
}

/* --- run --- */

static void freeze(struct tui_state *state)
{
    struct tui_progress_state *run = &state->run;
    run->frozen = !run->frozen;
    if (run->frozen && run->sampled >= 0) {
        run->still = run->stages[run->sampled].samples;
        run->still_live = run->live;
    } else {
        run->frozen = false;
    }
    say(state, run->frozen ? "the picture stands still, the run goes on; z lets it move"
                           : "the picture moves");
}

static unsigned running_key(struct tui_state *state, int key)
{
    struct tui_progress_state *run = &state->run;
    char bytes[TL_UNIT_TEXT_SIZE];
    switch (key) {
    case 'p':
        run->paused = !run->paused;
        say(state, run->paused ? "waits after the running stage; p goes on" : "goes on");
        return run->paused ? TUI_DO_PAUSE : TUI_DO_RESUME;
    case 'n':
        return run->running ? TUI_DO_SKIP : TUI_DO_NOTHING;
    case 'r':
        return run->stage_count && !run->verifying ? TUI_DO_REDO : TUI_DO_NOTHING;
    case 'z':
        freeze(state);
        return TUI_DO_NOTHING;
    case 'd':
        tui_prompt_open(state, TUI_ASK_BUDGET,
                        run->worst_bytes > 0 ? tl_format_traffic((double)run->worst_bytes, bytes)
                                             : "");
        return TUI_DO_NOTHING;
    default:
        return TUI_DO_NOTHING;
    }
}

static unsigned run_key(struct tui_state *state, int key)
{
    struct tui_progress_state *run = &state->run;
    if (key == TUI_KEY_ENTER && run->stage_count)
        tui_page_open(state, TUI_PAGE_STAGE, (size_t)run->selected);
    else if (run->active && strchr("pnrzd", key < 128 ? key : 0) && key)
        return running_key(state, key);
    else if (key == TUI_KEY_ESCAPE)
        return tui_step_back(state);
    else if (key != ' ')
        tui_move(&run->selected, key, state->rows_shown, run->stage_count - 1);
    return TUI_DO_NOTHING;
}

/* --- verdict --- */

static void open_next_cause(struct tui_state *state)
{
    const struct tl_finding *finding = tui_next_cause(state, ++state->next_cause);
    if (!finding) {
        say(state, state->next_cause > 1 ? "that was the last; n begins again"
                                         : "no other cause was found; w tells why not the others");
        state->next_cause = 0;
        state->page = (struct tui_page_state){0};
        return;
    }
    state->page = (struct tui_page_state){0};
    tui_page_open(state, TUI_PAGE_FINDING, (size_t)(finding - state->result->findings->findings));
}

static unsigned verify(struct tui_state *state)
{
    const struct tl_finding *finding = tui_state_finding(state);
    const struct tl_run *run = state->result ? &state->result->run : NULL;
    if (state->run.active)
        say(state, "a diagnosis is running");
    else if (!finding)
        say(state, "no cause was found, so there is no fix to try");
    else if (!finding->remedy_count)
        say(state, "no fix is known here that could be tried");
    else if (strcmp(run->target_kind, "live") == 0 || strcmp(run->target_kind, "pcap") == 0)
        say(state, "this is another program's transfer: tightlink run HOST tries a fix on its way");
    else if (state->from_store && strcmp(run->target_kind, "demo") == 0)
        say(state, "this was a demo: its path is gone, so nothing can be tried on it");
    else if (state->from_store)
        state->overlay = TUI_ASK_TRY;
    else
        return TUI_DO_VERIFY;
    return TUI_DO_NOTHING;
}

static bool jump(struct tui_state *state, int key)
{
    static const char jumps[] = "lifo";
    static const enum tl_report_part parts[] = {TL_PART_MEASUREMENTS, TL_PART_EVIDENCE, TL_PART_FIX,
                                                TL_PART_RUN};
    const char *found = key > ' ' && key < 128 ? strchr(jumps, key) : NULL;
    if (!found)
        return false;
    int to = state->jump[parts[found - jumps]];
    if (to >= 0)
        state->scroll = to;
    else
        say(state, "this run has none");
    int last = state->rows_total - state->rows_shown;
    if (state->scroll > last)
        state->scroll = last > 0 ? last : 0;
    return true;
}

static unsigned verdict_key(struct tui_state *state, int key)
{
    const struct tl_finding *finding = tui_state_finding(state);
    bool judged = state->result && state->result->findings;
    switch (key) {
    case 'y':
        if (finding && finding->remedy_count)
            return TUI_DO_COPY;
        say(state, "there is no fix to copy");
        return TUI_DO_NOTHING;
    case 's':
        return judged ? TUI_DO_SAVE : TUI_DO_NOTHING;
    case 'v':
        return judged ? verify(state) : TUI_DO_NOTHING;
    case 'e':
        return tui_state_key(state, '0' + TUI_EXPORT);
    case 't':
        return judged ? tui_state_key(state, '0' + TUI_EXPORT) | TUI_DO_TICKET : TUI_DO_NOTHING;
    default:
        break;
    }
    if (key == TUI_KEY_ESCAPE)
        return tui_step_back(state);
    if (!judged)
        return TUI_DO_NOTHING;
    if (key == 'w')
        tui_page_open(state, TUI_PAGE_CAUSES, 0);
    else if (key == 'n')
        open_next_cause(state);
    else if (key == 'x')
        tui_page_open(state, TUI_PAGE_SIMPLE, 0);
    else if (key == TUI_KEY_ENTER)
        tui_page_open(state, TUI_PAGE_ENGINEER, 0);
    else if (!jump(state, key))
        tui_move(&state->scroll, key, state->rows_shown, state->rows_total - state->rows_shown);
    return TUI_DO_NOTHING;
}

/* --- path --- */

static unsigned path_key(struct tui_state *state, int key)
{
    size_t index[TUI_LIST_MAX];
    int count = (int)tui_list_hops(state, index);
    switch (key) {
    case 'm':
        state->private_names = !state->private_names;
        say(state, state->private_names ? "host names and addresses are hidden on this screen"
                                        : "host names and addresses are shown");
        break;
    case 'g':
        state->hop_chart = !state->hop_chart;
        break;
    case 'o':
        state->flows = !state->flows;
        break;
    case 'z':
        say(state, "the run has ended: nothing moves here");
        break;
    case '/':
        tui_prompt_open(state, TUI_ASK_FILTER, state->hops.filter);
        break;
    case TUI_KEY_ESCAPE:
        if (!state->hops.filter[0])
            return tui_step_back(state);
        state->hops = (struct tui_list){0};
        break;
    case TUI_KEY_ENTER:
        if (state->hops.selected < count)
            tui_page_open(state, TUI_PAGE_HOP, index[state->hops.selected]);
        break;
    default:
        tui_move(&state->hops.selected, key, state->rows_shown, count - 1);
    }
    return TUI_DO_NOTHING;
}

unsigned tui_screen_key(struct tui_state *state, int key)
{
    switch (state->screen) {
    case TUI_RUN:
        return run_key(state, key);
    case TUI_VERDICT:
        return verdict_key(state, key);
    case TUI_PATH:
        return path_key(state, key);
    case TUI_HISTORY:
    case TUI_EXPORT:
        return tui_store_key(state, key);
    case TUI_WATCH:
        return tui_watch_key(state, key);
    default:
        return TUI_DO_NOTHING;
    }
}

/* --- pages --- */

void tui_page_open(struct tui_state *state, enum tui_page kind, size_t index)
{
    enum tui_page back = state->page.kind;
    state->page = (struct tui_page_state){
        .kind = kind, .back = back == kind ? TUI_NO_PAGE : back, .index = index, .cursor = -1};
}

static void move_cursor(struct tui_state *state, int by)
{
    int count = state->run.stages[state->page.index].samples.count;
    int at = state->page.cursor < 0 ? count - 1 : state->page.cursor;
    at += by;
    state->page.cursor = at < 0 ? 0 : at >= count ? -1 : at;
}

static unsigned causes_key(struct tui_state *state, int key)
{
    size_t index[TUI_LIST_MAX];
    int count = (int)tui_list_causes(state, index);
    if (key == '/')
        tui_prompt_open(state, TUI_ASK_FILTER, state->causes.filter);
    else if (key == TUI_KEY_ENTER && state->causes.selected < count)
        tui_page_open(state,
                      state->result->findings->findings[index[state->causes.selected]].result ==
                              TL_FOUND
                          ? TUI_PAGE_FINDING
                          : TUI_PAGE_CAUSE,
                      index[state->causes.selected]);
    else
        tui_move(&state->causes.selected, key, state->page.shown, count - 1);
    return TUI_DO_NOTHING;
}

/* Pages that are about the verdict: its keys work there too, where the eye is. */
static bool is_verdicts(enum tui_page kind)
{
    return kind == TUI_PAGE_SIMPLE || kind == TUI_PAGE_ENGINEER || kind == TUI_PAGE_FINDING ||
           kind == TUI_PAGE_CAUSE || kind == TUI_PAGE_CAUSES;
}

unsigned tui_page_key(struct tui_state *state, int key)
{
    struct tui_page_state *page = &state->page;
    if (page->kind == TUI_PAGE_CAUSES && key == TUI_KEY_ESCAPE && state->causes.filter[0]) {
        state->causes = (struct tui_list){0};
        return TUI_DO_NOTHING;
    }
    if (is_verdicts(page->kind) && key < 128 && key > ' ' && strchr("ysvet", key))
        return verdict_key(state, key);
    if (key == TUI_KEY_ESCAPE || key == TUI_KEY_BACKSPACE) {
        *page = (struct tui_page_state){.kind = page->back, .cursor = -1};
        return TUI_DO_NOTHING;
    }
    if (page->kind == TUI_PAGE_WATCH)
        return tui_watch_key(state, key);
    if (page->kind == TUI_PAGE_CAUSES)
        return causes_key(state, key);
    if (page->kind == TUI_PAGE_FINDING && key == 'n')
        open_next_cause(state);
    else if ((page->kind == TUI_PAGE_SIMPLE || page->kind == TUI_PAGE_ENGINEER) && key == 'x')
        *page = (struct tui_page_state){.kind = page->kind == TUI_PAGE_SIMPLE ? TUI_PAGE_ENGINEER
                                                                              : TUI_PAGE_SIMPLE};
    else if (page->kind == TUI_PAGE_STAGE && (key == TUI_KEY_LEFT || key == TUI_KEY_RIGHT))
        move_cursor(state, key == TUI_KEY_LEFT ? -1 : 1);
    else if (page->kind == TUI_PAGE_STAGE && (key == '<' || key == '>'))
        move_cursor(state, key == '<' ? -10 : 10);
    else
        tui_move(&page->scroll, key, page->shown, page->total - page->shown);
    return TUI_DO_NOTHING;
}

/* --- the line that asks --- */

/* "2GB", "20s" or both: what a running session may still use. */
static unsigned take_budget(struct tui_state *state)
{
    struct tui_progress_state *run = &state->run;
    struct tl_error error = {0};
    char text[TUI_TEXT_SIZE], *rest = NULL;
    snprintf(text, sizeof text, "%s", state->prompt_text);
    run->new_ns = run->new_bytes = 0;
    for (char *word = strtok_r(text, ",;", &rest); word; word = strtok_r(NULL, ",;", &rest)) {
        int64_t number;
        if (tl_parse_bytes(word, &number, &error) == TL_OK && number > 0)
            run->new_bytes = number;
        else if (tl_parse_ns(word, &number, &error) == TL_OK && number > 0)
            run->new_ns = number;
        else {
            snprintf(state->message, sizeof state->message,
                     "\"%.60s\" is no budget: write 2GB, or 20s, or 2GB, 20s", word);
            return TUI_DO_NOTHING;
        }
    }
    if (!run->new_ns && !run->new_bytes)
        return TUI_DO_NOTHING;
    if ((run->worst_bytes > 0 && run->new_bytes > run->worst_bytes) ||
        (run->worst_ns > 0 && (double)run->new_ns > run->worst_ns)) {
        state->overlay = TUI_ASK_MORE;
        return TUI_DO_NOTHING;
    }
    return TUI_DO_BUDGET;
}

static unsigned take_filter(struct tui_state *state)
{
    if (state->screen == TUI_WATCH && state->page.kind == TUI_NO_PAGE) {
        snprintf(state->watch.list.filter, TUI_FILTER_SIZE, "%.63s", state->prompt_text);
        state->watch.list.selected = 0;
        return TUI_DO_NOTHING;
    }
    if (state->screen == TUI_HISTORY && state->page.kind == TUI_NO_PAGE) {
        snprintf(state->history.filter, sizeof state->history.filter, "%.63s", state->prompt_text);
        state->history.selected = 0;
        return TUI_DO_LIST;
    }
    struct tui_list *list = state->page.kind == TUI_PAGE_CAUSES ? &state->causes : &state->hops;
    snprintf(list->filter, sizeof list->filter, "%.63s", state->prompt_text);
    list->selected = 0;
    return TUI_DO_NOTHING;
}

static unsigned accept(struct tui_state *state, enum tui_prompt prompt)
{
    switch (prompt) {
    case TUI_ASK_BUDGET:
        return take_budget(state);
    case TUI_ASK_NOTE:
        return TUI_DO_NOTE;
    case TUI_ASK_TAG:
        return state->prompt_text[0] ? TUI_DO_TAG : TUI_DO_NOTHING;
    case TUI_ASK_COMMENT_ON:
        snprintf(state->leaving.comment_on, sizeof state->leaving.comment_on, "%.63s",
                 state->prompt_text + (state->prompt_text[0] == '#'));
        state->leaving.answer[0] = '\0';
        return TUI_DO_NOTHING;
    default:
        return TUI_DO_NOTHING;
    }
}

unsigned tui_prompt_key(struct tui_state *state, int key)
{
    enum tui_prompt prompt = state->prompt;
    if (key == TUI_KEY_ESCAPE) {
        state->prompt = TUI_NO_PROMPT;
        state->prompt_text[0] = '\0';
        return prompt == TUI_ASK_FILTER ? take_filter(state) : TUI_DO_NOTHING; /* all again */
    }
    if (key == TUI_KEY_ENTER) {
        state->prompt = TUI_NO_PROMPT;
        return accept(state, prompt);
    }
    if (key == TUI_KEY_BACKSPACE)
        tui_text_remove(state->prompt_text);
    else if (key >= ' ' && key < TUI_KEY_UP)
        tui_text_add(state->prompt_text,
                     prompt == TUI_ASK_FILTER ? TUI_FILTER_SIZE : sizeof state->prompt_text,
                     (uint32_t)key);
    return prompt == TUI_ASK_FILTER ? take_filter(state) : TUI_DO_NOTHING;
}
