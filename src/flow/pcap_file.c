/* The pcap format: one header, then records (draft-ietf-opsawg-pcap). */
#include "capture_private.h"

#include <string.h>

#define FILE_HEADER_BYTES     24
#define RECORD_HEADER_BYTES   16
#define MODIFIED_HEADER_BYTES 24

/* A record whose length no capture program writes: the file is broken here. */
static enum tl_status too_long(const struct tl_capture *capture, uint32_t captured,
                               struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_SYNTAX,
                        "the record at byte %llu claims %u bytes: the file is broken there",
                        (unsigned long long)capture_offset(capture), captured);
}

static enum tl_status pcap_next(struct tl_capture *capture, struct tl_packet *ret_packet,
                                struct tl_error *reterr)
{
    struct input *input = &capture->input;
    const size_t header_bytes = capture->record_header_bytes;
    if (input_has(input) < header_bytes) {
        enum tl_status status = input_fill(input, header_bytes, reterr);
        if (status != TL_OK)
            return status;
        if (input_has(input) == 0)
            return TL_CLOSED;
        if (input_has(input) < header_bytes)
            return input_cut(&capture->input, "a record header", reterr);
    }
    const uint8_t *header = input_at(input);
    uint32_t captured = capture32(capture, header + 8);
    if (captured > TL_CAPTURE_BLOCK_MAX)
        return too_long(capture, captured, reterr);
    if (input_has(input) < header_bytes + captured) {
        enum tl_status status = input_fill(input, header_bytes + captured, reterr);
        if (status != TL_OK)
            return status;
        if (input_has(input) < header_bytes + captured)
            return input_cut(&capture->input, "a record", reterr);
        header = input_at(input);
    }
    uint32_t length = capture32(capture, header + 12);
    ret_packet->time_ns = (int64_t)capture32(capture, header) * 1000000000 +
                          (int64_t)capture32(capture, header + 4) * capture->tick_ns;
    ret_packet->captured_bytes = captured;
    ret_packet->length_bytes = length < captured ? captured : length;
    ret_packet->data = header + header_bytes;
    ret_packet->link_type = capture->link_type;
    ret_packet->interface = 0;
    ret_packet->number = ++capture->info.packets_count;
    input_take(input, header_bytes + captured);
    return TL_OK;
}

enum tl_status pcap_begin(struct tl_capture *capture, struct tl_error *reterr)
{
    enum tl_status status = input_fill(&capture->input, FILE_HEADER_BYTES, reterr);
    if (status != TL_OK)
        return status;
    if (input_has(&capture->input) < FILE_HEADER_BYTES)
        return input_cut(&capture->input, "the file header", reterr);
    const uint8_t *header = input_at(&capture->input);
    uint32_t magic = capture32(capture, header);
    uint16_t major = capture16(capture, header + 4);
    if (major != 2)
        return tl_error_set(reterr, TL_VERSION, "pcap of version %u.%u; 2.x is read", major,
                            capture16(capture, header + 6));
    capture->record_header_bytes =
        magic == PCAP_MAGIC_MODIFIED ? MODIFIED_HEADER_BYTES : RECORD_HEADER_BYTES;
    capture->tick_ns = magic == PCAP_MAGIC_NS ? 1 : 1000;
    capture_note_snap(capture, capture32(capture, header + 16));
    capture->link_type = (uint16_t)capture32(capture, header + 20);
    capture->info.interfaces_count = 1;
    strcpy(capture->info.format, "pcap");
    capture->next = pcap_next;
    input_take(&capture->input, FILE_HEADER_BYTES);
    return TL_OK;
}
