/* Reverse names of the routers; hop_names.h says what for. */
#include "tightlink/probes/hop_names.h"

#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "places.h"
#include "tightlink/base/thread.h"
#include "tightlink/base/time.h"
#include "tightlink/base/utf8.h"

struct question {
    struct tl_hop_names *names;
    char address[64];
    char name[NI_MAXHOST];
    bool answered;
};

/* The caller and each thread own it; the last one frees. */
struct tl_hop_names {
    pthread_mutex_t lock;
    pthread_cond_t one_less;
    int64_t asked_ns;
    int owners, open; /* open: threads that still wait for the resolver */
    struct question questions[TL_RUN_HOPS_MAX];
};

static void release(struct tl_hop_names *names)
{
    pthread_mutex_lock(&names->lock);
    bool last = --names->owners == 0;
    pthread_mutex_unlock(&names->lock);
    if (!last)
        return;
    pthread_cond_destroy(&names->one_less);
    pthread_mutex_destroy(&names->lock);
    free(names);
}

/* The name of a numeric address, or false. */
static bool ask(const char *address, char ret_name[NI_MAXHOST])
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM}, *found;
    if (getaddrinfo(address, NULL, &hints, &found) != 0)
        return false;
    bool named = getnameinfo(found->ai_addr, found->ai_addrlen, ret_name, NI_MAXHOST, NULL, 0,
                             NI_NAMEREQD) == 0;
    freeaddrinfo(found);
    return named;
}

static void *ask_one(void *context)
{
    struct question *question = context;
    struct tl_hop_names *names = question->names;
    char name[NI_MAXHOST];
    bool named = ask(question->address, name);
    pthread_mutex_lock(&names->lock);
    if (named)
        memcpy(question->name, name, sizeof name);
    question->answered = named;
    names->open--;
    pthread_cond_signal(&names->one_less);
    pthread_mutex_unlock(&names->lock);
    release(names);
    return NULL;
}

static void begin_question(struct tl_hop_names *names, int index, const char *address)
{
    struct question *question = &names->questions[index];
    question->names = names;
    snprintf(question->address, sizeof question->address, "%s", address);
    pthread_mutex_lock(&names->lock);
    if (tl_thread_start(NULL, ask_one, question) == 0) {
        names->owners++;
        names->open++;
    }
    pthread_mutex_unlock(&names->lock);
}

static bool is_nameless_router(const struct tl_run *run, int index)
{
    const struct tl_hop_record *hop = &run->hops[index];
    return index + 1 < run->hop_count && hop->address[0] && !hop->name[0];
}

struct tl_hop_names *tl_hop_names_ask(const struct tl_run *run)
{
    int wanted = 0;
    for (int i = 0; i < run->hop_count && i < TL_RUN_HOPS_MAX; i++)
        wanted += is_nameless_router(run, i);
    struct tl_hop_names *names = wanted > 0 ? calloc(1, sizeof *names) : NULL;
    if (!names)
        return NULL;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&names->lock, NULL);
    pthread_cond_init(&names->one_less, &monotonic);
    pthread_condattr_destroy(&monotonic);
    names->asked_ns = tl_now_ns();
    names->owners = 1;
    for (int i = 0; i < run->hop_count && i < TL_RUN_HOPS_MAX; i++)
        if (is_nameless_router(run, i))
            begin_question(names, i, run->hops[i].address);
    return names;
}

static void wait_for_all(struct tl_hop_names *names, int64_t wait_ns)
{
    int64_t until_ns = names->asked_ns + wait_ns;
    struct timespec until = {.tv_sec = until_ns / TL_NS_PER_S, .tv_nsec = until_ns % TL_NS_PER_S};
    while (names->open > 0)
        if (pthread_cond_timedwait(&names->one_less, &names->lock, &until) != 0)
            return;
}

static void write_names(struct tl_hop_names *names, int64_t wait_ns, struct tl_run *run)
{
    pthread_mutex_lock(&names->lock);
    wait_for_all(names, wait_ns);
    for (int i = 0; i < run->hop_count && i < TL_RUN_HOPS_MAX; i++) {
        const struct question *question = &names->questions[i];
        struct tl_hop_record *hop = &run->hops[i];
        if (question->answered && strcmp(question->address, hop->address) == 0)
            tl_utf8_clean(question->name, strlen(question->name), hop->name, sizeof hop->name);
    }
    pthread_mutex_unlock(&names->lock);
    release(names);
}

void tl_hop_names_take(struct tl_hop_names *names, int64_t wait_ns, struct tl_run *run,
                       struct tl_facts *facts)
{
    if (names)
        write_names(names, wait_ns, run);
    if (run->hop_count > 0)
        tl_places_set(facts, run);
}
