/* What a remedy's text may change, and that it is set, read back and set back. The kernel is a
 * folder of files here; test_undo.c has the real one, in a namespace. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "setting.h"
#include "tightlink/fix/fix.h"

static char root[64];

static void put(const char *key, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/net/%s", root, key);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect_file(const char *key, const char *text)
{
    char path[256], now[256] = "";
    snprintf(path, sizeof path, "%s/net/%s", root, key);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    cr_expect_not_null(fgets(now, sizeof now, file));
    fclose(file);
    cr_expect_str_eq(now, text);
}

static void set_up(void)
{
    char path[128];
    strcpy(root, "/tmp/tl-fix-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/net/%s", root, (const char *[]){"", "ipv4", "core"}[i]);
        cr_assert_eq(mkdir(path, 0700), 0);
    }
    put("ipv4/tcp_rmem", "4096\t131072\t524288\n");
    put("ipv4/tcp_sack", "0\n");
    put("core/rmem_max", "212992\n");
}

static void tear_down(void)
{
    static const char *const names[] = {"net/ipv4/tcp_rmem",
                                        "net/ipv4/tcp_sack",
                                        "net/core/rmem_max",
                                        "net/ipv4",
                                        "net/core",
                                        "net",
                                        ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", root, names[i]);
        if (unlink(path) != 0)
            rmdir(path);
    }
}

TestSuite(fix, .init = set_up, .fini = tear_down);

static enum tl_status parse(const char *text, struct tl_fix *fix)
{
    struct tl_error error;
    *fix = (struct tl_fix){.root = root};
    return tl_fix_parse(text, fix, &error);
}

Test(fix, takes_the_settings_of_a_remedy)
{
    struct tl_fix fix;
    cr_assert_eq(parse("sysctl -w net.ipv4.tcp_rmem=\"4096 131072 8388608\"", &fix), TL_OK);
    cr_expect_eq(fix.count, 1);
    cr_expect_str_eq(fix.settings[0].key, "net.ipv4.tcp_rmem");
    cr_expect_str_eq(fix.settings[0].after, "4096 131072 8388608");
    cr_assert_eq(parse("sysctl -w net.core.rmem_max=8388608 net.core.rmem_default=1048576", &fix),
                 TL_OK);
    cr_expect_eq(fix.count, 2);
    cr_assert_eq(parse("sysctl -w net.ipv4.tcp_congestion_control=bbr", &fix), TL_OK);
}

Test(fix, runs_nothing_that_a_hostile_rule_writes)
{
    static const char *const texts[] = {
        "",
        "sysctl -w ",
        "sysctl",
        "rm -rf /",
        "sysctl -w net.ipv4.tcp_sack=1; id",
        "sysctl -w net.ipv4.tcp_sack=1 && id",
        "sysctl -w net.ipv4.tcp_sack=1 | sh",
        "sysctl -w net.ipv4.tcp_sack=$(id)",
        "sysctl -w net.ipv4.tcp_sack=`id`",
        "sysctl -w net.ipv4.tcp_sack=1\nid",
        " sysctl -w net.ipv4.tcp_sack=1",
        "sysctl  -w net.ipv4.tcp_sack=1",
        "sysctl -p /tmp/x",
        "sysctl -w kernel.core_pattern=|/x",
        "sysctl -w net.ipv4.ip_forward=1",
        "sysctl -w net/ipv4/tcp_sack=1",
        "sysctl -w net.ipv4.tcp_sack/../../kernel/x=1",
        "sysctl -w ../kernel.x=1",
        "sysctl -w net.ipv4.tcp_rmem=\"1 2",
        "sysctl -w net.ipv4.tcp_rmem=\"1 2 3\"x",
        "sysctl -w net.ipv4.tcp_congestion_control=evil_module",
        "sysctl -w net.ipv4.tcp_congestion_control=",
        "sysctl -w net.ipv4.tcp_sack=",
        "sysctl -w net.ipv4.tcp_sack=1 net.ipv4.tcp_sack=1",
        "ethtool -K eth0 gro on",
        "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 99999999999999999999\"",
        "sysctl -w net.ipv4.tcp_rmem=\"-1 131072 8388608\"",
        "sysctl -w net.ipv4.tcp_rmem=\"4096 131072\"",
        "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 8388608 1\"",
        "sysctl -w net.ipv4.tcp_rmem=\"8388608 131072 4096\"",
        "sysctl -w net.ipv4.tcp_sack=0",
        "sysctl -w net.ipv4.tcp_window_scaling=0",
        "sysctl -w net.core.netdev_max_backlog=0x10",
        "sysctl -w net.core.netdev_max_backlog=1e3",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct tl_fix fix;
        cr_expect_neq(parse(texts[i], &fix), TL_OK, "%s passed", texts[i]);
        cr_expect_eq(fix.count, 0, "%s left something", texts[i]);
    }
}

Test(fix, sets_reads_back_and_sets_back)
{
    struct tl_fix fix;
    struct tl_error error = {.text = ""};
    cr_assert_eq(
        parse("sysctl -w net.ipv4.tcp_rmem=\"4096 131072 8388608\" net.ipv4.tcp_sack=1", &fix),
        TL_OK);
    cr_assert_eq(tl_fix_read(&fix, &error), TL_OK, "%s", error.text);
    cr_expect_str_eq(fix.settings[0].before, "4096 131072 524288");
    cr_assert_eq(tl_fix_apply(&fix, NULL, NULL, &error), TL_OK, "%s", error.text);
    expect_file("ipv4/tcp_rmem", "4096 131072 8388608");
    expect_file("ipv4/tcp_sack", "1");
    cr_assert_eq(tl_fix_restore(&fix, NULL, NULL, &error), TL_OK, "%s", error.text);
    expect_file("ipv4/tcp_rmem", "4096 131072 524288");
    expect_file("ipv4/tcp_sack", "0");
}

Test(fix, changes_nothing_that_is_set_already_and_lowers_nothing)
{
    struct tl_fix fix;
    struct tl_error error = {.text = ""};
    cr_assert_eq(parse("sysctl -w net.core.rmem_max=212992", &fix), TL_OK);
    cr_assert_eq(tl_fix_read(&fix, &error), TL_OK);
    cr_expect_eq(fix.count, 0);
    cr_assert_eq(parse("sysctl -w net.core.rmem_max=100000", &fix), TL_OK);
    cr_expect_eq(tl_fix_read(&fix, &error), TL_RANGE);
    cr_expect(strstr(error.text, "does not lower"), "%s", error.text);
    cr_assert_eq(parse("sysctl -w net.ipv4.tcp_rmem=\"4096 8192 262144\"", &fix), TL_OK);
    cr_expect_eq(tl_fix_read(&fix, &error), TL_RANGE, "the maximum is lower");
}

Test(fix, sets_everything_back_when_the_kernel_refuses_one)
{
    struct tl_fix fix;
    struct tl_error error = {.text = ""};
    char path[128];
    cr_assert_eq(
        parse("sysctl -w net.ipv4.tcp_rmem=\"4096 131072 8388608\" net.ipv4.tcp_sack=1", &fix),
        TL_OK);
    cr_assert_eq(tl_fix_read(&fix, &error), TL_OK);
    /* A folder in the file's place takes no write, from root neither. */
    snprintf(path, sizeof path, "%s/net/ipv4/tcp_sack", root);
    unlink(path);
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_expect_neq(tl_fix_apply(&fix, NULL, NULL, &error), TL_OK);
    cr_expect(strstr(error.text, "net.ipv4.tcp_sack"), "%s", error.text);
    expect_file("ipv4/tcp_rmem", "4096 131072 524288");
}

