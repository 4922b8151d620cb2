/* Tests the directory named, over and over, until it is killed: for kills.py.
 *
 *     disk-load DIRECTORY [--named]
 *
 * --named: as on a file system without O_TMPFILE. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tightlink/base/time.h"
#include "tightlink/engine/disk.h"

static bool refuse_unnamed;

/* In the C library's place, under the name that programs with large files call: the layer asks
 * for its files through it, always with a mode. */
int open_in_folder(int folder, const char *path, int flags, unsigned mode) __asm__("openat64");

int open_in_folder(int folder, const char *path, int flags, unsigned mode)
{
    if (refuse_unnamed && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

static enum tl_status test_once(const char *directory, struct tl_error *reterr)
{
    struct tl_disk_area_spec spec = {.directory = directory, .bytes = 64 << 20};
    struct tl_disk_area *area = NULL;
    struct tl_disk_result result;
    struct tl_disk_spec test = {
        .operation = TL_DISK_WRITE, .duration_ns = 100 * TL_NS_PER_MS, .cancel_fd = -1};
    enum tl_status status = tl_disk_area_create(&spec, &area, reterr);
    if (status == TL_OK)
        status = tl_disk_test(area, &test, NULL, NULL, &result, reterr);
    test.operation = TL_DISK_READ;
    if (status == TL_OK)
        status = tl_disk_test(area, &test, NULL, NULL, &result, reterr);
    tl_disk_area_release(area);
    return status;
}

int main(int argc, char **argv)
{
    struct tl_error error = {0};
    if (argc < 2)
        return 2;
    refuse_unnamed = argc > 2 && strcmp(argv[2], "--named") == 0;
    enum tl_status status = TL_OK;
    while (status == TL_OK || status == TL_TIMEOUT) /* a disk that has no time just now */
        status = test_once(argv[1], &error);
    fprintf(stderr, "disk-load: %s\n", error.text);
    return 1;
}
