/* Pages in words. What is drawn on them (plots, bars, lists) is in view_page.c. */
#include "page_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page_write.h"
#include "tightlink/base/cause_name.h"
#include "tightlink/base/units.h"
#include "tightlink/facts/told.h"
#include "tightlink/present/report.h"
#include "tightlink/rules/why.h"

#define LABEL 12

const char *tui_place(const struct tl_run *run, const char *segment)
{
    static const char *const words[][3] = {{"near-host", "this PC", "client"},
                                           {"far-host", "far end", "server"},
                                           {"lan", "LAN", "client LAN"},
                                           {"far-lan", "far LAN", "server LAN"},
                                           {"flow", "the transfer", "the transfer"}};
    bool of_others = run && tl_run_is_of_others(run);
    for (size_t i = 0; segment && i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], segment) == 0)
            return words[i][of_others ? 2 : 1];
    return segment ? segment : "";
}

const char *tui_name(const struct tui_state *state, const char *name)
{
    return state->private_names && name[0] ? "<hidden>" : name;
}

/* How a stage ended or why it did not run: "1.02 s  done". */
static const char *stage_state(const struct tui_stage *stage)
{
    static const char *const states[] = {[TL_STAGE_WAITS] = "waits",
                                         [TL_STAGE_RUNS] = "is running",
                                         [TL_STAGE_OFF] = "does not run"};
    if (stage->state == TL_STAGE_ENDED)
        return tl_stage_state_name(stage->record.state);
    return states[stage->state];
}

/* --- findings --- */

static void add_evidence(struct tl_page *page, const struct tl_finding *finding)
{
    static const char *const words[] = {"for", "against", "not known", "not needed"};
    page_add_heading(page, "Evidence");
    for (int kind = 0; kind < 4; kind++) {
        for (size_t i = 0; i < finding->evidence_count; i++) {
            const struct tl_evidence *evidence = &finding->evidence[i];
            int is = evidence->truth == TL_UNKNOWN_TRUTH ? 2
                     : evidence->is_spare                ? 3
                     : evidence->is_for                  ? 0
                                                         : 1;
            if (is != kind)
                continue;
            page_add_entry(page, words[kind], evidence->say);
            tl_page_space(page, LABEL + 1);
            page_add_words(page, TL_SAID_DIM, LABEL + 3, evidence->test);
        }
    }
}

static void add_doing(struct tl_page *page, const char *label, const char *text)
{
    if (tl_remedy_is_command(text))
        page_add_command(page, label, text);
    else
        page_add_entry(page, label, text);
}

static void add_to_fill_in(struct tl_page *page, const struct tl_run *run,
                           const struct tl_remedy *remedy)
{
    struct tl_buf says = TL_BUF_INIT;
    tl_report_to_fill_in(run, remedy, &says);
    page_add_entry(page, "", tl_buf_text(&says));
    if (says.status != TL_OK)
        page->status = says.status;
    tl_buf_finish(&says);
}

static void add_remedies(struct tl_page *page, const struct tl_run *run,
                         const struct tl_finding *finding)
{
    for (size_t i = 0; i < finding->remedy_count; i++) {
        const struct tl_remedy *remedy = &finding->remedies[i];
        char text[96];
        snprintf(text, sizeof text, "Fix %zu of %zu: on %s, needs %s", i + 1, finding->remedy_count,
                 tui_place(run, remedy->where), remedy->needs);
        page_add_heading(page, text);
        add_doing(page, "now", remedy->does);
        add_to_fill_in(page, run, remedy);
        add_doing(page, "permanent", remedy->persist);
        page_add_entry(page, "why", remedy->why);
        page_add_entry(page, "risk", remedy->risk);
        add_doing(page, "undo", remedy->undo);
    }
}

