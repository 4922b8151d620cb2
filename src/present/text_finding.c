/* The verdict's finding: evidence for and against, remedies with their gain, what
 * limits next, and whom to send it to. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text_parts.h"
#include "text_words.h"
#include "tightlink/base/units.h"

#define LABEL_COLUMNS 10

/* A smaller gain needs no "(1.0 times)". */
#define WORTH_A_FACTOR 1.1

static void print_evidence(struct text *t, const struct tl_finding *finding, bool is_for)
{
    for (size_t i = 0; i < finding->evidence_count; i++) {
        const struct tl_evidence *evidence = &finding->evidence[i];
        if (evidence->truth != TL_UNKNOWN_TRUTH && evidence->is_for == is_for &&
            !evidence->is_spare)
            text_entry(t, is_for ? "for" : "against", LABEL_COLUMNS, evidence->say);
    }
}

static void print_unknown(struct text *t, const struct tl_finding *finding)
{
    for (size_t i = 0; i < finding->evidence_count; i++)
        if (finding->evidence[i].truth == TL_UNKNOWN_TRUTH && !finding->evidence[i].is_spare)
            text_entry(t, "not known", LABEL_COLUMNS, finding->evidence[i].say);
}

void text_evidence(struct text *t, const struct text_source *source)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    const struct tl_finding *finding = text_verdict_finding(source->findings);
    if (!finding)
        return;
    text_heading(t, "Evidence");
    text_newline(t);
    print_evidence(t, finding, true);
    print_evidence(t, finding, false);
    print_unknown(t, finding);
    if (verdict->confidence_reasons && *verdict->confidence_reasons)
        text_entry(t, "confidence", LABEL_COLUMNS, verdict->confidence_reasons);
    if (finding->would_change && *finding->would_change)
        text_entry(t, "changes if", LABEL_COLUMNS, finding->would_change);
}

/* --- remedies --- */

static void optional_entry(struct text *t, const char *label, const char *text)
{
    if (text && *text)
        text_entry(t, label, LABEL_COLUMNS, text);
}

/* A remedy for one system is a command, to be copied whole; for any system, a sentence. */
static void remedy_entry(struct text *t, const struct tl_remedy *remedy, const char *label,
                         const char *text)
{
    if (!text || !*text)
        return;
    if (remedy->os && *remedy->os)
        text_command(t, label, LABEL_COLUMNS, text);
    else
        text_entry(t, label, LABEL_COLUMNS, text);
}

/* "about 930 Mb/s", "about 87 Mb/s (78 Mb/s to 96 Mb/s)", "at least 4.2 Mb/s" */
static void print_prediction(char *ret_text, size_t size, const struct tl_prediction *predicted)
{
    char bps[TL_UNIT_TEXT_SIZE], low[TL_UNIT_TEXT_SIZE], high[TL_UNIT_TEXT_SIZE];
    tl_format_bps(predicted->bps, bps);
    tl_format_bps(predicted->low_bps, low);
    tl_format_bps(predicted->high_bps, high);
    bool is_range = isfinite(predicted->high_bps) && isfinite(predicted->low_bps);
    if (isinf(predicted->high_bps))
        snprintf(ret_text, size, "at least %s", bps);
    else if (is_range && strcmp(low, high) != 0)
        snprintf(ret_text, size, "about %s (%s to %s)", bps, low, high);
    else
        snprintf(ret_text, size, "about %s", bps);
}

static void print_gain(struct text *t, double now, const struct tl_prediction *predicted)
{
    double then = predicted->bps;
    bool at_least = isinf(predicted->high_bps);
    char before[TL_UNIT_TEXT_SIZE], after[128], slow[32], fast[32], text[256];
    tl_format_bps(now, before);
    if (strcmp(tl_format_bps(then, after), before) == 0)
        return; /* it tells more, or saves what was sent, and makes nothing faster */
    print_prediction(after, sizeof after, predicted);
    int n = snprintf(text, sizeof text, "%s %s %s", before, text_arrow(t), after);
    if (then >= WORTH_A_FACTOR * now)
        snprintf(text + n, sizeof text - (size_t)n,
                 then < 10 * now ? " (%.2g times)" : " (%.0f times)", then / now);
    text_entry(t, "gain", LABEL_COLUMNS, text);
    snprintf(text, sizeof text, "%s %s %s%s", text_file_time(now, slow), text_arrow(t),
             at_least ? "at most " : "", text_file_time(then, fast));
    text_entry(t, "10 GB file", LABEL_COLUMNS, text);
}

