/* The area: a file without a name in a directory that was named, within the limits of P8.
 * What is done with it is in disk_job.c and transfer_store.c. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "disk_private.h"
#include "tightlink/base/random.h"
#include "tightlink/base/units.h"
#include "tightlink/base/utf8.h"

#define NAME_ATTEMPTS 8 /* of a random name; the first one is free but for a miracle */

enum tl_status disk_error(const char *directory, const char *doing, int errnum,
                          struct tl_error *reterr)
{
    switch (errnum) {
    case ENOENT:
        return tl_error_set(reterr, TL_UNKNOWN,
                            "there is no directory %s: make it, or name another", directory);
    case ENOTDIR:
        return tl_error_set(reterr, TL_USAGE,
                            "%s is no directory: name the directory in which to test", directory);
    case EACCES:
    case EPERM:
        return tl_error_set(reterr, TL_DENIED,
                            "this user may not %s in %s: choose a directory of your own", doing,
                            directory);
    case EROFS:
        return tl_error_set(reterr, TL_DENIED,
                            "%s is mounted read-only: nothing can be written there, and a read "
                            "test reads only what it wrote itself",
                            directory);
    case ENOSPC:
        return tl_error_set(reterr, TL_NOSPACE, "no space is left in %s", directory);
    case EDQUOT:
        return tl_error_set(reterr, TL_NOSPACE,
                            "this user's disk quota is used up in %s: free some, or choose "
                            "another file system",
                            directory);
    case EOPNOTSUPP:
    case EINVAL:
    case ENOSYS:
        return tl_error_set(reterr, TL_UNSUPPORTED,
                            "the file system of %s does not take files of a test (%s)", directory,
                            strerror(errnum));
    case ENOMEM:
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    default:
        return tl_error_set(reterr, TL_IO, "could not %s in %s: %s", doing, directory,
                            strerror(errnum));
    }
}

void *disk_block_alloc(size_t bytes)
{
    void *block = NULL;
    return posix_memalign(&block, TL_DISK_ALIGN_BYTES, bytes) == 0 ? block : NULL;
}

int disk_read_block(int fd, void *block, size_t bytes, uint64_t offset)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = pread(fd, (char *)block + done, bytes - done, (off_t)(offset + done));
        if (got == 0)
            return EIO;
        if (got < 0 && errno != EINTR)
            return errno;
        done += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

int disk_write_block(int fd, const void *block, size_t bytes, uint64_t offset)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t put = pwrite(fd, (const char *)block + done, bytes - done, (off_t)(offset + done));
        if (put < 0 && errno != EINTR)
            return errno;
        done += put > 0 ? (size_t)put : 0;
    }
    return 0;
}

bool disk_area_set_direct(struct tl_disk_area *area, bool direct)
{
    int flags = fcntl(area->fd, F_GETFL);
    if (flags < 0)
        return false;
    flags = direct ? flags | O_DIRECT : flags & ~O_DIRECT;
    return fcntl(area->fd, F_SETFL, flags) == 0;
}

/* Adds a sentence to the note, cut where there is no more room. */
static void add_note(struct tl_disk_area *area, const char *sentence)
{
    char *note = area->info.note;
    size_t len = strlen(note);
    snprintf(note + len, TL_DISK_NOTE_SIZE - len, "%s%s", len > 0 ? "; " : "", sentence);
}

/* --- The directory ------------------------------------------------------------------------ */

/* Opens the directory that was named, and nothing else: a device or a pipe is refused before
 * it is opened, since opening can act on it (a tape rewinds, a watchdog starts). */
static enum tl_status open_directory(const char *directory, int *ret_fd, struct tl_error *reterr)
{
    struct stat status;
    if (stat(directory, &status) < 0)
        return disk_error(directory, "look", errno, reterr);
    if (S_ISBLK(status.st_mode) || S_ISCHR(status.st_mode))
        return tl_error_set(reterr, TL_USAGE,
                            "%s is a device, and a test never writes to one: name a directory on "
                            "a file system that lies on it",
                            directory);
    if (!S_ISDIR(status.st_mode))
        return disk_error(directory, "look", ENOTDIR, reterr);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return disk_error(directory, "look", errno, reterr);
    *ret_fd = fd;
    return TL_OK;
}

