/* Reading a file that holds secrets: only one that nobody else can read or change. */
#include "tightlink/base/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* systemd's own directory of credentials, which it alone writes; its ACL for the service's user
 * shows as the group's right to read (systemd.exec(5), CREDENTIALS). */
static bool is_credential(const char *path)
{
    const char *directory = getenv("CREDENTIALS_DIRECTORY");
    size_t len = directory ? strlen(directory) : 0;
    return len > 0 && directory[0] == '/' && strncmp(path, directory, len) == 0 &&
           path[len] == '/' && !strchr(path + len + 1, '/');
}

/* Looked at after opening, so that it is the file which is read. */
static enum tl_status check_file(int fd, const char *path, const char *what, size_t size,
                                 struct tl_error *reterr)
{
    struct stat info;
    if (fstat(fd, &info) < 0)
        return tl_error_set(reterr, TL_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return tl_error_set(reterr, TL_DENIED, "%s is no regular file; secrets are read from one",
                            path);
    if (info.st_uid != geteuid() && info.st_uid != 0)
        return tl_error_set(reterr, TL_DENIED,
                            "%s belongs to another user, who could change its secrets: make a copy "
                            "of your own",
                            path);
    mode_t group = info.st_uid == 0 && is_credential(path) ? S_IWGRP | S_IXGRP : S_IRWXG;
    if (info.st_mode & (group | S_IRWXO))
        return tl_error_set(
            reterr, TL_DENIED,
            "others may read %s or change it: chmod 600, and replace its secrets if "
            "others could read them",
            path);
    if (info.st_size >= (off_t)size)
        return tl_error_set(reterr, TL_LIMIT, "%s is too long for a %s", path, what);
    return TL_OK;
}

/* Reads less than size bytes into text and terminates them. */
static enum tl_status read_text(int fd, const char *path, char *text, size_t size, size_t *ret_len,
                                struct tl_error *reterr)
{
    size_t len = 0;
    while (len + 1 < size) {
        ssize_t got = read(fd, text + len, size - 1 - len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tl_error_set(reterr, TL_IO, "%s: %s", path, strerror(errno));
        if (got == 0)
            break;
        len += (size_t)got;
    }
    text[len] = '\0';
    if (memchr(text, '\0', len))
        return tl_error_set(reterr, TL_SYNTAX, "%s is no text file", path);
    *ret_len = len;
    return TL_OK;
}

enum tl_status tl_secret_file_read(const char *path, const char *what, char *ret_text, size_t size,
                                   size_t *ret_len, struct tl_error *reterr)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT)
        return tl_error_set(reterr, TL_UNKNOWN, "there is no %s %s", what, path);
    if (fd < 0)
        return tl_error_set(reterr, errno == EACCES ? TL_DENIED : TL_IO, "%s: %s", path,
                            strerror(errno));
    enum tl_status status = check_file(fd, path, what, size, reterr);
    (void)prctl(PR_SET_DUMPABLE, 0);
    if (status == TL_OK)
        status = read_text(fd, path, ret_text, size, ret_len, reterr);
    if (status != TL_OK)
        explicit_bzero(ret_text, size);
    close(fd);
    return status;
}
