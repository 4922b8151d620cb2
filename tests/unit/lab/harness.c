/* Cases in processes, labs with a server; see harness.h. */
#include "harness.h"

#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tightlink/base/time.h"

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

static int run_one(const struct test_case *test)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGPIPE, SIG_IGN);
        if ((test->needs_root || test->as_nobody) && geteuid() != 0)
            skip_case("only root can run this case");
        if (test->as_nobody)
            become_nobody();
        test->run();
        exit(0);
    }
    int wstatus = 0;
    if (pid < 0 || waitpid(pid, &wstatus, 0) != pid)
        return 1;
    return WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : 1;
}

/* What is emulated in real time is wrong when others take the processors: a case
 * that fails is tried again, and each failed attempt has named its line. Where a hypervisor
 * took more than this share of a core during every one of them, nothing was tested. */
#define ATTEMPTS  3
#define STOLEN    0.03
#define JIFFIES_S ((double)sysconf(_SC_CLK_TCK))

/* Seconds of processor time that a hypervisor gave to others since the start (proc_stat(5)). */
static double stolen_s(void)
{
    unsigned long long steal = 0;
    FILE *file = fopen("/proc/stat", "re");
    if (file && fscanf(file, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &steal) != 1)
        steal = 0;
    if (file)
        fclose(file);
    return (double)steal / JIFFIES_S;
}

static int run_with_attempts(const struct test_case *test)
{
    bool robbed = true;
    int result = 1;
    for (int attempt = 1; attempt <= ATTEMPTS && result != 0 && result != SKIPPED; attempt++) {
        if (attempt > 1)
            fprintf(stderr, "%s: attempt %d of %d\n", test->name, attempt, ATTEMPTS);
        double begun_s = (double)tl_now_ns() / 1e9, before_s = stolen_s();
        result = run_one(test);
        robbed &= stolen_s() - before_s > STOLEN * ((double)tl_now_ns() / 1e9 - begun_s);
    }
    if (result != 0 && result != SKIPPED && robbed) {
        fprintf(stderr, "%s: skipped: a hypervisor took more than 3 %% of a core\n", test->name);
        return SKIPPED;
    }
    return result;
}

int run_cases(const struct test_case *cases, size_t count, const char *filter)
{
    int passed = 0, failed = 0;
    for (size_t i = 0; i < count; i++) {
        if (filter && !strstr(cases[i].name, filter))
            continue;
        int result = run_with_attempts(&cases[i]);
        printf("%-8s %s\n",
               result == 0         ? "ok"
               : result == SKIPPED ? "skipped"
                                   : "FAILED",
               cases[i].name);
        passed += result == 0;
        failed += result != 0 && result != SKIPPED;
    }
    return failed ? 1 : passed ? 0 : SKIPPED;
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
