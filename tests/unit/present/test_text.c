/* The text verdict against golden files, and what holds for every report.
 *
 * After a change of wording: TL_UPDATE_GOLDEN=1 test-report writes the files anew; read
 * them before committing. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixtures.h"
#include "tightlink/base/utf8.h"
#include "tightlink/present/report.h"

static char *make_text(const char *name, struct tl_text_style style)
{
    struct fixture fixture;
    struct tl_buf out = TL_BUF_INIT;
    cr_assert(fixture_make(name, &fixture));
    cr_assert(tl_report_text(&fixture.run, fixture.facts, &fixture.findings, &style, &out) ==
              TL_OK);
    fixture_finish(&fixture);
    return tl_buf_steal(&out);
}

static void compare_with_file(const char *name, bool utf8)
{
    char path[512], wanted[16384] = "";
    char *text = make_text(name, (struct tl_text_style){80, false, utf8});
    snprintf(path, sizeof path, "%s/%s.%s.txt", GOLDEN_DIRECTORY, name, utf8 ? "utf8" : "ascii");
    if (getenv("TL_UPDATE_GOLDEN")) {
        FILE *file = fopen(path, "w");
        cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
    }
    FILE *file = fopen(path, "r");
    cr_assert(file, "%s is missing", path);
    wanted[fread(wanted, 1, sizeof wanted - 1, file)] = '\0';
    fclose(file);
    cr_expect_str_eq(text, wanted, "%s differs:\n%s", path, text);
    free(text);
}

Test(text, reports_are_as_the_golden_files_show)
{
    for (size_t i = 0; fixture_names[i]; i++) {
        compare_with_file(fixture_names[i], true);
        compare_with_file(fixture_names[i], false);
    }
}

Test(text, the_first_lines_say_who_what_it_means_and_what_to_do)
{
    char *text = make_text("limited", (struct tl_text_style){80, false, false});
    static const char wanted[] =
        "(!) This PC limits the download: 96.1 Mb/s instead of about 930 Mb/s.\n"
        "    This PC accepts too little data at once for such a distance.\n"
        "    A 10 GB file takes about 14 min now, and about 86 s after the fix.\n"
        "\n"
        "Fix 1 of 2: on this PC, as its administrator (root)\n"
        "  do         sysctl -w net.ipv4.tcp_rmem=";
    cr_expect(strncmp(text, wanted, strlen(wanted)) == 0, "%.200s", text);
    free(text);
}

Test(text, what_a_better_path_would_carry_is_not_promised)
{
    char *text = make_text("capacity", (struct tl_text_style){80, false, false});
    cr_expect(strstr(text, "limits the download to 47.9 Mb/s.\n") != NULL);
    cr_expect(!strstr(text, "possible") && !strstr(text, "gain") &&
              !strstr(text, "after the fix."));
    cr_expect(strstr(text, "next limit this PC, receive buffer") != NULL);
    free(text);
}

/* As behind a shaper whose fast start outlasts the test: what was seen is then what a fix brings.
 */
Test(text, what_a_long_transfer_gets_is_said_where_the_test_was_faster)
{
    static const char *const heads[] = {
        "limits the download to 20 Mb/s in the long run.\n",
        "limits the download: 20 Mb/s in the long run instead of about 48 Mb/s.\n"};
    static const char *const times[] = {
        "A 10 GB file takes about 1 h 7 min. ",
        "A 10 GB file takes about 1 h 7 min now, and about 28 min after the fix.\n"};
    for (int promised = 0; promised < 2; promised++) {
        struct fixture fixture;
        struct tl_text_style style = {120, false, false};
        struct tl_buf out = TL_BUF_INIT;
        cr_assert(fixture_make("capacity", &fixture));
        fixture.findings.verdict.ceiling_bps = 20e6;
        fixture.findings.verdict.fixed_bps = 48e6;
        fixture.findings.verdict.fixed_at_least = false;
        fixture.findings.verdict.fixed_promised = promised;
        cr_assert(tl_report_text(&fixture.run, fixture.facts, &fixture.findings, &style, &out) ==
                  TL_OK);
        const char *text = tl_buf_text(&out);
        cr_expect(strstr(text, heads[promised]), "%s", text);
        cr_expect(strstr(text, times[promised]), "%s", text);
        cr_expect(strstr(text, "got 47.9 Mb/s, in the long run 20 Mb/s, "), "%s", text);
        tl_buf_finish(&out);
        fixture_finish(&fixture);
    }
}

