/* Wake-ups that are not lost where a write fails once. */
#include "tightlink/base/wake.h"

#include <errno.h>
#include <unistd.h>

/* What keeps failing is refused by a policy or no eventfd at all: there is nothing to wait for. */
#define TRIES 3

void tl_wake_with(int fd, uint64_t value)
{
    int errnum = errno;
    for (int i = 0; i < TRIES; i++)
        if (write(fd, &value, sizeof value) == (ssize_t)sizeof value)
            break;
    errno = errnum;
}

void tl_wake(int fd)
{
    tl_wake_with(fd, 1);
}
