/* A session and the disk: the directory which the administrator opened, and no other; nothing
 * that came over the wire names a file. What it may be asked for is disk_test.c's and tcp_test.c's.
 */
#ifndef TL_ENGINE_DISK_PART_H
#define TL_ENGINE_DISK_PART_H

#include "session.h"

/* Whether the administrator opened a directory; else the client is told. */
bool disk_part_is_open(struct session *session);
/* PREPARING: an errand makes the session's area unless there is one, and runs the tests. done's
 * owner is the session. A failure is told. */
void disk_part_prepare(struct session *session, bool write, bool read, disk_errand_fn *done);
/* What done does first and last: the area becomes the session's, or the client is told that it
 * failed, false; the errand goes. */
bool disk_part_take(struct session *session, const struct disk_answer *answer);
void disk_part_let_go(struct session *session);
/* The errand goes and the area with it; waits for nothing. */
void disk_part_abandon(struct session *session);
/* An errno of the disk, as the wire tells it. */
uint8_t disk_part_fault(int errnum);

#endif
