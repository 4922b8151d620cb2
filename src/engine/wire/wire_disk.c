/* Messages about disks: a test of the far end's, and transfers from and to disks. */
#include "tightlink/engine/wire_disk.h"
#include "wire_layout.h"

#define MSG tl_wire_test_disk
static const struct wire_field test_disk_fields[] = {
    ANY(threads, 1, "threads, which are the depth of the queue; 0 = 4; moved into the limits"),
    ZERO(3),
    ANY(duration_ms, 4, "time of writing, and of reading, ms; 0 = 3 s; moved into the limits"),
    ANY(max_bytes, 8, "bytes to write, and to read, at most; 0 = by time alone"),
};
WIRE_FRAME(test_disk, TEST_DISK, NULL)
#undef MSG

/* --- The result ----------------------------------------------------------------------------- */

#define MSG                   tl_wire_disk_times
#define TIME(member, meaning) INT(member, -1, WIRE_NS_MAX, meaning)

/* What no disk can have done. */
static const char *refuse_times(const void *msg)
{
    const struct MSG *times = msg;
    if (times->operations > times->bytes)
        return "has blocks without bytes";
    return times->low_bps <= times->rate_bps && times->rate_bps <= times->high_bps
               ? NULL
               : "has a rate outside of its bounds";
}

static const struct wire_field disk_times_fields[] = {
    UINT(end, 1, 0, TL_DISK_END_HUNG,
         "why it ended: 0 not run, 1 time, 2 bytes, 3 cancelled, 4 full, 5 error, 6 the disk hung"),
    UINT(mode, 1, 0, TL_DISK_MODE_SYNC,
         "how: 0 past the page cache, 1 through it, 2 durable block by block"),
    UINT(cache, 1, 0, TL_DISK_CACHE_POSSIBLE,
         "who may have answered reads: 0 the device, 1 the device behind an emptied page cache, 2 "
         "memory"),
    UINT(fault, 1, 0, TL_WIRE_DISK_ERROR, "fault: 0 none, 1 no space, 2 quota, 3 other"),
    UINT(threads, 1, 0, TL_DISK_THREADS_MAX, "threads"),
    ZERO(3),
    UINT(bytes, 8, 0, WIRE_BYTES_MAX, "bytes"),
    ANY(operations, 8, "blocks"),
    TIME(p50_ns, "median time of a block, ns; 2^64 - 1 = not known, here and below"),
    TIME(p95_ns, "95th percentile"),
    TIME(p99_ns, "99th percentile"),
    TIME(max_ns, "longest"),
    TIME(elapsed_ns, "time from the first block's begin to the last one's end, ns"),
    TIME(sync_ns, "time of the fdatasync behind it, ns"),
    UINT(cpu_ns, 8, 0, WIRE_NS_MAX, "processor time, ns"),
    RATE(rate_bps, "rate, bit/s, IEEE 754 double; 0 = nothing was moved"),
    RATE(low_bps, "lower bound of its 95 % interval"),
    RATE(high_bps, "upper bound"),
};
WIRE_LAYOUT(disk_times, 0, "a part of DISK_RESULT", refuse_times)
#undef MSG

#define MSG tl_wire_disk_result
static const struct wire_field disk_result_fields[] = {
    BYTES(token, "token of the session"),
    UINT(direct, 1, 0, 1, "1 = O_DIRECT works in that directory, else 0"),
    ZERO(7),
    UINT(area_bytes, 8, 0, WIRE_BYTES_MAX, "size of the file, bytes"),
    ANY(free_bytes, 8, "bytes that were free"),
    PART(write, wire_layout_disk_times, "writing"),
    PART(read, wire_layout_disk_times, "reading"),
};
WIRE_FRAME(disk_result, DISK_RESULT, NULL)
#undef MSG

/* --- Transfers ------------------------------------------------------------------------------ */

#define MSG tl_wire_test_file
static const struct wire_field test_file_fields[] = {
    UINT(flags, 1, 0, TL_WIRE_FILE_DISK,
         "flags: bit 0 = from the responder's disk, or to it; others zero"),
    ANY(threads, 1, "threads of the responder's disk; 0 = 4"),
    ZERO(6),
    PART(tcp, wire_layout_test_tcp, "as TEST_TCP, one way; at most 8 streams"),
};
WIRE_FRAME(test_file, TEST_FILE, NULL)
#undef MSG

#define MSG tl_wire_sum
static const struct wire_field sum_fields[] = {
    ANY(block, 4, "number of the block, from 0"),
    UINT(bytes, 4, 1, TL_TRANSFER_BLOCK_BYTES, "its length, bytes"),
    ANY(crc, 4, "its CRC32C (RFC 3720 B.4)"),
};
WIRE_LAYOUT(sum, 0, "a block of SUMS", NULL)
#undef MSG

#define MSG tl_wire_sums
static const struct wire_field sums_fields[] = {
    UINT(test_id, 4, 1, UINT32_MAX, "test id"),
    UINT(stream, 2, 0, TL_WIRE_STREAMS_MAX - 1, "stream"),
    UINT(count, 2, 1, TL_WIRE_SUMS_MAX, "number of blocks, 1 to 256"),
    LIST(sums, count, wire_layout_sum, "the sums of that many blocks"),
};
WIRE_FRAME(sums, SUMS, NULL)
#undef MSG

#define MSG tl_wire_file_end
static const struct wire_field file_end_fields[] = {
    UINT(test_id, 4, 1, UINT32_MAX, "test id"),
    UINT(disk, 1, 0, 1, "1 = the responder's disk had a part, else 0"),
    UINT(fault, 1, 0, TL_WIRE_DISK_ERROR, "fault, as in DISK_RESULT"),
    ZERO(2),
    UINT(disk_bytes, 8, 0, WIRE_BYTES_MAX, "bytes read from the disk or written to it"),
    UINT(disk_ns, 8, 0, WIRE_NS_MAX, "time its threads spent in reads or writes, ns"),
    UINT(wait_ns, 8, 0, WIRE_NS_MAX, "time its streams waited for the disk, ns"),
};
WIRE_FRAME(file_end, FILE_END, NULL)
#undef MSG
