/* Clock readings and the one wall-clock format. */
#include "tightlink/base/time.h"

#include <stdio.h>
#include <time.h>

/* Garbage in place of a time would move a deadline out of reach. A clock that fails, as one that a
 * filter of system calls forbids may, is asked once more; then its time stands still where this
 * thread saw it last. */
static int64_t read_clock(clockid_t id, int64_t *last_ns)
{
    struct timespec ts;
    if (clock_gettime(id, &ts) == 0 || clock_gettime(id, &ts) == 0)
        *last_ns = (int64_t)ts.tv_sec * TL_NS_PER_S + ts.tv_nsec;
    return *last_ns;
}

int64_t tl_now_ns(void)
{
    static _Thread_local int64_t last_ns;
    return read_clock(CLOCK_MONOTONIC, &last_ns);
}

int64_t tl_boottime_ns(void)
{
    static _Thread_local int64_t last_ns;
    return read_clock(CLOCK_BOOTTIME, &last_ns);
}

int64_t tl_realtime_ns(void)
{
    static _Thread_local int64_t last_ns;
    return read_clock(CLOCK_REALTIME, &last_ns);
}

int64_t tl_thread_cpu_ns(void)
{
    static _Thread_local int64_t last_ns;
    return read_clock(CLOCK_THREAD_CPUTIME_ID, &last_ns);
}

int64_t tl_process_cpu_ns(void)
{
    static _Thread_local int64_t last_ns;
    return read_clock(CLOCK_PROCESS_CPUTIME_ID, &last_ns);
}

void tl_time_format_utc(int64_t realtime_ns, char ret_text[TL_TIME_TEXT_SIZE])
{
    time_t seconds = (time_t)(realtime_ns / TL_NS_PER_S);
    int ms = (int)(realtime_ns % TL_NS_PER_S / TL_NS_PER_MS);
    struct tm tm;
    char date[24];
    gmtime_r(&seconds, &tm);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(ret_text, TL_TIME_TEXT_SIZE, "%s.%03dZ", date, ms);
}
