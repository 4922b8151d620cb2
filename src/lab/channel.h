/* Messages between the caller and the guard: a sequenced-packet socket pair, one
 * request, one reply, with descriptors where a message needs them. Both ends are
 * the same program, forked: structures travel as they are. */
#ifndef TL_LAB_CHANNEL_H
#define TL_LAB_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tightlink/base/status.h"

#define TL_LAB_CHANNEL_FDS  3
#define TL_LAB_CHANNEL_ARGV 16384 /* bytes of a command line, NULs included */

enum tl_lab_request_type { TL_LAB_SPAWN, TL_LAB_REAP, TL_LAB_SIGNAL };

struct tl_lab_request {
    enum tl_lab_request_type type;
    int host;          /* SPAWN */
    int router;        /* SPAWN: 1 is r1; 0: on that host */
    pid_t pid;         /* REAP, SIGNAL */
    int signal_number; /* SIGNAL */
    int stream_fd[3];  /* SPAWN: index into the descriptors sent along, -1: /dev/null */
    bool unprivileged; /* SPAWN: filled in by the guard */
    size_t argv_bytes; /* SPAWN: strings, each with its NUL */
    char argv[TL_LAB_CHANNEL_ARGV];
};

struct tl_lab_reply {
    struct tl_error error; /* its status tells the outcome */
    pid_t pid;             /* SPAWN */
    int wstatus;           /* REAP */
    bool has_disk;         /* the first message: the second descriptor is c's disk */
};

/* The guard's first message: ready (or why not), with the descriptors of c's
 * namespace and, where one was made, of the user namespace or of c's disk. */
#define TL_LAB_READY_FD_NEAR 0
#define TL_LAB_READY_FD_USER 1
#define TL_LAB_READY_FD_DISK 1

/* Sends one message with up to TL_LAB_CHANNEL_FDS descriptors. TL_CLOSED when
 * nobody is there any more. */
enum tl_status tl_lab_channel_send(int fd, const void *message, size_t size, const int *fds,
                                   int fd_count) TL_WARN_UNUSED;

/* Receives one message of exactly `size` bytes; descriptors get close-on-exec
 * and are the caller's, unused places are -1. TL_CLOSED at the end. */
enum tl_status tl_lab_channel_receive(int fd, void *ret_message, size_t size,
                                      int ret_fds[TL_LAB_CHANNEL_FDS]) TL_WARN_UNUSED;

#endif
