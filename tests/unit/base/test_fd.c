/* Whole writes. */
#include "tightlink/base/fd.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/base/thread.h"

#define MANY (1 << 20) /* more than any pipe holds */

static void *read_all(void *context)
{
    static char bytes[5000];
    size_t *count = context;
    ssize_t n;
    int fd = (int)*count;
    for (*count = 0; (n = read(fd, bytes, sizeof bytes)) > 0; *count += (size_t)n)
        ;
    return context;
}

Test(fd, what_one_call_does_not_take_goes_with_the_next)
{
    static char text[MANY];
    int ends[2];
    pthread_t reader;
    cr_assert_eq(pipe(ends), 0);
    size_t count = (size_t)ends[0];
    cr_assert_eq(tl_thread_start(&reader, read_all, &count), 0);
    cr_expect(tl_fd_write(ends[1], text, sizeof text));
    close(ends[1]);
    pthread_join(reader, NULL);
    cr_expect_eq(count, sizeof text);
}

Test(fd, a_reader_that_is_gone_is_told)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    close(ends[0]);
    signal(SIGPIPE, SIG_IGN);
    cr_expect_not(tl_fd_write(ends[1], "x", 1));
    cr_expect_eq(errno, EPIPE);
    cr_expect(tl_fd_write(ends[1], "", 0), "nothing is written whole");
}
