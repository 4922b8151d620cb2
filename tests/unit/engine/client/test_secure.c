/* Key mode from end to end over loopback: who gets in, what is told, what is refused. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keyed_far_end.h"
#include "loopback.h"
#include "tightlink/base/key.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/client.h"
#include "tightlink/engine/responder.h"

#define MS INT64_C(1000000)

#define SECRET_1 "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define SECRET_2 "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static bool knows_kernel(struct tl_client *client)
{
    static struct tl_host_settings settings;
    struct tl_error error = {0};
    cr_assert_eq(tl_client_host(client, &settings, &error), TL_OK, "%s", error.text);
    for (unsigned i = 0; i < TL_HOST_TEXT_COUNT; i++)
        if (strcmp(tl_host_text_field(i)->name, "kernel") == 0)
            return settings.texts[i].why == TL_HOST_WHY_KNOWN;
    return false;
}

Test(secure, the_right_key_opens_the_whole_audit, .timeout = 120)
{
    struct far_end far;
    struct tl_error error = {0};
    struct tl_client *client = NULL;
    far_end_start(&far, "other " SECRET_2 "\nlab-1 " SECRET_1 "\n", false, false);
    struct tl_keys *mine = keys_of("lab-1 " SECRET_1 "\n");
    cr_assert_eq(far_end_dial(&far, mine, &client, &error), TL_OK, "%s", error.text);
    cr_expect(tl_client_info(client)->keyed);
    cr_expect(knows_kernel(client));
    for (int i = 0; i < 50; i++)
        cr_assert_eq(tl_client_ping(client, NULL, &error), TL_OK, "%s", error.text);
    tl_client_close(client);
    far_end_stop(&far);
    cr_expect(strstr(far.log, "key lab-1"), "%s", far.log);
    tl_keys_destroy(mine);
}

static enum tl_status short_test(struct tl_client *client, struct tl_error *error)
{
    static struct tl_tcp_result result;
    struct tl_tcp_spec spec = {.streams = 1, .duration_ns = 200 * MS, .interval_ns = 10 * MS};
    enum tl_status status = tl_client_tcp_test(client, &spec, NULL, NULL, &result, error);
    tl_tcp_result_finish(&result);
    return status;
}

/* Who comes with that key after a reload, which takes a moment. */
static enum tl_status dial_until(struct far_end *far, const struct tl_keys *keys,
                                 enum tl_status wanted, struct tl_client **ret_client)
{
    enum tl_status status = TL_OK;
    struct tl_error error;
    for (int i = 0; i < 100; i++) {
        status = far_end_dial(far, keys, ret_client, &error);
        if (status == wanted)
            break;
        if (status == TL_OK)
            tl_client_close(*ret_client);
        poll(NULL, 0, 20);
    }
    return status;
}

Test(secure, keys_are_read_again_and_sessions_live_on, .timeout = 120)
{
    struct far_end far;
    struct tl_error error = {0};
    struct tl_client *kept = NULL, *gone = NULL, *late = NULL;
    far_end_start(&far, "kept " SECRET_1 "\ngone " SECRET_1 "\n", false, false);
    struct tl_keys *key_kept = keys_of("kept " SECRET_1 "\n");
    struct tl_keys *key_gone = keys_of("gone " SECRET_1 "\n");
    struct tl_keys *key_new = keys_of("new " SECRET_2 "\n");
    cr_assert_eq(far_end_dial(&far, key_kept, &kept, &error), TL_OK, "%s", error.text);
    cr_assert_eq(far_end_dial(&far, key_gone, &gone, &error), TL_OK, "%s", error.text);
    tl_responder_reload(far.responder); /* cannot be read: nothing changes */
    cr_expect_eq(tl_client_ping(gone, NULL, &error), TL_OK, "%s", error.text);
    cr_expect_eq(short_test(gone, &error), TL_OK, "%s", error.text);
    far.later = "kept " SECRET_1 "\nnew " SECRET_2 "\n";
    tl_responder_reload(far.responder);
    tl_client_close(kept); /* two sessions an address */
    cr_expect_eq(dial_until(&far, key_new, TL_OK, &late), TL_OK, "the new key is not known");
    cr_expect_eq(tl_client_ping(gone, NULL, &error), TL_OK, "%s", error.text);
    cr_expect_eq(short_test(gone, &error), TL_AUTH, "%s", error.text);
    cr_expect_eq(short_test(late, &error), TL_OK, "%s", error.text);
    tl_client_close(gone);
    cr_expect_eq(far_end_dial(&far, key_gone, &gone, &error), TL_AUTH, "%s", error.text);
    cr_assert_eq(far_end_dial(&far, key_kept, &kept, &error), TL_OK, "%s", error.text);
    tl_client_close(kept);
    tl_client_close(late);
    far_end_stop(&far);
    cr_expect(strstr(far.log, "the keys stay as they are"), "%s", far.log);
    tl_keys_destroy(key_kept);
    tl_keys_destroy(key_gone);
    tl_keys_destroy(key_new);
}