static void add_finding(struct tl_page *page, const struct tl_session_result *result,
                        const struct tl_finding *finding)
{
    const struct tl_run *run = &result->run;
    char text[128], rate[TL_UNIT_TEXT_SIZE];
    page_add_words(page, TL_SAID_STRONG, 0, finding->title);
    snprintf(text, sizeof text, "%s, %s: %s", tui_place(run, finding->segment),
             tl_direction_name(finding->direction), tl_result_name(finding->result));
    page_add_entry(page, "where", text);
    if (finding->result == TL_FOUND) {
        snprintf(text, sizeof text, "%s, confidence %.2f", tl_severity_name(finding->severity),
                 finding->confidence);
        page_add_entry(page, "weight", text);
    }
    if (!isnan(finding->ceiling_bps))
        page_add_entry(
            page, "ceiling",
            tl_format_bps_known(finding->ceiling_bps,
                                tl_told_doubt(result->facts, &result->findings->verdict,
                                              finding->direction, finding->ceiling_bps,
                                              finding->ceiling_low_bps, finding->ceiling_high_bps),
                                rate));
    page_add_entry(page, "says", finding->sentence);
    snprintf(text, sizeof text, "%s, by the rule %s", finding->cause, finding->rule);
    page_add_entry(page, "id", text);
    page_add_entry(page, "standing", finding->standing);
    page_add_entry(page, "changes if", finding->would_change);
    add_evidence(page, finding);
    if (finding->result == TL_FOUND)
        add_remedies(page, run, finding);
    page_add_entry(page, "send to", finding->result == TL_FOUND ? finding->send_to : NULL);
}

/* --- one stage, one hop --- */

struct stage_facts {
    struct tl_page *page;
    const char *stage;
    int count;
};

static void add_fact(struct tl_fact_key key, const struct tl_fact *fact, void *context)
{
    struct stage_facts *facts = context;
    char line[320], id[TL_FACT_ID_SIZE];
    if (strcmp(fact->stage, facts->stage) != 0)
        return;
    if (facts->count++ == 0)
        page_add_heading(facts->page, "What it measured");
    if (fact->state != TL_FACT_KNOWN)
        snprintf(line, sizeof line, "not known: %s", fact->reason);
    else if (fact->unit == TL_UNIT_TEXT)
        snprintf(line, sizeof line, "%.300s", fact->text);
    else if (fact->unit == TL_UNIT_BPS)
        tl_format_bps_bounded(fact->number, fact->low, fact->high, line);
    else if (fact->unit == TL_UNIT_BYTES)
        tl_format_bytes(fact->number, line);
    else if (fact->unit == TL_UNIT_NS)
        tl_format_ns(fact->number, line);
    else if (fact->unit == TL_UNIT_RATIO)
        tl_format_ratio(fact->number, line);
    else if (fact->unit == TL_UNIT_BOOL)
        snprintf(line, sizeof line, "%s", fact->number != 0 ? "yes" : "no");
    else
        snprintf(line, sizeof line, "%.6g", fact->number);
    int id_columns = facts->page->width >= 76 ? 38 : 30;
    tl_page_addf(facts->page, TL_SAID_PLAIN, "  %-*s ", id_columns, tl_fact_id(key, id));
    page_add_words(facts->page, TL_SAID_PLAIN, 4, line);
}

static void add_stage(struct tl_page *page, const struct tui_state *state)
{
    const struct tui_stage *stage = &state->run.stages[state->page.index];
    struct stage_facts facts = {.page = page, .stage = stage->id};
    char text[TL_UNIT_TEXT_SIZE];
    page_add_entry(page, "state", stage_state(stage));
    if (stage->state == TL_STAGE_ENDED) {
        page_add_entry(page, "because", stage->record.reason);
        page_add_entry(page, "took", tl_format_ns((double)stage->record.duration_ns, text));
        page_add_entry(page, "sent", tl_format_traffic((double)stage->record.sent_bytes, text));
        page_add_entry(page, "received",
                       tl_format_traffic((double)stage->record.received_bytes, text));
    } else {
        page_add_entry(page, "why", stage->why);
    }
    if (state->result && state->result->facts)
        tl_facts_each(state->result->facts, add_fact, &facts);
    else
        page_add_entry(page, "facts", "shown here when the run has ended");
}

