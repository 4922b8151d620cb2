/* Remedies that are commands: which are, and what an administrator has to put into one before it
 * can be run. Words stand in it for what was not known here: the other end told it nobody. */
#include <string.h>

#include "plain.h"
#include "text_words.h"
#include "tightlink/present/report.h"

/* {other} is the other end of the transfer, {place} the host where the command is run. Every word
 * that a rule's command may hold has a row for each system (tests/rules/complete.py). */
static const struct {
    const char *os, *word, *says;
} to_fill_in[] = {
    {"linux", "DESTINATION",
     "is the address of {other} as {place} sees it: ss -tn lists it there while the transfer runs"},
    {"linux", "GATEWAY",
     "stands behind \"via\" in what ip route get prints there for the address of {other} "
     "(where it prints none, leave \"via GATEWAY\" out)"},
    {"linux", "IFACE",
     "stands behind \"dev\" in what ip route get prints there for the address of {other}"},
    {"macos", "IFACE",
     "stands behind \"interface:\" in what route get prints there for the address of {other}"},
    {"windows", "NAME",
     "is the adapter towards {other}: netsh interface show interface lists them"},
};

/* By itself, not as a part of another word or of a file's name. */
static bool has_word(const char *command, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = strstr(command, word); at; at = strstr(at + 1, word)) {
        char before = at > command ? at[-1] : ' ', after = at[len] ? at[len] : ' ';
        if (strchr(" \"';=/(", before) && strchr(" \"';/)", after))
            return true;
    }
    return false;
}

static void add_says(const struct text_source *source, const char *where, const char *says,
                     struct tl_buf *out)
{
    const char *other = strcmp(where, "near-host") == 0 ? "far-host" : "near-host";
    while (*says) {
        size_t len = strcspn(says, "{");
        tl_buf_add(out, says, len);
        says += len;
        if (!*says)
            break;
        plain_add_place(source, says[1] == 'o' ? other : where, false, out);
        says += strcspn(says, "}") + 1;
    }
}

void plain_add_to_fill_in(const struct text_source *source, const struct tl_remedy *remedy,
                          struct tl_buf *out)
{
    size_t before = out->len;
    for (size_t i = 0; i < sizeof to_fill_in / sizeof *to_fill_in; i++) {
        bool command = tl_remedy_is_command(remedy->does);
        const char *os =
            remedy->os[0] || command ? remedy->os : "linux"; /* ethtool in a sentence */
        if (strcmp(os, to_fill_in[i].os) != 0 || !has_word(remedy->does, to_fill_in[i].word))
            continue;
        tl_buf_addf(out, "%s%s ",
                    out->len > before ? "; "
                    : command         ? "To be filled in first: "
                                      : "",
                    to_fill_in[i].word);
        add_says(source, remedy->where, to_fill_in[i].says, out);
    }
    tl_buf_adds(out, out->len == before ? "" : ".");
}

void tl_report_to_fill_in(const struct tl_run *run, const struct tl_remedy *remedy,
                          struct tl_buf *out)
{
    const struct text_source source = {.run = run};
    plain_add_to_fill_in(&source, remedy, out);
}

/* What stands in quotes in: Ask the network team: "One packet in 970 is lost ..." Until then ... */
static bool add_quoted(const char *text, struct tl_buf *out)
{
    const char *first = strstr(text, ": \""), *last = strrchr(text, '"');
    if (!tl_remedy_is_request(text) || !first || last <= first + 3)
        return false;
    tl_buf_add(out, first + 3, (size_t)(last - first) - 3);
    return true;
}

void tl_report_request(const struct tl_run *run, const struct tl_remedy *remedy, struct tl_buf *out)
{
    const struct text_source source = {.run = run};
    bool command = tl_remedy_is_command(remedy->does);
    bool elsewhere = strcmp(remedy->where, "near-host") != 0 && strcmp(remedy->where, "flow") != 0;
    if (command && elsewhere) {
        tl_buf_adds(out, "Please run this on ");
        plain_add_place(&source, remedy->where, false, out);
        tl_buf_addf(out, ", %s:\n%s", text_needs(remedy->needs), remedy->does);
    } else if (command) {
        tl_buf_adds(out, remedy->does);
    } else if (!add_quoted(remedy->does, out)) {
        plain_add_named(&source, remedy->does, out);
    }
}
