/* Names made to hurt. Each known text fact of each case becomes a name with every character that a
 * shell, a terminal, HTML or Markdown takes for its own. No remedy may carry it into a command, and
 * what leaves in any format is harmless: no control character, no bidirectional one, no live
 * markup. TAP, one line a file of cases.
 *
 *     hostile-names CASES-FOLDER [few]
 *
 * With "few" the names stand in all facts of a case at once, and not in each alone as well, and a
 * case that is not written out has one of the names, its neighbours the others. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_file.h"
#include "tightlink/base/utf8.h"
#include "tightlink/document/export.h"
#include "tightlink/present/formats.h"

#define FACTS_MAX 256

/* The first goes into shells, the second into terminals and pages; C1 and bidi stand in both
 * as UTF-8. */
static const char *const names[] = {
    "evil; reboot #$(id)`id`|&<>'\"\\\n*?[]{}~!",
    "-evil",
    "../evil",
    "evil\x1b]52;c;ZXZpbA==\x07\xc2\x9b"
    "31m\xe2\x80\xae<script>evil()</script>[x](evil:y)`",
};
#define NAME_COUNT (sizeof names / sizeof *names)

/* A name that only a shell or a file system misreads looks on a page like any other. */
static bool hurts_pages(const char *name)
{
    return strpbrk(name, "<\x1b") != NULL;
}

struct text_facts {
    struct tl_fact_key keys[FACTS_MAX];
    size_t count;
};

struct counts {
    size_t judged, remedies, refused, formats, failed;
};

static void collect(struct tl_fact_key key, const struct tl_fact *fact, void *context)
{
    struct text_facts *texts = context;
    if (fact->state == TL_FACT_KNOWN && fact->unit == TL_UNIT_TEXT && texts->count < FACTS_MAX)
        texts->keys[texts->count++] = key;
}

static void complain(struct counts *counts, const struct tl_case *test, const char *what,
                     const char *text)
{
    char clean[2048];
    tl_utf8_clean(text, strnlen(text, 400), clean, sizeof clean);
    printf("# %s, %s: %s: %s\n", test->rule, test->name, what, clean);
    counts->failed++;
}

static void check_remedies(const struct tl_case *test, const struct tl_findings *findings,
                           struct counts *counts)
{
    for (size_t f = 0; f < findings->finding_count; f++) {
        const struct tl_finding *finding = &findings->findings[f];
        for (size_t r = 0; r < finding->remedy_count; r++) {
            const struct tl_remedy *remedy = &finding->remedies[r];
            const char *const commands[] = {remedy->does, remedy->undo, remedy->persist};
            for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
                counts->remedies++;
                counts->refused += strstr(commands[i], "cannot be written safely") != NULL;
                if (strstr(commands[i], "evil"))
                    complain(counts, test, "a remedy carries the name", commands[i]);
            }
        }
    }
}

/* Whether a terminal may see it as it is, line by line. */
static bool is_clean(const char *text)
{
    bool clean = true;
    while (*text && clean) {
        size_t len = strcspn(text, "\n");
        char *line = strndup(text, len);
        struct tl_buf copy = TL_BUF_INIT;
        tl_utf8_add_clean(&copy, line, false);
        clean = strcmp(tl_buf_text(&copy), line) == 0;
        tl_buf_finish(&copy);
        free(line);
        text += len + (text[len] == '\n');
    }
    return clean;
}

static void check_format(const struct tl_case *test, const struct tl_export *export,
                         enum tl_export_format format, struct counts *counts)
{
    struct tl_buf out = TL_BUF_INIT;
    if (tl_export_write(export, format, &out) != TL_OK)
        complain(counts, test, tl_export_format_name(format), "cannot be written");
    const char *text = tl_buf_text(&out);
    counts->formats++;
    if (!is_clean(text))
        complain(counts, test, tl_export_format_name(format), "a control character is left");
    if ((format == TL_EXPORT_HTML || format == TL_EXPORT_MARKDOWN) && strstr(text, "<script>evil"))
        complain(counts, test, tl_export_format_name(format), "live markup");
    if (format == TL_EXPORT_MARKDOWN && strstr(text, "[x](evil"))
        complain(counts, test, tl_export_format_name(format), "a live link");
    if (format == TL_EXPORT_JSON) {
        static const struct tl_json_limits limits = {8 << 20, 1000000, 32};
        struct tl_json *doc = NULL;
        if (tl_json_parse(text, out.len, &limits, &doc, NULL) != TL_OK)
            complain(counts, test, "json", "it cannot be read");
        tl_json_destroy(doc);
    }
    tl_buf_finish(&out);
}

