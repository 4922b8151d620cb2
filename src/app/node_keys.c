/* The file of nodes' keys: read whole, a line added at its end, written whole. */
#include "node_keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tightlink/app/files.h"
#include "tightlink/base/buf.h"

#define PATH_SIZE 4096
/* Some ten thousand nodes. */
#define FILE_MAX ((size_t)1 << 20)
#define HTTPS    443

const char *node_keys_path(char ret_path[PATH_SIZE])
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool given = state && state[0] == '/';
    ret_path[0] = '\0';
    if (!given && !(home && home[0] == '/'))
        return ret_path;
    int n = snprintf(ret_path, PATH_SIZE, "%s%s/tightlink/node-keys", given ? state : home,
                     given ? "" : "/.local/state");
    if (n < 0 || n >= PATH_SIZE)
        ret_path[0] = '\0';
    return ret_path;
}

/* An absent file is an empty one. */
static enum tl_status read_keys(const char *path, char **ret_text, size_t *ret_len,
                                struct tl_error *reterr)
{
    *ret_text = NULL;
    *ret_len = 0;
    if (!path[0] || (access(path, F_OK) != 0 && errno == ENOENT))
        return TL_OK;
    return tl_app_read_file(path, FILE_MAX, ret_text, ret_len, reterr);
}

enum tl_status node_key_find(const char *host, uint16_t port, char ret_key[TL_NODES_PIN_SIZE],
                             struct tl_error *reterr)
{
    char path[PATH_SIZE], name[300], *text, *rest = NULL;
    size_t len;
    enum tl_status status = read_keys(node_keys_path(path), &text, &len, reterr);
    if (status != TL_OK)
        return status;
    ret_key[0] = '\0';
    snprintf(name, sizeof name, "%s:%u", host, (unsigned)(port ? port : HTTPS));
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        size_t n = strlen(name);
        if (strncmp(line, name, n) == 0 && line[n] == ' ')
            snprintf(ret_key, TL_NODES_PIN_SIZE, "%s", line + n + 1);
    }
    free(text);
    return TL_OK;
}

/* Each folder that is missing, for the user alone. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
}

enum tl_status node_key_add(const char *host, uint16_t port, const char *key,
                            struct tl_error *reterr)
{
    struct tl_buf all = TL_BUF_INIT;
    char path[PATH_SIZE], *text;
    size_t len;
    enum tl_status status = read_keys(node_keys_path(path), &text, &len, reterr);
    if (status != TL_OK)
        return status;
    if (text)
        tl_buf_add(&all, text, len);
    if (len && text[len - 1] != '\n')
        tl_buf_adds(&all, "\n");
    tl_buf_addf(&all, "%s:%u %s\n", host, (unsigned)(port ? port : HTTPS), key);
    free(text);
    make_folders(path);
    if (all.status != TL_OK)
        status = tl_error_set(reterr, TL_NOMEM, "out of memory");
    else if (!path[0] || !tl_app_replace_file(path, all.data, all.len, 0600))
        status =
            tl_error_set(reterr, TL_IO, "the key of %s cannot be remembered in %s: %s", host,
                         path[0] ? path : "a home directory", path[0] ? strerror(errno) : "none");
    tl_buf_finish(&all);
    return status;
}
