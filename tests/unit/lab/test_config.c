#include "tightlink/lab/config.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tightlink/base/time.h"

static struct tl_lab_config parsed(const char *spec)
{
    struct tl_lab_config config;
    struct tl_error err = {0};
    tl_lab_config_init(&config);
    enum tl_status status = tl_lab_config_parse(spec, &config, &err);
    cr_assert_eq(status, TL_OK, "%s: %s", spec, err.text);
    return config;
}

/* Refused with this status, the sentence contains `needle`, the config is untouched. */
static void refused(const char *spec, enum tl_status expected, const char *needle)
{
    struct tl_lab_config config, before;
    struct tl_error err = {0};
    tl_lab_config_init(&config);
    before = config;
    enum tl_status status = tl_lab_config_parse(spec, &config, &err);
    cr_assert_eq(status, expected, "%s: %s", spec, tl_status_name(status));
    cr_assert(strstr(err.text, needle), "%s: \"%s\" lacks \"%s\"", spec, err.text, needle);
    cr_assert_arr_eq(&config, &before, sizeof config);
}

Test(lab_config, defaults_are_the_documented_ones)
{
    struct tl_lab_config config = parsed("");
    for (int h = 0; h < TL_LAB_HOST_COUNT; h++) {
        cr_assert_eq(config.host[h].rmem_max_bytes, 64 << 20);
        cr_assert_eq(config.host[h].wmem_max_bytes, 64 << 20);
        cr_assert(config.host[h].window_scaling && config.host[h].sack);
        cr_assert_str_eq(config.host[h].cc, "cubic");
    }
    cr_assert_eq(config.family, TL_LAB_IPV4);
    cr_assert_eq(tl_lab_queue_bytes(&config, TL_LAB_DOWN), 0);
}

Test(lab_config, prefix_chooses_direction_or_host)
{
    struct tl_lab_config config =
        parsed("rate=200M down.rate=100M up.loss=0.1% near.rmem=256KiB far.cc=bbr delay=20ms");
    cr_assert_float_eq(config.link[TL_LAB_UP].rate_bps, 200e6, 1);
    cr_assert_float_eq(config.link[TL_LAB_DOWN].rate_bps, 100e6, 1);
    cr_assert_float_eq(config.link[TL_LAB_UP].loss_ratio, 0.001, 1e-12);
    cr_assert_float_eq(config.link[TL_LAB_DOWN].loss_ratio, 0, 1e-12);
    cr_assert_eq(config.link[TL_LAB_DOWN].delay_ns, 20 * TL_NS_PER_MS);
    cr_assert_eq(config.host[TL_LAB_NEAR].rmem_max_bytes, 256 << 10);
    cr_assert_eq(config.host[TL_LAB_FAR].rmem_max_bytes, 64 << 20);
    cr_assert_str_eq(config.host[TL_LAB_FAR].cc, "bbr");
    cr_assert_str_eq(config.host[TL_LAB_NEAR].cc, "cubic");
}

Test(lab_config, values_of_two_parts)
{
    struct tl_lab_config config = parsed("policer=40M/150kB down.shaper=30M/5MB reorder=3%/5ms "
                                         "burst-loss=0.01%/30% outage=6s-9s outage=12s-12.5s");
    const struct tl_lab_link_config *link = &config.link[TL_LAB_DOWN];
    cr_assert_float_eq(link->policer_bps, 40e6, 1);
    cr_assert_eq(link->policer_burst_bytes, 150000);
    cr_assert_float_eq(link->shaper_bps, 30e6, 1);
    cr_assert_eq(link->shaper_burst_bytes, 5000000);
    cr_assert_float_eq(link->reorder_ratio, 0.03, 1e-12);
    cr_assert_eq(link->reorder_extra_ns, 5 * TL_NS_PER_MS);
    cr_assert_float_eq(link->burst_enter_ratio, 0.0001, 1e-12);
    cr_assert_float_eq(link->burst_leave_ratio, 0.3, 1e-12);
    cr_assert_eq(link->outage_count, 2);
    cr_assert_eq(link->outage[1].to_ns, 12500 * TL_NS_PER_MS);
    cr_assert_eq(config.link[TL_LAB_UP].shaper_bps, 0);
}

