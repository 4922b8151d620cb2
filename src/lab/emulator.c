/* The threads that carry packets; see emulator.h.
 *
 * A thread takes what has come in, asks the model for each packet's fate, sends
 * what is due and then sleeps: without a limit while nothing is under way, else
 * until the next departure. Under load it wakes at most once a QUANTUM_NS,
 * because a wake-up for each packet (12 us apart at 1 Gb/s) would cost more than
 * the packet. What is due within EARLY_NS leaves at once and timers are set that
 * much earlier: it makes up for the time that passes before an arrival is noticed
 * and before a sleeper runs, some 30 us each on a virtual machine. */
#include "emulator.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "mangle.h"
#include "model.h"
#include "schedule.h"
#include "tightlink/base/thread.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"

#define QUANTUM_NS (50 * TL_NS_PER_US)
#define EARLY_NS   (30 * TL_NS_PER_US)

/* Packets taken in before due ones are sent again. */
#define INTAKE_BATCH 64

/* Slots: what the link can hold if packets are this small on average, within bounds. */
#define SLOT_MEAN_BYTES 300
#define SLOTS_MIN       16384
#define SLOTS_MAX       262144
#define SLOTS_UNLIMITED 131072

struct direction {
    struct tl_lab_port *in;
    const struct tl_lab_port *out;
    struct tl_lab_shared *shared;
    struct tl_lab_live *live;
    const struct tl_lab_live *other; /* of the other direction */
    enum tl_lab_direction direction;
    struct tl_lab_model model;
    struct tl_lab_model *v6; /* where IPv6 takes a link of its own, else NULL */
    bool by_flow;            /* what any of the two models needs */
    bool collides;
    struct tl_lab_schedule schedule;
    size_t packet_max;
};

static void count_drop(struct direction *d, enum tl_lab_drop drop)
{
    tl_lab_count(&d->live->drops[drop], 1);
}

/* Multicast on the link itself (neighbour discovery, MLD) never crosses a WAN;
 * the lab has no use for it and counters stay clean. */
static bool is_link_chatter(const unsigned char *packet, size_t len)
{
    return len >= 40 && packet[0] >> 4 == 6 && packet[24] == 0xff && (packet[25] & 0x0f) == 2;
}

static size_t ip_header_bytes(const unsigned char *packet)
{
    return packet[0] >> 4 == 4 ? (size_t)(packet[0] & 0x0f) * 4 : 40;
}

static void flip_bit(unsigned char *packet, size_t len, double at)
{
    size_t head = ip_header_bytes(packet);
    if (len <= head)
        return;
    size_t bit = (size_t)(at * (double)((len - head) * 8));
    packet[head + bit / 8] ^= (unsigned char)(1U << (bit % 8));
}

static void push_copy(struct direction *d, const void *packet, size_t len, int64_t depart_ns)
{
    uint32_t slot = tl_lab_schedule_take(&d->schedule);
    if (slot == UINT32_MAX) {
        count_drop(d, TL_LAB_DROP_EMULATOR);
        return;
    }
    memcpy(tl_lab_schedule_memory(&d->schedule, slot), packet, len);
    tl_lab_schedule_push(&d->schedule, slot, (uint32_t)len, depart_ns);
    tl_lab_count(&d->live->duplicated, 1);
}

static void mark(struct direction *d, unsigned char *packet, size_t len)
{
    tl_lab_mangle_mark(packet, len);
    tl_lab_count(&d->live->marked, 1);
}

/* On its way, at a time that is known. */
static void send_off(struct direction *d, uint32_t slot, size_t len, const struct tl_lab_fate *fate)
{
    tl_lab_count(&d->live->reordered, fate->reordered);
    tl_lab_schedule_push(&d->schedule, slot, (uint32_t)len, fate->depart_ns);
    if (fate->duplicated)
        push_copy(d, tl_lab_schedule_memory(&d->schedule, slot), len, fate->depart_ns);
}

/* Those that waited and whose time is known now. */
static void serve(struct direction *d, struct tl_lab_model *model, int64_t now_ns)
{
    uint32_t slot, len;
    struct tl_lab_fate fate;
    while (tl_lab_model_serve(model, now_ns, &slot, &len, &fate)) {
        if (fate.drop != TL_LAB_DROP_NONE) {
            count_drop(d, fate.drop);
            tl_lab_schedule_release(&d->schedule, slot);
            continue;
        }
        if (fate.marked)
            mark(d, tl_lab_schedule_memory(&d->schedule, slot), len);
        send_off(d, slot, len, &fate);
    }
}

