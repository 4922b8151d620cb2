/* Which kind of far end it is, and what that one cannot do. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "session_private.h"
#include "tightlink/base/far.h"
#include "tightlink/base/thread.h"
#include "tightlink/base/time.h"
#include "tightlink/base/wake.h"
#include "tightlink/probes/discover.h"

/* A responder that is there answers within this, nearly always: nobody else is greeted then (as
 * RFC 8305, section 5, spaces connection attempts). */
#define HEAD_START_NS (250 * TL_NS_PER_MS)
/* More, once others have answered: a responder on a long path is still preferred. */
#define PATIENCE_NS (1500 * TL_NS_PER_MS)
/* What can be measured only where somebody says which file is big. */
#define WEB_KINDS (1u << TL_FAR_HTTPS | 1u << TL_FAR_HTTP)

static uint16_t port_of(const struct tl_session *session, enum tl_far_kind kind)
{
    uint16_t responder = tl_far_row(TL_FAR_TIGHTLINK)->port;
    if (session->named.port > 0)
        return session->named.port;
    return session->config.port > 0 && session->config.port != responder ? session->config.port
                                                                         : tl_far_row(kind)->port;
}

static void aim(struct tl_session *session, enum tl_far_kind kind, uint16_t port)
{
    session->target =
        (struct tl_probe_target){.host = session->host,
                                 .other_host = session->config.other_host,
                                 .port = port,
                                 .family = session->config.family,
                                 .http1 = session->config.http1,
                                 .key = session->config.key,
                                 .kind = kind,
                                 .resource = session->named.resource,
                                 .login = session->config.login,
                                 .proxy = session->via_proxy.host[0] ? &session->via_proxy : NULL};
    session->plan.far = kind;
}

static enum tl_status dial(struct tl_session *session, int cancel_fd, struct tl_error *reterr)
{
    struct tl_session_result *result = &session->result;
    enum tl_status status = tl_probe_connect(&session->target, cancel_fd, result->facts,
                                             &session->far, &result->run, reterr);
    session->plan.far_cannot = status == TL_OK ? tl_probe_far_cannot(session->far) : 0;
    return status;
}

/* What this kind leaves untested, as one sentence before the user is asked. */
static void tell_kind(struct tl_session *session, const char *how)
{
    const struct tl_far_row *row = tl_far_row(session->target.kind);
    if (session->named.nearest)
        tl_events_note(&session->events,
                       "%s is one of M-Lab's, which publishes every test with this PC's address",
                       session->result.run.target_address);
    tl_events_note(&session->events,
                   "%s %s, port %u: what only a tightlink responder there would tell stays open "
                   "(its settings%s%s)",
                   how, row->what, session->target.port,
                   row->can & TL_FAR_SENDER ? "" : ", what its TCP waits for when it sends",
                   row->can & TL_FAR_UDP ? "" : ", what becomes of datagrams");
}

/* What a browser or curl does there in one connection this does in several. */
static void tell_http(struct tl_session *session)
{
    struct tl_fact offered;
    tl_facts_get(session->result.facts, TL_PATH(http_offered), &offered);
    if (offered.state != TL_FACT_KNOWN)
        return;
    tl_events_note(
        &session->events,
        session->config.http1
            ? "the server offers %s as well: transfers at once that share one connection "
              "of it are as one here; this measures by HTTP/1.1, as --http1.1 asks"
            : "the server speaks %s, as to browsers and curl: what they transfer at once "
              "shares one connection and is as one here; several connections are each of "
              "their own (--http1.1 measures by HTTP/1.1)",
        offered.text);
}

/* Through a proxy there are two transfers: the one from it to this PC is measured. */
static void tell_proxy(struct tl_session *session)
{
    const struct tl_proxy *via = &session->via_proxy;
    if (via->host[0])
        tl_events_note(&session->events,
                       "%s names the proxy %s, port %u, and so other programs go through it: this "
                       "measures the way to that proxy, and what it waits for behind it stays open "
                       "(no_proxy=%s measures the way straight to %s)",
                       session->proxy, via->host, via->port, session->named.host,
                       session->named.host);
    else if (session->proxy)
        tl_events_note(
            &session->events,
            "%s names a proxy, which is not used (%s): this measures the way straight to "
            "%s, other programs may go another one",
            session->proxy, session->no_proxy.text, session->named.host);
}

