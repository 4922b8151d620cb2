/* The client against what else may listen on a port: strangers, the silent, the hostile. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>

#include "loopback.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/client.h"

#define MS INT64_C(1000000)

static struct tl_client_options options_for(int port)
{
    return (struct tl_client_options){
        .host = "127.0.0.1", .port = port, .timeout_ns = 700 * MS, .cancel_fd = -1};
}

/* A listener that says one thing to one client and then waits for it to go. */
struct speaker {
    int listener, port;
    const void *words;
    size_t len;
    bool after_line; /* speaks only once a line end came */
    bool hang_up;    /* closes at once behind its words */
    pthread_t thread;
};

static void *speak(void *arg)
{
    struct speaker *speaker = arg;
    char heard[8192];
    int fd = accept(speaker->listener, NULL, NULL);
    if (fd < 0)
        return NULL;
    bool line = false;
    while (speaker->after_line && !line) {
        ssize_t got = recv(fd, heard, sizeof(heard), 0);
        if (got <= 0)
            break;
        line = memchr(heard, '\n', (size_t)got) != NULL;
    }
    if (speaker->len > 0)
        (void)!send(fd, speaker->words, speaker->len, MSG_NOSIGNAL);
    while (!speaker->hang_up && recv(fd, heard, sizeof(heard), 0) > 0)
        ;
    close(fd);
    return NULL;
}

static void start_speaker(struct speaker *speaker, const void *words, size_t len)
{
    speaker->words = words;
    speaker->len = len;
    speaker->listener = loopback_listen(NULL, &speaker->port);
    cr_assert_eq(pthread_create(&speaker->thread, NULL, speak, speaker), 0);
}

static void stop_speaker(struct speaker *speaker)
{
    shutdown(speaker->listener, SHUT_RDWR);
    pthread_join(speaker->thread, NULL);
    close(speaker->listener);
}

static void expect(struct speaker *speaker, enum tl_status wanted, const char *word)
{
    struct tl_client *client = NULL;
    struct tl_error error = {0};
    struct tl_client_options options = options_for(speaker->port);
    enum tl_status status = tl_client_connect(&options, &client, &error);
    cr_assert_eq(status, wanted, "%s: %s", tl_status_name(status), error.text);
    cr_assert_null(client);
    cr_assert(strstr(error.text, word), "\"%s\" lacks \"%s\"", error.text, word);
    stop_speaker(speaker);
}

Test(client, names_who_else_listens, .timeout = 120)
{
    static const struct {
        const char *words, *name;
        bool after_line;
    } cases[] = {
        {"SSH-2.0-OpenSSH_9.2p1\r\n", "SSH", false},
        {"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP", false},
        {"<!DOCTYPE HTML>\n<html>", "HTTP", true}, /* python3 -m http.server */
        {"220 mail.example.org ESMTP\r\n", "SMTP", false},
        {"\x15\x03\x01\x02\x02\x16", "TLS", false},
        {"\x09", "iperf3", false},
        {"\xff", "iperf3", false},
        {"KO\n", "nuttcp", true},
        {"quite something else", "not with tightlink", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct speaker speaker = {.after_line = cases[i].after_line};
        start_speaker(&speaker, cases[i].words, strlen(cases[i].words));
        expect(&speaker, TL_PROTOCOL, cases[i].name);
    }
}

Test(client, a_port_that_says_nothing_times_out, .timeout = 120)
{
    struct speaker speaker = {.after_line = false};
    start_speaker(&speaker, "", 0);
    expect(&speaker, TL_TIMEOUT, "says nothing");
}

Test(client, a_port_that_hangs_up_is_no_tightlink, .timeout = 120)
{
    struct speaker speaker = {.hang_up = true};
    start_speaker(&speaker, "", 0);
    expect(&speaker, TL_PROTOCOL, "closed the connection without a word");
}

Test(client, errors_of_the_far_end_become_ours_and_are_cleaned, .timeout = 120)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_error wire = {.code = TL_WIRE_E_SESSIONS, .text = "full \x1b[31mred"};
    size_t len = tl_wire_encode_error(&wire, frame);
    struct speaker speaker = {.hang_up = false};
    start_speaker(&speaker, frame, len);
    expect(&speaker, TL_BUSY, "full \\u{1b}[31mred");
    wire = (struct tl_wire_error){.code = TL_WIRE_E_VERSION, .text = "version 9 only"};
    len = tl_wire_encode_error(&wire, frame);
    start_speaker(&speaker, frame, len);
    expect(&speaker, TL_VERSION, "version 9 only");
}

Test(client, a_welcome_to_somebody_else_is_not_believed, .timeout = 120)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_welcome welcome = {
        .version = TL_WIRE_VERSION, .max_seconds = 10, .max_streams = 8, .program = "x"};
    struct speaker speaker = {.hang_up = false};
    start_speaker(&speaker, frame, tl_wire_encode_welcome(&welcome, frame));
    expect(&speaker, TL_PROTOCOL, "not with tightlink"); /* the nonce is not ours */
}

Test(client, nothing_listens, .timeout = 120)
{
    int port, listener = loopback_listen(NULL, &port);
    struct tl_client *client = NULL;
    struct tl_error error;
    close(listener);
    struct tl_client_options options = options_for(port);
    cr_assert_eq(tl_client_connect(&options, &client, &error), TL_REFUSED);
    cr_assert(strstr(error.text, "tightlink serve --open"), "%s", error.text);
}

Test(client, unknown_names_and_wrong_options, .timeout = 120)
{
    struct tl_client *client = NULL;
    struct tl_error error;
    struct tl_client_options options = options_for(5411);
    options.host = "no-such-host.invalid";
    cr_assert_eq(tl_client_connect(&options, &client, &error), TL_NOHOST, "%s", error.text);
    options.host = "::1";
    options.family = 4;
    cr_assert_eq(tl_client_connect(&options, &client, &error), TL_NOHOST, "%s", error.text);
    options.family = 0;
    options.host = "127.0.0.1:5411";
    cr_assert_eq(tl_client_connect(&options, &client, &error), TL_NOHOST, "%s", error.text);
    cr_assert(strstr(error.text, "127.0.0.1 --port 5411"), "%s", error.text);
    options.family = 4;
    char name[400];
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    options.host = name;
    cr_assert_eq(tl_client_connect(&options, &client, &error), TL_NOHOST, "%s", error.text);
    options = options_for(70000);
    cr_assert_eq(tl_client_connect(&options, &client, &error), TL_RANGE);
    options = options_for(5411);
    options.family = 5;
    cr_assert_eq(tl_client_connect(&options, &client, &error), TL_RANGE);
    cr_assert_null(client);
}

Test(client, connecting_can_be_cancelled, .timeout = 120)
{
    struct speaker speaker = {.hang_up = false};
    struct tl_client *client = NULL;
    struct tl_error error;
    start_speaker(&speaker, "", 0);
    struct tl_client_options options = options_for(speaker.port);
    options.timeout_ns = 60000 * MS;
    options.cancel_fd = eventfd(1, EFD_CLOEXEC);
    int64_t from_ns = tl_now_ns();
    cr_assert_eq(tl_client_connect(&options, &client, &error), TL_CANCELLED);
    cr_assert_lt(tl_now_ns() - from_ns, 20000 * MS, "long before its time");
    stop_speaker(&speaker);
    close(options.cancel_fd);
    tl_client_close(NULL);
}
