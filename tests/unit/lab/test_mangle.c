#include "mangle.h"

#include <criterion/criterion.h>
#include <string.h>

#include "flow.h"
#include "tightlink/base/random.h"

/* A SYN of Linux: MSS 1460, SACK-permitted, timestamps, NOP, window scale 7. */
static const unsigned char syn_options[] = {2, 4, 0x05, 0xb4, 4, 2, 8, 10, 1, 2,
                                            3, 4, 0,    0,    0, 0, 1, 3,  3, 7};

static uint32_t sum_of(const unsigned char *bytes, size_t len, uint32_t sum)
{
    for (size_t i = 0; i + 1 < len; i += 2)
        sum += (uint32_t)(bytes[i] << 8 | bytes[i + 1]);
    if (len % 2)
        sum += (uint32_t)bytes[len - 1] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

/* Both checksums of an IPv4 packet hold (RFC 1071: the sum over all is ones). */
static bool sums_hold(const unsigned char *packet, size_t len)
{
    uint32_t pseudo = sum_of(packet + 12, 8, packet[9] + (uint32_t)(len - 20));
    return sum_of(packet, 20, 0) == 0xffff && sum_of(packet + 20, len - 20, pseudo) == 0xffff;
}

static size_t make_syn(unsigned char packet[60])
{
    memset(packet, 0, 60);
    packet[0] = 0x45;
    packet[1] = 0xb9; /* DSCP 46, ECT(1) */
    packet[3] = 60;
    packet[8] = 64;
    packet[9] = 6;
    memcpy(packet + 12, "\x0a\x63\x01\x02\x0a\x63\x03\x02", 8);
    packet[20] = 0xc0;
    packet[21] = 0x01; /* port 49153 to 5411 */
    packet[22] = 0x15;
    packet[23] = 0x23;
    packet[32] = 10 << 4;
    packet[33] = 2;
    memcpy(packet + 40, syn_options, sizeof syn_options);
    uint16_t sum = (uint16_t)~sum_of(packet, 20, 0);
    packet[10] = (unsigned char)(sum >> 8);
    packet[11] = (unsigned char)sum;
    tl_lab_mangle_checksum(packet, 60);
    cr_assert(sums_hold(packet, 60));
    return 60;
}

Test(lab_mangle, mss_is_lowered_never_raised)
{
    unsigned char packet[60];
    struct tl_lab_link_config link = {.mss_max_bytes = 900};
    size_t len = make_syn(packet);
    tl_lab_mangle(packet, len, &link);
    cr_assert_eq(packet[42] << 8 | packet[43], 900);
    link.mss_max_bytes = 1200;
    tl_lab_mangle(packet, len, &link);
    cr_assert_eq(packet[42] << 8 | packet[43], 900);
    cr_assert(sums_hold(packet, len));
}

Test(lab_mangle, options_become_no_operations)
{
    unsigned char packet[60];
    struct tl_lab_link_config link = {.strip = TL_LAB_STRIP_WSCALE | TL_LAB_STRIP_SACK};
    size_t len = make_syn(packet);
    tl_lab_mangle(packet, len, &link);
    cr_assert_eq(packet[44], 1);
    cr_assert_eq(packet[45], 1);
    cr_assert_eq(packet[46], 8, "timestamps stay");
    cr_assert(packet[57] == 1 && packet[58] == 1 && packet[59] == 1);
    cr_assert(sums_hold(packet, len));
    link.strip = TL_LAB_STRIP_TIMESTAMPS | TL_LAB_STRIP_MSS;
    tl_lab_mangle(packet, len, &link);
    for (size_t i = 40; i < 60; i++)
        cr_assert_eq(packet[i], 1);
    cr_assert(sums_hold(packet, len));
}

Test(lab_mangle, only_syn_segments_lose_options)
{
    unsigned char packet[60], before[60];
    struct tl_lab_link_config link = {.strip = TL_LAB_STRIP_TIMESTAMPS, .mss_max_bytes = 900};
    size_t len = make_syn(packet);
    packet[33] = 0x10;
    memcpy(before, packet, len);
    tl_lab_mangle(packet, len, &link);
    cr_assert_arr_eq(packet, before, len);
}

Test(lab_mangle, clamp_fits_the_length_in_either_family)
{
    unsigned char packet[60], v6[80] = {0x60};
    struct tl_lab_link_config link = {.clamp_bytes = 1492};
    cr_assert(tl_lab_mangles(&link));
    size_t len = make_syn(packet);
    tl_lab_mangle(packet, len, &link);
    cr_assert_eq(packet[42] << 8 | packet[43], 1452);
    cr_assert(sums_hold(packet, len));
    make_syn(packet);
    v6[6] = 6;
    memcpy(v6 + 40, packet + 20, 40);
    tl_lab_mangle(v6, sizeof v6, &link);
    cr_assert_eq(v6[62] << 8 | v6[63], 1432);
}

Test(lab_mangle, mark_says_congestion_and_changes_nothing_else)
{
    unsigned char packet[60], v6[48] = {0x6b, 0x9a, 0xbc, 0xde};
    size_t len = make_syn(packet);
    tl_lab_mangle_mark(packet, len);
    cr_assert_eq(packet[1], 0xbb, "class 46 and CE");
    cr_assert(sums_hold(packet, len));
    cr_assert(tl_lab_flow_read(packet, len, TL_LAB_UP).can_mark);
    tl_lab_mangle_mark(v6, sizeof v6);
    cr_assert(v6[0] == 0x6b && v6[1] == 0xba && v6[2] == 0xbc);
    cr_assert(tl_lab_flow_read(v6, sizeof v6, TL_LAB_UP).can_mark);
    v6[1] = 0x8a;
    cr_assert_not(tl_lab_flow_read(v6, sizeof v6, TL_LAB_UP).can_mark);
}

Test(lab_mangle, dscp_is_set_and_ecn_stays)
{
    unsigned char packet[60], v6[48] = {0x6b, 0x91, 0x23, 0x45};
    struct tl_lab_link_config link = {.dscp_set = true, .dscp = 0};
    size_t len = make_syn(packet);
    tl_lab_mangle(packet, len, &link);
    cr_assert_eq(packet[1], 1);
    cr_assert(sums_hold(packet, len));
    link.dscp = 10;
    tl_lab_mangle(v6, sizeof v6, &link); /* class 0xb9 becomes 0x29, the flow label stays */
    cr_assert_eq(v6[0], 0x62);
    cr_assert_eq(v6[1], 0x91);
    cr_assert_eq(v6[2], 0x23);
}

/* Whatever length is said and whatever is cut off: nothing beyond the packet is touched. */
Test(lab_mangle, malformed_packets_are_left_within_their_bounds)
{
    struct tl_lab_link_config link = {
        .strip = 15, .mss_max_bytes = 100, .dscp_set = true, .dscp = 63};
    struct tl_random random;
    tl_random_seed(&random, 42);
    for (int round = 0; round < 200000; round++) {
        unsigned char packet[68];
        make_syn(packet);
        memset(packet + 60, 0xa5, 8);
        size_t len = (size_t)(tl_random_next(&random) % 61);
        for (int i = 0; i < 3; i++)
            packet[tl_random_next(&random) % 60] = (unsigned char)tl_random_next(&random);
        unsigned char *exact = malloc(len ? len : 1); /* so that the sanitizer sees the end */
        memcpy(exact, packet, len);
        tl_lab_mangle(exact, len, &link);
        tl_lab_mangle_checksum(exact, len);
        struct tl_lab_flow flow = tl_lab_flow_read(exact, len, TL_LAB_UP);
        cr_assert(len >= 20 || flow.hash == 0);
        free(exact);
    }
}

Test(lab_flow, both_directions_are_one_connection)
{
    unsigned char up[60], down[60];
    make_syn(up);
    memcpy(down, up, sizeof up);
    memcpy(down + 12, up + 16, 4);
    memcpy(down + 16, up + 12, 4);
    memcpy(down + 20, up + 22, 2);
    memcpy(down + 22, up + 20, 2);
    struct tl_lab_flow a = tl_lab_flow_read(up, 60, TL_LAB_UP);
    struct tl_lab_flow b = tl_lab_flow_read(down, 60, TL_LAB_DOWN);
    cr_assert_eq(a.hash, b.hash);
    cr_assert_eq(a.near_port, 49153);
    cr_assert_eq(b.near_port, 49153);
    cr_assert(!a.is_icmp);
    up[21]++; /* another port is another connection */
    cr_assert_neq(tl_lab_flow_read(up, 60, TL_LAB_UP).hash, a.hash);
    up[9] = 1;
    cr_assert(tl_lab_flow_read(up, 60, TL_LAB_UP).is_icmp);
}
