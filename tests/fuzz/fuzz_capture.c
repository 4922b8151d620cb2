/* A capture file from its first byte to its last segment. The first byte of an input chooses the
 * kind of file; the rest is a file of that kind, so that mutations go into packets and blocks. */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "build.h"
#include "tightlink/flow/aggregate.h"
#include "tightlink/flow/limits.h"

unsigned long fuzz_accepted;

/* One memory file for all inputs. */
static const char *write_file(const uint8_t *bytes, size_t size)
{
    static char path[64];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("capture", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    MUST(fd >= 0 && ftruncate(fd, 0) == 0);
    MUST(pwrite(fd, bytes, size, 0) == (ssize_t)size);
    return path;
}

/* What decoding may say of any bytes. */
static void look_at(const struct tl_packet *packet, struct tl_packets *packets)
{
    static struct tl_decoder decoder;
    struct tl_segment segment;
    uint8_t *copy = malloc(packet->captured_bytes ? packet->captured_bytes : 1);
    MUST(copy && packet->length_bytes >= packet->captured_bytes);
    memcpy(copy, packet->data, packet->captured_bytes);
    struct tl_packet alone = *packet;
    alone.data = copy;
    enum tl_decoded decoded = tl_decode(&decoder, &alone, &segment);
    MUST(decoded <= TL_DECODED_LINK_TYPE);
    if (decoded == TL_DECODED_TCP) {
        MUST(segment.sack_count <= TL_SEGMENT_SACKS_MAX);
        MUST(tl_packets_add(packets, &segment, tl_packets_hash(&segment)) == TL_OK);
        fuzz_accepted++;
    }
    if (decoded == TL_DECODED_TOO_BIG)
        tl_packets_add_too_big(packets, &segment, &decoder.too_big);
    free(copy);
}

/* What any connection may say of itself. */
static void conclude(struct tl_packets *packets)
{
    struct tl_packet_brief brief;
    tl_packets_finish(packets);
    for (size_t i = 0; tl_packets_at(packets, i, &brief); i++) {
        struct tl_packet_ledger ledger;
        struct tl_packet_policer policer;
        struct tl_packet_loss_rank rank;
        struct tl_packet_aggregate aggregate;
        MUST(brief.flow);
        int sender = tl_packet_sender(brief.flow);
        tl_packet_ledger(brief.flow, sender, &ledger);
        double sum =
            ledger.app_ratio + ledger.sndbuf_ratio + ledger.rwnd_ratio + ledger.network_ratio;
        MUST(!ledger.known || (sum > 0.999 && sum < 1.001));
        tl_packet_policer(&brief.flow->halves[sender], &policer);
        tl_packet_loss_rank(&brief.flow->halves[sender], &rank);
        const struct tl_packet_half *half = &brief.flow->halves[sender];
        tl_packet_aggregate(packets, brief.flow, sender, half->first_data_ns, half->last_data_ns,
                            &aggregate);
        MUST(!(aggregate.swing_ratio < 0) && !(aggregate.compensation_ratio < 0));
        MUST(!(policer.fit_ratio < 0) && !(policer.fit_ratio > 1));
        MUST(!(rank.rank_ratio < 0) && !(rank.rank_ratio > 1));
    }
    tl_packets_destroy(packets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tl_capture *capture;
    struct tl_packet packet;
    struct tl_error error = {0};
    if (size == 0 || tl_capture_open(write_file(data + 1, size - 1), &capture, &error) != TL_OK)
        return 0;
    struct tl_packets *packets = tl_packets_create();
    MUST(packets);
    enum tl_status status;
    while ((status = tl_capture_next(capture, &packet, &error)) == TL_OK)
        look_at(&packet, packets);
    conclude(packets);
    MUST(status == TL_CLOSED || error.text[0]);
    struct tl_capture_info info;
    tl_capture_info(capture, &info);
    MUST(info.offset_bytes <= size * 2000);
    tl_capture_close(capture);
    return 0;
}

/* --- Seeds: each link layer in either format ------------------------------------------------ */

static const struct {
    uint16_t link_type;
    const char *before;
} layers[] = {
    {1, "2 0 0 0 0 1 2 0 0 0 0 2 08 00"},
    {1, "2 0 0 0 0 1 2 0 0 0 0 2 81 00 0 5 88 47 0 1 0 40 0 2 1 40"},
    {1, "2 0 0 0 0 1 2 0 0 0 0 2 88 64 11 0 0 1 1 5a 0 21"},
    {113, "0 4 0 1 0 6 2 0 0 0 0 1 0 0 08 00"},
    {276, "08 00 0 0 0 0 0 1 0 1 4 6 2 0 0 0 0 1 0 0"},
    {101, ""},
    {0, "2 0 0 0"},
    {101, "45 0 1 0 0 1 40 0 40 2f 0 0 1 1 1 1 2 2 2 2 30 0 08 00 1 2 3 4 5 6 7 8"},
    {101, "45 0 1 0 0 1 40 0 40 11 0 0 1 1 1 1 2 2 2 2 1 2 12 b5 0 0 0 0 8 0 0 0 0 0 1 0 "
          "2 0 0 0 0 1 2 0 0 0 0 2 08 00"},
};

const unsigned fuzz_seed_count = 2 * sizeof layers / sizeof *layers + 1;

/* A conversation with a loss, selective acknowledgements, a duplicate and a closed window, so that
 * mutations of numbers and options go through the whole account. */
static struct build_segment spoken(uint32_t i)
{
    bool server = i == 1 || (i >= 3 && i % 3 != 2), data = i >= 3 && server;
    uint32_t seq = 1000 + (i / 3 * 2 + i % 3) * 1000;
    return (struct build_segment){.time_ns = 1000000000 + i * 7000000,
                                  .from = server ? 2 : 1,
                                  .to = server ? 1 : 2,
                                  .from_port = server ? 443 : 4000,
                                  .to_port = server ? 4000 : 443,
                                  .ip_id = (uint16_t)i,
                                  .seq = !data     ? 500
                                         : i == 19 ? seq - 6000
                                                   : seq,
                                  .ack = data ? 500 : seq - 2000,
                                  .payload_bytes = data ? 1000 : 0,
                                  .flags = i == 0   ? 2
                                           : i == 1 ? 0x12
                                                    : 0x10,
                                  .window = i == 29 ? 0 : 500,
                                  .wscale = i < 2 ? 7 : -1,
                                  .mss_bytes = i < 2 ? 1000 : 0,
                                  .sack_permitted = i < 2,
                                  .timestamps = true,
                                  .tsval = i / 2,
                                  .tsecr = i / 3,
                                  .sack_count = i == 14 || i == 17,
                                  .sacks = {{seq - 1000, seq}}};
}

static void seed_conversation(struct tl_buf *file)
{
    build_pcap_begin(file, 1);
    for (uint32_t i = 0; i < 36; i++) {
        struct build_segment segment = spoken(i);
        build_pcap_segment(file, &segment, 96);
    }
}

static void seed_pcapng(struct tl_buf *file, const struct tl_buf *packet, uint16_t link_type)
{
    uint32_t head[5] = {0, 0, 7, (uint32_t)packet->len, (uint32_t)packet->len};
    struct tl_buf body = TL_BUF_INIT;
    tl_buf_add(&body, head, sizeof head);
    tl_buf_add(&body, packet->data, packet->len);
    build_pcapng_begin(file, link_type);
    build_pcapng_block(file, 6, body.data, body.len);
    build_pcapng_block(file, 6, body.data, body.len);
    tl_buf_finish(&body);
}

static void seed_layer(struct tl_buf *file, unsigned layer, bool pcapng)
{
    struct tl_buf packet = TL_BUF_INIT;
    struct build_segment segment = {.from = 1,
                                    .to = 2,
                                    .from_port = 80,
                                    .to_port = 99,
                                    .seq = 1,
                                    .ack = 2,
                                    .payload_bytes = 40,
                                    .flags = 0x18,
                                    .wscale = 7,
                                    .mss_bytes = 1460,
                                    .timestamps = true,
                                    .tsval = 3,
                                    .sack_count = 1,
                                    .v6 = layer == 5};
    build_bytes(&packet, layers[layer].before);
    build_ip(&packet, &segment);
    if (pcapng) {
        seed_pcapng(file, &packet, layers[layer].link_type);
    } else {
        build_pcap_begin(file, layers[layer].link_type);
        build_pcap_record(file, 5, packet.data, packet.len, packet.len);
        build_pcap_record(file, 6, packet.data, packet.len - 7, packet.len);
    }
    tl_buf_finish(&packet);
}

size_t fuzz_seed(unsigned number, uint8_t *bytes)
{
    struct tl_buf file = TL_BUF_INIT;
    if (number + 1 == fuzz_seed_count)
        seed_conversation(&file);
    else
        seed_layer(&file, number / 2, number % 2);
    MUST(file.len < FUZZ_INPUT_MAX);
    bytes[0] = 0;
    memcpy(bytes + 1, file.data, file.len);
    size_t len = file.len + 1;
    tl_buf_finish(&file);
    return len;
}
