/* The head of a report: what limits, what it means, why, the rates. Its sentences are made here
 * for every format. */
#include <math.h>
#include <string.h>

#include "plain.h"
#include "text_parts.h"
#include "text_words.h"
#include "tightlink/base/units.h"

/* From this gain on a fix is worth a word in the first lines. */
#define WORTH_SAYING 1.1
/* A limit below this share of what was measured is what comes later, and no scatter of either. */
#define LASTING_RATIO 0.9
/* Reasons that the first lines have room for. */
#define HEAD_REASONS 2

static void print_mark(struct text *t, const struct text_source *source)
{
    enum tl_verdict_state state = source->findings->verdict.state;
    static const struct {
        const char *mark;
        enum tl_meaning ink;
    } marks[] = {
        [TL_LIMITED] = {"(!) ", TL_SAID_BAD},
        [TL_GOAL_MET] = {"ok  ", TL_SAID_GOOD},
        [TL_INCONCLUSIVE] = {"(?) ", TL_SAID_STRONG},
        [TL_VERDICT_INVALID] = {"(x) ", TL_SAID_BAD},
    };
    if (plain_stopped_too_early(source))
        state = TL_INCONCLUSIVE;
    text_add(t, marks[state].ink, marks[state].mark);
}

/* A limit of the path that was measured. (The goal may ask for a longer path; its sentence
 * then says all.) */
static bool limits_here(const struct tl_verdict *verdict, const struct tl_run *run)
{
    return verdict->state == TL_LIMITED && verdict->segment && verdict->measured_bps > 0 &&
           !(verdict->measured_bps >= run->goal.bps);
}

/* The test itself went faster than the limit, as behind a shaper that grants a fast start. */
static bool is_less_later(const struct tl_verdict *verdict)
{
    return verdict->ceiling_bps > 0 && verdict->ceiling_bps < LASTING_RATIO * verdict->measured_bps;
}

/* What a long transfer gets as things are. */
static double lasting_bps(const struct tl_verdict *verdict)
{
    return is_less_later(verdict) ? verdict->ceiling_bps : verdict->measured_bps;
}

/* The rate after the fix, as it is named, where it is worth a word and may be promised; else NAN.
 */
static double promised(const struct text_source *source)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    bool say = verdict->state == TL_LIMITED && verdict->fixed_promised &&
               verdict->fixed_bps >= WORTH_SAYING * lasting_bps(verdict);
    return say ? text_predicted_bps(source, verdict->fixed_bps, verdict->fixed_at_least)
               : (double)NAN;
}

/* Half of what the rate may be off by; NAN where that is not known. */
static double measured_doubt(const struct text_source *source)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    return tl_told_doubt(source->facts, verdict, verdict->direction, verdict->measured_bps,
                         (double)NAN, (double)NAN);
}

double text_measured_bps(const struct text_source *source)
{
    return tl_round_known(source->findings->verdict.measured_bps, measured_doubt(source));
}

/* How long 10 GB take as things are. */
static const char *file_time_now(const struct text_source *source, char ret_text[32])
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    return plain_file_time(
        is_less_later(verdict) ? verdict->ceiling_bps : text_measured_bps(source), ret_text);
}

const char *text_measured_rate(const struct text_source *source, char ret_text[TL_UNIT_TEXT_SIZE])
{
    return tl_format_bps_known(text_measured_bps(source), measured_doubt(source), ret_text);
}

/* A rate that was measured elsewhere (by several connections, with large buffers) is known as that
 * is, and seen, so that it needs no rounding down; the verdict's direction is that of all remedies.
 */
static bool predicted_doubt(const struct text_source *source, double bps, double *ret_doubt)
{
    if (tl_told_measured(source->facts, source->findings->verdict.direction, bps, ret_doubt))
        return true;
    *ret_doubt = TL_PREDICTION_DOUBT * bps;
    return false;
}

double text_predicted_bps(const struct text_source *source, double bps, bool at_least)
{
    double doubt;
    bool seen = predicted_doubt(source, bps, &doubt);
    double rate = tl_round_known(bps, doubt);
    return at_least && !seen && rate > bps ? tl_round_known(bps - doubt, doubt) : rate;
}

const char *text_predicted_rate(const struct text_source *source, double bps, bool at_least,
                                char ret_text[TL_UNIT_TEXT_SIZE])
{
    double doubt;
    (void)predicted_doubt(source, bps, &doubt);
    return tl_format_bps_known(text_predicted_bps(source, bps, at_least), doubt, ret_text);
}

