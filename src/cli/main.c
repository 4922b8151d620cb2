/* tightlink: the command table, help, version and dispatch. */
#include "cli.h"
#include "history.h"
#include "pager.h"
#include "tightlink/base/nearest.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* What every command takes that reads a saved run. */
#define SAVED_RUN_HELP                                                                             \
    "  RUN                 a run of the history (last, an id), a file of run --save or\n"          \
    "                      run --json, or - for standard input\n"

static const char run_help[] =
    "  HOST                name or address of a responder; iperf3://, nuttcp:// or\n"
    "                      ndt7://HOST[:PORT] where another server runs there; ndt7://\n"
    "                      alone: the nearest of M-Lab's, which publishes its tests\n"
    "  --direction WHICH   download (default), upload or both\n"
    "  --at-once           both, and then at the same time: what they take from one another\n"
    "                      (a responder or an iperf3 server of 3.7 and later)\n"
    "  --goal GOAL         what you need; exit code 1 when it is missed: a rate (900M), a\n"
    "                      rate over a longer path (900M@80ms), an amount in a time\n"
    "                      (\"1TB in 3h\"), or a table (loss<1e-7,rtt<100ms,mtu>=9000,\n"
    "                      rate>=900M) that is judged line by line\n"
    "  --time-budget TIME  end after this much loading (25s, 45s while unsure)\n"
    "  --data-budget SIZE  move no more than this (1.5GB on links up to 1 Gb/s)\n"
    "  --dry-run           print what could be measured and the most it would cost;\n"
    "                      send nothing\n"
    "  --explain-plan      after the verdict: what was measured, what was not, and why\n"
    "  --skip STAGE,...    leave these stages out\n"
    "  --force STAGE,...   run these stages whatever they are worth\n"
    "  --stages STAGE,...  run no other loading stages than these\n"
    "  --verify            try the remedy in our own sockets and measure again\n"
    "  --via HOST,HOST     responders on the way, nearest first: which part limits\n"
    "  --compare OTHER,... measure these far ends too, of any kind: slow to all is yours,\n"
    "                      slow to one is theirs or the way to it; or the name of a list,\n"
    "                      [compare NAME] in tightlink.conf\n"
    "  --for TIME          go on after the verdict for so long, for instance 16h: rates,\n"
    "                      outages, a graph; Ctrl-C ends it with what it has\n"
    "  --out FILE          where to keep its samples (in ~/.local/state/tightlink)\n"
    "  --disk DIRECTORY    a file's way: the disk behind this directory too (up to 1 GiB\n"
    "                      and 5 % of the free space, in a file without a name)\n"
    "  --far-disk          and the disk that the far end serves with --disk\n"
    "  --port PORT         the far end's port (5411 of a responder)\n"
    "  -4, -6              this address family only\n"
    "  --http1.1           HTTP/1.1, also to a web server that offers HTTP/2\n"
    "  --numeric           routers as addresses: no name server is asked for their names\n"
    "  --yes               do not ask before loading the path\n"
    "  --key FILE          the far end runs with keys: use the first one in FILE\n"
    "  --key-name NAME     the one of that name\n"
    "  --user NAME         an iperf3 server asks who we are: this user,\n"
    "  --password-file FILE\n"
    "                      the password in FILE (mode 0600),\n"
    "  --public-key FILE   and the server's public RSA key (PEM)\n"
    "  --color WHEN        auto (default: on a terminal, unless NO_COLOR), always, never\n"
    "  --json              one document on stdout (see: tightlink schema)\n"
    "  --json-lines        events as they happen, then the same document\n"
    "  --repeat TIME       again and again, each begun so long after the one before (with --yes)\n"
    "  --alarm             exit code 1 when the verdict differs from that of the run before\n"
    "  --telemetry NAME    send numbers and verdict to [telemetry NAME] of tightlink.conf\n"
    "  --save FILE         also keep all of it in FILE, with the readings (run.tightlink);\n"
    "                      as FILE.json the document alone\n"
    "  --no-history        do not keep this run (tightlink history lists those kept)\n"
    "  --capture           keep the headers of its packets too (beside --save FILE, or in\n"
    "                      ~/.local/state/tightlink) and judge them like tightlink pcap\n"
    "Without the word run, on a terminal, the same on the screen; there also:\n"
    "  --no-screen         print the text instead\n"
    "  --full              after the screen print all of the report, not its first lines\n"
    "  --no-mouse          leave the mouse to the terminal (so does TIGHTLINK_NO_MOUSE=1)\n";