/* Where no run can be made again (a path made by hand) and no next limit was measured. */
Test(text, no_heading_stands_above_nothing)
{
    struct fixture fixture;
    struct tl_text_style style = {120, false, false};
    struct tl_buf out = TL_BUF_INIT;
    static char stage[] = "udp";
    cr_assert(fixture_make("limited", &fixture));
    fixture.findings.verdict.next_cause = NULL;
    fixture.findings.verdict.fixed_stage = stage;
    fixture.run.target_name[0] = '\0';
    cr_assert(tl_report_text(&fixture.run, fixture.facts, &fixture.findings, &style, &out) ==
              TL_OK);
    cr_expect(!strstr(tl_buf_text(&out), "After the fix"), "%s", tl_buf_text(&out));
    tl_buf_finish(&out);
    fixture_finish(&fixture);
}

static void expect_gain(double low_bps, double high_bps, const char *wanted)
{
    struct fixture fixture;
    struct tl_text_style style = {120, false, false};
    struct tl_buf out = TL_BUF_INIT;
    cr_assert(fixture_make("limited", &fixture));
    struct tl_prediction *predicted = &fixture.findings.findings[0].remedies[1].predicted;
    predicted->low_bps = low_bps;
    predicted->high_bps = high_bps;
    cr_assert(tl_report_text(&fixture.run, fixture.facts, &fixture.findings, &style, &out) ==
              TL_OK);
    predicted->low_bps = predicted->high_bps = NAN; /* the fixtures share it */
    char *text = tl_buf_steal(&out);
    cr_expect(strstr(text, wanted) != NULL, "%s", text);
    free(text);
    fixture_finish(&fixture);
}

Test(text, what_makes_nothing_faster_has_no_gain)
{
    struct fixture fixture;
    struct tl_text_style style = {120, false, false};
    struct tl_buf out = TL_BUF_INIT;
    cr_assert(fixture_make("limited", &fixture));
    double *bps = &fixture.findings.findings[0].remedies[1].predicted.bps, kept = *bps;
    *bps = fixture.findings.verdict.measured_bps;
    cr_assert(tl_report_text(&fixture.run, fixture.facts, &fixture.findings, &style, &out) ==
              TL_OK);
    *bps = kept; /* the fixtures share it */
    const char *first = strstr(tl_buf_text(&out), "gain ");
    cr_assert(first);
    cr_expect(!strstr(first + 1, "gain "), "%s", tl_buf_text(&out));
    tl_buf_finish(&out);
    fixture_finish(&fixture);
}

Test(text, a_range_is_told_where_its_ends_differ)
{
    expect_gain(700e6, 801e6, "about 768 Mb/s (700 Mb/s to 800 Mb/s) (");
    expect_gain(767.9e6, 768.1e6, "about 768 Mb/s (8 times)");
}

