/* Questions on the terminal before something leaves this machine. */
#include "cli.h"

#include <unistd.h>

#include "tightlink/app/live.h"

bool cli_ask(const char *sentence, int *ret_exit)
{
    char answer[16] = "";
    fprintf(stderr, "%s Go on? [y/N] ", sentence);
    fflush(stderr);
    if (fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
        return true;
    *ret_exit = CLI_EXIT_INCONCLUSIVE;
    return false;
}

bool cli_may_look_up(const char *host, bool yes, int *ret_exit)
{
    char sentence[400];
    if (yes || !tl_app_asks_others(host))
        return true;
    if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO)) {
        snprintf(sentence, sizeof sentence,
                 "%.253s has to be looked up: name servers are asked for its address.", host);
        return cli_ask(sentence, ret_exit);
    }
    cli_complain("%.253s has to be looked up and no terminal is here to ask; add --yes to agree, "
                 "or name its address",
                 host);
    *ret_exit = CLI_EXIT_USAGE;
    return false;
}
