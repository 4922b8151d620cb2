/* The far end: tightlinkd's engine, also started in process by demo and tests.
 *
 * One thread (who calls tl_responder_run) owns every socket but those of a running
 * test; it waits in one epoll and never blocks. The streams of a test run in threads
 * of engine/stream.h, reading the host runs in one more; both tell by eventfd when
 * they are done and are joined by the session that started them.
 *
 * It never parses JSON and executes nothing; it opens no connection but to responders that the
 * administrator named, and writes no file but for disk tests in a directory that he named
 * (engine/disk.h).
 * doc/wire.md has the state machine and the deadlines. */
#ifndef TL_ENGINE_RESPONDER_H
#define TL_ENGINE_RESPONDER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tightlink/base/key.h"
#include "tightlink/base/status.h"

struct tl_responder;

/* Clients by how they came: each class has a total of its own. */
enum tl_session_class {
    TL_SESSION_OPEN,  /* without a key */
    TL_SESSION_KEYED, /* with one */
    TL_SESSION_ADMIN, /* with one of an administrator */
    TL_SESSION_CLASSES
};

/* 0 or NULL in a field means the standard of limits.h; numbers outside its table are
 * moved into it. */
struct tl_responder_options {
    const char *bind_address; /* numeric IPv4 or IPv6; NULL: both families, every address */
    int port;                 /* TCP and UDP, 0 = any free one (tests); callers give TL_WIRE_PORT */
    uint64_t max_seconds;     /* of one test */
    uint64_t max_streams;
    uint64_t rate_cap_bps;      /* 0: none */
    uint64_t daily_quota_bytes; /* 0: none; counted in memory, from the start of the program */
    const char *disk_directory; /* where clients may test the disk; NULL: nowhere. Borrowed */
    /* Key mode: control connections are TLS 1.3 with one of these keys. NULL: no keys, and
     * everybody is served. Borrowed; outlives the responder. */
    const struct tl_keys *keys;
    /* For tl_responder_reload(): reads the keys again; they are the responder's then. Called on the
     * thread of tl_responder_run. NULL: they stay. */
    enum tl_status (*load_keys)(void *context, struct tl_keys **ret_keys, struct tl_error *reterr);
    void *load_context;
    uint32_t class_places[TL_SESSION_CLASSES]; /* most sessions of a class; 0: the rest that the
                                                * others leave (doc/wire.md) */
    bool open; /* with keys: serve who has none, too (open mode's caps and reticence) */
    /* Responders with which tests are permitted when a keyed client asks for one between two of
     * them: this one may dial them, and be dialled by them. IPv4 as ::ffff:a.b.c.d. NULL: none.
     * Borrowed. */
    const struct in6_addr *peers;
    size_t peer_count;
    /* A listening local socket: what is served now is told to root, and to status_uid. 0: none.
     * Borrowed. */
    int status_fd;
    uid_t status_uid;
    const char *program; /* "tightlinkd 0.1.0", told in WELCOME; NULL: "tightlinkd" */
    /* One line for each session's end and for what the administrator must know; UTF-8,
     * cleaned, no newline. Called on the thread of tl_responder_run. May be NULL. */
    void (*log)(void *context, const char *line);
    void *log_context;
};

/* Binds and listens. On failure *ret_responder is untouched and the error says whether the
 * port is in use (TL_BUSY), not permitted (TL_DENIED) or the address not this host's
 * (TL_UNREACHABLE), and what to do. Raises RLIMIT_NOFILE to its hard limit. */
enum tl_status tl_responder_create(const struct tl_responder_options *options,
                                   struct tl_responder **ret_responder,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

/* The port that is listened on. */
int tl_responder_port(const struct tl_responder *responder);

/* Serves until tl_responder_stop. TL_OK then; TL_IO when epoll itself fails. */
enum tl_status tl_responder_run(struct tl_responder *responder,
                                struct tl_error *reterr) TL_WARN_UNUSED;

/* Ends tl_responder_run within 1 s; sessions get ERROR GOING. Async-signal-safe, callable from
 * any thread, more than once. */
void tl_responder_stop(struct tl_responder *responder);

/* Reads the keys again, soon. New handshakes know the new ones alone. Sessions live on; one whose
 * key is gone, or has another secret, may end its test and begins no other. What cannot be read is
 * logged, and the keys stay. Async-signal-safe. */
void tl_responder_reload(struct tl_responder *responder);

/* Takes NULL. Not while run is inside. Joins what is left. */
void tl_responder_destroy(struct tl_responder *responder);

#endif
