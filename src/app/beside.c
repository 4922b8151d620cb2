/* Far ends beside one another: the row of each, and what their rates say together. */
#include "tightlink/app/beside.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/cause_name.h"
#include "tightlink/base/units.h"

/* Rates of two tests agree from three quarters on, as everywhere in the judge. */
#define AGREE 0.75
/* One window over two ways: rate and round trip multiply to the same, within the scatter of both.
 */
#define LONGER     1.5
#define SAME_ABOUT 0.6

void tl_app_beside_take(const struct tl_session_result *result, enum tl_direction direction,
                        const char *name, struct tl_app_beside_row *ret_row)
{
    const struct tl_verdict *verdict = result->findings ? &result->findings->verdict : NULL;
    struct tl_app_beside_row row = {
        .one_bps = NAN, .best_bps = NAN, .rtt_ns = NAN, .state = TL_INCONCLUSIVE};

    snprintf(row.name, sizeof row.name, "%s", name);
    snprintf(row.kind, sizeof row.kind, "%s", result->run.target_kind);
    if (result->status != TL_OK)
        snprintf(row.failed, sizeof row.failed, "%.159s", result->error.text);
    if (result->facts) {
        row.one_bps = tl_facts_number(result->facts, TL_FLOW(direction, goodput_bps), NAN);
        row.best_bps = tl_facts_number(result->facts, TL_FLOW(direction, best_goodput_bps), NAN);
        row.rtt_ns = tl_facts_number(result->facts, TL_PATH(rtt_min_ns), NAN);
    }
    row.low_bps = row.high_bps = row.best_bps;
    row.one_low_bps = row.one_high_bps = row.one_bps;
    row.turns = row.best_bps > 0;
    if (verdict && result->status == TL_OK) {
        row.state = verdict->state;
        if (verdict->state == TL_LIMITED) {
            snprintf(row.cause, sizeof row.cause, "%s", verdict->cause ? verdict->cause : "");
            snprintf(row.segment, sizeof row.segment, "%s",
                     verdict->segment ? verdict->segment : "");
        }
    }
    *ret_row = row;
}

void tl_app_beside_again(struct tl_app_beside_row *row, const struct tl_app_beside_row *turn)
{
    if (turn->turns == 0)
        return;
    if (row->turns == 0) {
        *row = *turn;
        return;
    }
    double before = row->turns, all = before + 1;
    row->one_bps = (before * row->one_bps + turn->one_bps) / all;
    row->best_bps = (before * row->best_bps + turn->best_bps) / all;
    row->low_bps = fmin(row->low_bps, turn->best_bps);
    row->high_bps = fmax(row->high_bps, turn->best_bps);
    row->one_low_bps = fmin(row->one_low_bps, turn->one_bps);
    row->one_high_bps = fmax(row->one_high_bps, turn->one_bps);
    row->rtt_ns = fmin(row->rtt_ns, turn->rtt_ns);
    row->turns++;
}

/* --- Together --------------------------------------------------------------------------------- */

static const struct tl_app_beside_row *fastest(const struct tl_app_beside_row *rows, size_t count)
{
    const struct tl_app_beside_row *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (rows[i].best_bps > 0 && (!best || rows[i].best_bps > best->best_bps))
            best = &rows[i];
    return best;
}

/* By one connection, in its slowest turn. */
static const struct tl_app_beside_row *fastest_alone(const struct tl_app_beside_row *rows,
                                                     size_t count)
{
    const struct tl_app_beside_row *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (rows[i].one_low_bps > 0 && (!best || rows[i].one_low_bps > best->one_low_bps))
            best = &rows[i];
    return best;
}

static size_t measured(const struct tl_app_beside_row *rows, size_t count)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        known += rows[i].best_bps > 0;
    return known;
}

/* In every turn. */
static bool is_slow(const struct tl_app_beside_row *row, const struct tl_app_beside_row *best)
{
    return row->high_bps < AGREE * best->low_bps;
}

/* Likewise with one connection each, whatever several get. */
static bool is_slow_alone(const struct tl_app_beside_row *row, const struct tl_app_beside_row *fast)
{
    return fast && row->one_high_bps < AGREE * fast->one_low_bps;
}

/* On average, but its best turn was no slower than the other's worst. */
static bool may_be_slow(const struct tl_app_beside_row *row, const struct tl_app_beside_row *best)
{
    return row->best_bps < AGREE * best->best_bps && !is_slow(row, best);
}

static bool is_here(const struct tl_app_beside_row *row)
{
    return strcmp(row->segment, "near-host") == 0 || strcmp(row->segment, "lan") == 0;
}

/* A window of this PC that is the same for all would make the longer way the slower one. */
static bool may_be_one_window(const struct tl_app_beside_row *row,
                              const struct tl_app_beside_row *best)
{
    double ratio = row->one_bps * row->rtt_ns / (best->one_bps * best->rtt_ns);
    return !row->segment[0] && row->rtt_ns > LONGER * best->rtt_ns && ratio > SAME_ABOUT &&
           ratio < 1 / SAME_ABOUT;
}

