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

#include "tightlink/base/status.h"

struct sandbox_policy {
    const char *write_directory; /* disk tests may make files here and nowhere else; or NULL */
    bool dials;                  /* may open TCP connections (third-party tests) */
};

/* Drops every capability but CAP_NET_BIND_SERVICE and forbids new ones; files can be read
 * where a host audit reads, written only in policy->write_directory. TL_UNSUPPORTED with a
 * sentence where the kernel has no Landlock (the capabilities are gone all the same). */
enum tl_status sandbox_hold_files(const struct sandbox_policy *policy,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

/* Every system call that the responder does not need fails with EPERM from here on.
 * TL_UNSUPPORTED where the kernel or a sanitizer does not permit it. */
enum tl_status sandbox_hold_calls(const struct sandbox_policy *policy,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

#endif
