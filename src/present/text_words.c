/* Words for people. */
#include "text_words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/present/report.h"

struct word {
    const char *from, *to;
};

static const char *translate(const struct word *words, size_t count, const char *from)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i].from, from) == 0)
            return words[i].to;
    return from;
}

const char *text_end_name(const struct tl_run *run, const char *segment)
{
    for (int i = 0; i < run->segment_count; i++)
        if (strcmp(run->segments[i].id, segment) == 0)
            return run->segments[i].name;
    return "";
}

const char *text_place(const struct tl_run *run, const char *segment)
{
    static const struct word words[] = {
        {"near-host", "this PC"}, {"far-host", "far end"}, {"lan", "LAN"},
        {"far-lan", "far LAN"},   {"path", "path"},        {"flow", "transfer"},
    };
    static const struct word overheard[] = {
        {"near-host", "client"},   {"far-host", "server"}, {"lan", "client LAN"},
        {"far-lan", "server LAN"}, {"path", "path"},       {"flow", "transfer"},
    };
    if (run->target_proxy[0] && strcmp(segment, "far-host") == 0)
        return "proxy";
    return tl_run_is_of_others(run)
               ? translate(overheard, sizeof overheard / sizeof *overheard, segment)
               : translate(words, sizeof words / sizeof *words, segment);
}

const char *text_needs(const char *needs)
{
    static const struct word words[] = {
        {"user", "no special rights needed"},         {"root", "as its administrator (root)"},
        {"network-team", "for the network team"},     {"provider", "for the provider"},
        {"developer", "for the program's developer"},
    };
    return translate(words, sizeof words / sizeof *words, needs);
}

const char *text_confidence(double confidence)
{
    return confidence >= TL_CONFIDENCE_HIGH     ? "high"
           : confidence >= TL_CONFIDENCE_MEDIUM ? "medium"
                                                : "low";
}

const char *text_stage_of(const struct tl_facts *facts, struct tl_fact_key key)
{
    struct tl_fact fact;
    tl_facts_get_lacking(facts, key, &fact);
    return strcmp(fact.stage, "derived") != 0 ? fact.stage : "";
}

bool text_is_tried(const struct tl_facts *facts, struct tl_fact_key key)
{
    struct tl_fact fact;
    tl_facts_get_lacking(facts, key, &fact);
    return fact.tried;
}

double text_number(const struct tl_facts *facts, struct tl_fact_key key)
{
    return tl_facts_number(facts, key, (double)NAN);
}

const char *text_score(enum tl_score score)
{
    static const char *const words[TL_SCORES] = {[TL_SCORE_MISS] = "MISS",
                                                 [TL_SCORE_HIT] = "HIT",
                                                 [TL_SCORE_INSIDE] = "INSIDE",
                                                 [TL_SCORE_BOUND] = "BOUND"};
    return words[score];
}

const char *text_score_note(enum tl_score score)
{
    static const char *const notes[TL_SCORES] = {[TL_SCORE_MISS] = "",
                                                 [TL_SCORE_HIT] = " (within 10 %)",
                                                 [TL_SCORE_INSIDE] = " (within the range)",
                                                 [TL_SCORE_BOUND] =
                                                     " (no number was promised, and none missed)"};
    return notes[score];
}

const char *tl_report_minute(const char *started, char ret_text[32])
{
    if (strlen(started) < 17 || started[10] != 'T' || started[strlen(started) - 1] != 'Z')
        snprintf(ret_text, 32, "%.31s", started);
    else
        snprintf(ret_text, 32, "%.10s %.5s UTC", started, started + 11);
    return ret_text;
}
