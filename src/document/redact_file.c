/* The mapping of one export in a file that only its user may read. It is how the user reads an
 * answer that speaks of "host-3fa9c1"; it never leaves. */
#include "redact_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tightlink/base/fd.h"
#include "tightlink/base/json.h"
#include "tightlink/base/json_write.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

#define FORMAT "tightlink.masks/1"

static void add_key(struct tl_json_writer *w, const uint8_t key[TL_REDACT_KEY_SIZE])
{
    char hex[2 * TL_REDACT_KEY_SIZE + 1];
    for (size_t i = 0; i < TL_REDACT_KEY_SIZE; i++)
        snprintf(hex + 2 * i, 3, "%02x", key[i]);
    tl_json_add_string(w, "key", hex);
    OPENSSL_cleanse(hex, sizeof hex);
}

static void write_mapping(const struct tl_redactor *redactor, const char *run_id,
                          struct tl_buf *out)
{
    struct tl_json_writer w;
    char now[TL_TIME_TEXT_SIZE];
    tl_time_format_utc(tl_realtime_ns(), now);
    tl_json_writer_init(&w, out, false);
    tl_json_begin_object(&w, NULL);
    tl_json_add_string(&w, "format", FORMAT);
    tl_json_add_string(&w, "run", run_id);
    tl_json_add_string(&w, "exported", now);
    add_key(&w, redactor->key);
    tl_json_begin_array(&w, "masks");
    for (size_t i = 0; i < redactor->count; i++) {
        const struct redact_value *value = &redactor->values[i];
        tl_json_begin_object(&w, NULL);
        tl_json_add_string(&w, "mask", value->mask);
        tl_json_add_string(&w, "kind", tl_mask_kind_name(value->kind));
        tl_json_add_string(&w, "value", value->value);
        tl_json_add_integer(&w, "count", (int64_t)value->count);
        tl_json_end(&w);
    }
    tl_json_end(&w);
    tl_json_end(&w);
}

/* Makes every folder of a path that is not there. The last one is this program's own. */
static bool make_directory(const char *directory)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s", directory) >= sizeof path)
        return false;
    for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static enum tl_status write_file(const char *path, const struct tl_buf *text,
                                 struct tl_error *reterr)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool failed = fd < 0 || !tl_fd_write(fd, text->data, text->len) || fsync(fd) < 0;
    int errnum = errno;
    if (fd >= 0)
        close(fd);
    if (!failed)
        return TL_OK;
    if (fd >= 0)
        unlink(path);
    return tl_error_set(reterr, tl_status_from_errno(errnum),
                        "%.300s: the masks cannot be kept there: %s", path, strerror(errnum));
}

/* Key and masks into a new file of this path. */
static enum tl_status save_as(const struct tl_redactor *redactor, const char *path,
                              const char *run_id, struct tl_error *reterr)
{
    struct tl_buf text = TL_BUF_INIT;
    write_mapping(redactor, run_id, &text);
    enum tl_status status = text.status;
    if (status == TL_OK)
        status = write_file(path, &text, reterr);
    else
        (void)tl_error_set(reterr, status, "%s", tl_status_text(status));
    if (text.data)
        OPENSSL_cleanse(text.data, text.len);
    tl_buf_finish(&text);
    return status;
}

static enum tl_status open_directory(const char *directory, struct tl_error *reterr)
{
    return make_directory(directory) ? TL_OK
                                     : tl_error_set(reterr, tl_status_from_errno(errno),
                                                    "%.300s: %s", directory, strerror(errno));
}

static enum tl_status too_long(const char *directory, struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_RANGE, "%.200s: this path is too long", directory);
}

enum tl_status tl_redactor_save(const struct tl_redactor *redactor, const char *directory,
                                const char *run_id, char *ret_path, size_t size,
                                struct tl_error *reterr)
{
    char id[TL_ULID_SIZE];
    enum tl_status status = open_directory(directory, reterr);
    if (status != TL_OK)
        return status;
    status = tl_ulid_make(id);
    if (status != TL_OK)
        return tl_error_set(reterr, status, "%s", tl_status_text(status));
    int n = snprintf(ret_path, size, "%s/masks-%.26s-%s.json", directory, run_id, id);
    if (n < 0 || (size_t)n >= size)
        return too_long(directory, reterr);
    return save_as(redactor, ret_path, run_id, reterr);
}

/* --- reading the key back --- */

