/* The verdict as text: which parts a report has, and its first lines.
 *
 * The causes, sentences and numbers come from the findings; nothing is concluded here. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text_parts.h"
#include "text_words.h"
#include "tightlink/base/units.h"

#define WIDTH_MIN 60
#define WIDTH_MAX 200

/* From this gain on a fix is worth a word in the first lines. */
#define WORTH_SAYING 1.1

static void print_mark(struct text *t, enum tl_verdict_state state)
{
    static const struct {
        const char *mark;
        enum text_ink ink;
    } marks[] = {
        [TL_LIMITED] = {"(!) ", TEXT_BAD},
        [TL_GOAL_MET] = {"ok  ", TEXT_GOOD},
        [TL_INCONCLUSIVE] = {"(?) ", TEXT_BOLD},
        [TL_VERDICT_INVALID] = {"(x) ", TEXT_BAD},
    };
    text_ink(t, marks[state].ink, marks[state].mark);
}

/* A limit of the path that was measured. (The goal may ask for a longer path; its sentence
 * then says all.) */
static bool limits_here(const struct tl_verdict *verdict, const struct tl_run *run)
{
    return verdict->state == TL_LIMITED && verdict->segment && verdict->measured_bps > 0 &&
           !(verdict->measured_bps >= run->goal_bps);
}

/* The rate after the fix where it is worth a word and may be promised, else NAN. */
static double promised(const struct text_source *source)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    bool say = verdict->state == TL_LIMITED &&
               verdict->fixed_bps >= WORTH_SAYING * verdict->measured_bps &&
               text_may_promise(source->facts, verdict, verdict->fixed_bps);
    return say ? verdict->fixed_bps : (double)NAN;
}

/* "This PC limits the download: 96.1 Mb/s instead of about 930 Mb/s." Says no more than the
 * verdict's place, direction, confidence and rates. */
static void add_limit(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    if (verdict->broken) { /* no limit of the rate: its own sentence says what broke */
        tl_buf_adds(out, verdict->sentence);
        return;
    }
    char now[TL_UNIT_TEXT_SIZE], then[TL_UNIT_TEXT_SIZE];
    bool gain = promised(source) > 0;
    tl_format_bps(verdict->measured_bps, now);
    tl_format_bps(verdict->fixed_bps, then);
    tl_buf_addf(out, "%s %slimits the %s%s %s%s%s.", text_place_begins(verdict->segment),
                verdict->confidence >= 0.8   ? ""
                : verdict->confidence >= 0.5 ? "probably "
                                             : "possibly ",
                tl_direction_name(verdict->direction), gain ? ":" : " to", now,
                gain ? " instead of about " : "", gain ? then : "");
}

void text_add_headline(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    if (limits_here(verdict, source->run))
        add_limit(source, out);
    else
        tl_buf_adds(out, verdict->sentence ? verdict->sentence : "No verdict was formed.");
}

static void print_headline(struct text *t, const struct text_source *source)
{
    struct tl_buf line = TL_BUF_INIT;
    text_add_headline(source, &line);
    text_wrap(t, 4, 4, tl_buf_text(&line));
    if (line.status != TL_OK)
        t->out->status = line.status;
    tl_buf_finish(&line);
}

/* What the rate means for a file of 10 GB. */
static void print_consequence(struct text *t, const struct text_source *source)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    char now[32], then[32], text[256];
    text_file_time(verdict->measured_bps, now);
    if (verdict->state == TL_VERDICT_INVALID)
        snprintf(text, sizeof text, "Do not judge the connection by this run.");
    else if (!(verdict->measured_bps > 0))
        snprintf(text, sizeof text, "No rate was measured.");
    else if (promised(source) > 0)
        snprintf(text, sizeof text, "A 10 GB file takes %s now, and about %s once this is fixed.",
                 now, text_file_time(promised(source), then));
    else
        snprintf(text, sizeof text, "A 10 GB file takes %s at the rate that was measured.", now);
    tl_buf_adds(t->out, "    ");
    text_wrap(t, 4, 4, text);
}

/* The rule's sentence. Where it begins with the words of print_limit it goes on after them. */
static void print_why(struct text *t, const struct tl_verdict *verdict)
{
    char begins[128], text[1024];
    int len =
        snprintf(begins, sizeof begins, "%s limits the %s: ", text_place_begins(verdict->segment),
                 tl_direction_name(verdict->direction));
    const char *why = verdict->sentence ? verdict->sentence : "";
    if (strncmp(why, begins, (size_t)len) == 0)
        why += len;
    snprintf(text, sizeof text, "Why: %s", why);
    tl_buf_adds(t->out, "    ");
    text_wrap(t, 4, 4, text);
}

