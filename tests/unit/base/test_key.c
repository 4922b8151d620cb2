/* Key files: what is taken, what is refused and in which words. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tightlink/base/key.h"

#define HEX  "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define HEX2 "FF0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff"

static char path[] = "/tmp/tl-key-XXXXXX";

static void write_file(const char *text, mode_t mode)
{
    memcpy(path + strlen(path) - 6, "XXXXXX", 6);
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    cr_assert_eq(fchmod(fd, mode), 0);
    close(fd);
}

static enum tl_status load(const char *text, mode_t mode, struct tl_keys **ret_keys,
                           struct tl_error *error)
{
    write_file(text, mode);
    enum tl_status status = tl_keys_load(path, ret_keys, error);
    unlink(path);
    return status;
}

Test(key, lines_become_keys)
{
    struct tl_keys *keys = NULL;
    struct tl_error error = {0};
    cr_assert_eq(load("# of the lab\n\nlab-1 " HEX "\nB.2_x\t" HEX2 " \r\n", 0600, &keys, &error),
                 TL_OK, "%s", error.text);
    cr_assert_eq(tl_keys_count(keys), 2);
    cr_expect_str_eq(tl_keys_at(keys, 0)->name, "lab-1");
    cr_expect_eq(tl_keys_at(keys, 0)->secret[31], 0x1f);
    const struct tl_key *second = tl_keys_find(keys, "B.2_xyz", 5);
    cr_assert_not_null(second);
    cr_expect_eq(second->secret[0], 0xff);
    cr_expect_null(tl_keys_find(keys, "lab-", 4));
    cr_expect_null(tl_keys_find(keys, "", 0));
    tl_keys_destroy(keys);
}

static bool opens_from(const struct tl_key *key, const char *text)
{
    struct in6_addr address;
    cr_assert_eq(inet_pton(AF_INET6, text, &address), 1);
    return tl_key_opens_from(key, &address);
}

Test(key, a_line_says_from_where_and_for_whom)
{
    struct tl_keys *keys = NULL;
    struct tl_error error = {0};
    cr_assert_eq(load("a " HEX " class=admin from=192.0.2.128/25,2001:db8::/33\t\nb " HEX2 "\n"
                      "c " HEX " from=198.51.100.7\nd " HEX " from=0.0.0.0/0\n",
                      0600, &keys, &error),
                 TL_OK, "%s", error.text);
    const struct tl_key *key = tl_keys_at(keys, 0);
    cr_expect(key->admin && opens_from(key, "::ffff:192.0.2.128"));
    cr_expect(opens_from(key, "2001:db8:7fff::1") && !opens_from(key, "2001:db8:8000::1"));
    cr_expect_not(opens_from(key, "::ffff:192.0.2.127"));
    cr_expect_not(opens_from(key, "::c000:280"), "no IPv4 address");
    key = tl_keys_at(keys, 1);
    cr_expect(!key->admin && opens_from(key, "::1") && opens_from(key, "::ffff:192.0.2.127"));
    key = tl_keys_at(keys, 2);
    cr_expect(opens_from(key, "::ffff:198.51.100.7") && !opens_from(key, "::ffff:198.51.100.6"));
    key = tl_keys_at(keys, 3);
    cr_expect(opens_from(key, "::ffff:1.2.3.4") && !opens_from(key, "2001:db8::1"));
    tl_keys_destroy(keys);
}

/* P11, and before the secret is in memory: a change of user, which tightlinkd makes later, hides
 * whether this was done. */
Test(key, who_has_read_a_file_leaves_no_core)
{
    struct tl_keys *keys = NULL;
    cr_assert_eq(prctl(PR_SET_DUMPABLE, 1), 0);
    cr_assert_eq(load("lab-1 " HEX "\n", 0600, &keys, NULL), TL_OK);
    cr_expect_eq(prctl(PR_GET_DUMPABLE), 0);
    tl_keys_destroy(keys);
}

