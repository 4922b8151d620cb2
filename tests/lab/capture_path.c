/* Captures of one transfer over an emulated path, at three places:
 * capture_path SPEC DIRECTORY FLOW_END SENDER [KEY=NUMBER...] -- [KEY=NUMBER...]
 *
 * SENDER is near, far or ask (the near host asks, the far one answers). The first keys are the
 * sender's, those behind -- the receiver's. DIRECTORY gets near.pcap, middle.pcap (at r1, or at
 * none on a plain path), far.pcap and truth.json, what the sender's kernel counted. Exit code 77
 * where no path can be made here. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#define TRANSFER_PORT "5201"
#define ARGUMENT_MAX  32

static struct tl_lab *lab;

static pid_t spawn(int place, const char *const argv[], int out)
{
    struct tl_error err = {0};
    struct tl_lab_stdio streams = {.in = -1, .out = out, .err = 2};
    pid_t pid;
    enum tl_status status = place == 1 ? tl_lab_spawn_router(lab, 1, argv, &streams, &pid, &err)
                                       : tl_lab_spawn(lab, place == 0 ? TL_LAB_NEAR : TL_LAB_FAR,
                                                      argv, &streams, &pid, &err);
    CHECK(status == TL_OK, "%s", err.text);
    return pid;
}

static pid_t capture(int place, const char *interface, const char *directory, const char *snap)
{
    static const char *const names[] = {"near", "middle", "far"};
    static char paths[3][512];
    snprintf(paths[place], sizeof paths[place], "%s/%s.pcap", directory, names[place]);
    const char *const argv[] = {"tcpdump", "-i",   interface, "-s",     snap,
                                "-B",      "8192", "-n",      "-w",     paths[place],
                                "-Z",      "root", "-q",      "--nano", "tcp or icmp or icmp6",
                                NULL};
    return spawn(place, argv, -1);
}

/* Adds arguments of the form KEY=NUMBER up to "--". */
static int add_keys(const char **argv, int count, char **from)
{
    while (*from && strcmp(*from, "--") != 0) {
        CHECK(count < ARGUMENT_MAX - 2, "too many arguments");
        argv[count++] = *from++;
    }
    return count;
}

static char **behind_dashes(char **from)
{
    while (*from && strcmp(*from, "--") != 0)
        from++;
    return *from ? from + 1 : from;
}

static void end(pid_t pid, int signal_number)
{
    struct tl_error err = {0};
    int wstatus;
    if (tl_lab_kill(lab, pid, signal_number, &err) == TL_OK &&
        tl_lab_wait(lab, pid, 3000000000, &wstatus, &err) != TL_OK)
        fprintf(stderr, "%s\n", err.text);
}

/* Runs the transfer to the end of its sender; its status as of waitpid. */
static int transfer(char **argv, int out)
{
    bool asks = strcmp(argv[4], "ask") == 0, far_sends = strcmp(argv[4], "far") == 0;
    const char *far_role = far_sends ? "send" : asks ? "answer" : "receive";
    const char *near_role = far_sends ? "receive" : asks ? "ask" : "send";
    const char *address = tl_lab_far_address(lab);
    const char *far[ARGUMENT_MAX] = {argv[3], far_role, address, TRANSFER_PORT, "listen=1"};
    const char *near[ARGUMENT_MAX] = {argv[3], near_role, address, TRANSFER_PORT};
    char **sender_keys = argv + 5, **receiver_keys = behind_dashes(argv + 5);
    (void)add_keys(far, 5, far_sends ? sender_keys : receiver_keys);
    (void)add_keys(near, 4, far_sends ? receiver_keys : sender_keys);
    pid_t server = spawn(2, far, far_sends ? out : -1);
    usleep(200000);
    pid_t client = spawn(0, near, far_sends ? -1 : out);
    struct tl_error err = {0};
    int wstatus = 0;
    CHECK(tl_lab_wait(lab, far_sends ? server : client, 60000000000, &wstatus, &err) == TL_OK, "%s",
          err.text);
    usleep(300000);
    end(far_sends ? client : server, SIGKILL);
    return wstatus;
}

int main(int argc, char **argv)
{
    char truth[512];
    if (argc < 5) {
        fprintf(stderr, "usage: capture_path SPEC DIRECTORY FLOW_END near|far|ask [KEY=NUMBER...] "
                        "-- [KEY=NUMBER...]\n");
        return 2;
    }
    lab = make_bare_lab(argv[1]);
    snprintf(truth, sizeof truth, "%s/truth.json", argv[2]);
    int out = open(truth, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
    CHECK(out >= 0, "%s", truth);
    pid_t taps[3] = {capture(0, "eth0", argv[2], "128"), 0, capture(2, "eth0", argv[2], "128")};
    if (!strstr(argv[1], "plain=on"))
        taps[1] = capture(1, "lan0", argv[2], "128");
    usleep(700000); /* until tcpdump sees packets: it does not tell */
    int wstatus = transfer(argv, out);
    usleep(1500000); /* tcpdump has its packets a second late at most: what is later is lost */
    for (int i = 0; i < 3; i++)
        if (taps[i])
            end(taps[i], SIGINT);
    tl_lab_destroy(lab);
    return WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : 1;
}
