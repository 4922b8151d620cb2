/* Which variable of the environment names a proxy for a URL. */
#include <criterion/criterion.h>
#include <string.h>

#include "tightlink/base/proxy.h"

static const char *const *environment; /* name, value, …, NULL */

static char *get(const char *name)
{
    for (const char *const *at = environment; *at; at += 2)
        if (strcmp(*at, name) == 0)
            return (char *)at[1];
    return NULL;
}

static void expect(const char *url, const char *const *set, const char *wanted)
{
    struct tl_target target;
    cr_assert_eq(tl_target_parse(url, &target, NULL), TL_OK);
    environment = set;
    const char *variable = tl_proxy_variable(&target, get);
    cr_expect(wanted ? variable && strcmp(variable, wanted) == 0 : !variable, "%s: %s", url,
              variable ? variable : "none");
}

#define SET(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(proxy, each_scheme_has_its_own_variable_before_the_common_one)
{
    expect("http://srv/f", SET("https_proxy", "p:1"), NULL);
    expect("http://srv/f", SET("all_proxy", "p:1", "http_proxy", "p:1"), "http_proxy");
    expect("https://srv/f", SET("ALL_PROXY", "p:1"), "ALL_PROXY");
    expect("https://srv/f", SET("HTTPS_PROXY", "p:1", "all_proxy", "p:1"), "HTTPS_PROXY");
    expect("https://srv/f", SET("https_proxy", ""), NULL);
}

Test(proxy, a_visitors_header_is_no_setting)
{
    expect("http://srv/f", SET("HTTP_PROXY", "p:1"), NULL);
}

Test(proxy, who_is_no_web_server_has_none)
{
    expect("iperf3://srv", SET("all_proxy", "p:1"), NULL);
    expect("srv", SET("all_proxy", "p:1"), NULL);
}

Test(proxy, hosts_are_excepted_by_name_ending_address_and_network)
{
    static const struct {
        const char *url, *list;
        bool excepted;
    } cases[] = {
        {"http://srv.example.org/f", "example.org", true},
        {"http://srv.example.org/f", ".EXAMPLE.org", true},
        {"http://example.org/f", "localhost, .example.org", true},
        {"http://notexample.org/f", "example.org", false},
        {"http://example.org.evil/f", "example.org", false},
        {"http://srv/f", "*", true},
        {"http://srv/f", "", false},
        {"http://10.2.3.4/f", "10.2.3.4", true},
        {"http://10.2.3.4/f", "192.168.0.0/16,10.0.0.0/8", true},
        {"http://11.2.3.4/f", "10.0.0.0/8", false},
        {"http://10.128.0.1/f", "10.0.0.0/9", false},
        {"http://10.2.3.4/f", "10.0.0.0/", false},
        {"http://10.2.3.4/f", "10.0.0.0/33", false},
        {"http://[2001:db8::1]/f", "2001:db8::/32", true},
        {"http://[2001:db9::1]/f", "2001:db8::/32", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i].url, SET("http_proxy", "p:1", "NO_PROXY", cases[i].list),
               cases[i].excepted ? NULL : "http_proxy");
}

Test(proxy, a_proxy_is_a_host_and_a_port)
{
    static const struct {
        const char *value, *host;
        unsigned port;
    } cases[] = {
        {"http://cache.example:3128", "cache.example", 3128},
        {"HTTP://cache.example:3128/", "cache.example", 3128},
        {"cache.example:8080", "cache.example", 8080},
        {"http://cache.example", "cache.example", 1080},
        {"http://user:p@ss@10.0.0.1:3128", "10.0.0.1", 3128},
        {"http://[2001:db8::1]:3128", "2001:db8::1", 3128},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tl_proxy proxy;
        cr_assert_eq(tl_proxy_parse(cases[i].value, &proxy, NULL), TL_OK, "%s", cases[i].value);
        cr_expect_str_eq(proxy.host, cases[i].host);
        cr_expect_eq(proxy.port, cases[i].port, "%s: %u", cases[i].value, proxy.port);
    }
}

Test(proxy, what_is_not_spoken_to_is_said_and_the_login_is_not)
{
    struct tl_proxy proxy;
    struct tl_error error;
    cr_expect_eq(tl_proxy_parse("socks5h://user:secret@p:1", &proxy, &error), TL_UNSUPPORTED);
    cr_expect_str_eq(error.text, "proxies of the kind socks5h are not spoken to");
    cr_expect_eq(tl_proxy_parse("http://user:secret@p:70000", &proxy, &error), TL_USAGE);
    cr_expect(!strstr(error.text, "secret"), "%s", error.text);
    cr_expect_eq(tl_proxy_parse("http://:3128", &proxy, &error), TL_USAGE);
    char name[400];
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    cr_expect_eq(tl_proxy_parse(name, &proxy, &error), TL_USAGE);
}
