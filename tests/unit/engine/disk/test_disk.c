/* Disk areas and tests, in a directory of the test's own. What needs root (quotas, read-only
 * mounts) is in tests/disk. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "disk_private.h"
#include "tightlink/base/time.h"

#define AREA_BYTES (UINT64_C(16) << 20)

static char folder[64];

static void make_folder(void)
{
    /* Not /tmp, which may live in memory. */
    snprintf(folder, sizeof folder, "/var/tmp/tightlink-test-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static unsigned count_entries(void)
{
    DIR *directory = opendir(folder);
    unsigned count = 0;
    cr_assert_not_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(directory);
    return count;
}

static void remove_folder(void)
{
    cr_assert_eq(rmdir(folder), 0, "something was left behind");
}

static struct tl_disk_area *make_area(bool buffered)
{
    struct tl_disk_area_spec spec = {
        .directory = folder, .bytes = AREA_BYTES, .buffered = buffered};
    struct tl_disk_area *area = NULL;
    struct tl_error error = {0};
    cr_assert_eq(tl_disk_area_create(&spec, &area, &error), TL_OK, "%s", error.text);
    return area;
}

static struct tl_disk_result run(struct tl_disk_area *area, enum tl_disk_operation operation,
                                 enum tl_disk_mode mode, uint64_t bytes)
{
    struct tl_disk_spec spec = {.operation = operation,
                                .mode = mode,
                                .threads = 2,
                                .duration_ns = 60 * TL_NS_PER_S,
                                .max_bytes = bytes,
                                .cancel_fd = -1};
    struct tl_disk_result result;
    struct tl_error error = {0};
    cr_assert_eq(tl_disk_test(area, &spec, NULL, NULL, &result, &error), TL_OK, "%s", error.text);
    return result;
}

/* The whole area by io_uring or by threads; what the disk holds afterwards is asked of the disk. */
static void write_and_read(bool no_ring, bool *ret_ring)
{
    struct tl_disk_area *area = make_area(false);
    for (int i = 0; i < 2; i++) {
        /* Written once: of a second round a block of the first that was late would remain. */
        uint64_t bytes = i ? 2 * AREA_BYTES : AREA_BYTES;
        struct tl_disk_spec spec = {.operation = i ? TL_DISK_READ : TL_DISK_WRITE,
                                    .mode = TL_DISK_MODE_DIRECT,
                                    .threads = 8,
                                    .no_ring = no_ring,
                                    .duration_ns = 60 * TL_NS_PER_S,
                                    .max_bytes = bytes,
                                    .cancel_fd = -1};
        struct tl_disk_result result;
        struct tl_error error = {0};
        cr_assert_eq(tl_disk_test(area, &spec, NULL, NULL, &result, &error), TL_OK, "%s",
                     error.text);
        cr_expect_eq(result.bytes, bytes);
        cr_expect_eq(result.operations, bytes / TL_DISK_BLOCK_BYTES);
        cr_expect_eq(result.end, TL_DISK_END_BYTES);
        cr_expect(result.p50_ns > 0 && result.p50_ns <= result.max_ns);
        cr_expect_not(result.ring && no_ring);
        *ret_ring = result.ring;
    }
    cr_expect_eq(tl_disk_area_written_bytes(area), AREA_BYTES);
    uint64_t marks[2] = {0};
    void *block = disk_block_alloc(TL_DISK_BLOCK_BYTES);
    for (uint64_t i = 0; i < AREA_BYTES / TL_DISK_BLOCK_BYTES; i++) {
        cr_assert_eq(disk_read_block(area->fd, block, TL_DISK_BLOCK_BYTES, i * TL_DISK_BLOCK_BYTES),
                     0);
        memcpy(&marks[1], block, sizeof marks[1]);
        cr_expect(i == 0 || marks[1] == marks[0] + TL_DISK_BLOCK_BYTES / TL_DISK_ALIGN_BYTES,
                  "block %llu lies at another's place", (unsigned long long)i);
        marks[0] = marks[1];
    }
    free(block);
    tl_disk_area_release(area);
}

TestSuite(disk, .init = make_folder, .fini = remove_folder, .timeout = 240);

Test(disk, an_area_has_no_name_and_its_size)
{
    struct tl_disk_area *area = make_area(false);
    const struct tl_disk_area_info *info = tl_disk_area_info(area);
    cr_expect_eq(info->bytes, AREA_BYTES);
    cr_expect_str_eq(info->directory, folder);
    cr_expect_null(strstr(info->note, "symbolic link"));
    cr_expect_eq(count_entries(), 0);
    cr_expect_eq(tl_disk_area_written_bytes(area), 0);
    tl_disk_area_release(area);
}

Test(disk, one_thread_with_a_ring_does_what_threads_do)
{
    bool ring;
    write_and_read(true, &ring);
    write_and_read(false, &ring);
    if (!ring)
        cr_skip_test("skipped: this kernel or this build permits no io_uring, or no O_DIRECT here");
}

Test(disk, what_was_written_can_be_read)
{
    struct tl_disk_area *area = make_area(false);
    struct tl_disk_result written = run(area, TL_DISK_WRITE, TL_DISK_MODE_DIRECT, AREA_BYTES);
    cr_expect_eq(written.bytes, AREA_BYTES);
    cr_expect_eq(written.operations, AREA_BYTES / TL_DISK_BLOCK_BYTES);
    cr_expect_eq(written.end, TL_DISK_END_BYTES);
    cr_expect_geq(written.sync_ns, 0);
    cr_expect_eq(tl_disk_area_written_bytes(area), AREA_BYTES);
    /* Twice round. */
    struct tl_disk_result read = run(area, TL_DISK_READ, TL_DISK_MODE_DIRECT, 2 * AREA_BYTES);
    bool direct = tl_disk_area_info(area)->direct;
    cr_expect_eq(read.bytes, direct ? 2 * AREA_BYTES : AREA_BYTES);
    cr_expect_eq(read.sync_ns, -1);
    cr_expect_gt(read.rate_bps, 0);
    cr_expect_leq(read.low_bps, read.rate_bps);
    cr_expect_geq(read.high_bps, read.rate_bps);
    cr_expect_leq(read.p50_ns, read.p99_ns);
    cr_expect_leq(read.p99_ns, read.max_ns);
    if (direct)
        cr_expect_eq(read.cache, TL_DISK_CACHE_NONE);
    tl_disk_area_release(area);
}

Test(disk, pages_of_two_blocks_differ)
{
    struct tl_disk_area *area = make_area(true);
    (void)run(area, TL_DISK_WRITE, TL_DISK_MODE_BUFFERED, AREA_BYTES);
    uint64_t marks[AREA_BYTES / TL_DISK_ALIGN_BYTES];
    unsigned count = AREA_BYTES / TL_DISK_ALIGN_BYTES;
    for (unsigned i = 0; i < count; i++)
        cr_assert_eq(pread(area->fd, &marks[i], 8, i * (off_t)TL_DISK_ALIGN_BYTES), 8);
    for (unsigned i = 1; i < count; i++)
        cr_assert_neq(marks[i], marks[i - 1]);
    tl_disk_area_release(area);
}

Test(disk, a_buffered_read_says_who_may_have_answered)
{
    struct tl_disk_area *area = make_area(true);
    cr_expect_not(tl_disk_area_info(area)->direct);
    (void)run(area, TL_DISK_WRITE, TL_DISK_MODE_BUFFERED, AREA_BYTES);
    struct tl_disk_result read = run(area, TL_DISK_READ, TL_DISK_MODE_BUFFERED, 0);
    cr_expect_eq(read.bytes, AREA_BYTES, "never twice round: memory would answer");
    cr_expect_neq(read.cache, TL_DISK_CACHE_NONE);
    tl_disk_area_release(area);
}

Test(disk, durable_writes_take_their_time)
{
    struct tl_disk_area *area = make_area(false);
    struct tl_disk_result result = run(area, TL_DISK_WRITE, TL_DISK_MODE_SYNC, 4 << 20);
    cr_expect_eq(result.mode, TL_DISK_MODE_SYNC);
    cr_expect_eq(result.bytes, 4 << 20);
    cr_expect_gt(result.rate_bps, 0);
    tl_disk_area_release(area);
}

Test(disk, nothing_written_means_nothing_to_read)
{
    struct tl_disk_area *area = make_area(false);
    struct tl_disk_spec spec = {
        .operation = TL_DISK_READ, .duration_ns = TL_NS_PER_S, .cancel_fd = -1};
    struct tl_disk_result result;
    struct tl_error error = {0};
    cr_expect_eq(tl_disk_test(area, &spec, NULL, NULL, &result, &error), TL_RANGE);
    cr_expect_not_null(strstr(error.text, "nothing to read"));
    cr_expect(isnan(result.rate_bps), "not measured is not zero");
    cr_expect_eq(result.p50_ns, -1);
    tl_disk_area_release(area);
}

Test(disk, a_cancelled_test_ends_soon)
{
    struct tl_disk_area *area = make_area(false);
    int cancel_fd = eventfd(1, EFD_CLOEXEC);
    struct tl_disk_spec spec = {
        .operation = TL_DISK_WRITE, .duration_ns = 60 * TL_NS_PER_S, .cancel_fd = cancel_fd};
    struct tl_disk_result result;
    int64_t from_ns = tl_now_ns();
    cr_expect_eq(tl_disk_test(area, &spec, NULL, NULL, &result, NULL), TL_CANCELLED);
    cr_expect_lt(tl_now_ns() - from_ns, 20 * TL_NS_PER_S);
    cr_expect_eq(result.end, TL_DISK_END_CANCELLED);
    close(cancel_fd);
    tl_disk_area_release(area);
}

static enum tl_status refuse(const char *directory, char ret_text[512])
{
    struct tl_disk_area_spec spec = {.directory = directory};
    struct tl_disk_area *area = NULL;
    struct tl_error error = {0};
    enum tl_status status = tl_disk_area_create(&spec, &area, &error);
    cr_expect_null(area);
    memcpy(ret_text, error.text, 512);
    return status;
}

Test(disk, wrong_names_are_refused_with_a_sentence)
{
    char path[128], text[512];
    snprintf(path, sizeof path, "%s/none", folder);
    cr_expect_eq(refuse(path, text), TL_UNKNOWN);
    cr_expect_not_null(strstr(text, "there is no directory"));
    cr_expect_eq(refuse("/dev/zero", text), TL_USAGE);
    cr_expect_not_null(strstr(text, "is a device"));
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    cr_assert_eq(write(fd, "mine", 4), 4);
    close(fd);
    cr_expect_eq(refuse(path, text), TL_USAGE);
    cr_expect_not_null(strstr(text, "is no directory"));
    cr_expect_neq(refuse("/proc", text), TL_OK);
    cr_expect_neq(text[0], '\0');
    cr_expect_eq(refuse("", text), TL_UNKNOWN);
    char kept[8] = {0};
    fd = open(path, O_RDONLY);
    cr_expect_eq(read(fd, kept, sizeof kept), 4);
    cr_expect_str_eq(kept, "mine");
    close(fd);
    unlink(path);
}

Test(disk, a_link_is_followed_and_said)
{
    char path[128];
    snprintf(path, sizeof path, "%s-link", folder);
    cr_assert_eq(symlink(folder, path), 0);
    struct tl_disk_area_spec spec = {.directory = path, .bytes = AREA_BYTES};
    struct tl_disk_area *area = NULL;
    cr_assert_eq(tl_disk_area_create(&spec, &area, NULL), TL_OK);
    cr_expect_str_eq(tl_disk_area_info(area)->directory, folder);
    cr_expect_not_null(strstr(tl_disk_area_info(area)->note, "symbolic link"));
    tl_disk_area_release(area);
    unlink(path);
}

Test(disk, a_directory_without_permission_is_refused)
{
    char text[512];
    bool root = geteuid() == 0; /* may write everywhere: somebody else for a moment */
    cr_assert(!root || seteuid(65534) == 0);
    cr_expect_eq(refuse("/", text), TL_DENIED);
    cr_assert(!root || seteuid(0) == 0);
    cr_expect_not_null(strstr(text, "may not"));
}

Test(disk, an_area_is_no_larger_than_permitted)
{
    struct tl_disk_area_spec spec = {.directory = folder, .bytes = UINT64_MAX};
    struct tl_disk_area *area = NULL;
    struct tl_error error = {0};
    enum tl_status status = tl_disk_area_create(&spec, &area, &error);
    cr_assert_eq(status, TL_OK, "%s", error.text);
    const struct tl_disk_area_info *info = tl_disk_area_info(area);
    cr_expect_leq(info->bytes, UINT64_C(1) << 30, "P8");
    cr_expect_leq((double)info->bytes, 0.05 * (double)info->free_bytes, "P8");
    struct stat status_of;
    cr_assert_eq(fstat(area->fd, &status_of), 0);
    cr_expect_leq((uint64_t)status_of.st_blocks * 512, info->bytes + (1 << 20));
    cr_expect_eq(status_of.st_nlink, 0);
    tl_disk_area_release(area);
}

/* Where a twentieth of what is free is less than 1 GiB: a file system of 1 GiB, of this child
 * alone. */
static int take_of_a_small_one(void)
{
    struct tl_disk_area_spec spec = {.directory = folder, .bytes = UINT64_MAX};
    struct tl_disk_area *area = NULL;
    if ((geteuid() != 0 && unshare(CLONE_NEWUSER) != 0) || unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", folder, "tmpfs", 0, "size=1g") != 0)
        return 77;
    if (tl_disk_area_create(&spec, &area, NULL) != TL_OK)
        return 1;
    return tl_disk_area_info(area)->bytes <= (UINT64_C(1) << 30) / 20 ? 0 : 2;
}

Test(disk, an_area_takes_a_twentieth_of_a_small_file_system)
{
    pid_t child = fork();
    if (child == 0)
        _exit(take_of_a_small_one());
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        cr_skip("skipped: no file system may be mounted here");
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%d", status);
}

/* 64 sessions of a responder with 20 GiB free: each held 1 GiB, all of them three times the disk.
 */
Test(disk_share, all_areas_together_keep_to_a_twentieth)
{
    static struct tl_disk_area areas[64];
    uint64_t permitted = UINT64_C(1) << 30, wanted = (uint64_t)TL_DISK_BYTES_MAX, held = 0;
    for (size_t i = 0; i < 64; i++)
        held += disk_share_take(&areas[i], 7, permitted, wanted, true);
    cr_expect_leq(held, permitted);
    cr_expect_geq(areas[5].held_bytes, (uint64_t)TL_DISK_BYTES_MIN, "the sixth has some, too");
    cr_expect_eq(areas[63].held_bytes, 0);
    disk_share_give_back(&areas[0]);
    cr_expect_eq(disk_share_take(&areas[63], 7, permitted, UINT64_MAX, false), UINT64_C(512) << 20,
                 "what is given back can be had again");
    for (size_t i = 0; i < 64; i++)
        disk_share_give_back(&areas[i]);
    cr_expect_eq(disk_share_take(&areas[1], 7, permitted, wanted, false), permitted);
    cr_expect_eq(disk_share_take(&areas[2], 8, permitted, wanted, false), permitted,
                 "another file system is another account");
    disk_share_give_back(&areas[1]);
    disk_share_give_back(&areas[2]);
}

Test(disk, a_shared_area_leaves_half)
{
    struct tl_disk_area_spec spec = {.directory = folder, .shared = true};
    struct tl_disk_area *areas[2] = {NULL, NULL};
    struct tl_error error = {0};
    for (int i = 0; i < 2; i++)
        cr_assert_eq(tl_disk_area_create(&spec, &areas[i], &error), TL_OK, "%s", error.text);
    const struct tl_disk_area_info *a = tl_disk_area_info(areas[0]),
                                   *b = tl_disk_area_info(areas[1]);
    cr_expect_leq((double)(a->bytes + b->bytes), TL_DISK_FREE_RATIO * (double)a->free_bytes);
    cr_expect_leq((double)a->bytes, TL_DISK_FREE_RATIO * (double)a->free_bytes / 2);
    tl_disk_area_release(areas[0]);
    tl_disk_area_release(areas[1]);
}

Test(disk_times, quantiles_lie_within_a_step)
{
    struct disk_times *times = calloc(1, sizeof *times);
    cr_assert_eq(disk_times_quantile(times, 0.5), -1);
    for (int64_t i = 1; i <= 1000; i++)
        disk_times_add(times, i * 1000);
    double p50 = (double)disk_times_quantile(times, 0.5);
    double p99 = (double)disk_times_quantile(times, 0.99);
    cr_expect(fabs(p50 / 500e3 - 1) < 0.045, "%f", p50);
    cr_expect(fabs(p99 / 990e3 - 1) < 0.045, "%f", p99);
    cr_expect_eq(times->max_ns, 1000000);
    disk_times_add(times, 0);
    disk_times_add(times, INT64_MAX);
    cr_expect_eq(times->total, 1002);
    free(times);
}
