/* Fuzz target: a folder of rules with one hostile file, a rule or the shared definitions (the first
 * byte chooses). What is taken is judged over facts that are known and over none, and explained. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "tightlink/rules/rules.h"
#include "tightlink/rules/why.h"

unsigned long fuzz_accepted;

static const char rule[] =
    "{\"format\": \"tightlink.rule/1\", \"id\": \"sound\", \"cause\": \"capacity\",\n"
    " \"segment\": \"path\", \"title\": \"A sound rule\", \"severity\": \"limits\",\n"
    " \"names\": {\"twice\": \"2 * flow.goodput_bps\"},\n"
    " \"when\": {\"all\": [{\"id\": \"one\", \"test\": [\"flow.goodput_bps\", \">\", \"1Mbps\"]},\n"
    "   {\"id\": \"two\", \"test\": [\"flow.cc\", \"in\", [\"cubic\", \"reno\"]]}]},\n"
    " \"ceiling\": {\"bps\": \"twice\", \"label\": \"twice\"},\n"
    " \"sentence\": {\"found\": \"f\", \"ruled_out\": \"r\", \"unsure\": \"u\"}}\n";

static char folder[64], rule_file[96], shared_file[96];

static void remove_folder(void)
{
    (void)unlink(rule_file);
    (void)unlink(shared_file);
    (void)rmdir(folder);
}

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/tightlink-fuzz-rules-XXXXXX");
    MUST(mkdtemp(folder));
    snprintf(rule_file, sizeof rule_file, "%s/sound.json", folder);
    snprintf(shared_file, sizeof shared_file, "%s/shared.json", folder);
    MUST(atexit(remove_folder) == 0);
}

static void write_file(const char *path, const void *bytes, size_t len)
{
    FILE *file = fopen(path, "wb");
    MUST(file && fwrite(bytes, 1, len, file) == len && fclose(file) == 0);
}

static struct tl_facts *known_facts(void)
{
    struct tl_facts *facts = tl_facts_create();
    MUST(facts);
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 25.3e6, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, rtt_min_ns), 50.1e6, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, steady_ns), 5e9, "");
    tl_facts_set_range(facts, TL_FLOW(TL_DOWNLOAD, retrans_ratio), 0.001, 0.0004, 0.002, "");
    tl_facts_set_text(facts, TL_FLOW(TL_DOWNLOAD, cc), "cubic", "");
    tl_facts_set_bool(facts, TL_FLOW(TL_DOWNLOAD, sack_ok), true, "");
    return facts;
}

static void judge(const struct tl_rules *rules, const struct tl_facts *facts)
{
    const struct tl_question question = {.download = true, .upload = true, .quality_reason = ""};
    struct tl_findings *findings = NULL;
    MUST(tl_rules_judge(rules, facts, &question, &findings, NULL) == TL_OK);
    MUST(findings && findings->verdict.sentence && *findings->verdict.sentence);
    tl_findings_destroy(findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tl_facts *known, *none;
    struct tl_rules *rules = NULL;
    struct tl_error error = {0};
    if (!known) {
        known = known_facts();
        none = tl_facts_create();
        MUST(known && none);
        make_folder();
    }
    if (size == 0)
        return 0;
    (void)unlink(shared_file);
    if (data[0] & 1) {
        write_file(rule_file, rule, strlen(rule));
        write_file(shared_file, data + 1, size - 1);
    } else {
        write_file(rule_file, data + 1, size - 1);
    }
    if (tl_rules_load_directory(folder, &rules, &error) != TL_OK) {
        MUST(!rules && error.text[0]);
        return 0;
    }
    struct tl_buf page = TL_BUF_INIT;
    judge(rules, known);
    judge(rules, none);
    for (size_t i = 0; i < tl_rules_count(rules); i++)
        MUST(tl_rules_explain(rules, tl_rules_id_at(rules, i), &page) == TL_OK);
    tl_buf_finish(&page);
    tl_rules_destroy(rules);
    fuzz_accepted++;
    return 0;
}

/* Rules of the program that need nothing of shared.json. */
static const char *const files[] = {"path/mtu-low.json", "flow/delayed-ack.json",
                                    "host/idle-restart.json", "path/mss-clamp.json"};
static const char shared[] =
    "{\"format\": \"tightlink.shared/1\", \"about\": \"a\", \"functions\": {\"twice_of\": {\n"
    " \"takes\": {\"n\": \"count\"}, \"gives\": \"count\", \"is\": \"2 * n\",\n"
    " \"because\": \"b\", \"examples\": {\"twice_of(4)\": 8}}}, \"names\": {}, \"tests\": {}}\n";
const unsigned fuzz_seed_count = 2 + sizeof files / sizeof *files;

static size_t seed_of(uint8_t *bytes, uint8_t kind, const char *text)
{
    bytes[0] = kind;
    memcpy(bytes + 1, text, strlen(text));
    return 1 + strlen(text);
}

size_t fuzz_seed(unsigned number, uint8_t *bytes)
{
    if (number < 2)
        return seed_of(bytes, (uint8_t)number, number ? shared : rule);
    char path[512], text[FUZZ_INPUT_MAX] = "";
    snprintf(path, sizeof path, RULES_FOLDER "/%s", files[number - 2]);
    FILE *file = fopen(path, "rb");
    MUST(file && fread(text, 1, sizeof text - 64, file) > 0);
    fclose(file);
    /* A rule stands in the file that its id names. */
    char *id = strstr(text, "\"id\": \"");
    MUST(id);
    id += strlen("\"id\": \"");
    size_t head = (size_t)(id - text);
    bytes[0] = 0;
    return 1 + (size_t)snprintf((char *)bytes + 1, FUZZ_INPUT_MAX - 1, "%.*ssound%s", (int)head,
                                text, strchr(id, '"'));
}
