/* The kernel's struct tcp_info, up to Linux 6.18: our own copy, since the
 * headers of the build machine are often older than the kernel that runs.
 * Layout from include/uapi/linux/tcp.h; only ever extended at the end. Private
 * to sampler.c and its test. */
#ifndef TL_ENGINE_SAMPLER_KERNEL_H
#define TL_ENGINE_SAMPLER_KERNEL_H

#include <stdint.h>

struct tl_kernel_tcp_info {
    uint8_t state;
    uint8_t ca_state;
    uint8_t retransmits;
    uint8_t probes;
    uint8_t backoff;
    uint8_t options;
    uint8_t wscale_bits; /* snd_wscale : 4, rcv_wscale : 4; order is the compiler's, see below */
    uint8_t flag_bits;   /* delivery_rate_app_limited : 1, fastopen_client_fail : 2 */
    uint32_t rto;
    uint32_t ato;
    uint32_t snd_mss;
    uint32_t rcv_mss;
    uint32_t unacked;
    uint32_t sacked;
    uint32_t lost;
    uint32_t retrans;
    uint32_t fackets;
    uint32_t last_data_sent; /* these four in ms */
    uint32_t last_ack_sent;
    uint32_t last_data_recv;
    uint32_t last_ack_recv;
    uint32_t pmtu;
    uint32_t rcv_ssthresh;
    uint32_t rtt; /* us */
    uint32_t rttvar;
    uint32_t snd_ssthresh;
    uint32_t snd_cwnd;
    uint32_t advmss;
    uint32_t reordering;
    uint32_t rcv_rtt; /* us */
    uint32_t rcv_space;
    uint32_t total_retrans;
    uint64_t pacing_rate; /* bytes/s */
    uint64_t max_pacing_rate;
    uint64_t bytes_acked;
    uint64_t bytes_received;
    uint32_t segs_out;
    uint32_t segs_in;
    uint32_t notsent_bytes;
    uint32_t min_rtt; /* us; ~0 = no measurement yet */
    uint32_t data_segs_in;
    uint32_t data_segs_out;
    uint64_t delivery_rate; /* bytes/s */
    uint64_t busy_time;     /* these three in us */
    uint64_t rwnd_limited;
    uint64_t sndbuf_limited;
    uint32_t delivered;
    uint32_t delivered_ce;
    uint64_t bytes_sent;
    uint64_t bytes_retrans;
    uint32_t dsack_dups;
    uint32_t reord_seen;
    uint32_t rcv_ooopack;
    uint32_t snd_wnd;
    uint32_t rcv_wnd;
    uint32_t rehash;
    uint16_t total_rto;
    uint16_t total_rto_recoveries;
    uint32_t total_rto_time; /* ms */
    uint32_t received_ce;
    uint32_t delivered_e1_bytes;
    uint32_t delivered_e0_bytes;
    uint32_t delivered_ce_bytes;
    uint32_t received_e1_bytes;
    uint32_t received_e0_bytes;
    uint32_t received_ce_bytes;
    uint32_t accecn_bits; /* meaning differs between 6.18 and 6.19: not used */
};

#endif