/* One number has one voice: first lines, fix and rates, next limit round it alike. */
Test(text, a_prediction_is_named_by_one_number)
{
    struct fixture fixture;
    struct tl_text_style style = {120, false, false};
    struct tl_buf out = TL_BUF_INIT;
    cr_assert(fixture_make("limited", &fixture));
    double *bps = &fixture.findings.findings[0].remedies[0].predicted.bps, kept = *bps;
    fixture.findings.verdict.fixed_bps = *bps = 163.7e6;
    for (size_t i = 0; i < fixture.findings.rung_count; i++)
        if (fixture.findings.verdict.next_cause &&
            strcmp(fixture.findings.ladder[i].cause, fixture.findings.verdict.next_cause) == 0)
            fixture.findings.ladder[i].bps = 163.7e6;
    cr_assert(tl_report_text(&fixture.run, fixture.facts, &fixture.findings, &style, &out) ==
              TL_OK);
    *bps = kept; /* the fixtures share it */
    char *ladder = strstr(tl_buf_text(&out), "Ladder");
    cr_assert(ladder);
    *ladder = '\0';
    cr_expect(!strstr(tl_buf_text(&out), "164 Mb/s"), "%s", tl_buf_text(&out));
    cr_expect(strstr(tl_buf_text(&out), "instead of about 160 Mb/s."));
    cr_expect(strstr(tl_buf_text(&out), "about 160 Mb/s (1.7 times)"));
    cr_expect(strstr(tl_buf_text(&out), "possible 160 Mb/s"));
    tl_buf_finish(&out);
    fixture_finish(&fixture);
}

/* What remains to be done is a command that can be run, whatever kept the cause unnamed. */
static const struct {
    const char *fixture;
    bool undecided;
    enum tl_quality quality;
    const char *says, *runs;
} without_cause[] = {
    {"inconclusive", true, TL_QUALITY_VALID, "This would tell:", "--time-budget 60s"},
    {"inconclusive", false, TL_QUALITY_VALID, "This would tell:", "--time-budget 60s"},
    {"inconclusive", false, TL_QUALITY_DEGRADED, "when nothing disturbs it",
     "tightlink run srv-b.example.net --direction upload\n"},
    {"invalid", false, TL_QUALITY_INVALID, "when nothing disturbs it",
     "tightlink run srv-b.example.net\n"},
    {"inconclusive", false, TL_QUALITY_INVALID, "let it run to its end",
     "tightlink run srv-b.example.net --direction upload\n"}, /* stopped by its user */
    {"invalid", false, TL_QUALITY_ABORTED,
     "When that is put right, run it again:", "tightlink run srv-b.example.net\n"},
    {"inconclusive", true, TL_QUALITY_VALID, "tightlink serve on one", "capture shows"},
};

Test(text, a_run_without_a_cause_says_what_to_run)
{
    for (size_t i = 0; i < sizeof without_cause / sizeof *without_cause; i++) {
        struct fixture fixture;
        struct tl_text_style style = {120, false, false};
        cr_assert(fixture_make(without_cause[i].fixture, &fixture));
        fixture.findings.verdict.undecided = without_cause[i].undecided;
        fixture.run.quality = without_cause[i].quality;
        if (strstr(without_cause[i].says, "to its end"))
            snprintf(fixture.run.reasons[fixture.run.reason_count++], sizeof fixture.run.reasons[0],
                     "%s", TL_RUN_STOPPED);
        if (strstr(without_cause[i].runs, "capture"))
            snprintf(fixture.run.target_kind, sizeof fixture.run.target_kind, "pcap");
        if (without_cause[i].quality == TL_QUALITY_ABORTED) /* nobody answered there */
            fixture.run.sent_bytes = fixture.run.received_bytes = 0;
        for (int plain = 0; plain < 2; plain++) {
            struct tl_buf out = TL_BUF_INIT;
            struct tl_page page;
            tl_page_init(&page, 120, false);
            tl_report_plain(&fixture.run, fixture.facts, &fixture.findings, &page);
            enum tl_status status = plain ? tl_page_print(&page, false, &out)
                                          : tl_report_text(&fixture.run, fixture.facts,
                                                           &fixture.findings, &style, &out);
            cr_assert(status == TL_OK);
            cr_expect(strstr(tl_buf_text(&out), without_cause[i].says), "%zu: %s", i,
                      tl_buf_text(&out));
            cr_expect(strstr(tl_buf_text(&out), without_cause[i].runs), "%zu: %s", i,
                      tl_buf_text(&out));
            tl_page_finish(&page);
            tl_buf_finish(&out);
        }
        fixture_finish(&fixture);
    }
}

