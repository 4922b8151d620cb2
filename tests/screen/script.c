/* Screens made by hand. The numbers are those of a 512 KiB receive buffer over 42 ms. */
#include "script.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

static const struct tl_session_config config = {.download = true, .goal_bps = 900e6};

/* --- start --- */

static const struct tl_session_stage plan[] = {
    {"hosts", "settings and interface of both ends", "always", "responder", false, false,
     1000000000, 16000},
    {"path", "round trip, loss", "always", "responder", false, false, 1000000000, 16000},
    {"mtu", "packet sizes", "always", "responder", false, false, 4000000000, 1000000},
    {"stream", "one stream as hosts are set", "first", "responder", true, true, 6000000000,
     600000000},
    {"streams", "several streams", "when wanted", "responder", true, true, 6000000000, 700000000},
    {"udp", "datagrams at rising rates", "when wanted", "responder", true, true, 9000000000,
     90000000},
    {"disk", "the disk here", "when asked for", "directory", false, true, 20000000000, 0},
    {"verify", "try the remedy", "when asked for", "responder", true, true, 6000000000, 600000000},
};

static void with_plan(struct tui_state *state)
{
    struct tui_start *start = &state->start;
    snprintf(start->target, sizeof start->target, "srv-b.example.net");
    start->has_preview = true;
    start->preview.count = sizeof plan / sizeof *plan;
    memcpy(start->preview.stages, plan, sizeof plan);
    start->preview.time_ns = 25000000000;
    start->preview.bytes = 1500000000;
}

/* --- run --- */

static void say(struct tui_state *state, struct tl_event event, const char *stage, const char *text)
{
    snprintf(event.stage, sizeof event.stage, "%s", stage);
    snprintf(event.text, sizeof event.text, "%s", text);
    if (event.kind == TL_EVENT_STAGE_END)
        snprintf(event.record.id, sizeof event.record.id, "%s", stage);
    tui_state_event(state, &event);
}

static void connected(struct tui_state *state)
{
    static const char *const stages[] = {"hosts", "path", "mtu", "stream", "streams", "udp"};
    with_plan(state);
    tui_state_begin(state, 0);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        say(state, (struct tl_event){.kind = TL_EVENT_PLAN, .expected_ns = 6e9}, stages[i],
            i < 3 ? "always" : "may be wanted");
    say(state, (struct tl_event){.kind = TL_EVENT_PLAN, .stage_state = TL_STAGE_OFF}, "disk",
        "only when asked for");
    say(state,
        (struct tl_event){.kind = TL_EVENT_STAGE_END,
                          .bytes = 20000,
                          .record = {.state = TL_STAGE_DONE, .duration_ns = 1000000000}},
        "hosts", "");
    say(state,
        (struct tl_event){.kind = TL_EVENT_STAGE_END,
                          .record = {.state = TL_STAGE_FAILED,
                                     .duration_ns = 1000000000,
                                     .reason = "no datagram came back"}},
        "path", "");
    say(state,
        (struct tl_event){.kind = TL_EVENT_CONSENT, .worst_bytes = 1500000000, .expected_ns = 25e9},
        "",
        "This loads the path to its limit for up to 25 s and sends at most 1.5 GB; others on the "
        "same path may notice.");
    state->run.now_ns = 2000000000;
}

static struct tl_event live_at(int i)
{
    struct tl_probe_live live = {.rate_bps = i < 6 ? 16e6 * i : 96.1e6 + 3e6 * sin(i),
                                 .rtt_ns = 42e6 + 1e6 * (i % 3),
                                 .elapsed_ns = 1e8 * i,
                                 .bytes = 1.2e6 * i,
                                 .low_bps = (double)NAN,
                                 .high_bps = (double)NAN,
                                 .retrans_count = i / 20,
                                 .cwnd_bytes = 1900000,
                                 .snd_wnd_bytes = 524288,
                                 .app_ratio = 0,
                                 .sndbuf_ratio = 0.03,
                                 .rwnd_ratio = 0.91,
                                 .network_ratio = 0.06};
    if (i == 25) /* one reading failed: a gap, not a zero */
        live.rate_bps = live.rtt_ns = (double)NAN;
    return (struct tl_event){.kind = TL_EVENT_LIVE,
                             .has_direction = true,
                             .rate_bps = live.rate_bps,
                             .elapsed_ns = live.elapsed_ns,
                             .live = live};
}

static void streaming(struct tui_state *state)
{
    connected(state);
    (void)tui_state_key(state, 'y');
    say(state,
        (struct tl_event){.kind = TL_EVENT_STAGE_START, .has_direction = true, .expected_ns = 6e9},
        "stream", "first");
    for (int i = 0; i < 40; i++)
        say(state, live_at(i), "stream",
            "the receive window is full 91 % of the time (not yet confirmed)");
    say(state,
        (struct tl_event){.kind = TL_EVENT_READING, .verdict = TL_INCONCLUSIVE, .bytes = 20000}, "",
        "Cannot tell yet what holds the download.");
    state->run.now_ns = 7000000000;
}

static void hostile(struct tui_state *state)
{
    with_plan(state);
    tui_state_begin(state, 0);
    snprintf(state->title, sizeof state->title,
             "\033]0;evil\a\xe2\x80\xae"
             "moc.elpmaxe");
    say(state, (struct tl_event){.kind = TL_EVENT_NOTE}, "",
        "\033[2Jqueued \xff behind 文字 others");
}

static void nothing(struct tui_state *state)
{
    (void)state;
}

/* --- what the fixtures lack --- */

