/* What the connections of the user's own program show, and the facts of stage "mover". */
#include "tightlink/probes/mover.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow_facts.h"
#include "running.h"
#include "tightlink/base/stats.h"
#include "tightlink/base/time.h"

/* Slow start, logins and the first window are over: a dozen round trips double 10 segments to more
 * than any window, and a second lets programs start. */
#define SETTLE_NS   TL_NS_PER_S
#define SETTLE_RTTS 12
/* Less is a login, a list of files, keep-alives. */
#define BEGUN_BYTES 65536
/* Shorter pauses are within the clock of the readings. */
#define PAUSE_NS (12 * TL_NS_PER_MS)
/* Of the time, in which it is not known when bytes moved: with more the pauses are not known. */
#define BLIND_MOST 0.5
/* Of one connection: so many amounts on the way are kept, evenly over its time. */
#define FLIGHTS_MAX 1024
/* Below that many the middle of them says little. */
#define FLIGHTS_LEAST 20

/* Of the looks: a program that keeps to a rate sleeps most of the time. */
#define SLEEPS_RATIO 0.3
/* Of the receive buffer: less is what any reader leaves for a moment. */
#define UNREAD_RATIO 0.02

/* OpenSSH's channel has a window of 64 packets of 32 KiB (channels.h, CHAN_SES_WINDOW_DEFAULT), its
 * sftp asks for 64 blocks of 32 KiB ahead (sftp-client.c). */
#define SSH_WINDOW_BYTES (64 * 32768)

struct connection {
    uint64_t cookie;
    uint64_t first_bytes;
    int64_t begun_ns, settled_ns; /* 0 before */
    struct tl_running ways[2];
    int64_t blind_ns[2]; /* in which bytes moved and a pause of half a round trip may hide */
    uint64_t readings_count, starved_count, unread_count;
    double flights[FLIGHTS_MAX];
    size_t flight_count, flight_seen, flight_step;
    uint32_t first_answers[2], answers[2]; /* segments with data the other way */
};

struct tl_mover_watch {
    struct connection *connections[TL_MOVER_CONNECTIONS_MAX];
    size_t count;
};

struct tl_mover_watch *tl_mover_watch_create(void)
{
    return calloc(1, sizeof(struct tl_mover_watch));
}

void tl_mover_watch_destroy(struct tl_mover_watch *watch)
{
    if (!watch)
        return;
    for (size_t i = 0; i < watch->count; i++)
        free(watch->connections[i]);
    free(watch);
}

static struct connection *find(const struct tl_mover_watch *watch, uint64_t cookie)
{
    for (size_t i = 0; i < watch->count; i++)
        if (watch->connections[i]->cookie == cookie)
            return watch->connections[i];
    return NULL;
}

/* --- Readings --------------------------------------------------------------------------------- */

static struct connection *find_or_add(struct tl_mover_watch *watch,
                                      const struct tl_host_socket *socket)
{
    struct connection *connection = find(watch, socket->cookie);

    if (connection || watch->count == TL_MOVER_CONNECTIONS_MAX)
        return connection;
    connection = calloc(1, sizeof *connection);
    if (!connection)
        return NULL; /* its facts stay unknown */
    connection->cookie = socket->cookie;
    connection->first_bytes = socket->acked_bytes + socket->received_bytes;
    connection->flight_step = 1;
    watch->connections[watch->count++] = connection;
    return connection;
}

static int64_t settle_ns(const struct tl_host_socket *socket)
{
    int64_t trips_ns = SETTLE_RTTS * (int64_t)socket->rtt_min_ns;
    return trips_ns > SETTLE_NS ? trips_ns : SETTLE_NS;
}

/* True once it has got up to its rate. */
static bool is_settled(struct connection *connection, const struct tl_host_socket *socket,
                       int64_t now_ns)
{
    uint64_t moved = socket->acked_bytes + socket->received_bytes - connection->first_bytes;

    if (!connection->begun_ns && moved >= BEGUN_BYTES)
        connection->begun_ns = now_ns;
    if (!connection->settled_ns && connection->begun_ns &&
        now_ns - connection->begun_ns >= settle_ns(socket)) {
        connection->settled_ns = now_ns;
        connection->first_answers[TL_UPLOAD] = socket->data_segs_in_count;
        connection->first_answers[TL_DOWNLOAD] = socket->data_segs_out_count;
    }
    return connection->settled_ns != 0;
}

