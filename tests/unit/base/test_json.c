/* The JSON reader: what it takes, what it refuses, and that it says where. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/json.h"
#include "tightlink/base/random.h"

static const struct tl_json_limits limits = {4096, 100, 8};

static enum tl_status parse(const char *text, struct tl_json **ret_doc, struct tl_error *reterr)
{
    return tl_json_parse(text, strlen(text), &limits, ret_doc, reterr);
}

static void expect_refused(const char *text, size_t len, enum tl_status wanted)
{
    struct tl_json *doc = NULL;
    struct tl_error error = {0};
    enum tl_status status = tl_json_parse(text, len, &limits, &doc, &error);
    cr_expect(status == wanted, "%.60s -> %s", text, tl_status_name(status));
    cr_expect(doc == NULL && error.status == wanted && error.text[0], "%.60s", text);
}

Test(json, what_rfc_8259_forbids_is_refused)
{
    static const char *const bad[] = {
        "",
        " ",
        "{",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "{\"a\":1,}",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "{'a':1}",
        "'a'",
        "[1 2]",
        "\"a",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "nul",
        "True",
        "NaN",
        "Infinity",
        "-Infinity",
        "-",
        "+1",
        ".5",
        "1.",
        "1.e3",
        "1e",
        "1e+",
        "01",
        "-01",
        "0x10",
        "1 2",
        "{} {}",
        "[]x",
        "// c\n1",
        "/* c */1",
        "\"\t\"",
        "\"\n\"",
        "\xef\xbb\xbf{}",
        "]",
        "}",
        ":",
        ",",
        "[1}",
        "{]",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_refused(bad[i], strlen(bad[i]), TL_SYNTAX);
}