static void serve_all(struct direction *d, int64_t now_ns)
{
    serve(d, &d->model, now_ns);
    if (d->v6)
        serve(d, d->v6, now_ns);
}

/* Asks the model of the packet's family for its fate. */
static struct tl_lab_fate fate_of(struct direction *d, uint32_t slot, const unsigned char *packet,
                                  size_t len, const struct tl_lab_model **ret_model)
{
    struct tl_lab_model *model = d->v6 && packet[0] >> 4 == 6 ? d->v6 : &d->model;
    struct tl_lab_flow flow;
    if (d->by_flow)
        flow = tl_lab_flow_read(packet, len, d->direction);
    *ret_model = model;
    int64_t now_ns = tl_now_ns();
    serve(d, model, now_ns);
    return tl_lab_model_pass(model, now_ns, (uint32_t)len, d->by_flow ? &flow : NULL, slot);
}

/* Decides about the packet in a taken slot: in line, or released. */
static void admit(struct direction *d, uint32_t slot, size_t len)
{
    unsigned char *packet = tl_lab_schedule_memory(&d->schedule, slot);
    if (is_link_chatter(packet, len)) {
        tl_lab_schedule_release(&d->schedule, slot);
        return;
    }
    tl_lab_count(&d->live->in_packets, 1);
    tl_lab_count(&d->live->in_bytes, len);
    const struct tl_lab_model *model;
    struct tl_lab_fate fate = fate_of(d, slot, packet, len, &model);
    if (fate.drop != TL_LAB_DROP_NONE) {
        count_drop(d, fate.drop);
        tl_lab_schedule_release(&d->schedule, slot);
        return;
    }
    if (fate.backlog_bytes > (double)atomic_load(&d->live->queue_peak_bytes))
        atomic_store(&d->live->queue_peak_bytes, (uint64_t)fate.backlog_bytes);
    if (tl_lab_mangles(&model->link))
        tl_lab_mangle(packet, len, &model->link);
    if (fate.corrupt_at >= 0) {
        flip_bit(packet, len, fate.corrupt_at);
        tl_lab_count(&d->live->corrupted, 1);
    }
    if (fate.waits && fate.marked)
        mark(d, packet, len);
    if (!fate.waits)
        send_off(d, slot, len, &fate);
}

/* What the models learn from outside: the mark, and what the other direction does. */
static void inform(struct direction *d)
{
    d->model.mark_ns = atomic_load_explicit(&d->shared->mark_ns, memory_order_relaxed);
    if (d->v6)
        d->v6->mark_ns = d->model.mark_ns;
    if (d->collides)
        d->model.other_free_ns =
            atomic_load_explicit(&d->other->link_free_ns, memory_order_relaxed);
}

/* Takes in what waits, up to a batch; returns how many. */
static unsigned intake(struct direction *d)
{
    unsigned char overflow[1];
    inform(d);
    for (unsigned n = 0; n < INTAKE_BATCH; n++) {
        uint32_t slot = tl_lab_schedule_take(&d->schedule);
        if (slot == UINT32_MAX) {
            /* No memory left: read it away, or the port would stay ready for ever. */
            if (tl_lab_port_receive(d->in, overflow, sizeof overflow) == 0)
                return n;
            count_drop(d, TL_LAB_DROP_EMULATOR);
            continue;
        }
        size_t len =
            tl_lab_port_receive(d->in, tl_lab_schedule_memory(&d->schedule, slot), d->packet_max);
        if (len == 0) {
            tl_lab_schedule_release(&d->schedule, slot);
            return n;
        }
        admit(d, slot, len);
    }
    return INTAKE_BATCH;
}

