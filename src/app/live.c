/* Watching transfers: what to watch, and the steps. Rows: live_rows.c. Judging: live_judge.c. */
#include "tightlink/app/live.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live_private.h"
#include "tightlink/base/name.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/session/audit.h"

#define INTERVAL_NS TL_NS_PER_S
/* A reading may take one part in so many of the time until the next one. */
#define READINGS_SHARE 100

/* --- What to watch -------------------------------------------------------------------------- */

/* A whole number up to max; false for anything else. */
static bool take_number(const char *text, long max, long *ret_number)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (end == text || *end || number < 1 || number > max || text[0] < '0' || text[0] > '9')
        return false;
    *ret_number = number;
    return true;
}

static bool is_process(long pid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%ld", pid);
    return access(path, F_OK) == 0;
}

#define PID_MAX 4194304 /* PID_MAX_LIMIT of Linux */

enum tl_status tl_app_live_parse(const char *text, struct tl_app_live_what *what,
                                 struct tl_error *reterr)
{
    const char *port = strncmp(text, "port:", 5) == 0 ? text + 5 : text[0] == ':' ? text + 1 : NULL;
    const char *pid = strncmp(text, "pid:", 4) == 0 ? text + 4 : NULL;
    long number;

    /* "::1" is an address. */
    if (port && *port != ':') {
        if (!take_number(port, 65535, &number))
            return tl_error_set(reterr, TL_USAGE, "%.40s is no port: 1 to 65535", port);
        what->port = (uint16_t)number;
    } else if (pid) {
        if (!take_number(pid, PID_MAX, &number) || !is_process(number))
            return tl_error_set(reterr, TL_USAGE, "there is no process %.40s", pid);
        what->pid = (int)number;
    } else if (take_number(text, PID_MAX, &number)) {
        if (number <= 65535)
            what->port = (uint16_t)number;
        if (is_process(number))
            what->pid = (int)number;
        what->pid_or_port = what->pid && what->port;
        if (!what->pid && !what->port)
            return tl_error_set(reterr, TL_USAGE, "there is no process %ld", number);
    } else {
        what->host = text;
    }
    return TL_OK;
}

static bool read_namespace(const char *process, char ret_name[64])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/ns/net", process);
    ssize_t len = readlink(path, ret_name, 63);
    ret_name[len > 0 ? len : 0] = '\0';
    return len > 0;
}

bool tl_app_live_is_elsewhere(int pid)
{
    char process[16], own[64], other[64];
    snprintf(process, sizeof process, "%d", pid);
    return read_namespace("self", own) && read_namespace(process, other) && strcmp(own, other) != 0;
}

bool tl_app_asks_others(const char *host)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST}, *found = NULL;
    if (!host || tl_is_loopback_name(host))
        return false;
    if (getaddrinfo(host, NULL, &hints, &found) != 0)
        return true;
    freeaddrinfo(found);
    return false;
}

/* Every address that the name stands for. The resolver's own time limit holds (resolv.conf(5)). */
static enum tl_status resolve(const char *host, struct tl_flow_watch_filter *filter,
                              struct tl_error *reterr)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int error = getaddrinfo(host, NULL, &hints, &found);

    if (error)
        return tl_error_set(reterr, TL_NOHOST, "%.200s: %s", host, gai_strerror(error));
    for (const struct addrinfo *at = found; at && filter->remote_count < TL_FLOW_WATCH_REMOTES_MAX;
         at = at->ai_next) {
        unsigned char *mapped = filter->remotes[filter->remote_count];
        if (at->ai_family == AF_INET6) {
            memcpy(mapped, &((const struct sockaddr_in6 *)(const void *)at->ai_addr)->sin6_addr,
                   16);
        } else if (at->ai_family == AF_INET) {
            mapped[10] = mapped[11] = 0xff;
            memcpy(mapped + 12, &((const struct sockaddr_in *)(const void *)at->ai_addr)->sin_addr,
                   4);
        } else {
            continue;
        }
        filter->remote_count++;
    }
    freeaddrinfo(found);
    return TL_OK;
}

enum tl_status live_filter(const struct tl_app_live_what *what,
                           struct tl_flow_watch_filter *ret_filter, struct tl_error *reterr)
{
    *ret_filter = (struct tl_flow_watch_filter){.pid = what->pid,
                                                .port = what->port,
                                                .pid_or_port = what->pid_or_port,
                                                .loopback = what->loopback};
    return what->host ? resolve(what->host, ret_filter, reterr) : TL_OK;
}

