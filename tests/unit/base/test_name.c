/* Names that may stand in a command. */
#include "tightlink/base/name.h"

#include <criterion/criterion.h>

Test(name, hosts_interfaces_and_addresses_pass)
{
    static const char *const good[] = {"srv-b.example.net", "eth0.100", "2001:db8::1", "user@host",
                                       "a"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        cr_expect(tl_is_command_name(good[i], "", TL_COMMAND_HOST_MAX), "%s", good[i]);
}

Test(name, what_a_shell_or_a_path_reads_otherwise_does_not)
{
    static const char *const bad[] = {"",    "a b", "a;b", "$(x)", "`x`", "a|b", "a\nb",
                                      "-rf", "..",  "a#b", "a\\b", "<x>", "a/b", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_not(tl_is_command_name(bad[i], "", TL_COMMAND_HOST_MAX), "%s", bad[i]);
    cr_expect(tl_is_command_name("a/b", "/", TL_COMMAND_HOST_MAX));
    cr_expect_not(tl_is_command_name("abcd", "", 3), "longer than it may be");
}

Test(name, of_this_machine_alone)
{
    static const char *const own[] = {"localhost", "::1", "[::1]", "127.0.0.1", "127.255.0.9"};
    static const char *const others[] = {"127.0.0.1.example.net",
                                         "localhost.example.net",
                                         "[::1]:80.example.net",
                                         "128.0.0.1",
                                         "::10",
                                         ""};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        cr_expect(tl_is_loopback_name(own[i]), "%s", own[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        cr_expect(!tl_is_loopback_name(others[i]), "%s", others[i]);
}
