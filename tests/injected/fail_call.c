/* Preloaded into a program: the Nth call of a kind fails, once, as its manual page says that it
 * may.
 *
 *   TL_FAIL_CALL   which: alloc, open, read, write, recv, send, accept, poll, epoll, thread, clock,
 *                  make
 *   TL_FAIL_AT     the number of the call, from 1; 0 or none: count only
 *   TL_FAIL_SITE   instead: the first call from this place, as TL_FAIL_SITES wrote it
 *   TL_FAIL_ON     1: each call from that one on fails
 *   TL_FAIL_ERRNO  as a number
 *   TL_FAIL_COUNT  a file to which the number of calls is written at the end
 *   TL_FAIL_SITES  a file to which the places are written, one a line: the calls that a call came
 *                  through, innermost first, as one number that another run of the program has too,
 *                  and the number of the first call from there
 *
 * Counts are of the whole process, all threads together. What libc calls inside itself does not
 * pass through here. */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#define DEPTH     8     /* calls of a place: as far as a reader that calls itself is one */
#define SITES_MAX 65536 /* a power of two; of a place beyond it nothing is told */
#define OBJECTS   64

/* MAKE: a descriptor that is no file's. */
enum kind {
    NONE,
    ALLOC,
    OPEN,
    READ,
    WRITE,
    RECV,
    SEND,
    ACCEPT,
    POLL,
    EPOLL,
    THREAD,
    CLOCK,
    MAKE,
    KINDS
};
static const char *const names[KINDS] = {"",       "alloc", "open",   "read", "write",
                                         "recv",   "send",  "accept", "poll", "epoll",
                                         "thread", "clock", "make"};

static enum kind chosen;
static unsigned long fail_at;
static int fail_errno;
static bool fail_on, by_site;
static uint64_t fail_site;
static atomic_ulong calls;
static atomic_bool failed;
static struct site {
    _Atomic uint64_t hash; /* 0: free */
    unsigned long first;
} sites[SITES_MAX];
/* Where the program's objects lie: the addresses differ from run to run, those within do not. */
static struct object {
    uintptr_t base, end;
} objects[OBJECTS];
static unsigned object_count;
static _Thread_local bool inside;

static int note_object(struct dl_phdr_info *info, size_t size, void *context)
{
    if (object_count == OBJECTS)
        return 1;
    struct object object = {.base = info->dlpi_addr};
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && end > object.end)
            object.end = end;
    }
    objects[object_count++] = object;
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *call = getenv("TL_FAIL_CALL"), *at = getenv("TL_FAIL_AT");
    const char *number = getenv("TL_FAIL_ERRNO"), *site = getenv("TL_FAIL_SITE");
    fail_at = at ? strtoul(at, NULL, 10) : 0;
    fail_site = site ? strtoull(site, NULL, 16) : 0;
    by_site = site || getenv("TL_FAIL_SITES");
    fail_on = getenv("TL_FAIL_ON") != NULL;
    fail_errno = number ? atoi(number) : EIO;
    (void)dl_iterate_phdr(note_object, NULL);
    for (int i = 1; call && i < KINDS; i++)
        if (strcmp(names[i], call) == 0)
            chosen = (enum kind)i;
}

static void write_sites(const char *path)
{
    FILE *file = fopen(path, "we");
    for (unsigned i = 0; file && i < SITES_MAX; i++)
        if (atomic_load(&sites[i].hash) != 0)
            fprintf(file, "%llx %lu\n", (unsigned long long)atomic_load(&sites[i].hash),
                    sites[i].first);
    if (file)
        fclose(file);
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("TL_FAIL_COUNT"), *sites_path = getenv("TL_FAIL_SITES");
    unsigned long count = atomic_load(&calls);
    chosen = NONE;
    if (sites_path)
        write_sites(sites_path);
    FILE *file = path ? fopen(path, "we") : NULL;
    if (!file)
        return;
    fprintf(file, "%lu\n", count);
    fclose(file);
}

