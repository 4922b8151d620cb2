/* Samples: what the kernel returned, and only that, becomes present. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sampler_kernel.h"
#include "tightlink/engine/sampler.h"

static size_t present_count(const struct tl_tcp_sample *sample)
{
    size_t count = 0;
    for (int i = 0; i < TL_SAMPLE_FIELD_COUNT; i++)
        count += tl_sample_has(sample, (enum tl_sample_field)i);
    return count;
}

Test(sampler, table_names_every_member_once)
{
    for (int i = 0; i < TL_SAMPLE_FIELD_COUNT; i++) {
        struct tl_tcp_sample sample = {0};
        tl_sample_set(&sample, (enum tl_sample_field)i, 0xfeedfacecafe0000u + (uint64_t)i);
        cr_assert_eq(present_count(&sample), 1);
        cr_assert_eq(tl_sample_get(&sample, (enum tl_sample_field)i),
                     0xfeedfacecafe0000u + (uint64_t)i);
        for (int j = 0; j < i; j++)
            cr_assert_str_neq(tl_sample_fields[i].name, tl_sample_fields[j].name);
    }
    struct tl_tcp_sample sample = {0};
    tl_sample_set(&sample, TL_SF_rtt_ns, 42);
    cr_assert_eq(sample.rtt_ns, 42);
    cr_assert_str_eq(tl_sample_fields[TL_SF_rtt_ns].unit, "ns");
}

Test(sampler, units_of_the_kernel_become_ours)
{
    struct tl_kernel_tcp_info info = {.rtt = 42000,
                                      .last_data_sent = 7,
                                      .pacing_rate = 1000,
                                      .max_pacing_rate = UINT64_MAX,
                                      .busy_time = 5,
                                      .total_rto = 3,
                                      .total_rto_time = 2,
                                      .min_rtt = UINT32_MAX,
                                      .wscale_bits = 0x97,
                                      .flag_bits = 0x05};
    struct tl_tcp_sample sample = {0};
    tl_sample_from_kernel(&info, sizeof(info), &sample);
    cr_assert_eq(sample.rtt_ns, 42000000);
    cr_assert_eq(sample.last_data_sent_ns, 7000000);
    cr_assert_eq(sample.pacing_bps, 8000);
    cr_assert_eq(sample.max_pacing_bps, UINT64_MAX);
    cr_assert_eq(sample.busy_ns, 5000);
    cr_assert_eq(sample.total_rto_count, 3);
    cr_assert_eq(sample.total_rto_time_ns, 2000000);
    cr_assert_eq(sample.snd_wscale_count, 7);
    cr_assert_eq(sample.rcv_wscale_count, 9);
    cr_assert_eq(sample.app_limited, 1);
    cr_assert_eq(sample.fastopen_fail, 2);
    cr_assert_not(tl_sample_has(&sample, TL_SF_min_rtt_ns), "~0 is not a round-trip time");
}

Test(sampler, a_short_answer_leaves_newer_fields_absent)
{
    struct tl_kernel_tcp_info info;
    memset(&info, 1, sizeof(info));
    for (size_t len = 0; len <= sizeof(info); len++) {
        struct tl_tcp_sample sample = {0};
        tl_sample_from_kernel(&info, len, &sample);
        cr_assert_eq(tl_sample_has(&sample, TL_SF_bytes_retrans),
                     len >= offsetof(struct tl_kernel_tcp_info, bytes_retrans) + 8, "%zu", len);
        cr_assert_eq(tl_sample_has(&sample, TL_SF_snd_wnd_bytes),
                     len >= offsetof(struct tl_kernel_tcp_info, snd_wnd) + 4, "%zu", len);
        if (len == 0)
            cr_assert_eq(present_count(&sample), 0);
    }
}

Test(sampler, in_flight_prefers_counters_read_in_one_go)
{
    struct tl_tcp_sample sample = {0};
    uint64_t bytes = 7;
    cr_assert_not(tl_sample_in_flight(&sample, &bytes));
    cr_assert_eq(bytes, 7);
    tl_sample_set(&sample, TL_SF_unacked_count, 10);
    tl_sample_set(&sample, TL_SF_snd_mss_bytes, 1448);
    cr_assert(tl_sample_in_flight(&sample, &bytes));
    cr_assert_eq(bytes, 14480);
    tl_sample_set(&sample, TL_SF_outq_bytes, 20000);
    tl_sample_set(&sample, TL_SF_outq_notsent_bytes, 5000);
    cr_assert(tl_sample_in_flight(&sample, &bytes));
    cr_assert_eq(bytes, 15000);
    tl_sample_set(&sample, TL_SF_bytes_sent, 100000);
    tl_sample_set(&sample, TL_SF_bytes_retrans, 1000);
    tl_sample_set(&sample, TL_SF_bytes_acked, 83001);
    cr_assert(tl_sample_in_flight(&sample, &bytes));
    cr_assert_eq(bytes, 15999);
    tl_sample_set(&sample, TL_SF_bytes_acked, 99001); /* the SYN counts one */
    cr_assert(tl_sample_in_flight(&sample, &bytes));
    cr_assert_eq(bytes, 0);
}

Test(sampler, reads_a_live_socket)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    cr_assert_eq(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    cr_assert_eq(listen(listener, 1), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    int near = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(near, (struct sockaddr *)&at, sizeof(at)), 0);
    int far = accept(listener, NULL, NULL);
    cr_assert_eq(send(near, "12345", 5, 0), 5);
    struct tl_tcp_sample sample = {0};
    tl_sample_read_socket(far, &sample);
    cr_assert_eq(sample.state, 1);
    cr_assert_eq(sample.inq_bytes, 5);
    cr_assert_eq(sample.bytes_received, 5);
    cr_assert_gt(sample.mem_rcvbuf_bytes, 2048);
    cr_assert(tl_sample_has(&sample, TL_SF_mem_drops_count));
    close(near);
    close(far);
    close(listener);
}
