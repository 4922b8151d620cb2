/* Asking and being asked over an abstract socket (unix(7)). */
#include "status_socket.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "tightlink/base/time.h"
#include "tightlink/base/utf8.h"

#define TEXT_MAX    65536
#define PATIENCE_NS (3 * TL_NS_PER_S) /* in all: who took the name may say a byte now and then */

static socklen_t name_of(int port, struct sockaddr_un *ret_name)
{
    *ret_name = (struct sockaddr_un){.sun_family = AF_UNIX};
    int len =
        snprintf(ret_name->sun_path + 1, sizeof ret_name->sun_path - 1, "tightlinkd-%d", port);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

bool status_socket_listen(int fd, int port)
{
    struct sockaddr_un name;
    socklen_t len = name_of(port, &name);
    if (bind(fd, (struct sockaddr *)&name, len) == 0 && listen(fd, 8) == 0)
        return true;
    close(fd);
    return false;
}

static size_t receive_text(int fd, char *ret_text, size_t size)
{
    int64_t until_ns = tl_now_ns() + PATIENCE_NS, left_ns;
    struct pollfd input = {.fd = fd, .events = POLLIN};
    size_t len = 0;
    while (len + 1 < size && (left_ns = until_ns - tl_now_ns()) > 0 &&
           poll(&input, 1, (int)(left_ns / TL_NS_PER_MS) + 1) > 0) {
        ssize_t got = recv(fd, ret_text + len, size - 1 - len, MSG_DONTWAIT);
        if (got <= 0)
            break;
        len += (size_t)got;
    }
    ret_text[len] = '\0';
    return len;
}

/* Anybody may take the name: what is said is cleaned. */
static enum tl_status print_answer(int fd)
{
    static char text[TEXT_MAX];
    size_t len = receive_text(fd, text, sizeof text);
    for (char *line = text, *end; *line; line = end + (*end == '\n')) {
        char clean[1024];
        end = line + strcspn(line, "\n");
        (void)tl_utf8_clean(line, (size_t)(end - line), clean, sizeof clean);
        puts(clean);
    }
    return len > 0 ? TL_OK : TL_DENIED;
}

enum tl_status status_socket_print(int port, struct tl_error *reterr)
{
    struct sockaddr_un name;
    struct timeval patience = {.tv_sec = PATIENCE_NS / TL_NS_PER_S};
    socklen_t len = name_of(port, &name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0 ||
        connect(fd, (struct sockaddr *)&name, len) < 0) {
        int errnum = errno;
        if (fd >= 0)
            close(fd);
        return tl_error_set(reterr, TL_UNREACHABLE, "no tightlinkd serves on port %d here: %s",
                            port, strerror(errnum));
    }
    enum tl_status status = print_answer(fd);
    close(fd);
    if (status == TL_OK)
        return TL_OK;
    return tl_error_set(reterr, status,
                        "the tightlinkd on port %d tells only root and the user that started it",
                        port);
}
