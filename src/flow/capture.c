/* Opening a capture file of either format, and what both do alike. */
#include "capture_private.h"

#include <stdlib.h>
#include <string.h>

/* Of this machine's byte order. */
static bool is_pcap(uint32_t magic)
{
    return magic == PCAP_MAGIC_US || magic == PCAP_MAGIC_NS || magic == PCAP_MAGIC_MODIFIED;
}

bool tl_capture_is(const void *bytes, size_t len)
{
    uint32_t magic = len < 4 ? 0 : load32_host(bytes);
    return magic == PCAPNG_MAGIC || is_pcap(magic) || is_pcap(__builtin_bswap32(magic));
}

static enum tl_status begin(struct tl_capture *capture, struct tl_error *reterr)
{
    enum tl_status status = input_fill(&capture->input, 4, reterr);
    if (status != TL_OK)
        return status;
    if (input_has(&capture->input) < 4)
        return tl_error_set(reterr, TL_SYNTAX, "only %zu bytes: this is no capture",
                            input_has(&capture->input));
    uint32_t magic = load32_host(input_at(&capture->input));
    if (magic == PCAPNG_MAGIC)
        return pcapng_begin(capture, reterr);
    capture->swapped = !is_pcap(magic);
    if (!capture->swapped || is_pcap(__builtin_bswap32(magic)))
        return pcap_begin(capture, reterr);
    return tl_error_set(reterr, TL_SYNTAX,
                        "begins with %08x: neither pcap nor pcapng (tcpdump -w and Wireshark write "
                        "these)",
                        __builtin_bswap32(magic));
}

enum tl_status tl_capture_open(const char *path, struct tl_capture **ret_capture,
                               struct tl_error *reterr)
{
    struct tl_capture *capture = calloc(1, sizeof *capture);
    if (!capture)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    enum tl_status status = input_open(&capture->input, path, reterr);
    if (status == TL_OK)
        status = begin(capture, reterr);
    if (status != TL_OK) {
        tl_capture_close(capture);
        return status;
    }
    strcpy(capture->info.compression, input_packing_name(capture->input.packing));
    *ret_capture = capture;
    return TL_OK;
}

enum tl_status tl_capture_next(struct tl_capture *capture, struct tl_packet *ret_packet,
                               struct tl_error *reterr)
{
    return capture->next(capture, ret_packet, reterr);
}

void tl_capture_info(const struct tl_capture *capture, struct tl_capture_info *ret_info)
{
    *ret_info = capture->info;
    ret_info->offset_bytes = capture_offset(capture);
    for (unsigned i = 0; i < capture->interface_count; i++)
        ret_info->dropped_count += capture->interfaces[i].dropped_count;
}

void tl_capture_close(struct tl_capture *capture)
{
    if (!capture)
        return;
    input_close(&capture->input);
    free(capture->interfaces);
    free(capture);
}
