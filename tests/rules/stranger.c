/* A stranger's reading. Ten verdicts are picked by a seed from the cases of all rules, and what the
 * report says of each must name the cause, the place, a number, what to do, what that brings (or
 * that nobody knows yet), and whom to send it to, and give its evidence in words, not as formulas.
 * TAP; the seed is printed.
 *
 *     stranger CASES-FOLDER [SEED [COUNT]]   SEED 0: another one each day; COUNT 0: all */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "case_file.h"
#include "plain_words.h"
#include "states.h"
#include "tightlink/base/random.h"
#include "tightlink/present/formats.h"
#include "tightlink/present/report.h"
#include "tightlink/rules/why.h"
#include "voice.h"

#define VERDICTS_MAX 2000
#define TEN          10
/* Of a usual terminal of 24 rows: tabs, a rule, and what is said and can be pressed take four. */
#define TERMINAL_ROWS 20

struct verdict {
    char *name, *cause, *cause_title, *send_to, *head, *fix, *evidence, *first, *plain, *does;
    const char *place; /* words */
};

static struct verdict verdicts[VERDICTS_MAX];
static size_t verdict_count;

/* Of each cause of the list: found in some report, and there as a limit. */
#define CAUSES_MAX 128
static bool found[CAUSES_MAX], found_limiting[CAUSES_MAX];

static void note_causes(const struct tl_findings *findings)
{
    for (size_t i = 0; i < findings->finding_count; i++) {
        const struct tl_finding *finding = &findings->findings[i];
        for (size_t c = 0; c < tl_cause_list_count() && c < CAUSES_MAX; c++) {
            if (finding->result != TL_FOUND || strcmp(finding->cause, tl_cause_list_id(c)) != 0)
                continue;
            found[c] = true;
            found_limiting[c] |= finding->severity == TL_LIMITS;
        }
    }
}

static const struct tl_finding *finding_of(const struct tl_findings *findings)
{
    const struct tl_verdict *verdict = &findings->verdict;
    for (size_t i = 0; i < findings->finding_count; i++) {
        const struct tl_finding *finding = &findings->findings[i];
        if (finding->result == TL_FOUND && finding->direction == verdict->direction &&
            strcmp(finding->cause, verdict->cause) == 0 &&
            strcmp(finding->segment, verdict->segment) == 0)
            return finding;
    }
    return NULL;
}

/* One line of single blanks, as a reader takes it in; bars and rules of the layout are no words. */
static char *flatten(struct tl_buf *text)
{
    char *line = tl_buf_steal(text), *to = line;
    for (const char *from = line; from && *from; from++) {
        bool blank = isspace((unsigned char)*from);
        if (!blank || (to > line && to[-1] != ' '))
            *to++ = blank ? ' ' : *from;
    }
    if (to)
        *to = '\0';
    return line;
}

static void run_of(const struct tl_case *test, struct tl_run *ret_run)
{
    *ret_run = (struct tl_run){.download = test->question.download,
                               .upload = test->question.upload,
                               .goal.bps = test->question.goal_bps,
                               .goal.rtt_ns = test->question.goal_rtt_ns};
    snprintf(ret_run->target_name, sizeof ret_run->target_name, "srv-b");
}

static char *part(const struct tl_case *test, const struct tl_findings *findings,
                  enum tl_report_part which)
{
    static struct tl_run run;
    struct tl_page page;
    struct tl_buf text = TL_BUF_INIT;
    run_of(test, &run);
    tl_page_init(&page, 120, true);
    tl_report_part(&run, test->facts, findings, which, &page);
    if (tl_page_print(&page, false, &text) != TL_OK)
        exit(2);
    tl_page_finish(&page);
    return flatten(&text);
}