static void send_batch(struct direction *d, const struct tl_lab_entry *entries, unsigned count)
{
    struct iovec packets[TL_LAB_PORT_BATCH];
    size_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        packets[i].iov_base = tl_lab_schedule_memory(&d->schedule, entries[i].slot);
        packets[i].iov_len = entries[i].len_bytes;
        bytes += entries[i].len_bytes;
    }
    int64_t now_ns = tl_now_ns();
    for (unsigned i = 0; i < count; i++)
        tl_lab_live_delay_error(d->live, now_ns - entries[i].depart_ns);
    unsigned sent = tl_lab_port_send(d->out, packets, count);
    tl_lab_count(&d->live->out_packets, sent);
    tl_lab_count(&d->live->out_bytes, bytes);
    if (sent < count)
        tl_lab_count(&d->live->drops[TL_LAB_DROP_EMULATOR], count - sent);
    for (unsigned i = 0; i < count; i++)
        tl_lab_schedule_release(&d->schedule, entries[i].slot);
}

/* Sends one batch of what is due; returns how many. */
static unsigned deliver(struct direction *d)
{
    struct tl_lab_entry due[TL_LAB_PORT_BATCH];
    unsigned count = 0;
    int64_t until_ns = tl_now_ns() + EARLY_NS;
    while (count < TL_LAB_PORT_BATCH && tl_lab_schedule_next_ns(&d->schedule) <= until_ns)
        due[count++] = tl_lab_schedule_pop(&d->schedule);
    if (count)
        send_batch(d, due, count);
    return count;
}

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){ns / TL_NS_PER_S, ns % TL_NS_PER_S};
}

/* When a packet is due, a little earlier, or the link turns to one. */
static int64_t next_event_ns(const struct direction *d)
{
    int64_t due_ns = tl_lab_schedule_next_ns(&d->schedule);
    int64_t turn_ns = tl_lab_model_next_ns(&d->model);
    int64_t v6_ns = d->v6 ? tl_lab_model_next_ns(d->v6) : INT64_MAX;
    if (due_ns != INT64_MAX)
        due_ns -= EARLY_NS;
    turn_ns = turn_ns < v6_ns ? turn_ns : v6_ns;
    return due_ns < turn_ns ? due_ns : turn_ns;
}

/* Sleeps until a packet comes in or one is due; returns the time of waking. */
static int64_t wait_for_work(struct direction *d, int64_t woke_ns)
{
    int64_t now_ns = tl_now_ns();
    if (now_ns < woke_ns + QUANTUM_NS) {
        struct timespec until = timespec_of(woke_ns + QUANTUM_NS);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        now_ns = tl_now_ns();
    }
    int64_t next_ns = next_event_ns(d);
    struct pollfd in = {.fd = d->in->fd, .events = POLLIN};
    struct timespec timeout = timespec_of(next_ns > now_ns ? next_ns - now_ns : 0);
    ppoll(&in, 1, next_ns == INT64_MAX ? NULL : &timeout, NULL);
    return tl_now_ns();
}

static void *direction_main(void *argument)
{
    struct direction *d = argument;
    prctl(PR_SET_TIMERSLACK, 1UL);
    int64_t woke_ns = tl_now_ns();
    for (;;) {
        unsigned in = intake(d);
        serve_all(d, tl_now_ns());
        if (d->collides)
            atomic_store_explicit(&d->live->link_free_ns, d->model.link_free_ns,
                                  memory_order_relaxed);
        unsigned out = deliver(d);
        if (in < INTAKE_BATCH && out < TL_LAB_PORT_BATCH)
            woke_ns = wait_for_work(d, woke_ns);
    }
    return NULL;
}

static uint32_t slots_needed(const struct tl_lab_link_config *link, int64_t queue_bytes)
{
    if (link->rate_bps <= 0)
        return SLOTS_UNLIMITED;
    int64_t longest_ns = link->delay_ns + link->jitter_ns + link->scatter_ns + link->wander_ns +
                         link->grant_most_ns + link->reorder_extra_ns;
    for (int i = 0; i < link->delay_step_count; i++)
        if (link->delay_step[i].extra_ns > 0)
            longest_ns += link->delay_step[i].extra_ns;
    double under_way = tl_bytes_from_bps_ns(link->rate_bps, (double)longest_ns);
    double slots = SLOTS_MIN + (under_way + 2 * (double)queue_bytes) / SLOT_MEAN_BYTES;
    return slots < SLOTS_MAX ? (uint32_t)slots : SLOTS_MAX;
}