Test(text, a_fix_that_brings_little_is_not_called_unknown)
{
    struct fixture fixture;
    struct tl_text_style style = {120, false, false};
    cr_assert(fixture_make("limited", &fixture));
    struct tl_verdict *verdict = &fixture.findings.verdict;
    for (int promised = 0; promised < 2; promised++) {
        struct tl_buf out = TL_BUF_INIT;
        verdict->fixed_bps = 1.05 * verdict->measured_bps;
        verdict->fixed_promised = promised;
        verdict->fixed_at_least = false;
        cr_assert(tl_report_text(&fixture.run, fixture.facts, &fixture.findings, &style, &out) ==
                  TL_OK);
        cr_expect(strstr(tl_buf_text(&out), promised ? "A fix brings little more."
                                                     : "What a fix brings is not known yet."),
                  "%s", tl_buf_text(&out));
        tl_buf_finish(&out);
    }
    fixture_finish(&fixture);
}

Test(text, what_breaks_a_transfer_hides_no_limit_beside_it)
{
    struct fixture fixture;
    struct tl_text_style style = {120, false, false};
    cr_assert(fixture_make("limited", &fixture));
    struct tl_verdict *verdict = &fixture.findings.verdict;
    char *cause = verdict->next_cause, *next[] = {NULL, cause, verdict->cause};
    verdict->broken = true;
    verdict->fixed_bps = NAN;
    for (size_t i = 0; i < 3; i++) {
        struct tl_buf out = TL_BUF_INIT;
        verdict->next_cause = next[i];
        const char *says = i == 0   ? "What a fix brings is not known yet."
                           : i == 1 ? "Apart from that the line to srv-b"
                                    : "Apart from that this PC limits the download to 99.9 Mb/s.";
        cr_assert(tl_report_text(&fixture.run, fixture.facts, &fixture.findings, &style, &out) ==
                  TL_OK);
        cr_expect(strstr(tl_buf_text(&out), says), "%s", tl_buf_text(&out));
        tl_buf_finish(&out);
    }
    verdict->next_cause = cause;
    fixture_finish(&fixture);
}

static void expect_place(const char *segment, const char *wanted)
{
    struct fixture fixture;
    struct tl_text_style style = {120, false, false};
    struct tl_buf out = TL_BUF_INIT;
    cr_assert(fixture_make("limited", &fixture));
    char **where = &fixture.findings.findings[0].remedies[0].where, *kept = *where;
    *where = (char *)segment;
    cr_assert(tl_report_text(&fixture.run, fixture.facts, &fixture.findings, &style, &out) ==
              TL_OK);
    *where = kept; /* the fixtures share it */
    cr_expect(strstr(tl_buf_text(&out), wanted) != NULL, "%s", tl_buf_text(&out));
    tl_buf_finish(&out);
    fixture_finish(&fixture);
}

Test(text, a_fix_says_where_it_is_made)
{
    expect_place("near-host", "Fix 1 of 2: on this PC");
    expect_place("far-lan", "Fix 1 of 2: on the network at srv-b.example.net");
    expect_place("lan", "Fix 1 of 2: on the local network");
}

/* A command may not be broken: it is copied whole. */
static bool is_command(const char *line)
{
    return strstr(line, "sysctl") || strstr(line, "tightlink run");
}

Test(text, lines_fit_the_screen)
{
    static const int widths[] = {60, 72, 80, 100, 120, 200};
    for (size_t i = 0; fixture_names[i]; i++) {
        for (size_t w = 0; w < 2 * sizeof widths / sizeof *widths; w++) {
            int width = widths[w / 2];
            char *text = make_text(fixture_names[i], (struct tl_text_style){width, false, w % 2});
            for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
                cr_expect(tl_utf8_width(line) <= (size_t)width || is_command(line), "%d: %s", width,
                          line);
                cr_expect(line[strlen(line) - 1] != ' ', "%d: %s|", width, line);
            }
            free(text);
        }
    }
}

