/* Screens made by hand. The numbers are those of a 512 KiB receive buffer over 42 ms. */
#include "script.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

static const struct tl_session_config config = {.download = true, .goal.bps = 900e6};

/* --- run --- */

static void say(struct tui_state *state, struct tl_event event, const char *stage, const char *text)
{
    snprintf(event.stage, sizeof event.stage, "%s", stage);
    snprintf(event.text, sizeof event.text, "%s", text);
    if (event.kind == TL_EVENT_STAGE_END)
        snprintf(event.record.id, sizeof event.record.id, "%s", stage);
    tui_state_event(state, &event);
}

/* The question: before anything is sent, or where the way costs more. */
static void ask(struct tui_state *state, const char *begin)
{
    char text[256];
    snprintf(text, sizeof text,
             "%s This loads the path to its limit for up to 45 s and sends at most 1.5 GB; others "
             "on the same path may notice.",
             begin);
    say(state,
        (struct tl_event){.kind = TL_EVENT_CONSENT, .worst_bytes = 1500000000, .expected_ns = 45e9},
        "", text);
}

static void asked(struct tui_state *state)
{
    start_with_plan(state);
    tui_state_begin(state, 0);
    ask(state, "Nothing has been sent yet.");
}

static void connected(struct tui_state *state)
{
    static const char *const stages[] = {"hosts", "path", "mtu", "stream", "streams", "udp"};
    start_with_plan(state);
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
    ask(state, "It takes more than you agreed to.");
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
    start_with_plan(state);
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
                                                                .predicted = {930e6, NAN, NAN},
                                                                .measured_bps = 912.4e6,
                                                                .score = TL_SCORE_HIT};
    scene->result.run.verified_count = 1;
}

/* As of a run that was opened again, with the readings that were kept of it. */
static void kept(struct scene *scene)
{
    add_hops(scene);
    for (int i = 0; i < 40; i++) {
        const struct tl_event event = live_at(i);
        struct tl_reading reading = {.stage = "stream",
                                     .has_direction = true,
                                     .elapsed_ns = event.live.elapsed_ns,
                                     .rate_bps = event.live.rate_bps,
                                     .rtt_ns = event.live.rtt_ns,
                                     .retrans_count = event.live.retrans_count,
                                     .cwnd_bytes = event.live.cwnd_bytes,
                                     .snd_wnd_bytes = event.live.snd_wnd_bytes,
                                     .rwnd_ratio = 0.91,
                                     .network_ratio = 0.06,
                                     .sndbuf_ratio = 0.03};
        tl_samples_add(&scene->samples, &reading);
    }
    scene->result.samples = &scene->samples;
    tui_state_forget_run(&scene->state);
    tui_state_result(&scene->state, &scene->result);
}

static void verified(struct scene *scene)
{
    add_verified(scene);
    tui_state_verified(&scene->state, &scene->result);
}

