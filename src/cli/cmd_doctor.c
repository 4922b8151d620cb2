/* tightlink doctor: what this machine permits, a line each. */
#include "cli.h"
#include "tightlink/session/audit.h"
#include "words.h"

#include "tightlink/lab/lab.h"

static void print_line(const char *what, bool works, const char *detail)
{
    printf("%-4s %-20s ", works ? "ok" : "--", what);
    cli_put_clean(detail, stdout);
    putchar('\n');
}

int cli_doctor(const struct cli_command *command, int argc, char **argv)
{
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    if (!cli_take_options(&words, NULL, NULL))
        return words.exit_code;
    if (words.argc > 0)
        return cli_usage(command, "doctor takes no arguments");
    struct tl_permit permits[TL_PERMITS_MAX];
    int count = tl_permits_read(permits);
    for (int i = 0; i < count; i++)
        print_line(permits[i].what, permits[i].works, permits[i].detail);
    struct tl_error error = {0};
    enum tl_lab_carrier carrier;
    bool lab = tl_lab_probe(&carrier, &error) == TL_OK;
    print_line("demo", lab,
               !lab                            ? error.text
               : carrier == TL_LAB_CARRIER_TUN ? "emulated paths over TUN devices"
                                               : "emulated paths over packet sockets");
    char path[4096];
    bool responder = cli_find_program("tightlinkd", path, sizeof path);
    print_line("responder", responder, responder ? path : "tightlinkd is not beside tightlink");
    return CLI_EXIT_OK;
}
