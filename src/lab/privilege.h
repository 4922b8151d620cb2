/* The permission to make namespaces: held, or gained in a user namespace. */
#ifndef TL_LAB_PRIVILEGE_H
#define TL_LAB_PRIVILEGE_H

#include <stdbool.h>

#include "tightlink/base/status.h"

/* Writes into a file of the kernel's that is there; 0 or an errno. */
int tl_lab_write_text(const char *path, const char *text);

/* Threads of the calling process; 0 when /proc does not tell. */
int tl_lab_thread_count(void);

/* Whether CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW are effective. */
bool tl_lab_privileged(void);

/* Moves the calling process, which has one thread, into a new user namespace as
 * its root. TL_DENIED names what forbids it. */
enum tl_status tl_lab_user_namespace(struct tl_error *reterr) TL_WARN_UNUSED;

/* Gives up what an ordinary user has not got, for good: every capability, and root's
 * user (it becomes nobody) where another one is to be had. 0 or an errno. */
int tl_lab_step_down(void);

#endif