const struct tl_rung *text_next_rung(const struct tl_findings *findings)
{
    const struct tl_verdict *verdict = &findings->verdict;
    for (size_t i = 0; verdict->next_cause && i < findings->rung_count; i++) {
        const struct tl_rung *rung = &findings->ladder[i];
        if (rung->direction == verdict->direction && rung->tested &&
            (verdict->broken || !rung->limits) && strcmp(rung->cause, verdict->next_cause) == 0)
            return rung;
    }
    return NULL;
}

const char *text_rung_rate(const struct text_source *source, const struct tl_rung *rung,
                           char ret_text[TL_UNIT_TEXT_SIZE])
{
    double doubt = tl_told_doubt(source->facts, &source->findings->verdict, rung->direction,
                                 rung->bps, rung->low_bps, rung->high_bps);
    return tl_format_bps_known(rung->bps, doubt, ret_text);
}

/* "20 Mb/s in the long run" where the test was faster; else the rate of the test. */
static void add_lasting_rate(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    char rate[TL_UNIT_TEXT_SIZE];
    if (is_less_later(verdict))
        tl_buf_addf(out, "%s in the long run",
                    text_predicted_rate(source, verdict->ceiling_bps, false, rate));
    else
        tl_buf_adds(out, text_measured_rate(source, rate));
}

/* "This PC limits the download: 96.1 Mb/s instead of about 930 Mb/s." Says no more than the
 * verdict's place, direction, confidence and rates. */
static void add_limit(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    char then[TL_UNIT_TEXT_SIZE];
    bool gain = promised(source) > 0;
    plain_add_place(source, verdict->segment, true, out);
    tl_buf_addf(out, " %slimits the %s%s ",
                verdict->confidence >= TL_CONFIDENCE_HIGH     ? ""
                : verdict->confidence >= TL_CONFIDENCE_MEDIUM ? "probably "
                                                              : "possibly ",
                tl_direction_name(verdict->direction), gain ? ":" : " to");
    add_lasting_rate(source, out);
    if (gain)
        tl_buf_addf(out, " instead of %s %s", verdict->fixed_at_least ? "at least" : "about",
                    text_predicted_rate(source, verdict->fixed_bps, verdict->fixed_at_least, then));
    tl_buf_adds(out, ".");
}

/* "We do not know yet what holds the download at 96.1 Mb/s; 900 Mb/s were asked for." */
static void add_unknown(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    char rate[TL_UNIT_TEXT_SIZE];
    tl_buf_addf(out, "We do not know yet what holds the %s at %s",
                tl_direction_name(verdict->direction), text_measured_rate(source, rate));
    if (source->run->goal.bps > verdict->measured_bps)
        tl_buf_addf(out, "; %s were asked for", tl_format_bps(source->run->goal.bps, rate));
    tl_buf_adds(out, ".");
}

void text_add_origin(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_run *run = source->run;
    struct tl_fact name;
    char when[32];
    if (!run->id[0])
        return;
    tl_facts_get(source->facts, TL_NEAR(name), &name);
    tl_buf_addf(out, "Run %s", run->id);
    if (run->started[0])
        tl_buf_addf(out, ", %s", tl_report_minute(run->started, when));
    if (name.state == TL_FACT_KNOWN)
        tl_buf_addf(out, ", measured on %s", name.text);
}

void text_add_headline(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    size_t before = out->len;
    if (verdict->broken) /* no limit of the rate: what broke says all */
        plain_add_cause(source, out);
    else if (limits_here(verdict, source->run))
        add_limit(source, out);
    else if (verdict->undecided)
        add_unknown(source, out);
    if (out->len == before)
        plain_add_named(source, verdict->sentence ? verdict->sentence : "No verdict was formed.",
                        out);
}

void tl_report_headline(const struct tl_run *run, const struct tl_facts *facts,
                        const struct tl_findings *findings, struct tl_buf *out)
{
    const struct text_source source = {.run = run, .facts = facts, .findings = findings};
    text_add_headline(&source, out);
}

void text_add_cause(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    if (!verdict->broken)
        plain_add_cause(source, out);
}

