/* Queues, their order, and who leaves next; see station.h. */
#include "station.h"

#include <stdlib.h>
#include <string.h>

#define NONE          TL_LAB_STATION_NONE
#define QUANTUM_BYTES 1514 /* RFC 8290, 5.2.3: one full frame */

bool tl_lab_station_needed(const struct tl_lab_link_config *link)
{
    return link->service != TL_LAB_SERVICE_RATE || link->aqm != TL_LAB_AQM_NONE;
}

enum tl_status tl_lab_station_init(struct tl_lab_station *station,
                                   const struct tl_lab_link_config *link, int64_t queue_bytes,
                                   uint32_t capacity, uint64_t seed, struct tl_error *reterr)
{
    memset(station, 0, sizeof *station);
    station->aqm = link->aqm;
    station->marks = link->aqm_ecn;
    station->queue_bytes = (double)queue_bytes;
    station->capacity = capacity;
    station->queue_count = link->aqm == TL_LAB_AQM_FQ_CODEL ? TL_LAB_STATION_QUEUES : 1;
    station->fresh = station->old = station->dropped = (struct tl_lab_station_list){NONE, NONE};
    tl_random_seed(&station->chance, seed + 1);
    enum tl_status status = tl_lab_server_init(&station->server, link, seed, reterr);
    if (status != TL_OK)
        return status;
    station->waiting = calloc(capacity, sizeof *station->waiting);
    station->queues = calloc(station->queue_count, sizeof *station->queues);
    if (!station->waiting || !station->queues) {
        tl_lab_station_finish(station);
        return tl_error_set(reterr, TL_NOMEM, "no memory for a queue of the link emulator");
    }
    for (uint32_t i = 0; i < station->queue_count; i++)
        station->queues[i].first = station->queues[i].last = station->queues[i].next = NONE;
    return TL_OK;
}

void tl_lab_station_finish(struct tl_lab_station *station)
{
    tl_lab_server_finish(&station->server);
    free(station->waiting);
    free(station->queues);
    memset(station, 0, sizeof *station);
}

void tl_lab_station_start(struct tl_lab_station *station, int64_t now_ns)
{
    station->free_ns = now_ns;
    tl_lab_server_start(&station->server, now_ns);
    tl_lab_pie_start(&station->pie, now_ns);
}

static void list_queue(struct tl_lab_station *station, struct tl_lab_station_list *list,
                       uint32_t number)
{
    station->queues[number].next = NONE;
    station->queues[number].listed = true;
    if (list->first == NONE)
        list->first = number;
    else
        station->queues[list->last].next = number;
    list->last = number;
}

static void unlist_first(struct tl_lab_station *station, struct tl_lab_station_list *list)
{
    uint32_t number = list->first;
    list->first = station->queues[number].next;
    if (list->first == NONE)
        list->last = NONE;
    station->queues[number].listed = false;
}

static void append(struct tl_lab_station *station, uint32_t *first, uint32_t *last, uint32_t ticket)
{
    station->waiting[ticket].next = NONE;
    if (*first == NONE)
        *first = ticket;
    else
        station->waiting[*last].next = ticket;
    *last = ticket;
}

/* The head of a queue that is not empty. */
static uint32_t take_head(struct tl_lab_station *station, struct tl_lab_station_queue *queue)
{
    uint32_t ticket = queue->first;
    const struct tl_lab_waiting *packet = &station->waiting[ticket];
    queue->first = packet->next;
    if (queue->first == NONE)
        queue->last = NONE;
    queue->bytes -= packet->len_bytes;
    station->backlog_bytes -= packet->len_bytes;
    return ticket;
}

static void drop_head(struct tl_lab_station *station, struct tl_lab_station_queue *queue)
{
    uint32_t ticket = take_head(station, queue);
    append(station, &station->dropped.first, &station->dropped.last, ticket);
}

/* RFC 8290, 4.1: room is made at the head of the longest queue. */
static void make_room(struct tl_lab_station *station)
{
    struct tl_lab_station_queue *longest = &station->queues[0];
    for (uint32_t i = 1; i < station->queue_count; i++)
        if (station->queues[i].bytes > longest->bytes)
            longest = &station->queues[i];
    if (longest->first != NONE)
        drop_head(station, longest);
}

/* What looks at a packet when it comes: true to drop it, or to mark it. */
static bool struck(struct tl_lab_station *station, int64_t now_ns)
{
    if (station->aqm == TL_LAB_AQM_PIE)
        return tl_lab_pie_drops(&station->pie, now_ns, station->backlog_bytes, &station->chance);
    return station->aqm == TL_LAB_AQM_RED &&
           tl_lab_red_drops(&station->red, now_ns, station->backlog_bytes, station->queue_bytes,
                            &station->chance);
}

/* RFC 8033, 5.1: above this share PIE drops what it could mark. */
#define PIE_MARKS_BELOW 0.1

static bool may_mark(const struct tl_lab_station *station, bool can_mark)
{
    return station->marks && can_mark &&
           (station->aqm != TL_LAB_AQM_PIE || station->pie.drop_ratio < PIE_MARKS_BELOW);
}

