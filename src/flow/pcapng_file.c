/* The pcapng format: sections of blocks (draft-ietf-opsawg-pcapng).
 *
 * Read are section headers, interface descriptions, packets of all three kinds and statistics;
 * every other block is passed over by its length. */
#include "capture_private.h"

#include <string.h>

#include "tightlink/base/grow.h"

#define BLOCK_SECTION    PCAPNG_MAGIC
#define BLOCK_INTERFACE  1u
#define BLOCK_PACKET     2u /* obsolete */
#define BLOCK_SIMPLE     3u
#define BLOCK_STATISTICS 5u
#define BLOCK_ENHANCED   6u

#define OPTION_END        0
#define OPTION_TSRESOL    9
#define OPTION_TSOFFSET   14
#define OPTION_ISB_IFDROP 5
#define OPTION_ISB_OSDROP 7

#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define BLOCK_LEAST      12 /* type and both lengths */

static enum tl_status broken(const struct tl_capture *capture, const char *what,
                             struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_SYNTAX, "the block at byte %llu is broken: %s",
                        (unsigned long long)capture_offset(capture), what);
}

static uint64_t capture64(const struct tl_capture *capture, const uint8_t *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return capture->swapped ? __builtin_bswap64(value) : value;
}

/* The next option of a list: false at its end or where it is cut. */
static bool next_option(const struct tl_capture *capture, struct cursor *options,
                        uint16_t *ret_code, struct cursor *ret_value)
{
    const uint8_t *head = cursor_take(options, 4);
    if (!head)
        return false;
    *ret_code = capture16(capture, head);
    size_t len = capture16(capture, head + 2);
    const uint8_t *value = cursor_take(options, len);
    if (*ret_code == OPTION_END || !value)
        return false;
    *ret_value = (struct cursor){value, value + len};
    (void)cursor_take(options, (4 - len % 4) % 4);
    return true;
}

static void read_interface_options(const struct tl_capture *capture, struct cursor options,
                                   struct capture_interface *interface)
{
    uint16_t code;
    struct cursor value;
    while (next_option(capture, &options, &code, &value)) {
        const uint8_t *one = cursor_peek(&value, 1), *eight = cursor_peek(&value, 8);
        if (code == OPTION_TSRESOL && one) {
            interface->binary = *one & 0x80;
            interface->exponent = *one & 0x7f;
        } else if (code == OPTION_TSOFFSET && eight) {
            int64_t seconds = (int64_t)capture64(capture, eight);
            if (seconds > -INT64_C(4000000000) && seconds < INT64_C(4000000000))
                interface->offset_ns = seconds * 1000000000;
        }
    }
}

static enum tl_status add_interface(struct tl_capture *capture, struct cursor body,
                                    struct tl_error *reterr)
{
    const uint8_t *head = cursor_take(&body, 8);
    if (!head)
        return broken(capture, "an interface without its header", reterr);
    if (capture->interface_count == TL_CAPTURE_INTERFACES_MAX)
        return tl_error_set(reterr, TL_LIMIT, "more than %d interfaces at byte %llu",
                            TL_CAPTURE_INTERFACES_MAX, (unsigned long long)capture_offset(capture));
    if (!tl_grow(&capture->interfaces, capture->interface_count, &capture->interface_room, 4,
                 sizeof *capture->interfaces))
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    struct capture_interface *interface = &capture->interfaces[capture->interface_count++];
    *interface = (struct capture_interface){.link_type = capture16(capture, head),
                                            .snap_bytes = capture32(capture, head + 4),
                                            .exponent = 6};
    read_interface_options(capture, body, interface);
    capture_note_snap(capture, interface->snap_bytes);
    if (capture->info.interfaces_count < UINT16_MAX)
        capture->info.interfaces_count++;
    return TL_OK;
}

