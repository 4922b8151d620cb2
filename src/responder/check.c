/* What the cage keeps out, tried: a setting that is on in a file and not in the kernel is worse
 * than none. What is tried changes nothing where it is not held. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_ordinary_user(void)
{
    return geteuid() != 0 && getegid() != 0;
}

/* CapPrm of /proc/self/status; all but CAP_NET_BIND_SERVICE (bit 10) are dropped. */
static bool has_no_capability(void)
{
    char line[256];
    bool held = false;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "CapPrm:", 7) == 0)
            held = (strtoull(line + 7, NULL, 16) & ~(1ULL << 10)) == 0;
    if (file)
        fclose(file);
    return held;
}

static bool gets_no_privilege(void)
{
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

static bool writes_no_file(void)
{
    static const char path[] = "/tmp/tightlinkd-check";
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EPERM || errno == EACCES;
    close(fd);
    (void)unlink(path);
    return false;
}

/* A file that everybody may read, and that no host audit needs. */
static bool reads_no_other_file(void)
{
    int fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd < 0;
}

static bool opens_no_connection(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        close(fd);
    return fd < 0 && errno == EPERM;
}

/* Where programs may be run this one is looked for, and is not there. */
static bool runs_no_program(void)
{
    char *argv[] = {NULL, NULL};
    (void)execv("/nonexistent", argv);
    return errno == EPERM;
}

static bool makes_no_namespace(void)
{
    return unshare(CLONE_NEWUSER) < 0 && errno == EPERM &&
           prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2; /* of the filter, not of some setting */
}

static bool leaves_no_core(void)
{
    return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0;
}

bool check_protections(bool dials, bool keyed, FILE *out)
{
    const struct {
        const char *what;
        bool (*holds)(void);
        bool wanted;
    } checks[] = {
        {"runs as an ordinary user", is_ordinary_user, true},
        {"has no capability but that of a low port", has_no_capability, true},
        {"can get no privilege", gets_no_privilege, true},
        {"writes no file outside of --disk (Landlock)", writes_no_file, true},
        {"reads no file but what a host audit reads (Landlock)", reads_no_other_file, true},
        {"opens no connection (seccomp)", opens_no_connection, !dials},
        {"runs no program (seccomp)", runs_no_program, true},
        {"makes no namespace (seccomp)", makes_no_namespace, true},
        {"leaves no core file with keys", leaves_no_core, keyed},
    };
    bool all = true;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        bool holds = !checks[i].wanted || checks[i].holds();
        fprintf(out, "%-8s %s\n",
                !checks[i].wanted ? "not set"
                : holds           ? "on"
                                  : "OFF",
                checks[i].what);
        all = all && holds;
    }
    return all;
}
