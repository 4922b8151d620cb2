/* Captures of one modelled transfer at three places: simulate DIRECTORY [KEY=NUMBER...]
 *
 * DIRECTORY gets near.pcap, middle.pcap and far.pcap; what the sender's own account says goes to
 * standard output as JSON. The keys are the fields of struct model_spec. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

static const struct key {
    const char *name;
    size_t offset;
} keys[] = {
#define KEY(name)                                                                                  \
    {                                                                                              \
#name, offsetof(struct model_spec, name)                                                   \
    }
    KEY(seed),          KEY(seconds),    KEY(delay_ms),     KEY(middle_share),
    KEY(nic_mbps),      KEY(jitter_ms),  KEY(link_mbps),    KEY(queue_kb),
    KEY(codel_ms),      KEY(ecn),        KEY(others_ratio), KEY(police_mbps),
    KEY(bucket_kb),     KEY(loss_ratio), KEY(burst_ratio),  KEY(burst_count),
    KEY(reorder_ratio), KEY(reorder_ms), KEY(hole_bytes),   KEY(syn_lost_count),
    KEY(reno),          KEY(ecn_sender), KEY(sndbuf_kb),    KEY(write_kb),
    KEY(write_gap_ms),  KEY(tso),        KEY(rcvbuf_kb),    KEY(read_kb),
    KEY(read_gap_ms),   KEY(gro),        KEY(snap_bytes),   KEY(drop_ratio),
    KEY(skip_seconds),  KEY(one_way),
#undef KEY
};

static bool take(struct model_spec *spec, const char *text)
{
    const char *equals = strchr(text, '=');
    for (size_t i = 0; equals && i < sizeof keys / sizeof *keys; i++) {
        size_t len = (size_t)(equals - text);
        if (strlen(keys[i].name) != len || strncmp(keys[i].name, text, len) != 0)
            continue;
        double value = strtod(equals + 1, NULL);
        memcpy((char *)spec + keys[i].offset, &value, sizeof value);
        return true;
    }
    return false;
}

static void syn(struct model *model, bool answer)
{
    struct model_packet packet = {.data = !answer,
                                  .flags = answer ? 0x12 : 0x02,
                                  .tsval = (uint32_t)(model->now_ns / 1000000),
                                  .id = ++model->next_id};
    for (int i = 0; i < TAPS; i++) { /* in the order of the way, with its delays */
        int tap = answer ? TAPS - 1 - i : i;
        int64_t begin_ns = model->now_ns;
        double share = answer ? (i == 0   ? 0
                                 : i == 1 ? 1 - model->spec.middle_share
                                          : 1)
                              : (i == 0   ? 0
                                 : i == 1 ? model->spec.middle_share
                                          : 1);
        model->now_ns += (int64_t)(model->spec.delay_ms * 1e6 * share);
        tap_see(model, tap, &packet);
        model->now_ns = begin_ns;
    }
}

/* Handshake: each end's SYN, the first ones lost; the third packet. */
static void shake(struct model *model)
{
    int64_t way_ns = (int64_t)(model->spec.delay_ms * 1e6), wait_ns = 1000000000;
    for (int i = 0; i < (int)model->spec.syn_lost_count; i++, wait_ns *= 2) {
        struct model_packet packet = {.data = true, .flags = 2, .id = ++model->next_id};
        tap_see(model, 0, &packet);
        model->now_ns += wait_ns;
    }
    syn(model, false);
    model->now_ns += way_ns;
    syn(model, true);
    model->now_ns += way_ns;
    struct model_packet third = {.data = true,
                                 .flags = 0x10,
                                 .id = ++model->next_id,
                                 .tsval = (uint32_t)(model->now_ns / 1000000),
                                 .tsecr = (uint32_t)((model->now_ns - way_ns) / 1000000)};
    model->sender.tsrecent = third.tsecr;
    tap_see(model, 0, &third);
}

static void happen(struct model *model, enum model_event_kind kind, struct model_packet *packet)
{
    switch (kind) {
    case EVENT_AT_MIDDLE:
        tap_see(model, 1, packet);
        path_trouble(model, packet);
        break;
    case EVENT_AT_FAR:
        tap_see(model, 2, packet);
        receiver_data(model, packet);
        break;
    case EVENT_OTHERS:
        path_others(model);
        break;
    case EVENT_ACK_MIDDLE:
        tap_see(model, 1, packet);
        model_at(model,
                 model->now_ns + (int64_t)(model->spec.delay_ms * 1e6 * model->spec.middle_share),
                 EVENT_ACK_NEAR, packet);
        break;
    case EVENT_ACK_NEAR:
        tap_see(model, 0, packet);
        sender_ack(model, packet);
        break;
    case EVENT_WRITE:
        sender_write(model);
        break;
    case EVENT_READ:
        receiver_read(model);
        break;
    case EVENT_DELAYED_ACK:
        receiver_timer(model);
        break;
    case EVENT_TIMEOUT:
        sender_timeout(model);
        break;
    }
}

static void tell(const struct model *model)
{
    const struct model_sender *sender = &model->sender;
    double total = 0;
    for (int i = 0; i < 4; i++)
        total += sender->held_ns[i];
    printf("{\"goodput_bps\": %.0f, \"retrans_count\": %llu, \"loss_events\": %llu, "
           "\"timeouts\": %llu, \"dropped\": %llu, \"rtt_min_ns\": %.0f, \"app\": %.4f, "
           "\"sndbuf\": %.4f, \"rwnd\": %.4f, \"network\": %.4f}\n",
           (double)sender->una * 8e9 / (double)model->now_ns,
           (unsigned long long)sender->again_count, (unsigned long long)sender->events_count,
           (unsigned long long)sender->timeouts_count,
           (unsigned long long)model->path.dropped_count,
           isfinite(sender->rtt_min_ns) ? sender->rtt_min_ns : 0.0, sender->held_ns[0] / total,
           sender->held_ns[1] / total, sender->held_ns[2] / total, sender->held_ns[3] / total);
}

static void run(struct model *model)
{
    enum model_event_kind kind;
    struct model_packet packet;
    while ((double)model->now_ns < model->spec.seconds * NS_PER_S &&
           model_next(model, &kind, &packet))
        happen(model, kind, &packet);
}

int main(int argc, char **argv)
{
    static struct model model;
    model.spec = (struct model_spec){.seed = 1,
                                     .seconds = 8,
                                     .delay_ms = 20,
                                     .middle_share = 0.5,
                                     .nic_mbps = 1000,
                                     .queue_kb = 200,
                                     .sndbuf_kb = 6000,
                                     .rcvbuf_kb = 6144,
                                     .tso = 10,
                                     .gro = 10,
                                     .snap_bytes = 96,
                                     .bucket_kb = 100,
                                     .burst_count = 8};
    for (int i = 2; i < argc; i++)
        if (!take(&model.spec, argv[i])) {
            fprintf(stderr, "what is %s?\n", argv[i]);
            return 2;
        }
    if (argc < 2 || !tap_open(&model, argv[1])) {
        fprintf(stderr, "usage: simulate DIRECTORY [KEY=NUMBER...]\n");
        return 2;
    }
    model.random = 88172645463325252u + (uint64_t)(model.spec.seed * 7919);
    shake(&model);
    receiver_begin(&model);
    sender_begin(&model);
    if (model.spec.others_ratio > 0)
        model_at(&model, model.now_ns, EVENT_OTHERS, NULL);
    run(&model);
    tell(&model);
    bool good = tap_close(&model);
    free(model.events);
    free(model.sender.segments);
    return good ? 0 : 1;
}
