/* The kernel's network counters: recorded files, made readings, this machine. */
#include <criterion/criterion.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "counters.h"
#include "tightlink/base/time.h"

TestSuite(host_counters);

static struct tl_host_counters counters;

static void read_case(const char *name)
{
    char root[512];

    snprintf(root, sizeof(root), "%s/%s", HOST_TEST_DATA, name);
    tl_host_counters_read(&counters, root, 0);
}

static void expect_count(enum tl_host_counter_id id, uint64_t count)
{
    cr_expect_eq(counters.why[id], TL_HOST_WHY_KNOWN, "%s: %s", tl_host_counter_name(id),
                 tl_host_why_text(counters.why[id]));
    cr_expect_eq(counters.counts[id], count, "%s is %llu", tl_host_counter_name(id),
                 (unsigned long long)counters.counts[id]);
}

static void expect_why(enum tl_host_counter_id id, enum tl_host_why why)
{
    cr_expect_eq(counters.why[id], why, "%s: %s", tl_host_counter_name(id),
                 tl_host_why_text(counters.why[id]));
}

Test(host_counters, a_recorded_machine)
{
    read_case("debian12");
    expect_count(TL_HOST_COUNTER_SOFTNET_PROCESSED, 0x260d9 + 0x54f29);
    expect_count(TL_HOST_COUNTER_SOFTNET_DROPPED, 6);
    expect_count(TL_HOST_COUNTER_SOFTNET_SQUEEZED, 12);
    expect_count(TL_HOST_COUNTER_TCP_IN_SEGS, 1949);
    expect_count(TL_HOST_COUNTER_TCP_RETRANS_SEGS, 4711);
    expect_count(TL_HOST_COUNTER_UDP_RCVBUF_ERRORS, 17);
    expect_count(TL_HOST_COUNTER_UDP6_RCVBUF_ERRORS, 21);
    expect_count(TL_HOST_COUNTER_TCP_PRUNE_CALLED, 3);
    expect_count(TL_HOST_COUNTER_TCP_RCV_COLLAPSED, 12);
    expect_count(TL_HOST_COUNTER_TCP_TIMEOUTS, UINT64_MAX);
    expect_count(TL_HOST_COUNTER_IP_IN_CE_PACKETS, 8);
    expect_count(TL_HOST_COUNTER_CONNTRACK_DROP, 0x1f + 1);
    expect_count(TL_HOST_COUNTER_CONNTRACK_EARLY_DROP, 2);
    expect_count(TL_HOST_COUNTER_CONNTRACK_INSERT_FAILED, 0x10);
    expect_count(TL_HOST_COUNTER_CONNTRACK_ENTRIES, 65530);
    expect_count(TL_HOST_COUNTER_TCP_MEMORY_PAGES, 55);
    expect_why(TL_HOST_COUNTER_LINK_RX_BYTES, TL_HOST_WHY_NOT_READ);
}

Test(host_counters, hostile_files_take_only_what_can_be_matched)
{
    read_case("hostile");
    expect_count(TL_HOST_COUNTER_TCP_IN_SEGS, 5);
    expect_why(TL_HOST_COUNTER_TCP_RETRANS_SEGS, TL_HOST_WHY_ABSENT);
    expect_why(TL_HOST_COUNTER_TCP_OUT_SEGS, TL_HOST_WHY_ABSENT);
    expect_why(TL_HOST_COUNTER_UDP_RCVBUF_ERRORS, TL_HOST_WHY_ABSENT);
    expect_count(TL_HOST_COUNTER_TCP_PRUNE_CALLED, 4);
    expect_why(TL_HOST_COUNTER_TCP_RCV_PRUNED, TL_HOST_WHY_ABSENT);
    expect_why(TL_HOST_COUNTER_UDP6_RCVBUF_ERRORS, TL_HOST_WHY_ABSENT);
    expect_why(TL_HOST_COUNTER_UDP6_IN_CSUM_ERRORS, TL_HOST_WHY_ABSENT);
    expect_why(TL_HOST_COUNTER_SOFTNET_DROPPED, TL_HOST_WHY_ABSENT);
    expect_why(TL_HOST_COUNTER_CONNTRACK_DROP, TL_HOST_WHY_ABSENT);
    expect_count(TL_HOST_COUNTER_CONNTRACK_INSERT_FAILED, 3);
    expect_why(TL_HOST_COUNTER_CONNTRACK_ENTRIES, TL_HOST_WHY_MALFORMED);
    expect_why(TL_HOST_COUNTER_TCP_MEMORY_PAGES, TL_HOST_WHY_ABSENT);
}