static void blame_proxy(const struct tl_session *session, struct tl_error *error)
{
    struct tl_error without = *error;
    bool unreached = error->status == TL_TIMEOUT || error->status == TL_REFUSED ||
                     error->status == TL_NOHOST || error->status == TL_UNREACHABLE;
    if (session->via_proxy.host[0] && unreached)
        (void)!tl_error_set(error, error->status,
                            "%.300s; it is the proxy that %s names: no_proxy=%.100s measures the "
                            "way straight to that server",
                            without.text, session->proxy, session->named.host);
    else if (session->proxy && unreached)
        (void)!tl_error_set(error, error->status,
                            "%.300s; %s names a proxy, which is not used: where it is the only way "
                            "out, measure as far as a server on this side of it",
                            without.text, session->proxy);
}

/* --- Who else answers ------------------------------------------------------------------------ */

/* The kinds beside a responder, asked in a thread while a responder is: a port that a firewall
 * drops is known to be silent after seconds only. */
struct look {
    pthread_t thread;
    struct tl_probe_target target;
    int ended_fd;  /* eventfd: the responder's dial has ended, one way or other */
    int cancel_fd; /* eventfd: nobody else is looked for any more */
    int found_fd;  /* eventfd: others answer, and a responder has had its time */
    unsigned kinds;
};

/* Whether it was raised within that time. */
static bool is_raised(int event_fd, int64_t ns)
{
    struct pollfd event = {.fd = event_fd, .events = POLLIN};
    return poll(&event, 1, (int)(ns / TL_NS_PER_MS)) > 0;
}

static void *look_around(void *context)
{
    struct look *look = context;
    (void)is_raised(look->ended_fd, HEAD_START_NS);
    if (is_raised(look->cancel_fd, 0) ||
        tl_probe_discover(&look->target, look->cancel_fd, &look->kinds, NULL) != TL_OK)
        return NULL;
    if (look->kinds & ~WEB_KINDS && !is_raised(look->ended_fd, PATIENCE_NS))
        tl_wake(look->found_fd);
    return NULL;
}

/* Ends a dial when the user does, and when others answer: readable then. The far end that was
 * dialled keeps it, so it lives as long as the session; of others it hears until they are closed.
 */
static bool open_dial(struct tl_session *session, int found_fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    if (session->dial_fd < 0) {
        session->dial_fd = epoll_create1(EPOLL_CLOEXEC);
        if (session->dial_fd < 0 ||
            epoll_ctl(session->dial_fd, EPOLL_CTL_ADD, session->cancel_fd, &event) < 0)
            return false;
    }
    return epoll_ctl(session->dial_fd, EPOLL_CTL_ADD, found_fd, &event) == 0;
}

