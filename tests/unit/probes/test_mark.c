/* Whose run it is. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tightlink/probes/mark.h"

#define RUN_ID "01HZZZZZZZZZZZZZZZZZZZZZZZ"

static char root[64];

static void put_id(const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/etc/machine-id", root);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

static void set_up(void)
{
    char path[128];
    strcpy(root, "/tmp/tl-mark-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/etc", root);
    cr_assert_eq(mkdir(path, 0700), 0);
}

static void tear_down(void)
{
    char path[128];
    static const char *const names[] = {"/etc/machine-id", "/etc", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s%s", root, names[i]);
        if (unlink(path) != 0)
            rmdir(path);
    }
}

TestSuite(mark, .init = set_up, .fini = tear_down);

/* Figure by Python's hmac over the same two texts. */
Test(mark, is_the_hmac_of_the_run_by_the_machine)
{
    char mark[TL_RUN_HOST_MARK_SIZE];
    put_id("0123456789abcdef0123456789abcdef\n");
    cr_assert(tl_host_mark_make(RUN_ID, root, mark));
    cr_expect_str_eq(mark, "0dd97b94703a20d57b29c69f743f2ed3");
}

Test(mark, tells_own_runs_from_others)
{
    struct tl_run run = {.id = RUN_ID, .host_mark = "0dd97b94703a20d57b29c69f743f2ed3"};
    put_id("0123456789abcdef0123456789abcdef\n");
    cr_expect_eq(tl_host_mark_check(&run, root), TL_HOST_MARK_OWN);
    run.id[25] = 'A'; /* the mark of one run carried into another */
    cr_expect_eq(tl_host_mark_check(&run, root), TL_HOST_MARK_OTHER);
    run.host_mark[0] = '\0';
    cr_expect_eq(tl_host_mark_check(&run, root), TL_HOST_MARK_NONE);
}

Test(mark, needs_an_id_of_the_machine)
{
    static const char *const none[] = {"", "uninitialized\n", "0123456789abcdef", "\n"};
    struct tl_run run = {.id = RUN_ID};
    cr_expect_eq(tl_host_mark_check(&run, root), TL_HOST_MARK_UNKNOWN);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        put_id(none[i]);
        cr_expect_eq(tl_host_mark_check(&run, root), TL_HOST_MARK_UNKNOWN, "%zu", i);
    }
}
