/* Reading one socket into one sample. The thread that does so at an interval lives in
 * stream_sampler.c. */
#include "tightlink/engine/sampler.h"

#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "sampler_kernel.h"

#ifndef SO_MEMINFO
#define SO_MEMINFO 55
#endif
#define KERNEL_TCP_INFO 11 /* TCP_INFO; <linux/tcp.h> and <netinet/tcp.h> exclude each other */

_Static_assert(offsetof(struct tl_kernel_tcp_info, bytes_acked) == 120, "layout of Linux 4.1");
_Static_assert(offsetof(struct tl_kernel_tcp_info, snd_wnd) == 228, "layout of Linux 5.4");
_Static_assert(sizeof(struct tl_kernel_tcp_info) == 280, "layout of Linux 6.18");

/* A rate of ~0 is "no limit" and stays ~0; min_rtt of ~0 is "not measured". */
enum kernel_special { PLAIN, RATE, ABSENT_IF_ALL_ONES };

struct kernel_field {
    enum tl_sample_field field;
    uint16_t offset;
    uint8_t width;
    uint8_t special;
    uint32_t scale; /* the kernel's unit in ours */
};

#define MEMBER_SIZE(member) sizeof(((struct tl_kernel_tcp_info *)0)->member)
#define KERNEL(member, to, scale, special)                                                         \
    {                                                                                              \
        TL_SF_##to, offsetof(struct tl_kernel_tcp_info, member), MEMBER_SIZE(member), special,     \
            scale                                                                                  \
    }
#define ASIS(member, to) KERNEL(member, to, 1, PLAIN)
#define US(member, to)   KERNEL(member, to, 1000, PLAIN)
#define MS(member, to)   KERNEL(member, to, 1000000, PLAIN)

static const struct kernel_field kernel_fields[] = {
    ASIS(state, state),
    ASIS(ca_state, ca_state),
    ASIS(retransmits, retransmits),
    ASIS(probes, probes),
    ASIS(backoff, backoff),
    ASIS(options, options),
    US(rto, rto_ns),
    US(ato, ato_ns),
    ASIS(snd_mss, snd_mss_bytes),
    ASIS(rcv_mss, rcv_mss_bytes),
    ASIS(unacked, unacked_count),
    ASIS(sacked, sacked_count),
    ASIS(lost, lost_count),
    ASIS(retrans, retrans_count),
    ASIS(fackets, fackets_count),
    MS(last_data_sent, last_data_sent_ns),
    MS(last_ack_sent, last_ack_sent_ns),
    MS(last_data_recv, last_data_recv_ns),
    MS(last_ack_recv, last_ack_recv_ns),
    ASIS(pmtu, pmtu_bytes),
    ASIS(rcv_ssthresh, rcv_ssthresh_bytes),
    US(rtt, rtt_ns),
    US(rttvar, rttvar_ns),
    ASIS(snd_ssthresh, snd_ssthresh_count),
    ASIS(snd_cwnd, snd_cwnd_count),
    ASIS(advmss, advmss_bytes),
    ASIS(reordering, reordering_count),
    US(rcv_rtt, rcv_rtt_ns),
    ASIS(rcv_space, rcv_space_bytes),
    ASIS(total_retrans, total_retrans_count),
    KERNEL(pacing_rate, pacing_bps, 8, RATE),
    KERNEL(max_pacing_rate, max_pacing_bps, 8, RATE),
    ASIS(bytes_acked, bytes_acked),
    ASIS(bytes_received, bytes_received),
    ASIS(segs_out, segs_out_count),
    ASIS(segs_in, segs_in_count),
    ASIS(notsent_bytes, notsent_bytes),
    KERNEL(min_rtt, min_rtt_ns, 1000, ABSENT_IF_ALL_ONES),
    ASIS(data_segs_in, data_segs_in_count),
    ASIS(data_segs_out, data_segs_out_count),
    KERNEL(delivery_rate, delivery_rate_bps, 8, RATE),
    US(busy_time, busy_ns),
    US(rwnd_limited, rwnd_limited_ns),
    US(sndbuf_limited, sndbuf_limited_ns),
    ASIS(delivered, delivered_count),
    ASIS(delivered_ce, delivered_ce_count),
    ASIS(bytes_sent, bytes_sent),
    ASIS(bytes_retrans, bytes_retrans),
    ASIS(dsack_dups, dsack_dups_count),
    ASIS(reord_seen, reord_seen_count),
    ASIS(rcv_ooopack, rcv_ooopack_count),
    ASIS(snd_wnd, snd_wnd_bytes),
    ASIS(rcv_wnd, rcv_wnd_bytes),
    ASIS(rehash, rehash_count),
    ASIS(total_rto, total_rto_count),
    ASIS(total_rto_recoveries, total_rto_recoveries_count),
    MS(total_rto_time, total_rto_time_ns),
    ASIS(received_ce, received_ce_count),
    ASIS(delivered_e1_bytes, delivered_e1_bytes),
    ASIS(delivered_e0_bytes, delivered_e0_bytes),
    ASIS(delivered_ce_bytes, delivered_ce_bytes),
    ASIS(received_e1_bytes, received_e1_bytes),
    ASIS(received_e0_bytes, received_e0_bytes),
    ASIS(received_ce_bytes, received_ce_bytes),
};