static enum tl_status read_all(const char *path, char *ret_text, size_t size, size_t *ret_len,
                               struct tl_error *reterr)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    size_t len = 0;
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0 && len < size) {
        n = read(fd, ret_text + len, size - len);
        len += n > 0 ? (size_t)n : 0;
    }
    int errnum = errno;
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return tl_error_set(reterr, tl_status_from_errno(errnum), "%.300s: %s", path,
                            strerror(errnum));
    if (len == size)
        return tl_error_set(reterr, TL_LIMIT, "%.300s is larger than a file of masks", path);
    *ret_len = len;
    return TL_OK;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static enum tl_status parse_key(const struct tl_json_at *root, uint8_t ret_key[TL_REDACT_KEY_SIZE],
                                struct tl_error *reterr)
{
    const char *format, *hex;
    struct tl_json_at at;
    uint8_t key[TL_REDACT_KEY_SIZE];
    enum tl_status status = tl_json_get_string(root, "format", &format, reterr);
    if (status == TL_OK && strcmp(format, FORMAT) != 0)
        status = tl_error_set(reterr, TL_VERSION, "this is no file of format " FORMAT);
    if (status == TL_OK)
        status = tl_json_get(root, "key", &at, reterr);
    if (status == TL_OK)
        status = tl_json_string(&at, &hex, reterr);
    if (status == TL_OK && strlen(hex) != 2 * sizeof key)
        status = tl_json_error(&at, reterr, TL_SYNTAX, "a key has %zu digits", 2 * sizeof key);
    for (size_t i = 0; status == TL_OK && i < sizeof key; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            status = tl_json_error(&at, reterr, TL_SYNTAX, "a key is hexadecimal");
        else
            key[i] = (uint8_t)(high << 4 | low);
    }
    if (status == TL_OK)
        memcpy(ret_key, key, sizeof key);
    OPENSSL_cleanse(key, sizeof key);
    return status;
}

/* TL_REDACT_VALUES_MAX values of TL_REDACT_VALUE_SIZE, with what stands around each. */
#define FILE_BYTES_MAX ((size_t)4 << 20)

enum tl_status tl_redactor_load_key(const char *path, uint8_t ret_key[TL_REDACT_KEY_SIZE],
                                    struct tl_error *reterr)
{
    static const struct tl_json_limits limits = {FILE_BYTES_MAX, 8 * TL_REDACT_VALUES_MAX, 4};
    size_t len;
    struct tl_json *doc;
    char *text = malloc(FILE_BYTES_MAX);
    if (!text)
        return tl_error_set(reterr, TL_NOMEM, "%s", tl_status_text(TL_NOMEM));
    enum tl_status status = read_all(path, text, FILE_BYTES_MAX, &len, reterr);
    if (status == TL_OK) {
        status = tl_json_parse(text, len, &limits, &doc, reterr);
        if (status == TL_OK) {
            struct tl_json_at root = tl_json_root(doc);
            status = parse_key(&root, ret_key, reterr);
            tl_json_destroy(doc);
        }
        if (status != TL_OK)
            tl_error_prefix(reterr, "%.200s holds no masks", path);
        OPENSSL_cleanse(text, len);
    }
    free(text);
    return status;
}

static enum tl_status make_site_key(const char *path, struct tl_error *reterr)
{
    struct tl_redactor *redactor;
    enum tl_status status = tl_redactor_create(NULL, &redactor, reterr);
    if (status != TL_OK)
        return status;
    status = save_as(redactor, path, "site", reterr);
    tl_redactor_destroy(redactor);
    return status;
}

enum tl_status tl_redactor_site_key(const char *directory, uint8_t ret_key[TL_REDACT_KEY_SIZE],
                                    struct tl_error *reterr)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/site.json", directory) >= sizeof path)
        return too_long(directory, reterr);
    enum tl_status status = open_directory(directory, reterr);
    if (status == TL_OK && access(path, F_OK) != 0)
        status = make_site_key(path, reterr);
    return status == TL_OK ? tl_redactor_load_key(path, ret_key, reterr) : status;
}

bool tl_redactor_directory(char *ret_path, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool given = state && state[0] == '/';
    if (!given && !(home && home[0] == '/'))
        return false;
    int n = snprintf(ret_path, size, "%s%s/tightlink/masks", given ? state : home,
                     given ? "" : "/.local/state");
    return n >= 0 && (size_t)n < size;
}
