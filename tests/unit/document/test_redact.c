/* The redactor: every form of a value that must not leave, and what only looks like one. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tightlink/document/redact.h"

static const uint8_t key[TL_REDACT_KEY_SIZE] = {1, 2, 3};

static struct tl_redactor *make(void)
{
    struct tl_redactor *redactor = NULL;
    cr_assert(tl_redactor_create(key, &redactor, NULL) == TL_OK);
    return redactor;
}

static char *masked(struct tl_redactor *redactor, const char *text)
{
    struct tl_buf out = TL_BUF_INIT;
    tl_redact_text(redactor, text, &out);
    cr_assert(tl_redactor_status(redactor) == TL_OK);
    char *copy = strdup(tl_buf_text(&out));
    tl_buf_finish(&out);
    return copy;
}

/* text stays as it is */
static void expect_kept(const char *text)
{
    struct tl_redactor *redactor = make();
    char *out = masked(redactor, text);
    cr_expect_str_eq(out, text);
    cr_expect(tl_redactor_count(redactor) == 0);
    free(out);
    tl_redactor_destroy(redactor);
}

/* value is found in "before value after" as one value of a kind, and nothing else is. */
static void expect_masked(enum tl_mask_kind kind, const char *before, const char *value,
                          const char *after)
{
    char text[512], expected[512];
    struct tl_redactor *redactor = make();
    snprintf(text, sizeof text, "%s%s%s", before, value, after);
    char *out = masked(redactor, text);
    cr_assert(tl_redactor_count(redactor) == 1, "%s -> %s", text, out);
    struct tl_mask mask = tl_redactor_at(redactor, 0);
    snprintf(expected, sizeof expected, "%s%s%s", before, mask.mask, after);
    cr_expect_str_eq(out, expected);
    cr_expect(mask.kind == kind, "%s is a %s", text, tl_mask_kind_name(mask.kind));
    cr_expect(mask.count == 1);
    free(out);
    tl_redactor_destroy(redactor);
}

Test(redact, addresses_are_masked_wherever_they_stand)
{
    expect_masked(TL_MASK_IP4, "", "203.0.113.33", "");
    expect_masked(TL_MASK_IP4, "from ", "10.1.2.3", ":5411, twice");
    expect_masked(TL_MASK_IP4, "route ", "192.168.7.0", "/24.");
    expect_masked(TL_MASK_IP4, "addr", "10.1.2.3", ")");
    expect_masked(TL_MASK_IP4, "it is ", "10.1.2.3", ".");
    expect_masked(TL_MASK_IP4, "oid ", "1.3.6.1.4.1", " too");
    expect_masked(TL_MASK_IP4, "in ", "10.1.2.3", ".log");
    expect_masked(TL_MASK_IP6, "[", "2001:db8::33", "]:443");
    expect_masked(TL_MASK_IP6, "to ", "fe80::1%wlan0", ", link-local");
    expect_masked(TL_MASK_IP6, "to ", "2001:db8:0:1:2:3:4:5", ".");
    expect_masked(TL_MASK_IP6, "to ", "::ffff:203.0.113.9", "");
    expect_masked(TL_MASK_IP6, "prefix ", "2001:db8::", "/32");
    expect_masked(TL_MASK_IP6, "hop ", "2001:db8::7", ": silent");
}

