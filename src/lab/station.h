/* A queue in front of a server: packets wait there as tickets, and only when the link turns to
 * one of them is it known when it leaves. This is for links whose order, losses or times
 * depend on what comes later (RFC 8290's queues, CoDel's drops) or whose rate changes; a plain
 * link's fate is known at once (model.c).
 *
 * A pure model: the caller names the times. All memory is taken at the start. One thread. */
#ifndef TL_LAB_STATION_H
#define TL_LAB_STATION_H

#include <stdbool.h>
#include <stdint.h>

#include "aqm.h"
#include "server.h"
#include "tightlink/lab/config.h"

/* RFC 8290, 4.1: the queues that connections are spread over. */
#define TL_LAB_STATION_QUEUES 1024
#define TL_LAB_STATION_NONE   UINT32_MAX

struct tl_lab_waiting {
    int64_t came_ns;
    uint32_t len_bytes;
    uint32_t next; /* ticket */
    bool can_mark; /* its sender speaks ECN */
    bool marked;
};

struct tl_lab_station_queue {
    uint32_t first, last; /* tickets */
    double bytes;
    int32_t credit_bytes; /* RFC 8290, 4.2 */
    uint32_t next;        /* of the list of new or old queues */
    bool listed;
    struct tl_lab_codel codel;
};

/* A list of queues, by their numbers. */
struct tl_lab_station_list {
    uint32_t first, last;
};

struct tl_lab_station {
    struct tl_lab_server server;
    enum tl_lab_aqm aqm;
    bool marks;
    double queue_bytes;
    double backlog_bytes;
    uint32_t capacity;
    struct tl_lab_waiting *waiting; /* by ticket */
    struct tl_lab_station_queue *queues;
    uint32_t queue_count;
    struct tl_lab_station_list fresh, old;
    struct tl_lab_station_list dropped; /* tickets that nobody has been told about */
    int64_t free_ns;                    /* when the link is done with its present packet */
    struct tl_lab_pie pie;
    struct tl_lab_red red;
    struct tl_random chance;
};

/* Whether this link needs a station. */
bool tl_lab_station_needed(const struct tl_lab_link_config *link);

/* Tickets are below capacity. */
enum tl_status tl_lab_station_init(struct tl_lab_station *station,
                                   const struct tl_lab_link_config *link, int64_t queue_bytes,
                                   uint32_t capacity, uint64_t seed,
                                   struct tl_error *reterr) TL_WARN_UNUSED;
void tl_lab_station_finish(struct tl_lab_station *station);
void tl_lab_station_start(struct tl_lab_station *station, int64_t now_ns);

/* A packet comes: in line (NONE), or why not; *ret_mark: mark it now. The station has been
 * served up to now_ns before. hash stands for the connection. */
enum tl_lab_drop tl_lab_station_come(struct tl_lab_station *station, int64_t now_ns,
                                     uint32_t ticket, uint32_t len_bytes, uint64_t hash,
                                     bool can_mark, bool *ret_mark);

struct tl_lab_leaving {
    uint32_t ticket;
    enum tl_lab_drop drop;
    int64_t done_ns; /* when it is on the wire */
    uint32_t len_bytes;
    bool marked;
};

/* The next packet that the link turns to at or before until_ns, or that was dropped. */
bool tl_lab_station_serve(struct tl_lab_station *station, int64_t until_ns,
                          struct tl_lab_leaving *ret_leaving);

/* When the link turns to its next packet; INT64_MAX when nobody waits. */
int64_t tl_lab_station_next_ns(const struct tl_lab_station *station);

#endif
