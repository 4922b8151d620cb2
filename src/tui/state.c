/* Session events become what the run screen shows; the start screen becomes a configuration. */
#include "state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/key.h"
#include "tightlink/base/units.h"
#include "tightlink/rules/verdict.h"

void tui_state_init(struct tui_state *state, const struct tl_session_config *config)
{
    char text[TL_UNIT_TEXT_SIZE];
    memset(state, 0, sizeof *state);
    state->screen = TUI_START;
    state->run.sampled = -1;
    struct tui_start *start = &state->start;
    start->download = config->download;
    start->upload = config->upload;
    start->skip = config->skip;
    start->force = config->force;
    start->verify = config->verify;
    start->directory = config->directory != NULL;
    snprintf(start->key, sizeof start->key, "%.63s", config->key ? config->key->name : "");
    snprintf(start->target, sizeof start->target, "%s", config->host ? config->host : "");
    if (config->goal.bps > 0)
        snprintf(start->goal, sizeof start->goal, "%s", tl_format_bps(config->goal.bps, text));
    if (config->data_budget_bytes > 0)
        snprintf(start->budget, sizeof start->budget, "%s",
                 tl_format_traffic((double)config->data_budget_bytes, text));
}

void tui_state_begin(struct tui_state *state, int64_t now_ns)
{
    struct tui_progress_state *run = &state->run;
    memset(run, 0, sizeof *run); /* a megabyte: no literal of it on the stack */
    run->active = true;
    run->started_ns = run->now_ns = now_ns;
    run->sampled = -1;
    state->screen = TUI_RUN;
    state->overlay = TUI_NO_OVERLAY;
    state->prompt = TUI_NO_PROMPT;
    state->page = (struct tui_page_state){0};
    state->message[0] = '\0';
    snprintf(state->title, sizeof state->title, "%s", state->start.target);
}

void tui_state_begin_trial(struct tui_state *state, int64_t now_ns)
{
    struct tui_progress_state *run = &state->run;
    run->active = run->verifying = true;
    run->stopping = run->paused = run->running = run->frozen = false;
    run->started_ns = run->now_ns = now_ns;
    run->bytes = run->worst_bytes = 0;
    run->worst_ns = 0;
    run->reading[0] = run->early[0] = '\0';
    state->screen = TUI_RUN;
    state->page = (struct tui_page_state){0};
}

static bool same_stage(const struct tui_stage *stage, const struct tl_event *event)
{
    return strcmp(stage->id, event->stage) == 0 && stage->has_direction == event->has_direction &&
           (!event->has_direction || stage->direction == event->direction);
}

/* The row of an event's stage; one without a direction stands for both until one is known, and
 * an event without one means the direction that came last. */
static struct tui_stage *find_stage(struct tui_progress_state *run, const struct tl_event *event)
{
    for (int i = 0; i < run->stage_count; i++)
        if (same_stage(&run->stages[i], event))
            return &run->stages[i];
    for (int i = 0; i < run->stage_count && event->has_direction; i++) {
        struct tui_stage *stage = &run->stages[i];
        if (strcmp(stage->id, event->stage) == 0 && !stage->has_direction) {
            stage->has_direction = true;
            stage->direction = event->direction;
            return stage;
        }
    }
    for (int i = run->stage_count - 1; i >= 0 && !event->has_direction; i--)
        if (strcmp(run->stages[i].id, event->stage) == 0)
            return &run->stages[i];
    if (run->stage_count == TUI_STAGES_MAX)
        return NULL;
    struct tui_stage *stage = &run->stages[run->stage_count++];
    memset(stage, 0, sizeof *stage);
    stage->has_direction = event->has_direction;
    stage->direction = event->direction;
    stage->samples.stride = 1;
    snprintf(stage->id, sizeof stage->id, "%s", event->stage);
    return stage;
}

/* Of a reading: since when, rate, round-trip time, segments sent again so far. */
static void add_sample(struct tui_samples *samples, const struct tl_reading *reading)
{
    if (++samples->skipped < samples->stride)
        return;
    samples->skipped = 0;
    if (samples->count == TUI_SAMPLES_MAX) {
        samples->count /= 2;
        samples->stride *= 2;
        for (int i = 0; i < samples->count; i++) {
            samples->at_ns[i] = samples->at_ns[2 * i];
            samples->rate_bps[i] = samples->rate_bps[2 * i];
            samples->rtt_ns[i] = samples->rtt_ns[2 * i];
            samples->retrans[i] = samples->retrans[2 * i];
        }
    }
    samples->at_ns[samples->count] = reading->elapsed_ns;
    samples->rate_bps[samples->count] = reading->rate_bps;
    samples->rtt_ns[samples->count] = reading->rtt_ns;
    samples->retrans[samples->count++] = reading->retrans_count;
}

