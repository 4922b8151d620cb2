/* tightlink-capture: writes the headers of named connections to standard output, as a pcap file.
 *
 *   tightlink-capture --seconds N --bytes N [--address A]... [--port N]...
 *
 * The only program of the project that is given a capability (CAP_NET_RAW), so it does little: it
 * takes numbers and numeric addresses, no expressions, no names and no paths; opens the socket;
 * gives up what it may for good; and copies headers. No payload leaves it. It ends with the time,
 * the bytes, a signal or a closed output. Standard error has the line "ready" once packets are
 * captured and, at the end, one line of JSON: what it saw and what the kernel dropped. Exit 0; 2
 * usage; 5 not permitted; 1 anything else. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "trim.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_REFUSED = 5 };

#define SNAP_BYTES   96
#define RING_BYTES   (8 << 20) /* of the kernel, TPACKET_V3: some 80,000 headers */
#define WAKE_MS      200
#define SECONDS_MOST 86400
#define BYTES_MOST   (INT64_C(4) << 30)
#define NAMED_MOST   32 /* addresses, ports */
#define RECORD_BYTES 16
#define FILE_BYTES   24

struct named {
    const char *addresses[NAMED_MOST];
    long ports[NAMED_MOST];
    unsigned address_count, port_count;
    long long seconds, bytes;
};

struct writing {
    long long left_bytes, packets, bytes;
    size_t link_bytes;
    unsigned protocol_at;
    bool full, failed;
};

static pcap_t *volatile running;
static volatile sig_atomic_t ended;

static void stop(int signal_number)
{
    ended = 1;
    pcap_breakloop(running);
}

/* --- What is asked for ------------------------------------------------------------------------ */

static bool number(const char *text, long long most, long long *ret_number)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < 1 || value > most)
        return false;
    *ret_number = value;
    return true;
}

static bool is_address(const char *text)
{
    unsigned char bytes[16];
    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

static bool take(struct named *named, const char *key, const char *value)
{
    long long port;
    if (strcmp(key, "--seconds") == 0)
        return number(value, SECONDS_MOST, &named->seconds);
    if (strcmp(key, "--bytes") == 0)
        return number(value, BYTES_MOST, &named->bytes);
    if (strcmp(key, "--address") == 0 && named->address_count < NAMED_MOST && is_address(value)) {
        named->addresses[named->address_count++] = value;
        return true;
    }
    if (strcmp(key, "--port") == 0 && named->port_count < NAMED_MOST &&
        number(value, 65535, &port)) {
        named->ports[named->port_count++] = (long)port;
        return true;
    }
    return false;
}

/* "tcp and (host A or host B) and (port 1 or port 2)", and routers' reports of packets too big. */
static void filter_text(const struct named *named, char *ret_text, size_t size)
{
    size_t len = (size_t)snprintf(ret_text, size, "(tcp");
    for (unsigned i = 0; i < named->address_count && len < size; i++)
        len += (size_t)snprintf(ret_text + len, size - len, "%s host %s", i == 0 ? " and (" : " or",
                                named->addresses[i]);
    if (named->address_count && len < size)
        len += (size_t)snprintf(ret_text + len, size - len, ")");
    for (unsigned i = 0; i < named->port_count && len < size; i++)
        len += (size_t)snprintf(ret_text + len, size - len, "%s port %ld",
                                i == 0 ? " and (" : " or", named->ports[i]);
    if (len < size)
        snprintf(ret_text + len, size - len, "%s) or (icmp[0] == 3 and icmp[1] == 4)",
                 named->port_count ? ")" : "");
}

/* --- Opening, and giving up what that took ---------------------------------------------------- */

static void give_up(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};
    if (syscall(SYS_capset, &header, none) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        perror("tightlink-capture: capset");
        exit(EXIT_FAILED);
    }
}

