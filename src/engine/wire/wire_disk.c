/* Messages about disks: a test of the far end's, and transfers from and to disks.
 * Layouts: doc/wire.md. */
#include <math.h>
#include <string.h>

#include "tightlink/engine/wire_disk.h"
#include "tightlink/engine/limits.h"
#include "tightlink/engine/wire.h"
#include "tightlink/host/disk.h"
#include "wire_pack.h"

#define TEST_DISK_SIZE   16
#define DISK_TIMES_SIZE  104
#define DISK_RESULT_SIZE (40 + 2 * DISK_TIMES_SIZE)
#define TEST_FILE_HEAD   8
#define SUMS_HEAD        8
#define SUM_SIZE         12
#define FILE_END_SIZE    32

/* Nobody's disk moves more, and no test lasts longer: what is above is not believed. */
#define BPS_MAX   1e15
#define NS_MAX    (INT64_C(3600) * 1000000000)
#define BYTES_MAX ((uint64_t)1 << 60)

static void put_double(struct wire_out *out, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    put_uint(out, bits, 8);
}

static double get_double(struct wire_in *in)
{
    double number;
    uint64_t bits = get_uint(in, 8);
    memcpy(&number, &bits, sizeof number);
    return number;
}

size_t tl_wire_encode_test_disk(const struct tl_wire_test_disk *msg,
                                uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->threads, 1);
    put_zero(&out, 3);
    put_uint(&out, msg->duration_ms, 4);
    put_uint(&out, msg->max_bytes, 8);
    return wire_seal_frame(ret_frame, TL_WIRE_TEST_DISK, out.at);
}

enum tl_status tl_wire_decode_test_disk(const uint8_t *payload, size_t len,
                                        struct tl_wire_test_disk *ret_msg, struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = wire_open(payload, len, TEST_DISK_SIZE, "TEST_DISK", &in, reterr);
    if (status != TL_OK)
        return status;
    struct tl_wire_test_disk msg = {0};
    msg.threads = (uint8_t)get_uint(&in, 1);
    get_zero(&in, 3);
    msg.duration_ms = (uint32_t)get_uint(&in, 4);
    msg.max_bytes = get_uint(&in, 8);
    status = wire_close(&in, "TEST_DISK", reterr);
    if (status == TL_OK)
        *ret_msg = msg;
    return status;
}

/* --- The result --------------------------------------------------------------------------- */

static void put_times(struct wire_out *out, const struct tl_wire_disk_times *times)
{
    put_uint(out, times->end, 1);
    put_uint(out, times->mode, 1);
    put_uint(out, times->cache, 1);
    put_uint(out, times->fault, 1);
    put_uint(out, times->threads, 1);
    put_zero(out, 3);
    put_uint(out, times->bytes, 8);
    put_uint(out, times->operations, 8);
    put_uint(out, (uint64_t)times->p50_ns, 8);
    put_uint(out, (uint64_t)times->p95_ns, 8);
    put_uint(out, (uint64_t)times->p99_ns, 8);
    put_uint(out, (uint64_t)times->max_ns, 8);
    put_uint(out, (uint64_t)times->elapsed_ns, 8);
    put_uint(out, (uint64_t)times->sync_ns, 8);
    put_uint(out, times->cpu_ns, 8);
    put_double(out, times->rate_bps);
    put_double(out, times->low_bps);
    put_double(out, times->high_bps);
}

static void get_times(struct wire_in *in, struct tl_wire_disk_times *times)
{
    times->end = (uint8_t)get_uint(in, 1);
    times->mode = (uint8_t)get_uint(in, 1);
    times->cache = (uint8_t)get_uint(in, 1);
    times->fault = (uint8_t)get_uint(in, 1);
    times->threads = (uint8_t)get_uint(in, 1);
    get_zero(in, 3);
    times->bytes = get_uint(in, 8);
    times->operations = get_uint(in, 8);
    times->p50_ns = (int64_t)get_uint(in, 8);
    times->p95_ns = (int64_t)get_uint(in, 8);
    times->p99_ns = (int64_t)get_uint(in, 8);
    times->max_ns = (int64_t)get_uint(in, 8);
    times->elapsed_ns = (int64_t)get_uint(in, 8);
    times->sync_ns = (int64_t)get_uint(in, 8);
    times->cpu_ns = get_uint(in, 8);
    times->rate_bps = get_double(in);
    times->low_bps = get_double(in);
    times->high_bps = get_double(in);
}