Test(lab_config, settings_of_the_whole_lab)
{
    struct tl_lab_config config =
        parsed("wan-mtu=1300 icmp=off family=both carrier=packet wscale=off far.sack=0");
    cr_assert_eq(config.wan_mtu, 1300);
    cr_assert(config.icmp_off && !config.plain);
    cr_assert_eq(config.family, TL_LAB_BOTH);
    cr_assert_eq(config.carrier, TL_LAB_CARRIER_PACKET);
    cr_assert(!config.host[TL_LAB_NEAR].window_scaling && !config.host[TL_LAB_FAR].window_scaling);
    cr_assert(config.host[TL_LAB_NEAR].sack && !config.host[TL_LAB_FAR].sack);
}

Test(lab_config, queue_defaults_to_one_bdp_of_at_least_32_packets)
{
    struct tl_lab_config config = parsed("down.rate=100M up.rate=1M delay=10ms");
    cr_assert_eq(tl_lab_queue_bytes(&config, TL_LAB_DOWN), 250000); /* 100e6 * 20 ms / 8 */
    cr_assert_eq(tl_lab_queue_bytes(&config, TL_LAB_UP), 32 * 1500);
    config = parsed("rate=100M delay=10ms queue=20kB");
    cr_assert_eq(tl_lab_queue_bytes(&config, TL_LAB_DOWN), 20000);
}

Test(lab_config, refuses_with_a_sentence_that_names_the_pair)
{
    refused("speed=10M", TL_UNKNOWN, "\"speed\"");
    refused("rate", TL_SYNTAX, "KEY=VALUE");
    refused("rate=", TL_SYNTAX, "KEY=VALUE");
    refused("=5", TL_SYNTAX, "KEY=VALUE");
    refused("rate=banana", TL_SYNTAX, "rate");
    refused("near.rate=10M", TL_UNKNOWN, "per direction");
    refused("down.rmem=10M", TL_UNKNOWN, "per host");
    refused("up.family=4", TL_UNKNOWN, "whole lab");
    refused("loss=1.5", TL_RANGE, "between 0 and 1");
    refused("loss=1%x", TL_SYNTAX, "share");
    refused("policer=40M", TL_SYNTAX, "RATE/BURST");
    refused("outage=5s", TL_SYNTAX, "FROM-TO");
    refused("outage=5s-4s", TL_RANGE, "outage");
    refused("burst-loss=0.1/0", TL_RANGE, "left");
    refused("mtu=100", TL_RANGE, "MTU");
    refused("family=6 wan-mtu=1279", TL_RANGE, "1280");
    refused("maxlen=70000", TL_RANGE, "IP packet");
    refused("cc=../../etc", TL_RANGE, "congestion");
    refused("cc=averyveryverylongname", TL_RANGE, "congestion");
    refused("plain=on delay=10ms", TL_RANGE, "plain");
    refused("plain=on icmp=off", TL_RANGE, "plain");
    refused("near.cpu=0.5%", TL_RANGE, "1 ms");
    refused("near.disk=20MB/s", TL_SYNTAX, "write:RATE");
    refused("near.disk=write:fast", TL_SYNTAX, "near.disk");
    refused("near.disk=write:20MB/s,", TL_SYNTAX, "write:RATE");
    refused("near.disk=read:1k", TL_RANGE, "1 MB/s");
    refused("seed=-1", TL_SYNTAX, "whole number");
    refused("delay=20s", TL_RANGE, "10 s");
}

Test(lab_config, disks_have_rates)
{
    struct tl_lab_config config;
    tl_lab_config_init(&config);
    cr_expect_not(config.host[TL_LAB_NEAR].disk);
    cr_assert_eq(
        tl_lab_config_parse("near.disk=read:40MB/s,write:20MB/s far.disk=on", &config, NULL),
        TL_OK);
    cr_expect(config.host[TL_LAB_NEAR].disk && config.host[TL_LAB_FAR].disk);
    cr_expect_eq(config.host[TL_LAB_NEAR].disk_read_bps, 320e6);
    cr_expect_eq(config.host[TL_LAB_NEAR].disk_write_bps, 160e6);
    cr_expect_eq(config.host[TL_LAB_FAR].disk_write_bps, 0);
}

