/* The length of the second paced stream. */
#include "paced_second.h"

int64_t tl_paced_count_ns(double pacing_bps, double mss_bytes, double loss_ratio)
{
    double losses_per_s = pacing_bps / 8 / mss_bytes * loss_ratio;
    double ns = TL_PACED_LOSSES_WANTED / losses_per_s * 1e9;
    if (!(ns < (double)TL_PACED_COUNT_MAX_NS))
        return TL_PACED_COUNT_MAX_NS;
    return ns > (double)TL_PACED_COUNT_MIN_NS ? (int64_t)ns : TL_PACED_COUNT_MIN_NS;
}