/* All that the program wrote is on the way, and another segment had room in both windows. */
static bool is_starved(const struct tl_host_socket *socket, uint64_t flight)
{
    uint64_t cwnd = (uint64_t)socket->cwnd_count * socket->snd_mss_bytes;
    uint64_t more = flight + socket->snd_mss_bytes;

    return socket->notsent_bytes == 0 && more <= cwnd && more <= socket->snd_wnd_bytes;
}

/* Evenly over the time: once the place is full, every other one goes and the step doubles. */
static void keep_flight(struct connection *connection, uint64_t flight)
{
    if (connection->flight_seen++ % connection->flight_step)
        return;
    if (connection->flight_count == FLIGHTS_MAX) {
        for (size_t i = 0; i < FLIGHTS_MAX / 2; i++)
            connection->flights[i] = connection->flights[2 * i];
        connection->flight_count = FLIGHTS_MAX / 2;
        connection->flight_step *= 2;
    }
    connection->flights[connection->flight_count++] = (double)flight;
}

/* Where nobody read for longer than a pause and bytes moved meanwhile, when they did is not known:
 * that time is none. */
static void forget_hole(struct connection *connection, int way, uint64_t bytes, int64_t rtt_ns,
                        int64_t now_ns)
{
    struct tl_running *running = &connection->ways[way];
    int64_t hole_ns = now_ns - running->last_ns;

    if (!running->begun || bytes == running->bytes || hole_ns <= PAUSE_NS)
        return;
    running->last_move_ns += hole_ns;
    if (hole_ns > rtt_ns / 2)
        connection->blind_ns[way] += hole_ns;
}

void tl_mover_watch_take(struct tl_mover_watch *watch, const struct tl_host_socket *socket,
                         int64_t now_ns)
{
    struct connection *connection = find_or_add(watch, socket);

    if (!connection || !is_settled(connection, socket, now_ns))
        return;
    for (int way = TL_DOWNLOAD; way <= TL_UPLOAD; way++) {
        forget_hole(connection, way,
                    way == TL_DOWNLOAD ? socket->received_bytes : socket->acked_bytes,
                    socket->rtt_min_ns, now_ns);
        tl_running_take(&connection->ways[way], socket, (enum tl_direction)way, now_ns, PAUSE_NS);
    }
    connection->answers[TL_UPLOAD] = socket->data_segs_in_count;
    connection->answers[TL_DOWNLOAD] = socket->data_segs_out_count;
    uint64_t flight = socket->write_queue_bytes - socket->notsent_bytes;
    connection->readings_count++;
    connection->unread_count += socket->read_queue_bytes > UNREAD_RATIO * socket->rcvbuf_bytes;
    if (!is_starved(socket, flight))
        return;
    connection->starved_count++;
    if (flight)
        keep_flight(connection, flight);
}

int64_t tl_mover_watch_settled_ns(const struct tl_mover_watch *watch, uint64_t cookie)
{
    const struct connection *connection = find(watch, cookie);
    return connection ? connection->settled_ns : 0;
}

/* --- Facts ------------------------------------------------------------------------------------ */

static const char too_short[] = "the transfer ended before it had got up to its rate";
static const char too_rarely[] = "this PC was too busy to read the connection often enough";
static const char one_end[] = "only the sending end sees it";

/* Median, and how far the amounts scatter around it. */
static void set_flight(struct connection *connection, enum tl_direction direction,
                       struct tl_facts *facts)
{
    size_t count = connection->flight_count;
    double median = NAN, spread = NAN;

    if (count >= FLIGHTS_LEAST) {
        median = tl_stats_median(connection->flights, count);
        spread = (tl_stats_quantile(connection->flights, count, 0.75) -
                  tl_stats_quantile(connection->flights, count, 0.25)) /
                 median;
    }
    tl_flow_set(facts, TL_FLOW(direction, mover_flight_bytes), median,
                "the program hardly ever had all of its data on the way");
    tl_flow_set(facts, TL_FLOW(direction, mover_flight_spread_ratio), spread,
                "the program hardly ever had all of its data on the way");
    tl_flow_set(facts, TL_FLOW(direction, mover_starved_ratio),
                (double)connection->starved_count / (double)connection->readings_count, too_short);
}

