/* What this machine permits the probes, found out by trying each thing once,
 * without traffic. */
#ifndef TL_PROBES_PERMITS_H
#define TL_PROBES_PERMITS_H

#include <stdbool.h>

struct tl_permit {
    const char *what; /* "TCP_INFO", a few words */
    bool works;
    char detail[160]; /* what was seen, or what is missing and what that costs */
};

#define TL_PERMITS_MAX 16

/* Fills up to TL_PERMITS_MAX entries, returns how many. Any thread; sends nothing. */
int tl_permits_read(struct tl_permit ret_permits[TL_PERMITS_MAX]);

#endif
