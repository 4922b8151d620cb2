/* Messages with descriptors over a socket pair; see channel.h, unix(7). */
#include "channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * TL_LAB_CHANNEL_FDS)];
};

enum tl_status tl_lab_channel_send(int fd, const void *message, size_t size, const int *fds,
                                   int fd_count)
{
    union control control;
    struct iovec data = {(void *)message, size};
    struct msghdr head = {.msg_iov = &data, .msg_iovlen = 1};
    if (fd_count > 0) {
        memset(&control, 0, sizeof control);
        head.msg_control = control.bytes;
        head.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)fd_count);
        struct cmsghdr *item = CMSG_FIRSTHDR(&head);
        item->cmsg_level = SOL_SOCKET;
        item->cmsg_type = SCM_RIGHTS;
        item->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)fd_count);
        memcpy(CMSG_DATA(item), fds, sizeof(int) * (size_t)fd_count);
    }
    ssize_t sent;
    do
        sent = sendmsg(fd, &head, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent == (ssize_t)size)
        return TL_OK;
    return sent < 0 && errno == EPIPE ? TL_CLOSED : TL_IO;
}

static void take_fds(struct msghdr *head, int ret_fds[TL_LAB_CHANNEL_FDS])
{
    for (struct cmsghdr *item = CMSG_FIRSTHDR(head); item; item = CMSG_NXTHDR(head, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(ret_fds, CMSG_DATA(item),
               sizeof(int) * (count < TL_LAB_CHANNEL_FDS ? count : TL_LAB_CHANNEL_FDS));
    }
}

enum tl_status tl_lab_channel_receive(int fd, void *ret_message, size_t size,
                                      int ret_fds[TL_LAB_CHANNEL_FDS])
{
    union control control;
    struct iovec data = {ret_message, size};
    struct msghdr head = {.msg_iov = &data,
                          .msg_iovlen = 1,
                          .msg_control = control.bytes,
                          .msg_controllen = sizeof control.bytes};
    for (int i = 0; i < TL_LAB_CHANNEL_FDS; i++)
        ret_fds[i] = -1;
    ssize_t len;
    do
        len = recvmsg(fd, &head, MSG_CMSG_CLOEXEC);
    while (len < 0 && errno == EINTR);
    if (len > 0)
        take_fds(&head, ret_fds);
    if (len == (ssize_t)size)
        return TL_OK;
    return len == 0 || (len < 0 && errno == ECONNRESET) ? TL_CLOSED : TL_IO;
}
