/* The verdict's finding: evidence for and against, remedies with their gain, what
 * limits next, and whom to send it to. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plain.h"
#include "text_parts.h"
#include "text_words.h"
#include "tightlink/base/units.h"
#include "tightlink/rules/verdict.h"

#define LABEL_COLUMNS 10

/* A smaller gain is none: it would not show in the numbers. */
#define WORTH_A_LINE 1.005
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

static bool is_told_unknown(const struct tl_evidence *evidence)
{
    return evidence->truth == TL_UNKNOWN_TRUTH && !evidence->is_spare;
}

/* Several tests may want the same fact: it is told once. */
static void print_unknown(struct text *t, const struct tl_finding *finding)
{
    for (size_t i = 0; i < finding->evidence_count; i++) {
        const struct tl_evidence *evidence = &finding->evidence[i];
        bool told = false;
        for (size_t before = 0; before < i; before++)
            told |= is_told_unknown(&finding->evidence[before]) &&
                    strcmp(finding->evidence[before].say, evidence->say) == 0;
        if (is_told_unknown(evidence) && !told)
            text_entry(t, "not known", LABEL_COLUMNS, evidence->say);
    }
}

void text_evidence(struct text *t, const struct text_source *source)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    const struct tl_finding *finding = tl_findings_verdict(source->findings);
    if (!finding)
        return;
    struct tl_buf why = TL_BUF_INIT;
    text_heading(t, "Evidence");
    text_add_why(source, &why);
    if (why.len)
        text_entry(t, "why", LABEL_COLUMNS, tl_buf_text(&why));
    text_keep_status(t, why.status);
    tl_buf_finish(&why);
    print_evidence(t, finding, true);
    print_evidence(t, finding, false);
    print_unknown(t, finding);
    if (verdict->confidence_reasons && *verdict->confidence_reasons)
        text_entry(t, "confidence", LABEL_COLUMNS, verdict->confidence_reasons);
    if (finding->would_change && *finding->would_change)
        text_entry(t, "changes if", LABEL_COLUMNS, finding->would_change);
}

/* --- remedies --- */

/* "about 930 Mb/s", "about 87 Mb/s (78 Mb/s to 96 Mb/s)", "at least 4.2 Mb/s" */
static void print_prediction(const struct text_source *source, char *ret_text, size_t size,
                             const struct tl_prediction *predicted)
{
    char bps[TL_UNIT_TEXT_SIZE], low[TL_UNIT_TEXT_SIZE], high[TL_UNIT_TEXT_SIZE];
    bool at_least = isinf(predicted->high_bps);
    bool is_range = isfinite(predicted->high_bps) && isfinite(predicted->low_bps);
    text_predicted_rate(source, predicted->bps, at_least, bps);
    text_predicted_rate(source, predicted->low_bps, false, low);
    text_predicted_rate(source, predicted->high_bps, false, high);
    if (at_least)
        snprintf(ret_text, size, "at least %s", bps);
    else if (is_range && strcmp(low, high) != 0)
        snprintf(ret_text, size, "about %s (%s to %s)", bps, low, high);
    else
        snprintf(ret_text, size, "about %s", bps);
}

/* Several connections were tried already: what they get is no guess, and "at least" that much may
 * stand beside it as the gain of another fix. */
static void print_after(const struct text_source *source, char *ret_text, size_t size,
                        const struct tl_remedy *remedy)
{
    const struct tl_prediction *predicted = &remedy->predicted;
    char rate[TL_UNIT_TEXT_SIZE];
    double doubt;
    if (remedy->trial.kind == TL_TRIAL_STREAMS && !isinf(predicted->high_bps) &&
        tl_told_measured(source->facts, source->findings->verdict.direction, predicted->bps,
                         &doubt))
        snprintf(ret_text, size, "%s, as measured",
                 text_predicted_rate(source, predicted->bps, false, rate));
    else
        print_prediction(source, ret_text, size, predicted);
}

