/* Inside of this room: what a kind of far end brings. One file (or a few of one prefix) a kind.
 *
 *   far.c          the table of kinds, and handing calls on
 *   discover.c     which kinds answer at a host
 *   far_socket.c   connections to strangers
 *   far_path.c     packet sizes and routers on the way to such a host
 *   far_ping.c     round trips to a host that only answers as every host does
 *   stranger.c     what every kind but our own does by these
 *   near_half.c    our half of a TCP test
 *   tightlink.c    tightlink's own responder
 *   iperf3*.c      iperf3 servers: TCP and UDP tests, their control connection, its texts
 *   http.c         web servers: a big file, read by connections of our own
 *   http_server.c  which server, and what of it
 *   http_greet.c   whether there is one
 *   http_request.c a connection to it, and one request by HTTP/1.1
 *   http2*.c       requests in it by HTTP/2, and a test by them
 *   http_upload.c  LibreSpeed's back ends: what is posted there
 *   ndt7*.c        NDT servers: the test, its WebSocket, its measurements, which one is near,
 *                  whether there is one
 *   nuttcp*.c      nuttcp servers: the test, its lines */
#ifndef TL_ENGINE_FAR_PRIVATE_H
#define TL_ENGINE_FAR_PRIVATE_H

#include "tightlink/engine/far.h"

/* What a kind does; NULL: it cannot. `end` is what its connect made. All but connect, close and
 * info may be NULL. A test with a setting that this kind cannot make true is TL_UNSUPPORTED, before
 * anything is sent. */
struct far_ops {
    enum tl_status (*connect)(const struct tl_far_options *options, void **ret_end,
                              struct tl_error *reterr);
    void (*close)(void *end);
    /* Whether one listens: TL_OK, or TL_BUSY with somebody else. Within options->reach.timeout_ns
     * or a little more; begins no test. NULL: never looked for. Any thread. */
    enum tl_status (*answers)(const struct tl_far_options *options, struct tl_error *reterr);
    const struct tl_client_info *(*info)(const void *end);
    unsigned (*cannot)(const void *end); /* TL_FAR_* that this one has not; NULL: none */
    enum tl_status (*wake)(void *end, struct tl_error *reterr);
    enum tl_status (*host)(void *end, struct tl_host_settings *ret_settings,
                           struct tl_error *reterr);
    enum tl_status (*echo)(void *end, const struct tl_echo_spec *spec,
                           struct tl_echo_result *ret_result, struct tl_error *reterr);
    enum tl_status (*tcp_test)(void *end, const struct tl_tcp_spec *spec, tl_tcp_live_fn *live,
                               void *context, struct tl_tcp_result *ret_result,
                               struct tl_error *reterr);
    enum tl_status (*udp_test)(void *end, const struct tl_udp_spec *spec, tl_udp_live_fn *live,
                               void *context, struct tl_udp_result *ret_result,
                               struct tl_error *reterr);
    enum tl_status (*pmtu)(void *end, const struct tl_pmtu_spec *spec,
                           struct tl_pmtu_result *ret_result, struct tl_error *reterr);
    enum tl_status (*syn)(void *end, bool beside, struct tl_syn_result *ret_result,
                          struct tl_error *reterr);
    enum tl_status (*hops)(void *end, const struct tl_hops_spec *spec,
                           struct tl_hops_result *ret_result, struct tl_error *reterr);
    enum tl_status (*disk_test)(void *end, const struct tl_disk_spec *spec,
                                struct tl_disk_far *ret_disk, struct tl_error *reterr);
};

/* NULL: not built. */
const struct far_ops *far_ops_of(enum tl_far_kind kind);

extern const struct far_ops far_tightlink_ops, far_iperf3_ops, far_nuttcp_ops, far_http_ops,
    far_https_ops, far_ndt7_ops;

#endif