static void add_hop(struct tl_page *page, const struct tui_state *state)
{
    const struct tl_hop_record *hop = &state->result->run.hops[state->page.index];
    const struct tl_run *run = &state->result->run;
    char text[160];
    page_add_entry(page, "name", hop->name[0] ? tui_name(state, hop->name) : "it has none");
    page_add_entry(page, "address",
                   hop->address[0] ? tui_name(state, hop->address) : "it never answered");
    snprintf(text, sizeof text, "%d of %d probes", hop->answered_count, hop->sent_count);
    page_add_entry(page, "answered", text);
    page_add_heading(page, "Round trip from this PC");
    page_add_number(page, "least", hop->rtt_min_ns, tl_format_ns);
    page_add_number(page, "mean", hop->rtt_mean_ns, tl_format_ns);
    page_add_number(page, "most", hop->rtt_max_ns, tl_format_ns);
    page_add_number(page, "under load", hop->loaded_rtt_ns, tl_format_ns);
    if (!isnan(hop->loaded_rtt_ns) && !isnan(hop->rtt_mean_ns))
        page_add_number(page, "load adds", fmax(hop->loaded_rtt_ns - hop->rtt_mean_ns, 0),
                        tl_format_ns);
    page_add_heading(page, "What to make of it");
    page_add_entry(page, "", hop->note[0] ? hop->note : "nothing stands out here");
    bool last = (int)state->page.index + 1 == run->hop_count;
    if (!last && hop->answered_count < hop->sent_count)
        page_add_entry(
            page, "",
            "A router answers such probes when it has time for it. Missing answers are loss "
            "only where every hop behind it misses as many, to the far end.");
}

/* --- verification --- */

static const char *score_heading(enum tl_score score)
{
    static const char *const headings[TL_SCORES] = {
        [TL_SCORE_MISS] = "MISS: the prediction did not come true",
        [TL_SCORE_HIT] = "HIT: the prediction came true",
        [TL_SCORE_INSIDE] = "INSIDE: within the range that was predicted",
        [TL_SCORE_BOUND] = "BOUND: no number was promised, and none missed"};
    return headings[score];
}

/* As exactly as such rates are known: what was measured anyway by its bounds, else to a tenth. */
static void add_tried_rate(struct tl_page *page, const struct tui_state *state,
                           const struct tl_verified_record *verified, const char *label, double bps)
{
    char text[TL_UNIT_TEXT_SIZE];
    double doubt = tl_told_prediction_doubt(state->result->facts, verified->direction, bps);
    page_add_entry(page, label, tl_format_bps_known(bps, doubt, text));
}

static void add_verified(struct tl_page *page, const struct tui_state *state)
{
    const struct tl_run *run = &state->result->run;
    for (int i = 0; i < run->verified_count; i++) {
        const struct tl_verified_record *verified = &run->verified[i];
        char text[160];
        const struct tl_prediction *predicted = &verified->predicted;
        double off = verified->measured_bps / predicted->bps - 1;
        bool at_least = isinf(predicted->high_bps);
        page_add_heading(page, score_heading(verified->score));
        page_add_entry(page, "tried", verified->what);
        page_add_entry(page, "direction", tl_direction_name(verified->direction));
        add_tried_rate(page, state, verified, at_least ? "at least" : "predicted", predicted->bps);
        if (isfinite(predicted->low_bps) && isfinite(predicted->high_bps)) {
            add_tried_rate(page, state, verified, "from", predicted->low_bps);
            add_tried_rate(page, state, verified, "to", predicted->high_bps);
        }
        add_tried_rate(page, state, verified, "measured", verified->measured_bps);
        if (isfinite(off)) {
            snprintf(text, sizeof text, "%+.0f %% of the prediction; a HIT is within 10 %%",
                     100 * off);
            page_add_entry(page, "off by", text);
        }
        page_add_entry(page, "rule", verified->rule);
    }
    if (!run->verified_count)
        page_add_entry(page, "", "Nothing was tried.");
}

/* --- masks --- */

static void add_masks(struct tl_page *page, const struct tui_state *state)
{
    const struct tl_redactor *redactor = state->leaving.redactor;
    size_t count = tui_masked_count(&state->leaving);
    page_add_entry(page, "",
                   count ? "The values on the right stay here; in their place leaves the mask."
                         : "Nothing is masked.");
    for (size_t i = 0; i < count; i++) {
        struct tl_mask mask = tl_redactor_at(redactor, i);
        char text[700];
        snprintf(text, sizeof text, "%.511s (%s, %zu time%s)", mask.value,
                 tl_mask_kind_text(mask.kind), mask.count, mask.count == 1 ? "" : "s");
        tl_page_addf(page, TL_SAID_PLAIN, "  %-16s ", mask.mask);
        page_add_words(page, TL_SAID_PLAIN, 19, text);
    }
}

