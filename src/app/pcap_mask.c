/* A capture that may leave this machine: written anew from what the analysis reads of each packet,
 * so that nothing else can be in it. Link layers, tunnels and payload are gone; addresses are
 * numbered as they come. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "tightlink/app/pcap.h"
#include "tightlink/flow/segment.h"

#define LINK_RAW      101u        /* an IP packet, nothing before it */
#define MAGIC_NS      0xa1b23c4du /* times in ns, in this machine's byte order */
#define ADDRESSES_MAX (1u << 20)  /* of one capture; the table of them takes 40 MB then */
#define OPTIONS_MAX   40u
#define PACKET_MAX    160u
#define NS_PER_S      1000000000

/* Addresses by the number that they got; open addressing, room a power of two. */
struct numbers {
    struct tl_flow_address *addresses; /* of number 1 on */
    uint32_t *slots;                   /* numbers; 0 free */
    uint32_t count, room;
};

struct mask {
    FILE *file;
    struct numbers numbers;
    uint16_t checksums[65536]; /* by chance: a checksum of known fields would tell the addresses */
    struct tl_app_pcap_masked *counts;
};

/* --- addresses --- */

static uint32_t hash_of(const struct tl_flow_address *address)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < sizeof address->bytes; i++)
        hash = (hash ^ address->bytes[i]) * 16777619u;
    return hash ^ hash >> 15;
}

static uint32_t *slot_of(const struct numbers *numbers, const struct tl_flow_address *address)
{
    uint32_t at = hash_of(address) & (numbers->room - 1);
    while (numbers->slots[at] &&
           memcmp(&numbers->addresses[numbers->slots[at] - 1], address, sizeof *address) != 0)
        at = (at + 1) & (numbers->room - 1);
    return &numbers->slots[at];
}

static bool grow(struct numbers *numbers)
{
    uint32_t room = numbers->room ? numbers->room * 2 : 64;
    uint32_t *slots = calloc(room, sizeof *slots);
    struct tl_flow_address *addresses =
        slots ? realloc(numbers->addresses, room / 2 * sizeof *addresses) : NULL;
    if (!addresses) {
        free(slots);
        return false;
    }
    free(numbers->slots);
    *numbers = (struct numbers){addresses, slots, numbers->count, room};
    for (uint32_t i = 0; i < numbers->count; i++)
        *slot_of(numbers, &addresses[i]) = i + 1;
    return true;
}

/* 0: out of memory, or more than that many. */
static uint32_t number_of(struct numbers *numbers, const struct tl_flow_address *address)
{
    if (2 * numbers->count >= numbers->room && !grow(numbers))
        return 0;
    uint32_t *slot = slot_of(numbers, address);
    if (!*slot && numbers->count < ADDRESSES_MAX) {
        numbers->addresses[numbers->count++] = *address;
        *slot = numbers->count;
    }
    return *slot;
}

/* --- packets, big-endian --- */

static uint8_t *put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
    return at + 2;
}

static uint8_t *put32(uint8_t *at, uint32_t value)
{
    return put16(put16(at, value >> 16), value);
}

/* 10.0.0.1 or fd00::1 and so on. */
static uint8_t *put_address(uint8_t *at, bool v4, uint32_t number)
{
    if (v4)
        return put32(at, 10u << 24 | number);
    memset(at, 0, 16);
    at[0] = 0xfd;
    return put32(at + 12, number);
}

/* RFC 1071 */
static uint16_t sum_of(const uint8_t *bytes, size_t len)
{
    uint32_t sum = 0;
    for (size_t i = 0; i + 1 < len; i += 2)
        sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
    sum = (sum >> 16) + (sum & 0xffff);
    return (uint16_t) ~(sum + (sum >> 16));
}

struct ends {
    bool v4;
    uint32_t from, to;
};

