/* What belongs to the one responder. Its files, each looking only at those above it:
 *
 *   loop.c          descriptors, the tick          address.c   addresses, who is the same peer
 *   quota.c         the bytes of a day             accept_guard.c  accepts per neighbourhood
 *   host_reader.c   the thread that reads the host
 *   disk_errand.c   a thread for what the disk does
 *   peer_dial.c     connections to another responder
 *   udp_port.c      the UDP port and the sockets of tests on it
 *   client_hello.c  how a connection begins: with TLS, or not
 *
 *   share.c         fair shares of a pool by network
 *   sessions.c      the list of sessions
 *   light.c         shares of the rate cap, beside the tests
 *   session.c       a control connection: frames in and out, deadlines, its end
 *   keys.c          reading the keys again, keys that are gone
 *   turn.c          a test before it is granted: queue, quota, interfaces
 *   readings.c      what the host did during a test
 *   disk_part.c     a session's area of the disk, its errands
 *   file_part.c     the disk's part in a test of streams
 *   tcp_run.c       a test of streams once it is granted
 *   tcp_dial.c      its connections dialled to another responder
 *   tcp_test.c      asking for it          disk_test.c  a test of the disk
 *   udp_tuple.c     proof of UDP addresses
 *   udp_test.c      a test of datagrams
 *   udp_path.c, udp_echo.c  probes
 *
 *   frames.c        what a client's frame means
 *   places.c        who gets a place among the sessions
 *   admission.c     strangers: accept, first frame, deadline
 *   status.c        what is served now
 *   responder.c     create, run, stop
 *
 * All of it runs on the thread of tl_responder_run, but for the two threads named above. */
#ifndef TL_ENGINE_RESPONDER_PRIVATE_H
#define TL_ENGINE_RESPONDER_PRIVATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "accept_guard.h"
#include "loop.h"
#include "quota.h"
#include "secure.h"
#include "sessions.h"
#include "tightlink/engine/responder.h"
#include "tightlink/engine/sample.h"
#include "tightlink/engine/wire.h"
#include "tightlink/host/counters.h"
#include "tightlink/host/cpu.h"

#define SAMPLE_BATCH 64

/* Lines that a client can have written, each kind with a rate of its own. */
enum log_kind { LOG_SESSION, LOG_TESTED_SESSION, LOG_DISK, LOG_KINDS };

struct tl_responder {
    struct tl_responder_options options;
    char program[TL_WIRE_TEXT_SIZE];
    int port;
    struct loop *loop;
    struct watch listener, udp, stop;
    struct watch status; /* its descriptor is the caller's; 0: none */
    int64_t since_ns;
    atomic_bool stop_asked, reload_asked;
    struct udp_port *udp_port;
    struct host_reader *host;

    struct accept_guard guard;
    struct admission *admission;
    struct secure_context *secured; /* NULL: no keys, open mode only */
    const struct tl_keys *keys;     /* in force: of the options, or those read last */

    struct sessions sessions; /* room for 2 session_max */
    uint32_t session_max;
    uint32_t class_places[TL_SESSION_CLASSES]; /* of them: places_set() */
    /* What a session's frames mean: frames.c, above the sessions. */
    void (*take_frame)(struct session *session, const struct tl_wire_frame *frame);
    uint64_t tickets;
    bool queue_dirty; /* something changed that may let a test start: turns_serve() is due */
    struct quota quota;
    int64_t log_full_ns[LOG_KINDS]; /* GCRA of lines: responder_may_log() */
    unsigned unlogged_sessions;
    int64_t light_ns;  /* GCRA of what goes out beside the tests: light.c */
    int64_t bursts_ns; /* when the trains that were begun are within the rate cap again */

    struct tl_cpu_reader cpu;               /* readings cost 0.5 ms: taken by the loop itself */
    struct tl_cpu_reading cpu_after;        /* scratch */
    struct tl_host_counters counters_after; /* scratch */
    struct tl_tcp_sample *samples;          /* SAMPLE_BATCH, scratch */
};

/* Whether one more line of that kind is due: a log on a disk must not be what a flood fills. */
bool responder_may_log(struct tl_responder *responder, enum log_kind kind);
/* To the log of the options, if there is one. */
void responder_log(struct tl_responder *responder, const char *fmt, ...) TL_PRINTF(2, 3);

#endif