static void take_stage(struct tui_progress_state *run, const struct tl_event *event)
{
    struct tui_stage *stage = find_stage(run, event);
    if (!stage)
        return;
    if (event->kind == TL_EVENT_PLAN) {
        if (stage->record.id[0] == '\0' || event->stage_state != TL_STAGE_ENDED)
            stage->state = event->stage_state;
        if (event->expected_ns > 0)
            stage->expected_ns = event->expected_ns;
        if (event->text[0])
            snprintf(stage->why, sizeof stage->why, "%s", event->text);
    } else if (event->kind == TL_EVENT_STAGE_START) {
        stage->state = TL_STAGE_RUNS;
        if (event->expected_ns > 0)
            stage->expected_ns = event->expected_ns;
        run->running = true;
        run->has_live = false;
        run->early[0] = '\0';
        run->selected = (int)(stage - run->stages);
        memset(&stage->samples, 0, sizeof stage->samples);
        stage->samples.stride = 1;
    } else {
        stage->state = TL_STAGE_ENDED;
        stage->record = event->record;
        run->running = false;
    }
}

static void take_live(struct tui_progress_state *run, const struct tl_event *event)
{
    run->live = *event;
    run->has_live = true;
    if (event->text[0])
        snprintf(run->early, sizeof run->early, "%s", event->text);
    struct tui_stage *stage = find_stage(run, event);
    if (!stage)
        return;
    run->sampled = (int)(stage - run->stages);
    const struct tl_probe_live *live = &event->live;
    add_sample(&stage->samples, &(struct tl_reading){.elapsed_ns = live->elapsed_ns,
                                                     .rate_bps = live->rate_bps,
                                                     .rtt_ns = live->rtt_ns,
                                                     .retrans_count = live->retrans_count});
}

void tui_state_agreed(struct tui_progress_state *run, const struct tl_event *event)
{
    run->worst_bytes = event->worst_bytes;
    run->worst_is_open = event->worst_is_open;
    run->worst_ns = event->expected_ns;
}

static void take_consent(struct tui_state *state, const struct tl_event *event)
{
    struct tui_progress_state *run = &state->run;
    tui_state_agreed(run, event);
    snprintf(run->consent_text, sizeof run->consent_text, "%s", event->text);
    state->overlay = TUI_CONSENT;
}

void tui_state_event(struct tui_state *state, const struct tl_event *event)
{
    struct tui_progress_state *run = &state->run;
    switch (event->kind) {
    case TL_EVENT_PLAN:
    case TL_EVENT_STAGE_START:
    case TL_EVENT_STAGE_END:
        take_stage(run, event);
        if (event->bytes > run->bytes)
            run->bytes = event->bytes;
        if (event->kind == TL_EVENT_STAGE_START)
            run->paused = false;
        break;
    case TL_EVENT_LIVE:
        take_live(run, event);
        break;
    case TL_EVENT_NOTE:
        snprintf(state->message, sizeof state->message, "%s", event->text);
        break;
    case TL_EVENT_CONSENT:
        take_consent(state, event);
        break;
    case TL_EVENT_READING:
        snprintf(run->reading, sizeof run->reading, "%s", event->text);
        if (event->bytes > run->bytes)
            run->bytes = event->bytes;
        break;
    case TL_EVENT_PAUSED:
        run->paused = true;
        break;
    case TL_EVENT_DONE:
        run->active = run->running = run->frozen = false;
        break;
    }
}

/* The row of a recorded stage whose readings begin here: the next of that id that ran and has
 * none yet. Records tell no direction; readings do. */
static struct tui_stage *row_of_reading(struct tui_progress_state *run,
                                        const struct tl_reading *reading)
{
    for (int i = 0; i < run->stage_count; i++) {
        struct tui_stage *stage = &run->stages[i];
        if (strcmp(stage->id, reading->stage) != 0 || stage->samples.count ||
            stage->record.duration_ns <= 0)
            continue;
        stage->has_direction = reading->has_direction;
        stage->direction = reading->direction;
        return stage;
    }
    return NULL;
}

/* The readings that were kept of a run, transfer by transfer. The plots of the run screen show
 * the last stream: what the verdict is about. */
static void list_recorded_samples(struct tui_progress_state *run, const struct tl_samples *samples)
{
    const struct tl_reading *before = NULL;
    struct tui_stage *stage = NULL;
    for (size_t i = 0; i < samples->count; i++) {
        const struct tl_reading *reading = &samples->items[i];
        if (!before || strcmp(before->stage, reading->stage) != 0 ||
            before->has_direction != reading->has_direction ||
            before->direction != reading->direction || reading->elapsed_ns < before->elapsed_ns)
            stage = row_of_reading(run, reading);
        before = reading;
        if (!stage)
            continue;
        add_sample(&stage->samples, reading);
        if (run->sampled >= 0 && strcmp(stage->id, "stream") != 0)
            continue;
        run->sampled = (int)(stage - run->stages);
        run->live.live = (struct tl_probe_live){.rate_bps = reading->rate_bps,
                                                .rtt_ns = reading->rtt_ns,
                                                .elapsed_ns = reading->elapsed_ns,
                                                .retrans_count = reading->retrans_count,
                                                .cwnd_bytes = reading->cwnd_bytes,
                                                .snd_wnd_bytes = reading->snd_wnd_bytes,
                                                .app_ratio = reading->app_ratio,
                                                .sndbuf_ratio = reading->sndbuf_ratio,
                                                .rwnd_ratio = reading->rwnd_ratio,
                                                .network_ratio = reading->network_ratio};
    }
}