/* The exit code; EXIT_DONE with the capture running. */
static int start(const struct named *named, pcap_t **ret_pcap)
{
    char error[PCAP_ERRBUF_SIZE] = "", text[4096];
    struct bpf_program program;
    pcap_t *pcap = pcap_create("any", error);
    if (!pcap) {
        fprintf(stderr, "tightlink-capture: %s\n", error);
        return EXIT_FAILED;
    }
    *ret_pcap = pcap;
    pcap_set_snaplen(pcap, SNAP_BYTES);
    pcap_set_timeout(pcap, WAKE_MS);
    pcap_set_buffer_size(pcap, RING_BYTES);
    (void)pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO);
    int status = pcap_activate(pcap);
    give_up();
    if (status < 0) {
        fprintf(stderr, "tightlink-capture: %s\n", pcap_geterr(pcap));
        return status == PCAP_ERROR_PERM_DENIED ? EXIT_REFUSED : EXIT_FAILED;
    }
    filter_text(named, text, sizeof text);
    if (pcap_compile(pcap, &program, text, 1, PCAP_NETMASK_UNKNOWN) != 0 ||
        pcap_setfilter(pcap, &program) != 0) {
        fprintf(stderr, "tightlink-capture: %s\n", pcap_geterr(pcap));
        return EXIT_FAILED;
    }
    pcap_freecode(&program);
    if (pcap_setnonblock(pcap, 1, error) != 0 || pcap_get_selectable_fd(pcap) < 0) {
        fprintf(stderr, "tightlink-capture: it cannot be waited for\n");
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* --- Writing ---------------------------------------------------------------------------------- */

static bool put_file_header(pcap_t *pcap, struct writing *writing)
{
    bool nano = pcap_get_tstamp_precision(pcap) == PCAP_TSTAMP_PRECISION_NANO;
    uint32_t header[6] = {nano ? 0xa1b23c4du : 0xa1b2c3d4u, 0, 0, 0, SNAP_BYTES,
                          (uint32_t)pcap_datalink(pcap)};
    uint16_t version[2] = {2, 4};
    memcpy(&header[1], version, sizeof version);
    writing->link_bytes = pcap_datalink(pcap) == DLT_LINUX_SLL2 ? 20 : 16;
    writing->protocol_at = pcap_datalink(pcap) == DLT_LINUX_SLL2 ? 0 : 14;
    writing->left_bytes -= FILE_BYTES;
    return fwrite(header, sizeof header, 1, stdout) == 1;
}

static void put(u_char *user, const struct pcap_pkthdr *packet, const u_char *bytes)
{
    struct writing *writing = (struct writing *)(void *)user;
    size_t kept = packet->caplen;
    if (kept >= writing->link_bytes)
        kept = capture_header_bytes(
            bytes, kept, writing->link_bytes,
            (unsigned)(bytes[writing->protocol_at] << 8 | bytes[writing->protocol_at + 1]));
    uint32_t record[4] = {(uint32_t)packet->ts.tv_sec, (uint32_t)packet->ts.tv_usec, (uint32_t)kept,
                          packet->len};
    writing->full = writing->left_bytes < (long long)sizeof record + (long long)kept;
    if (!writing->full)
        writing->failed =
            fwrite(record, sizeof record, 1, stdout) != 1 || fwrite(bytes, 1, kept, stdout) != kept;
    if (writing->full || writing->failed) {
        pcap_breakloop(running);
        return;
    }
    writing->left_bytes -= (long long)(RECORD_BYTES + kept);
    writing->packets++;
}

static long long now_s(void)
{
    static struct timespec last; /* untouched by a clock that fails */
    (void)clock_gettime(CLOCK_MONOTONIC, &last);
    return (long long)last.tv_sec;
}

/* Who called was killed: without packets nothing is written that would tell. */
static bool nobody_listens(const struct pollfd *output)
{
    return output->revents & (POLLERR | POLLHUP);
}

/* Until the time is over, the bytes are used up, or somebody ends it. */
static int copy(const struct named *named, pcap_t *pcap)
{
    struct writing writing = {.left_bytes = named->bytes};
    struct sigaction action = {.sa_handler = stop};
    struct pcap_stat counts = {0};
    long long end_s = now_s() + named->seconds;
    running = pcap;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    writing.failed = !put_file_header(pcap, &writing) || fflush(stdout) != 0;
    if (!writing.failed)
        fputs("ready\n", stderr);
    /* With TPACKET_V3 libpcap's own timeout does not end a wait without packets. */
    struct pollfd ready[] = {{.fd = pcap_get_selectable_fd(pcap), .events = POLLIN},
                             {.fd = STDOUT_FILENO},
                             {.fd = STDERR_FILENO}};
    while (!writing.failed && !writing.full && !ended && now_s() < end_s)
        if (poll(ready, 3, WAKE_MS) >= 0 &&
            (nobody_listens(&ready[1]) || nobody_listens(&ready[2]) ||
             pcap_dispatch(pcap, -1, put, (u_char *)&writing) < 0))
            break;
    writing.failed |= fflush(stdout) != 0;
    (void)pcap_stats(pcap, &counts);
    fprintf(stderr, "{\"packets\": %lld, \"dropped\": %u, \"full\": %s}\n", writing.packets,
            counts.ps_drop, writing.full ? "true" : "false");
    return writing.failed ? EXIT_FAILED : EXIT_DONE;
}

int main(int argc, char **argv)
{
    struct named named = {0};
    pcap_t *pcap = NULL;
    bool good = argc % 2 == 1;
    for (int i = 1; good && i + 1 < argc; i += 2)
        good = take(&named, argv[i], argv[i + 1]);
    if (!good || !named.seconds || !named.bytes) {
        fputs("usage: tightlink-capture --seconds N --bytes N [--address A]... [--port N]...\n",
              stderr);
        return EXIT_USAGE;
    }
    int code = start(&named, &pcap);
    if (code == EXIT_DONE)
        code = copy(&named, pcap);
    if (pcap)
        pcap_close(pcap);
    return code;
}
