/* Clock readings and the one wall-clock format. */
#include "tightlink/base/time.h"

#include <stdio.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * TL_NS_PER_S + ts.tv_nsec;
}

int64_t tl_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t tl_boottime_ns(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

int64_t tl_realtime_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t tl_thread_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
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
