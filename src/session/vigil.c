/* Going on after the verdict: one stream in transfers as long as the responder grants, dialled
 * again when one breaks, through outages, for hours, in bounded memory. */
#include <math.h>
#include <poll.h>
#include <stdio.h>

#include "session_private.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/probes/vigil.h"
#include "watch_log.h"

#define TRANSFER_NS (60 * TL_NS_PER_S)
#define RETRY_NS    TL_NS_PER_S
/* Silence that is no outage: what a stream waits for its own timer, and ten round trips. */
#define PATIENCE_NS   (1500 * TL_NS_PER_MS)
#define PATIENCE_RTTS 10
/* Slower, a stream's pieces come so seldom that a pause is no outage any more. A budget that
 * asks for less is spent before the time is over. */
#define PACING_MIN_BPS 2e6

struct vigil {
    struct tl_session *session;
    struct tl_watch_log log;
    int64_t begun_ns, until_ns;
    int64_t second_ns;               /* begin of the running second */
    double second_bytes, live_bytes; /* in that second; of the running transfer */
    double retrans_count, second_retrans;
    double rtt_ns;
    int64_t settled_ns; /* until then a transfer's beginning */
    double rtt_path_ns;
};

static void end_second(struct vigil *vigil, int64_t now_ns)
{
    double took_ns = (double)(now_ns - vigil->second_ns);
    bool beginning = vigil->second_ns < vigil->settled_ns;
    struct tl_watch_sample sample = {.offset_ns = vigil->second_ns - vigil->begun_ns,
                                     .rate_bps = vigil->second_bytes * 8e9 / took_ns,
                                     .rtt_ns = vigil->rtt_ns,
                                     .flags =
                                         (vigil->log.out ? TL_WATCH_OUTAGE : 0) |
                                         (beginning && !vigil->log.out ? TL_WATCH_BEGINNING : 0),
                                     .retrans_count = (uint32_t)vigil->second_retrans};
    tl_watch_log_add(&vigil->log, &sample);
    vigil->second_ns = now_ns;
    vigil->second_bytes = vigil->second_retrans = 0;
}

static void tell_outage(struct vigil *vigil)
{
    const struct tl_watch_record *record = vigil->log.record;
    char length[TL_UNIT_TEXT_SIZE];
    long long index = record->outage_count - 1;
    if (index >= TL_WATCH_OUTAGES_MAX)
        return;
    if (vigil->log.out)
        tl_events_note(&vigil->session->events, "outage: nothing arrives since %s",
                       record->outages[index].start);
    else
        tl_events_note(&vigil->session->events, "outage over after %s",
                       tl_format_ns((double)record->outages[index].length_ns, length));
}

/* Time goes on, with or without bytes. */
static void tick(struct vigil *vigil, double bytes)
{
    int64_t now_ns = tl_now_ns();
    vigil->second_bytes += bytes;
    vigil->log.record->bytes += (long long)bytes;
    if (tl_watch_log_progress(&vigil->log, now_ns, bytes > 0))
        tell_outage(vigil);
    while (now_ns - vigil->second_ns >= TL_NS_PER_S) {
        /* A long silence fills several seconds, all alike. */
        int64_t end_ns =
            now_ns - vigil->second_ns >= 2 * TL_NS_PER_S ? vigil->second_ns + TL_NS_PER_S : now_ns;
        end_second(vigil, end_ns);
    }
}

static void on_live(void *context, const struct tl_probe_live *live)
{
    struct vigil *vigil = context;
    struct tl_session *session = vigil->session;
    double came = live->bytes - vigil->live_bytes;
    struct tl_event event = {.kind = TL_EVENT_LIVE,
                             .has_direction = true,
                             .direction = session->direction,
                             .expected_ns = (double)session->config.watch_ns,
                             .rate_bps = live->rate_bps,
                             .rtt_ns = live->rtt_ns,
                             .elapsed_ns = (double)(tl_now_ns() - vigil->begun_ns),
                             .live = *live,
                             .stage = "watch"};
    if (live->retrans_count > vigil->retrans_count)
        vigil->second_retrans += live->retrans_count - vigil->retrans_count;
    vigil->retrans_count = live->retrans_count;
    vigil->rtt_ns = live->rtt_ns;
    vigil->live_bytes = live->bytes;
    tick(vigil, came > 0 ? came : 0);
    tl_events_push(&session->events, &event);
}

static void on_note(void *context, const char *sentence)
{
    struct vigil *vigil = context;
    tick(vigil, 0);
    tl_events_note(&vigil->session->events, "%s", sentence);
}

/* False when the user ended it. */
static bool wait_a_little(struct vigil *vigil)
{
    struct pollfd fd = {.fd = vigil->session->cancel_fd, .events = POLLIN};
    int64_t until_ns = tl_now_ns() + RETRY_NS;
    while (tl_now_ns() < until_ns) {
        int n = poll(&fd, 1, 100);
        if (n > 0)
            return false;
        tick(vigil, 0);
    }
    return true;
}