/* The first lines of the report as they stand on a terminal of 80 columns. */
static char *first_lines(const struct tl_case *test, const struct tl_findings *findings, bool plain)
{
    static struct tl_run run;
    struct tl_page page;
    struct tl_buf text = TL_BUF_INIT;
    run_of(test, &run);
    tl_page_init(&page, 80, true);
    if (plain) {
        tl_report_plain(&run, test->facts, findings, &page);
    } else {
        tl_report_part(&run, test->facts, findings, TL_PART_HEAD, &page);
        tl_report_part(&run, test->facts, findings, TL_PART_FIX, &page);
        if (page.line_count > TERMINAL_ROWS)
            page.line_count = TERMINAL_ROWS;
    }
    if (tl_page_print(&page, false, &text) != TL_OK)
        exit(2);
    tl_page_finish(&page);
    return tl_buf_steal(&text);
}

static const char *place_of(const char *segment)
{
    static const char *const words[][2] = {
        {"near-host", "this PC"},        {"far-host", "srv-b"},     {"lan", "local network"},
        {"far-lan", "network at srv-b"}, {"path", "line to srv-b"}, {"flow", "transfer"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], segment) == 0)
            return words[i][1];
    return segment;
}

static void keep(const struct tl_case *test, const struct tl_findings *findings)
{
    const struct tl_finding *finding =
        findings->verdict.state == TL_LIMITED ? finding_of(findings) : NULL;
    if (!finding || verdict_count == VERDICTS_MAX)
        return;
    struct tl_buf name = TL_BUF_INIT;
    tl_buf_addf(&name, "%s at %s: %s, %s", finding->cause, finding->segment, test->rule,
                test->name);
    verdicts[verdict_count++] = (struct verdict){
        .name = tl_buf_steal(&name),
        .cause = strdup(finding->cause),
        .cause_title = strdup(finding->title),
        .send_to = strdup(findings->verdict.send_to ? findings->verdict.send_to : ""),
        .place = place_of(finding->segment),
        .head = part(test, findings, TL_PART_HEAD),
        .fix = part(test, findings, TL_PART_FIX),
        .first = first_lines(test, findings, false),
        .plain = first_lines(test, findings, true),
        .does = strdup(finding->remedy_count ? finding->remedies[0].does : ""),
        .evidence = part(test, findings, TL_PART_EVIDENCE)};
}

/* --- Plain words --- */

static struct tl_buf words_apart = TL_BUF_INIT;

/* What every reader sees first of any verdict: the plain view, the first sentences of the report
 * and of the page, and the few lines that a terminal keeps. */
static void read_plain_words(const struct tl_case *test, const struct tl_findings *findings,
                             const char *html)
{
    struct tl_run run;
    struct tl_page page;
    struct tl_buf brief = TL_BUF_INIT, row = TL_BUF_INIT;
    const char *main_part = strstr(html, "<header"),
               *end = strstr(html, "<h3"); /* whom it goes to */
    run_of(test, &run);
    tl_page_init(&page, 80, true);
    tl_report_brief(&run, test->facts, findings, &page);
    if (!end || tl_page_print(&page, false, &brief) != TL_OK)
        exit(2);
    tl_page_finish(&page);
    tl_report_says(&run, test->facts, findings, &row);
    char *texts[] = {first_lines(test, findings, true),
                     part(test, findings, TL_PART_HEAD),
                     strndup(main_part, (size_t)(end - main_part)),
                     tl_buf_steal(&brief),
                     part(test, findings, TL_PART_FIX),
                     tl_buf_steal(&row)};
    static const char *const names[] = {"plain view", "first lines", "page",
                                        "terminal",   "fix",         "row of a list"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *word = plain_words_break(texts[i]);
        if (word)
            tl_buf_addf(&words_apart, "# %s, %s: \"%s\" stands in the %s: %s\n", test->rule,
                        test->name, word, names[i], texts[i]);
        free(texts[i]);
    }
}

/* --- One voice --- */

static struct tl_buf digits_apart = TL_BUF_INIT;
static size_t digits_compared;
static unsigned voices_heard;
static struct tl_buf voices_apart = TL_BUF_INIT;

