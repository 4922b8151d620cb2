/* How one thread wakes another, or a signal handler a loop: an eventfd that becomes readable. */
#ifndef TL_BASE_WAKE_H
#define TL_BASE_WAKE_H

#include <stdint.h>

/* Makes the eventfd readable. Nobody is told that it could not be: who waits has nothing else to
 * wake up by, so that a write which fails is done again. Any thread, and signal handlers: errno
 * stays as it was. */
void tl_wake(int fd);
/* The same, adding value (1 or more) to the counter that the reader gets. */
void tl_wake_with(int fd, uint64_t value);

#endif
