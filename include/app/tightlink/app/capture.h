/* Capturing the headers of named connections: what the helper program is asked for. The helper
 * alone has a capability (CAP_NET_RAW); it is given numbers and numeric addresses only. */
#ifndef TL_APP_CAPTURE_H
#define TL_APP_CAPTURE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tightlink/app/live.h"

#define TL_APP_CAPTURE_NAMED_MAX 16

struct tl_app_capture_plan {
    char addresses[TL_APP_CAPTURE_NAMED_MAX][46];
    size_t address_count; /* 0: any */
    uint16_t ports[TL_APP_CAPTURE_NAMED_MAX];
    size_t port_count; /* 0: any */
};

/* The addresses of a host; a port; or the ports of this machine that the connections of a process
 * have now. TL_NOHOST; TL_UNKNOWN where the process has no connection, or more than fit. */
enum tl_status tl_app_capture_plan(const struct tl_app_live_what *what,
                                   struct tl_app_capture_plan *ret_plan,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

/* What was agreed to. */
struct tl_app_capture_order {
    struct tl_app_capture_plan plan;
    const char *program; /* tightlink-capture, with its path; borrowed while it is started */
    int64_t for_ns, max_bytes;
};

/* A capture that runs. */
struct tl_app_capture {
    pid_t pid;
    int report_fd; /* readable once it has ended; -1 without a capture */
    char path[PATH_MAX], program[PATH_MAX];
};

struct tl_app_capture_count {
    long long packets_count, dropped_count; /* dropped: by the kernel, for want of room or time */
    bool full;                              /* the bytes that were agreed to are used up */
};

/* "capture-20261120-204107.pcap", in local time. */
void tl_app_capture_name(char *ret_path, size_t size);

/* Starts the helper with a new file of the user's alone at path; returns when packets are captured.
 * TL_DENIED with the command that permits it; TL_IO where the file is there already or cannot be
 * made; TL_USAGE. Without success the file is gone. */
enum tl_status tl_app_capture_start(const struct tl_app_capture_order *order, const char *path,
                                    struct tl_app_capture *ret_capture,
                                    struct tl_error *reterr) TL_WARN_UNUSED;

/* Waits for its end; stop: ends it now, and keeps what it has. Always once after a start that
 * succeeded. TL_IO: the file is gone. */
enum tl_status tl_app_capture_end(struct tl_app_capture *capture, bool stop,
                                  struct tl_app_capture_count *ret_count,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

#endif
