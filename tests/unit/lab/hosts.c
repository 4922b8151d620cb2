/* Real labs: what their hosts are, and what becomes of the processes on them and of the caller. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "tightlink/base/time.h"
#include "transfer.h"

static void host_settings_are_in_force(void)
{
    struct tl_lab *lab = make_lab("rate=200M delay=10ms near.rmem=64KiB near.wscale=off "
                                  "near.sack=off cc=reno");
    char text[64] = "";
    FILE *file = fopen("/proc/sys/net/ipv4/tcp_rmem", "r");
    CHECK(file && fgets(text, sizeof text, file) && strstr(text, "65536"), "%s", text);
    fclose(file);
    struct download got = download(lab, TL_NS_PER_S / 2, TL_NS_PER_S);
    CHECK((got.options & 6) == 0, "options %u", got.options);
    CHECK(strcmp(got.far_cc, "reno") == 0, "%s", got.far_cc);
    /* 64 KiB over 20 ms carry 26 Mb/s at most, about half of it in fact. */
    CHECK(got.bps > 8e6 && got.bps < 26.3e6, "%.1f Mb/s", got.bps / 1e6);
    tl_lab_destroy(lab);
}

static void unprivileged_hosts_have_no_capability(void)
{
    char line[128];
    uint64_t capabilities = UINT64_MAX;
    struct tl_lab *lab = make_lab("plain=on near.unprivileged=on far.unprivileged=on");
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "CapEff:", 7) == 0)
            capabilities = strtoull(line + 7, NULL, 16);
    CHECK(capabilities == 0, "%lx", (unsigned long)capabilities);
    CHECK(download(lab, 0, TL_NS_PER_S / 10).bps > 0, "the far end serves");
    tl_lab_destroy(lab);
}

static double cpu_share_of_spinning(void)
{
    int64_t begin = tl_now_ns(), cpu = tl_thread_cpu_ns();
    while (tl_now_ns() < begin + TL_NS_PER_S)
        continue;
    return (double)(tl_thread_cpu_ns() - cpu) / (double)(tl_now_ns() - begin);
}

static void read_own_cgroups(char *text, size_t size)
{
    FILE *file = fopen("/proc/self/cgroup", "r");
    size_t len = file ? fread(text, 1, size - 1, file) : 0;
    text[len] = '\0';
    if (file)
        fclose(file);
    CHECK(len > 0, "/proc/self/cgroup");
}

/* The limit is its control group's: whoever is back in the one before is free of it, however much
 * of a processor other work leaves. */
static void cpu_share_holds_until_destroy(void)
{
    char before[4096], within[4096], after[4096];
    read_own_cgroups(before, sizeof before);
    struct tl_lab *lab = make_lab("plain=on near.cpu=20%");
    read_own_cgroups(within, sizeof within);
    double limited = cpu_share_of_spinning();
    CHECK(limited > 0.1 && limited < 0.3, "%.2f", limited);
    tl_lab_destroy(lab);
    read_own_cgroups(after, sizeof after);
    CHECK(strcmp(before, within) != 0, "%s", within);
    CHECK(strcmp(before, after) == 0, "%s", after);
}

static void probe_leaves_the_caller_as_it_was(void)
{
    struct tl_error err = {0};
    enum tl_lab_carrier carrier = TL_LAB_CARRIER_AUTO;
    char before[64] = "", after[64] = "";
    CHECK(readlink("/proc/self/ns/net", before, sizeof before - 1) > 0, "readlink");
    enum tl_status status = tl_lab_probe(&carrier, &err);
    CHECK(status == TL_OK || (status == TL_DENIED && *err.text), "%s", err.text);
    if (status == TL_DENIED)
        skip_case(err.text);
    CHECK(carrier != TL_LAB_CARRIER_AUTO, "a carrier was chosen");
    CHECK(readlink("/proc/self/ns/net", after, sizeof after - 1) > 0, "readlink");
    CHECK(strcmp(before, after) == 0, "%s %s", before, after);
}