void tl_report_says(const struct tl_run *run, const struct tl_facts *facts,
                    const struct tl_findings *findings, struct tl_buf *out)
{
    const struct text_source source = {.run = run, .facts = facts, .findings = findings};
    struct tl_buf cause = TL_BUF_INIT;
    text_add_headline(&source, out);
    text_add_cause(&source, &cause);
    tl_buf_addf(out, "%s%s", cause.len ? " " : "", tl_buf_text(&cause));
    if (cause.status != TL_OK)
        out->status = cause.status;
    tl_buf_finish(&cause);
}

/* Whether the rate counts, so that times may be told of it. */
static bool counts(const struct tl_verdict *verdict)
{
    return verdict->measured_bps > 0 &&
           (verdict->state == TL_LIMITED || verdict->state == TL_GOAL_MET || verdict->undecided);
}

/* What a fix brings where no rate is promised for it, behind another sentence. */
static const char *unknown_gain(const struct tl_verdict *verdict)
{
    if (verdict->state != TL_LIMITED)
        return "";
    return verdict->fixed_promised && !verdict->fixed_at_least
               ? " A fix brings little more."
               : " What a fix brings is not known yet.";
}

/* A rate that was broken off says nothing of a file; what it was held to beside that does. */
static void add_apart_from_that(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_rung *rung = text_next_rung(source->findings);
    char rate[TL_UNIT_TEXT_SIZE];
    if (!rung) {
        tl_buf_adds(out, "What a fix brings is not known yet.");
        return;
    }
    tl_buf_adds(out, "Apart from that ");
    plain_add_place(source, rung->segment, false, out);
    tl_buf_addf(out, " limits the %s to %s.", tl_direction_name(rung->direction),
                text_rung_rate(source, rung, rate));
}

void text_add_consequence(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    char now[32], then[32];
    const char *unknown = unknown_gain(verdict);
    if (verdict->state == TL_VERDICT_INVALID)
        tl_buf_adds(out, "Do not judge the connection by this run.");
    else if (!(verdict->measured_bps > 0))
        tl_buf_addf(out, "No rate was measured.%s", unknown);
    else if (promised(source) > 0)
        tl_buf_addf(out, "A 10 GB file takes about %s now, and %s %s after the fix.",
                    file_time_now(source, now), verdict->fixed_at_least ? "at most" : "about",
                    plain_file_time(promised(source), then));
    else if (verdict->broken)
        add_apart_from_that(source, out);
    else if (counts(verdict))
        tl_buf_addf(out, "A 10 GB file takes about %s.%s", file_time_now(source, now), unknown);
}

void text_add_file_times(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    char now[32], then[32];
    if (!counts(verdict))
        return;
    tl_buf_addf(out, "about %s now", file_time_now(source, now));
    if (promised(source) > 0)
        tl_buf_addf(out, ", %s %s after the fix", verdict->fixed_at_least ? "at most" : "about",
                    plain_file_time(promised(source), then));
}

void text_add_why(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    bool said = !verdict->broken && !verdict->undecided && !limits_here(verdict, source->run);
    if (!said && verdict->sentence)
        tl_buf_adds(out, verdict->sentence);
}

void text_add_route(const struct text_source *source, const char *arrow, struct tl_buf *out)
{
    bool download = source->findings->verdict.direction == TL_DOWNLOAD;
    const char *far = source->run->target_name;
    const char *near =
        tl_run_is_of_others(source->run) ? text_end_name(source->run, "near-host") : "";
    if (!near[0])
        near = text_place(source->run, "near-host");
    tl_buf_addf(out, "%s %s %s", download ? far : near, arrow, download ? near : far);
}

void text_add_confidence(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    if (verdict->state == TL_LIMITED)
        tl_buf_addf(out, "%s (%.0f %%)", text_confidence(verdict->confidence),
                    100 * verdict->confidence);
}

void text_add_page(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    if (verdict->state == TL_LIMITED && verdict->cause)
        tl_buf_addf(out, "tightlink rules explain %s", verdict->cause);
}

static void add_rate(struct tl_buf *line, const char *what, const char *rate)
{
    tl_buf_addf(line, "%s%s %s", line->len ? ", " : "", what, rate);
}