static const char history_help[] =
    "  list                the runs that were kept, newest first (also without a word)\n"
    "  note RUN TEXT       write a note beside a run; an empty one takes it away\n"
    "  tag RUN TAG, untag RUN TAG\n"
    "  delete RUN          take one away\n"
    "  prune --before WHEN | --keep N [--all]\n"
    "                      take old ones away; those with a note or tag only with --all\n"
    "  export [--out FILE] [--unmask | --site-masks]\n"
    "                      documents as JSON lines, names and addresses masked; with\n"
    "                      --site-masks as in each export from here\n"
    "  import FILE...      put saved runs into it, a customer's for instance\n"
    "  trend --target HOST\n"
    "                      how its rate moves from run to run\n"
    "  score               how many predictions came true, by month\n"
    "  --target HOST, --cause NAME, --direction WHICH, --tag TAG, --text TEXT,\n"
    "  --since WHEN, --until WHEN\n"
    "                      only these runs; WHEN is 30d, 12h or 2026-11-01\n"
    "  --limit N           at most N (50 as text; 0: all)\n"
    "  --json              one document on stdout\n"
    "RUN is an id, its beginning, last, or last-1 for the one before.\n";

static const char demo_help[] =
    "  list                the emulated paths, a line each\n"
    "  NAME                diagnose that one (satellite-64k when none is named)\n"
    "  --link SPEC         a path of your own, for instance\n"
    "                      \"rate=100M delay=15ms loss=0.0001 near.rmem=256KiB\"\n"
    "  --far KIND          its far end: tightlink, or another server that is installed\n"
    "                      here: iperf3, nuttcp, http (in python3)\n"
    "  --direction, --at-once, --goal, --json, --json-lines, --time-budget, --data-budget,\n"
    "  --explain-plan, --skip, --force, --stages, --verify, --via, --save: as for run\n"
    "  --no-screen         on a terminal print the text at once, without the screen\n"
    "Needs no second machine: makes hosts of network namespaces and a link emulator\n"
    "between them, and leaves nothing behind.\n";

static const char serve_help[] =
    "All arguments go to tightlinkd. --key FILE serves who holds a key, --open serves\n"
    "everybody, with caps; see\n"
    "  tightlink serve --help\n";