/* A ticket is the title and one of the formats. */
static void check_formats(const struct tl_case *test, const struct tl_findings *findings,
                          const char *name, struct counts *counts)
{
    static struct tl_run run;
    struct tl_export *export = NULL;
    struct tl_buf title = TL_BUF_INIT;
    memset(&run, 0, sizeof run);
    run.download = test->question.download;
    run.upload = test->question.upload;
    snprintf(run.target_name, sizeof run.target_name, "%s", name);
    if (tl_export_create(NULL, &run, test->facts, findings, &export, NULL) != TL_OK) {
        complain(counts, test, "export", "cannot be made");
        return;
    }
    for (unsigned format = 0; format < TL_EXPORT_FORMAT_COUNT; format++)
        check_format(test, export, (enum tl_export_format)format, counts);
    if (tl_export_title(export, &title) != TL_OK || !is_clean(tl_buf_text(&title)) ||
        strchr(tl_buf_text(&title), '\n'))
        complain(counts, test, "title", tl_buf_text(&title));
    tl_buf_finish(&title);
    tl_export_destroy(export);
}

static void judge(const struct tl_rules *rules, const struct tl_case *test, const char *name,
                  bool formats, struct counts *counts)
{
    struct tl_findings *findings = NULL;
    struct tl_error error = {.text = ""};
    counts->judged++;
    if (tl_rules_judge(rules, test->facts, &test->question, &findings, &error) != TL_OK) {
        complain(counts, test, "it is not judged", error.text);
        return;
    }
    check_remedies(test, findings, counts);
    if (formats)
        check_formats(test, findings, name, counts);
    tl_findings_destroy(findings);
}

/* Only where something is found there are remedies; one case a file is written out. */
static void check_case(const struct tl_rules *rules, const struct tl_json_at *file,
                       const struct tl_json *bases, size_t index, bool each, struct counts *counts)
{
    for (size_t n = 0; n < NAME_COUNT; n++) {
        if (!each && index > 0 && index % NAME_COUNT != n)
            continue;
        struct text_facts texts = {.count = 0};
        struct tl_case test;
        struct tl_error error;
        if (tl_case_read(file, bases, index, &test, &error) != TL_OK)
            return; /* rule-cases complains */
        tl_facts_each(test.facts, collect, &texts);
        for (size_t i = 0; each && n == 0 && i < texts.count; i++) {
            struct tl_fact before;
            tl_facts_get(test.facts, texts.keys[i], &before);
            char *kept = strdup(before.text);
            tl_facts_set_text(test.facts, texts.keys[i], names[n], "");
            judge(rules, &test, names[n], false, counts);
            tl_facts_set_text(test.facts, texts.keys[i], kept, "");
            free(kept);
        }
        for (size_t i = 0; i < texts.count; i++)
            tl_facts_set_text(test.facts, texts.keys[i], names[n], "");
        judge(rules, &test, names[n], index == 0 && hurts_pages(names[n]), counts);
        tl_case_finish(&test);
    }
}

static bool check_file(const struct tl_rules *rules, const char *folder, const char *name,
                       const struct tl_json *bases, bool each, struct counts *counts)
{
    struct tl_error error;
    struct tl_json *doc = NULL;
    if (tl_case_open(folder, name, &doc, &error) != TL_OK)
        return false;
    struct tl_json_at root = tl_json_root(doc), cases;
    size_t count =
        tl_json_get_array(&root, "cases", &cases, &error) == TL_OK ? tl_json_count(&cases) : 0;
    for (size_t i = 0; i < count; i++)
        check_case(rules, &root, bases, i, each, counts);
    tl_json_destroy(doc);
    return count > 0;
}

int main(int argc, char **argv)
{
    struct tl_rules *rules = NULL;
    struct tl_error error = {.text = ""};
    struct dirent **entries = NULL;
    struct tl_json *bases = NULL;
    struct counts all = {0};
    unsigned number = 0, failed = 0;
    if (argc < 2 || tl_rules_load_builtin(&rules, &error) != TL_OK ||
        tl_case_open(argv[1], TL_CASE_BASES, &bases, &error) != TL_OK) {
        printf("Bail out! %s\n", argc < 2 ? "no folder of cases" : error.text);
        return 1;
    }
    int count = scandir(argv[1], &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        struct counts counts = {0};
        if (strstr(name, ".json") && strcmp(name, TL_CASE_BASES) != 0) {
            bool read = check_file(rules, argv[1], name, bases, argc < 3, &counts);
            bool ok = read && counts.failed == 0;
            printf("%sok %u - %s: %zu judgements, %zu commands\n", ok ? "" : "not ", ++number, name,
                   counts.judged, counts.remedies);
            failed += !ok;
            all.judged += counts.judged;
            all.remedies += counts.remedies;
            all.refused += counts.refused;
            all.formats += counts.formats;
        }
        free(entries[i]);
    }
    free(entries);
    /* It must be able to fail: names did reach commands, and were refused there. */
    bool reached = all.refused > 0 && all.formats > 0 && all.remedies > all.refused;
    printf("%sok %u - %zu judgements, %zu commands, of which %zu were refused, %zu pages\n",
           reached ? "" : "not ", ++number, all.judged, all.remedies, all.refused, all.formats);
    printf("1..%u\n", number);
    tl_json_destroy(bases);
    tl_rules_destroy(rules);
    return failed || !reached ? 1 : 0;
}