enum tl_status tl_app_live_create(const struct tl_app_live_what *what, const struct tl_rules *rules,
                                  struct tl_app_live **ret_live, struct tl_error *reterr)
{
    struct tl_flow_watch_filter filter;
    struct tl_app_live *live = calloc(1, sizeof *live);

    if (!live)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    live->rules = rules;
    enum tl_status status = live_filter(what, &filter, reterr);
    if (status == TL_OK)
        status = tl_session_audit(what->host, &live->host_facts, reterr);
    live->start_ns = live->step_ns = tl_now_ns();
    live->stride = 1;
    if (status == TL_OK)
        status = tl_flow_watch_create(&filter, live->start_ns, &live->watch, reterr);
    if (status == TL_OK)
        *ret_live = live;
    else
        tl_app_live_destroy(live);
    return status;
}

void tl_app_live_destroy(struct tl_app_live *live)
{
    if (!live)
        return;
    tl_flow_watch_destroy(live->watch);
    tl_facts_destroy(live->host_facts);
    free(live->rows);
    free(live->opinions);
    free(live);
}

/* --- Steps ------------------------------------------------------------------------------------ */

int64_t tl_app_live_step_ns(void)
{
    return INTERVAL_NS / TL_FLOW_WATCH_READINGS_PER_INTERVAL;
}

/* Steps from one reading to the next, by what a reading cost: at most a hundredth of a processor,
 * and at least one in each second. */
static int stride_for(int64_t cost_ns)
{
    int64_t step_ns = tl_app_live_step_ns();
    int stride = 1;

    while (stride < TL_FLOW_WATCH_READINGS_PER_INTERVAL &&
           cost_ns * READINGS_SHARE > stride * step_ns)
        stride *= 2;
    return stride;
}

static enum tl_status read_flows(struct tl_app_live *live, int64_t now_ns, struct tl_error *reterr)
{
    int64_t before_ns = tl_thread_cpu_ns();
    enum tl_status status = tl_flow_watch_read(live->watch, now_ns, reterr);

    live->stride = stride_for(tl_thread_cpu_ns() - before_ns);
    return status;
}

static void take_sum(struct tl_app_live *live, const struct tl_live_sum *sum, double span_ns)
{
    const char *why;

    live->sum = (struct tl_app_live_sum){
        .sent_bps = tl_bps_from_bytes_ns((double)sum->sent_bytes, span_ns),
        .received_bps = tl_bps_from_bytes_ns((double)sum->received_bytes, span_ns),
        .flows_count = sum->flows_count,
        .short_count = sum->short_count,
        .whole = sum->whole,
    };
    if (!tl_flow_watch_sees_ends(live->watch, &why)) {
        live->sum.whole = false;
        snprintf(live->sum.left_out, sizeof live->sum.left_out,
                 "connections shorter than %.0f ms: %s",
                 (double)(live->stride * tl_app_live_step_ns()) / TL_NS_PER_MS, why);
    } else if (!sum->whole) {
        snprintf(live->sum.left_out, sizeof live->sum.left_out,
                 "more connections began or ended than could be followed");
    }
}

enum tl_status tl_app_live_step(struct tl_app_live *live, bool *ret_second, struct tl_error *reterr)
{
    int64_t now_ns = tl_now_ns();
    struct tl_live_sum sum;

    *ret_second = false;
    if (++live->steps % live->stride) /* it divides the readings of an interval */
        return TL_OK;
    enum tl_status status = read_flows(live, now_ns, reterr);
    if (status != TL_OK || live->steps % TL_FLOW_WATCH_READINGS_PER_INTERVAL)
        return status;
    tl_flow_watch_close(live->watch, now_ns, &sum);
    take_sum(live, &sum, (double)(now_ns - live->step_ns));
    live->step_ns = now_ns;
    *ret_second = true;
    status = live_make_rows(live);
    if (status != TL_OK)
        return tl_error_set(reterr, status, "out of memory");
    return live_form_opinions(live, now_ns, reterr);
}

const struct tl_app_live_row *tl_app_live_rows(const struct tl_app_live *live, size_t *ret_count)
{
    *ret_count = live->row_count;
    return live->rows;
}

const struct tl_app_live_sum *tl_app_live_sum(const struct tl_app_live *live)
{
    return &live->sum;
}
