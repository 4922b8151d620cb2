/* Runs are kept, found, noted, tagged and deleted. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "documents.h"
#include "tightlink/base/time.h"
#include "tightlink/store/history.h"

#define DAY  (INT64_C(86400) * TL_NS_PER_S)
#define NOON (INT64_C(1700000000) * TL_NS_PER_S)

static struct tl_history *open_history(void)
{
    struct tl_history *history = NULL;
    struct tl_error error = {0};
    cr_assert(tl_history_open(test_path("history.sqlite"), &history, &error) == TL_OK, "%s",
              error.text);
    return history;
}

static void keep(struct tl_history *history, const struct made_run *made)
{
    struct tl_buf document = make_document(made);
    struct tl_error error = {0};
    cr_assert(tl_history_add(history, document.data, document.len, &error) == TL_OK, "%s",
              error.text);
    tl_buf_finish(&document);
}

/* Ten runs, a day apart: even ones to srv-b, odd ones to srv-c; the last is the newest. */
static struct tl_history *ten_runs(void)
{
    struct tl_history *history = open_history();
    for (int i = 0; i < 10; i++)
        keep(history, &(struct made_run){.number = i,
                                         .started_ns = NOON + i * DAY,
                                         .target = i % 2 ? "srv-c" : "srv-b",
                                         .cause = i < 5 ? "receive-window" : "capacity",
                                         .stream_bps = 1e8 + i,
                                         .hit = -1});
    return history;
}

static size_t count(struct tl_history *history, struct tl_history_filter filter)
{
    size_t n = 999;
    cr_assert(tl_history_count(history, &filter, &n, NULL) == TL_OK);
    struct tl_history_list list = {0};
    cr_assert(tl_history_list(history, &filter, &list, NULL) == TL_OK);
    cr_expect(list.total == n && list.count <= n);
    tl_history_list_finish(&list);
    return n;
}

Test(history, a_run_comes_back_with_its_numbers_and_its_document)
{
    struct tl_history *history = open_history();
    struct made_run made = {.number = 7, .started_ns = NOON, .stream_bps = 9.61e7, .hit = 1};
    struct tl_buf document = make_document(&made);
    keep(history, &made);
    struct tl_history_list list = {0};
    cr_assert(tl_history_list(history, NULL, &list, NULL) == TL_OK && list.count == 1);
    const struct tl_history_run *run = &list.runs[0];
    cr_expect_str_eq(run->id, made_id(7));
    cr_expect(run->started_ns == NOON && run->duration_ns > 0);
    cr_expect_str_eq(run->target, "srv-b.example.net");
    cr_expect_str_eq(run->direction, "download");
    cr_expect_str_eq(run->state, "limited");
    cr_expect_str_eq(run->quality, "valid");
    cr_expect(run->stream_bps == 9.61e7 && run->measured_bps == 9.61e7 && run->hit == 1);
    cr_expect(run->tried_predicted_bps == 9e8 && run->tried_measured_bps == 9.1e8);
    cr_expect(run->sentence[0] && !run->note[0] && !run->tags[0]);
    tl_history_list_finish(&list);
    char *text;
    size_t len;
    cr_assert(tl_history_document(history, made_id(7), &text, &len, NULL) == TL_OK);
    cr_expect(len == document.len && memcmp(text, document.data, len) == 0 && text[len] == '\0');
    free(text);
    cr_expect(tl_history_document(history, made_id(8), &text, &len, NULL) == TL_UNKNOWN);
    tl_buf_finish(&document);
    tl_history_close(history);
}

Test(history, a_rate_comes_back_with_what_it_may_be_off_by)
{
    struct tl_history *history = open_history();
    keep(history, &(struct made_run){
                      .started_ns = NOON, .stream_bps = 9.61e7, .half_width = 0.02, .hit = 1});
    struct tl_history_list list = {0};
    cr_assert(tl_history_list(history, NULL, &list, NULL) == TL_OK && list.count == 1);
    const struct tl_history_run *run = &list.runs[0];
    cr_expect_float_eq(run->stream_doubt_bps, 0.02 * 9.61e7, 1);
    cr_expect_float_eq(run->tried_doubt_bps, 0.05 * 9e8, 1, "predictions are known to a tenth");
    tl_history_list_finish(&list);
    tl_history_close(history);
}

