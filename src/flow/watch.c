/* Reads the kernel's connections into the table; which of them are wanted. The programs behind
 * them: watch_programs.c. */
#include "tightlink/flow/watch.h"

#include <stdlib.h>
#include <string.h>

#include "tightlink/base/address.h"
#include "watch_programs.h"

struct tl_flow_watch {
    struct tl_flow_watch_filter filter;
    struct tl_live *live;
    struct tl_host_socket_ends *ends; /* NULL: the kernel does not tell them */
    enum tl_host_why ends_why;
    struct watch_programs *programs;
};

static bool is_one_of(const struct tl_flow_watch_filter *filter, const unsigned char remote[16])
{
    for (size_t i = 0; i < filter->remote_count; i++)
        if (memcmp(filter->remotes[i], remote, 16) == 0)
            return true;
    return false;
}

/* The process and the port that were named; a number may be either. */
static bool is_named(struct tl_flow_watch *watch, const struct tl_host_socket *socket)
{
    const struct tl_flow_watch_filter *filter = &watch->filter;
    bool at_port = socket->local_port == filter->port || socket->remote_port == filter->port;

    if (filter->pid_or_port && at_port)
        return true;
    if (filter->pid && !watch_programs_has(watch->programs, socket->inode, filter->pid))
        return false;
    return !filter->port || filter->pid_or_port || at_port;
}

static bool is_wanted(struct tl_flow_watch *watch, const struct tl_host_socket *socket)
{
    const struct tl_flow_watch_filter *filter = &watch->filter;
    struct in6_addr remote;

    memcpy(&remote, socket->remote, sizeof remote);
    if (filter->remote_count && !is_one_of(filter, socket->remote))
        return false;
    if (!is_named(watch, socket))
        return false;
    if (filter->holds && !filter->holds(socket->inode, filter->context))
        return false;
    /* Both ends of one that stays here would count each byte twice; who names it, wants it. */
    return filter->loopback || filter->holds || filter->pid || filter->port ||
           filter->remote_count || !tl_address_is_loopback(&remote);
}

static bool take(const struct tl_host_socket *socket, void *context)
{
    struct tl_flow_watch *watch = context;

    if (is_wanted(watch, socket))
        (void)!tl_live_take(watch->live, socket); /* a full table is told by the sum */
    return true;
}

/* Of one that ended nobody can tell any more which program held it (its inode is 0): those of a PID
 * or of a set of programs count only where a reading has met them. */
static bool take_end(const struct tl_host_socket *socket, void *context)
{
    struct tl_flow_watch *watch = context;
    bool known = tl_live_find(watch->live, socket->cookie) != NULL;

    if (known || (!watch->filter.holds && is_wanted(watch, socket)))
        tl_live_take_end(watch->live, socket);
    return true;
}

static void begin(struct tl_flow_watch *watch, int64_t now_ns)
{
    tl_live_begin(watch->live, now_ns);
    if (watch->ends && !tl_host_socket_ends_read(watch->ends, take_end, watch))
        tl_live_ends_lost(watch->live);
}

enum tl_status tl_flow_watch_read(struct tl_flow_watch *watch, int64_t now_ns,
                                  struct tl_error *reterr)
{
    begin(watch, now_ns);
    enum tl_host_why why = tl_host_sockets_each(take, watch);
    if (why != TL_HOST_WHY_KNOWN)
        return tl_error_set(reterr, TL_IO, "the kernel does not tell its connections: %s",
                            tl_host_why_text(why));
    tl_live_end(watch->live);
    return TL_OK;
}

void tl_flow_watch_read_known(struct tl_flow_watch *watch, int64_t now_ns)
{
    size_t count = tl_live_count(watch->live);

    begin(watch, now_ns);
    for (size_t i = 0; i < count; i++) {
        const struct tl_live_flow *flow = tl_live_at(watch->live, i);
        struct tl_host_socket socket;
        if (!flow->ended && tl_host_socket_again(&flow->socket, &socket))
            (void)!tl_live_take(watch->live, &socket); /* it has its place */
    }
}

enum tl_status tl_flow_watch_create(const struct tl_flow_watch_filter *filter, int64_t now_ns,
                                    struct tl_flow_watch **ret_watch, struct tl_error *reterr)
{
    struct tl_flow_watch *watch = calloc(1, sizeof(*watch));

    if (!watch)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    watch->filter = *filter;
    watch->live = tl_live_create(now_ns);
    watch->programs = watch_programs_create();
    watch->ends = tl_host_socket_ends_create(&watch->ends_why);
    enum tl_status status = watch->live && watch->programs
                                ? tl_flow_watch_read(watch, now_ns, reterr)
                                : tl_error_set(reterr, TL_NOMEM, "out of memory");
    if (status == TL_OK)
        *ret_watch = watch;
    else
        tl_flow_watch_destroy(watch);
    return status;
}

void tl_flow_watch_destroy(struct tl_flow_watch *watch)
{
    if (!watch)
        return;
    tl_host_socket_ends_destroy(watch->ends);
    watch_programs_destroy(watch->programs);
    tl_live_destroy(watch->live);
    free(watch);
}

void tl_flow_watch_close(struct tl_flow_watch *watch, int64_t now_ns, struct tl_live_sum *ret_sum)
{
    tl_live_close(watch->live, now_ns, ret_sum);
    watch_programs_look(watch->programs, watch->live, now_ns);
}

const struct tl_live *tl_flow_watch_live(const struct tl_flow_watch *watch)
{
    return watch->live;
}

const struct tl_flow_watch_program *tl_flow_watch_program(const struct tl_flow_watch *watch,
                                                          const struct tl_live_flow *flow)
{
    return watch_programs_find(watch->programs, flow->socket.inode);
}

bool tl_flow_watch_sees_ends(const struct tl_flow_watch *watch, const char **ret_why)
{
    *ret_why = tl_host_why_text(watch->ends_why);
    return watch->ends != NULL;
}