Test(key, many_keys_survive_growth)
{
    char *text = malloc((TL_KEYS_MAX + 1) * 80 + 1);
    size_t at = 0;
    for (int i = 0; i <= TL_KEYS_MAX; i++)
        at += (size_t)sprintf(text + at, "k%d " HEX "\n", i);
    struct tl_keys *keys = NULL;
    struct tl_error error = {0};
    cr_expect_eq(load(text, 0600, &keys, &error), TL_LIMIT);
    *strstr(text, "k1000 ") = '\0';
    cr_assert_eq(load(text, 0600, &keys, &error), TL_OK, "%s", error.text);
    cr_expect_eq(tl_keys_count(keys), TL_KEYS_MAX);
    cr_expect_not_null(tl_keys_find(keys, "k999", 4));
    tl_keys_destroy(keys);
    free(text);
}

Test(key, a_file_that_others_may_read_is_refused)
{
    struct tl_keys *keys = NULL;
    struct tl_error error = {0};
    static const mode_t modes[] = {0640, 0604, 0620, 0601, 0644};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        cr_expect_eq(load("a " HEX "\n", modes[i], &keys, &error), TL_DENIED, "%o", modes[i]);
        cr_expect_not_null(strstr(error.text, "chmod 600"));
    }
    cr_expect_eq(load("a " HEX "\n", 0400, &keys, &error), TL_OK);
    tl_keys_destroy(keys);
}

Test(key, what_is_no_key_is_told_by_line_and_without_its_content)
{
    static const char *const bad[] = {
        "",
        "\n# only a comment\n",
        "a\n",
        "a " HEX "0\n",
        "a 00\n",
        " " HEX "\n",
        "a/b " HEX "\n",
        "a " HEX " more\n",
        "a " HEX "from=10.0.0.1\n",
        "a " HEX " from=\n",
        "a " HEX " from=10.0.0.0/33\n",
        "a " HEX " from=10.0.0.0/\n",
        "a " HEX " from=10.0.0.0/8x\n",
        "a " HEX " from=::/129\n",
        "a " HEX " from=1.1.1.1,,2.2.2.2\n",
        "a " HEX " from=::1,::2,::3,::4,::5,::6,::7,::8,::9\n",
        "a " HEX " class=king\n",
        "a" HEX "\n",
        "a " HEX "\na " HEX2 "\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tl_keys *keys = NULL;
        struct tl_error error = {0};
        cr_expect_eq(load(bad[i], 0600, &keys, &error), TL_SYNTAX, "case %zu", i);
        cr_expect_null(keys);
        cr_expect_null(strstr(error.text, "0a0b"), "%s", error.text);
    }
}

Test(key, what_is_no_file_of_ours_is_told)
{
    struct tl_keys *keys = NULL;
    struct tl_error error = {0};
    cr_expect_eq(tl_keys_load("/nowhere/at/all", &keys, &error), TL_UNKNOWN);
    cr_expect_eq(tl_keys_load("/tmp", &keys, &error), TL_DENIED);
    cr_expect_eq(tl_keys_load("/dev/null", &keys, &error), TL_DENIED);
    cr_expect_null(keys);
}

Test(key, a_made_line_loads_and_differs_each_time)
{
    char one[TL_KEY_LINE_SIZE], two[TL_KEY_LINE_SIZE];
    struct tl_error error = {0};
    cr_assert_eq(tl_key_line_make("lab-1", one, &error), TL_OK);
    cr_assert_eq(tl_key_line_make("lab-1", two, &error), TL_OK);
    cr_expect_str_neq(one, two);
    struct tl_keys *keys = NULL;
    cr_assert_eq(load(one, 0600, &keys, &error), TL_OK, "%s", error.text);
    tl_keys_destroy(keys);
    cr_expect_eq(tl_key_line_make("", one, &error), TL_SYNTAX);
    cr_expect_eq(tl_key_line_make("a b", one, &error), TL_SYNTAX);
    char longest[TL_KEY_NAME_SIZE + 1];
    memset(longest, 'x', TL_KEY_NAME_SIZE);
    longest[TL_KEY_NAME_SIZE] = '\0';
    cr_expect_eq(tl_key_line_make(longest, one, &error), TL_SYNTAX);
    longest[TL_KEY_NAME_SIZE - 1] = '\0';
    cr_expect_eq(tl_key_line_make(longest, one, &error), TL_OK);
    cr_expect_eq(strlen(one), TL_KEY_LINE_SIZE - 1);
}