Test(lab_config, overlong_pair_is_refused)
{
    char spec[400];
    memset(spec, 'a', sizeof spec - 1);
    spec[sizeof spec - 1] = '\0';
    refused(spec, TL_RANGE, "too long");
}

Test(lab_config, links_have_numbers_and_names)
{
    struct tl_lab_config config =
        parsed("routers=4 link-at=3 rate=50M lan.delay=1ms link2.down.loss=1% far-lan.up.rate=20M");
    cr_assert_eq(tl_lab_link_count(&config), 5);
    cr_assert_eq(tl_lab_main_link(&config), 2);
    cr_assert_eq(tl_lab_link_at(&config, 2, TL_LAB_UP, NULL), &config.link[TL_LAB_UP]);
    cr_assert_eq(tl_lab_link_at(&config, 0, TL_LAB_UP, NULL)->delay_ns, TL_NS_PER_MS);
    cr_assert_float_eq(config.beside[1][TL_LAB_DOWN].loss_ratio, 0.01, 1e-12);
    cr_assert_float_eq(config.beside[1][TL_LAB_UP].loss_ratio, 0, 1e-12);
    cr_assert_float_eq(config.beside[4][TL_LAB_UP].rate_bps, 20e6, 1);
    cr_assert_null(tl_lab_link_at(&config, 3, TL_LAB_UP, NULL), "nothing was set there");
}

Test(lab_config, far_lan_is_the_last_link)
{
    struct tl_lab_config config = parsed("link-at=far-lan routers=3");
    cr_assert_eq(tl_lab_main_link(&config), 3);
}

Test(lab_config, queue_is_one_bdp_of_all_delays)
{
    struct tl_lab_config config = parsed("rate=80M delay=10ms lan.delay=5ms far-lan.up.delay=20ms");
    cr_assert_eq(tl_lab_rtt_ns(&config, TL_LAB_IPV4), 50 * TL_NS_PER_MS);
    cr_assert_eq(tl_lab_queue_bytes(&config, TL_LAB_DOWN), 500000);
}

Test(lab_config, ipv6_starts_from_the_main_link)
{
    struct tl_lab_config config = parsed("v6.down.rate=20M family=both rate=100M delay=5ms");
    cr_assert(config.v6_apart);
    cr_assert_float_eq(config.v6[TL_LAB_DOWN].rate_bps, 20e6, 1);
    cr_assert_float_eq(config.v6[TL_LAB_UP].rate_bps, 100e6, 1);
    cr_assert_eq(config.v6[TL_LAB_UP].delay_ns, 5 * TL_NS_PER_MS);
    cr_assert_eq(tl_lab_v6_queue_bytes(&config, TL_LAB_UP), 125000);
}

Test(lab_config, flows_cross_traffic_and_middleboxes)
{
    struct tl_lab_config config =
        parsed("rate=400M down.flow-policer=20M/50kB up.port-loss=1/4:5% cross=60M "
               "cross-burst=300ms/200ms up.cross-flows=3 mss=900 down.strip=wscale,sack dscp=8 "
               "delay-step=5s:+30ms collision=10%");
    const struct tl_lab_link_config *up = &config.link[TL_LAB_UP];
    const struct tl_lab_link_config *down = &config.link[TL_LAB_DOWN];
    cr_assert_float_eq(down->flow_policer_bps, 20e6, 1);
    cr_assert_eq(down->flow_policer_burst_bytes, 50000);
    cr_assert(up->member == TL_LAB_MEMBER_HASH && up->member_count == 4);
    cr_assert_float_eq(up->member_loss_ratio, 0.05, 1e-12);
    cr_assert_float_eq(up->cross_bps, 60e6, 1);
    cr_assert_eq(down->cross_off_ns, 200 * TL_NS_PER_MS);
    cr_assert_eq(up->cross_flows, 3);
    cr_assert_eq(down->mss_max_bytes, 900);
    cr_assert_eq(down->strip, TL_LAB_STRIP_WSCALE | TL_LAB_STRIP_SACK);
    cr_assert(down->dscp_set && down->dscp == 8);
    cr_assert_eq(up->delay_step[0].extra_ns, 30 * TL_NS_PER_MS);
    cr_assert_float_eq(up->collision_ratio, 0.1, 1e-12);
}

