/* tl_rules_check_directory(): every fault of a folder of rules. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check_whole.h"
#include "source.h"

/* Cases are our own files, but read like foreign ones. */
#define CASES_BYTES_MAX  (1024 * 1024)
#define CASES_VALUES_MAX 100000

static char *read_cases(const char *path, size_t *ret_len)
{
    FILE *file = fopen(path, "re");
    char *text = file ? malloc(CASES_BYTES_MAX) : NULL;
    *ret_len = text ? fread(text, 1, CASES_BYTES_MAX, file) : 0;
    if (file)
        fclose(file);
    return text;
}

/* Which results the cases expect; a case may ask about the verdict alone. */
static void note_results(const struct tl_json_at *cases, bool seen[3])
{
    for (size_t i = 0; i < tl_json_count(cases); i++) {
        struct tl_json_at item = tl_json_item(cases, i), expect, result;
        const char *text;
        struct tl_error error;
        if (tl_json_type(&item) != TL_JSON_OBJECT ||
            tl_json_get_object(&item, "expect", &expect, &error) != TL_OK ||
            !tl_json_find(&expect, "result", &result) ||
            tl_json_string(&result, &text, &error) != TL_OK)
            continue;
        for (int r = TL_FOUND; r <= TL_CANNOT_TELL; r++)
            seen[r] |= strcmp(text, tl_result_name((enum tl_result)r)) == 0;
    }
}

/* A rule is proved by a case of each result. */
static void check_results(struct tl_source *source, const struct tl_rule *rule, const char *path)
{
    static const struct tl_json_limits limits = {CASES_BYTES_MAX, CASES_VALUES_MAX,
                                                 TL_RULE_DEPTH_MAX};
    struct tl_json *doc = NULL;
    struct tl_error error = {.text = "out of memory"};
    bool seen[3] = {false};
    size_t len;
    char *text = read_cases(path, &len);
    if (text && tl_json_parse(text, len, &limits, &doc, &error) == TL_OK) {
        struct tl_json_at root = tl_json_root(doc), cases;
        if (tl_json_type(&root) == TL_JSON_OBJECT &&
            tl_json_get_array(&root, "cases", &cases, &error) == TL_OK)
            note_results(&cases, seen);
    } else {
        tl_buf_addf(source->report, "%s: %s\n", path, error.text);
    }
    for (int r = TL_FOUND; r <= TL_CANNOT_TELL; r++) {
        if (seen[r])
            continue;
        source->errors++;
        tl_buf_addf(source->report, "%s: no case expects %s: %s\n", rule->file,
                    tl_result_name((enum tl_result)r), path);
    }
    tl_json_destroy(doc);
    free(text);
}

/* A rule without cases is a claim without a test. */
static void check_cases(struct tl_source *source, const char *cases_path)
{
    for (size_t i = 0; i < source->rules->count; i++) {
        const struct tl_rule *rule = source->rules->rules[i];
        struct tl_buf path = TL_BUF_INIT;
        if (rule->disabled)
            continue;
        tl_buf_addf(&path, "%s/%s.json", cases_path, rule->id);
        if (access(tl_buf_text(&path), R_OK) != 0) {
            source->errors++;
            tl_buf_addf(source->report, "%s: no cases: %s: %s\n", rule->file, tl_buf_text(&path),
                        strerror(errno));
        } else {
            check_results(source, rule, tl_buf_text(&path));
        }
        tl_buf_finish(&path);
    }
}

enum tl_status tl_rules_check_directory(const char *path, const char *cases_path,
                                        struct tl_buf *report, size_t *ret_errors,
                                        struct tl_error *reterr)
{
    struct tl_source source = {.rules = calloc(1, sizeof(struct tl_rules)),
                               .report = report,
                               .may_disable = true,
                               .check_used = true};
    if (!source.rules)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    enum tl_status status = tl_source_directory(&source, path, reterr);
    if (status == TL_OK) {
        tl_check_reach(&source);
        tl_check_overlaps(&source);
    }
    if (status == TL_OK && cases_path)
        check_cases(&source, cases_path);
    if (status == TL_OK && source.rules->count == 0 && source.errors == 0) {
        source.errors++;
        tl_buf_addf(report, "%s: there is no rule in it\n", path);
    }
    if (status == TL_OK && (source.rules->arena.failed || report->status != TL_OK))
        status = tl_error_set(reterr, TL_NOMEM, "out of memory");
    tl_rules_destroy(source.rules);
    if (status == TL_OK)
        *ret_errors = source.errors;
    return status;
}
