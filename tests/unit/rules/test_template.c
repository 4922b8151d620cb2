/* Sentences with holes. */
#include <criterion/criterion.h>
#include <string.h>

#include "logic.h"
#include "template.h"

static struct tl_arena arena;
static struct tl_formula_scope scope;

static void tear_down(void)
{
    tl_arena_finish(&arena);
}

TestSuite(template, .fini = tear_down);

/* What three tests of a rule saw. */
static const struct tl_trace traces[] = {
    {.truth = TL_FALSE}, {.truth = TL_TRUE}, {.truth = TL_UNKNOWN_TRUTH}};

static const struct tl_logic *find_condition(void *context, const char *id)
{
    static const struct tl_logic tests[] = {{.kind = TL_LOGIC_TEST, .test = 0},
                                            {.kind = TL_LOGIC_TEST, .test = 1},
                                            {.kind = TL_LOGIC_TEST, .test = 2}};
    static const char *const ids[] = {"is-false", "is-true", "is-unknown"};
    (void)context;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (strcmp(ids[i], id) == 0)
            return &tests[i];
    return NULL;
}

static const struct tl_template_conditions conditions = {find_condition, NULL};

static char *render(const char *text, struct tl_facts *facts, bool *ret_complete)
{
    static struct tl_formula_env env;
    struct tl_template template = {0};
    struct tl_error error = {.text = ""};
    struct tl_buf out = TL_BUF_INIT;
    const struct tl_template_words words = {"this PC", "the far end", "this PC", "download",
                                            traces};
    cr_assert_eq(tl_template_compile(&arena, &scope, &conditions, text, &template, &error), TL_OK,
                 "%s: %s", text, error.text);
    tl_formula_env_init(&env, &scope, facts, TL_DOWNLOAD);
    bool complete = tl_template_render(&template, &env, &words, &out);
    if (ret_complete)
        *ret_complete = complete;
    char *copy = tl_arena_strdup(&arena, tl_buf_text(&out));
    tl_buf_finish(&out);
    return copy;
}

Test(template, a_rate_has_no_more_digits_than_it_is_known_to)
{
    struct tl_facts *facts = tl_facts_create();
    tl_facts_set_range(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 25.34e6, 23e6, 27e6, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, streams_goodput_bps), 193.4e6, "");
    cr_expect_str_eq(render("{flow.goodput_bps|bps}, {4 * flow.goodput_bps|bps}, "
                            "{flow.streams_goodput_bps|bps}",
                            facts, NULL),
                     "25 Mb/s, 100 Mb/s, 193 Mb/s");
    tl_facts_destroy(facts);
}

static void expect_error(const char *text, const char *part)
{
    struct tl_template template = {0};
    struct tl_error error = {.text = ""};
    cr_expect_neq(tl_template_compile(&arena, &scope, &conditions, text, &template, &error), TL_OK,
                  "%s", text);
    cr_expect(strstr(error.text, part), "\"%s\" lacks \"%s\"", error.text, part);
}

Test(template, fills_values_and_words)
{
    struct tl_facts *facts = tl_facts_create();
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, snd_wnd_max_bytes), 524288, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, rtt_min_ns), 42e6, "");
    tl_facts_set_text(facts, TL_FLOW(TL_DOWNLOAD, cc), "cub\x1b[31mic", "");
    cr_expect_str_eq(render("{Place} stops at {flow.snd_wnd_max_bytes|bytes}, "
                            "{bps(flow.snd_wnd_max_bytes, flow.rtt_min_ns)|bps}; {sender}.",
                            facts, NULL),
                     "This PC stops at 512 KiB, 99.9 Mb/s; the far end.");
    cr_expect_str_eq(render("{flow.snd_wnd_max_bytes|integer}", facts, NULL), "524288");
    cr_expect_str_eq(render("{{{direction}}}", facts, NULL), "{download}");
    cr_expect(!strchr(render("{flow.cc|text}", facts, NULL), '\x1b'),
              "a text from the other end reaches no terminal as it is");
    tl_facts_destroy(facts);
}