/* As a demo's run whose emulator was late. */
static void disturbed(struct scene *scene)
{
    struct tl_run *run = &scene->result.run;
    run->quality = TL_QUALITY_DEGRADED;
    run->reason_count = 1;
    snprintf(
        run->reasons[0], sizeof run->reasons[0],
        "this machine was too busy to emulate that path: one packet in a hundred left it 8.2 ms "
        "late or later");
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

/* --- history and export --- */

static struct tl_history_run stored[] = {
    {.id = "01J9ZKB0000000000000000002",
     .started_ns = INT64_C(1763672280) * 1000000000,
     .target = "srv-b.example.net",
     .target_kind = "tightlink",
     .direction = "download",
     .state = "limited",
     .cause = "capacity",
     .segment = "path",
     .sentence = "The path itself is full: 930 Mb/s is what its slowest link carries.",
     .quality = "valid",
     .confidence = 0.9,
     .measured_bps = 912.4e6,
     .stream_bps = 912.4e6,
     .streams_bps = 921e6,
     .rtt_ns = 42e6,
     .retrans_ratio = 0.0001,
     .fixed_bps = NAN,
     .hit = -1,
     .note = "",
     .tags = "after fix"},
    {.id = "01J9ZKA0000000000000000001",
     .started_ns = INT64_C(1763671260) * 1000000000,
     .target = "srv-b.example.net",
     .target_kind = "tightlink",
     .direction = "download",
     .state = "limited",
     .cause = "receive-window",
     .segment = "near-host",
     .sentence = "This PC limits the download: its TCP receive buffer lets only 512 KiB be on the "
                 "way at once.",
     .quality = "valid",
     .confidence = 0.93,
     .measured_bps = 96.1e6,
     .stream_bps = 96.1e6,
     .streams_bps = 768e6,
     .rtt_ns = 42e6,
     .retrans_ratio = 0,
     .fixed_bps = 930e6,
     .tried_predicted_bps = 930e6,
     .tried_measured_bps = 912.4e6,
     .hit = 1,
     .note = "the accounting PC; \033[31mred\033[0m",
     .tags = "before"},
    {.id = "01J9ZK90000000000000000000",
     .started_ns = INT64_C(1763580000) * 1000000000,
     .target = "backup1",
     .target_kind = "tightlink",
     .direction = "upload",
     .state = "inconclusive",
     .cause = "",
     .segment = "",
     .sentence = "Cannot tell yet what holds the upload at 12.4 Mb/s.",
     .quality = "valid",
     .measured_bps = 12.4e6,
     .stream_bps = 12.4e6,
     .streams_bps = NAN,
     .rtt_ns = NAN,
     .retrans_ratio = NAN,
     .fixed_bps = NAN,
     .hit = -1,
     .note = "",
     .tags = ""}};

static void add_history(struct scene *scene)
{
    scene->list = (struct tl_history_list){.runs = stored, .count = 3, .total = 3};
    scene->state.history.list = &scene->list;
}

static void add_comparison(struct scene *scene)
{
    struct tui_history *history = &scene->state.history;
    struct tl_comparison *comparison = &scene->comparison;
    struct tl_compare_side side = {.target = "srv-b.example.net",
                                   .direction = "download",
                                   .state = "limited",
                                   .quality = "valid",
                                   .fixed_bps = NAN};
    add_history(scene);
    *comparison = (struct tl_comparison){
        .a = side,
        .b = side,
        .same_target = true,
        .verdict_moved = true,
        .rows = {{"download.goodput_bps", "one stream", TL_UNIT_BPS, 96.1e6, 912.4e6, 0, 0, 8.49,
                  8.4, 8.6, TL_BEYOND_YES, "readings"},
                 {"path.rtt_idle_ns", "RTT idle", TL_UNIT_NS, 42e6, 42e6, 0, 0, 0, NAN, NAN,
                  TL_BEYOND_CANNOT_TELL, ""}},
        .row_count = 2,
        .settings = {{"near.tcp_rmem_max_bytes", TL_UNIT_BYTES, 524288, 16777216, "", ""}},
        .setting_count = 1,
        .setting_total = 1,
        .predicted = true,
        .predicted_bps = 930e6,
        .got_bps = 912.4e6,
        .hit = true};
    snprintf(comparison->a.id, sizeof comparison->a.id, "%s", stored[1].id);
    snprintf(comparison->b.id, sizeof comparison->b.id, "%s", stored[0].id);
    snprintf(comparison->a.started, sizeof comparison->a.started, "2026-11-20T20:41:00Z");
    snprintf(comparison->b.started, sizeof comparison->b.started, "2026-11-20T20:58:00Z");
    snprintf(comparison->a.cause, sizeof comparison->a.cause, "receive-window");
    snprintf(comparison->b.cause, sizeof comparison->b.cause, "capacity");
    comparison->a.measured_bps = 96.1e6;
    comparison->b.measured_bps = 912.4e6;
    snprintf(comparison->sentence, sizeof comparison->sentence,
             "The download went from 96.1 Mb/s to 912 Mb/s.");
    snprintf(history->a, sizeof history->a, "%s", stored[1].id);
    snprintf(history->b, sizeof history->b, "%s", stored[0].id);
    history->comparison = comparison;
}

/* With a key of zeros, so that the masks are the same every time. */
static void add_preview(struct scene *scene)
{
    static const uint8_t key[TL_REDACT_KEY_SIZE];
    const struct tl_session_result *result = &scene->result;
    struct tui_export *leaving = &scene->state.leaving;
    struct tl_export *made = NULL;
    if (tl_redactor_create(key, &scene->redactor, NULL) != TL_OK ||
        tl_export_create(scene->redactor, &result->run, result->facts, result->findings, &made,
                         NULL) != TL_OK ||
        tl_export_write(made, TL_EXPORT_TEXT, &scene->preview) != TL_OK)
        abort();
    tl_export_destroy(made);
    leaving->text = tl_buf_text(&scene->preview);
    leaving->len = scene->preview.len;
    leaving->redactor = scene->redactor;
}

static void add_target(struct tui_export *leaving, const char *name, const char *system,
                       const char *url)
{
    struct tui_target *target = &leaving->targets[leaving->target_count++];
    snprintf(target->name, sizeof target->name, "%s", name);
    snprintf(target->system, sizeof target->system, "%s", system);
    snprintf(target->url, sizeof target->url, "%s", url);
}

/* As if tightlink.conf named two systems, and the first was chosen. */
static void add_ticket(struct scene *scene)
{
    struct tui_export *leaving = &scene->state.leaving;
    add_preview(scene);
    add_target(leaving, "helpdesk", "rt", "https://helpdesk.example.net/rt");
    add_target(leaving, "monitoring", "webhook", "https://hooks.example.net/tightlink");
    leaving->to = 1;
    leaving->json_len = 18200;
    leaving->html_len = 61400;
    leaving->requests = "curl --max-time 30 -X GET 'https://helpdesk.example.net/rt/REST/2.0/"
                        "tickets?query=Subject' \\\n  -H 'Authorization: token $(cat "
                        "helpdesk.token)'\n";
}

static void add_answer(struct scene *scene)
{
    struct tui_export *leaving = &scene->state.leaving;
    add_ticket(scene);
    leaving->answered_well = true;
    snprintf(leaving->answer, sizeof leaving->answer,
             "helpdesk: ticket 4711, https://helpdesk.example.net/rt/Ticket/Display.html?id=4711");
}

static void add_failure(struct scene *scene)
{
    struct tui_export *leaving = &scene->state.leaving;
    add_ticket(scene);
    snprintf(leaving->answer, sizeof leaving->answer,
             "helpdesk: not sent: helpdesk.example.net does not answer; it waits in the outbox: "
             "tightlink ticket --retry sends it");
}

const struct script scripts[] = {
    {"watch-empty", "Nothing that runs", NULL, nothing, "\027", NULL},
    {"watch", "Transfers that run now", NULL, nothing, "\027", scene_add_seconds},
    {"watch-filter", "Transfers that run, filtered", NULL, nothing, "\027/scp", scene_add_running},
    {"watch-one", "One of them over time", NULL, nothing, "\027j\n<", scene_add_seconds},
    {"watch-diagnose", "Before a way is diagnosed", NULL, nothing, "\027r", scene_add_running},
    {"try", "Before the fix of a kept run is tried", "limited", nothing, "3v", NULL},
    {"watch-capture", "Before headers are captured", NULL, nothing, "\027mjc", scene_add_running},
    {"packets", "Connections of a capture", NULL, nothing, "", scene_add_packets},
    {"packets-held", "The same, by the time that they were held back", NULL, nothing, " ",
     scene_add_packets},
    {"packets-one", "One of them over time", NULL, nothing, "j\n>", scene_add_packets},
    {"packets-stevens", "What it sent over time", NULL, nothing, "j\ng", scene_add_packets},
    {"packets-tcptrace", "With acknowledgements and window, nearer", NULL, nothing, "j\nggkkk>",
     scene_add_packets},
    {"start-empty", "Start, nothing typed yet", NULL, nothing, "", NULL},
    {"start-recent", "Start, with far ends of earlier runs", NULL, start_with_recent,
     "\016\016\013", NULL},
    {"start", "Start, with the plan", NULL, start_with_plan, "\t\t\t\t", NULL},
    {"consent-first", "The question before anything is sent", NULL, asked, "", NULL},
    {"consent", "The question where the way costs more", NULL, connected, "", NULL},
    {"run", "Run", NULL, streaming, "", NULL},
    {"run-ended", "Run, once it has ended", "limited", ran, "2", NULL},
    {"run-saved", "Run, of a saved file", "limited", nothing, "2", NULL},
    {"run-kept", "Run, opened again", "limited", nothing, "2", kept},
    {"stage-kept", "One stage of a run that was opened again", "limited", nothing, "2jj\n<", kept},
    {"stage", "One stage: samples with a cursor", "limited", ran, "2\n<<", NULL},
    {"budget", "Another budget while it runs", NULL, streaming, "+", NULL},
    {"budget-more", "More than was agreed to", NULL, streaming, "+\b\b\b\b\b\b\b3GB\n", NULL},
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
    {"degraded", "Verdict, of a run that something disturbed", "limited", nothing, "", disturbed},
    {"simple-degraded", "The goal is met, in a disturbed run", "goal-met", nothing, "x", disturbed},
    {"path", "Path", "limited", nothing, "4jjj", add_hops},
    {"path-chart", "Path, round trips as a chart", "limited", ran, "4go", add_hops},
    {"path-private", "Path, names hidden", "limited", nothing, "4m", add_hops},
    {"path-empty", "Path, no routers", "limited", nothing, "4", NULL},
    {"hop", "One hop", "limited", nothing, "4jjj\n", add_hops},
    {"history", "History", NULL, nothing, "\t5j", add_history},
    {"history-compare", "Two runs side by side", NULL, nothing, "\t5", add_comparison},
    {"history-graph", "Rates over time", NULL, nothing, "\t5g", add_history},
    {"history-note", "A note", NULL, nothing, "\t5jN, moved", add_history},
    {"history-delete", "Before a run is deleted", NULL, nothing, "\t5D", add_history},
    {"history-empty", "History, empty", NULL, nothing, "\t5", NULL},
    {"export", "Export", "limited", nothing, "6", add_preview},
    {"ticket", "Export to a ticket system", "limited", nothing, "6", add_ticket},
    {"ticket-add", "Adding to a ticket", "limited", nothing, "6#4711\n", add_ticket},
    {"ticket-ask", "Before it is sent", "limited", nothing, "6\n", add_ticket},
    {"ticket-sent", "The ticket's address", "limited", nothing, "6", add_answer},
    {"ticket-waits", "What could not be sent", "limited", nothing, "6", add_failure},
    {"ticket-webhook", "Before a webhook gets it", "limited", nothing, "6t\n", add_ticket},
    {"masks", "What an export masks", "limited", nothing, "6M", add_preview},
    {"help", "Help", "limited", nothing, "?", NULL},
    {"hostile", "What a hostile far end says", NULL, hostile, "", NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL}};

void scene_make(const struct script *script, struct scene *ret_scene)
{
    memset(ret_scene, 0, sizeof *ret_scene);
    tui_state_init(&ret_scene->state, &config);
    script->prepare(&ret_scene->state);
    if (!script->fixture && script->add)
        script->add(ret_scene);
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

/* What the program does when a key asks for a session: it begins, and asks. */
static void begin_what_was_asked_for(struct tui_state *state, unsigned actions)
{
    if (actions & TUI_DO_VERIFY)
        tui_state_begin_trial(state, 0);
    else if (actions & TUI_DO_START)
        tui_state_begin(state, 0);
    if (actions & (TUI_DO_VERIFY | TUI_DO_START))
        ask(state, "Nothing has been sent yet.");
}

void scene_play(const struct script *script, struct scene *scene, int rows, int cols, bool utf8,
                struct tl_buf *out)
{
    struct tui_grid grid;
    if (tui_grid_init(&grid, rows, cols, utf8) != TL_OK)
        abort();
    tui_view(&scene->state, &grid);
    for (const char *key = script->keys; *key; key++) {
        unsigned actions =
            tui_state_key(&scene->state, *key == '\b' ? TUI_KEY_BACKSPACE : (unsigned char)*key);
        begin_what_was_asked_for(&scene->state, actions);
        tui_view(&scene->state, &grid);
    }
    tui_grid_text(&grid, out);
    tui_grid_finish(&grid);
}
