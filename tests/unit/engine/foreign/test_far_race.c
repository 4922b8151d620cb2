/* Addresses of one name, raced: who answers first is taken, and nobody waits for who is silent. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "far_socket.h"
#include "tightlink/base/time.h"
#include "tightlink/base/wake.h"

#define SILENT_MAX 4 /* connections that fill a queue of none */

struct place {
    struct sockaddr_storage address;
    struct addrinfo info;
    int fd, fillers[SILENT_MAX];
};

/* A socket at that address, on a port of its own or that one, which refuses connections; false
 * where there is no such address. */
static bool refuse_at(struct place *place, const char *address, uint16_t port)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found;
    char text[8];
    (void)snprintf(text, sizeof text, "%u", port);
    cr_assert_eq(getaddrinfo(address, text, &hints, &found), 0);
    memset(place, 0, sizeof *place);
    memcpy(&place->address, found->ai_addr, found->ai_addrlen);
    socklen_t len = found->ai_addrlen;
    place->info = (struct addrinfo){.ai_family = found->ai_family,
                                    .ai_addrlen = len,
                                    .ai_addr = (struct sockaddr *)&place->address};
    freeaddrinfo(found);
    memset(place->fillers, -1, sizeof place->fillers);
    place->fd = socket(place->info.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return place->fd >= 0 && bind(place->fd, place->info.ai_addr, len) == 0 &&
           getsockname(place->fd, place->info.ai_addr, &len) == 0;
}

/* The same, and it listens. */
static bool listen_at(struct place *place, const char *address, uint16_t port)
{
    return refuse_at(place, address, port) && listen(place->fd, 0) == 0;
}

/* Its queue is full: further connections get no answer (tcp_conn_request() drops their SYN). */
static void silence(struct place *place)
{
    for (int i = 0; i < SILENT_MAX; i++) {
        place->fillers[i] =
            socket(place->info.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)!connect(place->fillers[i], place->info.ai_addr, place->info.ai_addrlen);
    }
}

static void leave(struct place *place)
{
    for (int i = 0; i < SILENT_MAX; i++)
        if (place->fillers[i] >= 0)
            close(place->fillers[i]);
    if (place->fd >= 0)
        close(place->fd);
}

static bool was_called(const struct place *place)
{
    int fd = accept4(place->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static int64_t timeout_ns = TL_NS_PER_S;

static enum tl_status race(struct place *places, size_t count, int cancel_fd,
                           struct place **ret_winner, int64_t *ret_ns, struct tl_error *error)
{
    struct far_peer peer = {
        .host = "srv", .port = 80, .cancel_fd = cancel_fd, .timeout_ns = timeout_ns};
    int fd = -1;
    for (size_t i = 0; i + 1 < count; i++)
        places[i].info.ai_next = &places[i + 1].info;
    int64_t begun_ns = tl_now_ns();
    enum tl_status status = far_race(&peer, &places[0].info, &fd, error);
    *ret_ns = tl_now_ns() - begun_ns;
    *ret_winner = NULL;
    for (size_t i = 0; status == TL_OK && i < count; i++)
        if (memcmp(&peer.info.peer, &places[i].address, places[i].info.ai_addrlen) == 0)
            *ret_winner = &places[i];
    if (fd >= 0)
        close(fd);
    return status;
}

Test(far_race, who_answers_first_keeps_the_others_uncalled, .timeout = 240)
{
    struct place places[2], *winner;
    struct tl_error error = {0};
    int64_t ns;
    cr_assert(listen_at(&places[0], "127.0.0.1", 0) && listen_at(&places[1], "127.0.0.2", 0));
    cr_assert_eq(race(places, 2, -1, &winner, &ns, &error), TL_OK, "%s", error.text);
    cr_expect_eq(winner, &places[0]);
    cr_expect(!was_called(&places[1]));
    leave(&places[0]);
    leave(&places[1]);
}

Test(far_race, a_silent_address_costs_its_head_start_alone, .timeout = 240)
{
    struct place places[2], *winner;
    struct tl_error error = {0};
    int64_t ns;
    cr_assert(listen_at(&places[0], "127.0.0.1", 0) && listen_at(&places[1], "127.0.0.2", 0));
    silence(&places[0]);
    timeout_ns = 30 * TL_NS_PER_S;
    cr_assert_eq(race(places, 2, -1, &winner, &ns, &error), TL_OK, "%s", error.text);
    cr_expect_eq(winner, &places[1]);
    cr_expect_geq(ns, 250 * TL_NS_PER_MS);
    cr_expect_lt(ns, timeout_ns / 2); /* which its time would be */
    leave(&places[0]);
    leave(&places[1]);
}

Test(far_race, a_refused_address_costs_nothing, .timeout = 240)
{
    struct place places[2], *winner;
    struct tl_error error = {0};
    int64_t ns;
    int64_t least_ns = INT64_MAX;
    cr_assert(refuse_at(&places[0], "127.0.0.1", 0) && listen_at(&places[1], "127.0.0.2", 0));
    for (int i = 0; i < 5; i++) { /* the quickest: a busy machine may hold up the others */
        cr_assert_eq(race(places, 2, -1, &winner, &ns, &error), TL_OK, "%s", error.text);
        cr_expect_eq(winner, &places[1]);
        cr_expect(was_called(&places[1])); /* and has room for the next call */
        least_ns = ns < least_ns ? ns : least_ns;
    }
    cr_expect_lt(least_ns, 240 * TL_NS_PER_MS);
    leave(&places[0]);
    leave(&places[1]);
}

Test(far_race, the_families_take_turns, .timeout = 240)
{
    struct place places[3], *winner;
    struct tl_error error = {0};
    int64_t ns;
    cr_assert(listen_at(&places[0], "127.0.0.1", 0) && listen_at(&places[1], "127.0.0.2", 0));
    if (!listen_at(&places[2], "::1", 0))
        cr_skip_test("no IPv6 here");
    silence(&places[0]);
    cr_assert_eq(race(places, 3, -1, &winner, &ns, &error), TL_OK, "%s", error.text);
    cr_expect_eq(winner, &places[2]);
    cr_expect(!was_called(&places[1]));
    for (int i = 0; i < 3; i++)
        leave(&places[i]);
}

Test(far_race, where_nobody_answers_each_has_its_time_and_a_cancel_ends_it, .timeout = 240)
{
    struct place places[2], *winner;
    struct tl_error error = {0};
    int64_t ns;
    cr_assert(listen_at(&places[0], "127.0.0.1", 0) && refuse_at(&places[1], "127.0.0.2", 0));
    silence(&places[0]);
    cr_expect_eq(race(places, 2, -1, &winner, &ns, &error), TL_TIMEOUT);
    cr_expect_str_eq(error.text,
                     "srv port 80: it does not answer; a firewall may drop what is sent there");
    cr_expect_geq(ns, TL_NS_PER_S);
    cr_expect_lt(ns, 10 * TL_NS_PER_S);
    timeout_ns = 30 * TL_NS_PER_S;
    int cancel_fd = eventfd(0, EFD_CLOEXEC);
    tl_wake(cancel_fd);
    cr_expect_eq(race(places, 2, cancel_fd, &winner, &ns, &error), TL_CANCELLED);
    cr_expect_lt(ns, timeout_ns / 2);
    close(cancel_fd);
    leave(&places[0]);
}