/* "asked 900 Mb/s, got 96.1 Mb/s, possible 930 Mb/s, round trip 42 ms, by HTTP/1.1" */
void text_add_rates(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    struct tl_buf line = TL_BUF_INIT;
    struct tl_fact spoken;
    char text[TL_UNIT_TEXT_SIZE];
    if (source->run->goal.bps > 0)
        add_rate(&line, "asked", tl_format_bps(source->run->goal.bps, text));
    if (verdict->measured_bps > 0)
        add_rate(&line, "got", text_measured_rate(source, text));
    if (is_less_later(verdict))
        add_rate(&line, "in the long run",
                 text_predicted_rate(source, verdict->ceiling_bps, false, text));
    if (promised(source) > 0)
        add_rate(&line, verdict->fixed_at_least ? "possible at least" : "possible",
                 text_predicted_rate(source, verdict->fixed_bps, verdict->fixed_at_least, text));
    double rtt = tl_facts_number(source->facts, TL_PATH(rtt_min_ns), (double)NAN);
    if (rtt > 0)
        add_rate(&line, "round trip", tl_format_ns(rtt, text));
    tl_facts_get(source->facts, TL_PATH(http_spoken), &spoken);
    if (spoken.state == TL_FACT_KNOWN)
        add_rate(&line, "by", spoken.text);
    tl_buf_adds(out, tl_buf_text(&line));
    if (line.status != TL_OK)
        out->status = line.status;
    tl_buf_finish(&line);
}

void text_add_disturbance(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_run *run = source->run;
    int told = run->quality != TL_QUALITY_DEGRADED ? 0
               : run->reason_count < HEAD_REASONS  ? run->reason_count
                                                   : HEAD_REASONS;
    for (int i = 0; i < told; i++)
        tl_buf_addf(out, "%s%s", i ? "; " : "Disturbed: ", run->reasons[i]);
    if (told && run->reason_count > told)
        tl_buf_addf(out, "; and %d more, below", run->reason_count - told);
}

/* --- as plain text --- */

/* Makes a sentence and prints it from a column on; nothing where it is empty. */
static void print_sentence(struct text *t, const struct text_source *source, size_t at,
                           size_t indent,
                           void (*add)(const struct text_source *source, struct tl_buf *out))
{
    struct tl_buf line = TL_BUF_INIT;
    add(source, &line);
    if (line.len) {
        tl_page_space(t->page, indent - at);
        text_wrap(t, indent, tl_buf_text(&line));
    }
    text_keep_status(t, line.status);
    tl_buf_finish(&line);
}

/* "srv-b -> this PC   download        confidence: high (0.93)" */
static void print_route(struct text *t, const struct text_source *source)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    struct tl_buf route = TL_BUF_INIT, confidence = TL_BUF_INIT;
    text_add_route(source, text_arrow(t), &route);
    if (verdict->state == TL_LIMITED)
        tl_buf_adds(&confidence, "confidence: ");
    text_add_confidence(source, &confidence);
    tl_page_space(t->page, 1);
    size_t width = (size_t)t->page->width,
           used = 1 + tl_page_add_cut(t->page, tl_buf_text(&route), width - 14);
    tl_page_addf(t->page, TL_SAID_PLAIN, "   %s", tl_direction_name(verdict->direction));
    used += 3 + strlen(tl_direction_name(verdict->direction));
    if (used + 1 + confidence.len > width) { /* a narrow screen or a long name */
        text_newline(t);
        used = 0;
    }
    tl_page_cell_right(t->page, tl_buf_text(&confidence), width - used);
    text_newline(t);
    text_keep_status(t, route.status);
    text_keep_status(t, confidence.status);
    tl_buf_finish(&route);
    tl_buf_finish(&confidence);
}

static void print_rule(struct text *t)
{
    for (int i = 0; i < t->page->width; i++)
        text_add(t, TL_SAID_PLAIN, t->page->utf8 ? "─" : "-");
    tl_page_end_line(t->page, TL_LINE_RULE);
}

void text_headline(struct text *t, const struct text_source *source)
{
    print_mark(t, source);
    print_sentence(t, source, 4, 4, text_add_headline);
    print_sentence(t, source, 0, 4, text_add_cause);
}

void text_meaning(struct text *t, const struct text_source *source)
{
    print_sentence(t, source, 0, 4, text_add_consequence);
    print_sentence(t, source, 0, 4, text_add_disturbance);
}

void text_rates(struct text *t, const struct text_source *source)
{
    text_newline(t);
    print_rule(t);
    print_route(t, source);
    if (source->findings->verdict.state != TL_VERDICT_INVALID) /* they would only mislead */
        print_sentence(t, source, 0, 1, text_add_rates);
}