static void add_hops(struct scene *scene)
{
    static const struct tl_hop_record hops[] = {
        {1, "10.0.0.1", "gw.lan", 5, 5, 0.4e6, 0.6e6, 2.1e6, 0.7e6, ""},
        {2, "", "", 5, 0, NAN, NAN, NAN, NAN, ""},
        {3, "198.51.100.1", "core-1.example.net", 5, 5, 8e6, 9e6, 10e6, 9e6, ""},
        {4, "203.0.113.33", "", 5, 2, 12e6, 12e6, 15e6, NAN, "answers limited, not loss"},
        {5, "203.0.113.9", "srv-b.example.net", 5, 5, 41.8e6, 42.1e6, 44e6, 43e6, ""}};
    struct tl_run *run = &scene->result.run;
    memcpy(run->hops, hops, sizeof hops);
    run->hop_count = sizeof hops / sizeof *hops;
}

static void add_verified(struct scene *scene)
{
    scene->result.run.verified[0] = (struct tl_verified_record){.rule = "receive-window",
                                                                .what = "receive buffer of 16 MiB",
                                                                .predicted_bps = 930e6,
                                                                .measured_bps = 912.4e6,
                                                                .hit = true};
    scene->result.run.verified_count = 1;
}

static void verified(struct scene *scene)
{
    add_verified(scene);
    tui_state_verified(&scene->state, &scene->result);
}

/* The rate of the run that has ended stays in the plots. */
static void ran(struct tui_state *state)
{
    streaming(state);
    say(state,
        (struct tl_event){.kind = TL_EVENT_STAGE_END,
                          .has_direction = true,
                          .record = {.state = TL_STAGE_DONE, .duration_ns = 6000000000}},
        "stream", "");
    say(state, (struct tl_event){.kind = TL_EVENT_DONE}, "", "");
}

const struct script scripts[] = {
    {"start-empty", "Start, nothing typed yet", NULL, nothing, "", NULL},
    {"start", "Start, with the plan", NULL, with_plan, "\t\t\t\t", NULL},
    {"consent", "The question before the path is loaded", NULL, connected, "", NULL},
    {"run", "Run", NULL, streaming, "", NULL},
    {"run-ended", "Run, once it has ended", "limited", ran, "2", NULL},
    {"run-saved", "Run, of a saved file", "limited", nothing, "2", NULL},
    {"stage", "One stage: samples with a cursor", "limited", ran, "2\n<<", NULL},
    {"budget", "Another budget while it runs", NULL, streaming, "b", NULL},
    {"budget-more", "More than was agreed to", NULL, streaming, "b\b\b\b\b\b\b\b3GB\n", NULL},
    {"stop", "Leaving while a diagnosis runs", NULL, streaming, "q", NULL},
    {"verdict", "Verdict", "limited", nothing, "", NULL},
    {"verdict-live", "Verdict, after a run", "limited", ran, "", NULL},
    {"fix", "Verdict, after f", "limited", nothing, "f", NULL},
    {"simple", "Explained simply", "limited", nothing, "x", NULL},
    {"engineer", "Explained for an engineer", "limited", nothing, "xx", NULL},
    {"next", "The next cause", "limited", nothing, "n", NULL},
    {"causes", "Why not the others", "limited", nothing, "w", NULL},
    {"cause", "Why not one of them", "limited", nothing, "wj\n", NULL},
    {"causes-filter", "The others, filtered", "limited", nothing, "w/buffer", NULL},
    {"verify", "Prediction against result", "limited", nothing, "", verified},
    {"inconclusive", "Verdict, nothing found", "inconclusive", nothing, "", NULL},
    {"simple-inconclusive", "Nothing found, explained simply", "inconclusive", nothing, "x", NULL},
    {"invalid", "Verdict, a disturbed run", "invalid", nothing, "", NULL},
    {"goal-met", "Verdict, the goal is met", "goal-met", nothing, "", NULL},
    {"path", "Path", "limited", nothing, "4jjj", add_hops},
    {"path-chart", "Path, round trips as a chart", "limited", ran, "4cf", add_hops},
    {"path-private", "Path, names hidden", "limited", nothing, "4x", add_hops},
    {"path-empty", "Path, no routers", "limited", nothing, "4", NULL},
    {"hop", "One hop", "limited", nothing, "4jjj\n", add_hops},
    {"help", "Help", "limited", nothing, "?", NULL},
    {"hostile", "What a hostile far end says", NULL, hostile, "", NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL}};

void scene_make(const struct script *script, struct scene *ret_scene)
{
    memset(ret_scene, 0, sizeof *ret_scene);
    tui_state_init(&ret_scene->state, &config);
    script->prepare(&ret_scene->state);
    if (!script->fixture)
        return;
    ret_scene->has_fixture = fixture_make(script->fixture, &ret_scene->fixture);
    if (!ret_scene->has_fixture)
        abort();
    ret_scene->result = (struct tl_session_result){.run = ret_scene->fixture.run,
                                                   .facts = ret_scene->fixture.facts,
                                                   .findings = &ret_scene->fixture.findings};
    tui_state_result(&ret_scene->state, &ret_scene->result);
    if (script->add)
        script->add(ret_scene);
}

void scene_play(const struct script *script, struct scene *scene, int rows, int cols, bool utf8,
                struct tl_buf *out)
{
    struct tui_grid grid;
    if (tui_grid_init(&grid, rows, cols, utf8) != TL_OK)
        abort();
    tui_view(&scene->state, &grid);
    for (const char *key = script->keys; *key; key++) {
        (void)tui_state_key(&scene->state, *key == '\b' ? TUI_KEY_BACKSPACE : (unsigned char)*key);
        tui_view(&scene->state, &grid);
    }
    tui_grid_text(&grid, out);
    tui_grid_finish(&grid);
}

void scene_finish(struct scene *scene)
{
    if (scene->has_fixture)
        fixture_finish(&scene->fixture);
}
