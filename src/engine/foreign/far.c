/* A far end of any kind: hands each call on to the kind's own function. */
#include "tightlink/engine/far.h"

#include <stdlib.h>

#include "far_private.h"
#include "tightlink/base/time.h"

/* Who is served at once answers within that, whatever time is left. */
#define TURN_MIN_NS TL_NS_PER_S

/* How each kind of base/far.h is spoken to; NULL: not built. */
static const struct far_ops *const kinds[TL_FAR_KIND_COUNT] = {
    [TL_FAR_TIGHTLINK] = &far_tightlink_ops, [TL_FAR_IPERF3] = &far_iperf3_ops,
    [TL_FAR_NUTTCP] = &far_nuttcp_ops,       [TL_FAR_NDT7] = &far_ndt7_ops,
    [TL_FAR_HTTPS] = &far_https_ops,         [TL_FAR_HTTP] = &far_http_ops,
};

const struct far_ops *far_ops_of(enum tl_far_kind kind)
{
    return kinds[kind];
}

struct tl_far {
    enum tl_far_kind kind;
    void *end;
    int64_t turn_until_ns; /* 0: as long as each kind waits by itself */
};

static enum tl_status cannot(enum tl_far_kind kind, unsigned ability, struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_UNSUPPORTED, "%s cannot %s: " TL_FAR_WOULD,
                        tl_far_row(kind)->what, tl_far_lack_text(ability));
}

/* --- Reaching it --------------------------------------------------------------------------- */

enum tl_status tl_far_connect(enum tl_far_kind kind, const struct tl_far_options *options,
                              struct tl_far **ret_far, struct tl_error *reterr)
{
    const struct far_ops *ops = kinds[kind];
    struct tl_far_options reach = *options;
    if (!ops)
        return tl_error_set(reterr, TL_UNSUPPORTED, "%s:// is not built into this program",
                            tl_far_row(kind)->scheme);
    if (reach.reach.port == 0)
        reach.reach.port = tl_far_row(kind)->port;
    struct tl_far *far = calloc(1, sizeof *far);
    if (!far)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a connection");
    far->kind = kind;
    enum tl_status status = ops->connect(&reach, &far->end, reterr);
    if (status == TL_OK)
        *ret_far = far;
    else
        free(far);
    return status;
}

void tl_far_close(struct tl_far *far)
{
    if (!far)
        return;
    kinds[far->kind]->close(far->end);
    free(far);
}

/* --- Asking it ------------------------------------------------------------------------------ */

enum tl_far_kind tl_far_kind(const struct tl_far *far)
{
    return far->kind;
}

unsigned tl_far_cannot(const struct tl_far *far)
{
    return kinds[far->kind]->cannot ? kinds[far->kind]->cannot(far->end) : 0;
}

bool tl_far_can(const struct tl_far *far, unsigned abilities)
{
    return (tl_far_row(far->kind)->can & ~tl_far_cannot(far) & abilities) == abilities;
}

const struct tl_client_info *tl_far_info(const struct tl_far *far)
{
    return kinds[far->kind]->info(far->end);
}

struct tl_client *tl_far_client(struct tl_far *far)
{
    return far->kind == TL_FAR_TIGHTLINK ? far->end : NULL;
}

/* Hands a call on to the kind's own function, or says that it has none. */
#define HAND_ON(far, ability, op, ...)                                                             \
    (kinds[(far)->kind]->op ? kinds[(far)->kind]->op((far)->end, __VA_ARGS__)                      \
                            : cannot((far)->kind, ability, reterr))

enum tl_status tl_far_wake(struct tl_far *far, struct tl_error *reterr)
{
    return HAND_ON(far, TL_FAR_ECHO, wake, reterr);
}

enum tl_status tl_far_host(struct tl_far *far, struct tl_host_settings *ret_settings,
                           struct tl_error *reterr)
{
    return HAND_ON(far, TL_FAR_HOST, host, ret_settings, reterr);
}

enum tl_status tl_far_echo(struct tl_far *far, const struct tl_echo_spec *spec,
                           struct tl_echo_result *ret_result, struct tl_error *reterr)
{
    return HAND_ON(far, TL_FAR_ECHO, echo, spec, ret_result, reterr);
}

void tl_far_set_turn_until(struct tl_far *far, int64_t until_ns)
{
    far->turn_until_ns = until_ns;
}

/* What a test waits for its turn: as its caller says, else what is left until then. */
static int64_t turn_wait_ns(const struct tl_far *far, int64_t asked_ns)
{
    if (asked_ns > 0 || far->turn_until_ns == 0)
        return asked_ns;
    int64_t left_ns = far->turn_until_ns - tl_now_ns();
    return left_ns < TURN_MIN_NS ? TURN_MIN_NS
                                 : (left_ns < TL_CLIENT_QUEUE_NS ? left_ns : TL_CLIENT_QUEUE_NS);
}

enum tl_status tl_far_tcp_test(struct tl_far *far, const struct tl_tcp_spec *spec,
                               tl_tcp_live_fn *live, void *context,
                               struct tl_tcp_result *ret_result, struct tl_error *reterr)
{
    unsigned ability = spec->direction == TL_WIRE_UPLOAD ? TL_FAR_UPLOADS : TL_FAR_DOWNLOADS;
    struct tl_tcp_spec own = *spec;
    own.queue_wait_ns = turn_wait_ns(far, spec->queue_wait_ns);
    return HAND_ON(far, ability, tcp_test, &own, live, context, ret_result, reterr);
}

enum tl_status tl_far_udp_test(struct tl_far *far, const struct tl_udp_spec *spec,
                               tl_udp_live_fn *live, void *context,
                               struct tl_udp_result *ret_result, struct tl_error *reterr)
{
    struct tl_udp_spec own = *spec;
    own.queue_wait_ns = turn_wait_ns(far, spec->queue_wait_ns);
    return HAND_ON(far, TL_FAR_UDP, udp_test, &own, live, context, ret_result, reterr);
}

enum tl_status tl_far_pmtu(struct tl_far *far, const struct tl_pmtu_spec *spec,
                           struct tl_pmtu_result *ret_result, struct tl_error *reterr)
{
    return HAND_ON(far, TL_FAR_MTU, pmtu, spec, ret_result, reterr);
}

enum tl_status tl_far_syn(struct tl_far *far, bool beside, struct tl_syn_result *ret_result,
                          struct tl_error *reterr)
{
    return HAND_ON(far, TL_FAR_SYN, syn, beside, ret_result, reterr);
}

enum tl_status tl_far_hops(struct tl_far *far, const struct tl_hops_spec *spec,
                           struct tl_hops_result *ret_result, struct tl_error *reterr)
{
    return HAND_ON(far, TL_FAR_HOPS, hops, spec, ret_result, reterr);
}

enum tl_status tl_far_disk_test(struct tl_far *far, const struct tl_disk_spec *spec,
                                struct tl_disk_far *ret_disk, struct tl_error *reterr)
{
    return HAND_ON(far, TL_FAR_DISK, disk_test, spec, ret_disk, reterr);
}
