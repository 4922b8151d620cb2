/* Names with dots that are no hosts: facts, settings, files, releases of kernels. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "redact_match.h"
#include "tightlink/facts/facts.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

bool redact_is_among(const char *text, size_t len, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == len && strncasecmp(words[i], text, len) == 0)
            return true;
    return false;
}

static size_t label_count(const char *name, size_t len)
{
    size_t count = 1;
    for (size_t i = 0; i < len; i++)
        count += name[i] == '.';
    return count;
}

/* "download.goodput_bps", for people who look it up; also one that a newer version has named. */
static bool is_fact_id(const char *name, size_t len)
{
    static const char *const scopes[] = {"near",   "far",      "path", "download",
                                         "upload", "receiver", "flow", "sender"};
    static const enum tl_subject subjects[] = {TL_SUBJECT_HOST, TL_SUBJECT_PATH, TL_SUBJECT_FLOW};
    enum tl_fact_name known;
    char fact[64];
    const char *dot = memchr(name, '.', len);
    size_t rest = dot ? len - (size_t)(dot + 1 - name) : 0;
    if (!dot || rest == 0 || rest >= sizeof fact ||
        !redact_is_among(name, (size_t)(dot - name), scopes, COUNT(scopes)))
        return false;
    snprintf(fact, sizeof fact, "%.*s", (int)rest, dot + 1);
    for (size_t i = 0; i < COUNT(subjects); i++)
        if (tl_fact_find(subjects[i], fact, &known))
            return true;
    return strchr(fact, '_') && strspn(fact, "abcdefghijklmnopqrstuvwxyz0123456789_") == rest;
}

static bool begins(const char *name, size_t len, const char *prefix)
{
    size_t n = strlen(prefix);
    return len > n && strncmp(name, prefix, n) == 0;
}

/* "cpu.max" of a control group, and the names of our own formats. */
static bool is_known_name(const char *name, size_t len)
{
    static const char *const files[] = {
        "cpu.max",           "cpu.stat",           "cpu.weight",      "cpu.cfs_quota_us",
        "cpu.cfs_period_us", "memory.max",         "memory.high",     "io.max",
        "tightlink.rule",    "tightlink.findings", "tightlink.shared"};
    static const char *const groups[] = {"802-3-ethernet.", "802-11-wireless.", "ethtool."};
    for (size_t i = 0; i < COUNT(groups); i++) /* properties of NetworkManager */
        if (begins(name, len, groups[i]) && label_count(name, len) == 2)
            return true;
    return redact_is_among(name, len, files, COUNT(files));
}

/* "net.ipv4.tcp_rmem", "net.ipv4.conf.eth0.rp_filter", "vm.dirty_ratio". */
static bool is_setting(const char *name, size_t len)
{
    static const char *const trees[] = {"net.core.", "net.ipv4.", "net.ipv6.", "net.netfilter.",
                                        "blkio.throttle."};
    size_t labels = label_count(name, len);
    for (size_t i = 0; i < COUNT(trees); i++)
        if (begins(name, len, trees[i]))
            return labels == 3 ||
                   (labels == 5 && strncmp(name + strlen(trees[i]), "conf.", 5) == 0);
    if (begins(name, len, "net.inet.tcp.") || begins(name, len, "net.inet.udp.")) /* BSD */
        return labels == 4;
    return labels == 2 && memchr(name, '_', len) &&
           (begins(name, len, "vm.") || begins(name, len, "kernel.") || begins(name, len, "fs."));
}

/* Names of files, and releases of kernels: no such top-level domain exists. */
static bool is_file_or_release(const char *name, size_t len)
{
    static const char *const ends[] = {"conf", "json", "html", "txt",   "log",     "service",
                                       "rst",  "csv",  "svg",  "timer", "samples", "tightlink",
                                       "yaml", "xml",  "ini",  "rules", "pcap",    "socket"};
    static const char *const machines[] = {"x86_64", "aarch64", "i686",    "noarch",
                                           "s390x",  "ppc64le", "riscv64", "armv7hl"};
    static const char *const units[] = {"link", "network", "netdev"};
    const char *last = memrchr(name, '.', len);
    size_t size = len - (size_t)(last + 1 - name);
    if (redact_is_among(last + 1, size, ends, COUNT(ends)))
        return true;
    /* "10-iface.link" of systemd; .link and .network are domains too, but not behind a number */
    size_t digits = strspn(name, "0123456789");
    if (digits && name[digits] == '-' && label_count(name, len) == 2 &&
        redact_is_among(last + 1, size, units, COUNT(units)))
        return true;
    return isdigit((unsigned char)name[0]) &&
           redact_is_among(last + 1, size, machines, COUNT(machines));
}

bool redact_is_no_host(const char *name, size_t len)
{
    return is_fact_id(name, len) || is_known_name(name, len) || is_setting(name, len) ||
           is_file_or_release(name, len);
}
