/* A packet through its layers. */
#include "decode_private.h"

void tl_decoder_init(struct tl_decoder *decoder)
{
    *decoder = (struct tl_decoder){0};
}

enum tl_decoded tl_decode(struct tl_decoder *decoder, const struct tl_packet *packet,
                          struct tl_segment *ret_segment)
{
    struct decode decode = {
        .decoder = decoder,
        .cursor = {packet->data, packet->data + packet->captured_bytes},
        .cut_bytes = packet->length_bytes - packet->captured_bytes,
        .segment = ret_segment,
    };
    ret_segment->time_ns = packet->time_ns;
    enum tl_decoded decoded = decode_link(&decode, packet->link_type);
    decoder->counts[decoded]++;
    return decoded;
}
