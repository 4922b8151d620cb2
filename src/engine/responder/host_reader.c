/* The thread that reads the host. A session has at most one job, so the queue is as bounded as the
 * sessions are. */
#include "host_reader.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tightlink/base/thread.h"
#include "tightlink/base/wake.h"

/* Owned by the thread between submit and done. */
struct host_job {
    struct host_job *next;
    void *owner; /* NULL: nobody wants the answer any more; the loop's thread alone looks */
    struct sockaddr_in6 peer;
    bool keyed;
    struct tl_host_settings settings;
};

struct host_reader {
    struct watch done_watch; /* first: done_ready() finds the reader by it */
    host_read_fn *done_fn;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t asked;
    bool ending; /* under lock, as are the lists */
    struct host_job *first_job, *last_job;
    struct host_job *done;
};

/* Open mode tells what a diagnosis needs and no more (doc/wire.md), key mode the whole. IPv4 peers
 * go in as IPv4: the route is looked up by family. */
static void read_host(struct host_job *job)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = job->peer.sin6_port};
    const struct sockaddr *peer = (const struct sockaddr *)&job->peer;
    if (IN6_IS_ADDR_V4MAPPED(&job->peer.sin6_addr)) {
        memcpy(&v4.sin_addr, &job->peer.sin6_addr.s6_addr[12], 4);
        peer = (const struct sockaddr *)&v4;
    }
    (void)tl_host_settings_read(&job->settings, peer);
    if (!job->keyed)
        tl_host_settings_withhold(&job->settings);
}

static void *reader_main(void *arg)
{
    struct host_reader *reader = arg;
    pthread_mutex_lock(&reader->lock);
    for (;;) {
        while (!reader->first_job && !reader->ending)
            pthread_cond_wait(&reader->asked, &reader->lock);
        if (reader->ending)
            break;
        struct host_job *job = reader->first_job;
        reader->first_job = job->next;
        if (!reader->first_job)
            reader->last_job = NULL;
        pthread_mutex_unlock(&reader->lock);
        read_host(job);
        pthread_mutex_lock(&reader->lock);
        job->next = reader->done;
        reader->done = job;
        tl_wake(reader->done_watch.fd);
    }
    pthread_mutex_unlock(&reader->lock);
    return NULL;
}

static void done_ready(struct watch *watch, uint32_t events)
{
    struct host_reader *reader = (struct host_reader *)watch;
    eventfd_t count;
    (void)eventfd_read(watch->fd, &count);
    pthread_mutex_lock(&reader->lock);
    struct host_job *job = reader->done;
    reader->done = NULL;
    pthread_mutex_unlock(&reader->lock);
    while (job) {
        struct host_job *next = job->next;
        if (job->owner)
            reader->done_fn(job->owner, &job->settings);
        free(job);
        job = next;
    }
}

/* What is left without its thread. */
static void free_reader(struct host_reader *reader)
{
    if (reader->done_watch.fd >= 0)
        close(reader->done_watch.fd);
    pthread_cond_destroy(&reader->asked);
    pthread_mutex_destroy(&reader->lock);
    free(reader);
}

enum tl_status host_reader_create(struct loop *loop, host_read_fn *done,
                                  struct host_reader **ret_reader)
{
    struct host_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return TL_NOMEM;
    reader->done_fn = done;
    pthread_mutex_init(&reader->lock, NULL);
    pthread_cond_init(&reader->asked, NULL);
    reader->done_watch.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    enum tl_status status = TL_IO;
    if (reader->done_watch.fd >= 0)
        status = loop_add(loop, &reader->done_watch, EPOLLIN, done_ready);
    if (status == TL_OK)
        status = tl_status_from_errno(tl_thread_start(&reader->thread, reader_main, reader));
    if (status != TL_OK) {
        free_reader(reader);
        return status;
    }
    *ret_reader = reader;
    return TL_OK;
}

static void free_jobs(struct host_job *job)
{
    while (job) {
        struct host_job *next = job->next;
        free(job);
        job = next;
    }
}

void host_reader_destroy(struct host_reader *reader)
{
    if (!reader)
        return;
    pthread_mutex_lock(&reader->lock);
    reader->ending = true;
    pthread_cond_signal(&reader->asked);
    pthread_mutex_unlock(&reader->lock);
    pthread_join(reader->thread, NULL);
    free_jobs(reader->first_job);
    free_jobs(reader->done);
    free_reader(reader);
}

struct host_job *host_reader_submit(struct host_reader *reader, const struct sockaddr_in6 *peer,
                                    bool keyed, void *owner)
{
    struct host_job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->owner = owner;
    job->peer = *peer;
    job->keyed = keyed;
    pthread_mutex_lock(&reader->lock);
    if (reader->last_job)
        reader->last_job->next = job;
    else
        reader->first_job = job;
    reader->last_job = job;
    pthread_cond_signal(&reader->asked);
    pthread_mutex_unlock(&reader->lock);
    return job;
}

void host_job_forget(struct host_job *job)
{
    if (job)
        job->owner = NULL;
}
