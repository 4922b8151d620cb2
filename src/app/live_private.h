/* What the files of app/live share: the watch, and what was said of each connection so far. */
#ifndef TL_APP_LIVE_PRIVATE_H
#define TL_APP_LIVE_PRIVATE_H

#include "tightlink/app/live.h"
#include "tightlink/flow/watch.h"

/* Intervals of a second that a row's cause is judged from: enough steady time for a verdict
 * (doc/architecture.md, "Faults"), short enough to follow a change. */
#define LIVE_JUDGED_INTERVALS 10

/* What the kernel's records are sifted by: names are looked up. TL_NOHOST. */
enum tl_status live_filter(const struct tl_app_live_what *what,
                           struct tl_flow_watch_filter *ret_filter,
                           struct tl_error *reterr) TL_WARN_UNUSED;

/* What the rules said of a connection when they were asked last. */
struct live_opinion {
    uint64_t cookie;
    int64_t judged_ns;
    enum tl_verdict_state state;
    double confidence;
    char cause[48], says[512];
    char program[96]; /* that held it when last known; "" */
    int stands;       /* times in a row that the cause was the same */
    char settled[48]; /* the last cause that stood */
    char was[48];     /* the one before it, where moved */
    bool moved;       /* not told yet */
};

/* Takes a cause ("" for none). A cause has moved once another one stands: a verdict of ten seconds
 * that changes back and forth is no news. */
void live_opinion_take(struct live_opinion *opinion, const char *cause);

struct tl_app_live {
    struct tl_flow_watch *watch;
    const struct tl_rules *rules;
    struct tl_facts *host_facts; /* of this machine: what an audit tells */
    int64_t start_ns, step_ns;
    int steps;
    int stride; /* a reading each so many steps: more connections cost more */
    struct tl_app_live_row *rows;
    size_t row_count, row_cap;
    struct live_opinion *opinions;
    size_t opinion_count, opinion_cap;
    struct tl_app_live_sum sum;
};

/* The record of a run that is what one connection did in that time: kind as in the schema. */
void live_begin_run(const struct tl_live_flow *flow, const struct tl_live_interval *joined,
                    enum tl_direction direction, const char *kind, struct tl_run *run);

/* The rows anew, from the interval that was just closed. TL_NOMEM. */
enum tl_status live_make_rows(struct tl_app_live *live);
/* For qsort: what has ended comes last, what stands altogether first. What is held up is what moves
 * while its program has more to give: a trickle that some program sends now and then stands below
 * the copy that crawls. */
int live_by_loss(const void *a, const void *b);

/* Asks the rules about those of the first rows whose opinion is oldest. */
enum tl_status live_form_opinions(struct tl_app_live *live, int64_t now_ns,
                                  struct tl_error *reterr);

#endif
