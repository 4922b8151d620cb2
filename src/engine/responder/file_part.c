/* The disk's part in a test of streams. */
#include "file_part.h"

#include "disk_part.h"
#include "transfer_worker.h"

#define SUMS_RESERVE 24576 /* output kept free for samples and what must not be dropped */

enum tl_status file_part_give_store(struct session *session, unsigned stream,
                                    struct tl_error *reterr)
{
    const struct session_test *test = &session->test;
    struct transfer_store *store = NULL;
    struct transfer_store_spec spec = {.area = test->with_disk ? session->disk.area : NULL,
                                       .source = test->asked.direction == TL_WIRE_DOWNLOAD,
                                       .streams = test->granted.streams,
                                       .index = stream,
                                       .threads = test->disk.threads};
    enum tl_status status = transfer_store_create(&spec, &store, reterr);
    if (status == TL_OK)
        tl_streams_give_store(test->lanes[0].streams, store);
    return status;
}

static void send_sums_of(struct session *session, uint16_t stream, struct transfer_store *store)
{
    struct transfer_sum sums[TL_WIRE_SUMS_MAX];
    struct tl_wire_sums message = {.test_id = session->test.granted.test_id, .stream = stream};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    size_t count;
    while (session_out_has_room(session, SUMS_RESERVE) &&
           (count = transfer_store_drain(store, sums, TL_WIRE_SUMS_MAX)) > 0) {
        message.count = (uint16_t)count;
        for (size_t i = 0; i < count; i++)
            message.sums[i] = (struct tl_wire_sum){sums[i].block, sums[i].bytes, sums[i].crc};
        session_send(session, frame, tl_wire_encode_sums(&message, frame));
    }
}

void file_part_send_sums(struct session *session)
{
    const struct session_test *test = &session->test;
    if (!test->is_file || !test->lanes[0].streams)
        return;
    for (uint32_t i = 0; i < tl_streams_count(test->lanes[0].streams); i++)
        if (tl_streams_store(test->lanes[0].streams, i))
            send_sums_of(session, (uint16_t)i, tl_streams_store(test->lanes[0].streams, i));
}

void file_part_report(struct session *session)
{
    const struct session_test *test = &session->test;
    struct tl_transfer_side side = {0};
    if (!test->is_file || !test->lanes[0].streams)
        return;
    file_part_send_sums(session);
    for (uint32_t i = 0; i < tl_streams_count(test->lanes[0].streams); i++)
        if (tl_streams_store(test->lanes[0].streams, i))
            transfer_store_add_to(tl_streams_store(test->lanes[0].streams, i), &side);
    struct tl_wire_file_end message = {.test_id = test->granted.test_id,
                                       .disk = side.disk,
                                       .fault = disk_part_fault(side.errnum),
                                       .disk_bytes = side.disk_bytes,
                                       .disk_ns = side.disk_ns,
                                       .wait_ns = side.wait_ns};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    session_send(session, frame, tl_wire_encode_file_end(&message, frame));
}
