/* The outbox: rows before requests, and none of them lost or doubled. */
#include <criterion/criterion.h>
#include <string.h>

#include "documents.h"
#include "tightlink/store/outbox.h"

static struct tl_outbox *open_outbox(void)
{
    struct tl_outbox *outbox = NULL;
    cr_assert(tl_outbox_open(test_path("outbox.sqlite"), &outbox, NULL) == TL_OK);
    return outbox;
}

static const struct tl_outbox_row row = {.run = "01J9ZK00000000000000000001",
                                         .target = "helpdesk",
                                         .comment_on = "",
                                         .title = "[tightlink 01J9ZK] slow",
                                         .text = "text",
                                         .json = "{}",
                                         .html = ""};

static bool count(const struct tl_outbox_row *ignored, void *context)
{
    (void)ignored;
    ++*(int *)context;
    return true;
}

static int rows(struct tl_outbox *outbox, int64_t due_ns)
{
    int n = 0;
    cr_assert(tl_outbox_each(outbox, due_ns, count, &n, NULL) == TL_OK);
    return n;
}

Test(outbox, the_same_run_for_the_same_target_is_one_row)
{
    struct tl_outbox *outbox = open_outbox();
    int64_t first = 0, second = 0, other = 0;
    bool new = false;
    struct tl_outbox_row comment = row;
    comment.comment_on = "17";
    cr_assert(tl_outbox_add(outbox, &row, &first, &new, NULL) == TL_OK && new);
    cr_assert(tl_outbox_mark(outbox, first, TL_OUTBOX_SENDING, NULL, NULL, 0, NULL) == TL_OK);
    cr_assert(tl_outbox_add(outbox, &row, &second, &new, NULL) == TL_OK && !new);
    cr_expect(first == second);
    cr_assert(tl_outbox_add(outbox, &comment, &other, &new, NULL) == TL_OK && new);
    cr_expect(other != first && rows(outbox, 0) == 2);
    tl_outbox_close(outbox);
}

Test(outbox, a_row_outlives_the_program_and_tells_how_far_it_came)
{
    struct tl_outbox *outbox = open_outbox();
    struct tl_outbox_row got;
    int64_t id;
    bool new;
    cr_assert(tl_outbox_add(outbox, &row, &id, &new, NULL) == TL_OK);
    cr_assert(tl_outbox_mark(outbox, id, TL_OUTBOX_SENDING, NULL, NULL, 0, NULL) == TL_OK);
    tl_outbox_close(outbox);
    outbox = open_outbox();
    cr_assert(tl_outbox_get(outbox, id, &got, NULL) == TL_OK);
    cr_expect(got.state == TL_OUTBOX_SENDING && got.attempts_count == 1);
    cr_expect_str_eq(got.text, "text");
    tl_outbox_row_finish(&got);
    cr_assert(tl_outbox_mark(outbox, id, TL_OUTBOX_SENT, "42", "", 0, NULL) == TL_OK);
    cr_assert(tl_outbox_get(outbox, id, &got, NULL) == TL_OK);
    cr_expect(got.state == TL_OUTBOX_SENT && strcmp(got.ticket, "42") == 0);
    cr_expect(!got.text[0] && !got.json[0] && got.title[0], "what was sent needs no room");
    tl_outbox_row_finish(&got);
    tl_outbox_close(outbox);
}

Test(outbox, only_what_waits_is_due_and_not_before_its_time)
{
    struct tl_outbox *outbox = open_outbox();
    int64_t id;
    bool new;
    cr_assert(tl_outbox_add(outbox, &row, &id, &new, NULL) == TL_OK);
    cr_expect(rows(outbox, 1) == 1);
    cr_assert(tl_outbox_mark(outbox, id, TL_OUTBOX_WAITING, NULL, "busy", 1000, NULL) == TL_OK);
    cr_expect(rows(outbox, 999) == 0 && rows(outbox, 1000) == 1);
    cr_assert(tl_outbox_mark(outbox, id, TL_OUTBOX_FAILED, NULL, "401", 0, NULL) == TL_OK);
    cr_expect(rows(outbox, 5000) == 0 && rows(outbox, 0) == 1);
    struct tl_outbox_row got;
    cr_expect(tl_outbox_get(outbox, id + 1, &got, NULL) == TL_UNKNOWN);
    tl_outbox_close(outbox);
}

Test(outbox, one_program_sends_at_a_time)
{
    struct tl_outbox *one = open_outbox(), *two = open_outbox();
    struct tl_error error = {0};
    cr_assert(tl_outbox_lock(one, NULL) == TL_OK);
    cr_expect(tl_outbox_lock(two, &error) == TL_BUSY && error.text[0]);
    tl_outbox_unlock(one);
    cr_expect(tl_outbox_lock(two, NULL) == TL_OK);
    tl_outbox_close(two);
    cr_expect(tl_outbox_lock(one, NULL) == TL_OK, "closing gives the lock back");
    tl_outbox_close(one);
}
