/* Connections of a capture, made by hand for the screens that show them. */
#include <math.h>

#include "script.h"

static const struct tl_app_pcap_row flows[] = {
    {.number = 1,
     .client = "192.0.2.10:51234",
     .server = "203.0.113.9:443",
     .client_known = true,
     .direction = TL_DOWNLOAD,
     .payload_bytes = 12500000,
     .span_ns = 4e9,
     .rate_bps = 25e6,
     .rtt_min_ns = 42e6,
     .retrans_ratio = 0.012,
     .app_ratio = 0.8,
     .sndbuf_ratio = 0,
     .rwnd_ratio = 0.05,
     .network_ratio = 0.15,
     .held_ns = 0.8e9,
     .place = "at the receiver",
     .judged = true,
     .state = TL_LIMITED,
     .confidence = 0.8,
     .cause = "sender-app",
     .segment = "far-host",
     .says =
         "The server limits the download to 25 Mb/s. The sending program on the server does not "
         "deliver fast enough."},
    {.number = 2,
     .client = "192.0.2.10:40022",
     .server = "[2001:db8::17]:22",
     .client_known = true,
     .direction = TL_UPLOAD,
     .payload_bytes = 9300000,
     .span_ns = 6e9,
     .rate_bps = 12.4e6,
     .rtt_min_ns = 18e6,
     .retrans_ratio = 0.03,
     .app_ratio = 0,
     .sndbuf_ratio = 0,
     .rwnd_ratio = 0.1,
     .network_ratio = 0.9,
     .held_ns = 6e9,
     .place = "at the sender",
     .judged = true,
     .state = TL_INCONCLUSIVE,
     .says = "We do not know yet what holds the upload at 12.4 Mb/s."},
    {.number = 3,
     .client = "192.0.2.10:40100",
     .server = "198.51.100.200:\033[31m80",
     .direction = TL_UPLOAD,
     .payload_bytes = 0,
     .rate_bps = NAN,
     .rtt_min_ns = NAN,
     .retrans_ratio = NAN,
     .app_ratio = NAN,
     .sndbuf_ratio = NAN,
     .rwnd_ratio = NAN,
     .network_ratio = NAN,
     .state = TL_INCONCLUSIVE}};

/* Six seconds of a sender whose window is halved by a loss each second. */
static void fill(struct tl_app_pcap_series *series)
{
    series->step_ns = 20e6;
    series->count = 300;
    for (size_t i = 0; i < series->count; i++) {
        double window = 24e3 + 12e3 * (double)(i % 50) / 50;
        double before = i ? series->acked_bytes[i - 1] : 0;
        series->acked_bytes[i] = before + window;
        series->sent_bytes[i] = series->acked_bytes[i] + window;
        series->edge_bytes[i] = series->acked_bytes[i] + 65536;
        series->rate_bps[i] = window * 8 / 20e-3;
        series->rtt_ns[i] = i == 120 ? NAN : 18e6 + window * 200;
        series->flight_bytes[i] = window;
        series->window_bytes[i] = 65536;
        series->again_count[i] = i % 50 == 49;
    }
}

void scene_add_packets(struct scene *scene)
{
    static struct tl_app_pcap_series series;
    struct tui_packets *packets = &scene->state.packets;
    fill(&series);
    *packets = (struct tui_packets){
        .file = "pcapng, 31204 packets, 3 flows",
        .broken = "the record at byte 7340112 claims 4294967295 bytes: the file is broken there",
        .rows = flows,
        .count = 3,
        .total = 3,
        .judged = 3,
        .series = &series};
    scene->state.screen = TUI_PACKETS;
}
