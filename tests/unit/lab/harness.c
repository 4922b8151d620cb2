/* Cases in processes, labs with a server; see harness.h. */
#include "harness.h"

#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A shell's way to tell that a signal ended a program. */
#define CRASHED 128

_Noreturn void skip_case(const char *why)
{
    fprintf(stderr, "skipped: %s\n", why);
    exit(SKIPPED);
}

/* Without "dumpable" the files of /proc/self would belong to root from now on. */
static void become_nobody(void)
{
    CHECK(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0, "cannot step down");
    prctl(PR_SET_DUMPABLE, 1);
}

static void run_in_child(const struct test_case *test)
{
    signal(SIGPIPE, SIG_IGN);
    if (test->how & (NEEDS_ROOT | AS_NOBODY) && geteuid() != 0)
        skip_case("only root can run this case");
    if (test->how & AS_NOBODY)
        become_nobody();
    test->run();
    exit(0);
}

static int run_one(const struct test_case *test)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        run_in_child(test);
    int wstatus = 0;
    if (pid < 0 || waitpid(pid, &wstatus, 0) != pid)
        return 1;
    return WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : CRASHED + WTERMSIG(wstatus);
}

static const char *word_of(int result)
{
    return result == 0         ? "ok"
           : result == SKIPPED ? "skipped"
           : result > CRASHED  ? "CRASHED"
                               : "FAILED";
}

static int list_cases(const struct test_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%s %s\n", cases[i].how & TIMED ? "timed" : "once", cases[i].name);
    return 0;
}

int run_cases(const struct test_case *cases, size_t count, const char *name)
{
    int passed = 0, worst = 0;
    bool known = !name;
    if (name && strcmp(name, "--list") == 0)
        return list_cases(cases, count);
    for (size_t i = 0; i < count; i++) {
        if (name && strcmp(cases[i].name, name) != 0)
            continue;
        known = true;
        int result = run_one(&cases[i]);
        printf("%-8s %s\n", word_of(result), cases[i].name);
        passed += result == 0;
        if (result != SKIPPED && result > worst)
            worst = result;
    }
    CHECK(known, "no case is called %s", name);
    return worst ? worst : passed ? 0 : SKIPPED;
}

struct tl_lab *make_bare_lab(const char *spec)
{
    struct tl_lab_config config;
    struct tl_error err = {0};
    struct tl_lab *lab;
    tl_lab_config_init(&config);
    CHECK(tl_lab_config_parse(spec, &config, &err) == TL_OK, "%s", err.text);
    enum tl_status status = tl_lab_create(&config, &lab, &err);
    if (status == TL_DENIED)
        skip_case(err.text);
    CHECK(status == TL_OK, "%s", err.text);
    return lab;
}

struct tl_lab *make_lab(const char *spec)
{
    struct tl_lab *lab = make_bare_lab(spec);
    struct tl_error err = {0};
    int ready[2];
    char byte;
    pid_t pid;
    CHECK(pipe(ready) == 0, "pipe");
    const char *const argv[] = {"/proc/self/exe", SERVE_ARGUMENT, NULL};
    struct tl_lab_stdio streams = {.in = -1, .out = ready[1], .err = 2};
    CHECK(tl_lab_spawn(lab, TL_LAB_FAR, argv, &streams, &pid, &err) == TL_OK, "%s", err.text);
    close(ready[1]);
    CHECK(read(ready[0], &byte, 1) == 1, "the server did not start");
    close(ready[0]);
    CHECK(tl_lab_enter_near(lab, &err) == TL_OK, "%s", err.text);
    return lab;
}
