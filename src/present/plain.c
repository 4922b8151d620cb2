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

/* {p} is the place of the cause, {P} the same at the beginning of a sentence. */
static const struct {
    const char *cause, *says;
} causes[] = {
    {"ack-path", "The way back is full or slow, so that confirmations come late."},
    {"app-window", "The program on {p} takes too little data at once for such a distance."},
    {"bufferbloat",
     "A device on the way stores too much data: all else has to wait while this transfer runs."},
    {"burst-loss", "The line loses data, several packets at a time."},
    {"capacity", "The line is full; only a faster line helps."},
    {"cloud-allowance", "What the provider allows {p} is used up."},
    {"congestion-control", "The way in which {p} chooses its speed does not suit this line."},
    {"conntrack", "{P} has more connections than its firewall can keep track of."},
    {"corruption", "A device on the way damages data."},
    {"cpu", "The processor of {p} has no more to give to this transfer."},
    {"cross-traffic", "Others use the line at the same time."},
    {"delayed-ack", "The two programs wait for each other with every small message."},
    {"detour", "The data takes a much longer way than it must."},
    {"disk-read", "The disk of {p} reads too slowly."},
    {"disk-write", "The disk of {p} writes too slowly."},
    {"dscp-bleached", "A device on the way takes the priority away that the data had."},
    {"duplex-mismatch",
     "{P} and the device at the other end of its cable disagree about how to use the cable."},
    {"ecmp-member", "One of several parallel lines is bad, and this connection uses it."},
    {"ecn-marks", "A device on the way asks the sender to slow down."},
    {"family-difference", "IPv4 and IPv6 take different ways, and one of them is slower."},
    {"idle-restart", "After every pause {p} starts to send slowly again."},
    {"jumbo-mismatch", "Larger packets are sent than {p} takes, and they vanish."},
    {"link-errors", "A cable, plug or port at {p} damages data."},
    {"local-qdisc", "A speed limit on {p} itself slows the transfer down."},
    {"mss-clamp", "A device on the way makes the packets smaller."},
    {"mtu-black-hole",
     "Large packets vanish on {p} and nobody tells: small pages work, transfers hang."},
    {"mtu-low", "The line takes only small packets."},
    {"nic-at-best", "The network card of {p} runs as fast as it can; only a faster one helps."},
    {"nic-ring", "The network card of {p} cannot hold what arrives, and loses some of it."},
    {"nic-speed", "The network link of {p} runs slower than it could."},
    {"offloads-off", "The processor of {p} does work that its network card could do."},
    {"option-stripping", "A device on the way removes what fast connections need."},
    {"packet-software",
     "VPN or security software on {p} cannot work faster; it holds the transfer."},
    {"pause-frames", "A switch in {p} stops the sender again and again."},
    {"per-flow-limit",
     "The line holds each single connection to this rate; several at once get more."},
    {"policer", "A speed limit on the line throws away whatever is above it."},
    {"power-saving", "Power saving slows the processor of {p} down."},
    {"random-loss", "The line loses data again and again, also when there is little traffic."},
    {"receive-window", "{P} accepts too little data at once for such a distance."},
    {"receiver-app", "The receiving program on {p} takes its data too slowly."},
    {"reordering", "Data arrives in the wrong order, and the sender slows down for it."},
    {"rx-imbalance", "On {p} one processor core does all the work of the network."},
    {"sack-off", "For every lost packet others are sent again too, because a setting is off."},
    {"send-buffer", "{P} sends too little data at once for such a distance."},
    {"sender-app", "The sending program on {p} does not deliver fast enough."},
    {"shallow-buffer", "A device on the way can store too little for a single connection."},
    {"shaper-boost", "The line is fast at the beginning only, then it is slowed down."},
    {"short-transfer", "The transfer is over before it can reach its full speed."},
    {"small-files", "There are many small files, and each costs waiting time."},
    {"softnet-drops", "{P} does not handle arriving data fast enough, and loses some of it."},
    {"split-tcp", "A device on the way takes the connection apart and passes the data on."},
    {"stateful-firewall", "A firewall on the way slows the connection down."},
    {"tcp-memory", "{P} is short of memory for its connections."},
    {"tunnel", "A tunnel or VPN carries the data and slows it down."},
    {"udp-receive-buffer", "{P} has no room for all that arrives, and loses some of it."},
    {"unpaced-bursts", "{P} sends in bursts that a device on the way cannot store."},
    {"unstable-path", "The line fails or changes again and again."},
    {"variable-rate", "The line itself is faster and slower from second to second, as radio is."},
    {"wifi", "The wireless connection in {p} is the slowest part."},
    {"window-scaling-off", "Only 64 KiB can be on the way at once, because a setting is off; such "
                           "a distance needs more."},
};

