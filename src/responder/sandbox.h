/* The cage of tightlinkd (P7): even a fault in it opens no connection, runs no program and
 * writes no file. Landlock holds the files, seccomp the system calls; what a kernel does
 * not have is left out and told.
 *
 * Order: sandbox_hold_files before any thread exists (Landlock and capabilities belong to a
 * thread and what it creates), then the sockets and threads, then sandbox_hold_calls, which
 * holds every thread. Neither can be undone. */
#ifndef TL_RESPONDER_SANDBOX_H
#define TL_RESPONDER_SANDBOX_H

#include <stdbool.h>
#include <sys/types.h>

#include "tightlink/base/status.h"

struct sandbox_policy {
    const char *write_directory; /* disk tests may make files here and nowhere else; or NULL */
    const char *key_directory;   /* files may be read here: keys that are loaded again; or NULL */
    bool change_user;            /* root becomes uid and gid, with no other group */
    uid_t uid;
    gid_t gid;
    bool dials; /* may open TCP connections (third-party tests) */
};

/* Whether this build can be caged: not with a sanitizer, which reads and calls what it likes. */
bool sandbox_is_built(void);

/* Changes the user, drops every capability but CAP_NET_BIND_SERVICE and forbids new ones; files can
 * be read where a host audit reads, written only in policy->write_directory. TL_UNSUPPORTED with a
 * sentence where the kernel has no Landlock (user and capabilities are gone all the same),
 * TL_DENIED where the user cannot be changed. */
enum tl_status sandbox_hold_files(const struct sandbox_policy *policy,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

/* Every system call that the responder does not need fails with EPERM from here on.
 * TL_UNSUPPORTED where the kernel or a sanitizer does not permit it. */
enum tl_status sandbox_hold_calls(const struct sandbox_policy *policy,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

#endif
