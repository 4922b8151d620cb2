/* The name: getaddrinfo() blocks for as long as it likes, so a thread asks and we wait
 * no longer than we want. The thread outlives an impatient caller and then frees the job. */
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "client_private.h"
#include "tightlink/base/thread.h"
#include "tightlink/base/time.h"
#include "tightlink/base/utf8.h"
#include "tightlink/base/wake.h"

enum { ADDRESSES_MAX = 4 }; /* of each family */

struct resolve_job {
    atomic_int owners; /* caller and thread: the last one frees */
    int done_fd;
    char host[256], port[8];
    struct addrinfo hints;
    struct addrinfo *list;
    int code;         /* of getaddrinfo; list and code belong to the caller once done */
    atomic_bool done; /* the event descriptor only wakes */
};

static void release_job(struct resolve_job *job)
{
    if (atomic_fetch_sub(&job->owners, 1) != 1)
        return;
    if (job->list)
        freeaddrinfo(job->list);
    close(job->done_fd);
    free(job);
}

static void *resolve_main(void *arg)
{
    struct resolve_job *job = arg;
    job->code = getaddrinfo(job->host, job->port, &job->hints, &job->list);
    atomic_store(&job->done, true);
    tl_wake(job->done_fd);
    release_job(job);
    return NULL;
}

static struct resolve_job *create_job(const struct tl_client_options *options)
{
    struct resolve_job *job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    job->done_fd = eventfd(0, EFD_CLOEXEC);
    if (job->done_fd < 0) {
        free(job);
        return NULL;
    }
    job->owners = 1;
    (void)snprintf(job->host, sizeof(job->host), "%s", options->host);
    (void)snprintf(job->port, sizeof(job->port), "%d", options->port);
    job->hints.ai_socktype = SOCK_STREAM;
    job->hints.ai_family = options->family == 4   ? AF_INET
                           : options->family == 6 ? AF_INET6
                                                  : AF_UNSPEC;
    return job;
}

static int start_thread(struct resolve_job *job)
{
    atomic_fetch_add(&job->owners, 1);
    int errnum = tl_thread_start(NULL, resolve_main, job);
    if (errnum != 0)
        release_job(job);
    return errnum;
}

/* 1: done, 0: too long, -1: cancelled. */
static int wait_job(const struct resolve_job *job, int cancel_fd)
{
    struct pollfd fds[2] = {{.fd = job->done_fd, .events = POLLIN},
                            {.fd = cancel_fd, .events = POLLIN}};
    int64_t until_ns = tl_now_ns() + TL_CLIENT_RESOLVE_NS;
    for (;;) {
        int64_t wait_ns = until_ns - tl_now_ns();
        if (wait_ns <= 0)
            return 0;
        (void)poll(fds, 2, (int)(wait_ns / TL_NS_PER_MS) + 1);
        if (fds[1].revents)
            return -1;
        if (atomic_load(&job->done))
            return 1;
    }
}

static enum tl_status explain(const struct tl_client_options *options, int code,
                              struct tl_error *reterr)
{
    char name[TL_UTF8_NAME_SIZE];
    tl_utf8_clean_name(options->host, name);
    const char *family = options->family == 4   ? " with an IPv4 address"
                         : options->family == 6 ? " with an IPv6 address"
                                                : "";
    const char *colon = strchr(name, ':');
    if (colon && !strchr(colon + 1, ':'))
        return tl_error_set(reterr, TL_NOHOST,
                            "no host \"%s\" is known: give the port by itself, %.*s --port %s",
                            name, (int)(colon - name), name, colon + 1);
    if (code == EAI_NONAME || code == EAI_NODATA || code == EAI_ADDRFAMILY)
        return tl_error_set(reterr, TL_NOHOST,
                            "no host \"%s\"%s is known: check the spelling, or give its address",
                            name, family);
    if (code == EAI_AGAIN)
        return tl_error_set(reterr, TL_NOHOST,
                            "the name server does not answer for \"%s\": give the host's address, "
                            "or mend /etc/resolv.conf",
                            name);
    return tl_error_set(reterr, TL_NOHOST, "\"%s\" cannot be resolved: %s", name,
                        gai_strerror(code));
}

static enum tl_status await_job(const struct tl_client_options *options, struct resolve_job *job,
                                struct tl_error *reterr)
{
    int done = wait_job(job, options->cancel_fd);
    if (done < 0)
        return tl_error_set(reterr, TL_CANCELLED, "cancelled while the name was resolved");
    if (done == 0)
        return explain(options, EAI_AGAIN, reterr);
    return job->code == 0 ? TL_OK : explain(options, job->code, reterr);
}

/* The first few of each family, in their order: a name of thousands of addresses would hold the
 * client for hours, and send it to thousands of third parties. */
static void keep_a_few(struct addrinfo *list)
{
    unsigned v4 = 0, v6 = 0;
    for (struct addrinfo **at = &list; *at;) {
        struct addrinfo *entry = *at;
        unsigned *count = entry->ai_family == AF_INET ? &v4 : &v6;
        if (entry == list || *count < ADDRESSES_MAX) {
            (*count)++;
            at = &entry->ai_next;
            continue;
        }
        *at = entry->ai_next;
        entry->ai_next = NULL;
        freeaddrinfo(entry);
    }
}

enum tl_status client_resolve(const struct tl_client_options *options, struct addrinfo **ret_list,
                              int64_t *ret_ns, struct tl_error *reterr)
{
    if (strlen(options->host) > 253) /* RFC 1035: the longest name */
        return explain(options, EAI_NONAME, reterr);
    struct resolve_job *job = create_job(options);
    if (!job)
        return tl_error_set(reterr, TL_NOMEM, "no memory to resolve a name");
    int64_t start_ns = tl_now_ns();
    enum tl_status status = TL_OK;
    *ret_ns = 0;
    /* A numeric address needs no server and no thread. */
    struct addrinfo hints = job->hints;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    if (getaddrinfo(job->host, job->port, &hints, &job->list) != 0) {
        int errnum = start_thread(job);
        status = errnum == 0
                     ? await_job(options, job, reterr)
                     : tl_error_set(reterr, TL_IO, "starting a thread: %s", strerror(errnum));
        *ret_ns = tl_now_ns() - start_ns;
    }
    if (status == TL_OK) {
        keep_a_few(job->list);
        *ret_list = job->list;
        job->list = NULL;
    }
    release_job(job);
    return status;
}