static void print_gain(struct text *t, const struct text_source *source,
                       const struct tl_remedy *remedy)
{
    const struct tl_prediction *predicted = &remedy->predicted;
    bool at_least = isinf(predicted->high_bps);
    double now = text_measured_bps(source),
           then = text_predicted_bps(source, predicted->bps, at_least);
    char before[TL_UNIT_TEXT_SIZE], after[128], slow[32], fast[32], text[256];
    text_measured_rate(source, before);
    if (then < WORTH_A_LINE * now)
        return; /* it tells more, or saves what was sent, and makes nothing faster */
    print_after(source, after, sizeof after, remedy);
    int n = snprintf(text, sizeof text, "%s %s %s", before, text_arrow(t), after);
    if (then >= WORTH_A_FACTOR * now)
        snprintf(text + n, sizeof text - (size_t)n,
                 then < 10 * now ? " (%.2g times)" : " (%.0f times)", then / now);
    text_entry(t, "gain", LABEL_COLUMNS, text);
    if (strcmp(plain_file_time(now, slow), plain_file_time(then, fast)) == 0)
        return;
    snprintf(text, sizeof text, "%s %s %s%s", slow, text_arrow(t), at_least ? "at most " : "",
             fast);
    text_entry(t, "10 GB file", LABEL_COLUMNS, text);
}

/* "Fix 1 of 2: on this PC, as its administrator (root)"; a single one is "Fix: ...". */
static void print_fix_heading(struct text *t, const struct text_source *source,
                              const struct tl_remedy *remedy, size_t number, size_t count)
{
    bool transfer = strcmp(remedy->where, "flow") == 0;
    struct tl_buf heading = TL_BUF_INIT;
    tl_buf_adds(&heading, "Fix");
    if (count > 1)
        tl_buf_addf(&heading, " %zu of %zu", number, count);
    tl_buf_adds(&heading, transfer ? ": in " : ": on ");
    plain_add_place(source, remedy->where, false, &heading);
    plain_add_system(source, remedy, &heading);
    if (remedy->needs && *remedy->needs)
        tl_buf_addf(&heading, ", %s", text_needs(remedy->needs));
    text_heading(t, tl_buf_text(&heading));
    text_keep_status(t, heading.status);
    tl_buf_finish(&heading);
}

/* A sentence that calls the other computer by its name. */
static void named_entry(struct text *t, const struct text_source *source, const char *label,
                        const char *text)
{
    struct tl_buf named = TL_BUF_INIT;
    if (!text || !*text)
        return;
    plain_add_named(source, text, &named);
    text_entry(t, label, LABEL_COLUMNS, tl_buf_text(&named));
    text_keep_status(t, named.status);
    tl_buf_finish(&named);
}

/* Whom it goes to, and where that person reads what it rests on. */
static void print_send_to(struct text *t, const struct text_source *source)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    struct tl_buf command = TL_BUF_INIT;
    named_entry(t, source, "send to", verdict->send_to);
    text_add_page(source, &command);
    if (command.len)
        text_command(t, "read more", LABEL_COLUMNS, tl_buf_text(&command));
    text_keep_status(t, command.status);
    tl_buf_finish(&command);
}

/* A command is to be copied whole. */
static void remedy_entry(struct text *t, const struct text_source *source, const char *label,
                         const char *text)
{
    if (text && *text && tl_remedy_is_command(text))
        text_command(t, label, LABEL_COLUMNS, text);
    else
        named_entry(t, source, label, text);
}

void text_to_fill_in(struct text *t, const struct text_source *source,
                     const struct tl_remedy *remedy)
{
    struct tl_buf says = TL_BUF_INIT;
    plain_add_to_fill_in(source, remedy, &says);
    if (says.len)
        text_entry(t, "", LABEL_COLUMNS, tl_buf_text(&says));
    text_keep_status(t, says.status);
    tl_buf_finish(&says);
}