struct trace {
    unsigned depth;
    uint64_t hash;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *arg)
{
    struct trace *trace = arg;
    uintptr_t at = _Unwind_GetIP(context);
    for (unsigned i = 0; i < object_count; i++)
        if (at >= objects[i].base && at < objects[i].end)
            at = at - objects[i].base + ((uintptr_t)i << 40);
    trace->hash = (trace->hash ^ at) * UINT64_C(0x9e3779b97f4a7c15);
    trace->hash ^= trace->hash >> 29;
    return ++trace->depth < DEPTH ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void note_site(uint64_t hash, unsigned long number)
{
    for (unsigned i = 0; i < SITES_MAX; i++) {
        uint64_t there = 0;
        struct site *site = &sites[(hash + i) % SITES_MAX];
        bool is_new = atomic_compare_exchange_strong(&site->hash, &there, hash);
        if (is_new)
            site->first = number;
        if (is_new || there == hash)
            return;
    }
}

static bool is_site(unsigned long number)
{
    struct trace trace = {0};
    if (inside || atomic_load(&failed))
        return false;
    inside = true; /* what the unwinder calls */
    (void)_Unwind_Backtrace(step, &trace);
    uint64_t hash = trace.hash | 1;
    if (fail_site == 0)
        note_site(hash, number);
    inside = false;
    return fail_site == hash;
}

/* Whether this call is the one. */
static bool fails(enum kind kind)
{
    if (kind != chosen)
        return false;
    unsigned long number = atomic_fetch_add(&calls, 1) + 1;
    bool is_one = by_site   ? is_site(number) && !atomic_exchange(&failed, true)
                  : fail_on ? fail_at != 0 && number >= fail_at
                            : number == fail_at;
    if (is_one)
        errno = fail_errno;
    return is_one;
}

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *malloc(size_t size)
{
    return fails(ALLOC) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(ALLOC) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails(ALLOC) ? NULL : __libc_realloc(old, size);
}

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

/* A call whose failure is -1 with errno. */
#define WRAP(kind, type, name, parameters, arguments)                                              \
    type name parameters                                                                           \
    {                                                                                              \
        static __typeof__(&(name)) next;                                                           \
        if (fails(kind))                                                                           \
            return (type)-1;                                                                       \
        if (!next)                                                                                 \
            next = NEXT(name);                                                                     \
        return next arguments;                                                                     \
    }

WRAP(READ, ssize_t, read, (int fd, void *bytes, size_t len), (fd, bytes, len))
WRAP(READ, ssize_t, pread64, (int fd, void *bytes, size_t len, off64_t at), (fd, bytes, len, at))
WRAP(READ, ssize_t, preadv64v2,
     (int fd, const struct iovec *parts, int count, off64_t at, int flags),
     (fd, parts, count, at, flags))
WRAP(WRITE, ssize_t, write, (int fd, const void *bytes, size_t len), (fd, bytes, len))
WRAP(WRITE, ssize_t, pwrite64, (int fd, const void *bytes, size_t len, off64_t at),
     (fd, bytes, len, at))
WRAP(WRITE, int, fsync, (int fd), (fd))
WRAP(RECV, ssize_t, recv, (int fd, void *bytes, size_t len, int flags), (fd, bytes, len, flags))
WRAP(RECV, ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
WRAP(RECV, ssize_t, recvfrom,
     (int fd, void *bytes, size_t len, int flags, struct sockaddr *from, socklen_t *from_len),
     (fd, bytes, len, flags, from, from_len))
WRAP(RECV, int, recvmmsg,
     (int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout),
     (fd, messages, count, flags, timeout))
WRAP(SEND, ssize_t, sendto,
     (int fd, const void *bytes, size_t len, int flags, const struct sockaddr *to,
      socklen_t to_len),
     (fd, bytes, len, flags, to, to_len))
WRAP(SEND, int, sendmmsg, (int fd, struct mmsghdr *messages, unsigned count, int flags),
     (fd, messages, count, flags))
WRAP(SEND, ssize_t, send, (int fd, const void *bytes, size_t len, int flags),
     (fd, bytes, len, flags))
WRAP(SEND, ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags),
     (fd, message, flags))
WRAP(ACCEPT, int, accept4, (int fd, struct sockaddr *address, socklen_t *len, int flags),
     (fd, address, len, flags))
WRAP(POLL, int, poll, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout))
WRAP(POLL, int, ppoll,
     (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
     (fds, count, timeout, mask))
WRAP(EPOLL, int, epoll_wait, (int fd, struct epoll_event *events, int count, int timeout),
     (fd, events, count, timeout))
WRAP(MAKE, int, socket, (int domain, int type, int protocol), (domain, type, protocol))
WRAP(MAKE, int, eventfd, (unsigned begin, int flags), (begin, flags))
WRAP(MAKE, int, pipe2, (int fds[2], int flags), (fds, flags))
WRAP(MAKE, int, timerfd_create, (clockid_t clock, int flags), (clock, flags))
WRAP(MAKE, int, epoll_create1, (int flags), (flags))
WRAP(CLOCK, int, clock_gettime, (clockid_t clock, struct timespec *ret_time), (clock, ret_time))

int pthread_create(pthread_t *ret_thread, const pthread_attr_t *attr, void *(*run)(void *),
                   void *arg)
{
    return fails(THREAD) ? fail_errno : NEXT(pthread_create)(ret_thread, attr, run, arg);
}

/* What a build with _FORTIFY_SOURCE calls in their place. */
ssize_t __read_chk(int fd, void *bytes, size_t len, size_t room);
ssize_t __recv_chk(int fd, void *bytes, size_t len, size_t room, int flags);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room);