Test(host_counters, the_files_reason_reaches_each_counter)
{
    read_case("no-such-case");
    for (unsigned i = TL_HOST_COUNTER_SOFTNET_PROCESSED; i <= TL_HOST_COUNTER_TCP_LISTEN_DROPS; i++)
        expect_why(i, TL_HOST_WHY_ABSENT);
    expect_why(TL_HOST_COUNTER_CONNTRACK_DROP, TL_HOST_WHY_ABSENT);
    expect_why(TL_HOST_COUNTER_TCP_MEMORY_PAGES, TL_HOST_WHY_ABSENT);
    expect_why(TL_HOST_COUNTER_NIC_RX_PAUSE, TL_HOST_WHY_NOT_READ);
}

Test(host_counters, growth)
{
    static struct tl_host_counters before, after;
    struct tl_host_counters_growth growth;

    before.taken_ns = 1;
    after.taken_ns = 1001;
    before.ifindex = after.ifindex = 3;
    before.counts[TL_HOST_COUNTER_LINK_RX_BYTES] = UINT64_C(1) << 60;
    after.counts[TL_HOST_COUNTER_LINK_RX_BYTES] = (UINT64_C(1) << 60) + 5;
    before.counts[TL_HOST_COUNTER_TCP_TIMEOUTS] = 9;
    before.counts[TL_HOST_COUNTER_SOFTNET_DROPPED] = 0xfffffff0;
    after.counts[TL_HOST_COUNTER_SOFTNET_DROPPED] = 0x10;
    after.why[TL_HOST_COUNTER_UDP_IN_ERRORS] = TL_HOST_WHY_DENIED;
    tl_host_counters_between(&before, &after, &growth);
    cr_expect_eq(growth.elapsed_ns, 1000);
    cr_expect_eq(growth.values[TL_HOST_COUNTER_LINK_RX_BYTES].number, 5);
    cr_expect_eq(growth.values[TL_HOST_COUNTER_TCP_TIMEOUTS].why, TL_HOST_WHY_RESTARTED);
    cr_expect_eq(growth.values[TL_HOST_COUNTER_SOFTNET_DROPPED].number, 0x20);
    cr_expect_eq(growth.values[TL_HOST_COUNTER_UDP_IN_ERRORS].why, TL_HOST_WHY_DENIED);
    before.counts[TL_HOST_COUNTER_QDISC_DROPPED] = 1000; /* made anew: began at 0 */
    before.counts[TL_HOST_COUNTER_TCP_MEMORY_PAGES] = 70;
    after.counts[TL_HOST_COUNTER_TCP_MEMORY_PAGES] = 50;
    tl_host_counters_between(&before, &after, &growth);
    cr_expect_eq(growth.values[TL_HOST_COUNTER_QDISC_DROPPED].why, TL_HOST_WHY_RESTARTED);
    cr_expect_eq(growth.values[TL_HOST_COUNTER_TCP_MEMORY_PAGES].number, 70, "the higher level");
    after.ifindex = 4;
    tl_host_counters_between(&before, &after, &growth);
    cr_expect_eq(growth.values[TL_HOST_COUNTER_LINK_RX_BYTES].why, TL_HOST_WHY_RESTARTED);
    cr_expect_eq(growth.values[TL_HOST_COUNTER_NIC_RX_CRC].why, TL_HOST_WHY_RESTARTED);
    cr_expect_eq(growth.values[TL_HOST_COUNTER_SOFTNET_DROPPED].why, TL_HOST_WHY_KNOWN);
}

/* Four statistics as igb names them; the last name fills its place without a NUL. */
Test(host_counters, a_drivers_statistics_are_told_apart_by_name)
{
    static const char names[4][ETH_GSTRING_LEN] = {
        "rx_packets", "rx_crc_errors", "rx_flow_control_xoff", "rx_missed_errors_of_a_far_cousin"};
    static const uint64_t values[4] = {1, 22, 333, 4444};

    tl_counters_begin(&counters, 3);
    tl_counters_take_nic(&counters, names[0], values, 4);
    expect_count(TL_HOST_COUNTER_NIC_RX_CRC, 22);
    expect_count(TL_HOST_COUNTER_NIC_RX_PAUSE, 333);
    expect_why(TL_HOST_COUNTER_NIC_RX_NO_BUFFER, TL_HOST_WHY_ABSENT);
    expect_why(TL_HOST_COUNTER_NIC_TX_PAUSE, TL_HOST_WHY_ABSENT);
}

/* A card that a hypervisor makes counts what each of its queues lost. */
Test(host_counters, what_the_queues_lost_adds_up)
{
    static const char names[][ETH_GSTRING_LEN] = {
        "rx0_drops",        "rx11_drops",           "rx_drops",  "rx0_xdp_drops",
        "rx_queue_3_drops", "rx_queue_drop_cnt[2]", "tx0_drops", "rx_queue__drops"};
    const uint64_t values[] = {1, 20, 300, 4000, 50000, 600000, 7000000, 80000000};

    tl_counters_begin(&counters, 2);
    tl_counters_take_nic(&counters, names[0], values, sizeof(values) / sizeof(values[0]));
    expect_count(TL_HOST_COUNTER_NIC_RX_NO_BUFFER, 650021);
}