/* As they are, a line each: they may be copied from here. */
static void add_curl(struct tl_page *page, const struct tui_state *state)
{
    page_add_entry(page, "", "What Enter would send, as commands. The token is named by its file.");
    tl_page_end_line(page, TL_LINE_TEXT);
    for (const char *line = state->leaving.requests ? state->leaving.requests : ""; *line;) {
        size_t len = strcspn(line, "\n");
        struct tl_buf one = TL_BUF_INIT;
        tl_buf_add(&one, line, len);
        tl_page_add(page, TL_SAID_PLAIN, tl_buf_text(&one));
        tl_page_end_line(page, TL_LINE_TEXT);
        tl_buf_finish(&one);
        line += len + (line[len] == '\n');
    }
}

/* --- which page --- */

static const struct tl_finding *finding_at(const struct tui_state *state)
{
    return &state->result->findings->findings[state->page.index];
}

void tui_page_build(const struct tui_state *state, struct tl_page *page)
{
    const struct tl_session_result *result = state->result;
    struct tl_buf text = TL_BUF_INIT;
    switch (state->page.kind) {
    case TUI_PAGE_SIMPLE:
        tl_report_plain(&result->run, result->facts, result->findings, page);
        break;
    case TUI_PAGE_ENGINEER:
        if (tl_why(result->findings, result->facts, &text) == TL_OK)
            tl_page_add_lines(page, tl_buf_text(&text));
        break;
    case TUI_PAGE_CAUSE:
        if (tl_why_not(result->findings, result->facts, finding_at(state)->cause, &text) == TL_OK)
            tl_page_add_lines(page, tl_buf_text(&text));
        break;
    case TUI_PAGE_FINDING:
        add_finding(page, state->result, finding_at(state));
        break;
    case TUI_PAGE_HOP:
        add_hop(page, state);
        break;
    case TUI_PAGE_STAGE:
        add_stage(page, state);
        break;
    case TUI_PAGE_VERIFY:
        add_verified(page, state);
        break;
    case TUI_PAGE_MASKS:
        add_masks(page, state);
        break;
    case TUI_PAGE_CURL:
        add_curl(page, state);
        break;
    default: /* it is drawn, or there is none */
        break;
    }
    tl_buf_finish(&text);
}

/* "From 203.0.113.9:443", "Flow 3: 192.0.2.10:40022 -> 203.0.113.9:443". */
static const char *title_of_flow(const struct tui_state *state, char ret_title[160])
{
    const struct tl_app_live_row *running = &state->watch.open;
    const struct tl_app_pcap_row *captured = &state->packets.open;
    if (state->page.kind == TUI_PAGE_WATCH)
        snprintf(ret_title, 160, "%s %.80s", running->direction == TL_UPLOAD ? "To" : "From",
                 tui_name(state, running->peer));
    else
        snprintf(ret_title, 160, "Flow %zu: %.60s %s %.60s", captured->number,
                 tui_name(state, captured->client), captured->direction == TL_UPLOAD ? "->" : "<-",
                 tui_name(state, captured->server));
    return ret_title;
}

const char *tui_page_title(const struct tui_state *state, char ret_title[160])
{
    const struct tui_stage *stage;
    switch (state->page.kind) {
    case TUI_PAGE_SIMPLE:
        return "The verdict in plain words";
    case TUI_PAGE_ENGINEER:
        return "Why this verdict, for an engineer";
    case TUI_PAGE_CAUSES:
        return "Why not the others";
    case TUI_PAGE_CAUSE:
        snprintf(ret_title, 160, "Why not: %.140s", finding_at(state)->title);
        return ret_title;
    case TUI_PAGE_FINDING:
        snprintf(ret_title, 160, "Cause: %.100s", tl_cause_name(finding_at(state)->cause));
        return ret_title;
    case TUI_PAGE_HOP:
        snprintf(ret_title, 160, "Hop %d of the way",
                 state->result->run.hops[state->page.index].hop);
        return ret_title;
    case TUI_PAGE_STAGE:
        stage = &state->run.stages[state->page.index];
        snprintf(ret_title, 160, "Stage %s%s%s", stage->id, stage->has_direction ? ", " : "",
                 stage->has_direction ? tl_direction_name(stage->direction) : "");
        return ret_title;
    case TUI_PAGE_VERIFY:
        return "Prediction against result";
    case TUI_PAGE_MASKS:
        return "What is masked";
    case TUI_PAGE_CURL:
        return "The sending as commands for curl";
    case TUI_PAGE_WATCH:
    case TUI_PAGE_PACKETS:
        return title_of_flow(state, ret_title);
    case TUI_NO_PAGE:
        break;
    }
    return "";
}