Test(history, a_missing_number_is_not_0)
{
    struct tl_history *history = open_history();
    keep(history, &(struct made_run){.started_ns = NOON, .hit = -1});
    struct tl_history_list list = {0};
    cr_assert(tl_history_list(history, NULL, &list, NULL) == TL_OK && list.count == 1);
    cr_expect(list.runs[0].hit == -1 && isnan(list.runs[0].tried_predicted_bps));
    tl_history_list_finish(&list);
    tl_history_close(history);
}

Test(history, the_newest_come_first_and_pages_fit_together)
{
    struct tl_history *history = ten_runs();
    struct tl_history_list list = {0};
    struct tl_history_filter filter = {.limit = 4, .offset = 3};
    cr_assert(tl_history_list(history, &filter, &list, NULL) == TL_OK);
    cr_assert(list.count == 4 && list.total == 10);
    for (int i = 0; i < 4; i++)
        cr_expect_str_eq(list.runs[i].id, made_id(6 - i));
    tl_history_list_finish(&list);
    filter = (struct tl_history_filter){.offset = 8};
    cr_assert(tl_history_list(history, &filter, &list, NULL) == TL_OK);
    cr_expect(list.count == 2, "an offset without a limit");
    tl_history_list_finish(&list);
    tl_history_close(history);
}

Test(history, filters_narrow_alone_and_together)
{
    struct tl_history *history = ten_runs();
    cr_assert(tl_history_tag(history, made_id(3), "before", true, NULL) == TL_OK);
    cr_assert(tl_history_tag(history, made_id(4), "before", true, NULL) == TL_OK);
    cr_assert(tl_history_set_note(history, made_id(9), "after 100% of the Office moved", NULL) ==
              TL_OK);
    cr_expect(count(history, (struct tl_history_filter){0}) == 10);
    cr_expect(count(history, (struct tl_history_filter){.target = "srv-c"}) == 5);
    cr_expect(count(history, (struct tl_history_filter){.target = "srv"}) == 0);
    cr_expect(count(history, (struct tl_history_filter){.cause = "capacity"}) == 5);
    cr_expect(count(history, (struct tl_history_filter){.tag = "before"}) == 2);
    cr_expect(count(history, (struct tl_history_filter){.tag = "before", .target = "srv-c"}) == 1);
    cr_expect(count(history, (struct tl_history_filter){.since_ns = NOON + 6 * DAY}) == 4);
    cr_expect(count(history, (struct tl_history_filter){.since_ns = NOON + 6 * DAY,
                                                        .until_ns = NOON + 8 * DAY}) == 2);
    cr_expect(count(history, (struct tl_history_filter){.text = "Full lin"}) == 5, "by its name");
    cr_expect(count(history, (struct tl_history_filter){.text = "OFFICE"}) == 1);
    cr_expect(count(history, (struct tl_history_filter){.text = "100%"}) == 1);
    cr_expect(count(history, (struct tl_history_filter){.text = "%"}) == 1,
              "no pattern of its own");
    cr_expect(count(history, (struct tl_history_filter){.text = "before"}) == 2);
    cr_expect(count(history, (struct tl_history_filter){.text = "' OR 1=1 --"}) == 0);
    tl_history_close(history);
}

Test(history, the_same_run_again_keeps_note_and_tags)
{
    struct tl_history *history = open_history();
    keep(history, &(struct made_run){.number = 1, .started_ns = NOON, .hit = -1});
    cr_assert(tl_history_set_note(history, made_id(1), "mine", NULL) == TL_OK);
    cr_assert(tl_history_tag(history, made_id(1), "lab", true, NULL) == TL_OK);
    keep(history,
         &(struct made_run){.number = 1, .started_ns = NOON, .stream_bps = 5e8, .hit = -1});
    struct tl_history_list list = {0};
    cr_assert(tl_history_list(history, NULL, &list, NULL) == TL_OK && list.count == 1);
    cr_expect_str_eq(list.runs[0].note, "mine");
    cr_expect_str_eq(list.runs[0].tags, "lab");
    cr_expect(list.runs[0].stream_bps == 5e8);
    tl_history_list_finish(&list);
    tl_history_close(history);
}