/* The models of a direction: one, or one for each family. */
static enum tl_status init_models(struct direction *d, const struct tl_lab_config *config, int at,
                                  uint32_t *ret_slots, struct tl_error *reterr)
{
    int64_t queue_bytes = 0;
    bool is_main = at == tl_lab_main_link(config);
    bool v6_apart = is_main && config->v6_apart;
    const struct tl_lab_link_config *link = tl_lab_link_at(config, at, d->direction, &queue_bytes);
    const struct tl_lab_link_config *v6 = &config->v6[d->direction];
    int64_t v6_queue_bytes = tl_lab_v6_queue_bytes(config, d->direction);
    *ret_slots =
        slots_needed(link, queue_bytes) + (v6_apart ? slots_needed(v6, v6_queue_bytes) : 0);
    enum tl_status status = tl_lab_model_init(&d->model, link, queue_bytes, *ret_slots, reterr);
    if (status != TL_OK)
        return status;
    if (v6_apart) {
        d->v6 = calloc(1, sizeof *d->v6);
        if (!d->v6)
            return tl_error_set(reterr, TL_NOMEM, "no memory for the link emulator");
        status = tl_lab_model_init(d->v6, v6, v6_queue_bytes, *ret_slots, reterr);
        if (status != TL_OK)
            return status;
        d->v6->icmp_filtered = config->silent;
    }
    d->model.icmp_filtered = is_main && config->silent;
    d->collides = link->collision_ratio > 0;
    d->by_flow = d->model.by_flow || (d->v6 && d->v6->by_flow) || d->model.icmp_filtered;
    return TL_OK;
}

static enum tl_status start_direction(const struct tl_lab_config *config, int at,
                                      enum tl_lab_direction direction, struct tl_lab_ports *ports,
                                      struct tl_lab_shared *shared, struct tl_error *reterr)
{
    struct direction *d = calloc(1, sizeof *d);
    if (!d)
        return tl_error_set(reterr, TL_NOMEM, "no memory for the link emulator");
    bool up = direction == TL_LAB_UP;
    uint32_t slots = 0;
    d->direction = direction;
    d->in = &ports->port[up ? TL_LAB_NEAR : TL_LAB_FAR];
    d->out = &ports->port[up ? TL_LAB_FAR : TL_LAB_NEAR];
    d->shared = shared;
    d->live = &shared->live[at][direction];
    d->other = &shared->live[at][up ? TL_LAB_DOWN : TL_LAB_UP];
    d->packet_max = ports->packet_max + 64;
    size_t slot_size = (d->packet_max + 127) / 128 * 128;
    enum tl_status status = init_models(d, config, at, &slots, reterr);
    if (status == TL_OK && d->model.link.half_duplex)
        d->model.medium_free_ns = &shared->medium_free_ns[at];
    if (status == TL_OK && tl_lab_schedule_init(&d->schedule, slots, slot_size) != TL_OK)
        status = tl_error_set(reterr, TL_NOMEM, "no memory for the link emulator's packets");
    if (status == TL_OK && tl_thread_start(NULL, direction_main, d) != 0)
        status = tl_error_set(reterr, TL_NOMEM, "cannot start the link emulator's thread");
    if (status == TL_OK)
        return TL_OK;
    tl_lab_schedule_finish(&d->schedule);
    tl_lab_model_finish(&d->model);
    if (d->v6)
        tl_lab_model_finish(d->v6);
    free(d->v6);
    free(d);
    return status;
}

/* Better timing where it is permitted; nothing depends on it. The threads that follow inherit
 * it. They sleep most of the time, and the kernel keeps 5 % for others (sched(7)). */
static void raise_priority(void)
{
    struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};
    if (sched_setscheduler(0, SCHED_RR, &lowest) != 0)
        (void)setpriority(PRIO_PROCESS, 0, -10);
}

enum tl_status tl_lab_emulator_start(const struct tl_lab_config *config, int at,
                                     struct tl_lab_ports *ports, struct tl_lab_shared *shared,
                                     struct tl_error *reterr)
{
    raise_priority();
    enum tl_status status = start_direction(config, at, TL_LAB_UP, ports, shared, reterr);
    return status == TL_OK ? start_direction(config, at, TL_LAB_DOWN, ports, shared, reterr)
                           : status;
}
