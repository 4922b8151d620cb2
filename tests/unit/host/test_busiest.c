/* Which program works most between two readings. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tightlink/base/time.h"
#include "tightlink/host/process.h"

TestSuite(host_busiest);

static char root[] = "/tmp/tl-busiest-XXXXXX";

static void put(int pid, const char *name, unsigned user, unsigned start)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/proc/%d", root, pid);
    (void)mkdir(path, 0700);
    strcat(path, "/stat");
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file);
    fprintf(file, "%d (%s) S 1 1 1 0 -1 4194560 100 0 0 0 %u 5 0 0 20 0 1 0 %u 1000 50\n", pid,
            name, user, start);
    fclose(file);
}

static void set_up(void)
{
    char path[64];
    cr_assert_not_null(mkdtemp(root));
    snprintf(path, sizeof(path), "%s/proc", root);
    cr_assert_eq(mkdir(path, 0700), 0);
    put(1, "init", 50, 1);
    put(77, "openvpn (1)", 1000, 300);
    put(90, "tightlink", 2000, 400);
    put(91, "a new\x1b[31m one", 10, 500);
}

static void tear_down(void)
{
    static const int pids[] = {1, 77, 90, 91};
    char path[128];
    for (size_t i = 0; i < sizeof(pids) / sizeof(pids[0]); i++) {
        snprintf(path, sizeof(path), "%s/proc/%d/stat", root, pids[i]);
        unlink(path);
        snprintf(path, sizeof(path), "%s/proc/%d", root, pids[i]);
        rmdir(path);
    }
    snprintf(path, sizeof(path), "%s/proc", root);
    rmdir(path);
    rmdir(root);
}

Test(host_busiest, the_one_with_most_time_that_is_not_ours, .init = set_up, .fini = tear_down)
{
    struct tl_host_busy_reading *before = tl_host_busy_take(root), *after;
    struct tl_host_busy busy = {.pid = -1};
    int64_t from_ns = tl_now_ns();

    cr_assert_not_null(before);
    put(77, "openvpn (1)", 1200, 300);       /* 200 ticks more */
    put(90, "tightlink", 9000, 400);         /* ours */
    put(91, "a new\x1b[31m one", 5000, 501); /* another program of an old number */
    while (tl_now_ns() - from_ns < 20 * TL_NS_PER_MS)
        ;
    after = tl_host_busy_take(root);
    double elapsed_s = (double)(tl_now_ns() - from_ns) / 1e9;
    cr_assert(tl_host_busy_between(before, after, 90, &busy));
    cr_expect_eq(busy.pid, 77);
    cr_expect_str_eq(busy.name, "openvpn (1)");
    double cores = 200.0 / (double)sysconf(_SC_CLK_TCK) / elapsed_s;
    cr_expect(busy.cores_ratio >= 0.5 * cores && busy.cores_ratio <= 2 * cores, "%g, %g",
              busy.cores_ratio, cores);
    tl_host_busy_destroy(before);
    tl_host_busy_destroy(after);
}

Test(host_busiest, nobody_did_anything, .init = set_up, .fini = tear_down)
{
    struct tl_host_busy_reading *before = tl_host_busy_take(root), *after;
    struct tl_host_busy busy = {.pid = -1};
    int64_t from_ns = tl_now_ns();

    while (tl_now_ns() == from_ns)
        ;
    after = tl_host_busy_take(root);
    cr_assert(tl_host_busy_between(before, after, 90, &busy));
    cr_expect_eq(busy.pid, 0);
    cr_expect(!tl_host_busy_between(NULL, after, 90, &busy));
    tl_host_busy_destroy(before);
    tl_host_busy_destroy(after);
    cr_expect_null(tl_host_busy_take("/no/such/root"));
}