/* Where the name led to, for the record; the name itself where /proc does not tell. */
static void name_directory(struct tl_disk_area *area, int directory_fd, const char *directory)
{
    char link[64], target[4096], real[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory_fd);
    ssize_t len = readlink(link, target, sizeof target - 1);
    target[len > 0 ? len : 0] = '\0';
    const char *told = len > 0 && target[0] == '/' ? target : directory;
    tl_utf8_clean(told, strlen(told), area->info.directory, sizeof area->info.directory);
    /* A name without any link in it resolves to itself, with "." and ".." taken out. */
    struct stat itself;
    size_t end = strlen(directory);
    while (end > 1 && directory[end - 1] == '/')
        end--;
    snprintf(real, sizeof real, "%.*s", (int)end, directory);
    if (lstat(real, &itself) == 0 && S_ISLNK(itself.st_mode))
        add_note(area, "the directory named is a symbolic link: where it leads was tested");
}

/* --- The file ------------------------------------------------------------------------------ */

/* A file with a name for as short as can be, where there are none without. */
static int open_and_unlink(int directory_fd, int flags)
{
    for (int i = 0; i < NAME_ATTEMPTS; i++) {
        uint64_t number;
        char name[48];
        if (tl_random_secure(&number, sizeof number) != TL_OK) {
            errno = EIO;
            return -1;
        }
        snprintf(name, sizeof name, ".tightlink-%016llx", (unsigned long long)number);
        int fd = openat(directory_fd, name, flags | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (fd >= 0) {
            (void)unlinkat(directory_fd, name, 0);
            return fd;
        }
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

/* Errors by which a file system says that it has no O_TMPFILE (open(2)); a kernel without it
 * sees O_DIRECTORY | O_RDWR, EISDIR. */
static bool lacks_tmpfile(int errnum)
{
    return errnum == EOPNOTSUPP || errnum == EISDIR || errnum == ENOENT || errnum == EINVAL;
}

static int open_file(struct tl_disk_area *area, int directory_fd, bool direct)
{
    int flags = O_RDWR | O_CLOEXEC | (direct ? O_DIRECT : 0);
    int fd = openat(directory_fd, ".", flags | O_TMPFILE, 0600);
    if (fd >= 0 || !lacks_tmpfile(errno))
        return fd;
    fd = open_and_unlink(directory_fd, flags);
    if (fd >= 0)
        add_note(area, "the file system has no files without a name: one was made and unlinked "
                       "at once");
    return fd;
}

/* The file, past the page cache where that can be. */
static enum tl_status make_file(struct tl_disk_area *area, int directory_fd,
                                const struct tl_disk_area_spec *spec, struct tl_error *reterr)
{
    area->info.direct = !spec->buffered;
    if (area->info.direct)
        area->fd = open_file(area, directory_fd, true);
    if (area->info.direct && area->fd < 0 && errno == EINVAL) {
        area->info.direct = false;
        add_note(area, "the file system does not let programs past its page cache");
    }
    if (!area->info.direct)
        area->fd = open_file(area, directory_fd, false);
    return area->fd >= 0 ? TL_OK : disk_error(spec->directory, "make a file", errno, reterr);
}

/* --- Space --------------------------------------------------------------------------------- */

/* Why nothing is left for the area, of which others may hold a part. */
static enum tl_status no_room(const struct tl_disk_area *area, const char *directory,
                              uint64_t permitted, struct tl_error *reterr)
{
    char free_text[TL_UNIT_TEXT_SIZE], least[TL_UNIT_TEXT_SIZE];
    if (area->info.free_bytes == 0)
        return disk_error(directory, "write", ENOSPC, reterr);
    if (permitted >= (uint64_t)TL_DISK_BYTES_MIN)
        return tl_error_set(reterr, TL_BUSY,
                            "other tests hold what may be used of %s, a twentieth of what is free "
                            "for all of them together: try again when they have ended",
                            directory);
    return tl_error_set(reterr, TL_LIMIT,
                        "only %s are free in %s, of which tests use at most a twentieth; one "
                        "needs %s: free some, or choose another file system",
                        tl_format_bytes((double)area->info.free_bytes, free_text), directory,
                        tl_format_bytes((double)TL_DISK_BYTES_MIN, least));
}

static enum tl_status choose_size(struct tl_disk_area *area, const struct tl_disk_area_spec *spec,
                                  struct tl_error *reterr)
{
    struct statvfs space;
    struct stat about;
    if (fstatvfs(area->fd, &space) < 0 || fstat(area->fd, &about) < 0)
        return disk_error(spec->directory, "ask for the free space", errno, reterr);
    area->info.free_bytes = (uint64_t)space.f_bavail * space.f_frsize;
    uint64_t permitted = (uint64_t)((double)area->info.free_bytes * TL_DISK_FREE_RATIO);
    uint64_t wanted = (uint64_t)TL_DISK_BYTES_MAX;
    if (spec->bytes > 0 && wanted > spec->bytes)
        wanted =
            spec->bytes > (uint64_t)TL_DISK_BYTES_MIN ? spec->bytes : (uint64_t)TL_DISK_BYTES_MIN;
    area->info.bytes = disk_share_take(area, about.st_dev, permitted, wanted, spec->shared);
    return area->info.bytes > 0 ? TL_OK : no_room(area, spec->directory, permitted, reterr);
}

/* Reserves the space, so that a full disk or a quota is seen now, and the file lies in one
 * piece. Less is taken where a quota leaves less. */
static enum tl_status reserve(struct tl_disk_area *area, const char *directory,
                              struct tl_error *reterr)
{
    for (;;) {
        int errnum = fallocate(area->fd, 0, 0, (off_t)area->info.bytes) == 0 ? 0 : errno;
        if (errnum == 0)
            return TL_OK;
        if (errnum == EINTR)
            continue;
        bool full = errnum == ENOSPC || errnum == EDQUOT || errnum == EFBIG;
        if (full && area->info.bytes > (uint64_t)TL_DISK_BYTES_MIN) {
            (void)!ftruncate(area->fd, 0);
            uint64_t half = area->info.bytes / 2;
            half -= half % TL_DISK_BLOCK_BYTES;
            area->info.bytes =
                half > (uint64_t)TL_DISK_BYTES_MIN ? half : (uint64_t)TL_DISK_BYTES_MIN;
            continue;
        }
        /* A file system that cannot reserve grows the file as it is written. */
        return full ? disk_error(directory, "write", errnum, reterr) : TL_OK;
    }
}

/* Some file systems take O_DIRECT when opening and refuse it when writing. */
static void try_direct(struct tl_disk_area *area)
{
    void *block = area->info.direct ? disk_block_alloc(TL_DISK_ALIGN_BYTES) : NULL;
    if (!block)
        return;
    memset(block, 0x5a, TL_DISK_ALIGN_BYTES);
    if (disk_write_block(area->fd, block, TL_DISK_ALIGN_BYTES, 0) == EINVAL) {
        area->info.direct = false;
        (void)disk_area_set_direct(area, false);
        add_note(area, "the file system refuses to write past its page cache");
    }
    free(block);
}

/* --- Life ----------------------------------------------------------------------------------- */

static void look_at_kind(struct tl_disk_area *area)
{
    struct statfs kind;
    area->in_memory =
        fstatfs(area->fd, &kind) == 0 && (kind.f_type == TMPFS_MAGIC || kind.f_type == RAMFS_MAGIC);
    if (area->in_memory)
        add_note(area, "the file system lives in memory: no disk was tested");
}

enum tl_status tl_disk_area_create(const struct tl_disk_area_spec *spec,
                                   struct tl_disk_area **ret_area, struct tl_error *reterr)
{
    int directory_fd = -1;
    struct tl_disk_area *area = calloc(1, sizeof *area);
    if (!area)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    area->fd = -1;
    atomic_init(&area->holds, 1);
    enum tl_status status = open_directory(spec->directory, &directory_fd, reterr);
    if (status != TL_OK)
        goto out;
    name_directory(area, directory_fd, spec->directory);
    status = make_file(area, directory_fd, spec, reterr);
    if (status == TL_OK)
        status = choose_size(area, spec, reterr);
    if (status == TL_OK)
        status = reserve(area, spec->directory, reterr);
    if (status == TL_OK) {
        try_direct(area);
        look_at_kind(area);
        *ret_area = area;
    }
out:
    if (directory_fd >= 0)
        close(directory_fd);
    if (status != TL_OK)
        tl_disk_area_release(area);
    return status;
}

struct tl_disk_area *tl_disk_area_hold(struct tl_disk_area *area)
{
    atomic_fetch_add(&area->holds, 1);
    return area;
}

void tl_disk_area_release(struct tl_disk_area *area)
{
    if (!area || atomic_fetch_sub(&area->holds, 1) != 1)
        return;
    disk_share_give_back(area);
    if (area->fd >= 0)
        close(area->fd);
    free(area);
}

const struct tl_disk_area_info *tl_disk_area_info(const struct tl_disk_area *area)
{
    return &area->info;
}

uint64_t tl_disk_area_written_bytes(const struct tl_disk_area *area)
{
    return atomic_load(&area->written_bytes);
}
