/* A verdict in words that everybody has. */
#include "plain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text_words.h"
#include "tightlink/base/far.h"
#include "tightlink/base/name.h"
#include "tightlink/base/utf8.h"
#include "tightlink/document/redact.h"

/* The name of the other computer, or of the proxy that was measured, as far as there is room. */
static void add_other_end(const struct text_source *source, bool begins, struct tl_buf *out)
{
    const char *proxy = source->run->target_proxy;
    const char *name = proxy[0] ? proxy : source->run->target_name;
    if (proxy[0])
        tl_buf_adds(out, begins ? "The proxy " : "the proxy ");
    if (!name[0])
        tl_buf_adds(out, "the other computer");
    else if (source->name_columns)
        tl_utf8_add_short(out, name, source->name_columns, source->ascii);
    else
        tl_buf_adds(out, name);
}

/* An end of a captured connection: "the server 192.0.2.7:443". False where it is none. */
static bool add_overheard(const struct tl_run *run, const char *segment, bool begins,
                          struct tl_buf *out)
{
    bool lan = strcmp(segment, "lan") == 0 || strcmp(segment, "far-lan") == 0;
    bool near = strcmp(segment, "near-host") == 0 || strcmp(segment, "lan") == 0;
    if (!lan && !near && strcmp(segment, "far-host") != 0)
        return false;
    const char *name = text_end_name(run, near ? "near-host" : "far-host");
    tl_buf_addf(out, "%s %s%s%s", begins ? "The" : "the",
                lan    ? near ? "network at the client" : "network at the server"
                : near ? "client"
                       : "server",
                name[0] ? " " : "", name);
    return true;
}

void plain_add_place(const struct text_source *source, const char *segment, bool begins,
                     struct tl_buf *out)
{
    if (tl_run_is_of_others(source->run) && add_overheard(source->run, segment, begins, out))
        return;
    if (strcmp(segment, "near-host") == 0)
        tl_buf_adds(out, begins ? "This PC" : "this PC");
    else if (strcmp(segment, "lan") == 0)
        tl_buf_adds(out, begins ? "The local network" : "the local network");
    else if (strcmp(segment, "flow") == 0)
        tl_buf_adds(out, begins ? "The transfer itself" : "the transfer itself");
    else if (strcmp(segment, "far-host") == 0 && begins && !source->run->target_name[0])
        tl_buf_adds(out, "The other computer");
    else {
        const char *of = strcmp(segment, "far-host") == 0  ? ""
                         : strcmp(segment, "far-lan") == 0 ? "he network at "
                                                           : "he line to ";
        tl_buf_addf(out, "%s%s", !*of ? "" : begins ? "T" : "t", of);
        add_other_end(source, begins && !*of, out);
    }
}

/* Something would decide that can still be measured. */
static bool is_open(const struct text_source *source)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    for (size_t i = 0; i < verdict->deciding_count; i++) {
        struct tl_fact fact;
        tl_facts_get_lacking(source->facts, verdict->deciding[i], &fact);
        if (!fact.tried)
            return true;
    }
    return false;
}

/* Stand in a command for a name that was masked, and for the files of a key or a login. */
#define STAND_IN        "SERVER"
#define KEY_STAND_IN    "KEYFILE"
#define LOGIN_STAND_INS "--user USER --password-file PASSWORDFILE --public-key PUBLICKEYFILE"

static bool is_demo(const struct tl_run *run)
{
    return strcmp(run->target_kind, "demo") == 0;
}

/* Of a connection that was watched the address; between hosts of others nothing. */
static const char *name_of_far_end(const struct tl_run *run)
{
    const char *kind = run->target_kind;
    bool watched = strcmp(kind, "live") == 0 || strcmp(kind, "mover") == 0;
    return watched ? run->target_address : tl_run_is_of_others(run) ? "" : run->target_name;
}

/* What stands in the specification of a path. */
#define LINK_CHARACTERS " =/%+,"

