/* An NDT server's measurements, read: ndt7_text.h. */
#include "ndt7_text.h"

#include "tightlink/base/json.h"
#include "tightlink/base/time.h"

#define TIME_MAX_US  (INT64_C(60) * 1000000) /* a test lasts ten seconds */
#define NUMBER_MAX   (INT64_C(1) << 53)      /* what JSON carries whole */
#define BITS_OF_BYTE 8

/* Linux' names, without "tcpi_", and what one of theirs is in our unit. */
static const struct {
    const char *name;
    enum tl_sample_field field;
    uint64_t unit;
} fields[] = {
    {"State", TL_SF_state, 1},
    {"CAState", TL_SF_ca_state, 1},
    {"Retransmits", TL_SF_retransmits, 1},
    {"Probes", TL_SF_probes, 1},
    {"Backoff", TL_SF_backoff, 1},
    {"Options", TL_SF_options, 1},
    {"AppLimited", TL_SF_app_limited, 1},
    {"RTO", TL_SF_rto_ns, TL_NS_PER_US},
    {"SndMSS", TL_SF_snd_mss_bytes, 1},
    {"Unacked", TL_SF_unacked_count, 1},
    {"Sacked", TL_SF_sacked_count, 1},
    {"Lost", TL_SF_lost_count, 1},
    {"Retrans", TL_SF_retrans_count, 1},
    {"PMTU", TL_SF_pmtu_bytes, 1},
    {"RTT", TL_SF_rtt_ns, TL_NS_PER_US},
    {"RTTVar", TL_SF_rttvar_ns, TL_NS_PER_US},
    {"SndSsThresh", TL_SF_snd_ssthresh_count, 1},
    {"SndCwnd", TL_SF_snd_cwnd_count, 1},
    {"AdvMSS", TL_SF_advmss_bytes, 1},
    {"Reordering", TL_SF_reordering_count, 1},
    {"TotalRetrans", TL_SF_total_retrans_count, 1},
    {"PacingRate", TL_SF_pacing_bps, BITS_OF_BYTE},
    {"BytesAcked", TL_SF_bytes_acked, 1},
    {"SegsOut", TL_SF_segs_out_count, 1},
    {"SegsIn", TL_SF_segs_in_count, 1},
    {"NotsentBytes", TL_SF_notsent_bytes, 1},
    {"MinRTT", TL_SF_min_rtt_ns, TL_NS_PER_US},
    {"DataSegsOut", TL_SF_data_segs_out_count, 1},
    {"DeliveryRate", TL_SF_delivery_rate_bps, BITS_OF_BYTE},
    {"BusyTime", TL_SF_busy_ns, TL_NS_PER_US},
    {"RWndLimited", TL_SF_rwnd_limited_ns, TL_NS_PER_US},
    {"SndBufLimited", TL_SF_sndbuf_limited_ns, TL_NS_PER_US},
    {"Delivered", TL_SF_delivered_count, 1},
    {"DeliveredCE", TL_SF_delivered_ce_count, 1},
    {"BytesSent", TL_SF_bytes_sent, 1},
    {"BytesRetrans", TL_SF_bytes_retrans, 1},
    {"DSackDups", TL_SF_dsack_dups_count, 1},
    {"ReordSeen", TL_SF_reord_seen_count, 1},
    {"SndWnd", TL_SF_snd_wnd_bytes, 1},
};

static bool find_number(const struct tl_json_at *object, const char *name, int64_t max,
                        int64_t *ret_value)
{
    struct tl_json_at member;
    return tl_json_find(object, name, &member) &&
           tl_json_integer(&member, 0, max, ret_value, NULL) == TL_OK;
}

static void read_tcp_info(const struct tl_json_at *root, struct ndt7_measurement *measurement)
{
    struct tl_tcp_sample *sample = &measurement->sample;
    struct tl_json_at info, app;
    int64_t value;
    if (!tl_json_find(root, "TCPInfo", &info) ||
        !find_number(&info, "ElapsedTime", TIME_MAX_US, &value))
        return;
    sample->time_ns = value * TL_NS_PER_US;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (find_number(&info, fields[i].name, NUMBER_MAX, &value))
            tl_sample_set(sample, fields[i].field, (uint64_t)value * fields[i].unit);
    if (tl_json_find(root, "AppInfo", &app) && find_number(&app, "NumBytes", NUMBER_MAX, &value))
        tl_sample_set(sample, TL_SF_app_bytes, (uint64_t)value);
    measurement->has_sample = true;
}

static bool tells_bbr(const struct tl_json_at *root)
{
    struct tl_json_at bbr;
    int64_t bandwidth;
    return tl_json_find(root, "BBRInfo", &bbr) && find_number(&bbr, "BW", INT64_MAX, &bandwidth) &&
           bandwidth > 0;
}

enum tl_status ndt7_read_measurement(const char *text, size_t len,
                                     struct ndt7_measurement *ret_measurement,
                                     struct tl_error *reterr)
{
    static const struct tl_json_limits limits = {
        .bytes_max = NDT7_TEXT_MAX, .values_max = 512, .depth_max = 8};
    struct ndt7_measurement measurement = {.has_sample = false};
    struct tl_error why = {0};
    struct tl_json *doc = NULL;
    enum tl_status status = tl_json_parse(text, len, &limits, &doc, &why);
    if (status == TL_NOMEM)
        return tl_error_set(reterr, status, "no memory for a measurement");
    if (status != TL_OK)
        return tl_error_set(reterr, TL_PROTOCOL, "the server's measurement makes no sense: %.300s",
                            why.text);
    struct tl_json_at root = tl_json_root(doc);
    read_tcp_info(&root, &measurement);
    measurement.bbr = tells_bbr(&root);
    tl_json_destroy(doc);
    *ret_measurement = measurement;
    return TL_OK;
}
