/* Commands in a report: the one that measures the same again, those of remedies. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "fixtures.h"
#include "tightlink/base/far.h"
#include "tightlink/present/report.h"

struct way_again {
    const char *name, *kind, *far;
    int port, only;
    bool keyed;
    const char *runs; /* NULL: there is no such command */
    const char *link;
    bool login;
};

static void set_target(struct tl_run *run, const struct way_again *way)
{
    snprintf(run->target_name, sizeof run->target_name, "%s", way->name);
    snprintf(run->target_kind, sizeof run->target_kind, "%s", way->kind);
    snprintf(run->target_far, sizeof run->target_far, "%s", way->far);
    run->target_port = way->port;
    run->target_only = way->only;
    run->target_keyed = way->keyed;
    run->target_login = way->login;
    snprintf(run->target_link, sizeof run->target_link, "%s", way->link ? way->link : "");
}

/* Port, family, key and kind: what is not the usual stands in the command, quoted where a shell
 * would take it for more than a name; what no shell may be given stands in none. */
static const struct way_again ways[] = {
    {"srv-b", "tightlink", "", 6000, 6, false, "tightlink run srv-b -6 --port 6000 --direction",
     NULL, false},
    {"srv-b", "tightlink", "", 0, 0, true, "tightlink run srv-b --key KEYFILE --direction", NULL,
     false},
    {"iperf3://srv-b", "iperf3", "", 0, 0, false, "tightlink run 'iperf3://srv-b' --direction",
     NULL, false},
    {"iperf3://[2001:db8::1]:5209", "iperf3", "", 5209, 0, false,
     "tightlink run 'iperf3://[2001:db8::1]:5209' --direction", NULL, false},
    {"https://srv-b/big?x=1&y=2", "http", "", 0, 4, false,
     "tightlink run 'https://srv-b/big?x=1&y=2' -4 --direction", NULL, false},
    {"satellite-64k", "demo", "iperf3", 0, 0, false,
     "tightlink demo satellite-64k --far iperf3 --direction", NULL, false},
    {"https://srv-b/'; rm -r x", "http", "", 0, 0, false, NULL, NULL, false},
    {"srv-b/x", "tightlink", "", 0, 0, false, NULL, NULL, false},
    {"emulated path", "demo", "", 0, 0, false, NULL, NULL, false},
    {"emulated path", "demo", "", 0, 0, false,
     "tightlink demo --link 'rate=50M down.burst-loss=0.01%/30%' --direction",
     "rate=50M down.burst-loss=0.01%/30%", false},
    {"policer", "demo", "nuttcp", 0, 6, false,
     "tightlink demo policer -6 --link 'delay=30ms' --far nuttcp --direction", "delay=30ms", false},
    {"policer", "demo", "", 0, 0, false, NULL, "rate=5M'; rm -r x; '", false},
    {"policer", "demo", "", 0, 0, false, NULL, "trace=path-0a1b2c3d4e5f", false},
    {"iperf3://srv-b", "iperf3", "", 0, 0, false,
     "tightlink run 'iperf3://srv-b' --user USER --password-file PASSWORDFILE --public-key "
     "PUBLICKEYFILE --direction",
     NULL, true},
};

Test(commands, the_command_goes_the_same_way_again)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct fixture fixture;
        struct tl_text_style style = {120, false, false};
        struct tl_buf out = TL_BUF_INIT;
        cr_assert(fixture_make("inconclusive", &fixture));
        struct tl_run *run = &fixture.run;
        set_target(run, &ways[i]);
        cr_assert(tl_report_text(run, fixture.facts, &fixture.findings, &style, &out) == TL_OK);
        const char *text = tl_buf_text(&out);
        cr_expect(ways[i].runs ? strstr(text, ways[i].runs) != NULL
                               : !strstr(text, "tightlink run ") && !strstr(text, "tightlink demo"),
                  "%zu: %s", i, text);
        cr_expect(ways[i].keyed == (strstr(text, "For KEYFILE write the file of the key") != NULL),
                  "%zu: %s", i, text);
        cr_expect(ways[i].login ==
                      (strstr(text, "For USER, PASSWORDFILE and PUBLICKEYFILE") != NULL),
                  "%zu: %s", i, text);
        tl_buf_finish(&out);
        fixture_finish(&fixture);
    }
}