/* Ticks of an interface in ns; times outside of what int64_t holds become 0. */
static int64_t ticks_to_ns(const struct capture_interface *interface, uint64_t ticks)
{
    static const uint64_t powers[] = {1,      10,      100,      1000,      10000,
                                      100000, 1000000, 10000000, 100000000, 1000000000};
    unsigned __int128 ns;
    if (interface->binary) {
        ns = interface->exponent > 63
                 ? 0
                 : (unsigned __int128)ticks * 1000000000 >> interface->exponent;
    } else if (interface->exponent <= 9) {
        ns = (unsigned __int128)ticks * powers[9 - interface->exponent];
    } else {
        ns = ticks;
        for (unsigned i = 9; i < interface->exponent && ns != 0; i++)
            ns /= 10;
    }
    return ns > INT64_MAX - INT64_C(4000000000) * 1000000000 ? 0
                                                             : (int64_t)ns + interface->offset_ns;
}

static void drop_section(struct tl_capture *capture)
{
    for (unsigned i = 0; i < capture->interface_count; i++)
        capture->info.dropped_count += capture->interfaces[i].dropped_count;
    capture->interface_base += capture->interface_count;
    capture->interface_count = 0;
}

/* The byte order stands behind the length that it is needed for. */
static enum tl_status begin_section(struct tl_capture *capture, struct tl_error *reterr)
{
    enum tl_status status = input_fill(&capture->input, 12, reterr);
    if (status != TL_OK)
        return status;
    if (input_has(&capture->input) < 12)
        return input_cut(&capture->input, "a section header", reterr);
    uint32_t order = load32_host(input_at(&capture->input) + 8);
    if (order != BYTE_ORDER_MAGIC && __builtin_bswap32(order) != BYTE_ORDER_MAGIC)
        return broken(capture, "a section without its byte order", reterr);
    capture->swapped = order != BYTE_ORDER_MAGIC;
    drop_section(capture);
    return TL_OK;
}

static void read_statistics(struct tl_capture *capture, struct cursor body)
{
    const uint8_t *head = cursor_take(&body, 12);
    uint16_t code;
    struct cursor value;
    uint64_t dropped = 0;
    bool known = false;
    if (!head || capture32(capture, head) >= capture->interface_count)
        return;
    while (next_option(capture, &body, &code, &value)) {
        const uint8_t *eight = cursor_peek(&value, 8);
        if (!eight || (code != OPTION_ISB_IFDROP && code != OPTION_ISB_OSDROP))
            continue;
        known = true;
        if (capture64(capture, eight) < UINT32_MAX)
            dropped += capture64(capture, eight);
    }
    capture->info.dropped_known |= known;
    if (known) /* counters run on: the last ones count */
        capture->interfaces[capture32(capture, head)].dropped_count = dropped;
}

/* What the three kinds of packet blocks say. */
struct packet_block {
    uint32_t interface, captured, length;
    uint64_t ticks;
    bool timed;
};

static bool read_packet_head(const struct tl_capture *capture, uint32_t type, struct cursor *body,
                             struct packet_block *ret_block)
{
    const uint8_t *head = cursor_take(body, type == BLOCK_SIMPLE ? 4 : 20);
    if (!head)
        return false;
    if (type == BLOCK_SIMPLE) {
        uint32_t length = capture32(capture, head);
        uint32_t snap = capture->interface_count ? capture->interfaces[0].snap_bytes : 0;
        size_t room = cursor_left(body);
        uint32_t captured = snap && snap < length ? snap : length;
        *ret_block =
            (struct packet_block){0, captured < room ? captured : (uint32_t)room, length, 0, false};
        return true;
    }
    uint32_t interface = type == BLOCK_PACKET ? capture16(capture, head) : capture32(capture, head);
    *ret_block = (struct packet_block){
        interface, capture32(capture, head + 12), capture32(capture, head + 16),
        (uint64_t)capture32(capture, head + 4) << 32 | capture32(capture, head + 8), true};
    return true;
}