static bool is_time(int64_t ns)
{
    return ns >= -1 && ns <= NS_MAX;
}

static bool is_rate(double bps)
{
    return isfinite(bps) && bps >= 0 && bps <= BPS_MAX && !signbit(bps);
}

/* What no disk can have done. */
static bool are_possible(const struct tl_wire_disk_times *times)
{
    return times->end <= TL_DISK_END_HUNG && times->mode <= TL_DISK_MODE_SYNC &&
           times->cache <= TL_DISK_CACHE_POSSIBLE && times->fault <= TL_WIRE_DISK_ERROR &&
           times->threads <= TL_DISK_THREADS_MAX && times->bytes <= BYTES_MAX &&
           times->operations <= times->bytes && is_time(times->p50_ns) && is_time(times->p95_ns) &&
           is_time(times->p99_ns) && is_time(times->max_ns) && is_time(times->elapsed_ns) &&
           is_time(times->sync_ns) && times->cpu_ns <= (uint64_t)NS_MAX &&
           is_rate(times->rate_bps) && is_rate(times->low_bps) && is_rate(times->high_bps) &&
           times->low_bps <= times->rate_bps && times->rate_bps <= times->high_bps;
}

size_t tl_wire_encode_disk_result(const struct tl_wire_disk_result *msg,
                                  uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_bytes(&out, msg->token.bytes, TL_WIRE_TOKEN_SIZE);
    put_uint(&out, msg->direct, 1);
    put_zero(&out, 7);
    put_uint(&out, msg->area_bytes, 8);
    put_uint(&out, msg->free_bytes, 8);
    put_times(&out, &msg->write);
    put_times(&out, &msg->read);
    return wire_seal_frame(ret_frame, TL_WIRE_DISK_RESULT, out.at);
}

enum tl_status tl_wire_decode_disk_result(const uint8_t *payload, size_t len,
                                          struct tl_wire_disk_result *ret_msg,
                                          struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = wire_open(payload, len, DISK_RESULT_SIZE, "DISK_RESULT", &in, reterr);
    if (status != TL_OK)
        return status;
    struct tl_wire_disk_result msg = {0};
    const uint8_t *token = get_bytes(&in, TL_WIRE_TOKEN_SIZE);
    if (token)
        memcpy(msg.token.bytes, token, TL_WIRE_TOKEN_SIZE);
    msg.direct = (uint8_t)get_uint(&in, 1);
    get_zero(&in, 7);
    msg.area_bytes = get_uint(&in, 8);
    msg.free_bytes = get_uint(&in, 8);
    get_times(&in, &msg.write);
    get_times(&in, &msg.read);
    status = wire_close(&in, "DISK_RESULT", reterr);
    if (status != TL_OK)
        return status;
    if (msg.direct > 1 || msg.area_bytes > BYTES_MAX || !are_possible(&msg.write) ||
        !are_possible(&msg.read))
        return tl_error_set(reterr, TL_RANGE, "DISK_RESULT tells what no disk can do");
    *ret_msg = msg;
    return TL_OK;
}

/* --- Transfers ------------------------------------------------------------------------------ */

size_t tl_wire_encode_test_file(const struct tl_wire_test_file *msg,
                                uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    uint8_t tcp[TL_WIRE_FRAME_MAX];
    size_t len = tl_wire_encode_test_tcp(&msg->tcp, tcp) - TL_WIRE_HEADER_SIZE;
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->flags, 1);
    put_uint(&out, msg->threads, 1);
    put_zero(&out, 6);
    put_bytes(&out, tcp + TL_WIRE_HEADER_SIZE, len);
    return wire_seal_frame(ret_frame, TL_WIRE_TEST_FILE, out.at);
}

