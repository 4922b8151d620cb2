/* The fields of a recorded reading, in the order of the columns. */
#ifndef TL_TESTS_RECORDED_FIELDS_H
#define TL_TESTS_RECORDED_FIELDS_H

#include "tightlink/engine/sample.h"

static const enum tl_sample_field recorded_fields[] = {
    TL_SF_app_bytes,           TL_SF_snd_mss_bytes,       TL_SF_rtt_ns,
    TL_SF_min_rtt_ns,          TL_SF_snd_cwnd_count,      TL_SF_snd_ssthresh_count,
    TL_SF_total_retrans_count, TL_SF_data_segs_out_count, TL_SF_bytes_acked,
    TL_SF_bytes_sent,          TL_SF_bytes_retrans,       TL_SF_dsack_dups_count,
    TL_SF_reord_seen_count,    TL_SF_snd_wnd_bytes,       TL_SF_busy_ns,
    TL_SF_rwnd_limited_ns,     TL_SF_sndbuf_limited_ns,   TL_SF_lost_count,
    TL_SF_delivered_count,
};
#define RECORDED_COUNT (sizeof recorded_fields / sizeof *recorded_fields)

#endif
