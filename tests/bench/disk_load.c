/* The engine's disk side as a program, for bench_disk.py.
 *
 *     bench-disk-load write|read DIRECTORY DEPTH SECONDS [threads]
 *
 * Prints one line: bits a second and CPU seconds. With "threads" not by io_uring. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tightlink/base/time.h"
#include "tightlink/engine/disk.h"

static struct tl_error error;

static void fail(const char *what)
{
    fprintf(stderr, "bench-disk-load: %s: %s\n", what, error.text);
    exit(1);
}

static double cpu_s(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static struct tl_disk_area *make_area(const char *directory)
{
    struct tl_disk_area_spec spec = {.directory = directory};
    struct tl_disk_area *area = NULL;
    if (tl_disk_area_create(&spec, &area, &error) != TL_OK)
        fail("area");
    return area;
}

static double test_disk(struct tl_disk_area *area, enum tl_disk_operation operation, unsigned depth,
                        bool no_ring, double seconds)
{
    struct tl_disk_result result;
    struct tl_disk_spec spec = {.operation = operation,
                                .threads = depth,
                                .no_ring = no_ring,
                                .duration_ns = (int64_t)(seconds * 1e9),
                                .cancel_fd = -1};
    if (tl_disk_test(area, &spec, NULL, NULL, &result, &error) != TL_OK)
        fail("test");
    return result.rate_bps;
}

/* A whole area, so that a read test has something to read, however slow the disk is. */
static void fill(struct tl_disk_area *area)
{
    struct tl_disk_result result;
    struct tl_disk_spec spec = {.operation = TL_DISK_WRITE,
                                .duration_ns = 30 * TL_NS_PER_S,
                                .max_bytes = tl_disk_area_info(area)->bytes,
                                .cancel_fd = -1};
    if (tl_disk_test(area, &spec, NULL, NULL, &result, &error) != TL_OK)
        fail("fill");
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    bool writes = strcmp(argv[1], "write") == 0;
    struct tl_disk_area *area = make_area(argv[2]);
    if (!writes)
        fill(area);
    double before_s = cpu_s();
    double bps = test_disk(area, writes ? TL_DISK_WRITE : TL_DISK_READ, (unsigned)atoi(argv[3]),
                           argc > 5, atof(argv[4]));
    printf("%.0f %.3f\n", bps, cpu_s() - before_s);
    tl_disk_area_release(area);
    return 0;
}
