/* Trends, scores of predictions, verdicts that move. */
#include <criterion/criterion.h>
#include <math.h>

#include "documents.h"
#include "tightlink/base/time.h"
#include "tightlink/store/compare.h"
#include "tightlink/store/history.h"

#define DAY   (INT64_C(86400) * TL_NS_PER_S)
#define START (INT64_C(1704067200) * TL_NS_PER_S) /* 2024-01-01 */

static struct tl_history *open_history(void)
{
    struct tl_history *history = NULL;
    cr_assert(tl_history_open(test_path("history.sqlite"), &history, NULL) == TL_OK);
    return history;
}

static void keep(struct tl_history *history, struct made_run made)
{
    struct tl_buf document = make_document(&made);
    cr_assert(tl_history_add(history, document.data, document.len, NULL) == TL_OK);
    tl_buf_finish(&document);
}

Test(history_time, a_trend_is_the_slope_whatever_one_bad_run_says)
{
    struct tl_history *history = open_history();
    struct tl_history_trend trend;
    for (int i = 0; i < 20; i++)
        keep(history, (struct made_run){.number = i,
                                        .started_ns = START + i * DAY,
                                        .stream_bps = i == 11 ? 1e6 : 1e9 - 1e6 * i,
                                        .hit = -1});
    cr_assert(tl_history_trend(history, NULL, &trend, NULL) == TL_OK);
    cr_expect(trend.count == 20);
    cr_expect(trend.oldest_ns == START && trend.newest_ns == START + 19 * DAY);
    cr_expect_float_eq(trend.slope_bps_per_day, -1e6, 1e4, "%g", trend.slope_bps_per_day);
    cr_expect(trend.low_bps_per_day <= -1e6 && trend.high_bps_per_day < 0);
    cr_expect(trend.least.bps == 1e6 && trend.most.bps == 1e9 && trend.newest.bps == 1e9 - 19e6);
    struct tl_history_filter none = {.target = "nobody"};
    cr_assert(tl_history_trend(history, &none, &trend, NULL) == TL_OK);
    cr_expect(trend.oldest_ns == 0 && trend.newest_ns == 0);
    cr_expect(trend.count == 0 && isnan(trend.median.bps) && isnan(trend.slope_bps_per_day));
    tl_history_close(history);
}

/* A slow upload after fast downloads is no download that became slower. */
Test(history_time, a_trend_is_of_one_direction)
{
    struct tl_history *history = open_history();
    struct tl_history_trend trend;
    for (int i = 0; i < 12; i++)
        keep(history, (struct made_run){.number = i,
                                        .started_ns = START + i * DAY,
                                        .stream_bps = i < 5 ? 9e8 : 1e8 + i,
                                        .half_width = 0.01,
                                        .upload = i >= 5,
                                        .hit = -1});
    cr_assert(tl_history_trend(history, NULL, &trend, NULL) == TL_OK);
    cr_expect_str_eq(trend.direction, "upload");
    cr_expect(trend.count == 7 && trend.most.bps == 1e8 + 11 && trend.oldest_ns == START + 5 * DAY);
    cr_expect_float_eq(trend.median.bps, 1e8 + 8, 0.1);
    cr_expect_float_eq(trend.median.doubt_bps, 1e6, 1);
    struct tl_history_filter down = {.direction = "download"};
    cr_assert(tl_history_trend(history, &down, &trend, NULL) == TL_OK);
    cr_expect_str_eq(trend.direction, "download");
    cr_expect(trend.count == 5 && trend.least.bps == 9e8);
    tl_history_close(history);
}

Test(history_time, scores_are_counted_by_month)
{
    struct tl_history *history = open_history();
    struct tl_history_score scores[12];
    size_t count = 99;
    static const int hits[] = {1, 1, 0, -1, 1};
    for (int i = 0; i < 5; i++)
        keep(history,
             (struct made_run){.number = i, .started_ns = START + i * 20 * DAY, .hit = hits[i]});
    cr_assert(tl_history_score(history, NULL, scores, 12, &count, NULL) == TL_OK);
    cr_assert(count == 3, "%zu", count);
    cr_expect_str_eq(scores[0].month, "2024-01");
    cr_expect(scores[0].tried_count == 2 && scores[0].hit_count == 2);
    cr_expect_str_eq(scores[1].month, "2024-02");
    cr_expect(scores[1].tried_count == 1 && scores[1].hit_count == 0);
    cr_expect_str_eq(scores[2].month, "2024-03");
    cr_assert(tl_history_score(history, NULL, scores, 1, &count, NULL) == TL_OK);
    cr_expect(count == 1 && scores[0].month[6] == '3', "the newest where there is no room");
    tl_history_close(history);
}

Test(history_time, a_verdict_moves_only_against_the_run_before_of_the_same_way)
{
    struct tl_history *history = open_history();
    struct tl_verdict_move move;
    keep(history,
         (struct made_run){.number = 1, .started_ns = START, .cause = "capacity", .hit = -1});
    keep(history, (struct made_run){.number = 2,
                                    .started_ns = START + DAY,
                                    .target = "elsewhere",
                                    .cause = "policer",
                                    .hit = -1});
    keep(history, (struct made_run){
                      .number = 3, .started_ns = START + 2 * DAY, .cause = "capacity", .hit = -1});
    keep(history, (struct made_run){
                      .number = 4, .started_ns = START + 3 * DAY, .cause = "policer", .hit = -1});
    cr_assert(tl_history_move(history, made_id(1), &move, NULL) == TL_OK);
    cr_expect(!move.moved && !move.sentence[0], "nothing came before it");
    cr_assert(tl_history_move(history, made_id(3), &move, NULL) == TL_OK);
    cr_expect(!move.moved);
    cr_assert(tl_history_move(history, made_id(4), &move, NULL) == TL_OK);
    cr_expect(move.moved);
    cr_expect_str_eq(move.from, "capacity");
    cr_expect_str_eq(move.to, "policer");
    cr_expect(move.sentence[0]);
    tl_history_close(history);
}