WRAP(READ, ssize_t, __read_chk, (int fd, void *bytes, size_t len, size_t room),
     (fd, bytes, len, room))
WRAP(RECV, ssize_t, __recv_chk, (int fd, void *bytes, size_t len, size_t room, int flags),
     (fd, bytes, len, room, flags))
WRAP(POLL, int, __poll_chk, (struct pollfd * fds, nfds_t count, int timeout, size_t room),
     (fds, count, timeout, room))

#define WRAP_OPEN(name)                                                                            \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;                    \
        va_end(args);                                                                              \
        return fails(OPEN) ? -1 : openat(AT_FDCWD, path, flags, mode);                             \
    }
WRAP_OPEN(open)
WRAP_OPEN(open64)

/* What a build with _FORTIFY_SOURCE calls where no file is made. */
int __open64_2(const char *path, int flags);
WRAP(OPEN, int, __open64_2, (const char *path, int flags), (path, flags))

int openat64(int folder, const char *path, int flags, ...)
{
    static int (*next)(int, const char *, int, ...);
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (fails(OPEN))
        return -1;
    if (!next)
        next = NEXT(openat64);
    return next(folder, path, flags, mode);
}

DIR *opendir(const char *path)
{
    return fails(OPEN) ? NULL : NEXT(opendir)(path);
}

/* Streams read inside libc as well: the call fails as it would where their read(2) does. */
size_t fread(void *bytes, size_t size, size_t count, FILE *file)
{
    if (!fails(READ))
        return NEXT(fread)(bytes, size, count, file);
    file->_flags |= 0x20; /* _IO_ERR_SEEN, which ferror() asks */
    return 0;
}

char *fgets(char *text, int size, FILE *file)
{
    if (!fails(READ))
        return NEXT(fgets)(text, size, file);
    file->_flags |= 0x20;
    return NULL;
}

FILE *fopen(const char *path, const char *mode)
{
    return fails(OPEN) ? NULL : NEXT(fopen)(path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
    return fails(OPEN) ? NULL : NEXT(fopen64)(path, mode);
}

/* Streams write inside libc, where no call passes through here; that they could not, this says. */
int fflush(FILE *file)
{
    return fails(WRITE) ? EOF : NEXT(fflush)(file);
}
