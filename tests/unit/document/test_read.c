/* Saved runs come back whole; hostile ones do not come in. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fixtures.h"
#include "tightlink/base/random.h"

/* Whether the reader takes the bytes; checks what must hold of every answer. */
static int feed(const uint8_t *data, size_t size)
{
    struct tl_run *run = calloc(1, sizeof *run);
    struct tl_facts *facts = NULL;
    struct tl_error error = {0};
    enum tl_status status = tl_document_read((const char *)data, size, run, &facts, &error);
    cr_assert((status == TL_OK) == (facts != NULL) && (status == TL_OK || error.text[0]));
    if (facts)
        tl_facts_derive(facts);
    tl_facts_destroy(facts);
    free(run);
    return status == TL_OK;
}

static void write_document(const struct tl_run *run, const struct tl_facts *facts,
                           const struct tl_findings *findings, struct tl_buf *out)
{
    cr_assert(tl_document_write(run, facts, findings, false, out) == TL_OK);
}

Test(read, a_run_comes_back_as_it_was)
{
    for (size_t i = 0; fixture_names[i]; i++) {
        struct fixture fixture;
        struct tl_buf first = TL_BUF_INIT, second = TL_BUF_INIT;
        struct tl_run run;
        struct tl_facts *facts = NULL;
        struct tl_error error = {0};
        cr_assert(fixture_make(fixture_names[i], &fixture));
        write_document(&fixture.run, fixture.facts, &fixture.findings, &first);
        cr_assert(tl_document_read(first.data, first.len, &run, &facts, &error) == TL_OK, "%s",
                  error.text);
        write_document(&run, facts, &fixture.findings, &second);
        cr_expect_str_eq(second.data, first.data);
        cr_expect(run.quality == fixture.run.quality && run.strange_facts == 0);
        cr_expect_str_eq(run.host_mark, fixture.run.host_mark);
        cr_expect(run.download == fixture.run.download && run.upload == fixture.run.upload);
        cr_expect(isnan(run.goal.bps) == isnan(fixture.run.goal.bps));
        cr_expect(run.stages[1].received_bytes == 900000);
        tl_facts_destroy(facts);
        tl_buf_finish(&first);
        tl_buf_finish(&second);
        fixture_finish(&fixture);
    }
}

/* The limited fixture's document with the first `from` replaced by `to`. */
static char *document_with(const char *from, const char *to)
{
    struct fixture fixture;
    struct tl_buf out = TL_BUF_INIT, changed = TL_BUF_INIT;
    cr_assert(fixture_make("limited", &fixture));
    write_document(&fixture.run, fixture.facts, &fixture.findings, &out);
    fixture_finish(&fixture);
    const char *place = strstr(out.data, from);
    cr_assert(place, "%s is not in the document", from);
    tl_buf_add(&changed, out.data, (size_t)(place - out.data));
    tl_buf_adds(&changed, to);
    tl_buf_adds(&changed, place + strlen(from));
    tl_buf_finish(&out);
    return tl_buf_steal(&changed);
}

static void expect_refused(const char *from, const char *to, enum tl_status wanted,
                           const char *sentence)
{
    char *text = document_with(from, to);
    struct tl_run run, before;
    struct tl_facts *facts = NULL;
    struct tl_error error = {0};
    memset(&run, 0x5a, sizeof run);
    before = run;
    enum tl_status status = tl_document_read(text, strlen(text), &run, &facts, &error);
    cr_expect(status == wanted && !facts, "%s: %s", to, tl_status_name(status));
    cr_expect_str_eq(error.text, sentence);
    cr_expect(memcmp(&run, &before, sizeof run) == 0, "the run is untouched");
    free(text);
}

