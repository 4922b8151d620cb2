/* The owner's commands against a real responder on loopback: a skip skips, a redo redoes, a
 * pause waits, a budget holds. What is sent is little: the responder caps the rate. */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../key_of.h"
#include "play.h"

static bool is(const struct tl_event *event, enum tl_event_kind kind, const char *stage)
{
    return event->kind == kind && strcmp(event->stage, stage) == 0;
}

/* How often a stage stands in the record in a state. What the responder's cap cut is LIMITED. */
static int recorded(const struct play *play, const char *stage, enum tl_stage_state state)
{
    int count = 0;
    for (int i = 0; i < play->result.run.stage_count; i++)
        count += strcmp(play->result.run.stages[i].id, stage) == 0 &&
                 play->result.run.stages[i].state == state;
    return count;
}

static int ran(const struct play *play, const char *stage)
{
    return recorded(play, stage, TL_STAGE_DONE) + recorded(play, stage, TL_STAGE_LIMITED);
}

static bool known(const struct play *play, const char *id)
{
    return !isnan(tl_facts_number(play->result.facts, key_of(id), (double)NAN));
}

static void skip_the_stream(struct play *play, const struct tl_event *event)
{
    if (is(event, TL_EVENT_LIVE, "stream") && !play->acted++)
        cr_expect(tl_session_skip(play->session, NULL) == TL_OK);
}

Test(commands, skip_ends_the_running_stage_and_the_run_goes_on)
{
    struct play play;
    prepare(&play, "stream", "streams");
    run(&play, skip_the_stream);
    cr_expect(play.acted > 0);
    cr_expect(play.result.status == TL_OK, "%s", play.result.error.text);
    cr_expect(recorded(&play, "stream", TL_STAGE_SKIPPED) >= 1);
    cr_expect(ran(&play, "stream") == 0);
    cr_expect(!known(&play, "download.goodput_bps"));
    cr_expect(ran(&play, "streams") == 1, "the next stage was not run");
    cr_expect(known(&play, "download.streams_goodput_bps"));
    end(&play);
}

static void do_nothing(struct play *play, const struct tl_event *event)
{
    (void)play, (void)event;
}

Test(commands, what_a_stage_could_not_measure_says_why)
{
    struct play play;
    struct tl_fact fact;
    prepare(&play, "path", "family");
    run(&play, do_nothing);
    cr_expect_eq(recorded(&play, "family", TL_STAGE_NOT_POSSIBLE), 1);
    tl_facts_get(play.result.facts, TL_FLOW(TL_DOWNLOAD, other_goodput_bps), &fact);
    cr_expect(fact.tried);
    cr_expect_str_eq(fact.reason, "the far end is reached over one family alone");
    tl_facts_get(play.result.facts, TL_FLOW(TL_DOWNLOAD, streams_goodput_bps), &fact);
    cr_expect(!fact.tried, "a stage that was not run");
    end(&play);
}

