/* Landlock, capabilities and seccomp for tightlinkd. The list of system calls is what
 * glibc and the engine were seen to use, and their successors on other kernels. */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER true /* it reads and calls what it likes */
#else
#define HAS_SANITIZER false
#endif

/* --- Files ------------------------------------------------------------------------------- */

#define READ_ACCESS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE_ACCESS                                                                               \
    (READ_ACCESS | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |                   \
     LANDLOCK_ACCESS_FS_REMOVE_FILE)
/* Everything that the first version of Landlock knows. */
#define ALL_ACCESS ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

/* From version 4 on (Linux 6.7) it knows TCP, too; the headers of Debian 12 do not. */
#define NET_VERSION        4
#define ACCESS_CONNECT_TCP (1ULL << 1)

struct ruleset_attr {
    __u64 handled_access_fs, handled_access_net;
};

/* Where a host audit reads, and where libraries look for their own files. */
static const char *const readable[] = {"/proc", "/sys", "/etc", "/usr", "/lib", "/lib64", "/dev"};

static bool permit_beneath(int ruleset, const char *path, __u64 access)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT;
    struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
    long result = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(fd);
    return result == 0;
}

static bool restrict_files(const struct sandbox_policy *policy)
{
    struct ruleset_attr attr = {.handled_access_fs = ALL_ACCESS};
    size_t size = sizeof attr.handled_access_fs;
    if (!policy->dials && syscall(SYS_landlock_create_ruleset, NULL, 0,
                                  LANDLOCK_CREATE_RULESET_VERSION) >= NET_VERSION) {
        attr.handled_access_net = ACCESS_CONNECT_TCP;
        size = sizeof attr;
    }
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (ruleset < 0)
        return false;
    bool good = true;
    for (size_t i = 0; i < sizeof readable / sizeof *readable; i++)
        good = good && permit_beneath(ruleset, readable[i], READ_ACCESS);
    if (policy->key_directory)
        good = good && permit_beneath(ruleset, policy->key_directory, LANDLOCK_ACCESS_FS_READ_FILE);
    if (policy->write_directory)
        good = good && permit_beneath(ruleset, policy->write_directory, WRITE_ACCESS);
    good = good && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    int errnum = errno;
    close(ruleset);
    errno = errnum;
    return good;
}

/* The capabilities stay until drop_capabilities(), which keeps one of them. */
static bool change_user(const struct sandbox_policy *policy)
{
    return prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && setgroups(0, NULL) == 0 &&
           setresgid(policy->gid, policy->gid, policy->gid) == 0 &&
           setresuid(policy->uid, policy->uid, policy->uid) == 0;
}

bool sandbox_is_built(void)
{
    return !HAS_SANITIZER;
}

/* A low port is all that root may still do. */
static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
    struct __user_cap_data_struct had[_LINUX_CAPABILITY_U32S_3] = {0};
    if (syscall(SYS_capget, &header, had) != 0)
        return false;
    data[0].permitted = data[0].effective = had[0].permitted & (1u << CAP_NET_BIND_SERVICE);
    return syscall(SYS_capset, &header, data) == 0;
}

enum tl_status sandbox_hold_files(const struct sandbox_policy *policy, struct tl_error *reterr)
{
    if (policy->change_user && !change_user(policy))
        return tl_error_set(reterr, TL_DENIED, "root cannot become user %u here: %s",
                            (unsigned)policy->uid, strerror(errno));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !drop_capabilities())
        return tl_error_set(reterr, TL_UNSUPPORTED, "capabilities cannot be dropped: %s",
                            strerror(errno));
    if (HAS_SANITIZER)
        return TL_OK;
    if (restrict_files(policy))
        return TL_OK;
    return tl_error_set(reterr, TL_UNSUPPORTED, "this kernel has no Landlock (%s)",
                        strerror(errno));
}

/* --- System calls ------------------------------------------------------------------------ */