Test(lab_config, a_half_duplex_link_has_a_rate_and_nothing_else_on_it)
{
    refused("half-duplex=on", TL_RANGE, "rate");
    refused("rate=10M half-duplex=on cross=5M", TL_RANGE, "cross traffic");
}

/* The last link's place is known by the number of routers, which is looked at before. */
Test(lab_config, the_last_link_of_too_many_routers_is_refused)
{
    refused("routers=8 far-lan.dropout=9/0", TL_RANGE, "2 to 6");
    refused("far-lan.rate=1M routers=2000000000", TL_RANGE, "2 to 6");
}

Test(lab_config, what_links_cannot_be_is_refused)
{
    refused("wan.rate=10M", TL_RANGE, "main one");
    refused("routers=7", TL_RANGE, "2 to 6");
    refused("link-at=5", TL_RANGE, "link-at");
    refused("link-at=0", TL_SYNTAX, "far-lan");
    refused("link6.delay=1ms", TL_RANGE, "no link 6");
    refused("lan.rmem=1MB", TL_UNKNOWN, "per host");
    refused("v6.rate=20M", TL_RANGE, "family");
    refused("link9.delay=1ms", TL_UNKNOWN, "link9");
    refused("cross=10M", TL_RANGE, "rate");
    refused("rate=10M cross-burst=1s/1s", TL_RANGE, "cross=RATE");
    refused("port-loss=5%", TL_SYNTAX, "odd:5%");
    refused("port-loss=1/1:5%", TL_RANGE, "members");
    refused("port-loss=third:5%", TL_SYNTAX, "third");
    refused("strip=window", TL_SYNTAX, "wscale");
    refused("mss=40", TL_RANGE, "MSS");
    refused("dscp=64", TL_RANGE, "DSCP");
    refused("delay-step=5s:30ms", TL_SYNTAX, "+DELAY");
    refused("delay=10ms delay-step=5s:-30ms", TL_RANGE, "delay");
    refused("icmp=maybe", TL_SYNTAX, "silent");
    refused("collision=10%", TL_RANGE, "rate");
    refused("plain=on split=on", TL_RANGE, "plain");
    refused("plain=on lan.delay=1ms", TL_RANGE, "plain");
    refused("split-port=70000", TL_RANGE, "split-port");
    refused("radio=40M-4M", TL_RANGE, "lower to a higher");
    refused("radio=4M", TL_SYNTAX, "LOW-HIGH");
    refused("rate=10M radio=4M-40M", TL_RANGE, "one of rate");
    refused("trace=x rate=1M", TL_RANGE, "one of rate");
    refused("wifi=200M", TL_SYNTAX, "OTHER-STATIONS");
    refused("wifi=200M/3", TL_SYNTAX, "OTHER-STATIONS");
    refused("wifi=200M/3/95%", TL_RANGE, "90 %");
    refused("wifi=200M/40/5%", TL_RANGE, "32 other");
    refused("aqm=sfq rate=10M", TL_SYNTAX, "fq-codel");
    refused("aqm=codel,mark rate=10M", TL_SYNTAX, "fq-codel");
    refused("aqm=codel", TL_RANGE, "rate");
    refused("rate=10M aqm=pie cross=5M", TL_RANGE, "others=");
    refused("grants=5ms-2ms", TL_RANGE, "grants");
    refused("wander=5ms/0", TL_RANGE, "wander");
    refused("dropout=2s/3s", TL_RANGE, "dropouts");
    refused("radio=4M-40M fades=2s/3s", TL_RANGE, "fades");
    refused("rate=10M others=65", TL_RANGE, "64");
    refused("rate=10M others=2 others-burst=1s/0", TL_RANGE, "others");
    refused("rate=10M link-at=lan others=2", TL_RANGE, "two routers");
    refused("rate=10M lan.others=2", TL_RANGE, "main link");
    refused("clamp=100", TL_RANGE, "clamp");
}

