/* Disks over the network: the far end's disk, transfers between disks and memories, and what
 * is said of payload that was changed on its way. A real responder in process, on loopback. */
#include <criterion/criterion.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "loopback.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/client_disk.h"
#include "tightlink/engine/responder.h"
#include "transfer_check.h"

#define MS         INT64_C(1000000)
#define AREA_BYTES (UINT64_C(32) << 20)

static char folder[64];
static struct tl_responder *responder;
static pthread_t responder_thread;

static void *serve(void *arg)
{
    struct tl_error error;
    cr_assert_eq(tl_responder_run(arg, &error), TL_OK);
    return NULL;
}

static void start(const char *directory)
{
    struct tl_error error;
    struct tl_responder_options options = {.bind_address = "127.0.0.1",
                                           .disk_directory = directory};
    cr_assert_eq(tl_responder_create(&options, &responder, &error), TL_OK, "%s", error.text);
    cr_assert_eq(pthread_create(&responder_thread, NULL, serve, responder), 0);
}

static void start_open(void)
{
    snprintf(folder, sizeof folder, "/var/tmp/tightlink-test-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    start(folder);
}

static void stop(void)
{
    tl_responder_stop(responder);
    pthread_join(responder_thread, NULL);
    tl_responder_destroy(responder);
    cr_assert_eq(rmdir(folder), 0, "something was left behind");
}

static struct tl_client *dial(int port, int cancel_fd)
{
    struct tl_client *client = NULL;
    struct tl_error error;
    struct tl_client_options options = {
        .host = "127.0.0.1", .port = port, .cancel_fd = cancel_fd, .program = "test 1"};
    cr_assert_eq(tl_client_connect(&options, &client, &error), TL_OK, "%s", error.text);
    return client;
}

static struct tl_disk_area *make_source(void)
{
    struct tl_disk_area_spec spec = {.directory = folder, .bytes = AREA_BYTES};
    struct tl_disk_area *area = NULL;
    struct tl_disk_result result;
    struct tl_disk_spec write = {.operation = TL_DISK_WRITE,
                                 .duration_ns = 20000 * MS,
                                 .max_bytes = AREA_BYTES,
                                 .cancel_fd = -1};
    struct tl_error error = {0};
    cr_assert_eq(tl_disk_area_create(&spec, &area, &error), TL_OK, "%s", error.text);
    cr_assert_eq(tl_disk_test(area, &write, NULL, NULL, &result, &error), TL_OK, "%s", error.text);
    return area;
}

TestSuite(transfer, .init = start_open, .fini = stop, .timeout = 240);

Test(transfer, the_far_disk_is_tested_where_it_was_opened)
{
    struct tl_client *client = dial(tl_responder_port(responder), -1);
    struct tl_disk_far far;
    struct tl_error error = {0};
    /* Some blocks, however long a busy machine takes for the first. */
    struct tl_disk_spec spec = {
        .duration_ns = 20000 * MS, .max_bytes = 8 * TL_DISK_BLOCK_BYTES, .threads = 2};
    cr_assert_eq(tl_client_disk_test(client, &spec, &far, &error), TL_OK, "%s", error.text);
    cr_expect_gt(far.write.rate_bps, 0);
    cr_expect_gt(far.read.rate_bps, 0);
    cr_expect_gt(far.write.bytes, 0);
    cr_expect_eq(far.write.threads, 2);
    cr_expect_gt(far.write.p50_ns, 0);
    cr_expect_geq(far.area_bytes, (uint64_t)TL_DISK_BYTES_MIN);
    cr_expect_neq(far.host.numbers[TL_HOST_DISK_IN_MEMORY].why, TL_HOST_WHY_NOT_READ);
    /* And again, in the same area. */
    cr_assert_eq(tl_client_disk_test(client, &spec, &far, &error), TL_OK, "%s", error.text);
    tl_client_close(client);
}

#define MATRIX_BYTES 20000000 /* of one cell: some blocks of each stream */

static const char *check(const struct tl_tcp_result *result, const struct tl_tcp_spec *spec)
{
    if (!result->end_signed || result->end != TL_TCP_END_BYTES)
        return "it did not end with its last byte";
    if (result->check.wrong_count > 0 || result->check.checked_bytes == 0)
        return "checksums";
    if (result->check.checked_bytes > result->sender.bytes)
        return "more checked than sent";
    if (result->near_disk.disk != (spec->near_disk != NULL) ||
        result->far_disk.disk != spec->far_disk)
        return "whose disk it was";
    if (spec->near_disk && result->near_disk.disk_bytes == 0)
        return "bytes of the near disk";
    if (spec->far_disk && result->far_disk.disk_bytes == 0)
        return "bytes of the far disk";
    if (result->receiver.bytes != MATRIX_BYTES)
        return "bytes";
    return NULL;
}

static void run_matrix(struct tl_client *client, struct tl_disk_area *area, unsigned streams)
{
    struct tl_tcp_result *result = calloc(1, sizeof *result);
    for (int cell = 0; cell < 8; cell++) {
        struct tl_tcp_spec spec = {.direction = cell & 1 ? TL_WIRE_UPLOAD : TL_WIRE_DOWNLOAD,
                                   .streams = streams,
                                   .duration_ns = 20000 * MS,
                                   .max_bytes = MATRIX_BYTES,
                                   .file = true,
                                   .near_disk = cell & 2 ? area : NULL,
                                   .far_disk = cell & 4};
        struct tl_error error = {0};
        enum tl_status status = tl_client_tcp_test(client, &spec, NULL, NULL, result, &error);
        cr_assert_eq(status, TL_OK, "cell %d: %s", cell, error.text);
        const char *wrong = check(result, &spec);
        cr_assert_null(wrong, "cell %d, %u streams: %s", cell, streams, wrong);
        tl_tcp_result_finish(result);
    }
    free(result);
}

Test(transfer, all_ways_between_disks_and_memories)
{
    struct tl_disk_area *area = make_source();
    struct tl_client *client = dial(tl_responder_port(responder), -1);
    run_matrix(client, area, 1);
    run_matrix(client, area, 4);
    tl_client_close(client);
    tl_disk_area_release(area);
}

Test(transfer, ends_at_its_bytes_with_all_of_them_on_the_disk)
{
    struct tl_disk_area *area = make_source();
    struct tl_client *client = dial(tl_responder_port(responder), -1);
    struct tl_tcp_result *result = calloc(1, sizeof *result);
    for (int direction = 0; direction < 2; direction++) {
        struct tl_tcp_spec spec = {.direction = direction ? TL_WIRE_UPLOAD : TL_WIRE_DOWNLOAD,
                                   .streams = 1,
                                   .duration_ns = 20000 * MS,
                                   .max_bytes = 10000001, /* in the middle of a block */
                                   .file = true,
                                   .near_disk = area,
                                   .far_disk = true};
        struct tl_error error = {0};
        enum tl_status status = tl_client_tcp_test(client, &spec, NULL, NULL, result, &error);
        cr_assert_eq(status, TL_OK, "%s", error.text);
        cr_expect_eq(result->end, TL_TCP_END_BYTES, "%d", (int)result->end);
        cr_expect_eq(result->receiver.bytes, 10000001);
        cr_expect_eq(result->check.wrong_count, 0);
        cr_expect_geq(result->check.checked_bytes, 9900000);
        tl_tcp_result_finish(result);
    }
    free(result);
    tl_client_close(client);
    tl_disk_area_release(area);
}

Test(transfer, a_source_without_data_is_refused)
{
    struct tl_disk_area_spec area_spec = {.directory = folder, .bytes = AREA_BYTES};
    struct tl_disk_area *area = NULL;
    cr_assert_eq(tl_disk_area_create(&area_spec, &area, NULL), TL_OK);
    struct tl_client *client = dial(tl_responder_port(responder), -1);
    struct tl_tcp_result *result = calloc(1, sizeof *result);
    struct tl_tcp_spec spec = {.direction = TL_WIRE_UPLOAD,
                               .streams = 1,
                               .duration_ns = 500 * MS,
                               .file = true,
                               .near_disk = area};
    struct tl_error error = {0};
    cr_expect_eq(tl_client_tcp_test(client, &spec, NULL, NULL, result, &error), TL_RANGE);
    cr_expect_not_null(strstr(error.text, "too little"), "%s", error.text);
    tl_tcp_result_finish(result);
    spec.streams = 9;
    cr_expect_eq(tl_client_tcp_test(client, &spec, NULL, NULL, result, &error), TL_RANGE);
    tl_tcp_result_finish(result);
    free(result);
    tl_client_close(client);
    tl_disk_area_release(area);
}

Test(transfer, a_cancelled_one_leaves_the_responder_ready)
{
    struct tl_tcp_result *result = calloc(1, sizeof *result);
    int cancel_fd = eventfd(0, EFD_CLOEXEC);
    struct tl_client *client = dial(tl_responder_port(responder), cancel_fd);
    struct tl_tcp_spec spec = {.direction = TL_WIRE_DOWNLOAD,
                               .streams = 1,
                               .duration_ns = 60000 * MS,
                               .file = true,
                               .far_disk = true};
    struct tl_error error = {0};
    cr_assert_eq(eventfd_write(cancel_fd, 1), 0); /* while the far disk is prepared */
    int64_t from_ns = tl_now_ns();
    cr_expect_eq(tl_client_tcp_test(client, &spec, NULL, NULL, result, &error), TL_CANCELLED);
    cr_expect_lt(tl_now_ns() - from_ns, 20000 * MS, "long before its time");
    tl_tcp_result_finish(result);
    tl_client_close(client);
    struct tl_client *next = dial(tl_responder_port(responder), -1);
    spec.duration_ns = 300 * MS;
    enum tl_status status = tl_client_tcp_test(next, &spec, NULL, NULL, result, &error);
    cr_expect_eq(status, TL_OK, "%s", error.text);
    tl_tcp_result_finish(result);
    tl_client_close(next);
    close(cancel_fd);
    free(result);
}

/* --- Without a directory ---------------------------------------------------------------------- */

Test(transfer_closed, is_refused_with_what_to_do, .timeout = 120)
{
    struct tl_tcp_result *result = calloc(1, sizeof *result);
    struct tl_disk_far far;
    struct tl_error error = {0};
    start(NULL);
    struct tl_client *client = dial(tl_responder_port(responder), -1);
    struct tl_disk_spec disk = {.duration_ns = 200 * MS};
    cr_expect_eq(tl_client_disk_test(client, &disk, &far, &error), TL_DENIED);
    cr_expect_not_null(strstr(error.text, "--disk DIR"), "%s", error.text);
    struct tl_tcp_spec spec = {.direction = TL_WIRE_UPLOAD,
                               .streams = 1,
                               .duration_ns = 300 * MS,
                               .file = true,
                               .far_disk = true};
    cr_expect_eq(tl_client_tcp_test(client, &spec, NULL, NULL, result, &error), TL_DENIED);
    tl_tcp_result_finish(result);
    /* The session goes on. */
    spec.far_disk = false;
    enum tl_status status = tl_client_tcp_test(client, &spec, NULL, NULL, result, &error);
    cr_expect_eq(status, TL_OK, "%s", error.text);
    tl_tcp_result_finish(result);
    tl_client_close(client);
    tl_responder_stop(responder);
    pthread_join(responder_thread, NULL);
    tl_responder_destroy(responder);
    free(result);
}

/* --- Corruption --------------------------------------------------------------------------------
 */

/* A middlebox that repairs TCP's checksum after it changed a byte: it passes connections on,
 * and damages byte DAMAGE_AT of what the second one carries towards the client. */
#define DAMAGE_AT (3 * TL_TRANSFER_BLOCK_BYTES + 1000)

struct middlebox {
    int listener, port, far_port;
    pthread_t thread, relays[4];
    int count;
};

struct relay {
    int near, far;
    bool damages;
};

static bool pass(int from, int to, bool damage, uint64_t *count)
{
    static _Thread_local unsigned char bytes[65536];
    ssize_t got = recv(from, bytes, sizeof bytes, 0);
    if (got <= 0)
        return false;
    if (damage && *count <= DAMAGE_AT && DAMAGE_AT < *count + (uint64_t)got)
        bytes[DAMAGE_AT - *count] ^= 0x10;
    *count += (uint64_t)got;
    for (ssize_t at = 0; at < got;) {
        ssize_t put = send(to, bytes + at, (size_t)(got - at), MSG_NOSIGNAL);
        if (put <= 0)
            return false;
        at += put;
    }
    return true;
}

static void *relay_main(void *arg)
{
    struct relay relay = *(struct relay *)arg;
    uint64_t up = 0, down = 0;
    free(arg);
    struct pollfd fds[2] = {{.fd = relay.near, .events = POLLIN},
                            {.fd = relay.far, .events = POLLIN}};
    for (bool on = true; on && poll(fds, 2, 30000) > 0;) {
        if (fds[0].revents)
            on = pass(relay.near, relay.far, false, &up);
        if (on && fds[1].revents)
            on = pass(relay.far, relay.near, relay.damages, &down);
    }
    close(relay.near);
    close(relay.far);
    return NULL;
}

static void *middlebox_main(void *arg)
{
    struct middlebox *box = arg;
    for (box->count = 0; box->count < 2; box->count++) {
        struct relay *relay = malloc(sizeof *relay);
        relay->near = accept4(box->listener, NULL, NULL, SOCK_CLOEXEC);
        relay->far = loopback_connect(box->far_port, NULL);
        relay->damages = box->count == 1;
        cr_assert_eq(pthread_create(&box->relays[box->count], NULL, relay_main, relay), 0);
    }
    return NULL;
}

Test(transfer, a_changed_byte_is_found_and_placed)
{
    struct middlebox box = {.far_port = tl_responder_port(responder)};
    box.listener = loopback_listen(NULL, &box.port);
    cr_assert_eq(pthread_create(&box.thread, NULL, middlebox_main, &box), 0);
    struct tl_client *client = dial(box.port, -1);
    struct tl_tcp_result *result = calloc(1, sizeof *result);
    struct tl_tcp_spec spec = {.direction = TL_WIRE_DOWNLOAD,
                               .streams = 1,
                               .duration_ns = 50000 * MS,
                               .max_bytes = 20 * TL_TRANSFER_BLOCK_BYTES,
                               .file = true,
                               .far_disk = true};
    struct tl_error error = {0};
    (void)!tl_client_tcp_test(client, &spec, NULL, NULL, result, &error);
    cr_expect_gt(result->check.checked_bytes, 4 * TL_TRANSFER_BLOCK_BYTES, "%s", error.text);
    cr_expect_eq(result->check.wrong_count, 1);
    /* The head of the connection is a DATA_OK of 12 bytes. */
    cr_expect_eq(result->check.first_wrong_bytes, 3 * TL_TRANSFER_BLOCK_BYTES);
    tl_tcp_result_finish(result);
    tl_client_close(client);
    pthread_join(box.thread, NULL);
    for (int i = 0; i < box.count; i++)
        pthread_join(box.relays[i], NULL);
    close(box.listener);
    free(result);
}

static void add(struct transfer_check *checks, bool near, uint32_t block, uint32_t bytes,
                uint32_t crc)
{
    struct transfer_sum sum = {block, bytes, crc};
    transfer_check_add(checks, 0, near, &sum);
}

Test(transfer_check, compares_what_both_ends_had)
{
    struct transfer_check *checks = transfer_check_create(2);
    struct tl_transfer_check result;
    add(checks, false, 1, 100, 7); /* the far end may be first */
    add(checks, true, 0, 100, 5);
    add(checks, true, 1, 100, 7);
    transfer_check_result(checks, &result);
    cr_expect_eq(result.checked_bytes, 100);
    add(checks, false, 0, 100, 6);
    add(checks, false, 0, 100, 5); /* told twice */
    add(checks, true, 2, 50, 1);
    add(checks, false, 2, 40, 1); /* cut: says nothing */
    add(checks, false, 3, 100, 1);
    add(checks, false, UINT32_MAX, 100, 1);
    add(checks, true, UINT32_MAX, 100, 1);
    transfer_check_result(checks, &result);
    cr_expect_eq(result.checked_bytes, 200);
    cr_expect_eq(result.wrong_count, 1);
    cr_expect_eq(result.first_wrong_bytes, 0);
    transfer_check_add(checks, 2, true, &(struct transfer_sum){0, 1, 1}); /* no such stream */
    transfer_check_destroy(checks);
    transfer_check_destroy(NULL);
}