static void tun_for_nobody_is_denied_with_a_sentence(void)
{
    struct tl_lab_config config;
    struct tl_lab *lab = NULL;
    struct tl_error err = {0};
    if (access("/dev/net/tun", R_OK | W_OK) == 0)
        skip_case("/dev/net/tun is open to everybody here");
    tl_lab_config_init(&config);
    config.carrier = TL_LAB_CARRIER_TUN;
    CHECK(tl_lab_create(&config, &lab, &err) == TL_DENIED, "%s", err.text);
    CHECK(lab == NULL, "untouched");
    CHECK(strstr(err.text, "root") &&
              (strstr(err.text, "/dev/net/tun") || strstr(err.text, "user")),
          "%s", err.text);
}

static void spawn_tells_what_cannot_start(void)
{
    struct tl_lab *lab = make_bare_lab("plain=on");
    struct tl_error err = {0};
    const char *const missing[] = {"/nonexistent/program", NULL};
    const char *const seven[] = {"sh", "-c", "exit 7", NULL};
    const char *const sleeper[] = {"sleep", "1000", NULL};
    pid_t pid = 0;
    int wstatus = 0;
    CHECK(tl_lab_spawn(lab, TL_LAB_FAR, missing, NULL, &pid, &err) == TL_IO, "%s", err.text);
    CHECK(strstr(err.text, "/nonexistent/program"), "%s", err.text);
    CHECK(tl_lab_spawn(lab, TL_LAB_FAR, seven, NULL, &pid, &err) == TL_OK, "%s", err.text);
    CHECK(tl_lab_wait(lab, pid, 5 * TL_NS_PER_S, &wstatus, &err) == TL_OK, "%s", err.text);
    CHECK(wstatus == 7 << 8, "%x", (unsigned)wstatus);
    CHECK(tl_lab_wait(lab, pid, 0, &wstatus, &err) == TL_UNKNOWN, "waited for already");
    CHECK(tl_lab_spawn(lab, TL_LAB_FAR, sleeper, NULL, &pid, &err) == TL_OK, "%s", err.text);
    CHECK(tl_lab_wait(lab, pid, TL_NS_PER_MS, &wstatus, &err) == TL_TIMEOUT, "it sleeps");
    CHECK(tl_lab_kill(lab, pid, 15, &err) == TL_OK, "%s", err.text);
    CHECK(tl_lab_wait(lab, pid, 5 * TL_NS_PER_S, &wstatus, &err) == TL_OK, "%s", err.text);
    CHECK((wstatus & 0x7f) == 15, "%x", (unsigned)wstatus);
    CHECK(tl_lab_kill(lab, pid, 15, &err) == TL_UNKNOWN, "it has gone");
    CHECK(tl_lab_kill(lab, getpid(), 15, &err) == TL_UNKNOWN, "never started by the lab");
    tl_lab_destroy(lab);
}

static const struct test_case cases[] = {
    {"probe leaves the caller as it was", probe_leaves_the_caller_as_it_was, 0},
    {"spawn tells what cannot start", spawn_tells_what_cannot_start, 0},
    {"tun for nobody is denied with a sentence", tun_for_nobody_is_denied_with_a_sentence,
     AS_NOBODY},
    {"host settings are in force", host_settings_are_in_force, TIMED},
    {"unprivileged hosts have no capability", unprivileged_hosts_have_no_capability, 0},
    {"unprivileged in a user namespace", unprivileged_hosts_have_no_capability, AS_NOBODY},
    {"cpu share holds until destroy", cpu_share_holds_until_destroy, NEEDS_ROOT | TIMED},
};

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], SERVE_ARGUMENT) == 0)
        return serve_main();
    return run_cases(cases, sizeof cases / sizeof *cases, argc > 1 ? argv[1] : NULL);
}
