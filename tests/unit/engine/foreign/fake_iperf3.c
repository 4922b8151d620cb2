/* A strict iperf3 server for tests: fake_iperf3.h. */
#include "fake_iperf3.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../loopback.h"
#include "tightlink/base/time.h"

#define COOKIE_BYTES 37
#define JSON_MAX     8192
#define PAYLOAD_MS   100 /* until it breaks off, where its mood is so */

static bool take(int fd, void *into, size_t len)
{
    return recv(fd, into, len, MSG_WAITALL) == (ssize_t)len;
}

static void say(int fd, int state)
{
    int8_t byte = (int8_t)state;
    (void)!send(fd, &byte, 1, MSG_NOSIGNAL);
}

static bool take_json(int fd, char text[JSON_MAX])
{
    uint32_t len;
    if (!take(fd, &len, sizeof len) || ntohl(len) >= JSON_MAX || !take(fd, text, ntohl(len)))
        return false;
    text[ntohl(len)] = '\0';
    return true;
}

static void give_json(int fd, const char *text, uint32_t announced)
{
    uint32_t len = htonl(announced);
    (void)!send(fd, &len, sizeof len, MSG_NOSIGNAL);
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

int fake_number_of(const char *json, const char *key)
{
    const char *at = strstr(json, key);
    return at ? atoi(at + strlen(key)) : 0;
}

/* What a real one reads of the parameters; a key that it does not know is a mistake of ours. */
static bool check_parameters(const char *json)
{
    static const char *const known[] = {
        "\"tcp\":true",     "\"omit\":0",    "\"time\":", "\"num\":0",
        "\"blockcount\":0", "\"parallel\":", "\"len\":"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strstr(json, known[i]))
            return false;
    return fake_number_of(json, "\"time\":") > 0 && fake_number_of(json, "\"parallel\":") > 0;
}

struct session {
    struct fake_iperf3 *fake;
    int control, data[FAKE_STREAMS_MAX],
        streams; /* of both directions: those that it reads come first */
    bool reverse, both;
    uint64_t bytes[FAKE_STREAMS_MAX];
    struct fake_udp *udp; /* NULL: a TCP test */
};

static bool open_streams(struct session *s, const char cookie[COOKIE_BYTES])
{
    char theirs[COOKIE_BYTES];
    for (int i = 0; i < s->streams; i++) {
        s->data[i] = accept4(s->fake->listener, NULL, NULL, SOCK_CLOEXEC);
        if (s->data[i] < 0 || !take(s->data[i], theirs, sizeof theirs) ||
            memcmp(theirs, cookie, sizeof theirs) != 0)
            return false;
    }
    return true;
}

/* Those are new clients to it, and it is busy. */
static void turn_away(struct session *s)
{
    for (int i = 0; i < s->streams; i++) {
        int fd = accept4(s->fake->listener, NULL, NULL, SOCK_CLOEXEC);
        say(fd, -1);
        close(fd);
    }
}

static bool sends(const struct session *s, int stream)
{
    return s->both ? stream >= s->streams / 2 : s->reverse;
}

/* A thread that was held up reads of each stream what waits for it before it hears the end. */
static void take_some(struct session *s)
{
    char payload[4096];
    for (int i = 0; i < s->streams; i++) {
        ssize_t n =
            sends(s, i) || s->bytes[i] > 0 ? 0 : recv(s->data[i], payload, sizeof payload, 0);
        s->bytes[i] += n > 0 ? (uint64_t)n : 0;
        s->fake->received_bytes += n > 0 ? (uint64_t)n : 0;
    }
}

static bool is_reset(ssize_t n)
{
    return n < 0 && (errno == ECONNRESET || errno == EPIPE);
}

/* Moves payload until the client says something or ms are over: whether it said TEST_END. */
static bool move(struct session *s, int ms)
{
    static char payload[65536];
    bool favours = s->fake->mood == FAKE_FAVOURS;
    int64_t until_ns = tl_now_ns() + ms * TL_NS_PER_MS;
    for (;;) {
        struct pollfd fds[FAKE_STREAMS_MAX + 1] = {{.fd = s->control, .events = POLLIN}};
        for (int i = 0; i < s->streams; i++)
            fds[i + 1] =
                (struct pollfd){.fd = s->data[i], .events = sends(s, i) ? POLLOUT : POLLIN};
        bool reads = s->fake->mood != FAKE_READS_LATE;
        (void)poll(fds, reads ? (nfds_t)s->streams + 1 : 1, 10);
        if (fds[0].revents) {
            int8_t state;
            bool ends = take(s->control, &state, 1) && state == 4;
            if (ends)
                take_some(s);
            return ends;
        }
        if (ms >= 0 && tl_now_ns() >= until_ns)
            return false;
        for (int i = 0; i < s->streams; i++) {
            size_t len = favours && i > 0 ? sizeof payload / 64 : sizeof payload;
            ssize_t n = !fds[i + 1].revents ? 0
                        : sends(s, i) ? send(s->data[i], payload, len, MSG_DONTWAIT | MSG_NOSIGNAL)
                                      : recv(s->data[i], payload, sizeof payload, MSG_DONTWAIT);
            if (favours && is_reset(n))
                return false;
            s->bytes[i] += n > 0 ? (uint64_t)n : 0;
            if (n > 0)
                *(sends(s, i) && s->both ? &s->fake->sent_bytes : &s->fake->received_bytes) +=
                    (uint64_t)n;
            if (fds[i + 1].revents && n == 0)
                (void)poll(NULL, 0, 5);
        }
    }
}

static void give_results(struct session *s)
{
    char text[JSON_MAX];
    enum fake_mood mood = s->fake->mood;
    int len = snprintf(text, sizeof text,
                       "{\"cpu_util_total\":1.5,\"cpu_util_user\":0.1,\"cpu_util_system\":1.4,"
                       "\"sender_has_retransmits\":%d,\"congestion_used\":\"cubic\",\"streams\":[",
                       s->reverse);
    if (s->udp)
        fake_udp_result(s->udp, text + len, sizeof text - (size_t)len);
    for (int i = 0; i < s->streams && !s->udp; i++) {
        long long bytes = mood == FAKE_NEGATIVE_RESULTS   ? -5
                          : mood == FAKE_INFLATED_RESULTS ? (long long)s->bytes[i] * 1000
                                                          : (long long)s->bytes[i];
        s->fake->told_bytes[i] = s->bytes[i];
        len += snprintf(text + len, sizeof text - (size_t)len,
                        "%s{\"id\":%d,\"bytes\":%lld,\"retransmits\":%s,\"jitter\":0,\"errors\":0,"
                        "\"packets\":0,\"start_time\":0,\"end_time\":1.0}",
                        i ? "," : "", i == 0 ? 1 : i + 2, bytes,
                        sends(s, i) ? "3" : "18446744073709551615");
    }
    len = (int)strlen(text);
    snprintf(text + len, sizeof text - (size_t)len, "]}");
    if (mood == FAKE_ENDLESS_RESULTS)
        give_json(s->control, text, UINT32_MAX);
    else if (mood == FAKE_HTML_RESULTS)
        give_json(s->control, "<html>no</html>", 15);
    else
        give_json(s->control, text, (uint32_t)strlen(text));
}

static void finish(struct session *s)
{
    char text[JSON_MAX];
    int8_t state;
    for (int i = 0; i < s->streams; i++) {
        close(s->data[i]);
        s->data[i] = -1;
    }
    say(s->control, 13);
    if (!take_json(s->control, text))
        return;
    s->fake->results_fine = strstr(text, "\"streams\":[{\"id\":1,\"bytes\":") != NULL;
    if (s->udp)
        fake_udp_drain(s->udp, (uint64_t)fake_number_of(text, "\"packets\":"));
    give_results(s);
    say(s->control, 14);
    if (take(s->control, &state, 1))
        s->fake->done_said = state == 16;
}

static void run_udp(struct session *s, const char *json)
{
    int burst = fake_number_of(json, "\"burst\":");
    struct fake_udp udp = {.fake = s->fake,
                           .burst = burst > 0 && s->fake->mood != FAKE_UDP_EVEN ? burst : 1,
                           .control = s->control,
                           .fd = -1,
                           .reverse = strstr(json, "\"reverse\":true") != NULL,
                           .len = fake_number_of(json, "\"len\":"),
                           .rate_bps = fake_number_of(json, "\"bandwidth\":")};
    s->fake->parameters_fine = fake_udp_check(json);
    s->udp = &udp;
    if (fake_udp_listen(&udp)) {
        say(s->control, 10);
        if (fake_udp_accept(&udp)) {
            say(s->control, 1);
            say(s->control, 2);
            if (fake_udp_move(&udp))
                finish(s);
        }
    }
    s->udp = NULL;
    if (udp.fd >= 0)
        close(udp.fd);
}

/* SERVER_ERROR with the numbers of the mood, if it has some. */
static bool refuse(struct session *s)
{
    static const struct {
        enum fake_mood mood;
        uint32_t own, system; /* system 0: 3.12 tells none */
    } refusals[] = {{FAKE_DENIES_USER, 142, 0},
                    {FAKE_DENIES_BY_ANOTHERS, 114, ENOTCONN},
                    {FAKE_REFUSES_LENGTH, 37, 0},
                    {FAKE_HAS_NO_SOCKETS, 204, EMFILE},
                    {FAKE_HAS_A_NEW_ERROR, 999, 0x80000000}};
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        uint32_t numbers[2] = {htonl(refusals[i].own), htonl(refusals[i].system)};
        if (refusals[i].mood != s->fake->mood)
            continue;
        say(s->control, -2);
        (void)!send(s->control, numbers, refusals[i].system ? 8 : 4, MSG_NOSIGNAL);
        return true;
    }
    return false;
}

