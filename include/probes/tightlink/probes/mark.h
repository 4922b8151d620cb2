/* Whose run it is: a mark of the host that made it, for `fix`, which changes settings of this
 * machine and should not take a stranger's file for a run of it.
 *
 * The mark is HMAC-SHA256 of the run's id with this machine's id (machine-id(5)) as the key, as
 * that page asks for: it tells nothing about the machine, and two runs of one machine have nothing
 * in common. Who holds a run without its mark, or with another, holds a run of another host. */
#ifndef TL_PROBES_MARK_H
#define TL_PROBES_MARK_H

#include <stdbool.h>

#include "tightlink/facts/run.h"

/* Sets run->host_mark from run->id; "" where this machine has no id (some containers). Any thread.
 */
void tl_host_mark_set(struct tl_run *run);

enum tl_host_mark {
    TL_HOST_MARK_OWN,     /* this machine made the run */
    TL_HOST_MARK_OTHER,   /* another one, or its id has changed */
    TL_HOST_MARK_NONE,    /* the run does not say: masked, a capture, or of an older version */
    TL_HOST_MARK_UNKNOWN, /* this machine has no id */
};

/* root: put before /etc/machine-id, "" for this machine; tests give a folder. */
enum tl_host_mark tl_host_mark_check(const struct tl_run *run, const char *root);
/* Writes the mark of a run's id under root; false, "" where there is no id. */
bool tl_host_mark_make(const char *run_id, const char *root, char ret_mark[TL_RUN_HOST_MARK_SIZE]);

#endif
