/* Stage verify: one transfer with a remedy applied to its own sockets. What a setting would
 * bring is measured, and nothing outside of this program changes. */
#include <math.h>
#include <stdio.h>

#include "outcome.h"
#include "tightlink/base/units.h"
#include "tightlink/probes/trial.h"
#include "transfer.h"

/* SO_RCVBUF and SO_SNDBUF: the kernel sets twice what is asked for (socket(7)). */
#define KERNEL_DOUBLES 2

/* A buffer that stays below this share of what was asked for was not tried. */
#define GRANTED_ENOUGH 0.9

/* More than a responder permits by default would be clamped (engine/limits.h). */
#define CONNECTIONS_MAX 32

static int half(double bytes)
{
    double asked = bytes / KERNEL_DOUBLES;
    return asked < 1e9 ? (int)asked : 1000000000;
}

static void apply(const struct tl_trial *trial, struct tl_tcp_spec *spec)
{
    switch (trial->kind) {
    case TL_TRIAL_RCVBUF:
        spec->rcvbuf_bytes = half(trial->value);
        break;
    case TL_TRIAL_SNDBUF:
        spec->sndbuf_bytes = half(trial->value);
        break;
    case TL_TRIAL_STREAMS:
        spec->streams = (unsigned)trial->value;
        break;
    case TL_TRIAL_CC:
        snprintf(spec->congestion, sizeof spec->congestion, "%s", trial->name);
        break;
    case TL_TRIAL_PACING:
        spec->pacing_bps = (uint64_t)trial->value;
        break;
    case TL_TRIAL_MSS:
        spec->maxseg_bytes = (int)trial->value;
        break;
    default: /* the family is the connection's */
        break;
    }
}

/* "a receive buffer of 4 MiB". */
static void describe_trial(const struct tl_trial *trial, char ret_text[TL_TRIAL_TEXT_SIZE])
{
    char value[TL_UNIT_TEXT_SIZE];
    switch (trial->kind) {
    case TL_TRIAL_RCVBUF:
    case TL_TRIAL_SNDBUF:
        snprintf(ret_text, TL_TRIAL_TEXT_SIZE, "a %s buffer of %s",
                 trial->kind == TL_TRIAL_RCVBUF ? "receive" : "send",
                 tl_format_bytes(trial->value, value));
        break;
    case TL_TRIAL_STREAMS:
        snprintf(ret_text, TL_TRIAL_TEXT_SIZE, "%.0f streams at once", trial->value);
        break;
    case TL_TRIAL_CC:
        snprintf(ret_text, TL_TRIAL_TEXT_SIZE, "congestion control %.40s", trial->name);
        break;
    case TL_TRIAL_PACING:
        snprintf(ret_text, TL_TRIAL_TEXT_SIZE, "pacing to %s", tl_format_bps(trial->value, value));
        break;
    case TL_TRIAL_MSS:
        snprintf(ret_text, TL_TRIAL_TEXT_SIZE, "segments of %.0f bytes", trial->value);
        break;
    case TL_TRIAL_FAMILY:
        snprintf(ret_text, TL_TRIAL_TEXT_SIZE, "IPv%.0f", trial->value);
        break;
    default:
        snprintf(ret_text, TL_TRIAL_TEXT_SIZE, "nothing");
        break;
    }
}

unsigned tl_trial_connections(double predicted_bps, double measured_bps)
{
    double count = ceil(predicted_bps / measured_bps);
    if (!(count > 1))
        return 1;
    return count < CONNECTIONS_MAX ? (unsigned)count : CONNECTIONS_MAX;
}

/* A kernel grants less than it is asked for without a word: what it gave tells. 0: all of it, or
 * nothing was asked for. */
static int granted_less(const struct tl_trial *trial, const struct tl_tcp_result *result)
{
    bool receiver = trial->kind == TL_TRIAL_RCVBUF;
    if (!receiver && trial->kind != TL_TRIAL_SNDBUF)
        return 0;
    int bytes = receiver ? result->receiver.streams[0].rcvbuf_bytes
                         : result->sender.streams[0].sndbuf_bytes;
    return bytes < GRANTED_ENOUGH * trial->value ? bytes : 0;
}