enum tl_lab_drop tl_lab_station_come(struct tl_lab_station *station, int64_t now_ns,
                                     uint32_t ticket, uint32_t len_bytes, uint64_t hash,
                                     bool can_mark, bool *ret_mark)
{
    bool fair = station->aqm == TL_LAB_AQM_FQ_CODEL;
    bool full =
        station->backlog_bytes > 0 && station->backlog_bytes + len_bytes > station->queue_bytes;
    *ret_mark = false;
    if (full && !fair)
        return TL_LAB_DROP_QUEUE;
    if (struck(station, now_ns)) {
        if (!may_mark(station, can_mark))
            return TL_LAB_DROP_AQM;
        *ret_mark = true;
    }
    uint32_t number = fair ? (uint32_t)(hash % station->queue_count) : 0;
    struct tl_lab_station_queue *queue = &station->queues[number];
    station->waiting[ticket] =
        (struct tl_lab_waiting){.came_ns = now_ns, .len_bytes = len_bytes, .can_mark = can_mark};
    append(station, &queue->first, &queue->last, ticket);
    if (station->backlog_bytes <= 0 && station->free_ns < now_ns)
        station->free_ns = now_ns; /* the link was idle */
    queue->bytes += len_bytes;
    station->backlog_bytes += len_bytes;
    if (!queue->listed) {
        queue->credit_bytes = QUANTUM_BYTES;
        list_queue(station, &station->fresh, number);
    }
    if (full)
        make_room(station);
    return TL_LAB_DROP_NONE;
}

/* The next packet of a queue as CoDel lets it out; NONE when the queue has run empty. */
static uint32_t leave_queue(struct tl_lab_station *station, struct tl_lab_station_queue *queue,
                            int64_t now_ns)
{
    bool managed = station->aqm == TL_LAB_AQM_CODEL || station->aqm == TL_LAB_AQM_FQ_CODEL;
    while (queue->first != NONE) {
        struct tl_lab_waiting *packet = &station->waiting[queue->first];
        bool marks = station->marks && packet->can_mark;
        bool may = managed && tl_lab_codel_may_drop(&queue->codel, now_ns, now_ns - packet->came_ns,
                                                    queue->bytes - packet->len_bytes);
        bool strikes = managed && tl_lab_codel_drops(&queue->codel, now_ns, may, marks);
        packet->marked = strikes && marks;
        if (!strikes || marks)
            return take_head(station, queue);
        drop_head(station, queue);
    }
    queue->codel.dropping = false;
    return NONE;
}

/* RFC 8290, 4.2: new queues first, each as long as it has credit. */
static uint32_t choose(struct tl_lab_station *station, int64_t now_ns)
{
    for (;;) {
        bool is_fresh = station->fresh.first != NONE;
        struct tl_lab_station_list *list = is_fresh ? &station->fresh : &station->old;
        uint32_t number = list->first;
        if (number == NONE)
            return NONE;
        struct tl_lab_station_queue *queue = &station->queues[number];
        if (queue->credit_bytes <= 0) {
            queue->credit_bytes += QUANTUM_BYTES;
            unlist_first(station, list);
            list_queue(station, &station->old, number);
            continue;
        }
        uint32_t ticket = leave_queue(station, queue, now_ns);
        if (ticket != NONE) {
            queue->credit_bytes -= (int32_t)station->waiting[ticket].len_bytes;
            return ticket;
        }
        unlist_first(station, list);
        /* A new queue that ran empty goes behind the old ones first, so that it is not new
         * again with its next packet. */
        if (is_fresh && station->old.first != NONE)
            list_queue(station, &station->old, number);
    }
}

static bool next_dropped(struct tl_lab_station *station, struct tl_lab_leaving *ret_leaving)
{
    uint32_t ticket = station->dropped.first;
    if (ticket == NONE)
        return false;
    station->dropped.first = station->waiting[ticket].next;
    *ret_leaving = (struct tl_lab_leaving){
        .ticket = ticket, .drop = TL_LAB_DROP_AQM, .len_bytes = station->waiting[ticket].len_bytes};
    return true;
}

int64_t tl_lab_station_next_ns(const struct tl_lab_station *station)
{
    bool anybody = station->backlog_bytes > 0 || station->dropped.first != NONE;
    return anybody ? station->free_ns : INT64_MAX;
}

bool tl_lab_station_serve(struct tl_lab_station *station, int64_t until_ns,
                          struct tl_lab_leaving *ret_leaving)
{
    if (next_dropped(station, ret_leaving))
        return true;
    if (station->backlog_bytes <= 0 || station->free_ns > until_ns)
        return false;
    uint32_t ticket = choose(station, station->free_ns);
    if (ticket == NONE)
        return next_dropped(station, ret_leaving);
    const struct tl_lab_waiting *packet = &station->waiting[ticket];
    int64_t start_ns = station->free_ns;
    bool lost = false;
    station->pie.delay_ns = start_ns - packet->came_ns;
    station->free_ns = tl_lab_server_done_ns(&station->server, start_ns, packet->len_bytes, &lost);
    if (station->backlog_bytes <= 0)
        station->red.idle_ns = station->free_ns;
    *ret_leaving = (struct tl_lab_leaving){.ticket = ticket,
                                           .drop = lost ? TL_LAB_DROP_AIR : TL_LAB_DROP_NONE,
                                           .done_ns = station->free_ns,
                                           .len_bytes = packet->len_bytes,
                                           .marked = packet->marked};
    return true;
}