/* By Little's law: what arrives in one round trip was on the way. */
static void set_arrivals(const struct connection *connection, double rtt_ns, struct tl_facts *facts)
{
    const struct tl_running *running = &connection->ways[TL_DOWNLOAD];
    double rate = (double)(running->bytes - running->first_bytes) /
                  (double)(running->last_ns - running->first_ns);

    tl_flow_set(facts, TL_FLOW(TL_DOWNLOAD, mover_flight_bytes), rate * rtt_ns,
                "the round trip is not known");
    tl_flow_set(facts, TL_FLOW(TL_DOWNLOAD, mover_flight_spread_ratio), NAN, one_end);
    tl_flow_set(facts, TL_FLOW(TL_DOWNLOAD, mover_starved_ratio), NAN, one_end);
    tl_flow_set(facts, TL_FLOW(TL_DOWNLOAD, receiver_data_wait_ratio),
                1 - (double)connection->unread_count / (double)connection->readings_count,
                too_short);
}

static void set_pauses(const struct connection *connection, enum tl_direction direction,
                       struct tl_facts *facts)
{
    const struct tl_running *running = &connection->ways[direction];
    double span_ns = (double)(running->last_ns - running->first_ns);
    double bursts = (double)running->burst_count;
    bool seen = (double)connection->blind_ns[direction] <= BLIND_MOST * span_ns;

    tl_flow_set(facts, TL_FLOW(direction, mover_idle_ratio),
                seen ? running->idle_ns / span_ns : NAN, too_rarely);
    tl_flow_set(facts, TL_FLOW(direction, mover_cycles_count), seen ? bursts : NAN, too_rarely);
    tl_flow_set(facts, TL_FLOW(direction, mover_cycle_ns),
                seen && bursts > 0 ? span_ns / bursts : NAN, seen ? "nothing paused" : too_rarely);
}

static double answers_of(const struct connection *connection, enum tl_direction direction)
{
    return (double)(connection->answers[direction] - connection->first_answers[direction]);
}

static void set_answers(const struct connection *connection, const struct tl_running *running,
                        enum tl_direction direction, struct tl_facts *facts)
{
    double answers = answers_of(connection, direction);
    double bytes = (double)(running->bytes - running->first_bytes);

    tl_flow_set(facts, TL_FLOW(direction, mover_answer_bytes), answers > 0 ? bytes / answers : NAN,
                "no data came the other way");
}

/* A program that waits for answers (ssh, sftp) gives no more where the far end's program, processor
 * or disk is late, and looks the same. */
static void set_own_pause(const struct connection *connection,
                          const struct tl_flow_tree_sum *processes, struct tl_facts *facts)
{
    double own = NAN;

    if (processes->sleep_ratio >= SLEEPS_RATIO)
        own = processes->sleep_ratio;
    else if (!answers_of(connection, TL_UPLOAD))
        own = (double)connection->starved_count / (double)connection->readings_count;
    tl_flow_set(facts, TL_FLOW(TL_UPLOAD, mover_own_pause_ratio), own,
                "it may wait for answers of the far end, whose program, processor and disk are not "
                "seen from here");
}

static void set_connection(struct connection *connection, const struct tl_flow_tree_sum *processes,
                           enum tl_direction direction, double rtt_ns, struct tl_facts *facts)
{
    const struct tl_running *running = connection ? &connection->ways[direction] : NULL;

    if (!running || !running->begun || running->last_ns - running->first_ns < SETTLE_NS) {
        tl_facts_explain_stage(facts, "mover", &direction, too_short);
        return;
    }
    if (direction == TL_UPLOAD) {
        set_flight(connection, direction, facts);
        set_own_pause(connection, processes, facts);
    } else {
        set_arrivals(connection, rtt_ns, facts);
    }
    set_pauses(connection, direction, facts);
    set_answers(connection, running, direction, facts);
    tl_running_set(running, direction, facts);
}

static void set_processes(const struct tl_flow_tree_sum *processes, enum tl_direction direction,
                          struct tl_facts *facts)
{
    enum tl_end near = direction == TL_UPLOAD ? TL_SENDER : TL_RECEIVER;
    const char *hidden = processes->hidden ? "its processes belong to another user"
                                           : "its processes ended before a second look";

