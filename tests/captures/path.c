/* The way of the data: NIC, delay, and what is wrong with it. */
#include <math.h>

#include "model.h"

static int64_t serialise_ns(uint32_t len, double mbps)
{
    return (int64_t)((len + HEADERS + 14.0) * 8e3 / mbps);
}

static int64_t part_ns(const struct model *model, double share)
{
    return (int64_t)(model->spec.delay_ms * 1e6 * share);
}

void path_send(struct model *model, const struct model_packet *packet)
{
    int64_t *free_ns = &model->path.nic_free_ns;
    if (*free_ns < model->now_ns)
        *free_ns = model->now_ns;
    *free_ns += serialise_ns(packet->len, model->spec.nic_mbps);
    model_at(model, *free_ns + part_ns(model, model->spec.middle_share), EVENT_AT_MIDDLE, packet);
}

static void leave(struct model *model, int64_t time_ns, const struct model_packet *packet)
{
    const struct model_spec *spec = &model->spec;
    time_ns += part_ns(model, 1 - spec->middle_share);
    if (spec->reorder_ratio > 0 && model_chance(model) < spec->reorder_ratio) {
        model_at(model, time_ns + (int64_t)(spec->reorder_ms * 1e6), EVENT_AT_FAR, packet);
        return;
    }
    time_ns += (int64_t)(spec->jitter_ms * 1e6 * model_chance(model));
    if (time_ns <= model->path.last_out_ns)
        time_ns = model->path.last_out_ns + 1;
    model->path.last_out_ns = time_ns;
    model_at(model, time_ns, EVENT_AT_FAR, packet);
}

static bool vanishes(struct model *model, const struct model_packet *packet)
{
    const struct model_spec *spec = &model->spec;
    struct model_path *path = &model->path;
    if (spec->hole_bytes > 0 && packet->len + HEADERS > spec->hole_bytes)
        return true;
    if (spec->loss_ratio > 0 && model_chance(model) < spec->loss_ratio)
        return true;
    if (path->burst_left == 0 && spec->burst_ratio > 0 && model_chance(model) < spec->burst_ratio)
        path->burst_left = 1 + (int)(2 * model_chance(model) * (spec->burst_count - 1) + 0.5);
    if (path->burst_left > 0) {
        path->burst_left--;
        return true;
    }
    if (spec->police_mbps > 0) {
        double bytes = packet->len + HEADERS + 14.0;
        if (path->tokens_ns == 0) /* nobody has used any */
            path->tokens = spec->bucket_kb * 1e3;
        path->tokens += ((double)model->now_ns - path->tokens_ns) * spec->police_mbps / 8e3;
        path->tokens = fmin(path->tokens, spec->bucket_kb * 1e3);
        path->tokens_ns = (double)model->now_ns;
        if (path->tokens < bytes)
            return true;
        path->tokens -= bytes;
    }
    return false;
}

/* CoDel's control law on entry, by the wait that the packet will have. */
static bool codel_drops(struct model *model, int64_t wait_ns)
{
    struct model_path *path = &model->path;
    int64_t target_ns = (int64_t)(model->spec.codel_ms * 1e6), interval_ns = 20 * target_ns;
    if (wait_ns < target_ns) {
        path->above_ns = 0;
        path->dropping = false;
        return false;
    }
    if (path->above_ns == 0)
        path->above_ns = model->now_ns + interval_ns;
    if (!path->dropping) {
        if (model->now_ns < path->above_ns)
            return false;
        path->dropping = true;
        path->drop_count = path->drop_count > 2 ? path->drop_count - 2 : 1;
        path->drop_next_ns = model->now_ns;
    }
    if (model->now_ns < path->drop_next_ns)
        return false;
    path->drop_count++;
    path->drop_next_ns = model->now_ns + (int64_t)((double)interval_ns / sqrt(path->drop_count));
    return true;
}

void path_trouble(struct model *model, struct model_packet *packet)
{
    const struct model_spec *spec = &model->spec;
    struct model_path *path = &model->path;
    if (vanishes(model, packet)) {
        path->dropped_count++;
        return;
    }
    if (spec->link_mbps <= 0) {
        leave(model, model->now_ns, packet);
        return;
    }
    int64_t wait_ns = path->link_free_ns > model->now_ns ? path->link_free_ns - model->now_ns : 0;
    bool full = (double)wait_ns * spec->link_mbps / 8e3 > spec->queue_kb * 1e3;
    bool managed = spec->codel_ms > 0 && codel_drops(model, wait_ns);
    if (full || (managed && !(spec->ecn > 0 && packet->ect))) {
        path->dropped_count++;
        return;
    }
    packet->ce = managed;
    path->link_free_ns = model->now_ns + wait_ns + serialise_ns(packet->len, spec->link_mbps);
    leave(model, path->link_free_ns, packet);
}

/* Others' packets come by chance, in trains as their windows make them. */
void path_others(struct model *model)
{
    const struct model_spec *spec = &model->spec;
    struct model_path *path = &model->path;
    int train = 1 + (int)(20 * model_chance(model));
    int64_t each_ns = serialise_ns(MSS, spec->link_mbps);
    for (int i = 0; i < train; i++) {
        int64_t wait_ns =
            path->link_free_ns > model->now_ns ? path->link_free_ns - model->now_ns : 0;
        if ((double)wait_ns * spec->link_mbps / 8e3 <= spec->queue_kb * 1e3)
            path->link_free_ns = model->now_ns + wait_ns + each_ns;
    }
    double mean_ns = train * (double)each_ns / spec->others_ratio;
    model_at(model, model->now_ns + (int64_t)(-log(1 - model_chance(model)) * mean_ns),
             EVENT_OTHERS, NULL);
}