/* What a stranger's server cannot tell, a responder there would: who may start one is told how, and
 * who fetches from a server of the public what else tells. */
Test(commands, what_only_a_responder_tells_is_asked_of_one)
{
    static const struct way_again cases[] = {
        {"iperf3://srv-b:5209", "iperf3", "", 5209, 6, false,
         "Start it (tightlink serve), and then here:\n             tightlink run srv-b -6 "
         "--direction",
         NULL, false},
        {"srv-b", "nuttcp", "", 0, 0, false, "tightlink run srv-b --direction", NULL, false},
        {"https://srv-b/big", "http", "", 0, 0, false,
         "tells whether it lies there or on this side.\n             tightlink run "
         "'https://srv-b/big'",
         NULL, false},
        {"sndbuf", "demo", "nuttcp", 0, 0, false,
         "would tell:\n             tightlink demo sndbuf --direction", NULL, false},
        {"emulated path", "demo", "http", 0, 0, false,
         "would tell:\n             tightlink demo --link 'rate=50M' --direction", "rate=50M",
         false},
        {"emulated path", "demo", "http", 0, 0, false, "responder there would tell.\n", NULL,
         false},
        {"srv;b", "nuttcp", "", 0, 0, false, "and then here: tightlink run HOST.\n", NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        struct tl_text_style style = {120, false, false};
        struct tl_buf out = TL_BUF_INIT;
        cr_assert(fixture_make("inconclusive", &fixture));
        struct tl_verdict *verdict = &fixture.findings.verdict;
        verdict->undecided = true;
        cr_assert_gt(verdict->deciding_count, 0);
        for (size_t f = 0; f < verdict->deciding_count; f++)
            tl_facts_set_unknown(fixture.facts, verdict->deciding[f], "it cannot: " TL_FAR_WOULD);
        set_target(&fixture.run, &cases[i]);
        cr_assert(tl_report_text(&fixture.run, fixture.facts, &fixture.findings, &style, &out) ==
                  TL_OK);
        cr_expect(strstr(tl_buf_text(&out), cases[i].runs), "%zu: %s", i, tl_buf_text(&out));
        tl_buf_finish(&out);
        fixture_finish(&fixture);
    }
}

static void expect_through_proxy(struct fixture *fixture, const char *says)
{
    struct tl_text_style style = {120, false, false};
    struct tl_buf out = TL_BUF_INIT;
    snprintf(fixture->run.target_proxy, sizeof fixture->run.target_proxy, "cache.example");
    cr_assert(tl_report_text(&fixture->run, fixture->facts, &fixture->findings, &style, &out) ==
              TL_OK);
    cr_expect(strstr(tl_buf_text(&out), says), "%s", tl_buf_text(&out));
    tl_buf_finish(&out);
}

/* Behind a proxy nothing was measured: what would be said of the far end is said of the proxy. */
Test(commands, through_a_proxy_the_places_are_those_on_this_side_of_it)
{
    static const struct {
        const char *segment, *cause, *says;
    } cases[] = {{"far-host", "send-buffer", "The proxy cache.example "},
                 {"path", "capacity", "to the proxy cache.example"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        cr_assert(fixture_make("limited", &fixture));
        fixture.findings.verdict.segment = (char *)cases[i].segment;
        fixture.findings.verdict.cause = (char *)cases[i].cause;
        expect_through_proxy(&fixture, cases[i].says);
        fixture_finish(&fixture);
    }
}

Test(commands, what_lies_behind_a_proxy_is_asked_past_it)
{
    static const struct way_again way = {.name = "https://srv-b/big", .kind = "http", .far = ""};
    struct fixture fixture;
    cr_assert(fixture_make("inconclusive", &fixture));
    struct tl_verdict *verdict = &fixture.findings.verdict;
    verdict->undecided = true;
    for (size_t f = 0; f < verdict->deciding_count; f++)
        tl_facts_set_unknown(fixture.facts, verdict->deciding[f], "it cannot: " TL_FAR_WOULD);
    set_target(&fixture.run, &way);
    expect_through_proxy(&fixture, "no_proxy='*' tightlink run 'https://srv-b/big'");
    fixture_finish(&fixture);
}

/* What the far end did not tell stands as words in a command, which says so and where they are. */
Test(commands, a_command_that_cannot_be_run_says_what_it_lacks)
{
    static const struct {
        const char *os, *does, *says;
    } cases[] = {
        {"linux", "ip route replace DESTINATION via GATEWAY dev IFACE congctl bbr",
         "To be filled in first: DESTINATION is the address of this PC as srv-b.example.net sees "
         "it: ss -tn lists it there while the transfer runs; GATEWAY stands behind \"via\" in what "
         "ip route get prints there for the address of this PC (where it prints none, leave \"via "
         "GATEWAY\" out); IFACE stands behind \"dev\""},
        {"linux", "ethtool -K IFACE tso on gso on", "To be filled in first: IFACE stands behind"},
        {"linux", "ethtool -K eth0 tso on gso on", NULL},
        {"", "Check that GRO is on (ethtool -k IFACE).", "IFACE stands behind \"dev\" in what"},
        {"", "Check that GRO is on (ethtool -k eth0).", NULL},
        {"linux", "sysctl -w net.IFACES=1", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        cr_assert(fixture_make("limited", &fixture));
        struct tl_remedy remedy = {
            .where = (char *)"far-host", .os = (char *)cases[i].os, .does = (char *)cases[i].does};
        struct tl_buf out = TL_BUF_INIT;
        tl_report_to_fill_in(&fixture.run, &remedy, &out);
        cr_expect(cases[i].says ? strstr(tl_buf_text(&out), cases[i].says) != NULL : !out.len,
                  "%zu: %s", i, tl_buf_text(&out));
        tl_buf_finish(&out);
        fixture_finish(&fixture);
    }
}

/* Who is asked needs what is asked, and where a command is to be run. */
Test(commands, what_is_sent_to_somebody_says_where_or_is_their_sentence_alone)
{
    static const struct {
        const char *where, *needs, *does, *says;
    } cases[] = {
        {"near-host", "root", "sysctl -w a=1", "sysctl -w a=1"},
        {"far-host", "root", "sysctl -w a=1",
         "Please run this on srv-b.example.net, as its administrator (root):\nsysctl -w a=1"},
        {"path", "network-team",
         "Ask the network team: \"Which \"queue\" drops?\" Until then wait.",
         "Which \"queue\" drops?"},
        {"path", "provider", "Ask the provider for more.", "Ask the provider for more."},
        {"far-host", "user", "Close what runs at the far end.",
         "Close what runs at srv-b.example.net."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        cr_assert(fixture_make("limited", &fixture));
        struct tl_remedy remedy = {.where = (char *)cases[i].where,
                                   .os = (char *)"",
                                   .needs = (char *)cases[i].needs,
                                   .does = (char *)cases[i].does};
        struct tl_buf out = TL_BUF_INIT;
        tl_report_request(&fixture.run, &remedy, &out);
        cr_expect_str_eq(tl_buf_text(&out), cases[i].says);
        tl_buf_finish(&out);
        fixture_finish(&fixture);
    }
}

/* A rule's sentence says HOST; whoever reads it has one. */
Test(commands, a_command_in_a_sentence_has_the_hosts_name)
{
    struct fixture fixture;
    struct tl_text_style style = {200, false, false};
    struct tl_buf out = TL_BUF_INIT;
    cr_assert(fixture_make("limited", &fixture));
    char **why = &fixture.findings.findings[0].remedies[0].why, *kept = *why;
    char says[] = "The far end tells: tightlink run HOST --for 16h writes it down.";
    *why = says;
    cr_assert(tl_report_text(&fixture.run, fixture.facts, &fixture.findings, &style, &out) ==
              TL_OK);
    *why = kept; /* the fixtures share it */
    cr_expect(strstr(tl_buf_text(&out), "srv-b.example.net tells: tightlink run srv-b.example.net "
                                        "--for 16h writes it down."),
              "%s", tl_buf_text(&out));
    tl_buf_finish(&out);
    fixture_finish(&fixture);
}
