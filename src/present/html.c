/* A run as one page that needs nothing else: no script, no font, no picture from elsewhere. It
 * follows the reader's choice of light or dark, and prints as light.
 *
 * The policy at its top forbids the browser everything but the style in it: should a text ever
 * slip through escape_html(), it could still run nothing and fetch nothing. */
#include "documents.h"

#include "escape.h"

static const char policy[] =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n";

static const char style[] =
    "<style>\n"
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#5b6470;--line:#d5dae0;"
    "--card:#f5f7f9;--bad:#b3261e;--good:#1a7f37;--bar:#4a77b4;--light:#b9cce6;--warm:#c77700;"
    "--p0:#b3261e;--p1:#4a77b4;--p2:#c77700;--p3:#6b7785}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e4e7eb;--dim:#9aa4b0;"
    "--line:#343b44;--card:#1d2228;--bad:#ff8a80;--good:#6fd08c;--bar:#7fa9e0;--light:#3b5375;"
    "--warm:#f0b357;--p0:#e5695f;--p1:#7fa9e0;--p2:#f0b357;--p3:#8b97a5}}\n"
    "@media print{:root{color-scheme:light;--bg:#fff;--fg:#000;--dim:#444;--line:#bbb;--card:#fff;"
    "--bad:#a00;--good:#060;--bar:#4a77b4;--light:#b9cce6;--warm:#c77700;--p0:#b3261e;"
    "--p1:#4a77b4;--p2:#c77700;--p3:#6b7785}body{font-size:10pt;max-width:none;padding:0}"
    "h3{break-after:avoid}svg,table,pre,.entry{break-inside:avoid}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:54rem;padding:1.5rem 1.25rem 3rem;background:var(--bg);"
    "color:var(--fg);font:16px/1.5 system-ui,sans-serif;overflow-wrap:break-word;"
    "print-color-adjust:exact}\n"
    "header{border-left:.4rem solid var(--dim);padding-left:1rem;margin-bottom:1rem}\n"
    "header.limited,header.invalid{border-color:var(--bad)}header.goal-met{border-color:var(--good)"
    "}"
    "header.inconclusive{border-color:var(--warm)}\n"
    "h1{font-size:1.6rem;line-height:1.25;margin:0 0 .5rem}\n"
    "h3{font-size:1.05rem;margin:1.6rem 0 .4rem;padding-bottom:.2rem;border-bottom:1px solid "
    "var(--line)}\n"
    "p{margin:.3rem 0}.o{color:var(--dim);font-size:.9rem}\n"
    ".entry{display:grid;grid-template-columns:8rem 1fr;gap:.1rem .8rem;margin:.25rem 0}\n"
    ".entry b{color:var(--dim);font-weight:600}\n"
    ".entry pre{margin:0}\n"
    "pre{background:var(--card);border:1px solid var(--line);border-radius:.3rem;padding:.4rem "
    ".6rem;white-space:pre-wrap;font:.85rem/1.4 ui-monospace,monospace}\n"
    "table{border-collapse:collapse;width:100%;margin:.4rem 0;font-size:.9rem}\n"
    "th{text-align:left;color:var(--dim);font-weight:600}\n"
    "th,td{padding:.2rem .6rem .2rem 0;border-bottom:1px solid var(--line);vertical-align:top}\n"
    "td:nth-child(4){white-space:nowrap}\n"
    "svg{display:block;width:100%;height:auto;margin:.6rem 0;font:13px system-ui,sans-serif}\n"
    "svg text{fill:var(--fg)}svg .d{fill:var(--dim)}svg .b{fill:var(--bar)}"
    "svg .h{fill:var(--light)}svg .x{fill:var(--bad)}svg .m{fill:var(--dim)}"
    "svg .g{stroke:var(--line);fill:none}svg .l{stroke:var(--bar);stroke-width:1.6;fill:none;"
    "stroke-linejoin:round}"
    "svg .l1{stroke:var(--fg)}svg .l2{stroke:var(--warm)}\n"
    "svg .p0{fill:var(--p0)}svg .p1{fill:var(--p1)}svg .p2{fill:var(--p2)}svg .p3{fill:var(--p3)}\n"
    "@media(max-width:34rem){.entry{grid-template-columns:1fr}}\n"
    "</style>\n";

static void add_text(struct tl_buf *out, const char *before, const struct text_source *source,
                     void (*make)(const struct text_source *source, struct tl_buf *out),
                     const char *after)
{
    struct tl_buf line = TL_BUF_INIT;
    make(source, &line);
    if (line.len) {
        tl_buf_adds(out, before);
        escape_html(out, tl_buf_text(&line));
        tl_buf_adds(out, after);
    }
    if (line.status != TL_OK)
        out->status = line.status;
    tl_buf_finish(&line);
}

static void add_head(struct text *t, const struct text_source *source)
{
    struct document_field fields[DOCUMENT_FIELDS];
    struct tl_buf *out = t->out;
    tl_buf_addf(out, "<header class=\"%s\">\n",
                tl_verdict_state_name(source->findings->verdict.state));
    add_text(out, "<h1>", source, text_add_headline, "</h1>\n");
    add_text(out, "<p class=\"o\">", source, text_add_origin, "</p>\n");
    add_text(out, "<p>", source, text_add_cause, "</p>\n");
    add_text(out, "<p>", source, text_add_consequence, "</p>\n");
    tl_buf_adds(out, "</header>\n");
    size_t count = document_fields(source, fields);
    for (size_t i = 0; i < count; i++) {
        text_entry(t, fields[i].label, 0, tl_buf_text(&fields[i].text));
        if (fields[i].text.status != TL_OK)
            out->status = fields[i].text.status;
        tl_buf_finish(&fields[i].text);
    }
}

void report_html(const struct text_source *source, const struct tl_samples *samples,
                 struct tl_buf *out)
{
    static const enum tl_report_part parts[] = {TL_PART_EVIDENCE, TL_PART_WAY, TL_PART_OTHERS,
                                                TL_PART_RUN};
    struct text t = {.sink = &text_html, .out = out};
    tl_buf_adds(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    tl_buf_adds(out, policy);
    tl_buf_adds(out, "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
    tl_buf_adds(out, "<meta name=\"referrer\" content=\"no-referrer\">\n");
    add_text(out, "<title>", source, text_add_headline, "</title>\n");
    tl_buf_adds(out, style);
    tl_buf_adds(out, "</head>\n<body>\n");
    add_head(&t, source);
    text_part(&t, source, TL_PART_FIX);
    text_part(&t, source, TL_PART_MEASUREMENTS);
    if (source->findings->verdict.state != TL_VERDICT_INVALID) {
        chart_time(out, samples, CHART_RATE);
        chart_time(out, samples, CHART_RTT);
        chart_time(out, samples, CHART_FLIGHT);
        chart_time(out, samples, CHART_SEQUENCE);
        chart_time(out, samples, CHART_EDGES);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        text_part(&t, source, parts[i]);
    text_untested(&t, source);
    tl_buf_adds(out, "</body>\n</html>\n");
}
