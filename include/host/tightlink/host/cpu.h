/* Where processor time went between two instants: cores, this process, its control
 * group, one thread.
 *
 * A reading is raw counters with a time; two of them give the usage. A reading costs
 * some 10 us on two cores (more cores: more), allocates nothing, and may be taken in any
 * thread. The kernel counts a core's time in ticks of 10 ms: over less than 100 ms the
 * core values are unknown (TOO_SHORT). */
#ifndef TL_HOST_CPU_H
#define TL_HOST_CPU_H

#include <stdint.h>
#include <sys/types.h>

#include "tightlink/host/value.h"

/* Cores with a higher number are not looked at: a reading has to stay a small record. */
#define TL_CPU_CORES_MAX 256

/* Looked up once, so that a reading opens few files: the control group that limits this
 * process and whether the kernel has pressure figures. Plain data (2 KiB); read-only
 * after init and then shared by threads. A process that is moved to another group later
 * needs a new one. */
struct tl_cpu_reader {
    const char *root;           /* borrowed; "" for this machine */
    struct tl_host_value quota; /* as TL_HOST_CPU_QUOTA: cores' worth of time */
    char group_stat_path[1024]; /* cpu.stat, "" where there is none */
};

void tl_cpu_reader_init(struct tl_cpu_reader *ret_reader, const char *root);

/* Counters since boot or since the process began. Each part has its own reason. */
struct tl_cpu_reading {
    int64_t taken_ns; /* CLOCK_MONOTONIC */
    enum tl_host_why cores_why;
    unsigned cores_end; /* one more than the highest number seen */
    struct {
        uint64_t total, idle, softirq, steal; /* ticks; total 0: not online */
    } cores[TL_CPU_CORES_MAX];
    enum tl_host_why receive_why;
    uint32_t receive_count[TL_CPU_CORES_MAX]; /* turns of receive processing; may turn over */
    int64_t process_ns; /* CLOCK_PROCESS_CPUTIME_ID: all threads of this process */
    enum tl_host_why group_why;
    uint64_t group_periods_count, group_throttled_count, group_throttled_ns;
    enum tl_host_why pressure_why;
    uint64_t pressure_ns; /* time in which some task waited for a core */
    enum tl_host_why memory_why, io_why;
    uint64_t memory_ns, io_ns; /* the same for memory and for disks */
};

/* Never fails; parts that cannot be read carry the reason. */
void tl_cpu_reading_take(const struct tl_cpu_reader *reader, struct tl_cpu_reading *ret_reading);

/* id, name, unit. The names are those of the flow facts after "sender_" or "receiver_"
 * where the fact table has them. */
#define TL_CPU_USAGE_MAP(X)                                                                        \
    /* the busiest core's share of time that was not idle; what a hypervisor took counts as        \
     * busy, since this machine could not use it */                                                \
    X(CORE_BUSY, "core_busy_ratio", "ratio")                                                       \
    X(CORE_NUMBER, "core_busiest", "number") /* which core that was */                             \
    /* interrupts' (hard and soft) share of that core's time */                                    \
    X(SOFTIRQ, "softirq_ratio", "ratio")                                                           \
    X(STEAL, "steal_ratio", "ratio")           /* the hypervisor's share of that core's time */    \
    X(ALL_BUSY, "all_busy_ratio", "ratio")     /* busy share of all cores together */              \
    X(PROCESS, "process_cores_ratio", "ratio") /* cores' worth that this process used */           \
    /* process_cores_ratio over the quota; NOT_SET without one. Other processes of the             \
     * group use the same quota: 1 is not reached when they run too */                             \
    X(QUOTA_USED, "quota_used_ratio", "ratio")                                                     \
    /* time the group was stopped for having used up its quota, capped at 1; the kernel adds       \
     * this up over cores. NOT_SET without a quota */                                              \
    X(THROTTLED, "throttled_ratio", "ratio")                                                       \
    /* share of the quota's periods in which that happened */                                      \
    X(THROTTLED_PERIODS, "throttled_periods_ratio", "ratio")                                       \
    /* share of time in which some task of the machine waited for a core (PSI) */                  \
    X(PRESSURE, "pressure_ratio", "ratio")                                                         \
    X(PRESSURE_MEMORY, "pressure_memory_ratio", "ratio")                                           \
    X(PRESSURE_IO, "pressure_io_ratio", "ratio")                                                   \
    /* The core that did most of the receive processing (NET_RX of /proc/softirqs): its share      \
     * of all cores' turns, how busy it was, and what part of its time went to interrupts.         \
     * TOO_SHORT under 100 turns */                                                                \
    X(RECEIVE_SHARE, "rx_core_share_ratio", "ratio")                                               \
    X(RECEIVE_BUSY, "rx_core_busy_ratio", "ratio")                                                 \
    X(RECEIVE_SOFTIRQ, "rx_core_softirq_ratio", "ratio")                                           \
    /* clock of the busiest core at the end over its highest one (tl_cpu_usage_clock) */           \
    X(FREQUENCY, "frequency_ratio", "ratio")                                                       \
    /* the same over its base clock: above 1 with turbo */                                         \
    X(FREQUENCY_BASE, "frequency_base_ratio", "ratio")

enum tl_cpu_usage_id {
#define TL_CPU_USAGE_ENUM(id, name, unit) TL_CPU_##id,
    TL_CPU_USAGE_MAP(TL_CPU_USAGE_ENUM)
#undef TL_CPU_USAGE_ENUM
        TL_CPU_USAGE_COUNT
};

struct tl_cpu_usage {
    int64_t elapsed_ns;
    struct tl_host_value values[TL_CPU_USAGE_COUNT];
};

/* "core_busy_ratio" and "ratio"; NULL outside the table. */
const char *tl_cpu_usage_name(unsigned id);
const char *tl_cpu_usage_unit(unsigned id);

/* What happened between two readings of one reader. Pure. A core that was not online at
 * both instants is left out. */
void tl_cpu_usage_between(const struct tl_cpu_reader *reader, const struct tl_cpu_reading *before,
                          const struct tl_cpu_reading *after, struct tl_cpu_usage *ret_usage);

/* Reads the clock of the busiest core into usage: governors slow an idle core within
 * milliseconds, so call it at once after the second reading. Unknown where the kernel has no
 * cpufreq, as in most virtual machines. */
void tl_cpu_usage_clock(const struct tl_cpu_reader *reader, struct tl_cpu_usage *usage);

/* One thread of this process (Documentation/scheduler/sched-stats.rst, "/proc/<pid>/
 * schedstat"): time on a core and time it was ready but waited for one. Linux 6.18 counts
 * the time in which a quota stopped the thread as waiting too: what TL_CPU_THROTTLED
 * explains is the quota's doing, not other programs'. */
struct tl_cpu_thread_reading {
    int64_t taken_ns;
    enum tl_host_why why;
    uint64_t running_ns, waiting_ns;
};

/* tid 0 is the calling thread; any other must be a thread of this process. About 10 us. */
void tl_cpu_thread_reading_take(const char *root, pid_t tid,
                                struct tl_cpu_thread_reading *ret_reading);

#endif
