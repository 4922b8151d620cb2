/* Files, whole. */
#include "tightlink/app/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tightlink/base/buf.h"
#include "tightlink/base/fd.h"
#include "tightlink/base/random.h"

static enum tl_status unreadable(const char *path, int errnum, struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_USAGE,
                        "%.200s: %s; name a file of tightlink run --save or run --json", path,
                        strerror(errnum));
}

enum tl_status tl_app_read_file(const char *path, size_t limit, char **ret_text, size_t *ret_len,
                                struct tl_error *reterr)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "re");
    if (!file)
        return unreadable(path, errno, reterr);
    struct tl_buf buf = TL_BUF_INIT;
    char piece[65536];
    size_t n;
    while (buf.len <= limit && (n = fread(piece, 1, sizeof piece, file)) > 0)
        tl_buf_add(&buf, piece, n);
    bool failed = ferror(file);
    int errnum = errno;
    if (!standard)
        fclose(file);
    enum tl_status status = buf.status;
    if (failed)
        status = unreadable(path, errnum, reterr);
    else if (buf.len > limit)
        status = tl_error_set(reterr, TL_LIMIT, "%.200s: larger than %zu MiB, this is no saved run",
                              path, limit >> 20);
    if (status == TL_OK) {
        *ret_len = buf.len;
        *ret_text = tl_buf_steal(&buf);
        if (!*ret_text)
            status = tl_error_set(reterr, TL_NOMEM, "out of memory");
    }
    tl_buf_finish(&buf);
    return status;
}

/* Closes fd after writing text and waiting for the disk; 0 or the first errno. */
static int fill(int fd, const char *text, size_t len, bool special)
{
    bool done = tl_fd_write(fd, text, len) && (special || fsync(fd) == 0);
    int errnum = done ? 0 : errno;
    if (close(fd) < 0 && !errnum)
        errnum = errno;
    return errnum;
}

int tl_app_create_file(const char *path, const char *text, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno;
    int errnum = fill(fd, text, len, false);
    if (errnum)
        (void)unlink(path);
    return errnum;
}

/* A pipe from which nobody reads would be waited for, and no signal ends that: it is an error. */
static int open_special(const char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0)
        (void)fcntl(fd, F_SETFL, O_WRONLY);
    return fd;
}

bool tl_app_replace_file(const char *path, const char *text, size_t len, unsigned mode)
{
    char beside[PATH_MAX], id[TL_ULID_SIZE];
    struct stat status;
    bool special = stat(path, &status) == 0 && !S_ISREG(status.st_mode);
    if (tl_ulid_make(id) != TL_OK ||
        (size_t)snprintf(beside, sizeof beside, "%s.%s", path, id) >= sizeof beside) {
        errno = ENAMETOOLONG;
        return false;
    }
    int fd = special ? open_special(path)
                     : open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
    if (fd < 0)
        return false;
    int errnum = fill(fd, text, len, special);
    if (!special && !errnum && rename(beside, path) < 0)
        errnum = errno;
    if (!special && errnum)
        (void)unlink(beside);
    errno = errnum;
    return !errnum;
}

#define NAMES_MAX 100

bool tl_app_is_taken(const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return false;
    /* A link to a device or a pipe (/dev/stdout) takes what is written; one to nothing stays. */
    return S_ISREG(status.st_mode) ||
           (S_ISLNK(status.st_mode) && (stat(path, &status) != 0 || S_ISREG(status.st_mode)));
}

bool tl_app_untaken(const char *path, char *ret_name, size_t size)
{
    int n = snprintf(ret_name, size, "%s", path);
    return n >= 0 && (size_t)n < size &&
           (!tl_app_is_taken(path) || tl_app_free_name(path, ret_name, size));
}

bool tl_app_free_name(const char *path, char *ret_name, size_t size)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    const char *begin = slash ? slash + 1 : path;
    if (!dot || dot == begin)
        dot = path + strlen(path);
    for (int i = 2; i <= NAMES_MAX; i++) {
        int n = snprintf(ret_name, size, "%.*s-%d%s", (int)(dot - path), path, i, dot);
        if (n < 0 || (size_t)n >= size)
            return false;
        if (access(ret_name, F_OK) < 0 && errno == ENOENT)
            return true;
    }
    return false;
}