/* One transfer; *ret_goodput_bps is NAN where it gave no rate. */
static enum tl_status measure(const struct tl_probe *probe, const struct tl_tcp_spec *spec,
                              const struct tl_trial *trial, struct tl_probe_outcome *outcome,
                              double *ret_goodput_bps, int *ret_granted_bytes,
                              struct tl_error *reterr)
{
    struct tl_tcp_result *result;
    long long received = outcome->record.received_bytes, sent = outcome->record.sent_bytes;
    enum tl_status status = tl_transfer_run(probe, spec, outcome, &result, reterr);
    outcome->record.received_bytes += received;
    outcome->record.sent_bytes += sent;
    *ret_granted_bytes = result && status == TL_OK ? granted_less(trial, result) : 0;
    *ret_goodput_bps = (double)NAN;
    if (tl_transfer_counts(outcome) && result->steady.rate.valid)
        *ret_goodput_bps = result->steady.rate.goodput_bps;
    tl_transfer_free(result);
    return status;
}

/* Several connections hold several windows: what one may not ask for without privilege, they have
 * together. */
static enum tl_status measure_several(const struct tl_probe *probe, struct tl_tcp_spec *spec,
                                      const struct tl_trial *trial, double predicted_bps,
                                      int granted_bytes, struct tl_probe_outcome *outcome,
                                      struct tl_trial_result *result, struct tl_error *reterr)
{
    char got[TL_UNIT_TEXT_SIZE], wanted[TL_UNIT_TEXT_SIZE];
    const char *whose = trial->kind == TL_TRIAL_RCVBUF ? "receive" : "send";
    unsigned count = tl_trial_connections(predicted_bps, result->goodput_bps);
    tl_format_bytes(granted_bytes, got);
    if (count == 1) {
        tl_outcome_state(
            outcome, TL_STAGE_LIMITED,
            "the %ser's kernel granted a buffer of %s only, not %s (net.core.%cmem_max)",
            trial->kind == TL_TRIAL_RCVBUF ? "receiv" : "send", got,
            tl_format_bytes(trial->value, wanted), whose[0] == 'r' ? 'r' : 'w');
        return TL_OK;
    }
    snprintf(result->what, sizeof result->what, "%u connections, a %s buffer of %s each", count,
             whose, got);
    spec->streams = count;
    return measure(probe, spec, trial, outcome, &result->goodput_bps, &granted_bytes, reterr);
}

enum tl_status tl_probe_trial(const struct tl_probe *probe, enum tl_direction direction,
                              const struct tl_probe_limits *limits, const struct tl_trial *trial,
                              double predicted_bps, struct tl_probe_outcome *ret_outcome,
                              struct tl_trial_result *ret_result, struct tl_error *reterr)
{
    struct tl_tcp_spec spec = tl_transfer_spec(direction, limits);
    struct tl_error error = {0};
    int granted_bytes;
    tl_outcome_begin(ret_outcome, "verify");
    apply(trial, &spec);
    describe_trial(trial, ret_result->what);
    enum tl_status status =
        measure(probe, &spec, trial, ret_outcome, &ret_result->goodput_bps, &granted_bytes, &error);
    if (status == TL_OK && granted_bytes > 0 && isfinite(ret_result->goodput_bps))
        status = measure_several(probe, &spec, trial, predicted_bps, granted_bytes, ret_outcome,
                                 ret_result, &error);
    /* What one end does not permit is an answer, and no end of the session. */
    if (status == TL_UNSUPPORTED || status == TL_DENIED || status == TL_LIMIT ||
        status == TL_RANGE) {
        tl_outcome_state(ret_outcome, TL_STAGE_NOT_POSSIBLE, "%s", error.text);
        return TL_OK;
    }
    if (status != TL_OK && reterr)
        *reterr = error;
    return status;
}
