/* A far end of any kind: tightlink's own responder, or a server that others run.
 *
 * The table of base/far.h says what each kind can do. A plan reads it and offers only what can be
 * run; a call that a kind has not returns TL_UNSUPPORTED with a sentence that says what a
 * responder there would add. Whatever the kind, the same records come back: tl_tcp_result,
 * tl_echo_result and so on, in which what that far end does not tell is absent, never 0.
 *
 *   tl_far_discover -> tl_far_connect -> tl_far_info, tl_far_tcp_test … -> tl_far_close
 *
 * Threads, time-outs, cancelling and statuses are those of client.h, for every kind: a far end
 * belongs to one thread, calls end within TL_CLIENT_CANCEL_NS of a cancel, and what a stranger
 * says is bounded and cleaned. Nothing here prints. */
#ifndef TL_ENGINE_FAR_H
#define TL_ENGINE_FAR_H

#include "tightlink/base/far.h"
#include "tightlink/base/proxy.h"
#include "tightlink/engine/client.h"
#include "tightlink/engine/client_disk.h"
#include "tightlink/engine/client_path.h"
#include "tightlink/engine/client_udp.h"

/* --- Reaching it --------------------------------------------------------------------------- */

struct tl_far_options {
    struct tl_client_options reach;   /* port 0: the kind's own */
    const char *resource;             /* path and query of a URL, "" without; borrowed */
    const struct tl_far_login *login; /* NULL: none */
    bool http1;                       /* HTTP/1.1 to a web server that offers HTTP/2, too */
    const struct tl_proxy *proxy;     /* of a web server; NULL: straight to it. Borrowed */
};

struct tl_far;

/* Resolves, connects, and sees that the far end is of that kind. Errors as tl_client_connect, each
 * with a sentence; TL_BUSY where it serves somebody else (a later test waits for its turn). */
enum tl_status tl_far_connect(enum tl_far_kind kind, const struct tl_far_options *options,
                              struct tl_far **ret_far, struct tl_error *reterr) TL_WARN_UNUSED;
/* NULL is fine. */
void tl_far_close(struct tl_far *far);

/* Which kinds answer at the host, those of `kinds` (bit i for the i-th), each at its own port, all
 * at once, within TL_FAR_DISCOVER_NS. Sends a greeting of some 40 bytes to each open port, of some
 * 300 where a web server may be, and closes; no test is begun. *ret_kinds is a set like `kinds`, of
 * one port the kind that is preferred. TL_NOHOST, TL_CANCELLED, TL_NOMEM. */
#define TL_FAR_DISCOVER_NS (3000 * INT64_C(1000000))
enum tl_status tl_far_discover(unsigned kinds, const struct tl_far_options *options,
                               unsigned *ret_kinds, struct tl_error *reterr) TL_WARN_UNUSED;

/* --- Asking it ------------------------------------------------------------------------------ */

enum tl_far_kind tl_far_kind(const struct tl_far *far);
/* TL_FAR_* that its kind has and this one has not. */
unsigned tl_far_cannot(const struct tl_far *far);
bool tl_far_can(const struct tl_far *far, unsigned abilities); /* all of them */
/* Valid as long as the far end; port is where it listens. */
const struct tl_client_info *tl_far_info(const struct tl_far *far);
/* Its own responder's connection, for what only two responders do; NULL for any other kind. */
struct tl_client *tl_far_client(struct tl_far *far);

/* No test from here on waits for its turn longer than until then (monotonic), a second at least;
 * 0: as long as its specification says, or TL_CLIENT_QUEUE_NS. */
void tl_far_set_turn_until(struct tl_far *far, int64_t until_ns);

/* Each as tl_client_* of the same name. */
enum tl_status tl_far_wake(struct tl_far *far, struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_far_host(struct tl_far *far, struct tl_host_settings *ret_settings,
                           struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_far_echo(struct tl_far *far, const struct tl_echo_spec *spec,
                           struct tl_echo_result *ret_result,
                           struct tl_error *reterr) TL_WARN_UNUSED;
/* Of a kind without TL_FAR_SENDER a download's sender has no samples; of one without
 * TL_FAR_RECEIVER an upload's receiver has what was acknowledged to this end, and its streams'
 * bytes are the far end's word. end_signed: the far end ended the test as its protocol has it. */
enum tl_status tl_far_tcp_test(struct tl_far *far, const struct tl_tcp_spec *spec,
                               tl_tcp_live_fn *live, void *context,
                               struct tl_tcp_result *ret_result,
                               struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_far_udp_test(struct tl_far *far, const struct tl_udp_spec *spec,
                               tl_udp_live_fn *live, void *context,
                               struct tl_udp_result *ret_result,
                               struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_far_pmtu(struct tl_far *far, const struct tl_pmtu_spec *spec,
                           struct tl_pmtu_result *ret_result,
                           struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_far_syn(struct tl_far *far, bool beside, struct tl_syn_result *ret_result,
                          struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_far_hops(struct tl_far *far, const struct tl_hops_spec *spec,
                           struct tl_hops_result *ret_result,
                           struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_far_disk_test(struct tl_far *far, const struct tl_disk_spec *spec,
                                struct tl_disk_far *ret_disk,
                                struct tl_error *reterr) TL_WARN_UNUSED;

#endif
