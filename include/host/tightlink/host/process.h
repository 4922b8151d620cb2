/* Whose a connection is, and what that program does meanwhile: /proc(5), as far as the caller may
 * read it (an ordinary user: his own processes). Nothing here needs privilege or fails: what cannot
 * be read is 0, "" or a flag that is not set. `root` is put before every path ("" for this
 * machine), so that recorded files can be read in its place. */
#ifndef TL_HOST_PROCESS_H
#define TL_HOST_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tightlink/base/status.h"

/* --- Who holds a socket ------------------------------------------------------------------ */

/* A map from a socket's inode to the process that has it open; the first one found where several
 * share it. One thread at a time. */
struct tl_host_owners;

struct tl_host_owners *tl_host_owners_create(const char *root); /* NULL: out of memory */
void tl_host_owners_destroy(struct tl_host_owners *owners);     /* takes NULL */

/* Reads /proc/PID/fd and stat of every process anew: some 2 us a descriptor, 10 a process.
 * TL_NOMEM, TL_IO when /proc cannot be read at all; the old map stays then. */
enum tl_status tl_host_owners_scan(struct tl_host_owners *owners) TL_WARN_UNUSED;

/* 0 where nobody known holds it: it came after the scan, or belongs to another user. */
pid_t tl_host_owners_find(const struct tl_host_owners *owners, uint64_t inode);

/* Whether that process holds it, alone or with others, or one that it started (scp leaves its
 * connection to ssh), or one that those started: as of the last scan. */
bool tl_host_owners_has(const struct tl_host_owners *owners, uint64_t inode, pid_t pid);

/* --- What a process does ----------------------------------------------------------------- */

#define TL_HOST_PROCESS_THREADS_MAX 64 /* read of one process; the others count only in the sum */

struct tl_host_thread {
    pid_t tid;
    uint64_t cpu_ns;  /* since it began */
    bool wait_known;  /* the kernel counts it (CONFIG_SCHED_INFO) */
    uint64_t wait_ns; /* ready and without a core since it began: others had it, or a quota was used
                         up */
    bool sleeps; /* lets time pass: it waits for nothing but the clock (as far as may be seen) */
    char state;  /* 'R' runs or wants to, 'D' waits for a disk or the like, proc(5) */
};

struct tl_host_process {
    bool known; /* it exists and may be read */
    pid_t pid;
    uint64_t start_ticks; /* since boot: with pid it names one process, not its successor */
    char name[64];        /* the kernel's short name, printable ASCII */
    char group[64];       /* container or service that it belongs to; "" for none */
    uint64_t cpu_ns;      /* of all threads together, since it began */
    struct tl_host_thread threads[TL_HOST_PROCESS_THREADS_MAX];
    size_t thread_count;
    bool io_known;                              /* /proc/PID/io is the owner's alone */
    uint64_t disk_read_bytes, disk_write_bytes; /* that reached storage */
};

void tl_host_process_read(const char *root, pid_t pid, struct tl_host_process *ret_process);

/* Who started it, or took it over; 0 where it is not there. */
pid_t tl_host_process_parent(const char *root, pid_t pid);

/* --- Which program works beside us --------------------------------------------------------- */

/* Every process's processor time at one moment; some 10 us a process. */
struct tl_host_busy_reading;

struct tl_host_busy_reading *
tl_host_busy_take(const char *root);                             /* NULL: out of memory, no /proc */
void tl_host_busy_destroy(struct tl_host_busy_reading *reading); /* takes NULL */

struct tl_host_busy {
    pid_t pid;          /* 0: no other one did anything */
    char name[32];      /* the kernel's short name, printable ASCII */
    double cores_ratio; /* processor time that all its threads took, in cores */
};

/* The process other than `self` that used most between two readings; kernel threads are processes
 * here. Those that began in between are left out. False where a reading is NULL. Pure. */
bool tl_host_busy_between(const struct tl_host_busy_reading *before,
                          const struct tl_host_busy_reading *after, pid_t self,
                          struct tl_host_busy *ret_busy);

/* --- Its files ---------------------------------------------------------------------------- */

/* An open regular file: where the program has got to in it. */
struct tl_host_process_file {
    int fd;
    uint64_t position_bytes;
    bool writes;           /* opened for writing */
    unsigned major, minor; /* of the file system's device */
    char path[256]; /* printable UTF-8 is the caller's to see to; cut in front where longer */
};

/* At most max of them, by rising descriptor; returns how many. */
size_t tl_host_process_files(const char *root, pid_t pid, struct tl_host_process_file *ret_files,
                             size_t max);

#endif