Test(json, the_traps_of_json_c_are_refused)
{
    static const struct {
        const char *text;
        enum tl_status status;
    } bad[] = {
        {"{\"a\":1,\"a\":2}", TL_SYNTAX},
        {"{\"a\":1,\"\\u0061\":2}", TL_SYNTAX}, /* the same key, escaped */
        {"1e400", TL_RANGE},
        {"-1e400", TL_RANGE},
        {"9223372036854775808", TL_RANGE},
        {"-9223372036854775809", TL_RANGE},
        {"\"\\ud800\"", TL_SYNTAX},
        {"\"\\udc00\\ud800\"", TL_SYNTAX},
        {"\"\\ud800\\u0041\"", TL_SYNTAX},
        {"\"\\u0000\"", TL_SYNTAX},
        {"{\"a\\u0000\":1}", TL_SYNTAX},
        {"\"\xc0\xaf\"", TL_SYNTAX},         /* longer than needed */
        {"\"\xed\xa0\x80\"", TL_SYNTAX},     /* a surrogate in UTF-8 */
        {"\"\xf4\x90\x80\x80\"", TL_SYNTAX}, /* beyond U+10FFFF */
        {"\"\xff\"", TL_SYNTAX},
        {"\"\xe2\x82\"", TL_SYNTAX},
        {"[[[[[[[[[1]]]]]]]]]", TL_LIMIT},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_refused(bad[i].text, strlen(bad[i].text), bad[i].status);
    expect_refused("[1]\0", 4, TL_SYNTAX); /* a NUL after the value */
}

Test(json, limits_hold)
{
    char text[8192];
    memset(text, ' ', sizeof text);
    text[0] = '1';
    expect_refused(text, 4097, TL_LIMIT);
    size_t n = 0;
    text[n++] = '[';
    for (int i = 0; i < 100; i++)
        n += (size_t)sprintf(text + n, "%s0", i ? "," : "");
    text[n++] = ']';
    expect_refused(text, n, TL_LIMIT); /* the array and 100 numbers */
    memset(text, '1', 200);
    expect_refused(text, 200, TL_LIMIT);
}

Test(json, values_arrive_with_their_types)
{
    struct tl_json *doc;
    struct tl_error error = {0};
    const char *text =
        " {\"i\":-9223372036854775808,\"d\":1.5e3,\"s\":\"\\ud83d\\ude00\\/\\u00e9\","
        "\"b\":true,\"n\":null,\"a\":[1,[2]],\"o\":{\"x\":{}}} \r\n";
    cr_assert(parse(text, &doc, &error) == TL_OK, "%s", error.text);
    struct tl_json_at root = tl_json_root(doc), at;
    int64_t integer = 0;
    double number = 0;
    bool truth = false;
    const char *string = NULL;
    cr_expect(tl_json_get_integer(&root, "i", INT64_MIN, 0, &integer, NULL) == TL_OK);
    cr_expect(integer == INT64_MIN);
    cr_expect(tl_json_get_number(&root, "d", &number, NULL) == TL_OK && number == 1500);
    cr_expect(tl_json_get_integer(&root, "d", 0, 2000, &integer, NULL) == TL_OK && integer == 1500);
    cr_expect(tl_json_get_string(&root, "s", &string, NULL) == TL_OK);
    cr_expect_str_eq(string, "\xf0\x9f\x98\x80/\xc3\xa9");
    cr_expect(tl_json_get_bool(&root, "b", &truth, NULL) == TL_OK && truth);
    cr_expect(tl_json_get(&root, "n", &at, NULL) == TL_OK && tl_json_type(&at) == TL_JSON_NULL);
    cr_expect(tl_json_get_array(&root, "a", &at, NULL) == TL_OK && tl_json_count(&at) == 2);
    at = tl_json_item(&at, 1);
    at = tl_json_item(&at, 0);
    cr_expect_str_eq(at.pointer, "/a/1/0");
    cr_expect(!tl_json_find(&root, "absent", &at));
    tl_json_destroy(doc);
}

Test(json, members_come_in_the_order_of_the_text)
{
    struct tl_json *doc;
    cr_assert(parse("{\"z\":1,\"a/b~\":2,\"m\":3}", &doc, NULL) == TL_OK);
    struct tl_json_at root = tl_json_root(doc), value;
    struct tl_json_members members = tl_json_members(&root);
    const char *key;
    char seen[32] = "";
    while (tl_json_next(&members, &key, &value))
        strcat(strcat(seen, value.pointer), " ");
    cr_expect_str_eq(seen, "/z /a~1b~0 /m ");
    tl_json_destroy(doc);
}

static void expect_error(enum tl_status status, enum tl_status wanted, const struct tl_error *error,
                         const char *text)
{
    cr_expect(status == wanted && error->status == wanted, "%s", tl_status_name(status));
    cr_expect_str_eq(error->text, text);
}

Test(json, errors_name_the_place)
{
    struct tl_json *doc;
    struct tl_error e;
    cr_assert(parse("{\"a\":[{\"b\":\"x\"},2.5,-7]}", &doc, NULL) == TL_OK);
    struct tl_json_at root = tl_json_root(doc), a, item;
    double number = 42;
    int64_t integer = 42;
    cr_assert(tl_json_get_array(&root, "a", &a, NULL) == TL_OK);
    item = tl_json_item(&a, 0);
    expect_error(tl_json_get_number(&item, "b", &number, &e), TL_SYNTAX, &e,
                 "/a/0/b: expected a number, found a string");
    expect_error(tl_json_get_number(&item, "c", &number, &e), TL_UNKNOWN, &e,
                 "/a/0: the key \"c\" is missing");
    item = tl_json_item(&a, 1);
    expect_error(tl_json_integer(&item, 0, 9, &integer, &e), TL_SYNTAX, &e,
                 "/a/1: expected an integer, found a number");
    item = tl_json_item(&a, 2);
    expect_error(tl_json_integer(&item, 0, 9, &integer, &e), TL_RANGE, &e,
                 "/a/2: -7 is not between 0 and 9");
    cr_expect(number == 42 && integer == 42, "outputs are untouched on failure");
    static const char *const keys[] = {"x", "y", NULL};
    expect_error(tl_json_check_keys(&root, keys, &e), TL_UNKNOWN, &e,
                 "/a: this key is not known here");
    expect_error(tl_json_check_keys(&a, keys, &e), TL_SYNTAX, &e,
                 "/a: expected an object, found an array");
    tl_json_destroy(doc);
    expect_error(parse("{\"k\": [1,\n  2, x]}", &doc, &e), TL_SYNTAX, &e,
                 "line 2, column 6 (/k/2): expected a value, found 'x'");
    expect_error(parse("{\"k\": {\"\\u001b[2J\": 1e999}}", &doc, &e), TL_RANGE, &e,
                 "line 1, column 26 (/k/\\u{1b}[2J): 1e999 is too large a number");
}

Test(json, every_cut_of_a_document_is_refused)
{
    const char *text = "{\"a\":[1,2.5e1,\"\\ud83d\\ude00\",true,null],\"b\":{\"c\":\"\xc3\xa9\"}}";
    for (size_t len = 0; len < strlen(text); len++) {
        char *copy = malloc(len + 1); /* exact size: the sanitizer sees a read beyond it */
        memcpy(copy, text, len);
        struct tl_json *doc = NULL;
        cr_expect(tl_json_parse(copy, len, &limits, &doc, NULL) != TL_OK && !doc, "%zu", len);
        free(copy);
    }
}

Test(json, mutated_documents_do_no_harm)
{
    const char *text = "{\"a\":[1,2.5e1,\"\\ud83d\\ude00\",true,null],\"b\":{\"c\":\"\xc3\xa9\"}}";
    static const char alphabet[] = "{}[]\",:\\u0d8e1.-+ \x01\x80\xff\xc3nt";
    struct tl_random rng;
    tl_random_seed(&rng, 7);
    char copy[128];
    size_t len = strlen(text), accepted = 0;
    for (int round = 0; round < 20000; round++) {
        memcpy(copy, text, len);
        for (int i = 0; i < 1 + round % 3; i++)
            copy[tl_random_next(&rng) % len] = alphabet[tl_random_next(&rng) % (sizeof alphabet)];
        struct tl_json *doc = NULL;
        accepted += tl_json_parse(copy, len, &limits, &doc, NULL) == TL_OK;
        tl_json_destroy(doc);
    }
    cr_expect(accepted > 0 && accepted < 10000, "%zu", accepted);
}
