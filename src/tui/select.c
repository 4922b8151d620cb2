/* What lists show and which of it a filter leaves: pure functions of the state. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "state.h"
#include "tightlink/base/cause_name.h"

/* Letters of either case; the filter is what a person typed. */
static bool contains(const char *text, const char *part)
{
    size_t len = strlen(part);
    for (; text && *text; text++)
        if (strncasecmp(text, part, len) == 0)
            return true;
    return len == 0;
}

static const struct tl_findings *findings_of(const struct tui_state *state)
{
    return state->result ? state->result->findings : NULL;
}

/* The order of the list of causes: what limits too, what may, what does not. */
static int rank(const struct tl_finding *finding)
{
    static const int ranks[] = {
        [TL_FOUND] = 0, [TL_CANNOT_TELL] = 2, [TL_RULED_OUT] = 3, [TL_NOT_APPLICABLE] = 4};
    if (finding->result == TL_FOUND && finding->severity == TL_NOTE)
        return 1;
    return ranks[finding->result];
}

/* The same cause at the same place: several rules may be about it. */
static bool is_alike(const struct tl_finding *a, const struct tl_finding *b)
{
    return a->direction == b->direction && strcmp(a->cause, b->cause) == 0 &&
           strcmp(a->segment, b->segment) == 0;
}

/* A cause is told once: by the rule that knows most of it, the verdict's own before all. */
static bool is_told_elsewhere(const struct tui_state *state, const struct tl_finding *finding)
{
    const struct tl_findings *findings = findings_of(state);
    const struct tl_finding *verdict = tui_state_finding(state);
    if (verdict && is_alike(finding, verdict))
        return true;
    for (size_t i = 0; i < findings->finding_count; i++) {
        const struct tl_finding *other = &findings->findings[i];
        if (other != finding && is_alike(other, finding) &&
            (rank(other) < rank(finding) || (rank(other) == rank(finding) && other < finding)))
            return true;
    }
    return false;
}

size_t tui_list_causes(const struct tui_state *state, size_t ret_index[TUI_LIST_MAX])
{
    const struct tl_findings *findings = findings_of(state);
    size_t count = 0;
    for (int wanted = 0; findings && wanted <= 4; wanted++) {
        for (size_t i = 0; i < findings->finding_count && count < TUI_LIST_MAX; i++) {
            const struct tl_finding *finding = &findings->findings[i];
            if (rank(finding) != wanted || is_told_elsewhere(state, finding))
                continue;
            if (contains(finding->title, state->causes.filter) ||
                contains(finding->cause, state->causes.filter) ||
                contains(tl_cause_name(finding->cause), state->causes.filter) ||
                contains(finding->segment, state->causes.filter) ||
                contains(tl_result_name(finding->result), state->causes.filter))
                ret_index[count++] = i;
        }
    }
    return count;
}

size_t tui_list_hops(const struct tui_state *state, size_t ret_index[TUI_LIST_MAX])
{
    const struct tl_run *run = state->result ? &state->result->run : NULL;
    size_t count = 0;
    for (int i = 0; run && i < run->hop_count; i++) {
        const struct tl_hop_record *hop = &run->hops[i];
        if (contains(hop->name, state->hops.filter) || contains(hop->address, state->hops.filter) ||
            contains(hop->note, state->hops.filter))
            ret_index[count++] = (size_t)i;
    }
    return count;
}

const struct tl_history_run *tui_state_stored(const struct tui_state *state)
{
    const struct tl_history_list *list = state->history.list;
    int at = state->history.selected;
    return list && at >= 0 && (size_t)at < list->count ? &list->runs[at] : NULL;
}

/* Found, limiting or contributing, and not the verdict itself. */
static bool is_next(const struct tui_state *state, const struct tl_finding *finding)
{
    return finding->result == TL_FOUND && finding->severity != TL_NOTE &&
           !is_told_elsewhere(state, finding);
}

/* Lower ceilings first, those without one last; equal ones in the rules' order. */
static bool comes_before(const struct tl_finding *a, const struct tl_finding *b)
{
    double left = isnan(a->ceiling_bps) ? (double)INFINITY : a->ceiling_bps;
    double right = isnan(b->ceiling_bps) ? (double)INFINITY : b->ceiling_bps;
    return left < right || (!(left > right) && a < b);
}

const struct tl_finding *tui_next_cause(const struct tui_state *state, size_t pressed)
{
    const struct tl_findings *findings = findings_of(state);
    for (size_t i = 0; findings && i < findings->finding_count; i++) {
        const struct tl_finding *candidate = &findings->findings[i];
        size_t before = 0;
        if (!is_next(state, candidate))
            continue;
        for (size_t j = 0; j < findings->finding_count; j++)
            before += is_next(state, &findings->findings[j]) &&
                      comes_before(&findings->findings[j], candidate);
        if (before + 1 == pressed)
            return candidate;
    }
    return NULL;
}