/* A saved run has no events: its stages, as they were recorded. */
static void list_recorded_stages(struct tui_progress_state *run, const struct tl_run *record)
{
    for (int i = 0; i < record->stage_count && run->stage_count < TUI_STAGES_MAX; i++) {
        struct tui_stage *stage = &run->stages[run->stage_count++];
        snprintf(stage->id, sizeof stage->id, "%s", record->stages[i].id);
        stage->state = TL_STAGE_ENDED;
        stage->record = record->stages[i];
        stage->samples.stride = 1;
    }
    run->bytes = record->sent_bytes + record->received_bytes;
    run->now_ns = run->started_ns + record->duration_ns;
}

void tui_state_result(struct tui_state *state, const struct tl_session_result *result)
{
    state->result = result;
    state->from_watch = state->from_packets = false;
    state->scroll = 0;
    state->remedy = 0;
    state->next_cause = 0;
    state->causes = state->hops = (struct tui_list){0};
    state->page = (struct tui_page_state){0};
    state->prompt = TUI_NO_PROMPT;
    if (!result)
        return;
    if (!state->run.stage_count) {
        list_recorded_stages(&state->run, &result->run);
        state->run.sampled = -1;
        if (result->samples)
            list_recorded_samples(&state->run, result->samples);
    }
    state->message[0] = '\0'; /* a note of the run that has ended */
    state->overlay = TUI_NO_OVERLAY;
    state->screen = TUI_VERDICT;
    if (result->run.target_name[0])
        snprintf(state->title, sizeof state->title, "%.253s", result->run.target_name);
}

bool tui_is_first_question(const struct tui_state *state)
{
    return state->run.verifying || !state->run.stage_count;
}

void tui_state_forget_run(struct tui_state *state)
{
    memset(&state->run, 0, sizeof state->run);
    state->run.sampled = -1;
}

void tui_state_verified(struct tui_state *state, const struct tl_session_result *result)
{
    char message[sizeof state->message];
    snprintf(message, sizeof message, "%s", state->message);
    tui_state_result(state, result);
    snprintf(state->message, sizeof state->message, "%s", message);
    tui_page_open(state, TUI_PAGE_VERIFY, 0);
}

const struct tl_finding *tui_state_finding(const struct tui_state *state)
{
    const struct tl_findings *findings = state->result ? state->result->findings : NULL;
    return findings ? tl_findings_verdict(findings) : NULL;
}

const struct tl_finding *tui_finding_in_view(const struct tui_state *state)
{
    switch (state->page.kind) {
    case TUI_PAGE_CAUSES:
    case TUI_PAGE_CAUSE:
        return NULL; /* why something is no cause: there is nothing to mend */
    case TUI_PAGE_FINDING:
        return &state->result->findings->findings[state->page.index];
    default:
        return tui_state_finding(state);
    }
}

enum tl_status tui_state_configure(const struct tui_state *state, struct tl_session_config *config,
                                   struct tl_error *reterr)
{
    const struct tui_start *start = &state->start;
    double goal = config->goal.bps;
    int64_t bytes = 0;
    if (!start->target[0])
        return tl_error_set(reterr, TL_USAGE,
                            "which host? Name the far end, where `tightlink serve --open` runs");
    if (!start->goal[0])
        goal = (double)NAN;
    else if (tl_parse_bps(start->goal, &goal, reterr) != TL_OK) {
        tl_error_prefix(reterr, "the goal");
        return reterr->status;
    }
    if (start->budget[0] && tl_parse_bytes(start->budget, &bytes, reterr) != TL_OK) {
        tl_error_prefix(reterr, "the data budget");
        return reterr->status;
    }
    if (start->budget[0] && bytes <= 0)
        return tl_error_set(reterr, TL_RANGE, "the data budget must be more than nothing");
    config->host = start->target;
    config->download = start->download;
    config->upload = start->upload;
    config->goal.bps = goal;
    config->data_budget_bytes = bytes;
    config->skip = start->skip;
    config->force = start->force;
    config->verify = start->verify;
    return TL_OK;
}

void tui_page_open(struct tui_state *state, enum tui_page kind, size_t index)
{
    enum tui_page back = state->page.kind;
    state->page = (struct tui_page_state){
        .kind = kind, .back = back == kind ? TUI_NO_PAGE : back, .index = index, .cursor = -1};
}

size_t tui_masked_count(const struct tui_export *leaving)
{
    return leaving->redactor ? tl_redactor_count(leaving->redactor) : 0;
}