Test(lab_config, stock_lowers_what_is_above_it)
{
    struct tl_lab_config config = parsed("near.rmem=64KiB stock=on far.wmem=128KiB cc=reno");
    for (int h = 0; h < TL_LAB_HOST_COUNT; h++)
        cr_assert(config.host[h].unprivileged);
    cr_assert_eq(config.host[TL_LAB_NEAR].rmem_max_bytes, 64 << 10, "what the path is about");
    cr_assert_eq(config.host[TL_LAB_FAR].rmem_max_bytes, 6 << 20);
    cr_assert_eq(config.host[TL_LAB_NEAR].wmem_max_bytes, 4 << 20);
    cr_assert_eq(config.host[TL_LAB_FAR].wmem_max_bytes, 128 << 10);
    config = parsed("near.stock=on");
    cr_assert(config.host[TL_LAB_NEAR].unprivileged && !config.host[TL_LAB_FAR].unprivileged);
    config = parsed("plain=on near.cpu=50% stock=on");
    cr_assert(config.host[TL_LAB_NEAR].unprivileged, "every scenario can take it");
}

Test(lab_config, pppoe_is_one_word)
{
    struct tl_lab_config config = parsed("rate=80M pppoe=on");
    cr_assert_eq(config.wan_mtu, 1492);
    cr_assert(config.silent && config.icmp_off);
    cr_assert_eq(config.link[TL_LAB_UP].clamp_bytes, 1492);
    cr_assert_eq(config.link[TL_LAB_DOWN].clamp_bytes, 1492);
}

Test(lab_config, links_as_they_are)
{
    struct tl_lab_config config =
        parsed("down.radio=4M-40M up.leo=5M-20M grants=2ms-10ms down.wander=3ms/30ms scatter=1ms "
               "dropout=8s/1.6s down.aqm=fq-codel,ecn near.ecn=on up.others=3 "
               "up.others-burst=2s/1s");
    const struct tl_lab_link_config *up = &config.link[TL_LAB_UP];
    const struct tl_lab_link_config *down = &config.link[TL_LAB_DOWN];
    cr_assert(down->service == TL_LAB_SERVICE_RADIO && up->service == TL_LAB_SERVICE_LEO);
    cr_assert_float_eq(down->low_bps, 4e6, 1);
    cr_assert_float_eq(up->high_bps, 20e6, 1);
    cr_assert_eq(down->handover_every_ns, 25 * TL_NS_PER_S);
    cr_assert_eq(up->grant_most_ns, 10 * TL_NS_PER_MS);
    cr_assert(down->wander_time_ns == 30 * TL_NS_PER_MS && up->wander_ns == 0);
    cr_assert_eq(up->dropout_length_ns, 1600 * TL_NS_PER_MS);
    cr_assert(down->aqm == TL_LAB_AQM_FQ_CODEL && down->aqm_ecn && up->aqm == TL_LAB_AQM_NONE);
    cr_assert(config.host[TL_LAB_NEAR].ecn && !config.host[TL_LAB_FAR].ecn);
    cr_assert(up->others == 3 && up->others_on_ns == 2 * TL_NS_PER_S);
    config = parsed("wifi=200M/3/30% delay=10ms");
    cr_assert_eq(config.link[TL_LAB_UP].air_others, 3);
    cr_assert_float_eq(config.link[TL_LAB_UP].air_fail_ratio, 0.3, 1e-12);
    cr_assert_eq(tl_lab_queue_bytes(&config, TL_LAB_UP), 500000, "200 Mb/s for 20 ms");
    config = parsed("trace=some/where.down delay=20ms");
    cr_assert_str_eq(config.link[TL_LAB_DOWN].trace, "some/where.down");
    cr_assert_eq(tl_lab_queue_bytes(&config, TL_LAB_DOWN), 256 * 1500);
}