static void print_remedy(struct text *t, const struct text_source *source,
                         const struct tl_remedy *remedy, size_t number, size_t count)
{
    print_fix_heading(t, source, remedy, number, count);
    remedy_entry(t, source, "do", remedy->does);
    text_to_fill_in(t, source, remedy);
    if (number == 1)
        print_send_to(t, source);
    if (remedy->promised)
        print_gain(t, source, remedy);
    remedy_entry(t, source, "to keep it", remedy->persist);
    remedy_entry(t, source, "undo", remedy->undo);
    named_entry(t, source, "why", remedy->why);
    named_entry(t, source, "risk", remedy->risk);
}

void text_command_again(struct text *t, const struct text_source *source, const char *command)
{
    struct tl_buf stand_in = TL_BUF_INIT;
    plain_add_stand_in(source, &stand_in);
    text_command(t, "", LABEL_COLUMNS, command);
    if (stand_in.len)
        text_entry(t, "", LABEL_COLUMNS, tl_buf_text(&stand_in));
    text_keep_status(t, stand_in.status);
    tl_buf_finish(&stand_in);
}

/* Nothing where a run cannot be made again and no next limit was measured. */
static void print_next(struct text *t, const struct text_source *source)
{
    const struct tl_rung *rung = text_next_rung(source->findings);
    const struct tl_verdict *verdict = &source->findings->verdict;
    char rate[TL_UNIT_TEXT_SIZE];
    struct tl_buf text = TL_BUF_INIT;
    bool again = !rung && verdict->fixed_stage && plain_add_again(source, &text);
    if (again)
        tl_buf_addf(&text, " --stages %s", verdict->fixed_stage);
    if (rung) {
        plain_add_place(source, rung->segment, false, &text);
        tl_buf_addf(&text, ", %s: %s", rung->label, text_rung_rate(source, rung, rate));
    }
    if (text.len) {
        text_heading(t, "After the fix");
        text_entry(t, "next limit", LABEL_COLUMNS,
                   again ? "not known; this would tell:" : tl_buf_text(&text));
    }
    if (again)
        text_command_again(t, source, tl_buf_text(&text));
    text_keep_status(t, text.status);
    tl_buf_finish(&text);
}

/* A remedy that was tried: what was predicted, what came. */
static void print_verified(struct text *t, const struct text_source *source)
{
    const struct tl_run *run = source->run;
    if (run->verified_count == 0)
        return;
    text_heading(t, "Tried in tightlink's own sockets");
    for (int i = 0; i < run->verified_count; i++) {
        const struct tl_verified_record *verified = &run->verified[i];
        char text[448], predicted[128], measured[TL_UNIT_TEXT_SIZE];
        print_prediction(source, predicted, sizeof predicted, &verified->predicted);
        snprintf(text, sizeof text, "%s: %s predicted, %s measured%s", verified->what, predicted,
                 text_predicted_rate(source, verified->measured_bps, false, measured),
                 text_score_note(verified->score));
        text_entry(t, text_score(verified->score), LABEL_COLUMNS, text);
    }
}

void text_way_on(struct text *t, const struct text_source *source,
                 void (*heading)(struct text *t, const char *words))
{
    struct tl_buf says = TL_BUF_INIT, command = TL_BUF_INIT;
    if (!plain_add_way_on(source, &says, &command))
        return;
    if (heading)
        heading(t, "What to do");
    text_entry(t, "do", LABEL_COLUMNS, tl_buf_text(&says));
    if (command.len)
        text_command_again(t, source, tl_buf_text(&command));
    text_keep_status(t, says.status);
    text_keep_status(t, command.status);
    tl_buf_finish(&says);
    tl_buf_finish(&command);
}

void text_fix(struct text *t, const struct text_source *source)
{
    const struct tl_finding *finding = tl_findings_verdict(source->findings);
    size_t count = finding ? finding->remedy_count : 0;
    if (source->findings->verdict.state != TL_LIMITED) {
        text_way_on(t, source, text_heading);
        return;
    }
    for (size_t i = 0; i < count; i++)
        print_remedy(t, source, &finding->remedies[i], i + 1, count);
    print_verified(t, source);
    if (!count) {
        text_heading(t, "Fix");
        text_entry(t, "do", LABEL_COLUMNS, "No setting is known that helps here.");
        print_send_to(t, source);
    }
    print_next(t, source);
}