static void run_test(struct session *s, const char cookie[COOKIE_BYTES])
{
    char json[JSON_MAX];
    enum fake_mood mood = s->fake->mood;
    if (!take_json(s->control, json)) /* a greeting only: it closed */
        return;
    if (strstr(json, "\"udp\":true")) {
        run_udp(s, json);
        return;
    }
    s->fake->parameters_fine = check_parameters(json);
    if (refuse(s))
        return;
    s->streams = fake_number_of(json, "\"parallel\":");
    s->reverse = strstr(json, "\"reverse\":true") != NULL;
    s->both = strstr(json, "\"bidirectional\":true") && mood != FAKE_ONE_WAY;
    s->streams *= s->both ? 2 : 1;
    if (s->streams > FAKE_STREAMS_MAX)
        return;
    say(s->control, 10);
    if (!open_streams(s, cookie))
        return;
    if (mood == FAKE_ONE_WAY && strstr(json, "\"bidirectional\":true"))
        turn_away(s);
    say(s->control, 1);
    say(s->control, 2);
    bool stops = mood == FAKE_STOPS || mood == FAKE_TERMINATES;
    if (!move(s, stops ? PAYLOAD_MS : -1)) {
        if (mood == FAKE_TERMINATES)
            say(s->control, 11);
        return;
    }
    finish(s);
}

