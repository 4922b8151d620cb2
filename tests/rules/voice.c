/* What a report says in two places: voice.h. */
#include "voice.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plain_words.h"
#include "tightlink/base/units.h"

#define RATES_MAX 256

struct told_rate {
    double bps;
    char text[TL_UNIT_TEXT_SIZE];
};
/* The rates of a ladder, each as it has to be told. */
static size_t told_rates(const struct tl_case *test, const struct tl_findings *findings,
                         enum tl_direction direction, struct told_rate ret_rates[RATES_MAX])
{
    static const enum tl_fact_name measured[] = {
        TL_FACT_FLOW_goodput_bps, TL_FACT_FLOW_streams_goodput_bps, TL_FACT_FLOW_window_goodput_bps,
        TL_FACT_FLOW_file_goodput_bps};
    size_t count = 0;
    for (size_t i = 0; i < findings->rung_count && count < RATES_MAX - 4; i++) {
        const struct tl_rung *rung = &findings->ladder[i];
        if (!rung->tested || rung->direction != direction)
            continue;
        double doubt = tl_told_doubt(test->facts, &findings->verdict, direction, rung->bps,
                                     rung->low_bps, rung->high_bps);
        ret_rates[count].bps = rung->bps;
        tl_format_bps_known(rung->bps, doubt, ret_rates[count++].text);
    }
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        struct tl_fact fact;
        tl_facts_get(test->facts, TL_KEY(tl_scope_of(direction), measured[i]), &fact);
        if (fact.state != TL_FACT_KNOWN)
            continue;
        ret_rates[count].bps = fact.number;
        tl_format_bps_bounded(fact.number, fact.low, fact.high, ret_rates[count++].text);
    }
    return count;
}

/* "9.3 Mb/s" at a place of a text; false where none begins there. *ret_step is one of its last
 * digit. */
static bool read_rate(const char *at, double *ret_bps, double *ret_step,
                      char ret_text[TL_UNIT_TEXT_SIZE])
{
    static const char *const units[] = {" b/s", " kb/s", " Mb/s", " Gb/s"};
    char *end;
    if (!isdigit((unsigned char)*at))
        return false;
    double number = strtod(at, &end), factor = 1;
    const char *dot = memchr(at, '.', (size_t)(end - at));
    for (size_t i = 0; i < sizeof units / sizeof *units; i++, factor *= 1000) {
        if (strncmp(end, units[i], strlen(units[i])) != 0)
            continue;
        *ret_bps = number * factor;
        *ret_step = factor * (dot ? pow(10, (double)(dot + 1 - end)) : 1);
        /* Two digits at least: "1 Gb/s" is 1.0, of which zeros are left out. */
        *ret_step = fmin(*ret_step, pow(10, floor(log10(fmax(*ret_bps, 1))) - 1));
        snprintf(ret_text, TL_UNIT_TEXT_SIZE, "%.*s", (int)(end - at + (long)strlen(units[i])), at);
        return true;
    }
    return false;
}

/* What a rate that stands in a sentence says otherwise than the ladder does; NULL where the ladder
 * has the same digits, or no such number. */
static const char *told_otherwise(const struct told_rate *rates, size_t count, const char *text,
                                  double bps, double step)
{
    const char *otherwise = NULL;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rates[i].text, text) == 0)
            return NULL;
        if (fabs(rates[i].bps - bps) <= step / 2)
            otherwise = rates[i].text;
    }
    return otherwise;
}

size_t voice_digits(const struct tl_case *test, const struct tl_findings *findings,
                    const char *text, const char *ladder, struct tl_buf *out)
{
    static struct told_rate rates[RATES_MAX];
    const struct tl_verdict *verdict = &findings->verdict;
    size_t count = told_rates(test, findings, verdict->direction, rates), compared = 0;
    for (size_t i = 0; i < count && verdict->state != TL_VERDICT_INVALID; i++)
        if (!strstr(ladder, rates[i].text))
            tl_buf_addf(out, "# %s, %s: no %s in the ladder\n", test->rule, test->name,
                        rates[i].text);
    for (const char *at = text; *at;) {
        char rate[TL_UNIT_TEXT_SIZE];
        double bps, step;
        if (read_rate(at, &bps, &step, rate)) {
            const char *otherwise = told_otherwise(rates, count, rate, bps, step);
            compared++;
            if (otherwise)
                tl_buf_addf(out, "# %s, %s: \"%.60s\" has %s, the ladder %s\n", test->rule,
                            test->name, at - text > 40 ? at - 40 : text, rate, otherwise);
        }
        at += strspn(at, "0123456789.");
        at += *at != '\0' && !isdigit((unsigned char)*at);
    }
    return compared;
}

