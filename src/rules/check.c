/* tl_rules_check_directory(): every fault of a folder of rules. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source.h"

/* A rule without cases is a claim without a test. */
static void check_cases(struct tl_source *source, const char *cases_path)
{
    for (size_t i = 0; i < source->rules->count; i++) {
        const struct tl_rule *rule = source->rules->rules[i];
        struct tl_buf path = TL_BUF_INIT;
        tl_buf_addf(&path, "%s/%s.json", cases_path, rule->id);
        if (access(tl_buf_text(&path), R_OK) != 0) {
            source->errors++;
            tl_buf_addf(source->report, "%s: no cases: %s: %s\n", rule->file, tl_buf_text(&path),
                        strerror(errno));
        }
        tl_buf_finish(&path);
    }
}

enum tl_status tl_rules_check_directory(const char *path, const char *cases_path,
                                        struct tl_buf *report, size_t *ret_errors,
                                        struct tl_error *reterr)
{
    struct tl_source source = {.rules = calloc(1, sizeof(struct tl_rules)), .report = report};
    if (!source.rules)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    enum tl_status status = tl_source_directory(&source, path, reterr);
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