Test(text, ascii_is_ascii)
{
    for (size_t i = 0; fixture_names[i]; i++) {
        char *text = make_text(fixture_names[i], (struct tl_text_style){80, false, false});
        for (const char *p = text; *p; p++)
            cr_assert((*p >= 0x20 && *p < 0x7f) || *p == '\n', "%s: byte %d", fixture_names[i], *p);
        free(text);
    }
}

Test(text, colour_is_never_the_only_carrier)
{
    for (size_t i = 0; fixture_names[i]; i++) {
        char *plain = make_text(fixture_names[i], (struct tl_text_style){80, false, true});
        char *color = make_text(fixture_names[i], (struct tl_text_style){80, true, true});
        size_t out = 0, escapes = 0;
        for (const char *p = color; *p; p++) {
            if (*p == '\033') {
                p = strchr(p, 'm');
                escapes++;
            } else {
                color[out++] = *p;
            }
        }
        color[out] = '\0';
        cr_expect(escapes > 0);
        cr_expect_str_eq(color, plain);
        free(plain);
        free(color);
    }
}

/* Every text that came from outside, replaced by something nasty. */
static void poison(struct fixture *fixture, char *nasty)
{
    static struct tl_finding findings[8];
    static struct tl_rung ladder[8];
    static struct tl_evidence evidence[1];
    static struct tl_remedy remedies[1];
    snprintf(fixture->run.target_name, sizeof fixture->run.target_name, "%s", nasty);
    snprintf(fixture->run.id, sizeof fixture->run.id, "%.20s", nasty);
    snprintf(fixture->run.started, sizeof fixture->run.started, "%.20s", nasty);
    snprintf(fixture->run.tool_version, sizeof fixture->run.tool_version, "%.20s", nasty);
    snprintf(fixture->run.strange_fact, sizeof fixture->run.strange_fact, "%.40s", nasty);
    snprintf(fixture->run.reasons[0], sizeof fixture->run.reasons[0], "%s", nasty);
    fixture->run.reason_count = fixture->run.strange_facts = 1;
    fixture->run.stages[0].state = TL_STAGE_FAILED;
    snprintf(fixture->run.stages[0].id, sizeof fixture->run.stages[0].id, "%.20s", nasty);
    snprintf(fixture->run.stages[0].reason, sizeof fixture->run.stages[0].reason, "%s", nasty);
    struct tl_findings *all = &fixture->findings;
    evidence[0] = (struct tl_evidence){.say = nasty, .truth = TL_TRUE, .is_for = true};
    remedies[0] = (struct tl_remedy){.where = nasty,
                                     .os = nasty,
                                     .needs = nasty,
                                     .does = nasty,
                                     .undo = nasty,
                                     .persist = nasty,
                                     .why = nasty,
                                     .risk = nasty,
                                     .predicted = {1e9, NAN, NAN},
                                     .promised = true,
                                     .trial = {TL_TRIAL_NONE, 0, nasty}};
    for (size_t i = 0; i < all->finding_count; i++) {
        findings[i] = all->findings[i];
        findings[i].title = findings[i].sentence = findings[i].would_change = nasty;
        findings[i].segment = findings[i].cause = nasty;
        findings[i].evidence = evidence;
        findings[i].evidence_count = 1;
        findings[i].remedies = remedies;
        findings[i].remedy_count = 1;
    }
    for (size_t i = 0; i < all->rung_count; i++) {
        ladder[i] = all->ladder[i];
        ladder[i].label = ladder[i].why_not = ladder[i].segment = ladder[i].cause = nasty;
    }
    all->findings = findings;
    all->ladder = ladder;
    all->verdict.sentence = all->verdict.send_to = all->verdict.next_cause = nasty;
    all->verdict.segment = all->verdict.cause = all->verdict.confidence_reasons = nasty;
}

