/* Clocks. Durations use the monotonic clock; the wall clock only names a run. */
#ifndef TL_BASE_TIME_H
#define TL_BASE_TIME_H

#include <stddef.h>
#include <stdint.h>

#define TL_NS_PER_US INT64_C(1000)
#define TL_NS_PER_MS INT64_C(1000000)
#define TL_NS_PER_S  INT64_C(1000000000)

/* CLOCK_MONOTONIC, CLOCK_BOOTTIME (counts suspend too) and CLOCK_REALTIME in ns. */
int64_t tl_now_ns(void);
int64_t tl_boottime_ns(void);
int64_t tl_realtime_ns(void);

/* CPU time used so far by the calling thread, in ns (CLOCK_THREAD_CPUTIME_ID); by the process
 * (CLOCK_PROCESS_CPUTIME_ID). */
int64_t tl_thread_cpu_ns(void);
int64_t tl_process_cpu_ns(void);

/* Longest text of tl_time_format_utc with its NUL. */
#define TL_TIME_TEXT_SIZE 32

/* RFC 3339 in UTC with milliseconds, "2026-11-20T20:41:07.123Z". */
void tl_time_format_utc(int64_t realtime_ns, char ret_text[TL_TIME_TEXT_SIZE]);

#endif
