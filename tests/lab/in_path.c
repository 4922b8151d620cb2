/* Holds an emulated path while a command runs on its near host: in_path SPEC TIGHTLINKD COMMAND...
 * The command finds the far end's address in $FAR. Its exit code is ours; 77 where no path can be
 * made here. Where the emulator was held up a line on stderr says "held up: ..." at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

/* The responder tells on its standard output when it listens. */
static void serve(struct tl_lab *lab, const char *tightlinkd)
{
    const char *const argv[] = {tightlinkd, "--open", "--ready-fd", "1", NULL};
    struct tl_error err = {0};
    int ready[2];
    char line[16];
    pid_t pid;
    CHECK(pipe(ready) == 0, "pipe");
    struct tl_lab_stdio streams = {.in = -1, .out = ready[1], .err = 2};
    CHECK(tl_lab_spawn(lab, TL_LAB_FAR, argv, &streams, &pid, &err) == TL_OK, "%s", err.text);
    close(ready[1]);
    CHECK(read(ready[0], line, sizeof line) > 0, "the responder did not start");
    close(ready[0]);
}

static void tell_whether_held_up(const struct tl_lab *lab)
{
    struct tl_lab_counters counters[TL_LAB_DIRECTION_COUNT];
    char reason[TL_LAB_HELD_UP_SIZE];
    for (int way = 0; way < TL_LAB_DIRECTION_COUNT; way++)
        tl_lab_counters(lab, (enum tl_lab_direction)way, &counters[way]);
    if (tl_lab_held_up(counters, reason))
        fprintf(stderr, "held up: %s\n", reason);
}

int main(int argc, char **argv)
{
    struct tl_error err = {0};
    int wstatus = 0;
    if (argc < 4) {
        fprintf(stderr, "usage: in_path SPEC TIGHTLINKD COMMAND [ARGUMENT...]\n");
        return 2;
    }
    struct tl_lab *lab = make_bare_lab(argv[1]);
    serve(lab, argv[2]);
    CHECK(tl_lab_enter_near(lab, &err) == TL_OK, "%s", err.text);
    CHECK(setenv("FAR", tl_lab_far_address(lab), 1) == 0, "setenv");
    pid_t pid = fork();
    CHECK(pid >= 0, "fork");
    if (pid == 0) {
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    CHECK(waitpid(pid, &wstatus, 0) == pid, "waitpid");
    tell_whether_held_up(lab);
    tl_lab_destroy(lab);
    return WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : 1;
}
