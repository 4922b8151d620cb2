/* Whether a session asks a name server for its routers' names. Asking is counted here, by functions
 * of the probes' names: loopback has no routers, and no packet may leave for a test. */
#include <string.h>

#include "play.h"
#include "tightlink/probes/hop_names.h"

static int asked;

struct tl_hop_names *tl_hop_names_ask(const struct tl_run *run)
{
    (void)run;
    asked++;
    return NULL;
}

void tl_hop_names_take(struct tl_hop_names *names, int64_t wait_ns, struct tl_run *run,
                       struct tl_facts *facts)
{
    (void)wait_ns, (void)run, (void)facts;
    cr_expect_null(names);
}

static void do_nothing(struct play *play, const struct tl_event *event)
{
    (void)play, (void)event;
}

static void stop_in_the_path_stage(struct play *play, const struct tl_event *event)
{
    if (event->kind == TL_EVENT_STAGE_START && strcmp(event->stage, "path") == 0 && !play->acted++)
        tl_session_stop(play->session);
}

static void ask(react_fn *react, bool numeric, enum tl_status ends)
{
    struct play play;
    asked = 0;
    prepare(&play, "path", "hosts");
    play.config.numeric = numeric;
    run(&play, react);
    cr_expect_eq(play.result.status, ends, "%s", play.result.error.text);
    end(&play);
}

Test(names, they_are_asked_for_once_behind_the_light_stages, .timeout = 120)
{
    ask(do_nothing, false, TL_OK);
    cr_expect_eq(asked, 1);
}

Test(names, numeric_asks_nobody, .timeout = 120)
{
    ask(do_nothing, true, TL_OK);
    cr_expect_eq(asked, 0);
}

Test(names, a_run_that_was_stopped_asks_nobody, .timeout = 120)
{
    ask(stop_in_the_path_stage, false, TL_CANCELLED);
    cr_expect_eq(asked, 0);
}