Test(read, lies_are_refused_with_their_place)
{
    expect_refused("findings/1", "findings/2", TL_VERSION,
                   "/format: this is no document of format tightlink.findings/1");
    expect_refused("01J9ZK5V8Q", "01J9ZK5V8I", TL_SYNTAX, "/run/id: this is no ULID");
    expect_refused("2026-11-20T20", "yesterday, 20", TL_SYNTAX,
                   "/run/started: this is no RFC 3339 time");
    expect_refused("\"duration_ns\":14200000000", "\"duration_ns\":-1", TL_RANGE,
                   "/run/duration_ns: -1 is not between 0 and 9223372036854775807");
    expect_refused("\"family\":4", "\"family\":5", TL_RANGE,
                   "/run/target/family: the family is 4 or 6");
    expect_refused("\"kind\":\"tightlink\"", "\"kind\":\"netcat\"", TL_UNKNOWN,
                   "/run/target/kind: this word is not known here");
    expect_refused("[\"download\"]", "[]", TL_SYNTAX, "/run/directions: no direction");
    expect_refused("[\"download\"]", "[\"sideways\"]", TL_UNKNOWN,
                   "/run/directions/0: neither download nor upload");
    expect_refused("\"rate_bps\":900000000", "\"rate_bps\":0", TL_RANGE,
                   "/run/goal/rate_bps: this is below 1");
    expect_refused("\"status\":\"valid\"", "\"status\":\"fine\"", TL_UNKNOWN,
                   "/run/quality/status: this word is not known here");
    expect_refused("\"reasons\":[]", "\"reasons\":[1]", TL_SYNTAX,
                   "/run/quality/reasons/0: expected a string, found an integer");
    expect_refused("\"reasons\":[]", "\"reasons\":[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]",
                   TL_LIMIT, "/run/quality/reasons: more than 8");
    expect_refused("\"id\":\"hosts\"", "\"id\":\"a stage with a very long name\"", TL_LIMIT,
                   "/stages/0/id: longer than 23 bytes");
    expect_refused("\"state\":\"done\"", "\"state\":\"dome\"", TL_UNKNOWN,
                   "/stages/0/state: this word is not known here");
    expect_refused("\"mtu_bytes\":1500", "\"mtu_bytes\":\"1500\"", TL_SYNTAX,
                   "/segments/0/mtu_bytes: expected a number, found a string");
    expect_refused("\"facts\":", "\"fakts\":", TL_UNKNOWN, "/: the key \"facts\" is missing");
    expect_refused("\"value\":\"linux\"", "\"value\":4", TL_SYNTAX,
                   "/facts/near.os/value: expected a string, found an integer");
}

Test(read, documents_of_a_later_writer_are_taken)
{
    char *text = document_with("\"facts\":{", "\"later\":[{}],\"facts\":{\"near.later_count\":{},");
    struct tl_run run;
    struct tl_facts *facts = NULL;
    struct tl_error error = {0};
    cr_assert(tl_document_read(text, strlen(text), &run, &facts, &error) == TL_OK, "%s",
              error.text);
    cr_expect(run.strange_facts == 1);
    cr_expect_str_eq(run.strange_fact, "near.later_count");
    cr_expect(tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 0) == 96.1e6);
    tl_facts_destroy(facts);
    free(text);
}

Test(read, a_document_cut_at_any_byte_is_refused)
{
    struct fixture fixture;
    struct tl_buf out = TL_BUF_INIT;
    cr_assert(fixture_make("limited", &fixture));
    write_document(&fixture.run, fixture.facts, &fixture.findings, &out);
    cr_expect(feed((const uint8_t *)out.data, out.len) == 1);
    for (size_t len = 0; len < out.len - 1; len++) { /* the last byte is the newline */
        uint8_t *cut = malloc(len + 1);
        memcpy(cut, out.data, len);
        cr_expect(feed(cut, len) == 0, "cut at %zu", len);
        free(cut);
    }
    tl_buf_finish(&out);
    fixture_finish(&fixture);
}

Test(read, mutated_documents_do_no_harm)
{
    static const char alphabet[] = "{}[]\",:\\u0d8e1.-+ \x01\x80\xff\xc3nt";
    struct fixture fixture;
    struct tl_buf out = TL_BUF_INIT;
    struct tl_random rng;
    int taken = 0;
    cr_assert(fixture_make("limited", &fixture));
    write_document(&fixture.run, fixture.facts, &fixture.findings, &out);
    uint8_t *copy = malloc(out.len);
    tl_random_seed(&rng, 5);
    for (int round = 0; round < 5000; round++) {
        memcpy(copy, out.data, out.len);
        for (int i = 0; i <= round % 4; i++)
            copy[tl_random_next(&rng) % out.len] =
                (uint8_t)alphabet[tl_random_next(&rng) % sizeof alphabet];
        taken += feed(copy, out.len);
    }
    cr_expect(taken > 0 && taken < 5000, "%d", taken);
    free(copy);
    tl_buf_finish(&out);
    fixture_finish(&fixture);
}

Test(read, a_file_above_the_limit_is_refused_unread)
{
    size_t len = TL_DOCUMENT_BYTES_MAX + 1;
    char *text = malloc(len);
    struct tl_run run;
    struct tl_facts *facts = NULL;
    memset(text, ' ', len);
    cr_expect(tl_document_read(text, len, &run, &facts, NULL) == TL_LIMIT);
    free(text);
}