/* Samples and readings come back through TLS while data flows beside it. */
Test(secure, a_test_runs_and_its_end_is_signed, .timeout = 120)
{
    struct far_end far;
    struct tl_error error = {0};
    struct tl_client *client = NULL;
    far_end_start(&far, "lab-1 " SECRET_1 "\n", false, false);
    struct tl_keys *mine = keys_of("lab-1 " SECRET_1 "\n");
    cr_assert_eq(far_end_dial(&far, mine, &client, &error), TL_OK, "%s", error.text);
    static struct tl_tcp_result result;
    struct tl_tcp_spec spec = {.streams = 8, .duration_ns = 700 * MS, .interval_ns = 10 * MS};
    cr_expect_eq(tl_client_tcp_test(client, &spec, NULL, NULL, &result, &error), TL_OK, "%s",
                 error.text);
    cr_expect(result.end_signed);
    cr_expect_gt(result.receiver.bytes, 0);
    cr_expect_gt(result.sender.logs[7].count, 1, "one would be the last alone");
    tl_tcp_result_finish(&result);
    tl_client_close(client);
    far_end_stop(&far);
    tl_keys_destroy(mine);
}

Test(secure, a_wrong_secret_or_name_is_an_authentication_failure, .timeout = 120)
{
    static const char *const wrong[] = {"lab-1 " SECRET_2 "\n", "lab-2 " SECRET_1 "\n"};
    for (int i = 0; i < 2; i++) {
        struct far_end far;
        struct tl_error error = {0};
        struct tl_client *client = NULL;
        far_end_start(&far, "lab-1 " SECRET_1 "\n", true, false);
        struct tl_keys *mine = keys_of(wrong[i]);
        cr_expect_eq(far_end_dial(&far, mine, &client, &error), TL_AUTH, "%s", error.text);
        cr_expect(strstr(error.text, i == 0 ? "lab-1" : "lab-2"), "%s", error.text);
        cr_expect_null(client);
        far_end_stop(&far);
        tl_keys_destroy(mine);
    }
}

Test(secure, no_key_where_one_is_wanted_is_told, .timeout = 120)
{
    struct far_end far;
    struct tl_error error = {0};
    struct tl_client *client = NULL;
    far_end_start(&far, "lab-1 " SECRET_1 "\n", false, false);
    cr_expect_eq(far_end_dial(&far, NULL, &client, &error), TL_AUTH, "%s", error.text);
    cr_expect(strstr(error.text, "--key"), "%s", error.text);
    far_end_stop(&far);
}

Test(secure, open_mode_beside_keys_stays_reticent, .timeout = 120)
{
    struct far_end far;
    struct tl_error error = {0};
    struct tl_client *client = NULL;
    far_end_start(&far, "lab-1 " SECRET_1 "\n", true, false);
    cr_assert_eq(far_end_dial(&far, NULL, &client, &error), TL_OK, "%s", error.text);
    cr_expect_not(tl_client_info(client)->keyed);
    cr_expect_not(knows_kernel(client));
    tl_client_close(client);
    far_end_stop(&far);
}

