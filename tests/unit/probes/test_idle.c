/* What is seen before any load, against a responder on loopback: other programs' traffic, and the
 * probes that travel alone before a test. */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../engine/far_end.h"
#include "idle.h"
#include "loaded.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/far.h"

struct scene {
    struct far_end far;
    struct tl_probe probe;
};

static void begin(struct scene *scene)
{
    struct tl_error error = {0};
    *scene = (struct scene){.probe.cancel_fd = -1};
    start_far(&scene->far, NULL);
    struct tl_far_options options = {
        .reach = {
            .host = "127.0.0.1", .port = scene->far.port, .cancel_fd = -1, .program = "test 1"}};
    cr_assert_eq(tl_far_connect(TL_FAR_TIGHTLINK, &options, &scene->probe.far, &error), TL_OK, "%s",
                 error.text);
    scene->probe.facts = tl_facts_create();
    cr_assert(scene->probe.facts);
}

static void end(struct scene *scene)
{
    tl_far_close(scene->probe.far);
    tl_facts_destroy(scene->probe.facts);
    stop_far(&scene->far);
}

/* What another program would send over loopback. Returns the bytes. */
static uint64_t send_as_another(void)
{
    static const char datagram[1000];
    struct sockaddr_in nobody = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(9)};
    uint64_t bytes = 0;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    cr_assert(fd >= 0);
    for (int i = 0; i < 200; i++)
        if (sendto(fd, datagram, sizeof datagram, 0, (struct sockaddr *)&nobody, sizeof nobody) > 0)
            bytes += sizeof datagram;
    close(fd);
    return bytes;
}

Test(idle, traffic_of_other_programs_is_counted, .timeout = 60)
{
    struct scene scene;
    struct tl_idle_watch watch;
    begin(&scene);
    tl_idle_begin(&scene.probe, &watch);
    uint64_t bytes = send_as_another();
    tl_idle_end(&scene.probe, &watch);
    double most_s = (double)(tl_now_ns() - watch.before.taken_ns) / 1e9;
    double rx_bps = tl_facts_number(scene.probe.facts, TL_NEAR(other_rx_bps), -1);
    double tx_bps = tl_facts_number(scene.probe.facts, TL_NEAR(other_tx_bps), -1);
    cr_expect_gt(bytes, 100000);
    cr_expect_geq(rx_bps, 8 * (double)bytes / most_s);
    cr_expect_geq(tx_bps, 8 * (double)bytes / most_s);
    end(&scene);
}

Test(idle, a_short_look_is_made_long_enough_and_a_cancelled_one_is_not, .timeout = 60)
{
    struct scene scene;
    struct tl_idle_watch watch;
    int cancel[2];
    begin(&scene);
    tl_idle_begin(&scene.probe, &watch);
    tl_idle_end(&scene.probe, &watch);
    cr_expect_geq(tl_now_ns() - watch.before.taken_ns, TL_IDLE_WATCH_NS);
    cr_assert_eq(pipe(cancel), 0);
    cr_assert_eq(write(cancel[1], "x", 1), 1);
    scene.probe.cancel_fd = cancel[0];
    tl_idle_begin(&scene.probe, &watch);
    watch.before.taken_ns += 3600000 * MS; /* an hour to go */
    tl_idle_end(&scene.probe, &watch);     /* ends at once, or the test does */
    close(cancel[0]);
    close(cancel[1]);
    end(&scene);
}

Test(loaded, some_probes_travel_alone_before_the_load, .timeout = 60)
{
    struct scene scene;
    begin(&scene);
    struct tl_loaded *loaded = tl_loaded_start(&scene.probe, 5000 * MS);
    int64_t under_way_ns = tl_now_ns();
    cr_assert(loaded);
    const struct tl_echo_result *echo = tl_loaded_stop(loaded);
    unsigned alone = 0;
    for (unsigned i = 0; echo && i < echo->sent_count; i++)
        alone += echo->start_ns + echo->probes[i].sent_ns <= under_way_ns;
    /* Six in a quarter of a second, 40 ms apart; a busy machine may start the train late. */
    cr_expect_geq(alone, 3, "%u probes", alone);
    tl_loaded_finish(loaded, 0, 1, &(struct tl_echo_load){0});
    end(&scene);
}
