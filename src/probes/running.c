/* Transfers that run already: read the kernel's counters every few milliseconds. */
#include "running.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/stats.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/far.h"

#define WATCH_NS (2 * TL_NS_PER_S)
#define QUIET_NS (WATCH_NS / 4) /* an idle login is not worth more */
#define STEP_MS  4
#define PAUSE_NS                                                                                   \
    (3 * STEP_MS * TL_NS_PER_MS) /* shorter ones are within the clock of the readings */
/* Fewer bytes than that are a keep-alive or somebody typing. */
#define BYTES_MIN 2000

static uint64_t counter(const struct tl_host_socket *socket, enum tl_direction direction)
{
    return direction == TL_DOWNLOAD ? socket->received_bytes : socket->acked_bytes;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void note_pause(struct tl_running *running, int64_t now_ns, int64_t gap_ns)
{
    int64_t gap = now_ns - running->last_move_ns;
    if (gap <= gap_ns)
        return;
    running->burst_count++;
    running->idle_ns += (double)gap;
    if (running->gap_count < TL_RUNNING_GAPS_MAX)
        running->gaps_ns[running->gap_count++] = (double)gap;
}

void tl_running_take(struct tl_running *running, const struct tl_host_socket *socket,
                     enum tl_direction direction, int64_t now_ns, int64_t gap_ns)
{
    bool download = direction == TL_DOWNLOAD;
    uint64_t bytes = counter(socket, direction);
    uint32_t buffer = download ? socket->rcvbuf_bytes : socket->sndbuf_bytes;
    if (!running->begun) {
        *running = (struct tl_running){.begun = true,
                                       .fixed_buffer = true,
                                       .bytes = bytes,
                                       .first_bytes = bytes,
                                       .first_ns = now_ns,
                                       .last_move_ns = now_ns,
                                       .buffer_bytes = buffer,
                                       .first_rwnd_ns = socket->rwnd_limited_ns};
    }
    running->fixed_buffer &= buffer == running->buffer_bytes;
    running->buffer_bytes = larger(running->buffer_bytes, buffer);
    running->window_bytes =
        larger(running->window_bytes, download ? socket->rcv_wnd_bytes : socket->snd_wnd_bytes);
    running->mss_bytes =
        larger(running->mss_bytes, download ? socket->rcv_mss_bytes : socket->snd_mss_bytes);
    running->rwnd_ns = socket->rwnd_limited_ns;
    running->last_ns = now_ns;
    if (bytes != running->bytes) {
        note_pause(running, now_ns, gap_ns);
        running->last_move_ns = now_ns;
        running->bytes = bytes;
    }
}

static void set(struct tl_facts *facts, struct tl_fact_key key, double value)
{
    tl_facts_set_number(facts, key, value, "the busiest connection with that host");
}

void tl_running_set(const struct tl_running *running, enum tl_direction direction,
                    struct tl_facts *facts)
{
    set(facts, TL_FLOW(direction, running_count), running != NULL);
    if (!running)
        return;
    bool download = direction == TL_DOWNLOAD;
    double bytes = (double)(running->bytes - running->first_bytes);
    double time_ns = (double)(running->last_ns - running->first_ns);
    set(facts, TL_FLOW(direction, running_bps), bytes * 8e9 / time_ns);
    if (running->window_bytes)
        set(facts, TL_FLOW(direction, running_window_bytes), running->window_bytes);
    if (running->buffer_bytes) {
        set(facts,
            download ? TL_FLOW(direction, running_rcvbuf_bytes)
                     : TL_FLOW(direction, running_sndbuf_bytes),
            running->buffer_bytes);
        tl_facts_set_bool(facts, TL_FLOW(direction, running_buffer_fixed), running->fixed_buffer,
                          "the same in every reading");
    }
    if (running->mss_bytes)
        set(facts, TL_FLOW(direction, running_mss_bytes), running->mss_bytes);
    if (!download)
        set(facts, TL_FLOW(direction, running_rwnd_ratio),
            (double)(running->rwnd_ns - running->first_rwnd_ns) / time_ns);
    set(facts, TL_FLOW(direction, running_pause_count), (double)running->gap_count);
    set(facts, TL_FLOW(direction, running_idle_ratio), running->idle_ns / time_ns);
    if (running->gap_count == 0)
        return;
    double *gaps = malloc(sizeof running->gaps_ns);
    if (!gaps)
        return;
    memcpy(gaps, running->gaps_ns, running->gap_count * sizeof *gaps);
    tl_stats_sort(gaps, running->gap_count);
    set(facts, TL_FLOW(direction, running_pause_ns), gaps[running->gap_count / 2]);
    set(facts, TL_FLOW(direction, running_burst_bytes), bytes / (double)running->burst_count);
    free(gaps);
}

/* The connections that were there at the beginning, both ways. */
struct watched {
    size_t count;
    uint64_t cookies[TL_HOST_SOCKETS_MAX];
    struct tl_running ways[TL_HOST_SOCKETS_MAX][2];
};

/* Ours are not the user's. */
static bool is_ours(const struct tl_host_socket *socket, const struct tl_probe *probe)
{
    return socket->remote_port == probe->target->port || socket->local_port == probe->target->port;
}

static void take_reading(struct watched *watched, const struct tl_host_socket *socket,
                         int64_t now_ns, int64_t gap_ns)
{
    size_t i = 0;
    while (i < watched->count && watched->cookies[i] != socket->cookie)
        i++;
    if (i == TL_HOST_SOCKETS_MAX)
        return;
    if (i == watched->count)
        watched->cookies[watched->count++] = socket->cookie;
    for (int way = TL_DOWNLOAD; way <= TL_UPLOAD; way++)
        tl_running_take(&watched->ways[i][way], socket, (enum tl_direction)way, now_ns, gap_ns);
}

/* False where there is nothing to watch, or no more. */
static bool read_once(const struct tl_probe *probe, struct watched *watched, int64_t gap_ns)
{
    struct tl_host_socket sockets[TL_HOST_SOCKETS_MAX];
    const struct tl_client_info *info = tl_far_info(probe->far);
    size_t count, theirs = 0;
    if (tl_host_sockets((const struct sockaddr *)&info->peer, sockets, TL_HOST_SOCKETS_MAX,
                        &count) != TL_HOST_WHY_KNOWN)
        return false;
    int64_t now_ns = tl_now_ns();
    for (size_t i = 0; i < count; i++) {
        if (is_ours(&sockets[i], probe))
            continue;
        theirs++;
        take_reading(watched, &sockets[i], now_ns, gap_ns);
    }
    return theirs > 0;
}

static bool has_moved(const struct watched *watched)
{
    for (size_t i = 0; i < watched->count; i++)
        for (int way = TL_DOWNLOAD; way <= TL_UPLOAD; way++)
            if (watched->ways[i][way].bytes != watched->ways[i][way].first_bytes)
                return true;
    return false;
}

static const struct tl_running *busiest(const struct watched *watched, enum tl_direction direction)
{
    const struct tl_running *best = NULL;
    for (size_t i = 0; i < watched->count; i++) {
        const struct tl_running *way = &watched->ways[i][direction];
        uint64_t bytes = way->bytes - way->first_bytes;
        if (bytes >= BYTES_MIN && way->last_ns - way->first_ns >= WATCH_NS / 4 &&
            (!best || bytes > best->bytes - best->first_bytes))
            best = way;
    }
    return best;
}

void tl_running_watch(const struct tl_probe *probe)
{
    struct watched *watched = calloc(1, sizeof *watched);
    struct pollfd cancelled = {.fd = probe->cancel_fd, .events = POLLIN};
    int64_t begin = tl_now_ns();
    if (!watched || !probe->far || !probe->target) {
        free(watched);
        return;
    }
    bool going = read_once(probe, watched, PAUSE_NS);
    while (going && poll(&cancelled, 1, STEP_MS) == 0) {
        int64_t elapsed = tl_now_ns() - begin;
        going = elapsed < WATCH_NS && read_once(probe, watched, PAUSE_NS) &&
                (elapsed < QUIET_NS || has_moved(watched));
    }
    for (int way = TL_DOWNLOAD; way <= TL_UPLOAD; way++)
        tl_running_set(busiest(watched, (enum tl_direction)way), (enum tl_direction)way,
                       probe->facts);
    free(watched);
}