Test(template, a_group_asks_a_test)
{
    struct tl_facts *facts = tl_facts_create();
    cr_expect_str_eq(render("a[[?is-true| b]][[?is-false| c]][[?is-unknown| d]].", facts, NULL),
                     "a b.");
    cr_expect_str_eq(render("a[[!is-true| b]][[!is-false| c]][[!is-unknown| d]].", facts, NULL),
                     "a c d.", "what does not hold, or is not known to");
    cr_expect_str_eq(render("a[[?is-true| {flow.rtt_min_ns|ns}]].", facts, NULL), "a.",
                     "unknown values still take their group with them");
    expect_error("[[?no-such-test| b]]", "no test or condition \"no-such-test\"");
    expect_error("[[?is-true b]]", "a test's id and |");
    tl_facts_destroy(facts);
}

Test(template, a_text_stands_for_what_is_unknown)
{
    struct tl_facts *facts = tl_facts_create();
    bool complete = false;
    cr_expect_str_eq(render("ethtool -K {sender.link_name|text|IFACE} tso on", facts, &complete),
                     "ethtool -K IFACE tso on");
    cr_expect(complete, "nothing is lacking");
    tl_facts_set_text(facts, TL_FAR(link_name), "eno1", "");
    cr_expect_str_eq(render("ethtool -K {sender.link_name|text|IFACE} tso on", facts, &complete),
                     "ethtool -K eno1 tso on");
    cr_expect_str_eq(render("{receiver.tcp_rmem_max_bytes|bytes|}.", facts, &complete), ".");
    expect_error("{sender.link_name|nothing|IFACE}", "the format \"nothing\"");
    tl_facts_destroy(facts);
}

Test(template, writes_large_numbers_out)
{
    struct tl_facts *facts = tl_facts_create();
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, responsiveness_rpm), 2437, "");
    cr_expect_str_eq(render("{flow.responsiveness_rpm|number}", facts, NULL), "2437");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, responsiveness_rpm), 999.7, "");
    cr_expect_str_eq(render("{flow.responsiveness_rpm|number}", facts, NULL), "1000");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, responsiveness_rpm), 3.14159, "");
    cr_expect_str_eq(render("{flow.responsiveness_rpm|number}", facts, NULL), "3.14");
    tl_facts_destroy(facts);
}

Test(template, writes_two_digits_of_what_was_reckoned)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{41.4, "41"}, {10813, "11000"}, {1483, "1500"}, {99.7, "100"}, {0, "0"}};
    struct tl_facts *facts = tl_facts_create();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, responsiveness_rpm), cases[i].value, "");
        cr_expect_str_eq(render("{flow.responsiveness_rpm|rough}", facts, NULL), cases[i].text);
    }
    tl_facts_destroy(facts);
}

Test(template, leaves_out_groups_with_unknown_values)
{
    struct tl_facts *facts = tl_facts_create();
    bool complete = false;
    cr_expect_str_eq(render("seen[[: {flow.goodput_bps|bps}]].", facts, &complete), "seen.");
    cr_expect(complete);
    cr_expect_str_eq(render("seen: {flow.goodput_bps|bps}.", facts, &complete), "seen: unknown.");
    cr_expect_not(complete);
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 1e6, "");
    cr_expect_str_eq(render("seen[[: {flow.goodput_bps|bps}]].", facts, &complete),
                     "seen: 1 Mb/s.");
    cr_expect(complete);
    tl_facts_destroy(facts);
}

Test(template, refuses_what_it_cannot_write)
{
    expect_error("{flow.goodput_bps|ns}", "cannot be written as ns");
    expect_error("{flow.goodput_bps|furlongs}", "format \"furlongs\"");
    expect_error("{flow.nope|bps}", "there is no fact");
    expect_error("{somewhere}", "neither");
    expect_error("{", "without");
    expect_error("}", "without");
    expect_error("[[ open", "without");
    expect_error("closed ]]", "without");
    expect_error("[[ a [[ b ]] ]]", "inside");
    expect_error("{}", "neither");
    expect_error("{|}", "format");
}
