/* A session against a real responder on loopback, and what it told. What is sent is little: the
 * responder caps the rate. */
#ifndef TL_TEST_PLAY_H
#define TL_TEST_PLAY_H

#include <criterion/criterion.h>
#include <math.h>
#include <poll.h>

#include "../engine/far_end.h"
#include "tightlink/session/session.h"

#define WAIT_MS 60000

struct play;
typedef void react_fn(struct play *play, const struct tl_event *event);

/* One session and what it told. */
struct play {
    struct far_end far;
    struct tl_rules *rules;
    struct tl_session_config config;
    struct tl_session *session;
    struct tl_session_result result;
    react_fn *react;
    int lives, paused, acted, started_while_paused;
};

static inline uint32_t bit(const char *stage)
{
    size_t index = tl_session_stage_find(stage);
    cr_assert(index < tl_session_stage_count(), "%s", stage);
    return UINT32_C(1) << index;
}

/* Only the named stages, at 20 Mb/s. */
static inline void prepare(struct play *play, const char *first, const char *second)
{
    struct tl_error error;
    struct tl_responder_options options = {.rate_cap_bps = 20e6};
    *play = (struct play){0};
    start_far(&play->far, &options);
    cr_assert(tl_rules_load_builtin(&play->rules, &error) == TL_OK, "%s", error.text);
    play->config = (struct tl_session_config){.host = "127.0.0.1",
                                              .port = (uint16_t)play->far.port,
                                              .download = true,
                                              .goal.bps = (double)NAN,
                                              .goal.rtt_ns = (double)NAN,
                                              .target_kind = "tightlink",
                                              .rules = play->rules,
                                              .only_force = true,
                                              .force = bit(first) | bit(second)};
    play->config.skip = UINT32_MAX & ~play->config.force;
}

static inline void take(struct play *play, const struct tl_event *event)
{
    if (event->kind == TL_EVENT_CONSENT)
        tl_session_consent(play->session, true);
    play->lives += event->kind == TL_EVENT_LIVE;
    play->react(play, event);
}

static inline void run(struct play *play, react_fn *react)
{
    struct tl_error error = {0};
    struct tl_event event = {0};
    play->react = react;
    cr_assert(tl_session_create(&play->config, &play->session, &error) == TL_OK, "%s", error.text);
    cr_assert(tl_session_start(play->session, &error) == TL_OK, "%s", error.text);
    while (event.kind != TL_EVENT_DONE) {
        struct pollfd fd = {.fd = tl_session_event_fd(play->session), .events = POLLIN};
        cr_assert(poll(&fd, 1, WAIT_MS) == 1, "the session said nothing for a minute");
        while (event.kind != TL_EVENT_DONE && tl_session_next_event(play->session, &event))
            take(play, &event);
    }
    tl_session_finish(play->session, &play->result);
}

static inline void end(struct play *play)
{
    tl_session_destroy(play->session);
    tl_facts_destroy(play->result.facts);
    tl_findings_destroy(play->result.findings);
    tl_rules_destroy(play->rules);
    stop_far(&play->far);
}

#endif
