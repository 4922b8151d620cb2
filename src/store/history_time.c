/* The history over time: predictions that came true, the trend of a target, a verdict that
 * moved. */
#include "history_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/cause_name.h"
#include "tightlink/base/stats.h"
#include "tightlink/base/time.h"
#include "tightlink/store/compare.h"

#define NS_PER_DAY (86400.0 * (double)TL_NS_PER_S)

/* --- Predictions ------------------------------------------------------------------------------ */

enum tl_status tl_history_score(struct tl_history *history, const struct tl_history_filter *filter,
                                struct tl_history_score *ret_scores, size_t max, size_t *ret_count,
                                struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    size_t count = 0;
    int result = SQLITE_DONE;
    enum tl_status status = tl_history_select(
        history,
        "strftime('%Y-%m', started_ns / 1000000000, 'unixepoch') AS month, count(*), sum(hit)",
        filter, " AND hit >= 0 GROUP BY month ORDER BY month DESC", false, &statement, reterr);
    if (status != TL_OK)
        return status;
    while (count < max && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        struct tl_history_score *score = &ret_scores[count++];
        snprintf(score->month, sizeof score->month, "%.7s", tl_db_text(statement, 0));
        score->tried_count = (size_t)sqlite3_column_int64(statement, 1);
        score->hit_count = (size_t)sqlite3_column_int64(statement, 2);
    }
    if (result != SQLITE_ROW && result != SQLITE_DONE)
        status = tl_db_error(&history->db, result, reterr);
    sqlite3_finalize(statement);
    if (status != TL_OK)
        return status;
    for (size_t i = 0; i < count / 2; i++) { /* the newest were taken; the oldest come first */
        struct tl_history_score swap = ret_scores[i];
        ret_scores[i] = ret_scores[count - 1 - i];
        ret_scores[count - 1 - i] = swap;
    }
    *ret_count = count;
    return TL_OK;
}

/* --- Trend --- */

struct points {
    size_t count;
    int64_t oldest_ns, newest_ns;
    char direction[16];
    double days[TL_HISTORY_TREND_MAX]; /* newest first */
    struct tl_history_rate rates[TL_HISTORY_TREND_MAX];
};

static void take_point(sqlite3_stmt *statement, struct points *points)
{
    const char *direction = tl_db_text(statement, 3);
    if (!points->count)
        snprintf(points->direction, sizeof points->direction, "%s", direction);
    else if (strcmp(points->direction, direction) != 0)
        return; /* rates of the two directions are not one row */
    points->oldest_ns = sqlite3_column_int64(statement, 0);
    if (!points->count)
        points->newest_ns = points->oldest_ns;
    points->days[points->count] = (double)points->oldest_ns / NS_PER_DAY;
    points->rates[points->count++] =
        (struct tl_history_rate){sqlite3_column_double(statement, 1), tl_db_number(statement, 2)};
}

static enum tl_status read_points(struct tl_history *history,
                                  const struct tl_history_filter *filter, struct points *points,
                                  struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    int result = SQLITE_DONE;
    enum tl_status status = tl_history_select(
        history, "started_ns, stream_bps, stream_doubt_bps, direction", filter,
        " AND stream_bps IS NOT NULL AND quality IN ('valid', 'degraded') ORDER BY at DESC", false,
        &statement, reterr);
    if (status != TL_OK)
        return status;
    while (points->count < TL_HISTORY_TREND_MAX && (result = sqlite3_step(statement)) == SQLITE_ROW)
        take_point(statement, points);
    if (result != SQLITE_ROW && result != SQLITE_DONE)
        status = tl_db_error(&history->db, result, reterr);
    sqlite3_finalize(statement);
    return status;
}

/* Sen 1968: the median of the slopes of all pairs; the interval takes slopes that lie
 * 1.96 times the standard deviation of Kendall's S around the middle. */
static enum tl_status fit(const struct points *points, struct tl_history_trend *trend,
                          struct tl_error *reterr)
{
    size_t n = points->count, count = 0;
    double *slopes = malloc(n * (n - 1) / 2 * sizeof *slopes);
    if (!slopes)
        return tl_error_set(reterr, TL_NOMEM, "no memory for the trend");
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            if (points->days[i] > points->days[j])
                slopes[count++] = (points->rates[i].bps - points->rates[j].bps) /
                                  (points->days[i] - points->days[j]);
    if (count) {
        double d = (double)n, pairs = (double)count;
        double margin = 1.959964 * sqrt(d * (d - 1) * (2 * d + 5) / 18) / 2 / pairs;
        trend->slope_bps_per_day = tl_stats_median(slopes, count);
        trend->low_bps_per_day = tl_stats_quantile(slopes, count, fmax(0.5 - margin, 0));
        trend->high_bps_per_day = tl_stats_quantile(slopes, count, fmin(0.5 + margin, 1));
    }
    free(slopes);
    return TL_OK;
}