/* "rate=30M trace=path-1a2b3c": the file of a recording is masked. */
static bool has_masked_value(const char *link)
{
    char value[TL_RUN_LINK_SIZE];
    bool masked = false;
    while ((link = strchr(link, '=')) && !masked) {
        snprintf(value, sizeof value, "%.*s", (int)strcspn(link + 1, " "), link + 1);
        masked = tl_is_mask(value);
        link++;
    }
    return masked;
}

/* A demo's name; none where all of the path was made by hand. False where it cannot be made again:
 * a part of it was masked, or is nothing that a shell may be given. */
static bool add_demo(const struct tl_run *run, struct tl_buf *out)
{
    const char *name = run->target_name, *link = run->target_link;
    bool named = tl_is_command_name(name, "", TL_COMMAND_NAME_MAX);
    if (tl_is_mask(name) || has_masked_value(link) || (!named && !link[0]) ||
        (link[0] && !tl_is_command_name(link, LINK_CHARACTERS, TL_RUN_LINK_SIZE)))
        return false;
    tl_buf_adds(out, named ? name : "");
    return true;
}

/* A name as a shell takes it, in quotes where it needs them; false where there is none that
 * `tightlink run` would take: others' hosts. */
static bool add_name(const struct tl_run *run, struct tl_buf *out)
{
    const char *name = name_of_far_end(run);
    struct tl_target target;
    if (tl_is_mask(name))
        tl_buf_adds(out, STAND_IN);
    else if (tl_is_command_name(name, "", TL_COMMAND_HOST_MAX))
        tl_buf_adds(out, name);
    else if (strstr(name, "://") && tl_is_command_name(name, "/[]?=&%~,+", TL_COMMAND_HOST_MAX) &&
             tl_target_parse(name, &target, NULL) == TL_OK)
        tl_buf_addf(out, "'%s'", name);
    else
        return false;
    return true;
}

void plain_add_stand_in(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_run *run = source->run;
    const char *name = name_of_far_end(run);
    if (tl_is_mask(name) && !is_demo(run))
        tl_buf_addf(out, "For " STAND_IN " write the name that is masked here as %s.", name);
    if (run->target_keyed)
        tl_buf_addf(out, "%sFor " KEY_STAND_IN " write the file of the key that both ends hold.",
                    out->len ? " " : "");
    if (run->target_login)
        tl_buf_addf(out,
                    "%sFor USER, PASSWORDFILE and PUBLICKEYFILE write the name and the files that "
                    "this run was given.",
                    out->len ? " " : "");
}

/* What is not the usual: without it the command would go another way, or nowhere. Of a stranger's
 * server only where the far end is the same. */
static void add_reach(const struct tl_run *run, bool same_far, struct tl_buf *out)
{
    struct tl_target target;
    bool named = strstr(run->target_name, "://") &&
                 tl_target_parse(run->target_name, &target, NULL) == TL_OK && target.port;
    if (run->target_only)
        tl_buf_addf(out, " -%d", run->target_only);
    if (same_far && run->target_http1)
        tl_buf_adds(out, " --http1.1");
    if (same_far && run->target_port && !named)
        tl_buf_addf(out, " --port %d", run->target_port);
    if (run->target_keyed)
        tl_buf_adds(out, " --key " KEY_STAND_IN);
    if (same_far && run->target_login)
        tl_buf_adds(out, " " LOGIN_STAND_INS);
    if (is_demo(run) && run->target_link[0])
        tl_buf_addf(out, " --link '%s'", run->target_link);
    if (same_far && is_demo(run) && run->target_far[0])
        tl_buf_addf(out, " --far %s", run->target_far);
}

/* The host of a stranger's server, where a responder would listen at its own port. */
static bool add_host(const struct tl_run *run, struct tl_buf *out)
{
    struct tl_target target;
    const char *name = name_of_far_end(run);
    if (tl_is_mask(name))
        name = STAND_IN;
    else if (tl_target_parse(name, &target, NULL) == TL_OK)
        name = target.host;
    bool known = tl_is_command_name(name, "", TL_COMMAND_HOST_MAX);
    tl_buf_adds(out, known ? name : "");
    return known;
}