    tl_flow_set(facts, TL_END(direction, near, thread_cpu_ratio), processes->thread_cpu_ratio,
                hidden);
    tl_flow_set(facts, TL_END(direction, near, cpu_wait_ratio), processes->cpu_wait_ratio,
                isnan(processes->thread_cpu_ratio) ? hidden : "this kernel does not tell it");
    tl_flow_set(facts, TL_END(direction, near, throttled_ratio), processes->stopped_ratio,
                "no quota was read");
    tl_flow_set(facts, TL_END(direction, near, mover_disk_wait_ratio), processes->disk_wait_ratio,
                hidden);
    tl_flow_set(facts, TL_FLOW(direction, mover_files_count), (double)processes->files_count, "");
    if (processes->busiest[0])
        tl_flow_set_text(facts, TL_FLOW(direction, mover_busiest), processes->busiest);
}

void tl_mover_command_facts(const struct tl_mover_command *command, enum tl_direction direction,
                            struct tl_facts *facts)
{
    tl_flow_set_text(facts, TL_FLOW(direction, mover_program), command->program);
    tl_flow_set(facts, TL_FLOW(direction, mover_bytes), command->bytes, "");
    tl_flow_set(facts, TL_FLOW(direction, mover_time_ns), command->time_ns, "");
    tl_flow_set(facts, TL_FLOW(direction, mover_whole_bps),
                command->time_ns > 0 ? command->bytes * 8e9 / command->time_ns : NAN, too_short);
    tl_flow_set(facts, TL_FLOW(direction, mover_connections_count), command->connections_count, "");
    tl_flow_set(facts, TL_FLOW(direction, mover_known_window_bytes),
                command->keeps_ssh_window ? (double)SSH_WINDOW_BYTES : NAN,
                "no window of this program is known");
}

void tl_mover_facts(const struct tl_mover_watch *watch, uint64_t cookie,
                    const struct tl_flow_tree_sum *processes, enum tl_direction direction,
                    double rtt_ns, struct tl_facts *facts)
{
    static const enum tl_fact_name asked[] = {TL_FACT_FLOW_mover_memory_bps,
                                              TL_FACT_FLOW_mover_streams_bps,
                                              TL_FACT_FLOW_mover_streams_count};

    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        tl_facts_set_unknown(facts, TL_KEY(tl_scope_of(direction), asked[i]),
                             "not asked for (--measure)");
    set_processes(processes, direction, facts);
    set_connection(find(watch, cookie), processes, direction, rtt_ns, facts);
}

/* --- Beside it -------------------------------------------------------------------------------- */

struct copy {
    struct tl_facts *facts;
};

static void set_again(struct tl_facts *facts, struct tl_fact_key key, const struct tl_fact *fact)
{
    if (fact->unit == TL_UNIT_TEXT)
        tl_facts_set_text(facts, key, fact->text, fact->method);
    else if (fact->unit == TL_UNIT_BOOL)
        tl_facts_set_bool(facts, key, fact->number != 0, fact->method);
    else
        tl_facts_set_range(facts, key, fact->number, fact->low, fact->high, fact->method);
}

static void copy_host(struct tl_fact_key key, const struct tl_fact *fact, void *context)
{
    const struct copy *copy = context;
    bool disk = key.scope == TL_SCOPE_NEAR && strcmp(fact->stage, "disk") == 0;
    bool far = key.scope == TL_SCOPE_FAR && strcmp(fact->stage, "hosts") == 0;

    if (fact->state == TL_FACT_KNOWN && (disk || far))
        set_again(copy->facts, key, fact);
}

void tl_mover_add_measured(struct tl_facts *facts, enum tl_direction direction,
                           const struct tl_facts *measured)
{
    struct copy copy = {.facts = facts};
    static const char silent[] = "the far end answered no test";

    tl_facts_each(measured, copy_host, &copy);
    tl_flow_set(facts, TL_FLOW(direction, mover_memory_bps),
                tl_facts_number(measured, TL_FLOW(direction, goodput_bps), NAN), silent);
    tl_flow_set(facts, TL_FLOW(direction, mover_streams_bps),
                tl_facts_number(measured, TL_FLOW(direction, streams_goodput_bps), NAN), silent);
    tl_flow_set(facts, TL_FLOW(direction, mover_streams_count),
                tl_facts_number(measured, TL_FLOW(direction, streams_count), NAN), silent);
}