static uint8_t *put_ip(uint8_t *at, const struct ends *ends, const struct tl_segment *segment,
                       uint8_t protocol, uint32_t behind_bytes)
{
    uint8_t *begin = at;
    uint32_t room = ends->v4 ? 65535 - 20 : 65535;
    uint32_t len = behind_bytes < room ? behind_bytes : room;
    if (!ends->v4) {
        at = put32(at, 6u << 28 | (uint32_t)segment->ecn << 20);
        at = put16(at, len);
        *at++ = protocol;
        *at++ = segment->ttl;
        return put_address(put_address(at, false, ends->from), false, ends->to);
    }
    *at++ = 0x45;
    *at++ = segment->ecn;
    at = put16(put16(at, 20 + len), segment->ip_id);
    at = put16(at, segment->dont_fragment ? 0x4000 : 0);
    *at++ = segment->ttl;
    *at++ = protocol;
    at = put_address(put_address(put16(at, 0), true, ends->from), true, ends->to);
    (void)put16(begin + 10, sum_of(begin, 20));
    return at;
}

/* Those that are read; what else there was is gone. Returns their end. */
static uint8_t *put_options(uint8_t *at, const struct tl_segment *segment)
{
    const uint8_t *begin = at;
    if (segment->has_mss)
        at = put16(put16(at, 2u << 8 | 4), segment->mss_bytes);
    if (segment->sack_permitted)
        at = put16(at, 4u << 8 | 2);
    if (segment->has_timestamps)
        at = put32(put32(put16(at, 8u << 8 | 10), segment->tsval), segment->tsecr);
    if (segment->has_wscale) {
        at = put16(at, 3u << 8 | 3);
        *at++ = segment->wscale;
    }
    size_t room = (OPTIONS_MAX - (size_t)(at - begin) - 2) / 8;
    size_t count = segment->sack_count < room ? segment->sack_count : room;
    if (count)
        at = put16(at, 5u << 8 | (uint32_t)(2 + 8 * count));
    for (size_t i = 0; i < count; i++)
        at = put32(put32(at, segment->sacks[i].begin), segment->sacks[i].end);
    return at;
}

/* Options that the snap length cut stay cut: the header claims more than is there. */
static size_t make_tcp(struct mask *mask, const struct ends *ends, const struct tl_segment *segment,
                       uint8_t *packet, size_t *ret_length)
{
    uint8_t options[64];
    size_t used = (size_t)(put_options(options, segment) - options);
    while (used % 4 && !segment->options_cut)
        options[used++] = 0;
    size_t header_bytes = 20 + (segment->options_cut ? OPTIONS_MAX : used);
    uint8_t *at = put_ip(packet, ends, segment, 6, (uint32_t)header_bytes + segment->payload_bytes);
    *ret_length = (size_t)(at - packet) + header_bytes + segment->payload_bytes;
    at = put16(put16(at, segment->from_port), segment->to_port);
    at = put32(put32(at, segment->seq), segment->ack);
    *at++ = (uint8_t)(header_bytes / 4 << 4);
    *at++ = segment->flags;
    at = put16(put16(at, segment->window), mask->checksums[segment->checksum]);
    at = put16(at, 0);
    memcpy(at, options, used);
    return (size_t)(at - packet) + used;
}

/* A router's report, with the first 8 bytes of the segment that did not fit (RFC 792, RFC 4443). */
static size_t make_report(const struct ends *ends, uint32_t router, uint16_t mtu_bytes,
                          const struct tl_segment *segment, uint8_t *packet)
{
    struct ends back = {ends->v4, router, ends->from};
    uint32_t header = ends->v4 ? 20 : 40;
    uint8_t *at = put_ip(packet, &back, segment, ends->v4 ? 1 : 58, 8 + header + 8);
    at = put32(at, ends->v4 ? 3u << 24 | 4u << 16 : 2u << 24);
    at = put32(at, mtu_bytes);
    at = put_ip(at, ends, segment, 6, 1460);
    at = put32(put16(put16(at, segment->from_port), segment->to_port), segment->seq);
    return (size_t)(at - packet);
}

/* --- the file --- */

static void write_record(struct mask *mask, int64_t time_ns, const uint8_t *packet, size_t captured,
                         size_t length)
{
    uint32_t header[] = {(uint32_t)(time_ns / NS_PER_S), (uint32_t)(time_ns % NS_PER_S),
                         (uint32_t)captured, (uint32_t)(length < captured ? captured : length)};
    (void)fwrite(header, sizeof header, 1, mask->file); /* ferror() is asked at the end */
    (void)fwrite(packet, captured, 1, mask->file);
    mask->counts->packets_count++;
}