Test(text, nothing_from_outside_steers_the_terminal)
{
    static char nasty[] = "a\033[2J\033]0;x\007\r\n\b\x7f \xc2\x9b"
                          "31m \xe2\x80\xae"
                          "evil \xe2\x80\x8b"
                          "\xff\xc0\xaf %s %n end";
    for (int utf8 = 0; utf8 < 2; utf8++) {
        struct fixture fixture;
        struct tl_buf out = TL_BUF_INIT;
        struct tl_text_style style = {80, false, utf8};
        cr_assert(fixture_make("limited", &fixture));
        poison(&fixture, nasty);
        cr_assert(tl_report_text(&fixture.run, fixture.facts, &fixture.findings, &style, &out) ==
                  TL_OK);
        for (const unsigned char *p = (const unsigned char *)out.data; *p; p++)
            cr_assert((*p >= 0x20 && *p != 0x7f) || *p == '\n', "byte %d", *p);
        cr_expect(!strstr(out.data, "\xc2\x9b") && !strstr(out.data, "\xe2\x80\xae") &&
                  !strstr(out.data, "\xe2\x80\x8b") && !strchr(out.data, '\xff'));
        cr_expect(strstr(out.data, "\\u{1b}[2J") && strstr(out.data, "\\u{202e}evil"));
        tl_buf_finish(&out);
        fixture_finish(&fixture);
    }
}

Test(text, an_empty_run_is_still_a_report)
{
    struct tl_run run = {.download = true};
    struct tl_facts *facts = tl_facts_create();
    struct tl_findings findings = {.verdict = {.state = TL_INCONCLUSIVE}};
    struct tl_text_style style = {0, false, false};
    struct tl_buf out = TL_BUF_INIT;
    cr_expect(tl_report_text(&run, facts, &findings, &style, &out) == TL_OK);
    cr_expect(strncmp(tl_buf_text(&out), "(?) No verdict was formed.\n    No rate was measured.\n",
                      50) == 0,
              "%s", tl_buf_text(&out));
    tl_buf_finish(&out);
    tl_facts_destroy(facts);
}

/* "At least 768" may stand beside it, of another fix: this one was tried. */
Test(text, what_several_connections_got_is_no_guess)
{
    struct fixture fixture;
    struct tl_buf out = TL_BUF_INIT;
    struct tl_text_style style = {120, false, false};
    cr_assert(fixture_make("limited", &fixture));
    struct tl_finding *finding = &fixture.findings.findings[0];
    struct tl_remedy *remedy = &finding->remedies[finding->remedy_count - 1];
    tl_facts_set_range(fixture.facts, TL_FLOW(TL_DOWNLOAD, streams_goodput_bps), 768e6, 767e6,
                       769e6, "");
    remedy->predicted = (struct tl_prediction){768e6, (double)NAN, (double)NAN};
    remedy->promised = true;
    remedy->trial.kind = TL_TRIAL_STREAMS;
    cr_assert(tl_report_text(&fixture.run, fixture.facts, &fixture.findings, &style, &out) ==
              TL_OK);
    cr_expect(strstr(tl_buf_text(&out), "768 Mb/s, as measured (8 times)"), "%s",
              tl_buf_text(&out));
    tl_buf_finish(&out);
    fixture_finish(&fixture);
}

Test(text, what_a_trial_brought_is_told_as_exactly_as_it_is_known)
{
    struct fixture fixture;
    struct tl_buf out = TL_BUF_INIT;
    struct tl_text_style style = {80, false, false};
    cr_assert(fixture_make("limited", &fixture));
    fixture.run.verified[0] = (struct tl_verified_record){.rule = "receive-window",
                                                          .what = "receive buffer of 16 MiB",
                                                          .predicted = {934e6, NAN, NAN},
                                                          .measured_bps = 912.4e6,
                                                          .score = TL_SCORE_HIT};
    fixture.run.verified_count = 1;
    cr_assert(tl_report_text(&fixture.run, fixture.facts, &fixture.findings, &style, &out) ==
              TL_OK);
    cr_expect(strstr(tl_buf_text(&out), "about 930 Mb/s predicted, 910 Mb/s"), "%s",
              tl_buf_text(&out));
    tl_buf_finish(&out);
    fixture_finish(&fixture);
}
