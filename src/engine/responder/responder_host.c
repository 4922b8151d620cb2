/* Reading the host takes milliseconds (netlink, ethtool, /proc), so a thread does it and
 * the loop hears of it by an eventfd. A session has at most one job, so the queue is as
 * bounded as the sessions are. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "responder_private.h"

struct host_reader {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t asked;
    bool ending; /* under lock, as are the lists */
    struct host_job *first_job, *last_job;
    struct host_job *done;
    int done_fd;
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
        (void)eventfd_write(reader->done_fd, 1);
    }
    pthread_mutex_unlock(&reader->lock);
    return NULL;
}

static void done_ready(struct watch *watch, uint32_t events)
{
    struct tl_responder *responder =
        (struct tl_responder *)((char *)watch - offsetof(struct tl_responder, host_done));
    struct host_reader *reader = responder->host;
    eventfd_t count;
    (void)eventfd_read(watch->fd, &count);
    pthread_mutex_lock(&reader->lock);
    struct host_job *job = reader->done;
    reader->done = NULL;
    pthread_mutex_unlock(&reader->lock);
    while (job) {
        struct host_job *next = job->next;
        if (job->session) {
            job->session->job = NULL;
            session_host_done(job->session, &job->settings);
        }
        free(job);
        job = next;
    }
}

enum tl_status host_reader_create(struct tl_responder *responder)
{
    struct host_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return TL_NOMEM;
    reader->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (reader->done_fd < 0) {
        free(reader);
        return TL_IO;
    }
    pthread_mutex_init(&reader->lock, NULL);
    pthread_cond_init(&reader->asked, NULL);
    sigset_t all, before;
    sigfillset(&all); /* signals are for the program's own thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int errnum = pthread_create(&reader->thread, NULL, reader_main, reader);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (errnum != 0) {
        close(reader->done_fd);
        pthread_cond_destroy(&reader->asked);
        pthread_mutex_destroy(&reader->lock);
        free(reader);
        return tl_status_from_errno(errnum);
    }
    responder->host = reader;
    responder->host_done.fd = reader->done_fd;
    return watch_add(responder, &responder->host_done, EPOLLIN, done_ready);
}

static void free_jobs(struct host_job *job)
{
    while (job) {
        struct host_job *next = job->next;
        free(job);
        job = next;
    }
}

void host_reader_destroy(struct tl_responder *responder)
{
    struct host_reader *reader = responder->host;
    if (!reader)
        return;
    pthread_mutex_lock(&reader->lock);
    reader->ending = true;
    pthread_cond_signal(&reader->asked);
    pthread_mutex_unlock(&reader->lock);
    pthread_join(reader->thread, NULL);
    free_jobs(reader->first_job);
    free_jobs(reader->done);
    close(reader->done_fd);
    pthread_cond_destroy(&reader->asked);
    pthread_mutex_destroy(&reader->lock);
    free(reader);
    responder->host = NULL;
}

bool host_reader_submit(struct tl_responder *responder, struct session *session)
{
    struct host_reader *reader = responder->host;
    struct host_job *job = calloc(1, sizeof *job);
    if (!job)
        return false;
    job->session = session;
    job->peer = session->peer;
    job->keyed = session->secure != NULL;
    session->job = job;
    pthread_mutex_lock(&reader->lock);
    if (reader->last_job)
        reader->last_job->next = job;
    else
        reader->first_job = job;
    reader->last_job = job;
    pthread_cond_signal(&reader->asked);
    pthread_mutex_unlock(&reader->lock);
    return true;
}

/* job->session is only touched by the loop's thread, so no lock is needed. */
void host_reader_forget(struct session *session)
{
    if (session->job)
        session->job->session = NULL;
    session->job = NULL;
}
