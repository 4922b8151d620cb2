/* Fuzz target: the reader of saved runs, and with it the JSON reader and the facts. What
 * it takes must be the same when it is written and read again. */
#include <string.h>

#include "fixtures.h"
#include "fuzz.h"

unsigned long fuzz_accepted;

static const struct tl_findings no_findings = {.verdict = {.state = TL_INCONCLUSIVE}};

static void write_run(const struct tl_run *run, const struct tl_facts *facts, struct tl_buf *out)
{
    MUST(tl_document_write(run, facts, &no_findings, false, out) == TL_OK);
}

static void read_again(const struct tl_buf *first)
{
    static struct tl_run run;
    struct tl_facts *facts = NULL;
    struct tl_buf second = TL_BUF_INIT;
    MUST(tl_document_read(first->data, first->len, &run, &facts, NULL) == TL_OK);
    write_run(&run, facts, &second);
    MUST(strcmp(tl_buf_text(first), tl_buf_text(&second)) == 0);
    tl_facts_destroy(facts);
    tl_buf_finish(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tl_run run, before;
    struct tl_facts *facts = NULL;
    struct tl_error error = {0};
    before = run;
    if (tl_document_read((const char *)data, size, &run, &facts, &error) != TL_OK) {
        MUST(!facts && error.text[0] && memcmp(&run, &before, sizeof run) == 0);
        return 0;
    }
    struct tl_buf first = TL_BUF_INIT;
    write_run(&run, facts, &first);
    read_again(&first);
    tl_facts_derive(facts);
    tl_facts_destroy(facts);
    tl_buf_finish(&first);
    fuzz_accepted++;
    return 0;
}

static const char *const seeds[] = {"capacity", "goal-met", "inconclusive"};
const unsigned fuzz_seed_count = sizeof seeds / sizeof *seeds;

size_t fuzz_seed(unsigned number, uint8_t *bytes)
{
    struct fixture fixture;
    struct tl_buf out = TL_BUF_INIT;
    MUST(fixture_make(seeds[number], &fixture));
    write_run(&fixture.run, fixture.facts, &out);
    MUST(out.len <= FUZZ_INPUT_MAX);
    memcpy(bytes, out.data, out.len);
    size_t len = out.len;
    tl_buf_finish(&out);
    fixture_finish(&fixture);
    return len;
}