static void serve(struct fake_iperf3 *fake, int control)
{
    char cookie[COOKIE_BYTES];
    struct session session = {.fake = fake, .control = control};
    int number = ++fake->connections;
    bool busy =
        number > 1 && (fake->mood == FAKE_BUSY || (fake->mood == FAKE_BUSY_TWICE && number <= 3));
    for (int i = 0; i < FAKE_STREAMS_MAX; i++)
        session.data[i] = -1;
    if (busy) {
        say(control, -1);
    } else if (fake->mood == FAKE_OTHER_PROGRAM) {
        (void)!send(control, "SSH-2.0-x\r\n", 11, MSG_NOSIGNAL);
        (void)poll(NULL, 0, 100);
    } else if (take(control, cookie, sizeof cookie) && cookie[COOKIE_BYTES - 1] == '\0') {
        if (fake->mood != FAKE_SILENT || number == 1)
            say(control, 9);
        run_test(&session, cookie);
    }
    for (int i = 0; i < FAKE_STREAMS_MAX; i++)
        if (session.data[i] >= 0)
            close(session.data[i]);
    close(control);
}

static void *main_of(void *context)
{
    struct fake_iperf3 *fake = context;
    for (;;) {
        int control = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC);
        if (control < 0 && errno == EINTR)
            continue;
        if (control < 0)
            return NULL;
        serve(fake, control);
    }
}

void fake_iperf3_start(struct fake_iperf3 *fake, enum fake_mood mood)
{
    memset(fake, 0, sizeof *fake);
    fake->mood = mood;
    fake->listener = loopback_listen(NULL, &fake->port);
    cr_assert_eq(pthread_create(&fake->thread, NULL, main_of, fake), 0);
}

void fake_iperf3_stop(struct fake_iperf3 *fake)
{
    (void)shutdown(fake->listener, SHUT_RDWR);
    pthread_join(fake->thread, NULL);
    close(fake->listener);
}