static void say_same(const struct tl_app_beside_row *rows, size_t count, char *ret_text,
                     size_t size)
{
    const struct tl_app_beside_row *best = fastest(rows, count);
    char rate[TL_UNIT_TEXT_SIZE];
    snprintf(ret_text, size,
             "All %zu get about the same, %s at most: what they share limits them, this PC or its "
             "access to the network, not %.120s alone.",
             measured(rows, count), tl_format_bps(best->best_bps, rate), rows[0].name);
}

static void say_slow(const struct tl_app_beside_row *row, const struct tl_app_beside_row *best,
                     char *ret_text, size_t size)
{
    char most[TL_UNIT_TEXT_SIZE], rate[TL_UNIT_TEXT_SIZE];
    tl_format_bps(best->best_bps, most);
    tl_format_bps(row->best_bps, rate);
    if (is_here(row))
        snprintf(ret_text, size,
                 "%.120s gets %s where %.120s gets %s, and still the cause is here (%s): over "
                 "the other way it does not show.",
                 row->name, rate, best->name, most, tl_cause_name(row->cause));
    else if (may_be_one_window(row, best))
        snprintf(ret_text, size,
                 "Cannot tell: %.120s gets %s where %.120s gets %s, but its way is longer by as "
                 "much, and one window of this PC would do that to both.",
                 row->name, rate, best->name, most);
    else
        snprintf(ret_text, size,
                 "%.120s gets %s where this PC and its access carry %s (with %.120s): what limits "
                 "it lies there or on the way to it.",
                 row->name, rate, most, best->name);
}

/* Several connections agree, one does not: each is held. */
static void say_slow_alone(const struct tl_app_beside_row *row,
                           const struct tl_app_beside_row *fast, char *ret_text, size_t size)
{
    char one[TL_UNIT_TEXT_SIZE], other[TL_UNIT_TEXT_SIZE], most[TL_UNIT_TEXT_SIZE];
    int len = snprintf(ret_text, size,
                       "One connection to %.120s gets %s where one to %.120s gets %s, and several "
                       "together %s: ",
                       row->name, tl_format_bps(row->one_bps, one), fast->name,
                       tl_format_bps(fast->one_bps, other), tl_format_bps(row->best_bps, most));
    if (len < 0 || (size_t)len >= size)
        return;
    if (is_here(row))
        snprintf(ret_text + len, size - (size_t)len,
                 "each is held here (%s), which does not show over the other way.",
                 tl_cause_name(row->cause));
    else
        snprintf(ret_text + len, size - (size_t)len, "%s",
                 may_be_one_window(row, fast)
                     ? "cannot tell, as its way is longer by as much, and one window of this PC "
                       "would do that to both."
                     : "what holds each connection lies there or on the way to it.");
}

static void say_unsteady(const struct tl_app_beside_row *row, const struct tl_app_beside_row *best,
                         char *ret_text, size_t size)
{
    char low[TL_UNIT_TEXT_SIZE], high[TL_UNIT_TEXT_SIZE], least[TL_UNIT_TEXT_SIZE],
        most[TL_UNIT_TEXT_SIZE];
    snprintf(ret_text, size,
             "Cannot tell: by turns %.120s gets %s to %s and %.120s %s to %s: what changes by "
             "itself between turns is as large as what lies between them.",
             row->name, tl_format_bps(row->low_bps, low), tl_format_bps(row->high_bps, high),
             best->name, tl_format_bps(best->low_bps, least), tl_format_bps(best->high_bps, most));
}

void tl_app_beside_say(const struct tl_app_beside_row *rows, size_t count, char *ret_text,
                       size_t size)
{
    const struct tl_app_beside_row *best = fastest(rows, count), *slow = NULL, *unsteady = NULL;
    const struct tl_app_beside_row *fast = fastest_alone(rows, count), *held = NULL;
    if (measured(rows, count) < 2 || !(rows[0].best_bps > 0)) {
        snprintf(ret_text, size, "Nothing to compare: %s was measured.",
                 best ? "only one of them" : "none of them");
        return;
    }
    for (size_t i = 0; i < count && !slow; i++) {
        if (!(rows[i].best_bps > 0))
            continue;
        if (is_slow(&rows[i], best))
            slow = &rows[i]; /* the first: the one that was asked about, where it is slow */
        else if (!unsteady && may_be_slow(&rows[i], best))
            unsteady = &rows[i];
        if (!held && is_slow_alone(&rows[i], fast))
            held = &rows[i];
    }
    if (slow)
        say_slow(slow, best, ret_text, size);
    else if (unsteady)
        say_unsteady(unsteady, best, ret_text, size);
    else if (held)
        say_slow_alone(held, fast, ret_text, size);
    else
        say_same(rows, count, ret_text, size);
}