Test(host_counters, every_source_answers_or_says_why_on_this_machine)
{
    int ifindex = (int)if_nametoindex("eth0");

    if (ifindex == 0)
        cr_skip_test("there is no eth0");
    tl_host_counters_read(&counters, "", ifindex);
    expect_why(TL_HOST_COUNTER_LINK_RX_BYTES, TL_HOST_WHY_KNOWN);
    cr_expect(counters.why[TL_HOST_COUNTER_QDISC_DROPPED] == TL_HOST_WHY_KNOWN ||
                  counters.why[TL_HOST_COUNTER_QDISC_DROPPED] == TL_HOST_WHY_ABSENT,
              "%s", tl_host_why_text(counters.why[TL_HOST_COUNTER_QDISC_DROPPED]));
    cr_expect_neq(counters.why[TL_HOST_COUNTER_NIC_RX_CRC], TL_HOST_WHY_NOT_READ);
    cr_expect_neq(counters.why[TL_HOST_COUNTER_WIFI_TX_PACKETS], TL_HOST_WHY_NOT_READ);
}

/* IFLA_STATS64 as an older kernel sends it: without the last fields. */
Test(host_counters, a_short_statistics_answer_leaves_the_rest_absent)
{
    static _Alignas(struct nlmsghdr) char buf[512];
    struct nlmsghdr *msg = mnl_nlmsg_put_header(buf);
    struct rtnl_link_stats64 stats = {.rx_packets = 7, .tx_bytes = 1000};

    msg->nlmsg_type = RTM_NEWLINK;
    mnl_nlmsg_put_extra_header(msg, sizeof(struct ifinfomsg));
    mnl_attr_put(msg, IFLA_STATS64, offsetof(struct rtnl_link_stats64, collisions), &stats);
    memset(&counters, 0, sizeof(counters));
    counters.why[TL_HOST_COUNTER_LINK_COLLISIONS] = TL_HOST_WHY_ABSENT;
    cr_assert(tl_counters_parse_link(msg, &counters));
    expect_count(TL_HOST_COUNTER_LINK_RX_PACKETS, 7);
    expect_count(TL_HOST_COUNTER_LINK_TX_BYTES, 1000);
    expect_why(TL_HOST_COUNTER_LINK_COLLISIONS, TL_HOST_WHY_ABSENT);
}

Test(host_counters, other_traffic)
{
    cr_expect_float_eq(tl_host_other_traffic_ratio(2e9, 1e9, 0, 1448), 0.470, 0.001);
    cr_expect_eq(tl_host_other_traffic_ratio(1e9 * 1514 / 1448, 1e9, 0, 1448), 0,
                 "headers of ours are ours");
    cr_expect_eq(tl_host_other_traffic_ratio(1.3e9, 1e9, 2.5e8, 1448), 0,
                 "what we sent again is ours");
    cr_expect_eq(tl_host_other_traffic_ratio(0, 1e9, 0, 1448), 0);
    cr_expect_float_eq(tl_host_other_traffic_ratio(1e6, 0, 0, 1448), 1, 1e-9);
}

static int udp_socket(struct sockaddr_in *ret_address)
{
    socklen_t len = sizeof(*ret_address);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), size = 1;

    *ret_address = (struct sockaddr_in){.sin_family = AF_INET};
    ret_address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    cr_assert_eq(bind(fd, (const struct sockaddr *)ret_address, len), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)ret_address, &len), 0);
    return fd;
}

Test(host_counters, datagrams_that_overflow_a_socket_are_seen_on_this_machine)
{
    static struct tl_host_counters before, after;
    static char datagram[1000];
    struct tl_host_counters_growth growth;
    int ifindex = (int)if_nametoindex("lo");
    struct sockaddr_in address;
    int fd = udp_socket(&address);

    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        cr_skip_test("the loopback interface of this namespace is down");
    tl_host_counters_read(&before, "", ifindex);
    for (unsigned i = 0; i < 100; i++)
        cr_assert_eq(send(fd, datagram, sizeof(datagram), 0), sizeof(datagram));
    tl_host_counters_read(&after, "", ifindex);
    close(fd);
    tl_host_counters_between(&before, &after, &growth);
    cr_expect_geq(growth.values[TL_HOST_COUNTER_UDP_RCVBUF_ERRORS].number, 90);
    cr_expect_geq(growth.values[TL_HOST_COUNTER_LINK_TX_BYTES].number, 100 * 1000);
    cr_expect_geq(growth.values[TL_HOST_COUNTER_LINK_RX_PACKETS].number, 100);
    cr_expect_eq(growth.values[TL_HOST_COUNTER_TCP_RETRANS_SEGS].why, TL_HOST_WHY_KNOWN);
}
