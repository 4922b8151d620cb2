/* From the engine's live numbers to those of a probe. */
#include "live.h"

#include <math.h>
#include <stdio.h>

#include "tightlink/base/units.h"

static double number(const struct tl_tcp_sample *sample, enum tl_sample_field field)
{
    return tl_sample_has(sample, field) ? (double)tl_sample_get(sample, field) : (double)NAN;
}

static void fill_ledger(const struct tl_ledger *ledger, struct tl_probe_live *out)
{
    out->rwnd_ratio = ledger->rwnd_ratio;
    out->sndbuf_ratio = ledger->sndbuf_ratio;
    out->network_ratio = ledger->network_ratio;
    out->app_ratio = ledger->application_ratio;
}

static void fill_unknown(struct tl_probe_live *live)
{
    double nan = (double)NAN;
    *live = (struct tl_probe_live){.rate_bps = nan,
                                   .rtt_ns = nan,
                                   .low_bps = nan,
                                   .high_bps = nan,
                                   .retrans_count = nan,
                                   .cwnd_bytes = nan,
                                   .snd_wnd_bytes = nan,
                                   .app_ratio = nan,
                                   .sndbuf_ratio = nan,
                                   .rwnd_ratio = nan,
                                   .network_ratio = nan};
}

void tl_live_fill_udp(const struct tl_udp_live *live, struct tl_probe_live *ret_live)
{
    fill_unknown(ret_live);
    ret_live->rate_bps = live->rate_bps;
    ret_live->elapsed_ns = (double)live->elapsed_ns;
    ret_live->bytes = (double)live->received_bytes;
}

void tl_live_fill(const struct tl_tcp_live *live, struct tl_probe_live *ret_live)
{
    const struct tl_tcp_sample *sender = live->sender;
    fill_unknown(ret_live);
    ret_live->rate_bps = live->rate_bps;
    ret_live->rtt_ns = live->rtt_ns;
    ret_live->elapsed_ns = (double)live->elapsed_ns;
    ret_live->bytes = (double)live->received_bytes;
    ret_live->low_bps = live->low_bps;
    ret_live->high_bps = live->high_bps;
    if (!sender)
        return;
    ret_live->retrans_count = number(sender, TL_SF_total_retrans_count);
    ret_live->cwnd_bytes =
        number(sender, TL_SF_snd_cwnd_count) * number(sender, TL_SF_snd_mss_bytes);
    ret_live->snd_wnd_bytes = number(sender, TL_SF_snd_wnd_bytes);
    fill_ledger(&live->ledger, ret_live);
}

void tl_live_say_queued(const struct tl_probe *probe, unsigned place, int64_t wait_ns)
{
    char sentence[160], wait[TL_UNIT_TEXT_SIZE];
    snprintf(sentence, sizeof sentence, "the far end is busy: place %u, about %s to wait", place,
             tl_format_ns((double)wait_ns, wait));
    probe->note(probe->context, sentence);
}
