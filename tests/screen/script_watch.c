/* Transfers that run, made by hand for the screens that show them; finding a script, and its
 * end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

static const struct tl_app_live_row running[] = {
    {.cookie = 1,
     .local = "192.0.2.10:51234",
     .peer = "203.0.113.9:443",
     .program = "curl (4711)",
     .file = "/home/ada/disk.img",
     .file_written = true,
     .direction = TL_DOWNLOAD,
     .now_bps = 96.1e6,
     .mean_bps = 96.1e6,
     .app_ratio = NAN,
     .sndbuf_ratio = NAN,
     .rwnd_ratio = NAN,
     .network_ratio = NAN,
     .queue_ratio = 0.01,
     .rtt_ns = 42e6,
     .retrans_ratio = NAN,
     .held_ratio = 1,
     .cpu_ratio = 0.08,
     .thread_ratio = 0.07,
     .file_bps = 95.8e6,
     .disk_read_bps = 0,
     .disk_write_bps = 91e6,
     .state = TL_LIMITED,
     .confidence = 0.8,
     .cause = "receive-window",
     .says =
         "This PC limits the download to 96.1 Mb/s. This PC accepts too little data at once for "
         "such a distance.",
     .moved = true,
     .was = "sender-app"},
    {.cookie = 2,
     .local = "192.0.2.10:40022",
     .peer = "[2001:db8::17]:22",
     .program = "scp (4802)",
     .group = "backup.service",
     .file = "/srv/\033[31mred\033[0m.tar",
     .direction = TL_UPLOAD,
     .now_bps = 12.4e6,
     .mean_bps = 12.4e6,
     .app_ratio = 0.05,
     .sndbuf_ratio = 0.1,
     .rwnd_ratio = 0.25,
     .network_ratio = 0.6,
     .queue_ratio = NAN,
     .rtt_ns = 18e6,
     .retrans_ratio = 0.012,
     .held_ratio = 0.9,
     .cpu_ratio = 0.97,
     .thread_ratio = 0.96,
     .file_bps = 12.3e6,
     .disk_read_bps = NAN,
     .disk_write_bps = NAN,
     .state = TL_INCONCLUSIVE,
     .says = "We do not know yet what holds the upload at 12.4 Mb/s."},
    {.cookie = 3,
     .local = "192.0.2.10:40100",
     .peer = "198.51.100.200:50000",
     .direction = TL_UPLOAD,
     .now_bps = 0,
     .mean_bps = 2000,
     .app_ratio = 1,
     .sndbuf_ratio = 0,
     .rwnd_ratio = 0,
     .network_ratio = 0,
     .queue_ratio = NAN,
     .rtt_ns = 9e6,
     .retrans_ratio = 0,
     .cpu_ratio = NAN,
     .thread_ratio = NAN,
     .file_bps = NAN,
     .disk_read_bps = NAN,
     .disk_write_bps = NAN,
     .ended = true,
     .state = TL_INCONCLUSIVE}};

void scene_add_running(struct scene *scene)
{
    struct tl_app_live_sum sum = {.sent_bps = 12.6e6,
                                  .received_bps = 96.1e6,
                                  .flows_count = 3,
                                  .short_count = 2,
                                  .left_out = "connections shorter than 250 ms: needs root"};
    scene->state.watch.on = true;
    tui_watch_take(&scene->state, running, 3, &sum);
}

/* A sender whose receiver's window fills after 20 s. */
void scene_add_seconds(struct scene *scene)
{
    struct tl_app_live_series *series = &scene->state.watch.series;
    scene_add_running(scene);
    for (size_t i = 0; i < 45; i++) {
        double full = i > 20 ? 0.9 : 0.1;
        series->rate_bps[i] = i == 30 ? NAN : i > 20 ? 12.4e6 : 30e6 + 2e6 * sin((double)i);
        series->rtt_ns[i] = 18e6 + 1e6 * (double)(i % 3);
        series->retrans_ratio[i] = i % 9 ? 0 : 0.02;
        series->inflight_bytes[i] = i > 20 ? 65536 : 70000 + 1000 * (double)i;
        series->window_bytes[i] = i > 20 ? 65536 : 262144;
        series->rwnd_ratio[i] = full;
        series->sndbuf_ratio[i] = 0.05;
        series->network_ratio[i] = 0.9 - full;
        series->app_ratio[i] = 0.05;
        series->queue_ratio[i] = NAN;
    }
    series->count = 45;
}

const struct script *script_named(const char *name)
{
    const struct script *script = scripts;
    while (script->name && strcmp(script->name, name) != 0)
        script++;
    if (!script->name)
        abort();
    return script;
}

void scene_finish(struct scene *scene)
{
    tl_redactor_destroy(scene->redactor);
    tl_buf_finish(&scene->preview);
    tl_samples_finish(&scene->samples);
    if (scene->has_fixture)
        fixture_finish(&scene->fixture);
}
