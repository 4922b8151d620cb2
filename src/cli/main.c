/* tightlink: the command table, help, version and dispatch. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const char run_help[] =
    "  --direction WHICH   download (default), upload or both\n"
    "  --goal RATE[@RTT]   what you need, for instance 900M or 900M@80ms; exit code 1\n"
    "                      when it is missed\n"
    "  --time-budget TIME  end after this much loading (25s, more on long paths)\n"
    "  --data-budget SIZE  move no more than this (1.5GB on links up to 1 Gb/s)\n"
    "  --port PORT         the responder's port (5411)\n"
    "  -4, -6              this address family only\n"
    "  --yes               do not ask before loading the path\n"
    "  --json              one document on stdout (see: tightlink schema)\n"
    "  --json-lines        events as they happen, then the same document\n";

static const char demo_help[] =
    "  list                the emulated paths, a line each\n"
    "  NAME                diagnose that one (satellite-64k when none is named)\n"
    "  --link SPEC         a path of your own, for instance\n"
    "                      \"rate=100M delay=15ms loss=0.0001 near.rmem=256KiB\"\n"
    "  --direction, --goal, --json, --json-lines, --time-budget, --data-budget: as for run\n"
    "Needs no second machine: makes hosts of network namespaces and a link emulator\n"
    "between them, and leaves nothing behind.\n";

static const char serve_help[] =
    "All arguments go to tightlinkd. --open serves everybody, with caps; see\n"
    "  tightlink serve --help\n";

static const struct cli_command commands[] = {
    {"run", "HOST [OPTIONS]", "find out why transfers to or from HOST are slow", run_help, cli_run},
    {"serve", "--open [OPTIONS]", "be the far end of a diagnosis", serve_help, cli_serve},
    {"demo", "[NAME | list] [OPTIONS]", "diagnose an emulated path on this machine", demo_help,
     cli_demo},
    {"audit", "[HOST] [--json]", "this workstation's settings, without traffic",
     "  HOST                look at the interface by which the route to HOST leaves\n"
     "  --json              facts as JSON\n",
     cli_audit},
    {"explain", "FILE [--json]", "judge a saved run again, without a network",
     "  FILE                a document written by run --json (- for standard input)\n"
     "  --json              the new document on stdout\n",
     cli_explain},
    {"rules", "list | explain ID | check DIR", "the knowledge behind the verdicts",
     "  list                every rule: its id and what it looks for\n"
     "  explain ID          what the rule looks for and what it advises\n"
     "  check DIR [CASES]   check rule files of your own, and that each has cases\n",
     cli_rules},
    {"schema", "", "print the JSON schema of the findings", "", cli_schema},
    {"doctor", "", "what this machine permits tightlink to do", "", cli_doctor},
};

static const char epilogue[] =
    "\ntightlink HOST is short for tightlink run HOST.\n"
    "tightlink COMMAND --help tells more.\n"
    "\nExit codes: 0 ran, 1 a given goal was missed, 2 usage, 3 unreachable,\n"
    "4 inconclusive or invalid, 5 authentication, 6 output failed, 130 interrupted.\n";

void cli_print_help(const struct cli_command *command, FILE *out)
{
    fprintf(out, "Usage: tightlink %s %s\n%c%s.\n", command->name, command->arguments,
            command->summary[0] - 'a' + 'A', command->summary + 1);
    if (command->help[0])
        fprintf(out, "\n%s", command->help);
}

static void print_overview(FILE *out)
{
    fprintf(out, "tightlink tells why a transfer is slow, and what to do about it.\n\n"
                 "Usage:\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(out, "  tightlink %-8s %s\n", commands[i].name, commands[i].summary);
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
    if ((!failed && !ferror(stdout)) || exit_code == CLI_EXIT_EXPORT)
        return exit_code;
    cli_complain("writing the output failed: %s",
                 failed ? strerror(errno) : "not all of it arrived");
    return CLI_EXIT_EXPORT;
}

static int dispatch(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word) {
        print_overview(stderr);
        return CLI_EXIT_USAGE;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_overview(stdout);
        return CLI_EXIT_OK;
    }
    if (strcmp(word, "--version") == 0) {
        printf("tightlink %s\n", TL_VERSION_TEXT);
        return CLI_EXIT_OK;
    }
    const struct cli_command *command = find_command(word);
    if (command)
        return command->run(command, argc - 1, argv + 1);
    if (word[0] == '-') {
        cli_complain("%s needs a command before it, for instance: tightlink run HOST", word);
        return CLI_EXIT_USAGE;
    }
    command = find_command("run");
    return command->run(command, argc, argv);
}

int main(int argc, char **argv)
{
    hold_standard_descriptors();
    /* A reader that went away is an output that failed, with a sentence, not a silent death. */
    signal(SIGPIPE, SIG_IGN);
    setlocale(LC_CTYPE, "");
    return close_output(dispatch(argc, argv));
}
