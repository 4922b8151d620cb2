/* Saving loses nothing; loading believes nothing. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "../key_of.h"
#include "tightlink/facts/save.h"

static const struct tl_json_limits limits = {1 << 20, 10000, 8};

static void save_text(const struct tl_facts *facts, struct tl_buf *out)
{
    struct tl_json_writer writer;
    tl_json_writer_init(&writer, out, false);
    tl_facts_save(facts, &writer, NULL);
}

static enum tl_status load_text(const char *text, struct tl_facts **ret_facts,
                                struct tl_facts_strange *ret_strange, struct tl_error *reterr)
{
    struct tl_json *doc;
    enum tl_status status = tl_json_parse(text, strlen(text), &limits, &doc, reterr);
    cr_assert(status == TL_OK, "%s", reterr->text);
    struct tl_json_at root = tl_json_root(doc);
    status = tl_facts_load(&root, ret_facts, ret_strange, reterr);
    tl_json_destroy(doc);
    return status;
}

/* Every fact of the table in every scope, each third unknown, numbers that are hard to print. */
static struct tl_facts *make_full(void)
{
    struct tl_facts *facts = tl_facts_create();
    static const enum tl_scope scopes[][2] = {
        [TL_SUBJECT_HOST] = {TL_SCOPE_NEAR, TL_SCOPE_FAR},
        [TL_SUBJECT_PATH] = {TL_SCOPE_PATH, TL_SCOPE_PATH},
        [TL_SUBJECT_FLOW] = {TL_SCOPE_DOWNLOAD, TL_SCOPE_UPLOAD},
    };
    for (size_t i = 0; i < 2 * (size_t)TL_FACT_COUNT; i++) {
        const struct tl_fact_def *def = tl_fact_def((enum tl_fact_name)(i / 2));
        struct tl_fact_key key = TL_KEY(scopes[def->subject][i % 2], (enum tl_fact_name)(i / 2));
        char text[32];
        snprintf(text, sizeof text, "caf\xc3\xa9 \"%zu\"\n", i);
        if (i % 3 == 0)
            tl_facts_set_unknown(facts, key, "reason %zu", i);
        else if (def->unit == TL_UNIT_TEXT)
            tl_facts_set_text(facts, key, text, "");
        else if (def->unit == TL_UNIT_BOOL)
            tl_facts_set_bool(facts, key, i % 2, "method");
        else
            tl_facts_set_range(facts, key, (double)i / 7, (double)i / 7 - (double)(i % 2) / 3,
                               (double)i / 7, "a method");
    }
    return facts;
}

static void expect_same(struct tl_fact_key key, const struct tl_fact *fact, void *context)
{
    struct tl_fact other;
    char id[TL_FACT_ID_SIZE];
    tl_facts_get(context, key, &other);
    tl_fact_id(key, id);
    cr_expect(other.state == fact->state && other.number == fact->number &&
                  other.low == fact->low && other.high == fact->high,
              "%s", id);
    cr_expect_str_eq(other.reason, fact->reason);
    cr_expect_str_eq(other.method, fact->method);
    cr_expect_str_eq(other.text ? other.text : "", fact->text ? fact->text : "");
}

Test(save, all_facts_come_back_as_they_were)
{
    struct tl_facts *facts = make_full(), *back = NULL;
    struct tl_buf first = TL_BUF_INIT, second = TL_BUF_INIT;
    struct tl_error error = {0};
    struct tl_facts_strange strange;
    save_text(facts, &first);
    cr_assert(load_text(tl_buf_text(&first), &back, &strange, &error) == TL_OK, "%s", error.text);
    cr_expect(strange.count == 0);
    tl_facts_each(facts, expect_same, back);
    tl_facts_each(back, expect_same, facts);
    save_text(back, &second);
    cr_expect_str_eq(tl_buf_text(&second), tl_buf_text(&first));
    tl_facts_destroy(facts);
    tl_facts_destroy(back);
    tl_buf_finish(&first);
    tl_buf_finish(&second);
}

Test(save, what_was_never_set_stays_absent)
{
    struct tl_facts *facts = tl_facts_create();
    struct tl_buf out = TL_BUF_INIT;
    tl_facts_set_bool(facts, TL_NEAR(tcp_sack), true, NULL);
    save_text(facts, &out);
    cr_expect_str_eq(tl_buf_text(&out),
                     "{\n \"near.tcp_sack\": {\n  \"state\": \"known\",\n  \"value\": true,\n"
                     "  \"unit\": \"bool\",\n  \"stage\": \"hosts\"\n }\n}\n");
    tl_facts_destroy(facts);
    tl_buf_finish(&out);
}

