/* The programs that hold connections, looked at once an interval. */
#ifndef TL_FLOW_WATCH_PROGRAMS_H
#define TL_FLOW_WATCH_PROGRAMS_H

#include "tightlink/flow/watch.h"

struct watch_programs;

struct watch_programs *watch_programs_create(void); /* NULL: out of memory */
void watch_programs_destroy(struct watch_programs *programs);

/* Whether that process or a descendant of it holds the socket. */
bool watch_programs_has(struct watch_programs *programs, uint64_t inode, pid_t pid);

/* Looks at the program of each connection that moved a byte in the interval closed last. */
void watch_programs_look(struct watch_programs *programs, const struct tl_live *live,
                         int64_t now_ns);

/* NULL: nothing is known. */
const struct tl_flow_watch_program *watch_programs_find(const struct watch_programs *programs,
                                                        uint64_t inode);

#endif
