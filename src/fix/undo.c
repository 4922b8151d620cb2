/* The undo file: what was set before, on the disk before anything changes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "setting.h"
#include "tightlink/base/fd.h"
#include "tightlink/base/json.h"
#include "tightlink/base/json_write.h"
#include "tightlink/base/time.h"

#define UNDO_FORMAT    "tightlink.undo/1"
#define UNDO_BYTES_MAX 16384 /* eight settings take some 2 KB */
#define UNDO_PREFIX    "fix-"
#define UNDO_SUFFIX    ".undo"

static enum tl_status failed(struct tl_error *reterr, const char *path, const char *what)
{
    int errnum = errno;
    return tl_error_set(reterr, tl_status_from_errno(errnum), "%s: %s: %s", path, what,
                        strerror(errnum));
}

enum tl_status tl_fix_directory(char ret_path[TL_FIX_PATH_SIZE], struct tl_error *reterr)
{
    const char *state = getenv("XDG_STATE_HOME");
    bool given = state && state[0] == '/';
    char path[TL_FIX_PATH_SIZE];
    struct stat info;
    int n = snprintf(path, sizeof path, "%s/tightlink", given ? state : "/var/lib");
    if (n < 0 || (size_t)n >= sizeof path)
        return tl_error_set(reterr, TL_LIMIT, "XDG_STATE_HOME is too long");
    if (given && mkdir(state, 0700) != 0 && errno != EEXIST)
        return failed(reterr, state, "cannot be made");
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return failed(reterr, path, "cannot be made");
    if (lstat(path, &info) != 0)
        return failed(reterr, path, "cannot be looked at");
    if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 022))
        return tl_error_set(reterr, TL_DENIED,
                            "%s must be a directory of your own that nobody else may write into",
                            path);
    memcpy(ret_path, path, sizeof path);
    return TL_OK;
}

enum tl_status tl_fix_lock(const char *directory, int *ret_fd, struct tl_error *reterr)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return failed(reterr, directory, "cannot be opened");
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return tl_error_set(reterr, TL_BUSY,
                            "another tightlink fix is at work (it holds %s); wait for it",
                            directory);
    }
    *ret_fd = fd;
    return TL_OK;
}

static void describe(const struct tl_fix *fix, struct tl_buf *out)
{
    struct tl_json_writer writer;
    tl_json_writer_init(&writer, out, false);
    tl_json_begin_object(&writer, NULL);
    tl_json_add_string(&writer, "format", UNDO_FORMAT);
    tl_json_begin_array(&writer, "settings");
    for (size_t i = 0; i < fix->count; i++) {
        tl_json_begin_object(&writer, NULL);
        tl_json_add_string(&writer, "key", fix->settings[i].key);
        tl_json_add_string(&writer, "before", fix->settings[i].before);
        tl_json_add_string(&writer, "after", fix->settings[i].after);
        tl_json_end(&writer);
    }
    tl_json_end(&writer);
    tl_json_end(&writer);
    tl_buf_adds(out, "\n");
}

static bool sync_directory(const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return done;
}

/* First under a name that no reader takes, then renamed: a half-written file is never an undo
 * file. Names sort by time. */
enum tl_status tl_fix_undo_write(const struct tl_fix *fix, const char *directory,
                                 char ret_path[TL_FIX_PATH_SIZE], struct tl_error *reterr)
{
    char path[TL_FIX_PATH_SIZE], made[TL_FIX_PATH_SIZE + 8];
    int n = snprintf(path, sizeof path, "%s/" UNDO_PREFIX "%019" PRId64 UNDO_SUFFIX, directory,
                     tl_realtime_ns());
    if (n < 0 || (size_t)n >= sizeof path)
        return tl_error_set(reterr, TL_LIMIT, "%s is too long", directory);
    snprintf(made, sizeof made, "%s.new", path);
    struct tl_buf text = TL_BUF_INIT;
    describe(fix, &text);
    enum tl_status status = text.status;
    int fd = status != TL_OK
                 ? -1
                 : open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (status != TL_OK)
        (void)tl_error_set(reterr, status, "out of memory");
    else if (fd < 0)
        status = failed(reterr, made, "cannot be made");
    else if (!tl_fd_write(fd, text.data, text.len) || fsync(fd) != 0)
        status = failed(reterr, made, "cannot be written");
    else if (rename(made, path) != 0 || !sync_directory(directory))
        status = failed(reterr, path, "cannot be kept");
    if (fd >= 0) {
        close(fd);
        if (status != TL_OK) {
            unlink(made);
            unlink(path);
        }
    }
    tl_buf_finish(&text);
    if (status == TL_OK)
        memcpy(ret_path, path, sizeof path);
    return status;
}

static int is_undo(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name), tail = sizeof UNDO_SUFFIX - 1;
    return len > tail && strncmp(entry->d_name, UNDO_PREFIX, sizeof UNDO_PREFIX - 1) == 0 &&
           strcmp(entry->d_name + len - tail, UNDO_SUFFIX) == 0;
}