static enum tl_status write_masked(struct mask *mask, const struct tl_decoder *decoder,
                                   enum tl_decoded decoded, const struct tl_segment *segment,
                                   int64_t time_ns, struct tl_error *reterr)
{
    uint8_t packet[PACKET_MAX];
    struct ends ends = {tl_flow_address_is_v4(&segment->from),
                        number_of(&mask->numbers, &segment->from),
                        number_of(&mask->numbers, &segment->to)};
    bool report = decoded == TL_DECODED_TOO_BIG;
    uint32_t router = report ? number_of(&mask->numbers, &decoder->too_big.reporter) : 1;
    size_t length = 0;
    if (!ends.from || !ends.to || !router)
        return tl_error_set(reterr, TL_LIMIT, "more than %u addresses, or out of memory",
                            ADDRESSES_MAX);
    size_t captured = report
                          ? make_report(&ends, router, decoder->too_big.mtu_bytes, segment, packet)
                          : make_tcp(mask, &ends, segment, packet, &length);
    write_record(mask, time_ns, packet, captured, length);
    return TL_OK;
}

static enum tl_status mask_all(struct mask *mask, struct tl_capture *capture,
                               struct tl_error *reterr)
{
    static const uint32_t magic = MAGIC_NS, rest[] = {0, 0, 262144, LINK_RAW};
    static const uint16_t version[] = {2, 4};
    struct tl_decoder decoder;
    struct tl_packet packet;
    struct tl_segment segment;
    struct tl_error broken = {0};
    enum tl_status status = TL_OK;
    tl_decoder_init(&decoder);
    (void)fwrite(&magic, sizeof magic, 1, mask->file);
    (void)fwrite(version, sizeof version, 1, mask->file);
    (void)fwrite(rest, sizeof rest, 1, mask->file);
    while (status == TL_OK && tl_capture_next(capture, &packet, &broken) == TL_OK) {
        enum tl_decoded decoded = tl_decode(&decoder, &packet, &segment);
        if (decoded == TL_DECODED_TCP || decoded == TL_DECODED_TOO_BIG)
            status = write_masked(mask, &decoder, decoded, &segment, packet.time_ns, reterr);
        else
            mask->counts->left_out_count++;
    }
    mask->counts->addresses_count = mask->numbers.count;
    snprintf(mask->counts->broken, sizeof mask->counts->broken, "%s", broken.text);
    return status;
}

/* Owns the descriptor. */
static enum tl_status mask_into(int fd, struct tl_capture *capture,
                                struct tl_app_pcap_masked *counts, struct tl_error *reterr)
{
    struct mask *mask = calloc(1, sizeof *mask);
    enum tl_status status = mask ? TL_OK : tl_error_set(reterr, TL_NOMEM, "out of memory");
    size_t got = 0;
    for (ssize_t n = 0; mask && got < sizeof mask->checksums; got += (size_t)(n > 0 ? n : 0))
        n = getrandom((uint8_t *)mask->checksums + got, sizeof mask->checksums - got, 0);
    if (mask) {
        mask->counts = counts;
        mask->file = fdopen(fd, "w");
    }
    if (!mask || !mask->file) {
        close(fd);
        free(mask);
        return status != TL_OK ? status : tl_error_set(reterr, TL_IO, "%s", strerror(errno));
    }
    status = mask_all(mask, capture, reterr);
    bool written = !ferror(mask->file);
    written &= fclose(mask->file) == 0;
    if (status == TL_OK && !written)
        status = tl_error_set(reterr, TL_IO, "writing failed: %s", strerror(errno));
    free(mask->numbers.addresses);
    free(mask->numbers.slots);
    free(mask);
    return status;
}

enum tl_status tl_app_pcap_mask(const char *path, const char *out,
                                struct tl_app_pcap_masked *ret_counts, struct tl_error *reterr)
{
    struct tl_capture *capture = NULL;
    struct tl_app_pcap_masked counts = {0};
    enum tl_status status = tl_capture_open(path, &capture, reterr);
    if (status != TL_OK) {
        tl_error_prefix(reterr, "%.200s", path);
        return status;
    }
    int fd = open(out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        status = tl_error_set(reterr, TL_IO, "%.200s: %s", out, strerror(errno));
    else
        status = mask_into(fd, capture, &counts, reterr);
    tl_capture_close(capture);
    if (status == TL_OK)
        *ret_counts = counts;
    else if (fd >= 0)
        (void)unlink(out);
    return status;
}