static const struct cli_command commands[] = {
    {"run", "HOST [OPTIONS]", "find out why transfers to or from HOST are slow", run_help, cli_run},
    {"serve", "--key FILE | --open [OPTIONS]", "be the far end of a diagnosis", serve_help,
     cli_serve},
    {"demo", "[NAME | list] [OPTIONS]", "diagnose an emulated path on this machine", demo_help,
     cli_demo},
    {"audit", "[HOST] [--goal GOAL] [--json] [--yes]", "this workstation alone, without traffic",
     "  HOST                look at the interface by which the route to HOST leaves\n"
     "  --goal RATE@RTT     what of this host would limit such a transfer first, for\n"
     "                      instance 900M@80ms; exit code 1 when something does\n"
     "  --json              facts as JSON\n"
     "  --yes               do not ask before a HOST that is a name is looked up\n",
     cli_audit},
    {"pcap", "FILE [--flow N | --all] [--json] [--save FILE] [--no-screen]",
     "why the transfers in a capture are slow",
     "  FILE                pcap or pcapng, plain or packed (gzip, zstd); - for standard input\n"
     "  --flow N            judge this flow, not the largest; they are numbered by payload\n"
     "  --all               list all flows, not the largest ten\n"
     "                      Without these, on a terminal, a screen: the flows, by size or by\n"
     "                      what held them back, Enter one over time, g its time-sequence graphs\n"
     "  --no-screen         text, not the screen; --no-mouse, --color WHEN as for run\n"
     "  --json              one document on stdout (see: tightlink schema), all flows in its\n"
     "                      list \"flows\"\n"
     "  --save FILE         also keep that flow in FILE (flow.tightlink), with plots: export\n"
     "                      FILE.tightlink --out slow.html\n"
     "96 bytes a packet suffice (tcpdump -s 96). Taken at the sender a capture tells most;\n"
     "with the handshake in it, more. The client is the end that opened the connection.\n",
     cli_pcap},
    {"capture", "PID | PORT | HOST [OPTIONS]", "write the headers of a transfer to a file",
     "  PID, PORT, HOST     of that process's connections, port (also :443) or host\n"
     "  -o, --out FILE      into this new file; without it capture-TIME.pcap here\n"
     "  --for TIME          so long, for instance 30s (60s; Ctrl-C ends it earlier)\n"
     "  --max SIZE          stop at so many bytes, for instance 50MB (64MB)\n"
     "  --yes               do not ask before a HOST that is a name is looked up\n"
     "Headers only: at most 96 bytes a packet, no payload. Needs no root where the helper\n"
     "tightlink-capture has the capability cap_net_raw; else the command that gives it is\n"
     "printed. Then: tightlink pcap FILE\n",
     cli_capture},
    {"live", "[PID | PORT | HOST] [OPTIONS]", "transfers that run now, and why not faster",
     "  PID, PORT, HOST     only those of that process and what it started, port (also\n"
     "                      :443) or host; without one all that leave this machine\n"
     "  --all               also those that stay on this machine\n"
     "  --for TIME          so long and without the screen, for instance 30s (12s where\n"
     "                      stdout is no terminal)\n"
     "  --no-screen         a table of lines instead of the screen, until Ctrl-C\n"
     "  --json              the document of the connection that is held up most\n"
     "  --json-lines        all of them once a second, a line each, then that document\n"
     "  --alarm             exit code 1 when the cause of one moved; each move is a line on\n"
     "                      stderr\n"
     "  --telemetry NAME    send numbers and verdict to [telemetry NAME] of tightlink.conf\n"
     "  --no-history        do not keep that run in the history\n"
     "  --no-mouse          leave the mouse to the terminal\n"
     "  --color WHEN        auto, always, never\n"
     "  --yes               do not ask before a HOST that is a name is looked up\n"
     "Reads the kernel's own records; sends nothing, but for a HOST that is a name the\n"
     "question for its address, which you are asked about. Other users' programs have\n"
     "no names unless you are root.\n",
     cli_live},
    {"mover", "[OPTIONS] -- COMMAND...", "run a transfer of your own and say why it is not faster",
     "  COMMAND...          scp, rsync, curl, rclone, aws: any command, with its options\n"
     "  --measure           afterwards measure what the same path carries from memory to\n"
     "                      memory, where a responder answers at the far end\n"
     "  --disk DIRECTORY    and what the disk behind this directory gives\n"
     "  --port PORT         the responder's port (5411)\n"
     "  --save FILE         also keep all of it in FILE (run.tightlink)\n"
     "  --no-history        do not keep this run\n"
     "  --full              print all of the report, not its first lines\n"
     "  --json              the document on stdout; what the command prints goes to stderr\n"
     "  --json-lines        the same in one line\n"
     "  --color WHEN        auto, always, never\n"
     "The command has the terminal, its prompts and its signals; the exit code is its own\n"
     "(127: there is none of that name, 126: it cannot be run). Our words go to stderr.\n",
     cli_mover},
    {"explain", "RUN [--json]", "judge a saved run again, without a network",
     SAVED_RUN_HELP "  --color WHEN        auto, always, never\n"
                    "  --json              the new document on stdout\n",
     cli_explain},
    {"export", "RUN [OPTIONS]", "a saved run as a report for others, with names masked",
     SAVED_RUN_HELP
     "  --format FORMAT     text, markdown, html, json, json-lines or bundle (by the\n"
     "                      end of the name of --out, else text)\n"
     "  -o, --out FILE      into this file; without it, or with -, to standard output\n"
     "  --preview           print what would leave and what is masked; write nothing\n"
     "  --unmask            leave addresses, names and paths as they are\n"
     "  --site-masks        the same masks in each export from here: two can be joined\n"
     "A capture in the place of RUN leaves with --out FILE.pcap: numbered addresses, no payload.\n"
     "Addresses, names of hosts, users and networks, and paths become masks such as\n"
     "host-3fa9c1. What stands for what is kept in ~/.local/state/tightlink/masks.\n",
     cli_export},
    {"why", "RUN", "why the verdict of a saved run is the one named",
     SAVED_RUN_HELP
     "Prints the tests behind the verdict with their numbers, the rungs below and above\n"
     "it, what else was found, and what could still change it.\n",
     cli_why},
    {"why-not", "CAUSE RUN", "why a saved run does not name that cause",
     "  CAUSE               an id or a name; without one the list is printed\n" SAVED_RUN_HELP
     "Ruled out by which test, cannot tell for want of which facts and stages, or found\n"
     "and yet not the verdict.\n",
     cli_why_not},
    {"show", "RUN [--color WHEN]", "look at a saved run on the screen, without a network",
     SAVED_RUN_HELP
     "  --color WHEN        auto (default: unless NO_COLOR is set), always, never\n"
     "  --keep              put it into the history of this machine\n"
     "  --no-mouse          leave the mouse to the terminal (so does TIGHTLINK_NO_MOUSE=1)\n"
     "  --full              after the screen print all of the report, not its first lines\n"
     "Where the terminal cannot show the screen: prints what explain prints.\n",
     cli_show},
    {"verify", "RUN [--port PORT] [--yes]", "try the remedy of a saved run on its path",
     SAVED_RUN_HELP "  --port PORT         the responder's port (5411)\n"
                    "  --yes               do not ask before loading the path\n"
                    "  --json              the document with what was predicted and measured\n"
                    "The remedy is tried in tightlink's own sockets; no setting changes.\n",
     cli_verify},
    {"fix", "--dry-run RUN | --apply RUN | --undo", "apply the remedy of a saved run here",
     SAVED_RUN_HELP
     "  --dry-run RUN       show what would change on this machine; change nothing\n"
     "  --apply RUN         change it (root), verify that the kernel took it, and set it\n"
     "                      back; where it was is written down before anything changes\n"
     "  --keep              do not set it back, until this machine's next start\n"
     "  --measure           measure the path of that run again while it is set\n"
     "  --cause ID          the remedy of this cause, not of the verdict\n"
     "  --far-end           this machine is the far end of that run\n"
     "  --other-host        the run was made on another host, and its remedy fits here\n"
     "  --undo              set back what the last change, kept or broken off, has set\n"
     "  --port PORT, --yes  of the measurement, as for run\n"
     "Changes known kernel settings only (sysctl), runs no command, raises limits and never\n"
     "lowers them. Nothing else of tightlink changes a setting.\n",
     cli_fix},
    {"history", "[list | note | tag | delete | prune | export | import | trend | score] [OPTIONS]",
     "the runs that were kept", history_help, cli_history},
    {"compare", "A B [--json]", "what changed between two runs, beyond noise",
     "  A, B                files, or runs of the history (last, last-1, an id)\n"
     "  --json              one document on stdout\n",
     cli_compare},
    {"ticket", "RUN --to NAME | --list | --retry | --targets",
     "hand a run to a ticket system, once",
     SAVED_RUN_HELP
     "  --to NAME           the system, as tightlink.conf calls it (doc/tickets.md)\n"
     "  --comment-on TICKET add to that ticket, make none\n"
     "  --dry-run           show the requests, the text and what is masked; send nothing\n"
     "  --print-curl        the requests as a script for sh, curl and python3\n"
     "  --unmask            with all names and addresses\n"
     "  --site-masks        the same masks in each export from here: two can be joined\n"
     "  --config FILE       another tightlink.conf\n"
     "  --list              the outbox: what was sent, what waits, what failed\n"
     "  --retry             send what waits and is due\n"
     "  --targets           the systems of tightlink.conf\n"
     "Names and addresses are masked. The same run makes one ticket, however often it is\n"
     "sent: its id stands in the title and is looked for first.\n",
     cli_ticket},
    {"telemetry", "RUN --to NAME", "send a run to systems that watch over time",
     SAVED_RUN_HELP "  --to NAME           [telemetry NAME] of tightlink.conf (doc/tickets.md)\n"
                    "  --config FILE       another tightlink.conf\n",
     cli_telemetry},
    {"rules", "list | explain ID | check DIR", "the knowledge behind the verdicts",
     "  list                every rule: its id and what it looks for\n"
     "  explain ID          a cause or a rule: what is looked for, and what is advised\n"
     "  check DIR [CASES]   check rule files of your own, and that each has cases\n",
     cli_rules},
    {"between", "HOST HOST --key FILE | --node NODE", "a test from one other host to another",
     "  HOST HOST           where the data comes from, and where it goes\n"
     "  --key FILE          both run with this key, and each names the other one's address\n"
     "                      with --third-party\n"
     "  --node NODE         or both are perfSONAR nodes: pscheduler://HOST[:PORT], that of the\n"
     "                      first one, arranges throughput both ways, round trips, hops and MTU;\n"
     "                      judged as a run\n"
     "  --time TIME         how long each, for instance 10s (with --node 5s to 60s)\n"
     "  --streams N         1 to 128; with --node a second test with so many, 1 to 6 (4)\n"
     "  --port PORT         of both responders (default 5411)\n"
     "  --one-way           with --node: not back\n"
     "  --wait TIME         with --node: how long it may put a test off (5min)\n"
     "  --insecure          with --node: take any certificate. Else one that nobody vouches\n"
     "                      for is remembered, and has to be the same the next time\n"
     "  --yes               do not ask before loading the path\n"
     "  --save FILE         with --node: also keep all of it in FILE (run.tightlink)\n"
     "  --no-history        with --node: do not keep this run\n"
     "  --full              with --node: print all of the report, not its first lines\n"
     "  --json              one object on standard output (with --node see: tightlink schema)\n"
     "This machine only asks and watches: no payload passes it.\n",
     cli_between},
    {"mesh", "A,B,C [OPTIONS]", "which way between perfSONAR nodes is slow",
     "  A,B,C               2 to 8 nodes; each pair is measured by its first one, both ways\n"
     "  --node NAME=NODE    the pScheduler of that node is pscheduler://HOST[:PORT], not NAME\n"
     "  --own RUN           place a run of this PC beside it: a file, or one of the history;\n"
     "                      a second one, with a node, tells where the first is slow\n"
     "  --time TIME         how long each test (10s; 5s to 60s)\n"
     "  --wait TIME         how long a node may put a test off (5min)\n"
     "  --insecure          take any certificate\n"
     "  --yes               do not ask before loading the ways\n"
     "  --json              one object on standard output\n"
     "No payload passes this machine. A pair takes about a minute.\n",
     cli_mesh},
    {"key", "NAME [--out FILE]", "make a key for both ends",
     "  NAME                what the key is called: letters, digits, dots, dashes\n"
     "  --out FILE          into a new file that only you may read (mode 0600), not to\n"
     "                      standard output\n"
     "Both ends hold the same line: serve --key FILE there, run HOST --key FILE here.\n",
     cli_key},
    {"config", "--example | --check [FILE]", "the file that names ticket systems and telemetry",
     "  --example           print a sample of tightlink.conf\n"
     "  --check [FILE]      read yours, or FILE, and say what is wrong in it\n",
     cli_config},
    {"schema", "", "print the JSON schema of the findings", "", cli_schema},
    {"doctor", "", "what this machine permits tightlink to do", "", cli_doctor},
};

