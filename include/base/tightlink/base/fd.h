/* Whole writes to a descriptor. */
#ifndef TL_BASE_FD_H
#define TL_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>

/* Writes all of text, however many calls that takes. False, with errno, where it cannot; what was
 * written until then stays written. The descriptor blocks. */
bool tl_fd_write(int fd, const char *text, size_t len);

#endif
