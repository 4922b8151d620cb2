/* Which kinds of far ends answer at a host: each is greeted in a thread of its own, so that one
 * behind a firewall holds up no other. */
#include <pthread.h>

#include "far_private.h"
#include "tightlink/base/thread.h"

struct greeting {
    pthread_t thread;
    bool running;
    const struct far_ops *ops;
    struct tl_far_options options;
    enum tl_status status;
    struct tl_error error;
};

static void *greet(void *context)
{
    struct greeting *greeting = context;
    greeting->status = greeting->ops->answers(&greeting->options, &greeting->error);
    return NULL;
}

/* Whether one that is preferred was found at that port: an NDT server is a web server, too. */
static bool is_taken(const struct greeting *greetings, unsigned found, uint16_t port)
{
    for (int i = 0; i < TL_FAR_KIND_COUNT; i++)
        if (found >> i & 1 && greetings[i].options.reach.port == port)
            return true;
    return false;
}

enum tl_status tl_far_discover(unsigned kinds, const struct tl_far_options *options,
                               unsigned *ret_kinds, struct tl_error *reterr)
{
    struct greeting greetings[TL_FAR_KIND_COUNT] = {0};
    enum tl_status status = TL_OK;
    unsigned found = 0;
    for (int i = 0; i < TL_FAR_KIND_COUNT; i++) {
        struct greeting *greeting = &greetings[i];
        *greeting = (struct greeting){
            .ops = far_ops_of((enum tl_far_kind)i), .options = *options, .status = TL_REFUSED};
        if (!(kinds >> i & 1) || !greeting->ops || !greeting->ops->answers)
            continue;
        greeting->options.reach.port = tl_far_row((enum tl_far_kind)i)->port;
        greeting->options.reach.timeout_ns = TL_FAR_DISCOVER_NS;
        greeting->running = tl_thread_start(&greeting->thread, greet, greeting) == 0;
    }
    for (int i = 0; i < TL_FAR_KIND_COUNT; i++) {
        const struct greeting *greeting = &greetings[i];
        if (!greeting->running)
            continue;
        pthread_join(greeting->thread, NULL);
        bool answers = greeting->status == TL_OK || greeting->status == TL_BUSY;
        if (answers && !is_taken(greetings, found, greeting->options.reach.port))
            found |= 1u << i;
        if (greeting->status == TL_CANCELLED || greeting->status == TL_NOHOST) {
            status = greeting->status;
            if (reterr)
                *reterr = greeting->error;
        }
    }
    if (status == TL_OK)
        *ret_kinds = found;
    return status;
}