static const char epilogue[] =
    "\ntightlink alone opens the screen, tightlink HOST the same with HOST filled in; where\n"
    "the terminal cannot show it, tightlink HOST is short for tightlink run HOST.\n"
    "tightlink help COMMAND tells more, with examples.\n"
    "\nWith every command:\n"
    "  --no-pager          on a terminal long output goes through less, or what\n"
    "                      TIGHTLINK_PAGER or PAGER name; not with this option\n"
    "  --paginate          what a command prints goes through it, however short\n"
    "\nExit codes: 0 ran, 1 a given goal was missed, 2 usage, 3 unreachable,\n"
    "4 inconclusive or invalid, 5 authentication, 6 output failed, 130 interrupted.\n";

static void print_overview(FILE *out)
{
    if (out == stdout)
        cli_page();
    fputs("tightlink tells why a transfer is slow, and what to do about it.\n\n"
          "Usage: tightlink COMMAND [OPTIONS], or tightlink HOST\n\n",
          out);
    cli_print_groups(commands, sizeof commands / sizeof *commands, out);
    fputs(epilogue, out);
}

static const struct cli_command *find_command(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* Descriptors 0 to 2 are taken, so that no socket becomes "stdout". One that was closed
 * before us opens the wrong way round: its use fails, and is told. */
static void hold_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* What a command printed through stdio has to arrive too. */
static int close_output(int exit_code)
{
    errno = 0;
    bool failed = fflush(stdout) != 0;
    if ((!failed && !ferror(stdout)) || exit_code == CLI_EXIT_EXPORT || cli_reader_has_gone())
        return exit_code;
    if (!failed) { /* what an earlier piece met is forgotten: it is met once more */
        clearerr(stdout);
        errno = 0;
        failed = putchar('\n') == EOF || fflush(stdout) != 0;
    }
    int errnum = errno;
    cli_complain("writing the output failed: %s",
                 failed ? strerror(errnum) : "not all of it arrived");
    return CLI_EXIT_EXPORT;
}

/* "; did you mean history?", or "". Static. */
static const char *near_command(const char *word)
{
    static char of_history[64];
    struct tl_nearest nearest = {0};
    if (cli_is_history_word(word)) {
        snprintf(of_history, sizeof of_history, "; did you mean history %.20s?", word);
        return of_history;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        tl_nearest_offer(&nearest, word, commands[i].name);
    tl_nearest_offer(&nearest, word, "help");
    return tl_nearest_text(&nearest);
}

/* word: NULL for all commands. */
static int help(const char *word)
{
    const struct cli_command *command = word ? find_command(word) : NULL;
    if (word && !command) {
        cli_complain("there is no command %.60s%s", word, near_command(word));
        return CLI_EXIT_USAGE;
    }
    if (command)
        cli_print_help(command, stdout);
    else
        print_overview(stdout);
    return CLI_EXIT_OK;
}

/* A word with a dash where a command belongs. */
static int no_such_option(const char *word)
{
    struct tl_nearest nearest = {0};
    tl_nearest_offer(&nearest, word, "--help");
    tl_nearest_offer(&nearest, word, "--version");
    if (nearest.word)
        cli_complain("%.60s is no option%s", word, tl_nearest_text(&nearest));
    else
        cli_complain("%s needs a command before it, for instance: tightlink run HOST", word);
    return CLI_EXIT_USAGE;
}

static int dispatch(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    int exit_code;
    if (!word) {
        if (cli_screen(find_command("run"), argc, argv, &exit_code))
            return exit_code;
        print_overview(stderr);
        return CLI_EXIT_USAGE;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return help(argc > 2 ? argv[2] : NULL);
    if (strcmp(word, "--version") == 0) {
        printf("tightlink %s\n", TL_VERSION_TEXT);
        if (argc > 2 && strcmp(argv[2], "--verbose") == 0)
            puts(TL_BUILT_WITH);
        return CLI_EXIT_OK;
    }
    const struct cli_command *command = find_command(word);
    if (command)
        return command->run(command, argc - 1, argv + 1);
    if (word[0] == '-')
        return no_such_option(word);
    /* A mistyped command is no host to be looked up and connected to. */
    const char *meant = near_command(word);
    if (meant[0]) {
        cli_complain("%.60s is no command%s A host of that name: tightlink run %.60s", word, meant,
                     word);
        return CLI_EXIT_USAGE;
    }
    (void)cli_screen(find_command("run"), argc, argv, &exit_code);
    return exit_code;
}

int main(int argc, char **argv)
{
    hold_standard_descriptors();
    /* A reader that went away is an output that failed, with a sentence, not a silent death. */
    signal(SIGPIPE, SIG_IGN);
    setlocale(LC_CTYPE, "");
    argc = cli_take_paging(argc, argv);
    return cli_end_paging(close_output(dispatch(argc, argv)));
}