/* An unsigned number of 1, 2, 4 or 8 bytes in host order. */
static uint64_t load(const unsigned char *at, size_t width)
{
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    switch (width) {
    case 1:
        memcpy(&u8, at, 1);
        return u8;
    case 2:
        memcpy(&u16, at, 2);
        return u16;
    case 4:
        memcpy(&u32, at, 4);
        return u32;
    default:
        memcpy(&u64, at, 8);
        return u64;
    }
}

static void take_field(const struct kernel_field *from, uint64_t raw, struct tl_tcp_sample *sample)
{
    uint64_t all_ones = from->width == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * from->width)) - 1;
    if (from->special == ABSENT_IF_ALL_ONES && raw == all_ones)
        return;
    if (from->special == RATE && raw >= UINT64_MAX / from->scale)
        raw = UINT64_MAX;
    else
        raw *= from->scale;
    tl_sample_set(sample, from->field, raw);
}

/* Bit fields of one byte: the first declared is the low end on little-endian
 * machines and the high end on big-endian ones (the ABIs of Linux). */
static unsigned bits_of(unsigned byte, unsigned first, unsigned count)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    first = 8 - first - count;
#endif
    return (byte >> first) & ((1u << count) - 1);
}

static void take_bit_fields(const unsigned char *info, size_t len, struct tl_tcp_sample *sample)
{
    if (len > offsetof(struct tl_kernel_tcp_info, wscale_bits)) {
        unsigned byte = info[offsetof(struct tl_kernel_tcp_info, wscale_bits)];
        tl_sample_set(sample, TL_SF_snd_wscale_count, bits_of(byte, 0, 4));
        tl_sample_set(sample, TL_SF_rcv_wscale_count, bits_of(byte, 4, 4));
    }
    if (len > offsetof(struct tl_kernel_tcp_info, flag_bits)) {
        unsigned byte = info[offsetof(struct tl_kernel_tcp_info, flag_bits)];
        tl_sample_set(sample, TL_SF_app_limited, bits_of(byte, 0, 1));
        tl_sample_set(sample, TL_SF_fastopen_fail, bits_of(byte, 1, 2));
    }
}

void tl_sample_from_kernel(const void *tcp_info, size_t len, struct tl_tcp_sample *sample)
{
    const unsigned char *info = tcp_info;
    take_bit_fields(info, len, sample);
    for (size_t i = 0; i < sizeof(kernel_fields) / sizeof(kernel_fields[0]); i++) {
        const struct kernel_field *from = &kernel_fields[i];
        if ((size_t)from->offset + from->width <= len)
            take_field(from, load(info + from->offset, from->width), sample);
    }
}

static void read_queues(int fd, struct tl_tcp_sample *sample)
{
    static const struct {
        unsigned long request;
        enum tl_sample_field field;
    } queues[] = {{SIOCINQ, TL_SF_inq_bytes},
                  {SIOCOUTQ, TL_SF_outq_bytes},
                  {SIOCOUTQNSD, TL_SF_outq_notsent_bytes}};
    for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
        int bytes = 0;
        if (ioctl(fd, queues[i].request, &bytes) == 0 && bytes >= 0)
            tl_sample_set(sample, queues[i].field, (uint64_t)bytes);
    }
}

static void read_memory(int fd, struct tl_tcp_sample *sample)
{
    static const enum tl_sample_field fields[] = {
        [SK_MEMINFO_RMEM_ALLOC] = TL_SF_mem_rmem_bytes,
        [SK_MEMINFO_RCVBUF] = TL_SF_mem_rcvbuf_bytes,
        [SK_MEMINFO_WMEM_ALLOC] = TL_SF_mem_wmem_bytes,
        [SK_MEMINFO_SNDBUF] = TL_SF_mem_sndbuf_bytes,
        [SK_MEMINFO_FWD_ALLOC] = TL_SF_mem_fwd_bytes,
        [SK_MEMINFO_WMEM_QUEUED] = TL_SF_mem_wqueued_bytes,
        [SK_MEMINFO_OPTMEM] = TL_SF_mem_optmem_bytes,
        [SK_MEMINFO_BACKLOG] = TL_SF_mem_backlog_bytes,
        [SK_MEMINFO_DROPS] = TL_SF_mem_drops_count,
    };
    uint32_t values[sizeof(fields) / sizeof(fields[0])];
    socklen_t len = sizeof(values);
    if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, values, &len) < 0)
        return;
    for (size_t i = 0; i < len / sizeof(values[0]); i++)
        tl_sample_set(sample, fields[i], values[i]);
}

void tl_sample_read_socket(int fd, struct tl_tcp_sample *sample)
{
    /* Room for fields of kernels to come; the kernel cuts at what it knows. */
    unsigned char info[512];
    socklen_t len = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, KERNEL_TCP_INFO, info, &len) == 0)
        tl_sample_from_kernel(info, len, sample);
    read_queues(fd, sample);
    read_memory(fd, sample);
}