static void hear(const struct tl_case *test, const struct tl_findings *findings)
{
    static struct tl_run run;
    struct tl_export *export = NULL;
    run_of(test, &run);
    if (tl_export_create(NULL, &run, test->facts, findings, &export, NULL) != TL_OK)
        exit(2);
    for (int format = TL_EXPORT_TEXT; format <= TL_EXPORT_HTML; format++) {
        struct tl_buf text = TL_BUF_INIT;
        if (tl_export_write(export, (enum tl_export_format)format, &text) != TL_OK)
            exit(2);
        char *words = plain_words_alone(tl_buf_text(&text));
        if (test->question.download != test->question.upload) /* else nothing tells them apart */
            voice_ruled_out(test, findings, tl_export_format_name((enum tl_export_format)format),
                            words, &voices_apart);
        free(words);
        if (format == TL_EXPORT_MARKDOWN)
            voice_lists(test, tl_buf_text(&text), &voices_apart);
        if (format == TL_EXPORT_HTML)
            read_plain_words(test, findings, tl_buf_text(&text));
        tl_buf_finish(&text);
    }
    tl_export_destroy(export);
    voices_heard++;
}

/* One number has the same digits in the first lines, the fix, the reasons and the ladder. */
static void read_digits(const struct tl_case *test, const struct tl_findings *findings)
{
    char *texts[] = {
        part(test, findings, TL_PART_HEAD),  part(test, findings, TL_PART_FIX),
        part(test, findings, TL_PART_RATES), part(test, findings, TL_PART_EVIDENCE),
        first_lines(test, findings, true),   part(test, findings, TL_PART_MEASUREMENTS)};
    char *ladder = part(test, findings, TL_PART_MEASUREMENTS);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        digits_compared += voice_digits(test, findings, texts[i], ladder, &digits_apart);
        free(texts[i]);
    }
    free(ladder);
    voice_seen(test, findings, findings->verdict.state == TL_LIMITED ? finding_of(findings) : NULL,
               &digits_apart);
}

static void read_findings(const struct tl_case *test, const struct tl_findings *findings)
{
    note_causes(findings);
    keep(test, findings);
    states_read(test, findings, &words_apart);
    hear(test, findings);
    read_digits(test, findings);
}

static void read_cases(const struct tl_rules *rules, const char *folder, const char *name,
                       const struct tl_json *bases)
{
    struct tl_error error;
    struct tl_json *doc = NULL;
    if (tl_case_open(folder, name, &doc, &error) != TL_OK)
        return; /* rule-cases complains */
    struct tl_json_at root = tl_json_root(doc), cases;
    size_t count =
        tl_json_get_array(&root, "cases", &cases, &error) == TL_OK ? tl_json_count(&cases) : 0;
    for (size_t i = 0; i < count; i++) {
        struct tl_case test;
        struct tl_findings *findings = NULL;
        if (tl_case_read(&root, bases, i, &test, &error) != TL_OK)
            continue;
        if (tl_rules_judge(rules, test.facts, &test.question, &findings, &error) == TL_OK)
            read_findings(&test, findings);
        tl_findings_destroy(findings);
        if (i == 0)
            states_read_unusable(rules, &test, &words_apart);
        tl_case_finish(&test);
    }
    tl_json_destroy(doc);
}

static bool has(const char *text, const char *words)
{
    return strcasestr(text, words) != NULL;
}

/* A word of the title, by its beginning: "corrupts" and "corrupted" are one. */
static bool names_cause(const char *text, const char *title)
{
    char word[8];
    size_t words = 0, said = 0;
    for (const char *at = title; *at;) {
        size_t len = strcspn(at, " ,:;()'-/");
        if (len >= 4) {
            size_t stem = len > 5 ? 5 : len;
            memcpy(word, at, stem);
            word[stem] = '\0';
            words++;
            said += has(text, word);
        }
        at += len + strspn(at + len, " ,:;()'-/");
    }
    return words > 0 && said >= 1 + (words > 3);
}

static bool has_number(const char *text)
{
    for (const char *at = text; *at; at++)
        if (isdigit((unsigned char)*at) &&
            (has(at, "b/s") || has(at, "%") || has(at, " ms") || has(at, " B") || has(at, "bytes")))
            return true;
    return false;
}