/* "srv-b → this PC   download        confidence: high (0.93)" */
static void print_route(struct text *t, const struct text_source *source)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    char confidence[48] = "", route[640];
    bool download = verdict->direction == TL_DOWNLOAD;
    if (verdict->state == TL_LIMITED)
        snprintf(confidence, sizeof confidence, "confidence: %s (%.2f)",
                 text_confidence(verdict->confidence), verdict->confidence);
    snprintf(route, sizeof route, "%s %s %s", download ? source->run->target_name : "this PC",
             text_arrow(t), download ? "this PC" : source->run->target_name);
    tl_buf_adds(t->out, " ");
    size_t width = (size_t)t->style.width, used = 1 + text_clean(t, route, width - 14);
    tl_buf_addf(t->out, "   %s", tl_direction_name(verdict->direction));
    used += 3 + strlen(tl_direction_name(verdict->direction));
    if (used + 1 + strlen(confidence) > width) { /* a narrow screen or a long name */
        text_newline(t);
        used = 0;
    }
    text_cell_right(t, confidence, width - used);
    text_newline(t);
}

static void add_rate(struct tl_buf *line, const char *what, double bps)
{
    char rate[TL_UNIT_TEXT_SIZE];
    if (bps > 0)
        tl_buf_addf(line, "%s%s %s", line->len ? ", " : "", what, tl_format_bps(bps, rate));
}

/* "asked 900 Mb/s, got 96.1 Mb/s, possible 930 Mb/s, round trip 42 ms" */
static void print_rates(struct text *t, const struct text_source *source)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    struct tl_buf line = TL_BUF_INIT;
    char time[TL_UNIT_TEXT_SIZE];
    add_rate(&line, "asked", source->run->goal_bps);
    add_rate(&line, "got", verdict->measured_bps);
    add_rate(&line, "possible", promised(source));
    double rtt = tl_facts_number(source->facts, "path.rtt_min_ns", (double)NAN);
    if (rtt > 0)
        tl_buf_addf(&line, "%sround trip %s", line.len ? ", " : "", tl_format_ns(rtt, time));
    if (line.len) {
        tl_buf_adds(t->out, " ");
        text_wrap(t, 1, 1, tl_buf_text(&line));
    }
    if (line.status != TL_OK)
        t->out->status = line.status;
    tl_buf_finish(&line);
}

static void print_head(struct text *t, const struct text_source *source)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    print_mark(t, verdict->state);
    print_headline(t, source);
    print_consequence(t, source);
    if (limits_here(verdict, source->run))
        print_why(t, verdict);
    text_rule(t);
    print_route(t, source);
    if (verdict->state != TL_VERDICT_INVALID) /* its numbers would only mislead */
        print_rates(t, source);
}

/* The direction of the verdict first. */
static void print_measurements(struct text *t, const struct text_source *source)
{
    enum tl_direction first = source->findings->verdict.direction;
    enum tl_direction second = first == TL_DOWNLOAD ? TL_UPLOAD : TL_DOWNLOAD;
    text_ladder(t, source, first);
    text_file_matrix(t, source, first);
    text_ledger(t, source, first);
    if (!source->run->download || !source->run->upload)
        return;
    text_ladder(t, source, second);
    text_file_matrix(t, source, second);
    text_ledger(t, source, second);
}

/* An invalid run has no numbers that could be believed: only its head and how it went. */
static void print_part(struct text *t, const struct text_source *source, enum tl_report_part part)
{
    enum tl_verdict_state state = source->findings->verdict.state;
    bool told = state != TL_VERDICT_INVALID;
    if (part == TL_PART_HEAD)
        print_head(t, source);
    if (part == TL_PART_MEASUREMENTS && told) {
        text_goal(t, source);
        if (state == TL_INCONCLUSIVE)
            text_deciding(t, source);
        print_measurements(t, source);
    }
    if (part == TL_PART_EVIDENCE && state == TL_LIMITED)
        text_evidence(t, source);
    if (part == TL_PART_FIX && state == TL_LIMITED)
        text_fix(t, source);
    if (part == TL_PART_WAY && told)
        text_path(t, source);
    if (part == TL_PART_OTHERS && told) {
        text_parts(t, source);
        text_also_found(t, source);
        text_ruled_out(t, source);
        text_open(t, source);
    }
    if (part == TL_PART_RUN) {
        if (told)
            text_watch(t, source);
        text_disturbances(t, source);
        text_footer(t, source);
    }
}

static int within(int width, int least)
{
    return width < least ? least : width > WIDTH_MAX ? WIDTH_MAX : width;
}

enum tl_status tl_report_part(const struct tl_run *run, const struct tl_facts *facts,
                              const struct tl_findings *findings, const struct tl_text_style *style,
                              enum tl_report_part part, struct tl_buf *out)
{
    struct text_source source = {run, facts, findings};
    struct text t = {.out = out, .style = *style};
    t.style.width = within(style->width, TL_REPORT_PART_WIDTH_MIN);
    print_part(&t, &source, part);
    return out->status;
}

enum tl_status tl_report_text(const struct tl_run *run, const struct tl_facts *facts,
                              const struct tl_findings *findings, const struct tl_text_style *style,
                              struct tl_buf *out)
{
    struct text_source source = {run, facts, findings};
    struct text t = {.out = out, .style = *style};
    t.style.width = within(style->width, WIDTH_MIN);
    for (int part = 0; part < TL_PART_COUNT; part++)
        print_part(&t, &source, (enum tl_report_part)part);
    return out->status;
}
