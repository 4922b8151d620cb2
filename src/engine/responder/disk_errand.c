/* The thread of a disk errand; disk_errand.h tells the idea. */
#include "disk_errand.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tightlink/base/thread.h"
#include "tightlink/base/wake.h"

/* What both sides have. */
struct shared {
    atomic_uint holds; /* of the thread and the errand */
    char *directory;   /* owned: the thread may outlive the responder */
    struct tl_disk_area *replaced;
    bool write, read;
    struct tl_disk_spec test;
    int done_fd, cancel_fd;
    atomic_bool done;
    struct disk_answer answer; /* the loop's after done */
};

/* The loop's side. */
struct disk_errand {
    struct watch watch; /* of shared->done_fd, which shared owns */
    struct loop *loop;
    struct shared *shared;
    disk_errand_fn *done;
    void *owner;
};

static void shared_release(struct shared *shared)
{
    if (atomic_fetch_sub(&shared->holds, 1) != 1)
        return;
    tl_disk_area_release(shared->replaced);
    tl_disk_area_release(shared->answer.area);
    if (shared->done_fd >= 0)
        close(shared->done_fd);
    if (shared->cancel_fd >= 0)
        close(shared->cancel_fd);
    free(shared->directory);
    free(shared);
}

static enum tl_status run_tests(struct shared *shared)
{
    struct disk_answer *answer = &shared->answer;
    enum tl_status status = TL_OK;
    struct tl_disk_spec spec = shared->test;
    if (shared->write) {
        spec.operation = TL_DISK_WRITE;
        status = tl_disk_test(answer->area, &spec, NULL, NULL, &answer->write, &answer->error);
    }
    if (status == TL_OK && shared->read) {
        spec.operation = TL_DISK_READ;
        status = tl_disk_test(answer->area, &spec, NULL, NULL, &answer->red, &answer->error);
    }
    return status;
}

static void *errand_main(void *context)
{
    struct shared *shared = context;
    struct disk_answer *answer = &shared->answer;
    struct tl_disk_area_spec spec = {.directory = shared->directory, .shared = true};
    answer->status = TL_OK;
    tl_disk_area_release(shared->replaced);
    shared->replaced = NULL;
    if (!answer->area)
        answer->status = tl_disk_area_create(&spec, &answer->area, &answer->error);
    if (answer->status == TL_OK)
        answer->status = run_tests(shared);
    if (shared->read)
        tl_host_disk_read(shared->directory, &answer->host);
    atomic_store(&shared->done, true);
    tl_wake(shared->done_fd);
    shared_release(shared);
    return NULL;
}

static bool start_thread(struct shared *shared)
{
    atomic_fetch_add(&shared->holds, 1);
    bool started = tl_thread_start(NULL, errand_main, shared) == 0;
    if (!started)
        shared_release(shared);
    return started;
}

static struct shared *make_shared(const struct disk_errand_spec *spec)
{
    struct shared *shared = calloc(1, sizeof *shared);
    if (!shared)
        return NULL;
    atomic_init(&shared->holds, 1);
    shared->directory = strdup(spec->directory);
    shared->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    shared->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (spec->area)
        shared->answer.area = tl_disk_area_hold(spec->area);
    shared->replaced = spec->replaced;
    shared->write = spec->write;
    shared->read = spec->read;
    shared->test = spec->test;
    shared->test.cancel_fd = shared->cancel_fd;
    tl_host_disk_init(&shared->answer.host);
    if (shared->directory && shared->done_fd >= 0 && shared->cancel_fd >= 0)
        return shared;
    shared_release(shared);
    return NULL;
}

static void errand_done(struct watch *watch, uint32_t events)
{
    struct disk_errand *errand = (struct disk_errand *)watch;
    struct shared *shared = errand->shared;
    if (!atomic_load(&shared->done)) /* the descriptor alone orders nothing */
        return;
    atomic_fetch_add(&shared->holds, 1); /* who is told may let the errand go */
    errand->done(errand->owner, &shared->answer);
    shared_release(shared);
}

enum tl_status disk_errand_start(struct loop *loop, const struct disk_errand_spec *spec,
                                 disk_errand_fn *done, void *owner, struct disk_errand **ret_errand)
{
    struct disk_errand *errand = calloc(1, sizeof *errand);
    struct shared *shared = errand ? make_shared(spec) : NULL;
    if (!shared) {
        free(errand);
        return TL_NOMEM;
    }
    *errand = (struct disk_errand){.watch = {.fd = shared->done_fd},
                                   .loop = loop,
                                   .shared = shared,
                                   .done = done,
                                   .owner = owner};
    enum tl_status status = loop_add(loop, &errand->watch, EPOLLIN, errand_done);
    if (status == TL_OK && !start_thread(shared))
        status = TL_IO;
    if (status != TL_OK) {
        disk_errand_let_go(errand);
        return status;
    }
    *ret_errand = errand;
    return TL_OK;
}

void disk_errand_let_go(struct disk_errand *errand)
{
    if (!errand)
        return;
    tl_wake(errand->shared->cancel_fd);
    (void)loop_release(errand->loop, &errand->watch);
    shared_release(errand->shared);
    loop_bury(errand->loop, &errand->watch);
}