Test(fix, leaves_alone_what_somebody_else_changed)
{
    struct tl_fix fix;
    struct tl_error error = {.text = ""};
    cr_assert_eq(
        parse("sysctl -w net.ipv4.tcp_rmem=\"4096 131072 8388608\" net.ipv4.tcp_sack=1", &fix),
        TL_OK);
    cr_assert_eq(tl_fix_read(&fix, &error), TL_OK);
    cr_assert_eq(tl_fix_apply(&fix, NULL, NULL, &error), TL_OK);
    put("ipv4/tcp_rmem", "4096 131072 16777216\n");
    cr_expect_eq(tl_fix_restore(&fix, NULL, NULL, &error), TL_BUSY);
    cr_expect(strstr(error.text, "16777216"), "%s", error.text);
    expect_file("ipv4/tcp_sack", "0");
}

/* A hostile file would make every socket of the machine begin with 4 MiB. */
Test(fix, minimum_and_default_are_this_kernels)
{
    struct tl_fix fix = {.root = root};
    cr_assert_eq(parse("sysctl -w net.ipv4.tcp_rmem=\"4194304 4194304 4194304\"", &fix), TL_OK);
    cr_assert_eq(tl_fix_read(&fix, NULL), TL_OK);
    cr_expect_str_eq(fix.settings[0].after, "4096 131072 4194304");
}

Test(fix, no_buffer_above_a_share_of_the_memory)
{
    struct tl_setting_def buffer = *tl_setting_find("net.ipv4.tcp_rmem", 17);
    struct tl_setting_def backlog = *tl_setting_find("net.core.netdev_max_backlog", 27);
    cr_expect(tl_setting_exceeds_memory(&buffer, "4096 131072 67108864", 1LL << 30));
    cr_expect_not(tl_setting_exceeds_memory(&buffer, "4096 131072 33554432", 1LL << 30));
    cr_expect_not(tl_setting_exceeds_memory(&buffer, "4096 131072 67108864", 0));
    /* 4,096 packets of 2,304 bytes fit into an eighth of 1 GiB, 65,536 do not. */
    cr_expect_not(tl_setting_exceeds_memory(&backlog, "4096", 1LL << 30));
    cr_expect(tl_setting_exceeds_memory(&backlog, "65536", 1LL << 30));
}

/* tcp_mem counts pages: 2^31 of them, which the bounds of the list permit, are 8 TiB. */
Test(fix, every_limit_that_takes_memory_has_a_part_of_it)
{
    static const char *const hostile[][2] = {
        {"net.ipv4.tcp_mem", "1 2 2147483648"},     {"net.netfilter.nf_conntrack_max", "16777216"},
        {"net.core.netdev_max_backlog", "1000000"}, {"net.core.rmem_default", "67108864"},
        {"net.core.wmem_max", "1073741824"},        {"net.ipv4.tcp_wmem", "4096 16384 1073741824"},
    };
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        const struct tl_setting_def *def = tl_setting_find(hostile[i][0], strlen(hostile[i][0]));
        cr_expect(tl_setting_exceeds_memory(def, hostile[i][1], 1LL << 30), "%s", hostile[i][0]);
    }
}

Test(fix, twice_as_much_is_twice_what_this_kernel_has)
{
    const struct tl_setting_def *memory = tl_setting_find("net.ipv4.tcp_mem", 16);
    const struct tl_setting_def *backlog = tl_setting_find("net.core.netdev_max_backlog", 27);
    cr_expect_not(tl_setting_leaps(memory, "100 200 300", "200 400 600"));
    cr_expect(tl_setting_leaps(memory, "100 200 300", "201 400 600"));
    cr_expect_not(tl_setting_leaps(backlog, "1000", "4000"));
    cr_expect_not(tl_setting_leaps(backlog, "100", "4000"));
    cr_expect(tl_setting_leaps(backlog, "1000", "4001"));
}
