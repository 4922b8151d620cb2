/* The document: what is known is in it, what is not is absent. The schema itself is
 * tested by check_schema.py. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixtures.h"
#include "tightlink/base/json.h"

static const struct tl_json_limits limits = {1 << 20, 10000, 16};

static struct tl_json *make_document(const char *name, bool pretty)
{
    struct fixture fixture;
    struct tl_buf out = TL_BUF_INIT;
    struct tl_json *doc = NULL;
    struct tl_error error = {0};
    cr_assert(fixture_make(name, &fixture));
    cr_assert(tl_document_write(&fixture.run, fixture.facts, &fixture.findings, pretty, &out) ==
              TL_OK);
    cr_expect(pretty || strchr(out.data, '\n') == out.data + out.len - 1, "one line");
    cr_assert(tl_json_parse(out.data, out.len, &limits, &doc, &error) == TL_OK, "%s", error.text);
    tl_buf_finish(&out);
    fixture_finish(&fixture);
    return doc;
}

/* The value at "a/b/0/c" below at. */
static bool look(struct tl_json_at at, const char *path, struct tl_json_at *ret_at)
{
    char step[64];
    while (*path) {
        size_t len = strcspn(path, "/");
        memcpy(step, path, len);
        step[len] = '\0';
        if (tl_json_type(&at) == TL_JSON_ARRAY)
            at = tl_json_item(&at, (size_t)atoi(step));
        else if (!tl_json_find(&at, step, &at))
            return false;
        path += len + (path[len] == '/');
    }
    *ret_at = at;
    return true;
}

static void expect_number(const struct tl_json *doc, const char *path, double wanted)
{
    struct tl_json_at at;
    double value = -1;
    cr_assert(look(tl_json_root(doc), path, &at), "%s", path);
    cr_expect(tl_json_number(&at, &value, NULL) == TL_OK && value == wanted, "%s: %g", path, value);
}

static void expect_string(const struct tl_json *doc, const char *path, const char *wanted)
{
    struct tl_json_at at;
    const char *value = NULL;
    cr_assert(look(tl_json_root(doc), path, &at), "%s", path);
    cr_assert(tl_json_string(&at, &value, NULL) == TL_OK, "%s", path);
    cr_expect_str_eq(value, wanted);
}

static void expect_absent(const struct tl_json *doc, const char *path)
{
    struct tl_json_at at;
    cr_expect(!look(tl_json_root(doc), path, &at), "%s is there", path);
}

Test(json, every_part_is_filled)
{
    struct tl_json *doc = make_document("limited", true);
    expect_string(doc, "format", "tightlink.findings/1");
    expect_string(doc, "run/target/address", "203.0.113.33");
    expect_number(doc, "run/target/family", 4);
    expect_number(doc, "run/goal/rate_bps", 900e6);
    expect_string(doc, "run/complaint", "download is slow");
    expect_number(doc, "run/received_bytes", 512345678);
    expect_string(doc, "run/quality/status", "valid");
    expect_string(doc, "verdict/cause", "receive-window");
    expect_number(doc, "verdict/fixed_bps", 930e6);
    expect_string(doc, "verdict/next_cause", "capacity");
    expect_string(doc, "findings/0/severity", "limits");
    expect_string(doc, "findings/0/evidence/0/result", "true");
    expect_number(doc, "findings/0/evidence/0/values/download.ledger_rwnd_ratio", 0.91);
    expect_string(doc, "findings/0/evidence/0/values/download.cc", "cubic");
    expect_number(doc, "findings/0/remedies/0/predicted_bps", 930e6);
    expect_string(doc, "findings/2/missing/0", "download.paced_retrans_ratio");
    expect_number(doc, "ladder/0/low_bps", 96e6);
    expect_number(doc, "ledger/0/from_ns", 1e9);
    expect_number(doc, "ledger/0/to_ns", 6e9);
    expect_number(doc, "ledger/0/rwnd_ratio", 0.91);
    expect_number(doc, "segments/1/rtt_add_ns", 40.9e6);
    expect_string(doc, "stages/2/id", "stream");
    expect_number(doc, "facts/download.retrans_ratio/high", 4e-5);
    tl_json_destroy(doc);
}

Test(json, what_is_not_known_is_absent_and_never_zero)
{
    struct tl_json *doc = make_document("inconclusive", false);
    struct tl_json_at at;
    expect_absent(doc, "verdict/cause");
    expect_absent(doc, "verdict/confidence");
    expect_absent(doc, "verdict/ceiling_bps");
    expect_absent(doc, "findings/0/ceiling_bps");
    expect_absent(doc, "findings/0/severity");
    expect_absent(doc, "ladder/0/bps");
    expect_absent(doc, "segments/0/rtt_add_ns");
    expect_absent(doc, "run/goal/rate_bps");
    cr_expect(look(tl_json_root(doc), "run/goal/rtt_ns", &at) == false);
    expect_string(doc, "facts/upload.rtt_at_loss_ns/reason", "no loss was seen");
    expect_absent(doc, "facts/upload.streams_goodput_bps/value");
    expect_string(doc, "verdict/deciding/0", "upload.streams_goodput_bps");
    tl_json_destroy(doc);
}

Test(json, the_schema_is_the_file_of_the_source_tree)
{
    char text[65536];
    FILE *file = fopen(SCHEMA_FILE, "r");
    cr_assert(file);
    size_t len = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[len] = '\0';
    cr_expect_str_eq(tl_document_schema(), text);
}
