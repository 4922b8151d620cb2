/* Plain words for every cause and every state: states.h. */
#include "states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plain_words.h"
#include "tightlink/present/report.h"
#include "tightlink/rules/why.h"

#define STATES_MAX 512
static char *states[STATES_MAX];
static size_t state_count, texts_read;

/* The first verdict of its cause, place and state. */
static bool is_new_state(const struct tl_verdict *verdict)
{
    struct tl_buf key = TL_BUF_INIT;
    bool is_new = state_count < STATES_MAX;
    tl_buf_addf(&key, "%d %d %d %s %s", verdict->state, verdict->undecided, verdict->broken,
                verdict->cause ? verdict->cause : "", verdict->segment ? verdict->segment : "");
    for (size_t i = 0; i < state_count; i++)
        is_new &= strcmp(states[i], tl_buf_text(&key)) != 0;
    if (is_new)
        states[state_count++] = tl_buf_steal(&key);
    else
        tl_buf_finish(&key);
    return is_new;
}

/* How a run may have gone, and what it was: whoever reads it plainly reads words of the same kind.
 */
static const struct {
    const char *what, *kind, *name, *proxy, *reason;
    enum tl_quality quality;
    bool keyed;
} runs[] = {
    {"disturbed", "tightlink", "srv-b", "", "other programs made traffic", TL_QUALITY_DEGRADED,
     false},
    {"invalid", "tightlink", "srv-b", "", "the clock jumped", TL_QUALITY_INVALID, false},
    {"aborted", "tightlink", "srv-b", "", "the link of eth0 went down", TL_QUALITY_ABORTED, false},
    {"stopped", "tightlink", "srv-b", "", TL_RUN_STOPPED, TL_QUALITY_ABORTED, false},
    {"live", "live", "srv-b", "", NULL, TL_QUALITY_VALID, false},
    {"capture", "pcap", "srv-b", "", NULL, TL_QUALITY_VALID, false},
    {"mover", "mover", "srv-b", "", NULL, TL_QUALITY_VALID, false},
    {"demo", "demo", "loss", "", NULL, TL_QUALITY_VALID, false},
    {"web", "https", "https://srv-b/big", "", NULL, TL_QUALITY_VALID, false},
    {"by proxy", "http", "http://srv-b/big", "proxy.example.net", NULL, TL_QUALITY_VALID, false},
    {"iperf3", "iperf3", "srv-b", "", NULL, TL_QUALITY_VALID, true},
    {"without a name", "tightlink", "", "", NULL, TL_QUALITY_VALID, false}};

static void read_run(const struct tl_case *test, const struct tl_findings *findings, size_t index,
                     struct tl_buf *out)
{
    static struct tl_run run;
    run = (struct tl_run){.download = test->question.download,
                          .upload = test->question.upload,
                          .goal.bps = test->question.goal_bps,
                          .goal.rtt_ns = test->question.goal_rtt_ns};
    run.quality = runs[index].quality;
    run.reason_count = runs[index].reason != NULL;
    run.target_keyed = run.target_login = runs[index].keyed;
    run.stage_count = 1;
    run.received_bytes = 1000000;
    snprintf(run.reasons[0], sizeof run.reasons[0], "%s",
             runs[index].reason ? runs[index].reason : "");
    snprintf(run.target_kind, sizeof run.target_kind, "%s", runs[index].kind);
    snprintf(run.target_name, sizeof run.target_name, "%s", runs[index].name);
    snprintf(run.target_proxy, sizeof run.target_proxy, "%s", runs[index].proxy);
    for (int which = 0; which < 3; which++) {
        struct tl_page page;
        struct tl_buf text = TL_BUF_INIT;
        tl_page_init(&page, 80, true);
        if (which == 0)
            tl_report_plain(&run, test->facts, findings, &page);
        else if (which == 1)
            tl_report_brief(&run, test->facts, findings, &page);
        else
            tl_report_part(&run, test->facts, findings, TL_PART_HEAD, &page);
        if (tl_page_print(&page, false, &text) != TL_OK)
            exit(2);
        const char *word = plain_words_break(tl_buf_text(&text));
        if (word)
            tl_buf_addf(out, "# %s, %s, %s: \"%s\": %s\n", test->rule, test->name, runs[index].what,
                        word, tl_buf_text(&text));
        tl_page_finish(&page);
        tl_buf_finish(&text);
        texts_read++;
    }
}

static char *plain_view(const struct tl_case *test, const struct tl_findings *findings)
{
    static struct tl_run run;
    struct tl_page page;
    struct tl_buf text = TL_BUF_INIT;
    run = (struct tl_run){.download = test->question.download, .upload = test->question.upload};
    snprintf(run.target_name, sizeof run.target_name, "srv-b");
    tl_page_init(&page, 80, true);
    tl_report_plain(&run, test->facts, findings, &page);
    if (tl_page_print(&page, false, &text) != TL_OK)
        exit(2);
    tl_page_finish(&page);
    return tl_buf_steal(&text);
}

/* What no measurement made a verdict of here is told in plain words all the same. */
static void read_causes(const struct tl_case *test, const struct tl_findings *findings,
                        struct tl_buf *out)
{
    static const char *const segments[] = {"near-host", "far-host", "lan",
                                           "far-lan",   "path",     "flow"};
    struct tl_findings made = *findings;
    for (size_t c = 0; c < tl_cause_list_count(); c++)
        for (size_t s = 0; s < sizeof segments / sizeof *segments; s++) {
            made.verdict.state = TL_LIMITED;
            made.verdict.cause = (char *)tl_cause_list_id(c);
            made.verdict.segment = (char *)segments[s];
            char *plain = plain_view(test, &made);
            const char *word = plain_words_break(plain);
            /* Below the heading and who limits: the cause's own words, else the time of a file. */
            const char *says = strstr(plain, "\n  ");
            says = says ? strstr(says + 1, "\n  ") : NULL;
            if (word || !says || strncmp(says + 3, "A 10 GB", 7) == 0)
                tl_buf_addf(out, "# %s at %s: \"%s\": %s\n", made.verdict.cause, segments[s],
                            word ? word : "no words", plain);
            free(plain);
            texts_read++;
        }
}

void states_read(const struct tl_case *test, const struct tl_findings *findings, struct tl_buf *out)
{
    if (!is_new_state(&findings->verdict))
        return;
    if (findings->verdict.state == TL_LIMITED && !findings->verdict.broken && texts_read < 100)
        read_causes(test, findings, out);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        read_run(test, findings, i, out);
}

/* The same measurement, had it been spoilt. */
void states_read_unusable(const struct tl_rules *rules, struct tl_case *test, struct tl_buf *out)
{
    static const enum tl_quality qualities[] = {TL_QUALITY_DEGRADED, TL_QUALITY_INVALID,
                                                TL_QUALITY_ABORTED};
    for (size_t i = 0; i < sizeof qualities / sizeof *qualities; i++) {
        struct tl_findings *findings = NULL;
        test->question.quality = qualities[i];
        test->question.quality_reason = TL_RUN_STOPPED;
        if (tl_rules_judge(rules, test->facts, &test->question, &findings, NULL) == TL_OK)
            states_read(test, findings, out);
        tl_findings_destroy(findings);
    }
}

bool states_tell(void)
{
    printf("# %zu states of verdicts, %zu texts of %zu kinds of runs\n", state_count, texts_read,
           sizeof runs / sizeof *runs);
    bool enough = state_count >= 60 && texts_read >= 2000;
    for (size_t i = 0; i < state_count; i++)
        free(states[i]);
    return enough;
}