/* TL_UNKNOWN where the packet's interface was never described: it is passed over. */
static enum tl_status read_packet(struct tl_capture *capture, uint32_t type, struct cursor body,
                                  struct tl_packet *ret_packet, struct tl_error *reterr)
{
    struct packet_block block;
    if (!read_packet_head(capture, type, &body, &block))
        return broken(capture, "a packet without its header", reterr);
    const uint8_t *data = cursor_take(&body, block.captured);
    if (!data)
        return broken(capture, "a packet longer than its block", reterr);
    if (block.interface >= capture->interface_count) {
        capture->info.skipped_count++;
        return TL_UNKNOWN;
    }
    const struct capture_interface *interface = &capture->interfaces[block.interface];
    *ret_packet = (struct tl_packet){
        .time_ns = block.timed ? ticks_to_ns(interface, block.ticks) : 0,
        .captured_bytes = block.captured,
        .length_bytes = block.length < block.captured ? block.captured : block.length,
        .data = data,
        .link_type = interface->link_type,
        .interface = (uint16_t)(capture->interface_base + block.interface),
        .number = ++capture->info.packets_count,
    };
    return TL_OK;
}

/* Makes the next block stand in the window whole; *ret_len includes both lengths. */
static enum tl_status fill_block(struct tl_capture *capture, uint32_t *ret_len,
                                 struct tl_error *reterr)
{
    struct input *input = &capture->input;
    enum tl_status status = input_fill(input, 8, reterr);
    if (status != TL_OK)
        return status;
    if (input_has(input) == 0)
        return TL_CLOSED;
    if (input_has(input) < 8)
        return input_cut(&capture->input, "a block header", reterr);
    if (load32_host(input_at(input)) == BLOCK_SECTION) {
        status = begin_section(capture, reterr);
        if (status != TL_OK)
            return status;
    }
    uint32_t len = capture32(capture, input_at(input) + 4);
    if (len < BLOCK_LEAST || len % 4 != 0)
        return broken(capture, "its length is impossible", reterr);
    if (len > TL_CAPTURE_BLOCK_MAX)
        return tl_error_set(reterr, TL_LIMIT, "the block at byte %llu claims %u bytes",
                            (unsigned long long)capture_offset(capture), len);
    status = input_fill(input, len, reterr);
    if (status != TL_OK)
        return status;
    if (input_has(input) < len)
        return input_cut(&capture->input, "a block", reterr);
    if (capture32(capture, input_at(input) + len - 4) != len)
        return broken(capture, "its two lengths differ", reterr);
    *ret_len = len;
    return TL_OK;
}

/* TL_UNKNOWN: the block holds no packet. */
static enum tl_status read_block(struct tl_capture *capture, uint32_t len,
                                 struct tl_packet *ret_packet, struct tl_error *reterr)
{
    const uint8_t *block = input_at(&capture->input);
    uint32_t type = capture32(capture, block);
    struct cursor body = {block + 8, block + len - 4};
    switch (type) {
    case BLOCK_INTERFACE: {
        enum tl_status status = add_interface(capture, body, reterr);
        return status == TL_OK ? TL_UNKNOWN : status;
    }
    case BLOCK_STATISTICS:
        read_statistics(capture, body);
        return TL_UNKNOWN;
    case BLOCK_PACKET:
    case BLOCK_SIMPLE:
    case BLOCK_ENHANCED:
        return read_packet(capture, type, body, ret_packet, reterr);
    default:
        return TL_UNKNOWN;
    }
}

static enum tl_status pcapng_next(struct tl_capture *capture, struct tl_packet *ret_packet,
                                  struct tl_error *reterr)
{
    for (;;) {
        uint32_t len = 0;
        enum tl_status status = fill_block(capture, &len, reterr);
        if (status != TL_OK)
            return status;
        status = read_block(capture, len, ret_packet, reterr);
        if (status != TL_OK && status != TL_UNKNOWN)
            return status;
        input_take(&capture->input, len); /* the bytes stay in the window until it is filled */
        if (status == TL_OK)
            return TL_OK;
    }
}

enum tl_status pcapng_begin(struct tl_capture *capture, struct tl_error *reterr)
{
    strcpy(capture->info.format, "pcapng");
    capture->next = pcapng_next;
    return begin_section(capture, reterr);
}