enum tl_status tl_fix_undo_find(const char *directory, char ret_path[TL_FIX_PATH_SIZE],
                                size_t *ret_left, struct tl_error *reterr)
{
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, is_undo, alphasort);
    if (count < 0)
        return failed(reterr, directory, "cannot be read");
    enum tl_status status = TL_OK;
    if (count == 0)
        status = tl_error_set(reterr, TL_UNKNOWN, "nothing is to be undone: %s has no undo file",
                              directory);
    else
        snprintf(ret_path, TL_FIX_PATH_SIZE, "%.250s/%.250s", directory,
                 entries[count - 1]->d_name);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    if (status == TL_OK && ret_left)
        *ret_left = (size_t)count - 1;
    return status;
}

static enum tl_status read_value(const struct tl_json_at *item, const char *key,
                                 const struct tl_setting_def *def,
                                 char ret_value[TL_FIX_VALUE_SIZE], struct tl_error *reterr)
{
    const char *text = NULL;
    enum tl_status status = tl_json_get_string(item, key, &text, reterr);
    return status != TL_OK
               ? status
               : tl_setting_normalise(def, text, strlen(text), false, ret_value, reterr);
}

static enum tl_status read_setting(const struct tl_json_at *item, struct tl_fix_setting *setting,
                                   struct tl_error *reterr)
{
    static const char *const keys[] = {"key", "before", "after", NULL};
    const char *key = NULL;
    enum tl_status status = tl_json_check_keys(item, keys, reterr);
    if (status == TL_OK)
        status = tl_json_get_string(item, "key", &key, reterr);
    if (status != TL_OK)
        return status;
    const struct tl_setting_def *def = tl_setting_find(key, strlen(key));
    if (!def)
        return tl_json_error(item, reterr, TL_UNKNOWN, "no setting that tightlink changes");
    setting->key = def->key;
    status = read_value(item, "before", def, setting->before, reterr);
    return status == TL_OK ? read_value(item, "after", def, setting->after, reterr) : status;
}

static enum tl_status read_document(const struct tl_json_at *root, struct tl_fix *fix,
                                    struct tl_error *reterr)
{
    static const char *const keys[] = {"format", "settings", NULL};
    const char *format = NULL;
    struct tl_json_at list;
    enum tl_status status = tl_json_check_keys(root, keys, reterr);
    if (status == TL_OK)
        status = tl_json_get_string(root, "format", &format, reterr);
    if (status == TL_OK && strcmp(format, UNDO_FORMAT) != 0)
        status = tl_error_set(reterr, TL_VERSION, "another format than " UNDO_FORMAT);
    if (status == TL_OK)
        status = tl_json_get_array(root, "settings", &list, reterr);
    if (status == TL_OK && tl_json_count(&list) > TL_FIX_SETTINGS_MAX)
        status = tl_error_set(reterr, TL_LIMIT, "more than %d settings", TL_FIX_SETTINGS_MAX);
    for (size_t i = 0; status == TL_OK && i < tl_json_count(&list); i++) {
        struct tl_json_at item = tl_json_item(&list, i);
        status = read_setting(&item, &fix->settings[fix->count++], reterr);
    }
    return status;
}

enum tl_status tl_fix_undo_parse(const char *text, size_t len, struct tl_fix *ret_fix,
                                 struct tl_error *reterr)
{
    static const struct tl_json_limits limits = {UNDO_BYTES_MAX, 64, 4};
    struct tl_json *doc = NULL;
    struct tl_fix fix = {.root = TL_FIX_ROOT};
    enum tl_status status = tl_json_parse(text, len, &limits, &doc, reterr);
    if (status == TL_OK) {
        struct tl_json_at root = tl_json_root(doc);
        status = read_document(&root, &fix, reterr);
    }
    tl_json_destroy(doc);
    if (status == TL_OK)
        *ret_fix = fix;
    return status;
}

enum tl_status tl_fix_undo_read(const char *path, struct tl_fix *ret_fix, struct tl_error *reterr)
{
    char text[UNDO_BYTES_MAX + 1];
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return failed(reterr, path, "cannot be opened");
    enum tl_status status = TL_OK;
    ssize_t n = 0;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
        (info.st_mode & 077))
        status =
            tl_error_set(reterr, TL_DENIED,
                         "%s must be a file of your own that nobody else may read or write", path);
    else if ((n = read(fd, text, sizeof text)) < 0)
        status = failed(reterr, path, "cannot be read");
    close(fd);
    if (status == TL_OK) {
        status = tl_fix_undo_parse(text, (size_t)n, ret_fix, reterr);
        if (status != TL_OK)
            tl_error_prefix(reterr, "%s is no undo file", path);
    }
    return status;
}

enum tl_status tl_fix_undo_remove(const char *path, struct tl_error *reterr)
{
    return unlink(path) == 0 ? TL_OK : failed(reterr, path, "cannot be removed");
}
