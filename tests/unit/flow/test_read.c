/* A whole capture through two threads: in order, to the end or to where it breaks. */
#include "tightlink/flow/read.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "build.h"

#define PACKETS 3000 /* more than all batches together hold */
#define MSS     1000

static void many_segments(struct tl_buf *file)
{
    build_pcap_begin(file, 1);
    for (uint32_t i = 0; i < PACKETS; i++)
        build_pcap_segment(file,
                           &(struct build_segment){.time_ns = 1000000000 + i * INT64_C(1000),
                                                   .from = 1,
                                                   .to = 2,
                                                   .from_port = 5000,
                                                   .to_port = 80,
                                                   .seq = 1 + i * MSS,
                                                   .payload_bytes = MSS,
                                                   .flags = TL_TCP_ACK,
                                                   .wscale = -1},
                           60);
}

static void read_bytes(const struct tl_buf *file, size_t len, struct tl_read *ret_read,
                       struct tl_packet_brief *ret_brief, struct tl_error *ret_broken)
{
    struct tl_capture *capture = build_open(file->data, len, NULL);
    struct tl_packets *packets = tl_packets_create();
    cr_assert(capture && packets);
    cr_assert(eq(int, tl_read_capture(capture, packets, ret_read, ret_broken), TL_OK));
    tl_packets_finish(packets);
    cr_assert(tl_packets_at(packets, 0, ret_brief));
    ret_brief->flow = NULL; /* it goes with the table */
    tl_packets_destroy(packets);
    tl_capture_close(capture);
}

Test(read, takes_every_packet_in_its_order)
{
    struct tl_buf file = TL_BUF_INIT;
    struct tl_packet_brief brief;
    struct tl_error broken;
    struct tl_read read;
    many_segments(&file);
    read_bytes(&file, file.len, &read, &brief, &broken);
    cr_expect(eq(u64, read.counts[TL_DECODED_TCP], PACKETS));
    cr_expect(eq(u64, brief.packets_count[TL_CLIENT], PACKETS));
    cr_expect(eq(u64, brief.payload_bytes[TL_CLIENT], PACKETS * MSS));
    cr_expect(eq(i64, brief.first_ns, read.first_ns));
    cr_expect(eq(i64, brief.last_ns, read.last_ns));
    cr_expect(eq(i64, read.last_ns - read.first_ns, (PACKETS - 1) * INT64_C(1000)));
    cr_expect(eq(chr, broken.text[0], 0));
    tl_buf_finish(&file);
}

Test(read, keeps_what_stands_before_a_break)
{
    struct tl_buf file = TL_BUF_INIT;
    struct tl_packet_brief brief;
    struct tl_error broken;
    struct tl_read read;
    many_segments(&file);
    read_bytes(&file, file.len - 3, &read, &brief, &broken);
    cr_expect(eq(u64, brief.packets_count[TL_CLIENT], PACKETS - 1));
    cr_expect(ne(chr, broken.text[0], 0));
    tl_buf_finish(&file);
}