/* Takes connections, to see whether one comes. */
static int listen_here(uint16_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    cr_assert(fd >= 0 && bind(fd, (struct sockaddr *)&address, len) == 0 && listen(fd, 4) == 0);
    cr_assert(getsockname(fd, (struct sockaddr *)&address, &len) == 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

Test(commands, nothing_is_sent_before_somebody_agreed)
{
    struct play play;
    struct tl_error error = {0};
    struct tl_event event = {0};
    int asked = 0;
    prepare(&play, "hosts", "path");
    int fd = listen_here(&play.config.port);
    cr_assert(tl_session_create(&play.config, &play.session, &error) == TL_OK, "%s", error.text);
    cr_assert(tl_session_start(play.session, &error) == TL_OK, "%s", error.text);
    while (event.kind != TL_EVENT_DONE) {
        struct pollfd poll_fd = {.fd = tl_session_event_fd(play.session), .events = POLLIN};
        cr_assert(poll(&poll_fd, 1, WAIT_MS) == 1);
        if (!tl_session_next_event(play.session, &event) || event.kind != TL_EVENT_CONSENT)
            continue;
        asked++;
        cr_expect(strstr(event.text, "Nothing has been sent yet."), "%s", event.text);
        cr_expect(event.worst_bytes > 0 && event.expected_ns > 0);
        tl_session_consent(play.session, false);
    }
    tl_session_finish(play.session, &play.result);
    cr_expect(asked == 1 && play.result.not_begun && play.result.status == TL_CANCELLED);
    cr_expect(accept(fd, NULL, NULL) < 0 && errno == EAGAIN, "it connected all the same");
    close(fd);
    end(&play);
}

static void skip_path_by_name(struct play *play, const struct tl_event *event)
{
    if (is(event, TL_EVENT_STAGE_START, "hosts")) {
        cr_expect(tl_session_skip(play->session, "path") == TL_OK);
        cr_expect(tl_session_skip(play->session, "no-such-stage") == TL_UNKNOWN);
        play->acted++;
    }
}

Test(commands, skip_by_name_keeps_a_stage_from_running)
{
    struct play play;
    prepare(&play, "hosts", "path");
    run(&play, skip_path_by_name);
    cr_expect(play.acted == 1);
    cr_expect(ran(&play, "hosts") == 1);
    cr_expect(ran(&play, "path") == 0);
    end(&play);
}

/* While another stage is still to run. */
static void redo_hosts(struct play *play, const struct tl_event *event)
{
    if (is(event, TL_EVENT_STAGE_END, "hosts") && !play->acted++)
        cr_expect(tl_session_redo(play->session, "hosts") == TL_OK);
}

Test(commands, redo_runs_a_stage_that_has_ended_once_more)
{
    struct play play;
    prepare(&play, "path", "hosts");
    run(&play, redo_hosts);
    cr_expect(play.acted == 2, "the stage ended %d times", play.acted);
    cr_expect(ran(&play, "hosts") == 2);
    cr_expect(tl_session_redo(play.session, "no-such-stage") == TL_UNKNOWN);
    end(&play);
}

static void redo_streams(struct play *play, const struct tl_event *event)
{
    if (is(event, TL_EVENT_LIVE, "streams") && !play->acted++)
        cr_expect(tl_session_redo(play->session, "streams") == TL_OK);
}

Test(commands, redo_of_the_running_stage_runs_it_again_in_every_direction)
{
    struct play play;
    prepare(&play, "streams", "streams");
    play.config.upload = true;
    run(&play, redo_streams);
    cr_expect(play.acted > 0);
    cr_expect(ran(&play, "streams") >= 3, "%d", ran(&play, "streams"));
    cr_expect(known(&play, "download.streams_goodput_bps"));
    cr_expect(known(&play, "upload.streams_goodput_bps"));
    end(&play);
}

/* An event cannot come from a worker that waits: what comes between PAUSED and the resume that
 * the test gives half a second later is counted. The stage that is running lasts for long enough to
 * be paused by a thread that the machine lets wait. */
static void pause_and_resume(struct play *play, const struct tl_event *event)
{
    if (is(event, TL_EVENT_STAGE_START, "stream"))
        tl_session_pause(play->session);
    if (event->kind == TL_EVENT_PAUSED && !play->paused++) {
        struct pollfd fd = {.fd = tl_session_event_fd(play->session), .events = POLLIN};
        struct tl_event other;
        (void)poll(&fd, 1, 500);
        play->started_while_paused += tl_session_next_event(play->session, &other);
        tl_session_resume(play->session);
    }
}

Test(commands, pause_waits_after_the_running_stage_until_resumed)
{
    struct play play;
    prepare(&play, "stream", "streams");
    run(&play, pause_and_resume);
    cr_expect(play.paused == 1);
    cr_expect(play.started_while_paused == 0);
    cr_expect(ran(&play, "stream") == 1);
    cr_expect(ran(&play, "streams") == 1, "it did not go on");
    end(&play);
}

static void pause_and_stop(struct play *play, const struct tl_event *event)
{
    if (is(event, TL_EVENT_STAGE_START, "stream"))
        tl_session_pause(play->session);
    if (event->kind == TL_EVENT_PAUSED)
        tl_session_stop(play->session);
}

Test(commands, stop_ends_a_pause_and_keeps_what_was_measured)
{
    struct play play;
    prepare(&play, "stream", "streams");
    run(&play, pause_and_stop);
    cr_expect(play.result.status == TL_CANCELLED);
    cr_expect(ran(&play, "stream") == 1);
    cr_expect(ran(&play, "streams") == 0);
    cr_expect(known(&play, "download.goodput_bps"), "what was measured is gone");
    end(&play);
}

static void spend_all(struct play *play, const struct tl_event *event)
{
    if (is(event, TL_EVENT_LIVE, "stream") && !play->acted++)
        tl_session_set_budget(play->session, 0, 1000000);
}

Test(commands, a_smaller_budget_holds_from_the_next_stage_on)
{
    struct play play;
    prepare(&play, "stream", "streams");
    run(&play, spend_all);
    cr_expect(play.acted > 0);
    cr_expect(ran(&play, "stream") == 1);
    cr_expect(ran(&play, "streams") == 0, "a spent budget was spent again");
    cr_expect(!known(&play, "download.streams_goodput_bps"));
    end(&play);
}

/* As an emulator's account: it was late. Counts how often it was asked. */
static bool was_late(void *context, char *ret_reason, size_t reason_size)
{
    ++*(int *)context;
    snprintf(ret_reason, reason_size, "the path was late");
    return true;
}

static void watch_only(struct play *play, const struct tl_event *event)
{
    (void)play;
    (void)event;
}

Test(commands, what_the_owner_saw_of_the_path_degrades_the_run)
{
    struct play play;
    int asked = 0;
    prepare(&play, "stream", "path");
    play.config.disturbed = was_late;
    play.config.disturbed_context = &asked;
    run(&play, watch_only);
    const struct tl_run *run_record = &play.result.run;
    const struct tl_findings *findings = play.result.findings;
    cr_expect(asked == 1, "asked %d times", asked);
    cr_expect(run_record->quality == TL_QUALITY_DEGRADED, "%d", (int)run_record->quality);
    bool said = false;
    for (int i = 0; i < run_record->reason_count; i++)
        said |= strcmp(run_record->reasons[i], "the path was late") == 0;
    cr_expect(said, "the reason is not kept");
    cr_assert(findings);
    cr_expect(findings->verdict.state != TL_LIMITED ||
                  strstr(findings->verdict.confidence_reasons, run_record->reasons[0]),
              "%s", findings->verdict.confidence_reasons);
    end(&play);
}