enum tl_status tl_wire_decode_test_file(const uint8_t *payload, size_t len,
                                        struct tl_wire_test_file *ret_msg, struct tl_error *reterr)
{
    struct wire_in in = {payload, payload + (len < TEST_FILE_HEAD ? len : TEST_FILE_HEAD), false};
    struct tl_wire_test_file msg = {0};
    msg.flags = (uint8_t)get_uint(&in, 1);
    msg.threads = (uint8_t)get_uint(&in, 1);
    get_zero(&in, 6);
    enum tl_status status = wire_close(&in, "TEST_FILE", reterr);
    if (status == TL_OK)
        status = tl_wire_decode_test_tcp(payload + TEST_FILE_HEAD, len - TEST_FILE_HEAD, &msg.tcp,
                                         reterr);
    if (status != TL_OK)
        return status;
    if (msg.flags & ~TL_WIRE_FILE_DISK)
        return tl_error_set(reterr, TL_RANGE, "TEST_FILE has flags that are not known");
    *ret_msg = msg;
    return TL_OK;
}

size_t tl_wire_encode_sums(const struct tl_wire_sums *msg, uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->test_id, 4);
    put_uint(&out, msg->stream, 2);
    put_uint(&out, msg->count, 2);
    for (unsigned i = 0; i < msg->count; i++) {
        put_uint(&out, msg->sums[i].block, 4);
        put_uint(&out, msg->sums[i].bytes, 4);
        put_uint(&out, msg->sums[i].crc, 4);
    }
    return wire_seal_frame(ret_frame, TL_WIRE_SUMS, out.at);
}

enum tl_status tl_wire_decode_sums(const uint8_t *payload, size_t len, struct tl_wire_sums *ret_msg,
                                   struct tl_error *reterr)
{
    struct wire_in in = {payload, payload + len, false};
    uint32_t test_id = (uint32_t)get_uint(&in, 4);
    uint16_t stream = (uint16_t)get_uint(&in, 2), count = (uint16_t)get_uint(&in, 2);
    if (in.bad || count > TL_WIRE_SUMS_MAX || len != SUMS_HEAD + (size_t)count * SUM_SIZE)
        return tl_error_set(reterr, TL_PROTOCOL, "SUMS is not well formed");
    if (test_id == 0 || stream >= TL_WIRE_STREAMS_MAX || count == 0)
        return tl_error_set(reterr, TL_RANGE, "SUMS of test %u, stream %u, %u blocks", test_id,
                            stream, count);
    for (struct wire_in look = in; look.at < look.end;) {
        (void)get_uint(&look, 4);
        uint64_t bytes = get_uint(&look, 4);
        (void)get_uint(&look, 4);
        if (bytes == 0 || bytes > TL_TRANSFER_BLOCK_BYTES)
            return tl_error_set(reterr, TL_RANGE, "SUMS has a block of %u bytes", (unsigned)bytes);
    }
    *ret_msg = (struct tl_wire_sums){.test_id = test_id, .stream = stream, .count = count};
    for (unsigned i = 0; i < count; i++) {
        ret_msg->sums[i].block = (uint32_t)get_uint(&in, 4);
        ret_msg->sums[i].bytes = (uint32_t)get_uint(&in, 4);
        ret_msg->sums[i].crc = (uint32_t)get_uint(&in, 4);
    }
    return TL_OK;
}

size_t tl_wire_encode_file_end(const struct tl_wire_file_end *msg,
                               uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    put_uint(&out, msg->test_id, 4);
    put_uint(&out, msg->disk, 1);
    put_uint(&out, msg->fault, 1);
    put_zero(&out, 2);
    put_uint(&out, msg->disk_bytes, 8);
    put_uint(&out, msg->disk_ns, 8);
    put_uint(&out, msg->wait_ns, 8);
    return wire_seal_frame(ret_frame, TL_WIRE_FILE_END, out.at);
}

