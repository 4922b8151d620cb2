/* The process that reads keys: asked by a byte, it answers with a status, a length and the text of
 * the file, or of the error. It ends with the other end of its socket. */
#include "key_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox.h"
#include "tightlink/base/libc.h"
#include "tightlink/base/secret.h"

#define ANSWER_MS 1000

struct answer {
    uint32_t status; /* enum tl_status */
    uint32_t len;    /* of what follows, with its NUL */
};

static bool move_all(int fd, void *bytes, size_t len, bool out)
{
    char *at = bytes;
    while (len > 0) {
        struct pollfd ready = {.fd = fd, .events = out ? POLLOUT : POLLIN};
        if (poll(&ready, 1, ANSWER_MS) == 0)
            return false;
        ssize_t n = out ? send(fd, at, len, MSG_NOSIGNAL) : recv(fd, at, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

static void answer_once(int fd, const char *path, char *text)
{
    struct tl_error error = {0};
    size_t len = 0;
    enum tl_status status =
        tl_secret_file_read(path, "key file", text, TL_KEYS_FILE_MAX + 1, &len, &error);
    struct answer answer = {.status = (uint32_t)status,
                            .len = (uint32_t)(status == TL_OK ? len + 1 : strlen(error.text) + 1)};
    if (move_all(fd, &answer, sizeof answer, true))
        (void)move_all(fd, status == TL_OK ? text : error.text, answer.len, true);
    explicit_bzero(text, TL_KEYS_FILE_MAX + 1);
}

/* Keeps the socket alone: somebody may wait for the end of what we have inherited. */
static int keep_one(int fd)
{
    int kept = fd == 3 ? fd : dup3(fd, 3, O_CLOEXEC);
    return kept == 3 && close_range(4, ~0U, 0) == 0 ? kept : -1;
}

/* Never returns. */
static void serve(int fd, const char *path, const char *folder)
{
    static char text[TL_KEYS_FILE_MAX + 1];
    struct sandbox_policy policy = {.key_directory = folder};
    struct tl_error error;
    char asked;
    fd = keep_one(fd);
    if (fd < 0 || sandbox_hold_files(&policy, &error) != TL_OK ||
        sandbox_hold_calls(&policy, &error) != TL_OK)
        _exit(1);
    while (recv(fd, &asked, 1, 0) == 1)
        answer_once(fd, path, text);
    _exit(0);
}

enum tl_status key_reader_start(struct key_reader *reader, const char *path, const char *folder,
                                bool own_process, struct tl_error *reterr)
{
    int pair[2];
    *reader = (struct key_reader){.fd = -1, .path = path};
    if (!own_process)
        return TL_OK;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return tl_error_set(reterr, TL_IO, "a process for the keys: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        close(pair[0]);
        serve(pair[1], path, folder);
    }
    close(pair[1]);
    if (child < 0) {
        close(pair[0]);
        return tl_error_set(reterr, TL_IO, "a process for the keys: %s", strerror(errno));
    }
    reader->fd = pair[0];
    return TL_OK;
}

static enum tl_status ask(const struct key_reader *reader, char *text, struct tl_error *reterr)
{
    struct answer answer;
    char question = 1;
    if (!move_all(reader->fd, &question, 1, true) ||
        !move_all(reader->fd, &answer, sizeof answer, false) || answer.len == 0 ||
        answer.len > TL_KEYS_FILE_MAX + 1 || !move_all(reader->fd, text, answer.len, false))
        return tl_error_set(reterr, TL_TIMEOUT, "the process that reads the keys does not answer");
    text[answer.len - 1] = '\0';
    return answer.status == TL_OK ? TL_OK
                                  : tl_error_set(reterr, (enum tl_status)answer.status, "%s", text);
}

enum tl_status key_reader_load(void *context, struct tl_keys **ret_keys, struct tl_error *reterr)
{
    const struct key_reader *reader = context;
    if (reader->fd < 0)
        return tl_keys_load(reader->path, ret_keys, reterr);
    char *text = malloc(TL_KEYS_FILE_MAX + 1);
    if (!text)
        return tl_error_set(reterr, TL_NOMEM, "no memory for the keys of %s", reader->path);
    enum tl_status status = ask(reader, text, reterr);
    if (status == TL_OK)
        status = tl_keys_parse(reader->path, text, ret_keys, reterr);
    explicit_bzero(text, TL_KEYS_FILE_MAX + 1);
    free(text);
    return status;
}