static int by_rate(const void *a, const void *b)
{
    double first = ((const struct tl_history_rate *)a)->bps;
    double second = ((const struct tl_history_rate *)b)->bps;
    return (first > second) - (first < second);
}

/* Least, most and median; between two middle ones the median is known no better than either. */
static void sort_rates(struct points *points, struct tl_history_trend *trend)
{
    struct tl_history_rate *rates = points->rates;
    size_t n = points->count;
    if (!n)
        return;
    trend->newest = rates[0];
    qsort(rates, n, sizeof *rates, by_rate);
    const struct tl_history_rate *low = &rates[(n - 1) / 2], *high = &rates[n / 2];
    trend->least = rates[0];
    trend->most = rates[n - 1];
    trend->median =
        (struct tl_history_rate){(low->bps + high->bps) / 2, fmax(low->doubt_bps, high->doubt_bps)};
}

enum tl_status tl_history_trend(struct tl_history *history, const struct tl_history_filter *filter,
                                struct tl_history_trend *ret_trend, struct tl_error *reterr)
{
    const double nan = (double)NAN;
    const struct tl_history_rate none = {nan, nan};
    struct tl_history_trend trend = {.median = none,
                                     .least = none,
                                     .most = none,
                                     .newest = none,
                                     .slope_bps_per_day = nan,
                                     .low_bps_per_day = nan,
                                     .high_bps_per_day = nan};
    struct points points = {0};
    enum tl_status status = read_points(history, filter, &points, reterr);
    if (status != TL_OK)
        return status;
    trend.count = points.count;
    trend.oldest_ns = points.oldest_ns;
    trend.newest_ns = points.newest_ns;
    snprintf(trend.direction, sizeof trend.direction, "%s", points.direction);
    if (points.count >= 4)
        status = fit(&points, &trend, reterr);
    if (status != TL_OK)
        return status;
    sort_rates(&points, &trend);
    *ret_trend = trend;
    return TL_OK;
}

/* --- Moved verdicts -------------------------------------------------------------------------- */

struct before {
    bool found;
    char state[16], cause[48];
};

/* A verdict that names nothing moves nowhere. */
#define TRUSTED " AND state IN ('limited', 'goal-met') AND quality IN ('valid', 'degraded')"

static enum tl_status read_verdict(struct tl_history *history, const char *sql, const char *id,
                                   struct before *before, struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    enum tl_status status = tl_db_prepare(&history->db, sql, &statement, reterr);
    if (status != TL_OK)
        return status;
    tl_db_bind_text(statement, 1, id);
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        before->found = true;
        snprintf(before->state, sizeof before->state, "%s", tl_db_text(statement, 0));
        snprintf(before->cause, sizeof before->cause, "%s", tl_db_text(statement, 1));
    } else if (result != SQLITE_DONE) {
        status = tl_db_error(&history->db, result, reterr);
    }
    sqlite3_finalize(statement);
    return status;
}

enum tl_status tl_history_move(struct tl_history *history, const char *id,
                               struct tl_verdict_move *ret_move, struct tl_error *reterr)
{
    struct before now = {0}, then = {0};
    struct tl_verdict_move move = {0};
    enum tl_status status = read_verdict(
        history, "SELECT state, cause FROM runs WHERE id = ?" TRUSTED, id, &now, reterr);
    if (status == TL_OK && now.found)
        status =
            read_verdict(history,
                         "SELECT state, cause FROM runs, (SELECT at AS here, target AS its,"
                         " direction AS way FROM runs WHERE id = ?) WHERE at < here AND"
                         " target = its AND direction = way" TRUSTED " ORDER BY at DESC LIMIT 1",
                         id, &then, reterr);
    if (status != TL_OK)
        return status;
    if (now.found && then.found) {
        snprintf(move.from, sizeof move.from, "%s", then.cause[0] ? then.cause : then.state);
        snprintf(move.to, sizeof move.to, "%s", now.cause[0] ? now.cause : now.state);
        move.moved = strcmp(move.from, move.to) != 0 || strcmp(then.state, now.state) != 0;
    }
    if (move.moved)
        snprintf(move.sentence, sizeof move.sentence,
                 "the verdict moved since the run before: %s -> %s", tl_cause_name(move.from),
                 tl_cause_name(move.to));
    *ret_move = move;
    return TL_OK;
}