static void close_all(const struct look *look)
{
    const int fds[] = {look->ended_fd, look->cancel_fd, look->found_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* Dials a responder and asks for the other kinds meanwhile: *ret_kinds, 0 where a responder
 * answers, the user ended it, or nothing else does. */
static enum tl_status dial_and_look(struct tl_session *session, unsigned *ret_kinds,
                                    struct tl_error *reterr)
{
    struct look look = {.target = session->target,
                        .ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                        .cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                        .found_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    bool asked = look.ended_fd >= 0 && look.cancel_fd >= 0 && look.found_fd >= 0 &&
                 open_dial(session, look.found_fd) &&
                 tl_thread_start(&look.thread, look_around, &look) == 0;
    enum tl_status status = dial(session, asked ? session->dial_fd : session->cancel_fd, reterr);
    if (asked) {
        bool cut_short = status == TL_CANCELLED && is_raised(look.found_fd, 0);
        bool wanted = cut_short || session_can_go_apart(status);
        if (!wanted)
            tl_wake(look.cancel_fd);
        tl_wake(look.ended_fd);
        pthread_join(look.thread, NULL);
        *ret_kinds = wanted ? look.kinds : 0;
    }
    close_all(&look);
    return status;
}

/* Others are looked for where nobody said which kind it is, at their own ports. */
static bool may_look(const struct tl_session *session)
{
    return session->named.kind == TL_FAR_KIND_COUNT &&
           session->target.port == tl_far_row(TL_FAR_TIGHTLINK)->port && !session->config.prior;
}

/* What answered, before the user is asked: the first of the table's order is taken. */
static void tell_found(struct tl_session *session, unsigned kinds)
{
    char others[160] = "";
    for (int i = 0; i < TL_FAR_KIND_COUNT; i++)
        if (kinds >> i & 1 && (enum tl_far_kind)i != session->target.kind)
            snprintf(others + strlen(others), sizeof others - strlen(others), "%s%s",
                     others[0] ? ", " : "", tl_far_row((enum tl_far_kind)i)->what);
    if (others[0])
        tl_events_note(&session->events, "there also answers: %s", others);
    tell_kind(session, "no tightlink responder answers; found");
}

/* Nothing that could be measured answers, but a web server does: how it would be. */
static void offer_web(const struct tl_session *session, unsigned kinds, struct tl_error *error)
{
    enum tl_far_kind kind = kinds >> TL_FAR_HTTPS & 1 ? TL_FAR_HTTPS : TL_FAR_HTTP;
    bool is_v6 = strchr(session->host, ':') != NULL;
    struct tl_error without = *error;
    if (kinds & WEB_KINDS)
        (void)!tl_error_set(
            error, error->status,
            "%.250s; a web server answers there: %s://%s%.200s%s/FILE of a big file "
            "measures the download from it",
            without.text, tl_far_row(kind)->scheme, is_v6 ? "[" : "", session->host,
            is_v6 ? "]" : "");
}

/* Where no responder answers: what else does. */
static enum tl_status take_other(struct tl_session *session, unsigned kinds, enum tl_status refused,
                                 struct tl_error *reterr)
{
    struct tl_error error = {0};
    enum tl_status status = refused;
    for (int i = 0; i < TL_FAR_KIND_COUNT && status != TL_OK && status != TL_CANCELLED; i++) {
        if (!((kinds & ~WEB_KINDS) >> i & 1))
            continue;
        aim(session, (enum tl_far_kind)i, tl_far_row((enum tl_far_kind)i)->port);
        status = dial(session, session->cancel_fd, &error);
    }
    if (status == TL_OK) {
        tell_found(session, kinds);
        return TL_OK;
    }
    aim(session, TL_FAR_TIGHTLINK, port_of(session, TL_FAR_TIGHTLINK));
    if (status == TL_CANCELLED)
        *reterr = error;
    else
        offer_web(session, kinds, reterr);
    return status == TL_CANCELLED ? status : refused; /* and its sentence */
}

/* --- The whole ------------------------------------------------------------------------------ */

enum tl_status session_connect(struct tl_session *session, struct tl_error *reterr)
{
    enum tl_far_kind named = session->named.kind;
    enum tl_far_kind kind = named == TL_FAR_KIND_COUNT ? TL_FAR_TIGHTLINK : named;
    struct tl_run *run = &session->result.run;
    struct tl_error error = {0};
    aim(session, kind, port_of(session, kind));
    unsigned others = 0;
    enum tl_status status = may_look(session) ? dial_and_look(session, &others, &error)
                                              : dial(session, session->cancel_fd, &error);
    if (status == TL_OK && kind != TL_FAR_TIGHTLINK)
        tell_kind(session, "this is");
    if (status == TL_OK) {
        tell_http(session);
        tell_proxy(session);
    } else {
        blame_proxy(session, &error);
    }
    if (others != 0)
        status = take_other(session, others, status, &error);
    if (strcmp(session->target_kind, "tightlink") == 0)
        snprintf(run->target_kind, sizeof run->target_kind, "%s",
                 tl_far_row(session->target.kind)->id);
    if (status != TL_OK && reterr)
        *reterr = error;
    return status;
}

void session_explain_lacks(struct tl_session *session)
{
    char why[TL_PLAN_LACK_SIZE];
    for (int i = 0; i < TL_PLAN_COUNT; i++) {
        const struct tl_stage *stage = tl_stage_at((enum tl_plan_stage)i);
        const unsigned can = tl_far_row(session->plan.far)->can & ~session->plan.far_cannot;
        for (int d = TL_DOWNLOAD; d <= TL_UPLOAD; d++) {
            enum tl_direction direction = (enum tl_direction)d;
            if ((stage->far[d] & ~can) &&
                tl_plan_lacks(&session->plan, (enum tl_plan_stage)i, direction, why))
                tl_facts_explain_stage(session->result.facts, stage->id,
                                       stage->per_direction ? &direction : NULL, why);
        }
    }
}
