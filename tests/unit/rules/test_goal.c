/* Goals line by line: pass, fail, and cannot tell with what would tell. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../key_of.h"
#include "tightlink/rules/goal.h"

static struct tl_run *run;
static struct tl_facts *facts;
static struct tl_goal_line lines[TL_GOAL_LINES_MAX];
static size_t count;

static void set_up(void)
{
    run = calloc(1, sizeof *run);
    facts = tl_facts_create();
    cr_assert(run && facts);
    run->download = true;
    run->goal.bps = run->goal.rtt_ns = NAN;
}

static void tear_down(void)
{
    tl_facts_destroy(facts);
    free(run);
}

TestSuite(goal, .init = set_up, .fini = tear_down);

static void set(const char *id, double value)
{
    tl_facts_set_number(facts, key_of(id), value, "");
}

/* 100 Mb/s for 8 s in segments of 1000 bytes: 100,000 of them. */
static void set_stream(double lost)
{
    set("download.goodput_bps", 100e6);
    set("download.steady_ns", 8e9);
    set("download.mss_bytes", 1000);
    set("download.retrans_count", lost);
}

static const struct tl_goal_line *line(const char *name)
{
    count = tl_goal_judge(run, facts, TL_DOWNLOAD, lines);
    for (size_t i = 0; i < count; i++)
        if (strcmp(lines[i].name, name) == 0)
            return &lines[i];
    cr_assert_fail("there is no line %s", name);
    abort();
}

#define EXPECT_ANSWER(name, expected, part)                                                        \
    do {                                                                                           \
        const struct tl_goal_line *l = line(name);                                                 \
        cr_expect_eq(l->answer, expected, "%s: %s", tl_goal_answer_name(l->answer), l->text);      \
        cr_expect(strstr(l->text, part), "\"%s\" is not in \"%s\"", part, l->text);                \
    } while (0)

Test(goal, without_one_there_is_no_line)
{
    set_stream(0);
    cr_expect_eq(tl_goal_judge(run, facts, TL_DOWNLOAD, lines), 0);
    cr_expect_eq(tl_goal_outcome(run, facts), TL_GOAL_PASS);
}

Test(goal, a_direction_not_asked_about_and_an_unusable_run_have_no_line)
{
    run->goal.bps = 1e6;
    cr_expect_eq(tl_goal_judge(run, facts, TL_UPLOAD, lines), 0);
    run->quality = TL_QUALITY_INVALID;
    cr_expect_eq(tl_goal_judge(run, facts, TL_DOWNLOAD, lines), 0);
}

Test(goal, a_rate)
{
    run->goal.bps = 90e6;
    EXPECT_ANSWER("rate", TL_GOAL_CANNOT_TELL, "stage stream");
    set_stream(0);
    EXPECT_ANSWER("rate", TL_GOAL_PASS, "90 Mb/s wanted, 100 Mb/s measured");
    run->goal.bps = 110e6;
    EXPECT_ANSWER("rate", TL_GOAL_FAIL, "only 100 Mb/s");
    cr_expect_eq(tl_goal_outcome(run, facts), TL_GOAL_FAIL);
    tl_facts_set_range(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 100e6, 80e6, 115e6, "");
    EXPECT_ANSWER("rate", TL_GOAL_CANNOT_TELL, "a longer test would tell");
}

/* Zero losses in n packets say p < 3/n and no more. */
Test(goal, no_loss_in_a_short_test_proves_little)
{
    set_stream(0);
    run->goal.loss_ratio = 1e-7;
    EXPECT_ANSWER("loss", TL_GOAL_CANNOT_TELL, "needs 3e+07 packets");
    cr_expect_float_eq(line("loss")->high, 3e-5, 1e-9);
    cr_expect_eq(tl_goal_outcome(run, facts), TL_GOAL_CANNOT_TELL);
    run->goal.loss_ratio = 1e-4;
    EXPECT_ANSWER("loss", TL_GOAL_PASS, "0 of 100000");
    cr_expect_eq(tl_goal_outcome(run, facts), TL_GOAL_PASS);
}

Test(goal, losses_fail_only_where_the_load_did_not_make_them)
{
    set_stream(100);
    run->goal.loss_ratio = 1e-4;
    EXPECT_ANSWER("loss", TL_GOAL_CANNOT_TELL, "the stages udp and paced");
    set("download.udp_loss_below_knee_ratio", 1e-3);
    EXPECT_ANSWER("loss", TL_GOAL_FAIL, "below the load");
}

Test(goal, a_round_trip)
{
    run->goal.rtt_max_ns = 100e6;
    EXPECT_ANSWER("rtt", TL_GOAL_CANNOT_TELL, "stage path");
    set("path.rtt_idle_ns", 42e6);
    EXPECT_ANSWER("rtt", TL_GOAL_PASS, "42 ms");
    set("path.rtt_idle_ns", 100e6);
    EXPECT_ANSWER("rtt", TL_GOAL_FAIL, "100 ms");
}

Test(goal, a_packet_size)
{
    run->goal.mtu_bytes = 9000;
    EXPECT_ANSWER("mtu", TL_GOAL_CANNOT_TELL, "stage mtu");
    set("path.mtu_bytes", 9000); /* the kernel's belief proves nothing */
    EXPECT_ANSWER("mtu", TL_GOAL_CANNOT_TELL, "stage mtu");
    set("path.mtu_bytes", 1500);
    EXPECT_ANSWER("mtu", TL_GOAL_FAIL, "1500");
    set("download.path_mtu_bytes", 1500);
    set("download.mtu_tried_bytes", 1500);
    EXPECT_ANSWER("mtu", TL_GOAL_CANNOT_TELL, "not tried");
    set("download.mtu_tried_bytes", 9000);
    EXPECT_ANSWER("mtu", TL_GOAL_FAIL, "no packet above 1500");
    set("download.path_mtu_bytes", 9000);
    EXPECT_ANSWER("mtu", TL_GOAL_PASS, "9000");
}

/* 900 Mb/s over 80 ms are 9 MB in flight: 8879 times 0.7 segments of 1448, so 78.8 million
 * packets from loss to loss. */
Test(goal, a_rate_over_a_longer_path)
{
    cr_expect_float_eq(tl_goal_loss_budget(900e6, 80e6, 1448) / 1e6, 78.84, 0.01);
    set_stream(0);
    set("download.mss_bytes", 1448);
    set("download.goodput_bps", 940e6);
    run->goal.bps = 900e6;
    run->goal.rtt_ns = 80e6;
    EXPECT_ANSWER("loss-budget", TL_GOAL_CANNOT_TELL, "7.88e+07 packets from one loss");
    EXPECT_ANSWER("buffers", TL_GOAL_CANNOT_TELL, "stage hosts");
    cr_expect_eq(tl_goal_outcome(run, facts), TL_GOAL_PASS, "a short test cannot prove a budget");
    set("near.tcp_rmem_max_bytes", 6291456);
    EXPECT_ANSWER("buffers", TL_GOAL_FAIL, "17.2 MiB");
    cr_expect_eq(tl_goal_outcome(run, facts), TL_GOAL_FAIL);
    set("near.tcp_rmem_max_bytes", 64e6);
    set("far.tcp_wmem_max_bytes", 64e6);
    EXPECT_ANSWER("buffers", TL_GOAL_PASS, "17.2 MiB");
}
