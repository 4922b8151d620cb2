/* Runs every case of every rule through the public interface and reports in TAP.
 * A rule without a case for found, ruled out and cannot tell fails. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_file.h"

static struct {
    unsigned count, failed;
} tally;

static struct tl_json *bases; /* what the cases of all rules may build on */

static void report(bool ok, const char *rule, const char *name, const char *why)
{
    tally.count++;
    tally.failed += !ok;
    printf("%s %u - %s: %s\n", ok ? "ok" : "not ok", tally.count, rule, name);
    if (!ok)
        printf("# %s\n", why);
}

static void run_case(const struct tl_rules *rules, const struct tl_json_at *file, size_t index,
                     const char *rule, bool seen[4])
{
    struct tl_case test;
    struct tl_error why = {.text = ""};
    struct tl_findings *findings = NULL;
    if (tl_case_read(file, bases, index, &test, &why) != TL_OK) {
        char name[32];
        snprintf(name, sizeof name, "case %zu", index);
        report(false, rule, name, why.text);
        return;
    }
    bool ok = tl_rules_judge(rules, test.facts, &test.question, &findings, &why) == TL_OK &&
              tl_case_holds(&test, findings, &why);
    report(ok, test.rule, test.name, why.text);
    for (size_t i = 0; findings && i < findings->finding_count; i++)
        if (strcmp(findings->findings[i].rule, test.rule) == 0)
            seen[findings->findings[i].result] = true;
    if (!ok && findings)
        printf("# verdict: %s %s: %s\n", tl_verdict_state_name(findings->verdict.state),
               findings->verdict.cause ? findings->verdict.cause : "", findings->verdict.sentence);
    tl_findings_destroy(findings);
    tl_case_finish(&test);
}

static void run_file(const struct tl_rules *rules, const char *folder, const char *rule)
{
    char name[256];
    bool seen[4] = {false};
    struct tl_json *doc = NULL;
    struct tl_error why;
    snprintf(name, sizeof name, "%s.json", rule);
    if (tl_case_open(folder, name, &doc, &why) == TL_OK) {
        struct tl_json_at root = tl_json_root(doc), cases;
        if (tl_json_get_array(&root, "cases", &cases, &why) == TL_OK)
            for (size_t i = 0; i < tl_json_count(&cases); i++)
                run_case(rules, &root, i, rule, seen);
    }
    bool complete = seen[TL_FOUND] && seen[TL_RULED_OUT] && seen[TL_CANNOT_TELL];
    report(complete, rule, "has cases for found, ruled out and cannot tell",
           doc ? "one of the three is missing" : why.text);
    tl_json_destroy(doc);
}

/* The runner must be able to fail: an expectation that does not hold is seen. */
static void run_self_test(const struct tl_rules *rules)
{
    static const char text[] =
        "{\"rule\": \"receive-window\", \"cases\": [{\"name\": \"planted\", \"facts\": "
        "{\"flow.goodput_bps\": 1e6}, \"expect\": {\"result\": \"found\"}}]}";
    static const struct tl_json_limits limits = {1 << 20, 1000, 16};
    struct tl_json *doc = NULL;
    struct tl_case test;
    struct tl_findings *findings = NULL;
    struct tl_error why = {.text = ""};
    bool noticed = false;
    if (tl_json_parse(text, sizeof text - 1, &limits, &doc, &why) == TL_OK) {
        struct tl_json_at root = tl_json_root(doc);
        if (tl_case_read(&root, NULL, 0, &test, &why) == TL_OK) {
            if (tl_rules_judge(rules, test.facts, &test.question, &findings, &why) == TL_OK)
                noticed = !tl_case_holds(&test, findings, &why);
            tl_findings_destroy(findings);
            tl_case_finish(&test);
        }
    }
    tl_json_destroy(doc);
    report(noticed, "runner", "notices a planted fault", why.text);
}

/* A file of cases whose rule does not exist tests nothing. */
static void check_strays(const struct tl_rules *rules, const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        size_t len = strlen(entry->d_name);
        bool known = len < 6 || strcmp(entry->d_name, TL_CASE_BASES) == 0 ||
                     strcmp(entry->d_name + len - 5, ".json") != 0;
        for (size_t i = 0; i < tl_rules_count(rules) && !known; i++) {
            const char *id = tl_rules_id_at(rules, i);
            known = strlen(id) == len - 5 && strncmp(id, entry->d_name, len - 5) == 0;
        }
        if (!known)
            report(false, entry->d_name, "belongs to a rule", "there is no such rule");
    }
    if (dir)
        closedir(dir);
}

/* The folder and the program hold the same rules, and the folder has no fault. */
static void check_folder(const struct tl_rules *rules, const char *folder, const char *cases)
{
    struct tl_rules *read = NULL;
    struct tl_error why = {.text = "another number of rules: see src/rules/meson.build"};
    struct tl_buf faults = TL_BUF_INIT;
    size_t errors = 0;
    bool same = tl_rules_load_directory(folder, &read, &why) == TL_OK &&
                tl_rules_count(read) == tl_rules_count(rules);
    report(same, "folder", "holds the rules that are compiled in", why.text);
    tl_rules_destroy(read);
    bool checked = tl_rules_check_directory(folder, cases, &faults, &errors, &why) == TL_OK;
    report(checked && errors == 0, "folder", "passes rules check", tl_buf_text(&faults));
    tl_buf_finish(&faults);
}

int main(int argc, char **argv)
{
    struct tl_rules *rules = NULL;
    struct tl_error why = {.text = ""};
    if (argc != 3) {
        fprintf(stderr, "usage: rule-cases CASES-FOLDER RULES-FOLDER\n");
        return 2;
    }
    if (tl_rules_load_builtin(&rules, &why) != TL_OK) {
        printf("Bail out! %s\n", why.text);
        return 1;
    }
    report(tl_case_open(argv[1], TL_CASE_BASES, &bases, &why) == TL_OK, "bases", "can be read",
           why.text);
    for (size_t i = 0; i < tl_rules_count(rules); i++)
        run_file(rules, argv[1], tl_rules_id_at(rules, i));
    run_self_test(rules);
    check_strays(rules, argv[1]);
    check_folder(rules, argv[2], argv[1]);
    printf("1..%u\n", tally.count);
    tl_rules_destroy(rules);
    tl_json_destroy(bases);
    return tally.failed ? 1 : 0;
}
