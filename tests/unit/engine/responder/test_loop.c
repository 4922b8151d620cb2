/* The loop when its process was held up: what was said meanwhile is read before anybody is judged.
 * And what is closed while somebody else holds its file. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"
#include "tightlink/base/time.h"

struct reader {
    struct watch watch; /* first */
    int64_t heard_ns;
};

static void heard(struct watch *watch, uint32_t events)
{
    char byte;
    cr_assert_eq(read(watch->fd, &byte, 1), 1);
    ((struct reader *)watch)->heard_ns = tl_now_ns();
}

static bool judged(void *context, int64_t now_ns)
{
    *(int64_t *)context = now_ns;
    return true;
}

static void hold_up(int64_t ns)
{
    struct timespec pause = {.tv_nsec = ns};
    cr_assert_eq(nanosleep(&pause, NULL), 0);
}

Test(loop, who_spoke_while_it_was_held_up_is_read_before_he_is_judged)
{
    struct reader reader = {0};
    int64_t judged_ns = 0;
    struct loop *loop;
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    reader.watch.fd = ends[0];
    cr_assert_eq(loop_create(judged, &judged_ns, &loop), TL_OK);
    cr_assert_eq(loop_add(loop, &reader.watch, EPOLLIN, heard), TL_OK);
    loop_need_tick(loop);
    hold_up(6 * TICK_NS); /* the tick is ready, and behind it: */
    cr_assert_eq(write(ends[1], "x", 1), 1);
    while (judged_ns == 0)
        cr_assert_eq(loop_wait(loop, NULL), TL_OK);
    cr_expect(reader.heard_ns > 0, "judged before it was heard");
    loop_destroy(loop);
    close(ends[0]);
    close(ends[1]);
}

/* A load under which every tick is late must not keep deadlines from being held. */
Test(loop, a_late_tick_is_put_off_once)
{
    int64_t judged_ns = 0;
    struct loop *loop;
    cr_assert_eq(loop_create(judged, &judged_ns, &loop), TL_OK);
    loop_need_tick(loop);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(judged_ns, 0);
        hold_up(6 * TICK_NS);
        cr_assert_eq(loop_wait(loop, NULL), TL_OK);
    }
    cr_expect(judged_ns > 0);
    loop_destroy(loop);
}

/* As whoever lists /proc/PID/fd holds it for a moment: nothing must come of it to what is freed. */
Test(loop, what_is_buried_is_heard_no_more_though_its_file_is_still_open)
{
    struct reader *buried = calloc(1, sizeof *buried);
    struct reader other = {0};
    int64_t judged_ns = 0;
    struct loop *loop;
    int ends[2], others[2];
    cr_assert(buried && pipe(ends) == 0 && pipe(others) == 0);
    int held = dup(ends[0]);
    buried->watch.fd = ends[0];
    other.watch.fd = others[0];
    cr_assert_eq(loop_create(judged, &judged_ns, &loop), TL_OK);
    cr_assert_eq(loop_add(loop, &buried->watch, EPOLLIN, heard), TL_OK);
    cr_assert_eq(loop_add(loop, &other.watch, EPOLLIN, heard), TL_OK);
    loop_bury(loop, &buried->watch);
    loop_tidy(loop);
    cr_assert_eq(write(ends[1], "x", 1), 1);
    cr_assert_eq(write(others[1], "x", 1), 1);
    cr_assert_eq(loop_wait(loop, NULL), TL_OK);
    cr_expect(other.heard_ns > 0);
    loop_destroy(loop);
    for (int i = 0; i < 2; i++)
        close(others[i]);
    close(ends[1]);
    close(held);
}
