/* What the GNU C library declares and musl (1.2.3, Debian 12) does not: so that tightlinkd can be
 * linked with musl into one file. Where the C library has a name, nothing here has it. Functions
 * are the system calls of that name, with their errors in errno. */
#ifndef TIGHTLINK_BASE_LIBC_H
#define TIGHTLINK_BASE_LIBC_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef __GLIBC__

/* sysconf() answers -1 to it: not known. */
#ifndef _SC_LEVEL2_CACHE_SIZE
#define _SC_LEVEL2_CACHE_SIZE (-1)
#endif

#ifndef TCPOLEN_TSTAMP_APPA
#define TCPOLEN_TSTAMP_APPA 12 /* RFC 7323, appendix A: the option, padded */
#endif

#ifndef STATX_TYPE
#include <linux/stat.h>
static inline int statx(int folder, const char *path, int flags, unsigned mask,
                        struct statx *status)
{
    return (int)syscall(SYS_statx, folder, path, flags, mask, status);
}
#endif

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008 /* include/uapi/linux/fs.h */
static inline ssize_t preadv2(int fd, const struct iovec *vector, int count, off_t offset,
                              int flags)
{
    return syscall(SYS_preadv2, fd, vector, (long)count, (long)offset, (long)(offset >> 16 >> 16),
                   flags);
}
#endif

static inline int close_range(unsigned first, unsigned last, int flags)
{
    return (int)syscall(SYS_close_range, first, last, flags);
}

/* musl binds a thread that runs, not one that is to come: callers go on without. */
static inline int pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t size,
                                              const cpu_set_t *cpus)
{
    (void)attributes;
    (void)size;
    (void)cpus;
    return ENOTSUP;
}

#endif

#endif