/* So that a data budget lasts for the whole watch; 0: as fast as it goes. */
static double pacing(const struct vigil *vigil)
{
    const struct tl_session *session = vigil->session;
    int64_t left_ns = vigil->until_ns - tl_now_ns();
    if (session->config.data_budget_bytes <= 0 || left_ns <= 0)
        return 0;
    double left = (double)(session->plan.bytes_left - vigil->log.record->bytes);
    return fmax(left * 8e9 / (double)left_ns, PACING_MIN_BPS);
}

/* 0: no cap. */
static int64_t bytes_left(const struct vigil *vigil)
{
    const struct tl_session *session = vigil->session;
    return session->config.data_budget_bytes > 0
               ? session->plan.bytes_left - vigil->log.record->bytes
               : 0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Transfers one after another until time, bytes or patience of the user are used up. */
static void keep_going(struct vigil *vigil, struct tl_probe *probe, enum tl_direction direction)
{
    struct tl_session *session = vigil->session;
    struct tl_run *run = &session->result.run;
    struct tl_error error = {0};
    int64_t longest_ns = least(tl_probe_vigil_longest_ns(probe), TRANSFER_NS);
    for (;;) {
        int64_t left_ns = vigil->until_ns - tl_now_ns();
        if (left_ns < TL_NS_PER_S)
            return;
        if (session->config.data_budget_bytes > 0 && run->watch.bytes >= session->plan.bytes_left) {
            snprintf(run->watch.ended, sizeof run->watch.ended, "the data budget is spent");
            return;
        }
        struct tl_probe_limits limits = {.duration_ns = least(left_ns, longest_ns),
                                         .bytes = bytes_left(vigil)};
        struct tl_probe_outcome outcome = {0};
        vigil->live_bytes = vigil->retrans_count = 0;
        vigil->settled_ns = tl_now_ns() + TL_NS_PER_S + (int64_t)(10 * vigil->rtt_path_ns);
        enum tl_status status =
            tl_probe_vigil(probe, direction, &limits, pacing(vigil), &outcome, &error);
        run->sent_bytes += outcome.record.sent_bytes;
        run->received_bytes += outcome.record.received_bytes;
        if (session_is_stopped(session) || status == TL_CANCELLED) {
            snprintf(run->watch.ended, sizeof run->watch.ended, TL_RUN_STOPPED);
            return;
        }
        if (status == TL_NOMEM || status == TL_DENIED || status == TL_AUTH) {
            snprintf(run->watch.ended, sizeof run->watch.ended, "%.150s", error.text);
            return;
        }
        if (status != TL_OK && !wait_a_little(vigil))
            return;
    }
}

enum tl_status session_keep_watch(struct tl_session *session, struct tl_error *reterr)
{
    struct tl_run *run = &session->result.run;
    enum tl_direction direction = session->result.findings
                                      ? session->result.findings->verdict.direction
                                  : session->config.download ? TL_DOWNLOAD
                                                             : TL_UPLOAD;
    struct vigil vigil = {.session = session, .begun_ns = tl_now_ns(), .rtt_ns = (double)NAN};
    double rtt_ns = tl_facts_number(session->result.facts, TL_PATH(rtt_min_ns), 0);
    int64_t rtts_ns = (int64_t)(PATIENCE_RTTS * rtt_ns);
    vigil.rtt_path_ns = rtt_ns;
    vigil.second_ns = vigil.begun_ns;
    vigil.until_ns = vigil.begun_ns + session->config.watch_ns;
    enum tl_status status =
        tl_watch_log_init(&vigil.log, session->config.watch_path, tl_realtime_ns(), vigil.begun_ns,
                          PATIENCE_NS > rtts_ns ? PATIENCE_NS : rtts_ns, &run->watch, reterr);
    struct tl_facts *scratch = status == TL_OK ? tl_facts_create() : NULL;
    if (status == TL_OK && !scratch)
        status = tl_error_set(reterr, TL_NOMEM, "out of memory");
    if (status == TL_OK) {
        struct tl_probe probe = session_probe(session);
        probe.facts = scratch;
        probe.live = on_live;
        probe.note = on_note;
        probe.context = &vigil;
        session_begin_stage(session, "watch", &direction, session->config.watch_ns,
                            "goes on after the verdict");
        keep_going(&vigil, &probe, direction);
        int64_t now_ns = tl_now_ns();
        run->watch.duration_ns = now_ns - vigil.begun_ns;
        tl_watch_log_finish(&vigil.log, now_ns);
        struct tl_probe_outcome outcome = {
            .record = {.id = "watch", .duration_ns = run->watch.duration_ns}};
        snprintf(outcome.record.reason, sizeof outcome.record.reason, "%s", run->watch.ended);
        session_end_stage(session, &outcome);
    }
    tl_facts_destroy(scratch);
    return status;
}
