/* Kinds of far ends, what each can do, and how a user names one.
 *
 * Pure data and a pure parser: whoever plans, measures or shows reads the same table. How a kind is
 * spoken to lives in engine/foreign. */
#ifndef TL_BASE_FAR_H
#define TL_BASE_FAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

/* In the order in which a far end is preferred where several kinds answer. */
enum tl_far_kind {
    TL_FAR_TIGHTLINK,
    TL_FAR_IPERF3,
    TL_FAR_NUTTCP,
    TL_FAR_NDT7,
    TL_FAR_HTTPS,
    TL_FAR_HTTP,
    TL_FAR_KIND_COUNT
};

/* What a far end can do, and what it tells. Near and far are fixed; a test's direction says which
 * of them sends. */
#define TL_FAR_DOWNLOADS  (1u << 0)  /* it sends to us */
#define TL_FAR_UPLOADS    (1u << 1)  /* it receives from us */
#define TL_FAR_STREAMS    (1u << 2)  /* several connections in one test */
#define TL_FAR_BOTH       (1u << 3)  /* both directions in one test */
#define TL_FAR_RCVBUF     (1u << 4)  /* its receive buffer, as asked */
#define TL_FAR_SNDBUF     (1u << 5)  /* its send buffer, as asked */
#define TL_FAR_CONGESTION (1u << 6)  /* its congestion control, by name */
#define TL_FAR_PACING     (1u << 7)  /* its pacing rate */
#define TL_FAR_SENDER     (1u << 8)  /* its TCP's own account as sender (TCP_INFO) */
#define TL_FAR_RECEIVER   (1u << 9)  /* what arrived when, and its TCP's account as receiver */
#define TL_FAR_TOTALS     (1u << 10) /* how much arrived in the end: the receiver counts */
#define TL_FAR_ECHO       (1u << 11) /* answers small probes, with or without a test */
#define TL_FAR_ONE_WAY    (1u << 12) /* … with its own clock: in which direction delay grows */
#define TL_FAR_UDP        (1u << 13) /* datagrams at a rate, and their account at the receiver */
#define TL_FAR_MTU        (1u << 14) /* packet sizes on the way to it; a responder: both ways */
#define TL_FAR_SYN        (1u << 15) /* our handshake as it arrived there */
#define TL_FAR_HOPS       (1u << 16) /* routers on the way: answers to probes behind the last */
#define TL_FAR_HOST       (1u << 17) /* its host's settings */
#define TL_FAR_DISK       (1u << 18) /* a directory there */
#define TL_FAR_FAMILY     (1u << 19) /* a second connection over the other address family */
#define TL_FAR_MANY       (1u << 20) /* a connection beside a test of somebody else's */
#define TL_FAR_APART      (1u << 21) /* several connections read as each has data, not in turn */

struct tl_far_row {
    const char *id;     /* the kind in a document, and the scheme of a target: "iperf3" */
    const char *scheme; /* "iperf3" in iperf3://host:port */
    const char *what;   /* "an iperf3 server" */
    uint16_t port;      /* where it listens unless somebody said otherwise */
    bool resource;      /* a target has a path behind the host: a URL */
    /* What a target without a host stands for: a public service that names one; NULL: none. */
    const char *directory;
    unsigned can; /* TL_FAR_* */
    bool built;   /* false: known by name, not built into this program */
};

/* kind < TL_FAR_KIND_COUNT. Static storage. */
const struct tl_far_row *tl_far_row(enum tl_far_kind kind);
/* By scheme; TL_FAR_KIND_COUNT when there is none. */
enum tl_far_kind tl_far_kind_of_scheme(const char *scheme, size_t len);

/* By id, the first of them; likewise. */
enum tl_far_kind tl_far_kind_of_id(const char *id);

/* What the first of these abilities is called, as the object of "cannot": "tell its host's
 * settings"; NULL for none. */
const char *tl_far_lack_text(unsigned abilities);

/* What ends each reason why a far end does not tell something that a responder there would. */
#define TL_FAR_WOULD "a tightlink responder there (tightlink serve) would"
/* Whether a reason says so. */
bool tl_far_responder_would(const char *reason);

/* Who we are to a far end that asks; texts borrowed as long as a far end has them. */
struct tl_far_login {
    const char *user;       /* NULL: none */
    const char *password;   /* from a file of mode 0600 (base/secret.h) */
    const char *public_pem; /* iperf3: the server's public key, PEM text */
};

/* --- What a user writes --------------------------------------------------------------------- */

/* "host", "iperf3://host", "nuttcp://host:5000", "https://host/file",
 * "iperf3://[2001:db8::1]:5201", "ndt7://" (the nearest: the kind's directory). */
struct tl_target {
    enum tl_far_kind kind; /* TL_FAR_KIND_COUNT: not said, to be found out */
    char host[256];        /* without brackets */
    uint16_t port;         /* 0: not said */
    char resource[1024];   /* path and query, "" without */
    bool nearest;          /* no host was named: this is the kind's directory */
};

/* TL_USAGE with a sentence that quotes what was written: an unknown scheme, a port that is none, a
 * user or password in it (they come from files), a path where the kind has none. */
enum tl_status tl_target_parse(const char *text, struct tl_target *ret_target,
                               struct tl_error *reterr) TL_WARN_UNUSED;

#endif