enum tl_status tl_wire_decode_file_end(const uint8_t *payload, size_t len,
                                       struct tl_wire_file_end *ret_msg, struct tl_error *reterr)
{
    struct wire_in in;
    enum tl_status status = wire_open(payload, len, FILE_END_SIZE, "FILE_END", &in, reterr);
    if (status != TL_OK)
        return status;
    struct tl_wire_file_end msg = {0};
    msg.test_id = (uint32_t)get_uint(&in, 4);
    msg.disk = (uint8_t)get_uint(&in, 1);
    msg.fault = (uint8_t)get_uint(&in, 1);
    get_zero(&in, 2);
    msg.disk_bytes = get_uint(&in, 8);
    msg.disk_ns = get_uint(&in, 8);
    msg.wait_ns = get_uint(&in, 8);
    status = wire_close(&in, "FILE_END", reterr);
    if (status != TL_OK)
        return status;
    if (msg.test_id == 0 || msg.disk > 1 || msg.fault > TL_WIRE_DISK_ERROR ||
        msg.disk_bytes > BYTES_MAX || msg.disk_ns > (uint64_t)NS_MAX ||
        msg.wait_ns > (uint64_t)NS_MAX)
        return tl_error_set(reterr, TL_RANGE, "FILE_END tells what no disk can do");
    *ret_msg = msg;
    return TL_OK;
}

/* --- What is under the directory ---------------------------------------------------------------
 */

#define RECORD_PREFIX "disk."

unsigned tl_wire_disk_record_count(void)
{
    return (unsigned)TL_HOST_DISK_NUMBER_COUNT + (unsigned)TL_HOST_DISK_TEXT_COUNT;
}

void tl_wire_disk_record(const struct tl_host_disk *disk, unsigned index,
                         struct tl_wire_record *ret_record)
{
    struct tl_wire_record record = {.kind = TL_WIRE_RECORD_UNKNOWN};
    bool is_text = index >= TL_HOST_DISK_NUMBER_COUNT;
    unsigned row = is_text ? index - TL_HOST_DISK_NUMBER_COUNT : index;
    const char *name = is_text ? tl_host_disk_text_name(row) : tl_host_disk_number_name(row);
    record.why = (uint8_t)(is_text ? disk->texts[row].why : disk->numbers[row].why);
    if (record.why == TL_HOST_WHY_KNOWN)
        record.kind = is_text ? TL_WIRE_RECORD_TEXT : TL_WIRE_RECORD_NUMBER;
    if (is_text)
        memcpy(record.text, disk->texts[row].text, sizeof record.text);
    else
        record.number = disk->numbers[row].number;
    memcpy(record.name, RECORD_PREFIX, strlen(RECORD_PREFIX));
    memcpy(record.name + strlen(RECORD_PREFIX), name, strlen(name) + 1);
    *ret_record = record;
}

/* Stores into a row whose name fits; false when the kind does not. */
static bool store_number(struct tl_host_value *value, const char *unit,
                         const struct tl_wire_record *record, enum tl_host_why why)
{
    bool is_bool = strcmp(unit, "bool") == 0;
    if (record->kind == TL_WIRE_RECORD_UNKNOWN)
        *value = tl_host_unknown(why);
    else if (record->kind == TL_WIRE_RECORD_NUMBER && record->number >= 0 &&
             (!is_bool || record->number == 0 || record->number == 1))
        *value = tl_host_known(record->number);
    else
        return false;
    return true;
}

bool tl_wire_disk_store(struct tl_host_disk *disk, const struct tl_wire_record *record)
{
    size_t prefix = strlen(RECORD_PREFIX);
    if (strncmp(record->name, RECORD_PREFIX, prefix) != 0)
        return false;
    const char *name = record->name + prefix;
    /* A later version may have more reasons. */
    enum tl_host_why why =
        record->why < TL_HOST_WHY_COUNT ? (enum tl_host_why)record->why : TL_HOST_WHY_NOT_READ;
    for (unsigned i = 0; i < TL_HOST_DISK_NUMBER_COUNT; i++)
        if (strcmp(tl_host_disk_number_name(i), name) == 0)
            return store_number(&disk->numbers[i], tl_host_disk_number_unit(i), record, why);
    for (unsigned i = 0; i < TL_HOST_DISK_TEXT_COUNT; i++) {
        if (strcmp(tl_host_disk_text_name(i), name) != 0)
            continue;
        if (record->kind == TL_WIRE_RECORD_UNKNOWN)
            tl_host_text_unknown(&disk->texts[i], why);
        else if (record->kind == TL_WIRE_RECORD_TEXT)
            tl_host_text_set(&disk->texts[i], record->text);
        else
            return false;
        return true;
    }
    return false;
}
