/* The accept limit, and the responder in process: start, greet, stop. What real clients and
 * attackers see is in tests/faults. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "accept_guard.h"
#include "address.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/responder.h"
#include "tightlink/engine/wire.h"

static struct in6_addr address(const char *text)
{
    struct in6_addr parsed;
    cr_assert_eq(inet_pton(AF_INET6, text, &parsed), 1, "%s", text);
    return parsed;
}

static int count_allowed(struct accept_guard *guard, const char *text, int attempts, int64_t now_ns)
{
    struct in6_addr from = address(text);
    int allowed = 0;
    for (int i = 0; i < attempts; i++)
        allowed += accept_guard_allows(guard, &from, now_ns);
    return allowed;
}

Test(guard, a_neighbourhood_has_its_burst_and_then_its_rate)
{
    struct accept_guard guard;
    cr_assert_eq(accept_guard_init(&guard, 64, 10, 50), TL_OK);
    int64_t now_ns = 5 * TL_NS_PER_S;
    cr_expect_eq(count_allowed(&guard, "::ffff:192.0.2.1", 100, now_ns), 50);
    cr_expect_eq(count_allowed(&guard, "::ffff:192.0.2.250", 100, now_ns), 0, "the same /24");
    cr_expect_eq(count_allowed(&guard, "::ffff:192.0.3.1", 100, now_ns), 50, "another /24");
    cr_expect_eq(count_allowed(&guard, "::ffff:192.0.2.1", 100, now_ns + TL_NS_PER_S), 10);
    cr_expect_eq(count_allowed(&guard, "::ffff:192.0.2.1", 100, now_ns + 60 * TL_NS_PER_S), 50);
    cr_expect_eq(guard.refused, 50 + 100 + 50 + 90 + 50);
    accept_guard_finish(&guard);
}

Test(guard, ipv6_is_counted_by_its_first_56_bits)
{
    struct accept_guard guard;
    cr_assert_eq(accept_guard_init(&guard, 64, 10, 5), TL_OK);
    int64_t now_ns = 5 * TL_NS_PER_S;
    cr_expect_eq(count_allowed(&guard, "2001:db8:0:100::1", 9, now_ns), 5);
    cr_expect_eq(count_allowed(&guard, "2001:db8:0:1ff:1:2:3:4", 9, now_ns), 0, "the same /56");
    cr_expect_eq(count_allowed(&guard, "2001:db8:0:200::1", 9, now_ns), 5, "the next /56");
    accept_guard_finish(&guard);
}

Test(guard, many_prefixes_do_not_grow_the_table_nor_starve_a_new_one)
{
    struct accept_guard guard;
    cr_assert_eq(accept_guard_init(&guard, 64, 10, 5), TL_OK);
    int64_t now_ns = 5 * TL_NS_PER_S;
    char text[64];
    for (int i = 0; i < 100000; i++) {
        snprintf(text, sizeof text, "2001:db8:%x:%x00::1", i >> 8, i & 255);
        cr_assert_eq(count_allowed(&guard, text, 1, now_ns), 1);
    }
    cr_expect_eq(count_allowed(&guard, "::ffff:192.0.2.1", 1, now_ns), 1);
    accept_guard_finish(&guard);
}

Test(guard, a_peer_is_an_ipv4_address_or_an_ipv6_64)
{
    struct in6_addr a = address("2001:db8::1"), b = address("2001:db8::ffff:2"),
                    c = address("2001:db8:0:1::1"), d = address("::ffff:192.0.2.1"),
                    e = address("::ffff:192.0.2.2");
    cr_expect(address_same_peer(&a, &b) && !address_same_peer(&a, &c));
    cr_expect(address_same_peer(&d, &d) && !address_same_peer(&d, &e) &&
              !address_same_peer(&d, &a));
}

static void *run(void *responder)
{
    struct tl_error error;
    return (void *)(intptr_t)tl_responder_run(responder, &error);
}

static int dial(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void read_frame(int fd, uint8_t *bytes, struct tl_wire_frame *ret_frame)
{
    size_t len = 0;
    do {
        ssize_t got = recv(fd, bytes + len, TL_WIRE_FRAME_MAX - len, 0);
        cr_assert(got > 0, "closed instead of a frame");
        len += (size_t)got;
        cr_assert_eq(tl_wire_peek(bytes, len, ret_frame, NULL), TL_OK);
    } while (ret_frame->frame_len == 0);
}

Test(responder, greets_and_says_goodbye_when_it_is_stopped)
{
    struct tl_responder_options options = {.bind_address = "127.0.0.1", .program = "test 1"};
    struct tl_responder *responder;
    struct tl_error error = {0};
    cr_assert_eq(tl_responder_create(&options, &responder, &error), TL_OK, "%s", error.text);
    pthread_t thread;
    pthread_create(&thread, NULL, run, responder);
    int fd = dial(tl_responder_port(responder));
    uint8_t bytes[TL_WIRE_FRAME_MAX];
    struct tl_wire_hello hello = {.version = TL_WIRE_VERSION, .nonce = {"a nonce"}};
    size_t len = tl_wire_encode_hello(&hello, bytes);
    cr_assert_eq(send(fd, bytes, len, 0), (ssize_t)len);
    struct tl_wire_frame frame;
    struct tl_wire_welcome welcome;
    read_frame(fd, bytes, &frame);
    cr_assert_eq(tl_wire_decode_welcome(frame.payload, frame.payload_len, &welcome, &error), TL_OK);
    cr_expect(tl_wire_token_equal(&welcome.nonce, &hello.nonce));
    cr_expect_str_eq(welcome.program, "test 1");
    cr_expect(welcome.max_seconds == 60 && welcome.max_streams == 32);
    cr_expect_eq(welcome.quota_left_bytes, UINT64_MAX);
    int64_t begin_ns = tl_now_ns();
    tl_responder_stop(responder);
    tl_responder_stop(responder);
    void *status;
    pthread_join(thread, &status);
    cr_expect_eq((intptr_t)status, TL_OK);
    cr_expect(tl_now_ns() - begin_ns < 4 * TL_NS_PER_S, "before a silent session would end");
    struct tl_wire_error going;
    read_frame(fd, bytes, &frame);
    cr_assert_eq(frame.type, TL_WIRE_ERROR);
    cr_assert_eq(tl_wire_decode_error(frame.payload, frame.payload_len, &going, NULL), TL_OK);
    cr_expect_eq(going.code, TL_WIRE_E_GOING);
    close(fd);
    tl_responder_destroy(responder);
}

Test(responder, says_why_it_cannot_listen)
{
    struct tl_responder_options options = {.bind_address = "127.0.0.1"};
    struct tl_responder *first, *untouched = NULL;
    struct tl_error error = {0};
    cr_assert_eq(tl_responder_create(&options, &first, &error), TL_OK, "%s", error.text);
    options.port = tl_responder_port(first);
    cr_expect_eq(tl_responder_create(&options, &untouched, &error), TL_BUSY);
    cr_expect(strstr(error.text, "in use"), "%s", error.text);
    options = (struct tl_responder_options){.bind_address = "192.0.2.1"};
    cr_expect_eq(tl_responder_create(&options, &untouched, &error), TL_UNREACHABLE);
    options.bind_address = "banana";
    cr_expect_eq(tl_responder_create(&options, &untouched, &error), TL_SYNTAX);
    cr_expect_null(untouched);
    tl_responder_destroy(first);
    tl_responder_destroy(NULL);
}
