/* The JSON writer: exact text, exact numbers, always valid. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "tightlink/base/json.h"
#include "tightlink/base/json_write.h"
#include "tightlink/base/random.h"

static const struct tl_json_limits limits = {1 << 20, 100000, 32};

Test(json_write, layout_is_as_people_expect)
{
    struct tl_buf out = TL_BUF_INIT;
    struct tl_json_writer w;
    tl_json_writer_init(&w, &out, false);
    tl_json_begin_object(&w, NULL);
    tl_json_add_string(&w, "s", "a\"\\\n\x1b\x7f");
    tl_json_begin_array(&w, "a");
    tl_json_add_integer(&w, NULL, 1);
    tl_json_add_number(&w, NULL, (double)NAN);
    tl_json_add_string(&w, NULL, NULL);
    tl_json_end(&w);
    tl_json_begin_object(&w, "empty");
    tl_json_end(&w);
    tl_json_add_number(&w, "absent", (double)INFINITY);
    tl_json_add_string(&w, "absent too", NULL);
    tl_json_add_bool(&w, "b", true);
    tl_json_end(&w);
    cr_expect_str_eq(tl_buf_text(&out),
                     "{\n \"s\": \"a\\\"\\\\\\n\\u001b\\u007f\",\n \"a\": [\n  1,\n"
                     "  null,\n  null\n ],\n \"empty\": {},\n \"b\": true\n}\n");
    tl_buf_finish(&out);
    tl_json_writer_init(&w, &out, true);
    tl_json_begin_object(&w, NULL);
    tl_json_add_integer(&w, "x", 1);
    tl_json_add_null(&w, "y");
    tl_json_end(&w);
    cr_expect_str_eq(tl_buf_text(&out), "{\"x\":1,\"y\":null}\n");
    tl_buf_finish(&out);
}

Test(json_write, what_a_terminal_obeys_stands_as_a_code)
{
    struct tl_buf out = TL_BUF_INIT;
    struct tl_json_writer w;
    tl_json_writer_init(&w, &out, true);
    tl_json_begin_object(&w, NULL);
    tl_json_add_string(&w, "\x1b",
                       "\xc2\x9b"
                       "31m \xe2\x80\xae \xe2\x80\x8b \xf3\xa0\x80\x81 \xc3\xa9");
    tl_json_end(&w);
    cr_expect_str_eq(tl_buf_text(&out), "{\"\\u001b\":\"\\u009b31m \\u202e \\u200b "
                                        "\\udb40\\udc01 \xc3\xa9\"}\n");
    struct tl_json *doc = NULL;
    cr_assert_eq(tl_json_parse(out.data, out.len, &limits, &doc, NULL), TL_OK);
    tl_json_destroy(doc);
    tl_buf_finish(&out);
}

static double round_trip(double value)
{
    struct tl_buf out = TL_BUF_INIT;
    struct tl_json_writer w;
    tl_json_writer_init(&w, &out, true);
    tl_json_begin_array(&w, NULL);
    tl_json_add_number(&w, NULL, value);
    tl_json_end(&w);
    struct tl_json *doc;
    struct tl_error error = {0};
    cr_assert(tl_json_parse(out.data, out.len, &limits, &doc, &error) == TL_OK, "%s: %s", out.data,
              error.text);
    struct tl_json_at root = tl_json_root(doc), item = tl_json_item(&root, 0);
    double back = 0;
    cr_expect(tl_json_number(&item, &back, NULL) == TL_OK);
    tl_json_destroy(doc);
    tl_buf_finish(&out);
    return back;
}

Test(json_write, doubles_come_back_bit_for_bit)
{
    static const double special[] = {0,
                                     -0.0,
                                     0.1,
                                     1.0 / 3,
                                     DBL_MAX,
                                     -DBL_MAX,
                                     DBL_MIN,
                                     5e-324,
                                     1e15,
                                     1e17,
                                     123456789012345678.0,
                                     99.9e6,
                                     0.91,
                                     4096,
                                     1e22,
                                     9007199254740993.0};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        double back = round_trip(special[i]);
        cr_expect(memcmp(&back, &special[i], sizeof back) == 0, "%.17g", special[i]);
    }
    struct tl_random rng;
    tl_random_seed(&rng, 3);
    for (int i = 0; i < 2000; i++) {
        double value;
        uint64_t bits = tl_random_next(&rng);
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) {
            double back = round_trip(value);
            cr_expect(memcmp(&back, &value, sizeof back) == 0, "%.17g", value);
        }
    }
}

Test(json_write, short_numbers_stay_short)
{
    struct tl_buf out = TL_BUF_INIT;
    struct tl_json_writer w;
    tl_json_writer_init(&w, &out, true);
    tl_json_begin_array(&w, NULL);
    tl_json_add_number(&w, NULL, 0.1);
    tl_json_add_number(&w, NULL, 1500);
    tl_json_add_integer(&w, NULL, INT64_MIN);
    tl_json_end(&w);
    cr_expect_str_eq(tl_buf_text(&out), "[0.1,1500,-9223372036854775808]\n");
    tl_buf_finish(&out);
}

Test(json_write, bytes_that_are_no_text_are_replaced)
{
    struct tl_buf out = TL_BUF_INIT;
    struct tl_json_writer w;
    tl_json_writer_init(&w, &out, true);
    tl_json_begin_array(&w, NULL);
    tl_json_add_string(&w, NULL, "a\xff\xc3(\xed\xa0\x80\xc3\xa9");
    tl_json_end(&w);
    cr_expect_str_eq(tl_buf_text(&out), "[\"a\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd"
                                        "\xef\xbf\xbd\xc3\xa9\"]\n");
    struct tl_json *doc = NULL;
    cr_expect(tl_json_parse(out.data, out.len, &limits, &doc, NULL) == TL_OK);
    tl_json_destroy(doc);
    tl_buf_finish(&out);
}
