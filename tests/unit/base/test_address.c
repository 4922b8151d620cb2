#include <arpa/inet.h>
#include <criterion/criterion.h>

#include "tightlink/base/address.h"

static struct in6_addr address(const char *text)
{
    struct in6_addr made;
    cr_assert_eq(inet_pton(AF_INET6, text, &made), 1, "%s", text);
    return made;
}

static void expect_text(const char *written, const char *wanted)
{
    struct in6_addr made = address(written);
    char text[INET6_ADDRSTRLEN];
    tl_address_text(&made, text);
    cr_expect_str_eq(text, wanted);
}

Test(address, a_mapped_one_is_written_as_ipv4)
{
    expect_text("::ffff:192.0.2.1", "192.0.2.1");
    expect_text("2001:db8::1", "2001:db8::1");
    expect_text("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
}

Test(address, loopback_is_one_address_of_ipv6_and_a_network_of_ipv4)
{
    static const char *const own[] = {"::1", "::ffff:127.0.0.1", "::ffff:127.255.0.9"};
    static const char *const others[] = {"::", "::2", "::127.0.0.1", "::ffff:128.0.0.1", "fe80::1"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        struct in6_addr made = address(own[i]);
        cr_expect(tl_address_is_loopback(&made), "%s", own[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct in6_addr made = address(others[i]);
        cr_expect_not(tl_address_is_loopback(&made), "%s", others[i]);
    }
}