void voice_seen(const struct tl_case *test, const struct tl_findings *findings,
                const struct tl_finding *finding, struct tl_buf *out)
{
    const struct tl_verdict *verdict = &findings->verdict;
    char ceiling[TL_UNIT_TEXT_SIZE], seen[TL_UNIT_TEXT_SIZE];
    double doubt = 0; /* of what was seen: a ceiling within it is the same number */
    (void)tl_told_measured(test->facts, verdict->direction, verdict->measured_bps, &doubt);
    bool below = finding && (finding->ceiling_high_bps < verdict->measured_bps ||
                             (finding->ceiling_bps < verdict->measured_bps &&
                              finding->ceiling_bps > verdict->measured_bps - doubt));
    if (below && !verdict->broken && !(verdict->measured_bps >= test->question.goal_bps))
        tl_buf_addf(out, "# %s, %s: a ceiling of %s below the %s that were seen\n", test->rule,
                    test->name, tl_format_bps(verdict->ceiling_bps, ceiling),
                    tl_format_bps(verdict->measured_bps, seen));
}

static bool same_cause(const struct tl_finding *finding, const char *cause, const char *segment)
{
    return strcmp(finding->cause, cause) == 0 && strcmp(finding->segment, segment) == 0;
}

/* Whether a report says the finding's sentence, by its begin: a column may cut it. */
static bool says(const char *words, const struct tl_finding *finding)
{
    char *sentence = plain_words_alone(finding->sentence ? finding->sentence : finding->title);
    sentence[strnlen(sentence, 40)] = '\0';
    bool said = strstr(words, sentence) != NULL;
    free(sentence);
    return said;
}

/* A cause that is said to be ruled out is not also said not to have been tested, by a rung or by
 * another rule. */
void voice_ruled_out(const struct tl_case *test, const struct tl_findings *findings,
                     const char *format, const char *words, struct tl_buf *out)
{
    static const char *const places[][2] = {{"near-host", "this PC"}, {"far-host", "far end"},
                                            {"lan", "LAN"},           {"far-lan", "far LAN"},
                                            {"path", "path"},         {"flow", "transfer"}};
    char row[128];
    for (size_t i = 0; i < findings->finding_count; i++) {
        const struct tl_finding *refuted = &findings->findings[i];
        size_t place = 0;
        if (refuted->result != TL_RULED_OUT || !says(words, refuted))
            continue;
        while (strcmp(places[place][0], refuted->segment) != 0)
            place++;
        snprintf(row, sizeof row, "-- %s %s:", places[place][1], refuted->cause);
        if (strstr(words, row))
            tl_buf_addf(out, "# %s, %s: %s says \"%s\" and \"%.99s\"\n", test->rule, test->name,
                        format, refuted->sentence, strstr(words, row));
        for (size_t f = 0; f < findings->finding_count; f++) {
            const struct tl_finding *other = &findings->findings[f];
            if ((other->result == TL_FOUND || other->result == TL_CANNOT_TELL) &&
                same_cause(other, refuted->cause, refuted->segment) && says(words, other))
                tl_buf_addf(out, "# %s, %s: %s says \"%s\" and \"%s\"\n", test->rule, test->name,
                            format, refuted->sentence, other->sentence);
        }
    }
}

/* No item of a list stands there twice. (Of Markdown, where each is one line.) */
void voice_lists(const struct tl_case *test, const char *text, struct tl_buf *out)
{
    const char *list = "";
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t len = strcspn(line, "\n");
        if (line[0] == '#')
            list = line;
        if (strncmp(line, "- ", 2) != 0)
            continue;
        for (const char *other = list; other < line; other = strchr(other, '\n') + 1)
            if (strncmp(other, line, len + 1) == 0)
                tl_buf_addf(out, "# %s, %s: twice: %.*s\n", test->rule, test->name, (int)len, line);
    }
}