/* The same again, or where same_far is false to a responder in the stranger's place. */
static bool add_command(const struct tl_run *run, bool same_far, struct tl_buf *out)
{
    struct tl_buf name = TL_BUF_INIT;
    bool known = is_demo(run) ? add_demo(run, &name)
                 : same_far   ? add_name(run, &name)
                              : add_host(run, &name);
    if (known) {
        tl_buf_addf(out, "tightlink %s%s%s", is_demo(run) ? "demo" : "run", name.len ? " " : "",
                    tl_buf_text(&name));
        add_reach(run, same_far, out);
        if (!run->download || run->upload)
            tl_buf_addf(out, " --direction %s", run->download ? "both" : "upload");
    }
    if (name.status != TL_OK)
        out->status = name.status;
    tl_buf_finish(&name);
    return known;
}

bool plain_add_again(const struct text_source *source, struct tl_buf *out)
{
    return add_command(source->run, true, out);
}

/* Nothing that can still be measured would decide, but a responder in the stranger's place would.
 */
static bool awaits_responder(const struct text_source *source)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    struct tl_fact fact = {.reason = ""};
    for (size_t i = 0; i < verdict->deciding_count && !tl_far_responder_would(fact.reason); i++)
        tl_facts_get_lacking(source->facts, verdict->deciding[i], &fact);
    return verdict->undecided && tl_run_stranger(source->run) &&
           tl_far_responder_would(fact.reason);
}

/* Servers of the public, where a reader can hardly start a responder. */
static bool is_public(const struct tl_run *run)
{
    enum tl_far_kind kind = tl_run_far_kind(run);
    return !is_demo(run) && (kind == TL_FAR_HTTPS || kind == TL_FAR_NDT7);
}

/* Who would tell what this far end cannot, and how to ask. */
static void add_way_to_responder(const struct text_source *source, struct tl_buf *says,
                                 struct tl_buf *command)
{
    if (source->run->target_proxy[0]) {
        tl_buf_adds(command, "no_proxy='*' ");
        plain_add_again(source, command);
        tl_buf_adds(says, "Past the proxy, where there is a way, this tells on which side of it "
                          "the limit lies:");
    } else if (is_public(source->run)) {
        plain_add_again(source, command);
        tl_buf_adds(says, "Run it again with --compare and a second server's URL: that tells "
                          "whether it lies there or on this side.");
    } else {
        bool known = add_command(source->run, false, command);
        tl_buf_addf(says, "A tightlink responder there would tell%s%s",
                    is_demo(source->run) ? "" : ". Start it (tightlink serve), and then here",
                    known                  ? ":"
                    : is_demo(source->run) ? "."
                                           : ": tightlink run HOST.");
    }
}

/* The same in a sentence, which has no room to say what to put for a masked name. */
static bool add_own_command(const struct text_source *source, struct tl_buf *out)
{
    return !tl_is_mask(name_of_far_end(source->run)) && plain_add_again(source, out);
}

void plain_add_named(const struct text_source *source, const char *text, struct tl_buf *out)
{
    static const char *const names[] = {"the far end", "The far end", "tightlink run HOST"};
    while (*text) {
        size_t n = 0;
        while (n < 3 && strncmp(text, names[n], strlen(names[n])) != 0)
            n++;
        if (n == 3 || (n == 2 && !add_own_command(source, out))) {
            tl_buf_add(out, text++, 1);
            continue;
        }
        if (n < 2)
            plain_add_place(source, "far-host", n == 1, out);
        text += strlen(names[n]);
    }
}

bool plain_nothing_was_measured(const struct tl_run *run)
{
    return run->quality == TL_QUALITY_ABORTED && run->sent_bytes + run->received_bytes == 0;
}

/* The user ended it. */
static bool was_stopped(const struct tl_run *run)
{
    for (int i = 0; i < run->reason_count; i++)
        if (strcmp(run->reasons[i], TL_RUN_STOPPED) == 0)
            return true;
    return false;
}

bool plain_stopped_too_early(const struct text_source *source)
{
    return source->findings->verdict.state == TL_VERDICT_INVALID && was_stopped(source->run);
}

