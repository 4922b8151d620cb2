/* What the help says: commands in groups, one command, and two examples of each. */
#include "cli.h"
#include "pager.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/base/buf.h"

static const struct {
    const char *title, *names; /* separated by blanks */
} groups[] = {
    {"Find out", "run demo audit live mover pcap capture between mesh"},
    {"Look at what was found", "show explain why why-not history compare"},
    {"Do something about it", "fix verify"},
    {"Hand it on", "export ticket telemetry"},
    {"Set up", "serve key config rules doctor schema"},
};

static const struct {
    const char *name, *examples[2];
} examples[] = {
    {"run", {"run srv-b.example.net", "run srv-b.example.net --direction upload --goal 900M"}},
    {"demo", {"demo", "demo policer --no-screen"}},
    {"audit", {"audit", "audit --goal 900M@80ms"}},
    {"live", {"live", "live --for 10s"}},
    {"mover",
     {"mover -- scp big.iso srv-b.example.net:",
      "mover --measure -- rsync -a data/ srv-b.example.net:data/"}},
    {"pcap", {"pcap slow.pcap", "pcap slow.pcap --json"}},
    {"capture", {"capture srv-b.example.net --for 30s -o slow.pcap", "capture :443 -o slow.pcap"}},
    {"between",
     {"between srv-a srv-b --key lab.key", "between ps-a ps-b --node pscheduler://ps-a"}},
    {"mesh",
     {"mesh ps-a,ps-b,ps-c", "mesh ps-a,ps-b --node ps-b=pscheduler://10.0.0.2:8443 --json"}},
    {"show", {"show last", "show run.tightlink"}},
    {"explain", {"explain last", "explain run.tightlink --json"}},
    {"why", {"why last", "why run.tightlink"}},
    {"why-not", {"why-not policer last", "why-not random-loss run.tightlink"}},
    {"history", {"history", "history trend --target srv-b.example.net"}},
    {"compare", {"compare last-1 last", "compare before.tightlink after.tightlink"}},
    {"fix", {"fix --dry-run last", "sudo tightlink fix --apply --keep run.tightlink"}},
    {"verify", {"verify last", "verify run.tightlink --yes"}},
    {"export", {"export last -o report.html", "export last --preview"}},
    {"ticket", {"ticket last --to helpdesk --dry-run", "ticket --list"}},
    {"telemetry", {"telemetry last --to metrics", "run srv-b.example.net --telemetry metrics"}},
    {"serve", {"serve --open", "serve --key /etc/tightlink/lab.key"}},
    {"key", {"key lab", "key lab --out lab.key"}},
    {"config", {"config --example", "config --check"}},
    {"rules", {"rules list", "rules explain receive-window"}},
    {"doctor", {"doctor", "doctor && tightlink demo"}},
    {"schema", {"schema", "schema > findings.schema.json"}},
};

static void print_examples(const char *name, FILE *out)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        if (strcmp(examples[i].name, name) != 0)
            continue;
        fputs("\nExamples:\n", out);
        for (size_t e = 0; e < 2; e++)
            fprintf(out, "  %s%s\n",
                    strncmp(examples[i].examples[e], "sudo ", 5) == 0 ? "" : "tightlink ",
                    examples[i].examples[e]);
    }
}

static void print_command(const struct cli_command *command, FILE *out)
{
    fprintf(out, "  tightlink %-9s %s\n", command->name, command->summary);
}

static bool is_named(const char *names, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = names; (at = strstr(at, name)); at += len)
        if ((at == names || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    return false;
}

static bool is_grouped(const char *name)
{
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        if (is_named(groups[g].names, name))
            return true;
    return false;
}

void cli_print_groups(const struct cli_command *commands, size_t count, FILE *out)
{
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        fprintf(out, "%s%s\n", g ? "\n" : "", groups[g].title);
        for (size_t i = 0; i < count; i++)
            if (is_named(groups[g].names, commands[i].name))
                print_command(&commands[i], out);
    }
    for (size_t i = 0; i < count; i++) /* none is left out */
        if (!is_grouped(commands[i].name))
            print_command(&commands[i], out);
}

/* Where what a line says of its first word begins: "  --port PORT     the far end's port". */
static size_t hang_of(const char *line, size_t len)
{
    size_t lead = strspn(line, " "), at = lead;
    while (at + 1 < len && !(line[at] == ' ' && line[at + 1] == ' '))
        at++;
    if (at + 1 >= len)
        return lead;
    return at + strspn(line + at, " ");
}

void cli_print_help(const struct cli_command *command, FILE *out)
{
    size_t columns = 0; /* a file is broken by who reads it */
    struct tl_buf text = TL_BUF_INIT;
    if (out == stdout && isatty(STDOUT_FILENO)) {
        cli_page();
        columns = (size_t)cli_stdout_columns();
    }
    tl_buf_addf(&text, "Usage: tightlink %s%s%s\n%c%s.\n", command->name,
                command->arguments[0] ? " " : "", command->arguments,
                command->summary[0] - 'a' + 'A', command->summary + 1);
    if (command->help[0])
        tl_buf_addf(&text, "\n%s", command->help);
    for (const char *line = tl_buf_text(&text); *line;) {
        size_t len = strcspn(line, "\n"), hang = hang_of(line, len);
        cli_put_wrapped(line, columns, hang > columns / 2 ? 4 : hang, out);
        line += len + (line[len] == '\n');
    }
    tl_buf_finish(&text);
    print_examples(command->name, out);
}
