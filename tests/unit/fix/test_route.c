/* A route's congestion control: its text, and the kernel's own table, in a namespace. */
#include <criterion/criterion.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "route.h"
#include "setting.h"
#include "tightlink/fix/fix.h"

TestSuite(fix_route);

static void expect_text(const char *text, bool bounds, const char *want)
{
    char value[TL_FIX_VALUE_SIZE] = "";
    struct tl_error error;
    enum tl_status status = tl_route_normalise(text, strlen(text), bounds, value, &error);

    cr_expect_eq(status == TL_OK, want != NULL, "%s", text);
    if (want)
        cr_expect_str_eq(value, want);
}

Test(fix_route, only_a_route_to_one_address_with_a_known_algorithm)
{
    expect_text("10.77.2.2 via 10.77.1.1 dev eno1 congctl bbr", true,
                "10.77.2.2 via 10.77.1.1 dev eno1 congctl bbr");
    expect_text("  2001:DB8::2   dev eno1  congctl cubic ", true,
                "2001:db8::2 dev eno1 congctl cubic");
    expect_text("10.77.2.2 none", false, "10.77.2.2 none");
    expect_text("10.77.2.2 none", true, NULL);
    expect_text("10.77.2.0/24 dev eno1 congctl bbr", true, NULL);
    expect_text("default dev eno1 congctl bbr", true, NULL);
    expect_text("10.77.2.2 via fe80::1 dev eno1 congctl bbr", true, NULL);
    expect_text("10.77.2.2 dev eno1 congctl evil_module", true, NULL);
    expect_text("10.77.2.2 dev eno1;reboot congctl bbr", true, NULL);
    expect_text("10.77.2.2 dev an-interface-that-is-long congctl bbr", true, NULL);
    expect_text("10.77.2.2 dev eno1 mtu lock 1300", true, NULL);
    expect_text("10.77.2.2 dev eno1 congctl bbr onlink", true, NULL);
    expect_text("10.77.2.2", true, NULL);
    expect_text("", true, NULL);
}

Test(fix_route, a_remedy_is_read_and_anything_else_is_by_hand)
{
    struct tl_fix fix = {.root = TL_FIX_ROOT};
    struct tl_error error;

    cr_assert_eq(tl_fix_parse("ip route replace 10.77.2.2 dev eno1 congctl bbr", &fix, &error),
                 TL_OK);
    cr_expect_eq(fix.count, 1);
    cr_expect_str_eq(fix.settings[0].key, TL_SETTING_ROUTE);
    cr_expect_str_eq(fix.settings[0].after, "10.77.2.2 dev eno1 congctl bbr");
    cr_expect_eq(tl_fix_parse("ip route replace 10.77.2.2 dev eno1 mtu lock 1300", &fix, &error),
                 TL_UNSUPPORTED);
    cr_expect(strstr(error.text, "by hand"));
    cr_expect_eq(
        tl_fix_parse("ip route replace 10.77.2.2 dev eno1 congctl bbr; reboot", &fix, &error),
        TL_UNSUPPORTED);
    cr_expect_eq(fix.count, 1, "what is refused changes nothing");
}

/* Loopback up in a network namespace of its own; false where none may be made. */
static bool own_namespace(void)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    bool up;
    int fd;

    if (unshare(CLONE_NEWNET) != 0)
        return false;
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    if (fd >= 0)
        close(fd);
    return up;
}

static void expect_now(const char *like, const char *want)
{
    char value[TL_FIX_VALUE_SIZE] = "";
    struct tl_error error = {.text = ""};

    cr_assert_eq(tl_route_get(like, value, &error), TL_OK, "%s", error.text);
    cr_expect_str_eq(value, want);
}

static void apply_and_restore(const char *command, const char *none, const char *done)
{
    struct tl_fix fix = {.root = TL_FIX_ROOT}, undo;
    struct tl_error error = {.text = ""};
    char path[TL_FIX_PATH_SIZE], folder[] = "/tmp/tl-route-XXXXXX";

    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(tl_fix_parse(command, &fix, &error), TL_OK, "%s", error.text);
    cr_assert_eq(tl_fix_read(&fix, &error), TL_OK, "%s", error.text);
    cr_assert_eq(fix.count, 1);
    cr_expect_str_eq(fix.settings[0].before, none);
    cr_assert_eq(tl_fix_undo_write(&fix, folder, path, &error), TL_OK, "%s", error.text);
    cr_assert_eq(tl_fix_apply(&fix, NULL, NULL, &error), TL_OK, "%s", error.text);
    expect_now(none, done);
    cr_assert_eq(tl_fix_undo_read(path, &undo, &error), TL_OK, "%s", error.text);
    cr_assert_eq(tl_fix_restore(&undo, NULL, NULL, &error), TL_OK, "%s", error.text);
    expect_now(done, none);
    cr_expect_eq(tl_fix_undo_remove(path, &error), TL_OK);
    cr_expect_eq(rmdir(folder), 0);
}

Test(fix_route, it_is_added_read_back_and_taken_away)
{
    if (!own_namespace())
        cr_skip_test("no network namespace may be made here");
    apply_and_restore("ip route replace 10.77.2.2 dev lo congctl reno", "10.77.2.2 none",
                      "10.77.2.2 dev lo congctl reno");
    apply_and_restore("ip route replace fd77::2 dev lo congctl reno", "fd77::2 none",
                      "fd77::2 dev lo congctl reno");
}

Test(fix_route, a_route_of_somebody_else_is_left_alone)
{
    struct tl_fix fix = {.root = TL_FIX_ROOT};
    struct tl_error error = {.text = ""};

    if (!own_namespace())
        cr_skip_test("no network namespace may be made here");
    cr_assert_eq(tl_route_set("10.77.2.2 dev lo congctl reno", &error), TL_OK, "%s", error.text);
    cr_expect_neq(tl_route_set("10.77.2.2 dev lo congctl cubic", &error), TL_OK,
                  "nothing is replaced");
    cr_assert_eq(tl_fix_parse("ip route replace 10.77.2.2 dev lo congctl reno", &fix, &error),
                 TL_OK);
    cr_expect_eq(tl_fix_read(&fix, &error), TL_OK);
    cr_expect_eq(fix.count, 0, "it is set so already");
}

Test(fix_route, what_the_kernel_refuses_is_said)
{
    struct tl_error error = {.text = ""};

    if (!own_namespace())
        cr_skip_test("no network namespace may be made here");
    cr_expect_eq(tl_route_set("10.77.2.2 dev no-such-card congctl reno", &error), TL_UNKNOWN);
    cr_expect_neq(tl_route_set("10.77.2.2 none", &error), TL_OK, "there is none to remove");
}