/* "instead of about 930 Mb/s", or that it cannot be told. */
static bool names_gain(const char *text)
{
    static const char *const gains[] = {"instead of about", "after the fix", "fix brings"};
    for (size_t i = 0; i < sizeof gains / sizeof *gains; i++)
        if (has(text, gains[i]))
            return true;
    return false;
}

/* The first words of the remedy, as far as a line may hold them. */
static bool has_fix(const char *lines, const char *does)
{
    const char *far = strcasestr(does, "the far end"); /* it is called by its name */
    char begin[24];
    int most = far && far - does < 20 ? (int)(far - does) : 20;
    snprintf(begin, sizeof begin, "%.*s", most, does);
    return !does[0] || strstr(lines, begin) != NULL;
}

static void add_nonsense(const struct verdict *verdict, struct tl_buf *out)
{
    if (has(verdict->fix, "No command is written here"))
        tl_buf_adds(out, " a fix that is written");
    if (has(verdict->head, "on the transfer itself"))
        tl_buf_adds(out, " a place that there is");
    if (strstr(verdict->place, "srv-b") && has(verdict->fix, ": on the local network"))
        tl_buf_adds(out, " a fix at that place, not in this PC's network");
    if (strstr(verdict->place, "network") && has(verdict->fix, ": on the line to"))
        tl_buf_adds(out, " a fix at that place, not on the whole line");
    if (strncmp(verdict->does, "Until then", 10) == 0)
        tl_buf_adds(out, " a time that the first fix begins with");
    if (tl_remedy_is_request(verdict->does) && has(verdict->plain, "\n  ask "))
        tl_buf_adds(out, " one alone who is asked");
}

static void check(const struct verdict *verdict, unsigned number, unsigned *failed)
{
    struct tl_buf all = TL_BUF_INIT, lacks = TL_BUF_INIT;
    tl_buf_addf(&all, "%s %s %s", verdict->head, verdict->fix, verdict->evidence);
    const char *text = tl_buf_text(&all);
    if (!names_cause(text, verdict->cause_title))
        tl_buf_addf(&lacks, " the cause (%s)", verdict->cause_title);
    if (!has(text, verdict->place))
        tl_buf_addf(&lacks, " the place (%s)", verdict->place);
    if (!has_number(text))
        tl_buf_adds(&lacks, " a number");
    if (strlen(verdict->fix) < 40)
        tl_buf_adds(&lacks, " what to do");
    if (!names_gain(text))
        tl_buf_adds(&lacks, " what it brings");
    const char *far = "the far end", *to = verdict->send_to;
    to += strncmp(to, far, strlen(far)) == 0 ? strlen(far) : 0; /* it is called by its name */
    if (!to[0] || !has(text, to))
        tl_buf_adds(&lacks, " whom to send it to");
    const char *page = strstr(verdict->fix, "tightlink rules explain ");
    if (!page || !has(page, verdict->cause))
        tl_buf_adds(&lacks, " where that person reads more");
    if (!has_fix(verdict->first, verdict->does))
        tl_buf_addf(&lacks, " the fix in its first lines (%s)", verdict->first);
    const char *word = plain_words_break(verdict->plain);
    if (word)
        tl_buf_addf(&lacks, " plain words: \"%s\" stands in (%s)", word, verdict->plain);
    add_nonsense(verdict, &lacks);
    if (has(verdict->evidence, " is false") || has(verdict->evidence, " is true"))
        tl_buf_addf(&lacks, " words for the evidence (%s)", verdict->evidence);
    printf("%sok %u - %s\n", lacks.len ? "not " : "", number, verdict->name);
    if (lacks.len)
        printf("# lacks%s\n", tl_buf_text(&lacks));
    printf("# %s\n", text);
    *failed += lacks.len > 0;
    tl_buf_finish(&all);
    tl_buf_finish(&lacks);
}

/* The test must be able to fail: a verdict that says nothing. */
static bool notices_silence(void)
{
    const char *title = "A buffer is too small";
    bool seen =
        !names_cause("", title) && !has_number("slow") && !names_gain("slow") &&
        !has_fix("nothing here", "sysctl -w a=b") && plain_words_break("its goodput is low") &&
        plain_words_break("near.tcp_rmem is low") && !plain_words_break("the download. It is slow");
    return seen;
}

