/* A thread for one call of tl_session_preview(). It owns the question until the descriptor is
 * readable; then the asking thread does. */
#include "lookup.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tightlink/base/thread.h"
#include "tightlink/base/wake.h"

struct tui_lookup {
    struct tl_session_config config;
    char host[256];
    pthread_t thread;
    int fd;
    struct tl_session_preview preview;
    enum tl_status status;
    struct tl_error error;
};

static void *answer(void *context)
{
    struct tui_lookup *lookup = context;
    lookup->status = tl_session_preview(&lookup->config, &lookup->preview, &lookup->error);
    tl_wake(lookup->fd);
    return NULL;
}

enum tl_status tui_lookup_create(const struct tl_session_config *config,
                                 struct tui_lookup **ret_lookup)
{
    struct tui_lookup *lookup = calloc(1, sizeof *lookup);
    if (!lookup)
        return TL_NOMEM;
    lookup->config = *config;
    snprintf(lookup->host, sizeof lookup->host, "%s", config->host);
    lookup->config.host = lookup->host;
    lookup->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (lookup->fd < 0 || tl_thread_start(&lookup->thread, answer, lookup) != 0) {
        if (lookup->fd >= 0)
            close(lookup->fd);
        free(lookup);
        return TL_IO;
    }
    *ret_lookup = lookup;
    return TL_OK;
}

int tui_lookup_fd(const struct tui_lookup *lookup)
{
    return lookup->fd;
}

enum tl_status tui_lookup_take(struct tui_lookup *lookup, struct tl_session_preview *ret_preview,
                               struct tl_error *reterr)
{
    uint64_t count;
    (void)!read(lookup->fd, &count, sizeof count);
    if (lookup->status == TL_OK)
        *ret_preview = lookup->preview;
    else if (reterr)
        *reterr = lookup->error;
    return lookup->status;
}

void tui_lookup_destroy(struct tui_lookup *lookup)
{
    if (!lookup)
        return;
    pthread_join(lookup->thread, NULL);
    close(lookup->fd);
    free(lookup);
}