/* The other computer's name, as far as there is room for it. */
static void add_other_end(const struct text_source *source, struct tl_buf *out)
{
    const char *name = source->run->target_name;
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
        add_other_end(source, out);
    }
}

/* What only watched could not ask whether others use the line. */
static const char *words_of(const struct tl_run *run, const char *cause)
{
    if (strcmp(cause, "capacity") == 0 && tl_run_is_watched(run))
        return "The line is full, with this transfer alone or with others' beside it.";
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (strcmp(causes[i].cause, cause) == 0)
            return causes[i].says;
    return "";
}

void plain_add_cause(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    const char *says = verdict->cause ? words_of(source->run, verdict->cause) : "";
    while (*says) {
        size_t len = strcspn(says, "{");
        tl_buf_add(out, says, len);
        says += len;
        if (!*says)
            break;
        plain_add_place(source, verdict->segment, says[1] == 'P', out);
        says += strlen("{p}");
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

/* Stand in a command for a name that was masked, and for the file of a key. */
#define STAND_IN     "SERVER"
#define KEY_STAND_IN "KEYFILE"

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

/* A name as a shell takes it, in quotes where it needs them; false where there is none that
 * `tightlink run` or `demo` would take: others' hosts, a path made by hand (demo --link). */
static bool add_name(const struct tl_run *run, struct tl_buf *out)
{
    const char *name = name_of_far_end(run);
    struct tl_target target;
    if (tl_is_mask(name) && !is_demo(run))
        tl_buf_adds(out, STAND_IN);
    else if (tl_is_mask(name))
        return false;
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
}

/* What is not the usual: without it the command would go another way, or nowhere. */
static void add_reach(const struct tl_run *run, struct tl_buf *out)
{
    struct tl_target target;
    bool named = strstr(run->target_name, "://") &&
                 tl_target_parse(run->target_name, &target, NULL) == TL_OK && target.port;
    if (run->target_only)
        tl_buf_addf(out, " -%d", run->target_only);
    if (run->target_port && !named)
        tl_buf_addf(out, " --port %d", run->target_port);
    if (run->target_keyed)
        tl_buf_adds(out, " --key " KEY_STAND_IN);
    if (is_demo(run) && run->target_far[0])
        tl_buf_addf(out, " --far %s", run->target_far);
}

bool plain_add_again(const struct text_source *source, struct tl_buf *out)
{
    const struct tl_run *run = source->run;
    struct tl_buf name = TL_BUF_INIT;
    bool known = add_name(run, &name);
    if (known) {
        tl_buf_addf(out, "tightlink %s %s", is_demo(run) ? "demo" : "run", tl_buf_text(&name));
        add_reach(run, out);
        if (!run->download || run->upload)
            tl_buf_addf(out, " --direction %s", run->download ? "both" : "upload");
    }
    if (name.status != TL_OK)
        out->status = name.status;
    tl_buf_finish(&name);
    return known;
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
    bool command = plain_add_again(source, ret_command);
    if (command && longer && is_open(source)) {
        tl_buf_adds(ret_says, "This would tell:");
        tl_buf_adds(ret_command, " --time-budget 60s --data-budget 3GB");
    } else if (verdict->undecided) {
        tl_buf_adds(ret_says, "Run it again while it is slow: nothing else that can be measured "
                              "from here would tell.");
    } else {
        tl_buf_adds(ret_says, "Run it again when nothing disturbs it.");
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