void plain_add_system(const struct text_source *source, const struct tl_remedy *remedy,
                      struct tl_buf *out)
{
    static const char *const names[][2] = {
        {"linux", "Linux"}, {"macos", "macOS"}, {"windows", "Windows"}};
    bool near = strcmp(remedy->where, "near-host") == 0;
    struct tl_fact os = {0};
    if (!near && strcmp(remedy->where, "far-host") != 0)
        return;
    tl_facts_get(source->facts, near ? TL_NEAR(os) : TL_FAR(os), &os);
    for (size_t i = 0; i < sizeof names / sizeof *names && os.state != TL_FACT_KNOWN; i++)
        if (strcmp(remedy->os, names[i][0]) == 0)
            tl_buf_addf(out, ", if it runs %s", names[i][1]);
}

bool plain_add_way_on(const struct text_source *source, struct tl_buf *ret_says,
                      struct tl_buf *ret_command)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    bool disturbed = verdict->state == TL_VERDICT_INVALID ||
                     source->run->quality != TL_QUALITY_VALID || !verdict->deciding_count;
    bool longer = verdict->undecided || !disturbed;
    if (verdict->state == TL_LIMITED || verdict->state == TL_GOAL_MET ||
        (verdict->state == TL_VERDICT_INVALID && !source->run->stage_count))
        return false; /* nothing was measured: its sentence says why */
    bool open = longer && is_open(source);
    if (!open && awaits_responder(source)) {
        add_way_to_responder(source, ret_says, ret_command);
        return true;
    }
    bool command = plain_add_again(source, ret_command);
    if (command && open) {
        tl_buf_adds(ret_says, "This would tell:");
        tl_buf_adds(ret_command, " --time-budget 60s --data-budget 3GB");
    } else if (verdict->undecided && strcmp(source->run->target_kind, "pcap") == 0) {
        tl_buf_adds(ret_says, "Measure between these two computers (tightlink serve on one, "
                              "tightlink run on the other): a capture shows only what was sent.");
    } else if (verdict->undecided) {
        tl_buf_adds(ret_says, "Run it again while it is slow: nothing else that can be measured "
                              "from here would tell.");
    } else if (strcmp(source->run->target_kind, "pcap") == 0) {
        tl_buf_adds(ret_says, "Capture it again, from its beginning on and for longer.");
    } else if (plain_nothing_was_measured(source->run)) {
        tl_buf_adds(ret_says, "When that is put right, run it again:");
    } else {
        tl_buf_adds(ret_says, was_stopped(source->run) ? "Run it again, and let it run to its end."
                                                       : "Run it again when nothing disturbs it.");
    }
    return true;
}

/* "13 s", "4 min", "1 h 9 min", "5 h 30 min", "22 days": as people say it, no more exact than it is
 * known. */
static const char *plain_time(double ns, char ret_text[32])
{
    double s = ns / 1e9, minutes = round(s / 60), hours = round(s / 3600);
    if (!(ns > 0))
        snprintf(ret_text, 32, "no time");
    else if (s < 10)
        snprintf(ret_text, 32, "%.1g s", s);
    else if (s < 90)
        snprintf(ret_text, 32, "%.0f s", s);
    else if (minutes < 60)
        snprintf(ret_text, 32, "%.0f min", minutes);
    else if (minutes < 10 * 60) {
        if (minutes >= 120)
            minutes = round(minutes / 10) * 10;
        int whole = (int)minutes / 60, rest = (int)minutes % 60;
        snprintf(ret_text, 32, rest ? "%d h %d min" : "%d h", whole, rest);
    } else if (hours < 48)
        snprintf(ret_text, 32, "%.0f h", hours);
    else
        snprintf(ret_text, 32, "%.0f days", round(hours / 24));
    return ret_text;
}

const char *plain_file_time(double bps, char ret_text[32])
{
    return plain_time(bps > 0 ? TEXT_FILE_BYTES * 8e9 / bps : (double)NAN, ret_text);
}