static void read_folder(const struct tl_rules *rules, const char *folder)
{
    struct dirent **entries = NULL;
    struct tl_json *bases = NULL;
    struct tl_error error;
    if (tl_case_open(folder, TL_CASE_BASES, &bases, &error) != TL_OK)
        printf("# %s\n", error.text);
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (strstr(name, ".json") && strcmp(name, TL_CASE_BASES) != 0)
            read_cases(rules, folder, name, bases);
        free(entries[i]);
    }
    free(entries);
    tl_json_destroy(bases);
}

/* What was found in all reports; returns how many tests failed. */
static unsigned tell_of_all(const char *what, struct tl_buf *complaints, unsigned number)
{
    bool fine = complaints->len == 0 && voices_heard >= 100;
    printf("%sok %u - %u reports %s\n%s", fine ? "" : "not ", number, voices_heard, what,
           tl_buf_text(complaints));
    tl_buf_finish(complaints);
    return !fine;
}

/* Whether every cause that there is was found in a report, and was a verdict unless all its rules
 * only tell it beside one. */
static unsigned tell_of_causes(unsigned number)
{
    unsigned lacking = 0;
    for (size_t c = 0; c < tl_cause_list_count(); c++) {
        const char *id = tl_cause_list_id(c);
        bool read = !found_limiting[c] && found[c];
        for (size_t i = 0; i < verdict_count && !read; i++)
            read = strcmp(verdicts[i].cause, id) == 0;
        if (!read)
            printf("# no %s of %s was read\n", found[c] ? "verdict" : "finding", id);
        lacking += !read;
    }
    printf("%sok %u - reports on %zu causes of %zu were read\n", lacking ? "not " : "", number,
           tl_cause_list_count() - lacking, tl_cause_list_count());
    return lacking > 0;
}

static void forget_verdicts(void)
{
    for (size_t i = 0; i < verdict_count; i++) {
        free(verdicts[i].name);
        free(verdicts[i].cause);
        free(verdicts[i].cause_title);
        free(verdicts[i].send_to);
        free(verdicts[i].head);
        free(verdicts[i].fix);
        free(verdicts[i].evidence);
        free(verdicts[i].first);
        free(verdicts[i].plain);
        free(verdicts[i].does);
    }
}

int main(int argc, char **argv)
{
    struct tl_rules *rules = NULL;
    struct tl_error error = {.text = ""};
    unsigned failed = 0, count = argc > 3 ? (unsigned)atoi(argv[3]) : TEN;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (argc < 2 || tl_rules_load_builtin(&rules, &error) != TL_OK) {
        printf("Bail out! %s\n", argc < 2 ? "no folder of cases" : error.text);
        return 1;
    }
    read_folder(rules, argv[1]);
    if (seed == 0)
        seed = (uint64_t)time(NULL) / 86400;
    printf("# seed %llu, %zu verdicts\n", (unsigned long long)seed, verdict_count);
    struct tl_random random;
    tl_random_seed(&random, seed);
    printf("%sok 1 - notices a verdict that says nothing\n", notices_silence() ? "" : "not ");
    failed += !notices_silence();
    bool all = count == 0 || count > verdict_count;
    count = all ? (unsigned)verdict_count : count;
    for (unsigned i = 0; i < count; i++)
        check(&verdicts[all ? i : tl_random_next(&random) % verdict_count], i + 2, &failed);
    failed += tell_of_all("speak with one voice", &voices_apart, count + 2);
    failed += tell_of_all("begin with plain words", &words_apart, count + 3);
    failed += tell_of_all("tell one number by the same digits", &digits_apart, count + 4);
    failed += digits_compared < 1000; /* it read none */
    failed += !states_tell();
    failed += tell_of_causes(count + 5);
    printf("1..%u\n", count + 5);
    forget_verdicts();
    tl_rules_destroy(rules);
    return failed || verdict_count < TEN ? 1 : 0;
}