Test(history, two_runs_of_the_same_moment_are_two)
{
    struct tl_history *history = open_history();
    for (int i = 0; i < 3; i++)
        keep(history, &(struct made_run){.number = i, .started_ns = NOON, .hit = -1});
    cr_expect(count(history, (struct tl_history_filter){0}) == 3);
    tl_history_close(history);
}

Test(history, tags_go_on_and_off_and_are_checked)
{
    struct tl_history *history = ten_runs();
    struct tl_error error = {0};
    cr_expect(tl_history_tag(history, made_id(0), "after fix", true, NULL) == TL_OK);
    cr_expect(tl_history_tag(history, made_id(0), "after fix", true, NULL) == TL_OK);
    cr_expect(tl_history_tag(history, made_id(0), "a", true, NULL) == TL_OK);
    struct tl_history_list list = {0};
    struct tl_history_filter filter = {.tag = "after fix"};
    cr_assert(tl_history_list(history, &filter, &list, NULL) == TL_OK && list.count == 1);
    cr_expect_str_eq(list.runs[0].tags, "a, after fix");
    tl_history_list_finish(&list);
    cr_expect(tl_history_tag(history, made_id(0), "after fix", false, NULL) == TL_OK);
    cr_expect(count(history, filter) == 0);
    static const char *const bad[] = {"",
                                      "a,b",
                                      " a",
                                      "a ",
                                      "\x1b[31m",
                                      "\xff",
                                      "12345678901234567890123456789012345678901234567890"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect(tl_history_tag(history, made_id(0), bad[i], true, &error) == TL_SYNTAX &&
                  error.text[0]);
    cr_expect(tl_history_tag(history, made_id(77), "a", true, NULL) == TL_UNKNOWN);
    char tag[16];
    for (int i = 0; i < TL_HISTORY_TAGS_MAX; i++) {
        snprintf(tag, sizeof tag, "t%d", i);
        cr_expect(tl_history_tag(history, made_id(1), tag, true, NULL) == TL_OK);
    }
    cr_expect(tl_history_tag(history, made_id(1), "more", true, &error) == TL_LIMIT);
    cr_expect(count(history, (struct tl_history_filter){.tag = "more"}) == 0, "rolled back");
    tl_history_close(history);
}

Test(history, notes_are_checked)
{
    struct tl_history *history = ten_runs();
    static char longer[TL_HISTORY_NOTE_MAX + 2];
    memset(longer, 'x', sizeof longer - 1);
    cr_expect(tl_history_set_note(history, made_id(0), longer, NULL) == TL_LIMIT);
    cr_expect(tl_history_set_note(history, made_id(0), "\x1b]0;x\x07", NULL) == TL_SYNTAX);
    cr_expect(tl_history_set_note(history, made_id(0), "two\nlines", NULL) == TL_OK);
    cr_expect(tl_history_set_note(history, made_id(99), "x", NULL) == TL_UNKNOWN);
    tl_history_close(history);
}

Test(history, deleting_and_pruning_spare_what_has_a_note_or_tag)
{
    struct tl_history *history = ten_runs();
    size_t deleted = 0;
    char *text;
    size_t len;
    cr_assert(tl_history_delete(history, made_id(9), NULL) == TL_OK);
    cr_expect(tl_history_delete(history, made_id(9), NULL) == TL_UNKNOWN);
    cr_expect(tl_history_document(history, made_id(9), &text, &len, NULL) == TL_UNKNOWN);
    cr_assert(tl_history_tag(history, made_id(0), "keep", true, NULL) == TL_OK);
    cr_assert(tl_history_set_note(history, made_id(1), "keep", NULL) == TL_OK);
    cr_assert(tl_history_prune(history, NOON + 4 * DAY, 0, false, &deleted, NULL) == TL_OK);
    cr_expect(deleted == 2, "%zu", deleted);
    cr_expect(count(history, (struct tl_history_filter){0}) == 7);
    cr_assert(tl_history_prune(history, 0, 3, true, &deleted, NULL) == TL_OK);
    cr_expect(deleted == 4 && count(history, (struct tl_history_filter){0}) == 3);
    cr_assert(tl_history_prune(history, 0, 3, true, &deleted, NULL) == TL_OK);
    cr_expect(deleted == 0);
    cr_expect(count(history, (struct tl_history_filter){.tag = "keep"}) == 0, "tags went too");
    tl_history_close(history);
}

Test(history, runs_are_found_by_what_people_write)
{
    struct tl_history *history = ten_runs();
    char id[TL_HISTORY_ID_SIZE];
    struct tl_error error = {0};
    cr_expect(tl_history_resolve(history, "last", id, NULL) == TL_OK);
    cr_expect_str_eq(id, made_id(9));
    cr_expect(tl_history_resolve(history, "last-2", id, NULL) == TL_OK);
    cr_expect_str_eq(id, made_id(7));
    cr_expect(tl_history_resolve(history, "last-10", id, &error) == TL_UNKNOWN);
    cr_expect(tl_history_resolve(history, made_id(4), id, NULL) == TL_OK);
    cr_expect(tl_history_resolve(history, "01j9zk00000000000000000004", id, NULL) == TL_OK);
    cr_expect_str_eq(id, made_id(4));
    cr_expect(tl_history_resolve(history, "01J9", id, &error) == TL_RANGE && error.text[0]);
    cr_expect(tl_history_resolve(history, "ZZ", id, &error) == TL_UNKNOWN);
    cr_expect(tl_history_resolve(history, "", id, &error) == TL_UNKNOWN);
    tl_history_close(history);
}

Test(history, a_short_id_is_as_long_as_tells_all_apart)
{
    struct tl_history *history = open_history();
    char id[TL_HISTORY_ID_SIZE];
    size_t length = 0;
    cr_expect(tl_history_id_length(history, &length, NULL) == TL_OK && length == 8);
    keep(history, &(struct made_run){.number = 4, .started_ns = NOON, .hit = -1});
    cr_expect(tl_history_id_length(history, &length, NULL) == TL_OK && length == 8);
    keep(history, &(struct made_run){.number = 70, .started_ns = NOON, .hit = -1});
    cr_expect(tl_history_id_length(history, &length, NULL) == TL_OK);
    cr_expect(length == 25, "%s and %s differ there, not at %zu", made_id(4), made_id(70), length);
    char cut[TL_HISTORY_ID_SIZE];
    snprintf(cut, length + 1, "%s", made_id(70));
    cr_expect(tl_history_resolve(history, cut, id, NULL) == TL_OK);
    cr_expect_str_eq(id, made_id(70));
    tl_history_close(history);
}

Test(history, what_is_no_document_is_refused_and_changes_nothing)
{
    struct tl_history *history = open_history();
    struct tl_error error = {0};
    struct tl_buf document = make_document(&(struct made_run){.started_ns = NOON, .hit = -1});
    static const char *const bad[] = {"",       "{}",
                                      "[1]",    "{\"format\":\"tightlink.findings/2\"}",
                                      "<html>", "{\"format\":\"tightlink.findings/1\",\"run\":1}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        error.text[0] = '\0';
        cr_expect(tl_history_add(history, bad[i], strlen(bad[i]), &error) != TL_OK &&
                  error.text[0]);
    }
    char *id = strstr(document.data, "01J9ZK");
    cr_assert(id);
    id[3] = 'l';
    cr_expect(tl_history_add(history, document.data, document.len, &error) == TL_SYNTAX);
    cr_expect(count(history, (struct tl_history_filter){0}) == 0);
    tl_buf_finish(&document);
    tl_history_close(history);
}

Test(history, two_programs_keep_runs_at_once)
{
    struct tl_history *one = open_history(), *two = open_history();
    keep(one, &(struct made_run){.number = 1, .started_ns = NOON, .hit = -1});
    keep(two, &(struct made_run){.number = 2, .started_ns = NOON + 1, .hit = -1});
    cr_expect(count(one, (struct tl_history_filter){0}) == 2);
    tl_history_close(one);
    tl_history_close(two);
}
