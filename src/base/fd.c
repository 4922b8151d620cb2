/* Whole writes. */
#include "tightlink/base/fd.h"

#include <errno.h>
#include <unistd.h>

bool tl_fd_write(int fd, const char *text, size_t len)
{
    while (len) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text += n;
        len -= (size_t)n;
    }
    return true;
}
