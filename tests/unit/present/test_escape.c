/* Hostile names inside Markdown and HTML: they stay text. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixtures.h"
#include "tightlink/present/formats.h"
#include "tightlink/present/report.h"

static const char *const hostile[] = {
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='x",
    "</title><script>",
    "</style>&lt;script&gt;",
    "[click](javascript:alert(1))",
    "![x](http://evil.example/p.png)",
    "`code` **bold** _em_ ~~no~~",
    "| a | b |",
    "# heading\n## two",
    "```\nrm -rf /\n```",
    "<!-- comment --> <details>",
    "http://evil.example/ www.evil.example",
    "\x1b[2J\x1b]0;x\x07 \xe2\x80\xae bidi",
    "- list\n1. list",
};

static void render(const char *name, enum tl_export_format format, struct tl_buf *out)
{
    struct fixture fixture;
    struct tl_export *export = NULL;
    cr_assert(fixture_make("capacity", &fixture));
    struct tl_run *run = &fixture.run;
    snprintf(run->target_name, sizeof run->target_name, "%s", name);
    snprintf(run->reasons[0], sizeof run->reasons[0], "%s", name);
    snprintf(run->stages[3].reason, sizeof run->stages[3].reason, "%s", name);
    run->hop_count = 2;
    snprintf(run->hops[0].note, sizeof run->hops[0].note, "%.95s", name);
    snprintf(run->hops[1].address, sizeof run->hops[1].address, "%.63s", name);
    cr_assert(tl_export_create(NULL, run, fixture.facts, &fixture.findings, &export, NULL) ==
              TL_OK);
    cr_assert(tl_export_write(export, format, out) == TL_OK);
    tl_export_destroy(export);
    fixture_finish(&fixture);
}

/* Each of these begins only what the page's own code writes. */
static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text += strlen(what))
        n++;
    return n;
}

Test(escape, hostile_names_add_no_tag_to_the_page)
{
    static const char *const tags[] = {"<",        ">",      "<script", "<img",
                                       "<details", "<title", "</style"};
    struct tl_buf plain = TL_BUF_INIT;
    render("plain", TL_EXPORT_HTML, &plain);
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        struct tl_buf out = TL_BUF_INIT;
        render(hostile[i], TL_EXPORT_HTML, &out);
        for (size_t t = 0; t < sizeof tags / sizeof *tags; t++)
            cr_expect(count(out.data, tags[t]) == count(plain.data, tags[t]), "%s: %s", hostile[i],
                      tags[t]);
        cr_expect(!strchr(out.data, '\x1b'));
        tl_buf_finish(&out);
    }
    tl_buf_finish(&plain);
}

Test(escape, the_page_needs_no_script_and_nothing_from_elsewhere)
{
    struct tl_buf out = TL_BUF_INIT;
    render("plain", TL_EXPORT_HTML, &out);
    cr_expect(count(out.data, "default-src 'none'") == 1);
    cr_expect(!strstr(out.data, "<script") && !strstr(out.data, " src=") &&
              !strstr(out.data, " href=") && !strstr(out.data, "url(") &&
              !strstr(out.data, "@import"));
    cr_expect(strstr(out.data, "prefers-color-scheme:dark") && strstr(out.data, "@media print"));
    tl_buf_finish(&out);
}

/* Characters that begin something in Markdown stand behind a backslash or in a block of code. */
Test(escape, hostile_names_stay_text_in_markdown)
{
    static const char *const live[] = {"](",       "<script",  "<img",     "<!--",
                                       "<details", "\n# ",     "\n## two", "\n```\nrm",
                                       "http://",  "www.evil", "**bold**"};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        struct tl_buf out = TL_BUF_INIT;
        render(hostile[i], TL_EXPORT_MARKDOWN, &out);
        for (size_t l = 0; l < sizeof live / sizeof *live; l++)
            for (const char *at = out.data; (at = strstr(at, live[l])); at++)
                cr_expect(at > out.data && at[-1] == '\\', "%s: %s", hostile[i], live[l]);
        cr_expect(!strchr(out.data, '\x1b'));
        tl_buf_finish(&out);
    }
}

Test(escape, a_command_cannot_end_its_block)
{
    struct fixture fixture;
    struct tl_export *export = NULL;
    struct tl_buf out = TL_BUF_INIT;
    char command[] = "echo '```'\n````\n# not a heading";
    cr_assert(fixture_make("limited", &fixture));
    struct tl_remedy remedy = fixture.findings.findings[0].remedies[0];
    struct tl_finding finding = fixture.findings.findings[0];
    remedy.does = command;
    finding.remedies = &remedy;
    finding.remedy_count = 1;
    fixture.findings.findings = &finding;
    fixture.findings.finding_count = 1;
    cr_assert(tl_export_create(NULL, &fixture.run, fixture.facts, &fixture.findings, &export,
                               NULL) == TL_OK);
    cr_assert(tl_export_write(export, TL_EXPORT_MARKDOWN, &out) == TL_OK);
    cr_expect(strstr(out.data, "`````sh\necho '```'\n````\n# not a heading\n`````\n"));
    tl_buf_finish(&out);
    tl_export_destroy(export);
    fixture_finish(&fixture);
}