static const char *where_text(const char *segment)
{
    return strcmp(segment, "near-host") == 0  ? "on THIS PC"
           : strcmp(segment, "far-host") == 0 ? "on the FAR END"
           : strcmp(segment, "far-lan") == 0  ? "on the FAR END's local network"
           : strcmp(segment, "flow") == 0     ? "in the transfer itself"
           : strcmp(segment, "path") == 0     ? "on the path"
                                              : "on the local network";
}

static void print_remedy(struct text *t, const struct text_source *source,
                         const struct tl_remedy *remedy, size_t number, size_t count)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    char heading[192];
    snprintf(heading, sizeof heading, "Fix %zu of %zu: %s", number, count,
             where_text(remedy->where));
    text_heading(t, heading);
    if (remedy->needs && *remedy->needs) {
        text_add(t, TL_SAID_PLAIN, ", ");
        text_add(t, TL_SAID_PLAIN, text_needs(remedy->needs));
    }
    text_newline(t);
    remedy_entry(t, remedy, "do", remedy->does);
    optional_entry(t, "why", remedy->why);
    if (remedy->promised)
        print_gain(t, verdict->measured_bps, &remedy->predicted);
    remedy_entry(t, remedy, "to keep it", remedy->persist);
    remedy_entry(t, remedy, "undo", remedy->undo);
    optional_entry(t, "risk", remedy->risk);
}

static const struct tl_rung *next_rung(const struct tl_findings *findings)
{
    const struct tl_verdict *verdict = &findings->verdict;
    for (size_t i = 0; verdict->next_cause && i < findings->rung_count; i++) {
        const struct tl_rung *rung = &findings->ladder[i];
        if (rung->direction == verdict->direction && rung->tested && !rung->limits &&
            strcmp(rung->cause, verdict->next_cause) == 0)
            return rung;
    }
    return NULL;
}

static void print_next(struct text *t, const struct tl_findings *findings)
{
    const struct tl_rung *rung = next_rung(findings);
    const struct tl_verdict *verdict = &findings->verdict;
    char text[256], rate[TL_UNIT_TEXT_SIZE];
    if (!rung && verdict->fixed_stage) {
        snprintf(text, sizeof text, "not known; tightlink run --stages %s would tell",
                 verdict->fixed_stage);
        text_entry(t, "next limit", LABEL_COLUMNS, text);
    }
    if (!rung)
        return;
    snprintf(text, sizeof text, "%s, %s: %s", text_place(rung->segment), rung->label,
             tl_format_bps(rung->bps, rate));
    text_entry(t, "next limit", LABEL_COLUMNS, text);
}

/* A remedy that was tried: what was predicted, what came. */
static void print_verified(struct text *t, const struct tl_run *run)
{
    if (run->verified_count == 0)
        return;
    text_heading(t, "Tried in tightlink's own sockets");
    text_newline(t);
    for (int i = 0; i < run->verified_count; i++) {
        const struct tl_verified_record *verified = &run->verified[i];
        char text[448], predicted[128], measured[TL_UNIT_TEXT_SIZE];
        print_prediction(predicted, sizeof predicted, &verified->predicted);
        snprintf(text, sizeof text, "%s: %s predicted, %s measured%s", verified->what, predicted,
                 tl_format_bps(verified->measured_bps, measured), text_score_note(verified->score));
        text_entry(t, text_score(verified->score), LABEL_COLUMNS, text);
    }
}

void text_fix(struct text *t, const struct text_source *source)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    const struct tl_finding *finding = text_verdict_finding(source->findings);
    size_t count = finding ? finding->remedy_count : 0;
    for (size_t i = 0; i < count; i++)
        print_remedy(t, source, &finding->remedies[i], i + 1, count);
    print_verified(t, source->run);
    text_heading(t, count ? "After the fix" : "Fix");
    text_newline(t);
    if (!count)
        text_entry(t, "remedy", LABEL_COLUMNS, "the rules know none for this cause here");
    print_next(t, source->findings);
    optional_entry(t, "send to", verdict->send_to);
}