static void expect_refused(const char *text, enum tl_status wanted, const char *sentence)
{
    struct tl_facts *facts = NULL;
    struct tl_error error = {0};
    enum tl_status status = load_text(text, &facts, NULL, &error);
    cr_expect(status == wanted && !facts, "%s: %s", text, tl_status_name(status));
    cr_expect_str_eq(error.text, sentence);
}

#define FACT(id, rest) "{\"" id "\":{" rest "}}"

Test(save, lies_are_refused_with_their_place)
{
    expect_refused("[]", TL_SYNTAX, "/: expected an object, found an array");
    expect_refused("{\"near.os\":1}", TL_SYNTAX, "/near.os: expected an object, found an integer");
    expect_refused(FACT("near.os", ""), TL_UNKNOWN, "/near.os: the key \"state\" is missing");
    expect_refused(FACT("near.os", "\"state\":\"maybe\""), TL_SYNTAX,
                   "/near.os: the state is neither \"known\" nor \"unknown\"");
    expect_refused(FACT("path.mtu_bytes", "\"state\":\"known\",\"value\":1,\"unit\":\"bps\""),
                   TL_SYNTAX, "/path.mtu_bytes: the unit must be \"bytes\"");
    expect_refused(FACT("path.mtu_bytes", "\"state\":\"known\",\"value\":1"), TL_UNKNOWN,
                   "/path.mtu_bytes: the key \"unit\" is missing");
    expect_refused(FACT("path.mtu_bytes", "\"state\":\"known\",\"unit\":\"bytes\""), TL_UNKNOWN,
                   "/path.mtu_bytes: the key \"value\" is missing");
    expect_refused(FACT("near.os", "\"state\":\"known\",\"unit\":\"text\""), TL_UNKNOWN,
                   "/near.os: the key \"value\" is missing");
    expect_refused(
        FACT("path.mtu_bytes", "\"state\":\"known\",\"value\":\"1500\",\"unit\":\"bytes\""),
        TL_SYNTAX, "/path.mtu_bytes/value: expected a number, found a string");
    expect_refused(FACT("near.tcp_sack", "\"state\":\"known\",\"value\":1,\"unit\":\"bool\""),
                   TL_SYNTAX, "/near.tcp_sack/value: expected true or false, found an integer");
    expect_refused(
        FACT("path.mtu_bytes", "\"state\":\"known\",\"value\":5,\"low\":6,\"unit\":\"bytes\""),
        TL_RANGE, "/path.mtu_bytes: the value is not between its low and high");
}

Test(save, long_texts_are_refused)
{
    char text[2000];
    int n = snprintf(text, sizeof text, "{\"near.os\":{\"state\":\"unknown\",\"reason\":\"");
    memset(text + n, 'x', 1025);
    strcpy(text + n + 1025, "\"}}");
    expect_refused(text, TL_LIMIT, "/near.os/reason: longer than 1024 bytes");
}

Test(save, strange_ids_are_kept_out_and_counted)
{
    struct tl_facts *facts = NULL;
    struct tl_facts_strange strange = {0};
    struct tl_error error = {0};
    cr_assert(load_text("{\"near.new\\u001b[2J\":{\"state\":7},\"b\":0,"
                        "\"near.os\":{\"state\":\"unknown\",\"a later key\":[]}}",
                        &facts, &strange, &error) == TL_OK,
              "%s", error.text);
    cr_expect(strange.count == 2);
    cr_expect_str_eq(strange.first, "near.new\\u{1b}[2J");
    tl_facts_destroy(facts);
}

/* A run of an earlier version is no run of a newer one. */
Test(save, retired_facts_are_left_out_without_a_word)
{
    struct tl_facts *facts = NULL;
    struct tl_facts_strange strange = {0};
    struct tl_error error = {0};
    cr_assert(load_text("{\"download.outage_count\":{\"state\":\"known\",\"value\":0},"
                        "\"upload.window_knee_bytes\":{\"state\":\"unknown\"}}",
                        &facts, &strange, &error) == TL_OK,
              "%s", error.text);
    cr_expect(strange.count == 0);
    tl_facts_destroy(facts);
}