Test(redact, a_mask_is_known_by_its_form)
{
    static const char *const masks[] = {"host-3fa9c1", "ip4-00112233", "mac-abcdef"};
    static const char *const names[] = {"",           "host",         "host-",
                                        "host-3fa9c", "host-3fa9c12", "host-3fa9cg",
                                        "srv-3fa9c1", "hosts-3fa9c1"};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
        cr_expect(tl_is_mask(masks[i]), "%s", masks[i]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_expect(!tl_is_mask(names[i]), "%s", names[i]);
}

Test(redact, hardware_addresses_are_masked)
{
    expect_masked(TL_MASK_MAC, "at ", "00:1B:44:11:3a:b7", ".");
    expect_masked(TL_MASK_MAC, "at ", "00-1b-44-11-3a-b7", "");
    expect_masked(TL_MASK_MAC, "at ", "001b.4411.3ab7", " port 7");
    expect_masked(TL_MASK_MAC, "", "enx001b44113ab7", " is up");
    expect_masked(TL_MASK_MAC, "", "wlx001b44113ab7", " is up");
    expect_masked(TL_MASK_MAC, "", "001b44113ab7", "");
    expect_masked(TL_MASK_MAC, "ib ", "80:00:02:08:fe:80:00:00:00:00:00:00:f4:52:14:03:00:7b:cb:a1",
                  "");
    struct tl_redactor *redactor = make();
    char *out = masked(redactor, "00:1b:44:11:3a:b7 001B.4411.3AB7 enx001b44113ab7");
    cr_expect(tl_redactor_count(redactor) == 1, "one card, one mask: %s", out);
    free(out);
    tl_redactor_destroy(redactor);
}

Test(redact, names_of_hosts_and_users_are_masked)
{
    expect_masked(TL_MASK_HOST, "to ", "srv-b.example.net", ".");
    expect_masked(TL_MASK_HOST, "(", "NAS.lan", ")");
    expect_masked(TL_MASK_HOST, "by ", "4.3.2.1.in-addr.arpa", "");
    expect_masked(TL_MASK_HOST, "by ", "ip-10-1-2-3.eu.example.com", "");
    expect_masked(TL_MASK_HOST, "on ", "db_1.svc.internal", ",");
    expect_masked(TL_MASK_HOST, "on ", "node1.dc2", "");
    expect_masked(TL_MASK_HOST, "on ", "münchen.example", "");
    expect_masked(TL_MASK_HOST, "see ", "https://wiki.example.org/~anna/x?y=1", ".");
    expect_masked(TL_MASK_HOST, "see ", "ftp://nas/share", "");
    expect_masked(TL_MASK_USER, "ask ", "anna.b@example.org", ", soon");
    expect_masked(TL_MASK_USER, "ssh ", "anna@nas", "");
    expect_masked(TL_MASK_USER, "ssh ", "7up@10.1.2.3", "");
}

Test(redact, wireless_networks_are_masked_where_the_text_names_them)
{
    expect_masked(TL_MASK_SSID, "SSID ", "attic", ", weak");
    expect_masked(TL_MASK_SSID, "ssid=\"", "The Attic 5", "\" is full");
    expect_masked(TL_MASK_SSID, "on SSID: ", "attic", ".");
    expect_kept("the SSID is hidden; an SSID was seen; no ssid=");
}

Test(redact, paths_are_masked_but_not_those_of_every_system)
{
    expect_masked(TL_MASK_PATH, "in ", "/home/anna/data", ": full");
    expect_masked(TL_MASK_PATH, "in '", "/srv/my files/x", "' there");
    expect_masked(TL_MASK_PATH, "in ", "~/data/x", "");
    expect_masked(TL_MASK_PATH, "in ", "~anna/x", "");
    expect_masked(TL_MASK_PATH, "in ", "C:\\Users\\anna", "");
    expect_masked(TL_MASK_PATH, "in ", "\\\\server\\share", "");
    expect_masked(TL_MASK_PATH, "on ", "/dev/mapper/vg-anna", "");
    expect_masked(TL_MASK_PATH, "file=", "/var/lib/x", "");
    expect_kept("echo 2 > /proc/sys/net/ipv4/tcp_rmem && cat /sys/class/net/eth0/mtu 2>/dev/null");
    expect_kept("grep . /sys/class/net/*/queues/rx-0/rps_cpus; ls /sys/class/net/*/queues");
    expect_kept("echo x > /etc/sysctl.d/60-tcp-buffers.conf; /usr/bin/ss; /dev/nvme0n1");
    expect_kept("900 Mb/s and/or 5 / 6, 1/2, ~10 ms, km/h");
}

/* What runs as nobody(7) has its name, which our sentences say of nobody in particular. */
Test(redact, the_account_of_nobody_is_a_word)
{
    struct tl_redactor *redactor = make();
    tl_redactor_learn(redactor, TL_MASK_USER, "nobody");
    char *out = masked(redactor, "nobody else took a share");
    cr_expect_str_eq(out, "nobody else took a share");
    cr_expect_eq(tl_redactor_count(redactor), 0);
    free(out);
    tl_redactor_destroy(redactor);
}

Test(redact, settings_facts_numbers_and_times_are_kept)
{
    expect_kept("sysctl -w net.ipv4.tcp_rmem=\"4096 131072 16777216\" net.core.somaxconn");
    expect_kept("net.ipv4.conf.eth0.rp_filter vm.dirty_ratio kernel.numa_balancing");
    expect_kept("download.goodput_bps receiver.tcp_rmem_max_bytes near.later_fact_count");
    expect_kept(
        "6.1.0-18-amd64, 5.14.0-427.13.1.el9_4.x86_64, TLS 1.3, 99.9 Mb/s, 0.61ms, 802.11ac");
    expect_kept("2026-11-20T20:41:07.123Z at 20:41:07, 12:30");
    expect_kept("loopback 127.0.0.1, ::1, any 0.0.0.0 and ::, mask 255.255.255.0");
    expect_kept("localhost answers; 900M@80ms; i.e. e.g. 1..2 a.b");
    expect_kept("16777216 bytes, 123456789012 packets, 300.1.2.3, 1.2.3");
    expect_kept("Linux Documentation/networking/ip-sysctl.rst, tightlink.conf");
}

Test(redact, sysctl_like_names_of_hosts_are_not_settings)
{
    expect_masked(TL_MASK_HOST, "", "net.core.acme.com", "");
    expect_masked(TL_MASK_HOST, "", "vm.example.com", "");
    expect_masked(TL_MASK_HOST, "", "path.example.com", "");
}

Test(redact, the_same_value_has_the_same_mask_and_another_key_another)
{
    struct tl_redactor *one = make(), *two = NULL;
    cr_assert(tl_redactor_create(NULL, &two, NULL) == TL_OK);
    char *a = masked(one, "Srv-B.example.net srv-b.EXAMPLE.net. 2001:db8::1 2001:DB8:0::1");
    char *b = masked(two, "srv-b.example.net");
    cr_expect(tl_redactor_count(one) == 2 && tl_redactor_at(one, 0).count == 2);
    cr_expect(strncmp(a, b, strlen(b)) != 0, "another key");
    cr_expect(strncmp(a, "host-", 5) == 0 && strcspn(a, " ") == 11);
    free(a);
    free(b);
    tl_redactor_destroy(one);
    tl_redactor_destroy(two);
}

Test(redact, a_learned_name_is_masked_as_a_word_in_any_case)
{
    struct tl_redactor *redactor = make();
    tl_redactor_learn(redactor, TL_MASK_HOST, "attic.example.net");
    tl_redactor_learn(redactor, TL_MASK_HOST, "path");
    tl_redactor_learn(redactor, TL_MASK_HOST, "localhost");
    tl_redactor_learn(redactor, TL_MASK_HOST, "");
    tl_redactor_learn(redactor, TL_MASK_HOST, NULL);
    tl_redactor_learn(redactor, TL_MASK_SSID, "My Net");
    tl_redactor_learn(redactor, TL_MASK_PATH, "/srv/two words");
    char *out =
        masked(redactor, "ATTIC, attics, the path on My Net: attic.example.net /srv/two words");
    cr_expect(tl_redactor_count(redactor) == 3, "%s", out);
    cr_expect(tl_redactor_at(redactor, 0).count == 2, "short and full name are one host");
    cr_expect(strstr(out, "attics") && strstr(out, "the path on ssid-") && !strstr(out, "words"));
    free(out);
    tl_redactor_destroy(redactor);
}

Test(redact, a_field_that_is_a_name_becomes_one_mask)
{
    static const struct {
        const char *name, *begin;
    } cases[] = {{"nas", "host-"},
                 {"10.1.2.3", "ip4-"},
                 {"2001:db8::1", "ip6-"},
                 {"My NAS, upstairs", "host-"},
                 {"127.0.0.1", "127.0.0.1"},
                 {"localhost", "localhost"},
                 {"00:1b:44:11:3a:b7", "mac-"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tl_redactor *redactor = make();
        struct tl_buf out = TL_BUF_INIT;
        tl_redact_name(redactor, TL_MASK_HOST, cases[i].name, &out);
        cr_expect(strncmp(tl_buf_text(&out), cases[i].begin, strlen(cases[i].begin)) == 0);
        cr_expect(!strchr(tl_buf_text(&out), ' '));
        tl_buf_finish(&out);
        tl_redactor_destroy(redactor);
    }
}

Test(redact, more_values_than_a_run_has_are_refused_and_none_leaves)
{
    struct tl_redactor *redactor = make();
    struct tl_buf out = TL_BUF_INIT;
    for (unsigned i = 0; i <= TL_REDACT_VALUES_MAX; i++) {
        char text[32];
        snprintf(text, sizeof text, "10.%u.%u.9", i / 250, i % 250);
        tl_redact_text(redactor, text, &out);
    }
    cr_expect(tl_redactor_status(redactor) == TL_LIMIT);
    cr_expect(!strstr(tl_buf_text(&out), "10."), "a gap, never the value");
    tl_buf_finish(&out);
    tl_redactor_destroy(redactor);
}

Test(redact, the_mapping_is_kept_for_its_user_alone_and_gives_the_key_back)
{
    char directory[] = "/tmp/tl-masks-XXXXXX", deep[64], path[256], small[8];
    struct tl_redactor *redactor = make();
    struct tl_error error = {0};
    struct stat status;
    uint8_t again[TL_REDACT_KEY_SIZE];
    cr_assert(mkdtemp(directory) != NULL);
    snprintf(deep, sizeof deep, "%s/a/b", directory);
    free(masked(redactor, "srv-b.example.net"));
    cr_assert(tl_redactor_save(redactor, deep, "01J9ZK5V8Q2M4N6P8R0T2W4Y6Z", path, sizeof path,
                               &error) == TL_OK,
              "%s", error.text);
    cr_expect(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600);
    cr_expect(tl_redactor_load_key(path, again, &error) == TL_OK, "%s", error.text);
    cr_expect(memcmp(again, key, sizeof key) == 0);
    cr_expect(tl_redactor_save(redactor, deep, "X", small, sizeof small, &error) == TL_RANGE);
    cr_expect(tl_redactor_load_key(directory, again, &error) != TL_OK && error.text[0]);
    cr_expect(tl_redactor_load_key("/nonexistent/x", again, &error) != TL_OK);
    int fd = open(path, O_WRONLY | O_TRUNC);
    cr_assert(write(fd, "{\"format\":\"tightlink.masks/1\",\"key\":\"xy\"}", 41) == 41);
    cr_expect(tl_redactor_load_key(path, again, &error) == TL_SYNTAX);
    close(fd);
    cr_expect(tl_redactor_save(redactor, "/proc/nowhere", "X", path, sizeof path, &error) != TL_OK);
    tl_redactor_destroy(redactor);
    snprintf(deep, sizeof deep, "rm -r %s", directory); /* others run beside it */
    cr_expect(system(deep) == 0);
}

Test(redact, this_machine_is_learned_by_name)
{
    char host[256] = "";
    struct tl_redactor *redactor = make();
    cr_assert(gethostname(host, sizeof host - 1) == 0);
    if (strlen(host) < 4)
        cr_skip_test("this machine's name is too short to tell");
    tl_redactor_learn_here(redactor);
    char *out = masked(redactor, host);
    cr_expect_str_neq(out, host);
    free(out);
    tl_redactor_destroy(redactor);
}

Test(redact, kinds_have_names_for_people)
{
    for (int kind = 0; kind < TL_MASK_KIND_COUNT; kind++)
        cr_expect(tl_mask_kind_name((enum tl_mask_kind)kind)[0] &&
                  tl_mask_kind_text((enum tl_mask_kind)kind)[0]);
}

/* Every rule as it stands in its file: what the rules say names nobody. */
Test(redact, the_words_of_the_rules_are_kept)
{
    size_t files = 0;
    FILE *list = popen("find " RULES_DIRECTORY " -name '*.json'", "r");
    char path[512];
    cr_assert(list != NULL);
    while (fgets(path, sizeof path, list)) {
        char *text = NULL;
        size_t size = 0;
        path[strcspn(path, "\n")] = '\0';
        FILE *file = fopen(path, "r");
        struct tl_redactor *redactor = make();
        cr_assert(file && getdelim(&text, &size, '\0', file) > 0);
        for (char *escape = text; (escape = strstr(escape, "\\n"));) /* JSON's line break */
            memcpy(escape, "  ", 2);
        free(masked(redactor, text));
        for (size_t i = 0; i < tl_redactor_count(redactor); i++)
            cr_expect(false, "%s: \"%s\" would be masked; redact_match.c can learn it", path,
                      tl_redactor_at(redactor, i).value);
        files++;
        tl_redactor_destroy(redactor);
        free(text);
        fclose(file);
    }
    pclose(list);
    cr_expect(files > 40, "%zu", files);
}

/* "5 values are masked" is said of what leaves, not of what the run has beside it. */
Test(redact, what_is_counted_stands_in_what_leaves)
{
    struct tl_redactor *redactor = make();
    char *first = masked(redactor, "192.0.2.1"), *second = masked(redactor, "192.0.2.2"),
         report[99];
    snprintf(report, sizeof report, "by %s, then %s; not %s00", second, second, first);
    tl_redactor_count_in(redactor, report, strlen(report));
    cr_assert(tl_redactor_count(redactor) == 1);
    struct tl_mask mask = tl_redactor_at(redactor, 0);
    cr_expect_str_eq(mask.value, "192.0.2.2");
    cr_expect(mask.count == 2);
    free(masked(redactor, "192.0.2.1"));
    cr_expect(tl_redactor_count(redactor) == 2, "masked again, it is known again");
    free(first);
    free(second);
    tl_redactor_destroy(redactor);
}
