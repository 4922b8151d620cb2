/* UDP probes beside a transfer: their thread, its start and its end. */
#include "loaded.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "pause.h"
#include "tightlink/base/thread.h"
#include "tightlink/base/time.h"
#include "tightlink/base/wake.h"
#include "tightlink/engine/far.h"

/* 25 small datagrams a second: 30 kb/s, which a thin way back for acknowledgements still bears. */
#define INTERVAL_NS (40 * TL_NS_PER_MS)
/* Before the load some probes travel alone: the least of their delays is what the load is measured
 * by, and where others send some of them wait: in half of that time they missed bursts of 0.3 s,
 * and others passed for a shaper. They follow the proof of their tuple, which takes two round
 * trips; a test loads nothing before it was asked for, its connections were opened and it was
 * started, which takes three and a half. */
#define ALONE_NS (250 * TL_NS_PER_MS)

struct tl_loaded {
    pthread_t thread;
    struct tl_far *far;
    struct tl_echo_spec spec;
    struct tl_echo_result result;
    enum tl_status status;
    bool stopped;
};

static void *run(void *context)
{
    struct tl_loaded *loaded = context;
    loaded->status = tl_far_echo(loaded->far, &loaded->spec, &loaded->result, NULL);
    return NULL;
}

static void lead(const struct tl_probe *probe)
{
    int64_t rtt_ns = tl_far_info(probe->far)->connect_rtt_ns;
    int64_t ns = ALONE_NS - (rtt_ns > 0 ? 3 * rtt_ns / 2 : 0);
    tl_probe_pause(probe, ns);
}

struct tl_loaded *tl_loaded_start(const struct tl_probe *probe, int64_t duration_ns)
{
    /* The train itself leaves the control connection alone. */
    struct tl_loaded *loaded = calloc(1, sizeof *loaded);
    if (!loaded || tl_far_wake(probe->far, NULL) != TL_OK) {
        free(loaded);
        return NULL;
    }
    int64_t interval_ns = duration_ns / (TL_ECHO_MAX - 100);
    loaded->far = probe->far;
    loaded->spec =
        (struct tl_echo_spec){.count = TL_ECHO_MAX,
                              .interval_ns = interval_ns > INTERVAL_NS ? interval_ns : INTERVAL_NS,
                              .cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                              .beside_test = true};
    if (loaded->spec.cancel_fd >= 0 && tl_thread_start(&loaded->thread, run, loaded) == 0) {
        lead(probe);
        return loaded;
    }
    if (loaded->spec.cancel_fd >= 0)
        close(loaded->spec.cancel_fd);
    free(loaded);
    return NULL;
}

const struct tl_echo_result *tl_loaded_stop(struct tl_loaded *loaded)
{
    if (loaded && !loaded->stopped) {
        tl_wake(loaded->spec.cancel_fd);
        pthread_join(loaded->thread, NULL);
        loaded->stopped = true;
    }
    return loaded && loaded->status == TL_OK ? &loaded->result : NULL;
}

void tl_loaded_finish(struct tl_loaded *loaded, int64_t from_ns, int64_t to_ns,
                      struct tl_echo_load *ret_load)
{
    const struct tl_echo_result *echo = tl_loaded_stop(loaded);
    *ret_load = (struct tl_echo_load){NAN, NAN, NAN, NAN, NAN, NAN};
    if (!loaded)
        return;
    if (echo)
        tl_echo_load(echo, from_ns, to_ns, ret_load);
    close(loaded->spec.cancel_fd);
    free(loaded);
}