Test(secure, a_key_for_a_responder_without_keys_is_told, .timeout = 120)
{
    struct far_end far;
    struct tl_error error = {0};
    struct tl_client *client = NULL;
    far_end_start(&far, NULL, true, false);
    struct tl_keys *mine = keys_of("lab-1 " SECRET_1 "\n");
    cr_expect_eq(far_end_dial(&far, mine, &client, &error), TL_AUTH, "%s", error.text);
    cr_expect(strstr(error.text, "without --key") || strstr(error.text, "leave out --key"), "%s",
              error.text);
    far_end_stop(&far);
    tl_keys_destroy(mine);
}

/* From an address of another network than a friend's. */
static int connect_from(const char *source, int port)
{
    struct sockaddr_in from = {.sin_family = AF_INET}, at = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_port = htons((uint16_t)port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    cr_assert_eq(inet_pton(AF_INET, source, &from.sin_addr), 1);
    cr_assert_eq(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

/* How many of them the far end has ended. */
static int count_ended(const int *fds, int count)
{
    int ended = 0;
    for (int i = 0; i < count; i++) {
        struct pollfd one = {.fd = fds[i], .events = POLLIN};
        ended += poll(&one, 1, 0) == 1;
    }
    return ended;
}

/* Handshakes of one network that stop in their first record: they hold no place of a handshake, so
 * that none has to go, and a friend gets in. */
Test(secure, stalled_handshakes_keep_nobody_out, .timeout = 240)
{
    enum { STALLED = 200 };
    static const uint8_t start_of_record[] = {0x16, 0x03, 0x01, 0x02, 0x00, 0x01};
    struct far_end far;
    struct tl_error error = {0};
    struct tl_client *client = NULL;
    int fds[STALLED];
    far_end_start(&far, "lab-1 " SECRET_1 "\n", false, false);
    for (int i = 0; i < STALLED; i++) {
        fds[i] = connect_from("127.66.1.1", tl_responder_port(far.responder));
        (void)!send(fds[i], start_of_record, sizeof start_of_record, MSG_NOSIGNAL);
    }
    struct tl_keys *mine = keys_of("lab-1 " SECRET_1 "\n");
    cr_expect_eq(far_end_dial(&far, mine, &client, &error), TL_OK, "%s", error.text);
    tl_client_close(client);
    cr_expect_eq(count_ended(fds, STALLED), 0);
    for (int i = 0; i < STALLED; i++)
        close(fds[i]);
    far_end_stop(&far);
    tl_keys_destroy(mine);
}

/* Bytes that begin as TLS and go on as noise. */
Test(secure, noise_after_the_first_byte_is_dropped, .timeout = 240)
{
    struct far_end far;
    far_end_start(&far, "lab-1 " SECRET_1 "\n", false, false);
    unsigned seed = 1;
    for (int i = 0; i < 300; i++) {
        uint8_t noise[600];
        for (size_t k = 0; k < sizeof noise; k++)
            noise[k] = (uint8_t)rand_r(&seed);
        noise[0] = 0x16;
        noise[1] = 3;
        noise[2] = (uint8_t)(i % 5);
        noise[3] = 0;
        noise[4] = (uint8_t)(i % 256);
        int fd = loopback_connect(tl_responder_port(far.responder), NULL);
        (void)!send(fd, noise, sizeof noise, MSG_NOSIGNAL);
        close(fd);
    }
    struct tl_error error = {0};
    struct tl_client *client = NULL;
    struct tl_keys *mine = keys_of("lab-1 " SECRET_1 "\n");
    cr_expect_eq(far_end_dial(&far, mine, &client, &error), TL_OK, "%s", error.text);
    tl_client_close(client);
    far_end_stop(&far);
    tl_keys_destroy(mine);
}