static const int permitted[] = {
    /* sockets */
    SCMP_SYS(bind),
    SCMP_SYS(listen),
    SCMP_SYS(accept4),
    SCMP_SYS(getsockname),
    SCMP_SYS(getpeername),
    SCMP_SYS(setsockopt),
    SCMP_SYS(getsockopt),
    SCMP_SYS(sendto),
    SCMP_SYS(recvfrom),
    SCMP_SYS(sendmsg),
    SCMP_SYS(recvmsg),
    SCMP_SYS(sendmmsg),
    SCMP_SYS(recvmmsg),
    SCMP_SYS(shutdown),
    SCMP_SYS(sendfile),
    SCMP_SYS(splice),
    SCMP_SYS(vmsplice),
    /* descriptors */
    SCMP_SYS(read),
    SCMP_SYS(readv),
    SCMP_SYS(pread64),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(pwrite64),
    SCMP_SYS(close),
    SCMP_SYS(lseek),
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(statx),
    SCMP_SYS(statfs),
    SCMP_SYS(fstatfs),
    SCMP_SYS(fcntl),
    SCMP_SYS(dup),
    SCMP_SYS(dup3),
    SCMP_SYS(pipe2),
    SCMP_SYS(ioctl),
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),
    SCMP_SYS(getdents64),
    SCMP_SYS(memfd_create),
    SCMP_SYS(ftruncate),
    SCMP_SYS(fallocate),
    SCMP_SYS(fsync),
    SCMP_SYS(fdatasync),
    SCMP_SYS(fadvise64),
    SCMP_SYS(getcwd),
    /* waiting */
    SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(epoll_pwait2),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(eventfd2),
    SCMP_SYS(timerfd_create),
    SCMP_SYS(timerfd_settime),
    SCMP_SYS(timerfd_gettime),
    SCMP_SYS(nanosleep),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(futex),
    SCMP_SYS(futex_waitv),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(sched_yield),
    /* memory */
    SCMP_SYS(brk),
    SCMP_SYS(mmap),
    SCMP_SYS(munmap),
    SCMP_SYS(mprotect),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(mlock),
    SCMP_SYS(munlock),
    SCMP_SYS(membarrier),
    SCMP_SYS(mbind),
    SCMP_SYS(get_mempolicy),
    /* threads and signals */
    SCMP_SYS(set_robust_list),
    SCMP_SYS(get_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(set_tid_address),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(tgkill),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(sched_setaffinity),
    SCMP_SYS(sched_getscheduler),
    SCMP_SYS(sched_getparam),
    SCMP_SYS(getcpu),
    SCMP_SYS(prctl),
    SCMP_SYS(arch_prctl),
    /* what am I, what may I */
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(getppid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(getgroups),
    SCMP_SYS(uname),
    SCMP_SYS(sysinfo),
    SCMP_SYS(getrusage),
    SCMP_SYS(getrlimit),
    SCMP_SYS(setrlimit),
    SCMP_SYS(prlimit64),
    SCMP_SYS(getrandom),
    SCMP_SYS(getpriority),
    SCMP_SYS(setpriority),
};

/* Opening is for reading, unless a directory for disk tests holds it (Landlock does). */
static int permit_open(scmp_filter_ctx filter, const struct sandbox_policy *policy)
{
    const scmp_datum_t writing =
        O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE ^ O_DIRECTORY);
    static const int making[] = {SCMP_SYS(openat), SCMP_SYS(unlink), SCMP_SYS(unlinkat)};
    int result = 0;
    for (size_t i = 0; policy->write_directory && i < sizeof making / sizeof *making; i++)
        if ((result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, making[i], 0)) != 0)
            return result;
    if (policy->write_directory)
        return 0;
    result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
                              SCMP_A2(SCMP_CMP_MASKED_EQ, writing, O_RDONLY));
    return result ? result
                  : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
                                     SCMP_A1(SCMP_CMP_MASKED_EQ, writing, O_RDONLY));
}

/* No new stream sockets, so that connect() serves datagrams only: it tells the kernel which
 * peer a test's socket belongs to, and opens nothing. */
static int permit_sockets(scmp_filter_ctx filter, const struct sandbox_policy *policy)
{
    static const scmp_datum_t families[] = {AF_INET, AF_INET6, AF_NETLINK, AF_UNIX};
    const scmp_datum_t type = 0xf; /* SOCK_TYPE_MASK of the kernel: flags are above it */
    int result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(connect), 0);
    for (size_t i = 0; i < sizeof families / sizeof *families && result == 0; i++) {
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2,
                                  SCMP_A0(SCMP_CMP_EQ, families[i], 0),
                                  SCMP_A1(SCMP_CMP_MASKED_EQ, type, SOCK_DGRAM));
        if (result == 0 && (policy->dials || families[i] == AF_NETLINK))
            result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2,
                                      SCMP_A0(SCMP_CMP_EQ, families[i], 0),
                                      SCMP_A1(SCMP_CMP_MASKED_EQ, type,
                                              families[i] == AF_NETLINK ? SOCK_RAW : SOCK_STREAM));
    }
    return result;
}

/* Threads, but no namespaces: in a user namespace of its own a process has all capabilities, and
 * with them half of the kernel to attack. What clone3() asks for a filter cannot see; without it
 * glibc takes clone(). */
static int permit_threads(scmp_filter_ctx filter)
{
    const scmp_datum_t namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID |
                                    CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
    int result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces, 0));
    return result ? result : seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

/* Zero, or a negative error number. */
static int build(scmp_filter_ctx filter, const struct sandbox_policy *policy)
{
    int result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    for (size_t i = 0; i < sizeof permitted / sizeof *permitted && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, permitted[i], 0);
    if (result == 0)
        result = permit_open(filter, policy);
    if (result == 0)
        result = permit_sockets(filter, policy);
    if (result == 0)
        result = permit_threads(filter);
    return result ? result : seccomp_load(filter);
}

enum tl_status sandbox_hold_calls(const struct sandbox_policy *policy, struct tl_error *reterr)
{
    if (HAS_SANITIZER)
        return TL_OK;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!filter)
        return tl_error_set(reterr, TL_NOMEM, "no memory for the list of system calls");
    int result = build(filter, policy);
    seccomp_release(filter);
    if (result == 0)
        return TL_OK;
    return tl_error_set(reterr, TL_UNSUPPORTED, "system calls cannot be held back here: %s",
                        strerror(-result));
}
