/* What a UDP test with an iperf3 server may be: iperf3_end.h. Pure. */
#include "iperf3_end.h"
#include "tightlink/base/time.h"

/* As udp.h has it where none is asked for. */
#define TRAIN_GAP_NS (10 * TL_NS_PER_MS)

/* A train is a burst of a stream whose mean rate has one begin each gap: a server sends a burst
 * back to back and waits until its mean has come down to the rate. One that knows no bursts sends
 * evenly, which the times in its datagrams show: then no train tells a rate. */
static void as_bursts(struct tl_udp_spec *spec)
{
    int64_t gap_ns = spec->train_gap_ns > 0 ? spec->train_gap_ns : TRAIN_GAP_NS;
    spec->burst_count = spec->train_length;
    spec->rate_bps = (uint64_t)(8e9 * spec->datagram_bytes * spec->train_length / (double)gap_ns);
}

enum tl_status iperf3_udp_check(struct tl_udp_spec *spec, struct tl_error *reterr)
{
    bool trains = spec->train_length > 0;
    enum tl_status status = tl_udp_spec_check(spec, reterr);
    const char *what = trains && spec->direction == TL_WIRE_UPLOAD ? "time trains of datagrams"
                       : !trains && spec->rate_bps == 0
                           ? "send datagrams as fast as possible and account for them"
                           : NULL;
    if (status != TL_OK)
        return status;
    if (what)
        return tl_error_set(reterr, TL_UNSUPPORTED, "an iperf3 server cannot %s: " TL_FAR_WOULD,
                            what);
    if (spec->datagram_bytes == 0)
        spec->datagram_bytes = TL_UDP_DATAGRAM_BYTES;
    if (trains)
        as_bursts(spec);
    return TL_OK;
}
