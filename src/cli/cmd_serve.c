/* tightlink serve: becomes tightlinkd, with the same arguments. */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

bool cli_find_program(const char *name, char *ret_path, size_t size)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return false;
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    /* Installed side by side; in a build tree each program has its layer's folder. */
    static const char *const folders[] = {"", "../responder/", "../capture/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        int len = snprintf(ret_path, size, "%s/%s%s", self, folders[i], name);
        if (len > 0 && (size_t)len < size && access(ret_path, X_OK) == 0)
            return true;
    }
    return false;
}

int cli_serve(const struct cli_command *command, int argc, char **argv)
{
    char path[PATH_MAX];
    if (!cli_find_program("tightlinkd", path, sizeof path)) {
        cli_complain("the program tightlinkd is not beside tightlink; install it again");
        return CLI_EXIT_UNREACHABLE;
    }
    static char name[] = "tightlinkd";
    argv[0] = name;
    execv(path, argv);
    cli_complain("cannot start %s: %s", path, strerror(errno));
    return CLI_EXIT_UNREACHABLE;
}