size_t tui_list_watched(const struct tui_state *state, size_t ret_index[TUI_LIST_MAX])
{
    const struct tui_watch *watch = &state->watch;
    size_t count = 0;
    for (size_t i = 0; i < watch->count && count < TUI_LIST_MAX; i++) {
        const struct tl_app_live_row *row = &watch->rows[i];
        if (contains(row->peer, watch->list.filter) || contains(row->program, watch->list.filter) ||
            contains(row->cause, watch->list.filter) ||
            contains(tl_cause_name(row->cause), watch->list.filter) ||
            contains(row->file, watch->list.filter))
            ret_index[count++] = i;
    }
    return count;
}

const struct tl_app_live_row *tui_watch_row(const struct tui_state *state)
{
    size_t index[TUI_LIST_MAX], count = tui_list_watched(state, index);
    int at = state->watch.list.selected;
    if (state->page.kind == TUI_PAGE_WATCH)
        return &state->watch.open;
    return at >= 0 && (size_t)at < count ? &state->watch.rows[index[at]] : NULL;
}

/* The longest held up first, of two that were as long the larger one. */
static bool held_before(const struct tui_packets *packets, size_t left, size_t right)
{
    double a = packets->rows[left].held_ns, b = packets->rows[right].held_ns;
    return a > b || (!(a < b) && left < right);
}

size_t tui_list_packets(const struct tui_state *state, size_t ret_index[TUI_LIST_MAX])
{
    const struct tui_packets *packets = &state->packets;
    size_t count = 0;
    for (size_t i = 0; i < packets->count && count < TUI_LIST_MAX; i++) {
        const struct tl_app_pcap_row *row = &packets->rows[i];
        if (!contains(row->client, packets->list.filter) &&
            !contains(row->server, packets->list.filter) &&
            !contains(row->cause, packets->list.filter) &&
            !contains(tl_cause_name(row->cause), packets->list.filter))
            continue;
        size_t at = count++;
        for (; packets->by_held && at > 0 && held_before(packets, i, ret_index[at - 1]); at--)
            ret_index[at] = ret_index[at - 1];
        ret_index[at] = i;
    }
    return count;
}

const struct tl_app_pcap_row *tui_packets_row(const struct tui_state *state)
{
    size_t index[TUI_LIST_MAX], count = tui_list_packets(state, index);
    int at = state->packets.list.selected;
    if (state->page.kind == TUI_PAGE_PACKETS)
        return &state->packets.open;
    return at >= 0 && (size_t)at < count ? &state->packets.rows[index[at]] : NULL;
}

/* The selection goes where its transfer went; the page has its newest row. */
static void follow(struct tui_watch *watch, const struct tui_state *state, uint64_t cookie)
{
    size_t index[TUI_LIST_MAX], count = tui_list_watched(state, index);
    bool found = false;
    for (size_t i = 0; i < count; i++)
        if (watch->rows[index[i]].cookie == cookie)
            watch->list.selected = (int)i;
    if (watch->list.selected >= (int)count)
        watch->list.selected = count ? (int)count - 1 : 0;
    for (size_t i = 0; i < watch->count && !found; i++) {
        found = watch->rows[i].cookie == watch->open.cookie;
        if (found)
            watch->open = watch->rows[i];
    }
    watch->open.ended |= !found;
}

static void note_moves(struct tui_watch *watch)
{
    for (size_t i = 0; i < watch->count; i++) {
        const struct tl_app_live_row *row = &watch->rows[i];
        if (row->moved)
            snprintf(watch->moved, sizeof watch->moved, "%.60s: now %.40s, before %.40s", row->peer,
                     tl_cause_name(row->cause), tl_cause_name(row->was));
    }
}

void tui_watch_take(struct tui_state *state, const struct tl_app_live_row *rows, size_t count,
                    const struct tl_app_live_sum *sum)
{
    struct tui_watch *watch = &state->watch;
    size_t index[TUI_LIST_MAX], shown = tui_list_watched(state, index);
    int at = watch->list.selected;
    /* The first row is the one that is held up most: it stays selected until somebody moves. */
    uint64_t cookie = at > 0 && (size_t)at < shown ? watch->rows[index[at]].cookie : 0;
    watch->rows = rows;
    watch->count = count;
    watch->sum = *sum;
    follow(watch, state, cookie);
    note_moves(watch);
}
