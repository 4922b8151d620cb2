/* Captures at three places: what offload joins, what the snap length cuts, what was dropped. */
#include <string.h>

#include "model.h"

#define BEGIN_S 1700000000
#define JOIN_NS INT64_C(30000) /* what comes within is one read of the card's ring */

static void put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
    put16(at, value >> 16);
    put16(at + 2, value & 0xffff);
}

static size_t put_options(uint8_t *at, const struct model_packet *packet)
{
    size_t len = 0;
    if (packet->flags & 2) {
        static const uint8_t options[] = {2, 4, 0x05, 0xb4, 4, 2, 3, 3, 7, 1};
        memcpy(at, options, sizeof options);
        len = sizeof options;
        at[len++] = 1;
        at[len++] = 1;
    } else {
        at[len++] = 1;
        at[len++] = 1;
    }
    at[len++] = 8;
    at[len++] = 10;
    put32(at + len, packet->tsval + 777);
    put32(at + len + 4, packet->tsecr ? packet->tsecr + 777 : 0);
    len += 8;
    if (packet->sack_count) {
        at[len++] = 1;
        at[len++] = 1;
        at[len++] = 5;
        at[len++] = (uint8_t)(2 + 8 * packet->sack_count);
        for (int i = 0; i < packet->sack_count; i++, len += 8) {
            put32(at + len, (uint32_t)packet->sacks[i][0] + FIRST_SEQ + 1);
            put32(at + len + 4, (uint32_t)packet->sacks[i][1] + FIRST_SEQ + 1);
        }
    }
    while (len % 4)
        at[len++] = 0;
    return len;
}

/* Ethernet, IPv4 and TCP; returns the length of the headers. */
static size_t build(const struct model_packet *packet, uint8_t *frame)
{
    memset(frame, 0, 160);
    bool syn = packet->flags & 2;
    uint8_t *ip = frame + 14, *tcp = ip + 20;
    size_t options = put_options(tcp + 20, packet);
    put16(frame + 12, 0x0800);
    ip[0] = 0x45;
    ip[1] = packet->ce ? 3 : packet->ect ? 2 : 0;
    put16(ip + 2, (unsigned)(40 + options + packet->len));
    put16(ip + 4, packet->id);
    ip[6] = 0x40;
    ip[8] = 64;
    ip[9] = 6;
    put32(ip + 12, packet->data ? 0xc0000201 : 0xc6336407);
    put32(ip + 16, packet->data ? 0xc6336407 : 0xc0000201);
    put16(tcp, packet->data ? 43210 : 5001);
    put16(tcp + 2, packet->data ? 5001 : 43210);
    uint32_t own = (uint32_t)(packet->data ? packet->seq : 0) + FIRST_SEQ + (syn ? 0 : 1);
    put32(tcp + 4, own);
    bool acks = packet->flags & 0x10;
    put32(tcp + 8, acks ? (uint32_t)(packet->data ? 0 : packet->ack) + FIRST_SEQ + 1 : 0);
    tcp[12] = (uint8_t)((20 + options) / 4 << 4);
    tcp[13] = packet->flags;
    uint64_t window = packet->data || syn ? 65535 : packet->window >> 7;
    put16(tcp + 14, window < 65535 ? (unsigned)window : 65535);
    put16(tcp + 16, packet->id * 40503u & 0xffff);
    return 34 + 20 + options;
}

static void write_packet(struct model *model, struct model_tap *tap,
                         const struct model_packet *packet, int64_t time_ns)
{
    const struct model_spec *spec = &model->spec;
    bool left_out = (double)time_ns < spec->skip_seconds * NS_PER_S ||
                    (spec->one_way == 1 && !packet->data) || (spec->one_way == 2 && packet->data) ||
                    (spec->drop_ratio > 0 && model_chance(model) < spec->drop_ratio);
    if (left_out)
        return;
    uint8_t frame[256];
    size_t headers = build(packet, frame), len = headers + packet->len;
    size_t snap = spec->snap_bytes < (double)headers ? (size_t)spec->snap_bytes : headers;
    uint32_t record[4] = {(uint32_t)(BEGIN_S + time_ns / 1000000000),
                          (uint32_t)(time_ns % 1000000000), (uint32_t)snap, (uint32_t)len};
    fwrite(record, sizeof record, 1, tap->file);
    fwrite(frame, snap, 1, tap->file);
    tap->packets_count++;
}

static void flush(struct model *model, struct model_tap *tap)
{
    if (tap->held_count)
        write_packet(model, tap, &tap->held, tap->held_ns);
    tap->held_count = 0;
}

/* Whether offload makes one packet of the held one and this. */
static bool joins(const struct model *model, int tap_index, const struct model_packet *packet)
{
    const struct model_tap *tap = &model->taps[tap_index];
    double most = tap_index == 0 ? model->spec.tso : tap_index == 2 ? model->spec.gro : 1;
    return tap->held_count > 0 && packet->data && tap->held_count < most &&
           tap->held.seq + tap->held.len == packet->seq && tap->held.tsval == packet->tsval &&
           tap->held.ce == packet->ce && packet->len == MSS && tap->held.len % MSS == 0 &&
           model->now_ns - tap->held_ns <= (tap_index == 0 ? 0 : JOIN_NS);
}

void tap_see(struct model *model, int tap_index, const struct model_packet *packet)
{
    struct model_tap *tap = &model->taps[tap_index];
    if (joins(model, tap_index, packet)) {
        tap->held.len += packet->len;
        tap->held_count++;
        tap->held_ns = model->now_ns;
        return;
    }
    flush(model, tap);
    if (packet->data && packet->len > 0 && tap_index != 1) {
        tap->held = *packet;
        tap->held_count = 1;
        tap->held_ns = model->now_ns;
    } else {
        write_packet(model, tap, packet, model->now_ns);
    }
}

bool tap_open(struct model *model, const char *directory)
{
    static const char *const names[TAPS] = {"near", "middle", "far"};
    for (int i = 0; i < TAPS; i++) {
        char path[1024];
        uint32_t snap = (uint32_t)model->spec.snap_bytes;
        uint32_t head[6] = {0xa1b23c4d, 4u << 16 | 2, 0, 0, snap < 262144 ? snap : 262144, 1};
        head[1] = 2 | 4u << 16;
        snprintf(path, sizeof path, "%s/%s.pcap", directory, names[i]);
        model->taps[i].file = fopen(path, "wb");
        if (!model->taps[i].file || fwrite(head, sizeof head, 1, model->taps[i].file) != 1)
            return false;
    }
    return true;
}

bool tap_close(struct model *model)
{
    bool good = true;
    for (int i = 0; i < TAPS; i++) {
        flush(model, &model->taps[i]);
        good &= !ferror(model->taps[i].file);
        good &= fclose(model->taps[i].file) == 0;
    }
    return good;
}
