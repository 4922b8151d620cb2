/* Which part of a mesh is slow: what the slow ways have in common, and what those lack that are
 * fast. */
#include "tightlink/app/mesh.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/stats.h"
#include "tightlink/base/units.h"

/* By judgement: half of what is usual in this mesh is no scatter between two tests. */
#define SLOW_RATIO 0.5
/* Rate times round trip agrees within that: the same window over two ways. */
#define SAME_WINDOW_LOW  0.67
#define SAME_WINDOW_HIGH 1.5
/* So much longer a way tells a window from a line. */
#define LONGER 1.5

struct slow {
    bool is[TL_MESH_NODES_MAX][TL_MESH_NODES_MAX];
    size_t count, known;
    double usual_bps, usual_rtt_ns;
};

static void find_slow(const struct tl_mesh *mesh, struct slow *slow)
{
    double rates[TL_MESH_NODES_MAX * TL_MESH_NODES_MAX];
    double rtts[TL_MESH_NODES_MAX * TL_MESH_NODES_MAX];
    *slow = (struct slow){0};
    for (size_t i = 0; i < mesh->count; i++)
        for (size_t j = 0; j < mesh->count; j++)
            if (i != j && mesh->cells[i][j].rate_bps > 0)
                rates[slow->known++] = mesh->cells[i][j].rate_bps;
    /* Of the faster half: a node with trouble spoils many ways of a small mesh. */
    slow->usual_bps = tl_stats_quantile(rates, slow->known, 0.75);
    size_t fast = 0;
    for (size_t i = 0; i < mesh->count; i++)
        for (size_t j = 0; j < mesh->count; j++) {
            const struct tl_mesh_cell *cell = &mesh->cells[i][j];
            if (i == j || !(cell->rate_bps > 0))
                continue;
            slow->is[i][j] = cell->rate_bps < SLOW_RATIO * slow->usual_bps;
            slow->count += slow->is[i][j];
            if (!slow->is[i][j])
                rtts[fast++] = cell->rtt_ns;
        }
    slow->usual_rtt_ns = tl_stats_median(rtts, fast);
}

static bool find_slowest(const struct tl_mesh *mesh, struct tl_mesh_worst *worst)
{
    double least = INFINITY;
    for (size_t i = 0; i < mesh->count; i++)
        for (size_t j = 0; j < mesh->count; j++)
            if (i != j && mesh->cells[i][j].rate_bps > 0 && mesh->cells[i][j].rate_bps < least) {
                least = mesh->cells[i][j].rate_bps;
                worst->from = i;
                worst->to = j;
            }
    return isfinite(least);
}

/* Ways in one role of a node: those measured, and those slow. */
static void count_ways(const struct tl_mesh *mesh, const struct slow *slow, size_t node, bool from,
                       size_t *ret_known, size_t *ret_slow)
{
    *ret_known = *ret_slow = 0;
    for (size_t other = 0; other < mesh->count; other++) {
        size_t i = from ? node : other, j = from ? other : node;
        if (other == node || !(mesh->cells[i][j].rate_bps > 0))
            continue;
        ++*ret_known;
        *ret_slow += slow->is[i][j];
    }
}

/* One node in one role (or both) that has all the slow ways, of two other nodes at least. */
static bool find_node(const struct tl_mesh *mesh, const struct slow *slow, size_t *ret_node,
                      bool *ret_from, bool *ret_to)
{
    for (size_t node = 0; node < mesh->count; node++) {
        size_t out_known, out_slow, in_known, in_slow;
        count_ways(mesh, slow, node, true, &out_known, &out_slow);
        count_ways(mesh, slow, node, false, &in_known, &in_slow);
        bool out = out_known >= 2 && out_slow == out_known;
        bool in = in_known >= 2 && in_slow == in_known;
        if ((out || in) && (out ? out_slow : 0) + (in ? in_slow : 0) == slow->count) {
            *ret_node = node;
            *ret_from = out;
            *ret_to = in;
            return true;
        }
    }
    return false;
}

/* Whether the slow way is one window over a longer way, as far as rates and round trips tell. */
static const char *window_note(const struct tl_mesh *mesh, const struct slow *slow,
                               const struct tl_mesh_worst *worst)
{
    const struct tl_mesh_cell *cell = &mesh->cells[worst->from][worst->to];
    double longer = cell->rtt_ns / slow->usual_rtt_ns;
    double window = cell->rate_bps * cell->rtt_ns / (slow->usual_bps * slow->usual_rtt_ns);
    return longer >= LONGER && window >= SAME_WINDOW_LOW && window <= SAME_WINDOW_HIGH
               ? " Its round trip is longer in the same proportion, as with one window over a "
                 "longer "
                 "way: look at the buffers of both nodes first."
               : "";
}

static void say_node(const struct tl_mesh *mesh, const struct slow *slow, size_t node, bool from,
                     bool to, struct tl_mesh_worst *worst)
{
    char least[TL_UNIT_TEXT_SIZE], usual[TL_UNIT_TEXT_SIZE];
    tl_format_bps(mesh->cells[worst->from][worst->to].rate_bps, least);
    tl_format_bps(slow->usual_bps, usual);
    snprintf(
        worst->sentence, sizeof worst->sentence,
        "%.100s is the worst part: all that goes %s it is slow (%s at the slowest, %s is usual "
        "here), and nothing else. The limit lies there or in its access.",
        mesh->names[node],
        from && to ? "to and from"
        : from     ? "out of"
                   : "into",
        least, usual);
    worst->where = TL_MESH_NODE;
    worst->from = node;
}

static void say_way(const struct tl_mesh *mesh, const struct slow *slow,
                    struct tl_mesh_worst *worst)
{
    char least[TL_UNIT_TEXT_SIZE], usual[TL_UNIT_TEXT_SIZE];
    size_t i = worst->from, j = worst->to;
    bool one = slow->count == 1 || (slow->count == 2 && slow->is[i][j] && slow->is[j][i]);
    tl_format_bps(mesh->cells[i][j].rate_bps, least);
    tl_format_bps(slow->usual_bps, usual);
    worst->where = one ? TL_MESH_WAY : TL_MESH_SCATTERED;
    if (one && mesh->count > 2)
        snprintf(
            worst->sentence, sizeof worst->sentence,
            "The way from %.100s to %.100s is the worst part: %s%s, %s is usual here. Both nodes "
            "are fast with others, so the limit lies between them.%s",
            mesh->names[i], mesh->names[j], least, slow->count == 2 ? ", slow both ways" : "",
            usual, window_note(mesh, slow, worst));
    else
        snprintf(worst->sentence, sizeof worst->sentence,
                 "The way from %.100s to %.100s is the worst: %s, %s is usual here. %s%s",
                 mesh->names[i], mesh->names[j], least, usual,
                 mesh->count > 2 ? "Other ways are slow too, and have no node in common."
                                 : "A third node would tell which of the two it is.",
                 window_note(mesh, slow, worst));
}

/* The node that gets most from the same end, or sends most there; mesh->count: none is known. */
static size_t best_beside(const struct tl_mesh *mesh, const struct tl_mesh_own *own,
                          double *ret_bps)
{
    size_t with = mesh->count, far = 0;
    *ret_bps = NAN;
    while (far < mesh->count && strcmp(mesh->names[far], own->far) != 0)
        far++;
    for (size_t i = 0; far < mesh->count && i < mesh->count; i++) {
        double bps = i == far         ? NAN
                     : own->is_upload ? mesh->cells[i][far].rate_bps
                                      : mesh->cells[far][i].rate_bps;
        if (bps > 0 && !(bps <= *ret_bps)) {
            *ret_bps = bps;
            with = i;
        }
    }
    return with;
}

/* What this PC has with that node, in the same direction; NAN where no run tells. */
static double own_with(const struct tl_mesh *mesh, size_t node)
{
    for (size_t i = 1; i < mesh->own_count; i++)
        if (strcmp(mesh->own[i].far, mesh->names[node]) == 0 &&
            mesh->own[i].is_upload == mesh->own[0].is_upload)
            return mesh->own[i].bps;
    return NAN;
}

/* Where this PC's path is slow, of which the node `with` has the rest at best_bps. */
static void say_own_slow(const struct tl_mesh *mesh, size_t with, double best_bps, char *ret_text,
                         size_t size)
{
    double near_bps = own_with(mesh, with);
    char near[TL_UNIT_TEXT_SIZE];
    if (!(near_bps > 0))
        snprintf(ret_text, size,
                 "What limits this PC lies here or on its way to the mesh; a run of its own with "
                 "%.100s (a second --own) would tell which.",
                 mesh->names[with]);
    else
        snprintf(ret_text, size,
                 near_bps < SLOW_RATIO * best_bps
                     ? "With %.100s, too, this PC has only %s: what limits it lies here or in "
                       "what all its ways share."
                     : "With %.100s this PC has %s: what limits it lies between this PC and that "
                       "end alone: that way, or the buffers of the two.",
                 mesh->names[with], tl_format_bps(near_bps, near));
}

/* This PC's path beside the nodes' own ways to the same end. */
static void place_own(const struct tl_mesh *mesh, struct tl_mesh_worst *worst)
{
    const struct tl_mesh_own *own = &mesh->own[0];
    char mine[TL_UNIT_TEXT_SIZE], other[TL_UNIT_TEXT_SIZE], where[TL_MESH_SENTENCE_SIZE];
    double best_bps = NAN;
    size_t with = mesh->own_count ? best_beside(mesh, own, &best_bps) : mesh->count;
    if (with == mesh->count || !(own->bps > 0))
        return;
    if (own->bps < SLOW_RATIO * best_bps)
        say_own_slow(mesh, with, best_bps, where, sizeof where);
    else
        snprintf(where, sizeof where,
                 "This PC gets what the nodes get: what limits it limits them too.");
    snprintf(worst->own, sizeof worst->own, "This PC %s %.100s: %s; %.100s: %s. %.300s",
             own->is_upload ? "to" : "from", own->far, tl_format_bps(own->bps, mine),
             mesh->names[with], tl_format_bps(best_bps, other), where);
}

void tl_app_mesh_judge(const struct tl_mesh *mesh, struct tl_mesh_worst *ret_worst)
{
    struct tl_mesh_worst worst = {.where = TL_MESH_UNKNOWN};
    struct slow slow;
    size_t node = 0;
    bool from = false, to = false;
    find_slow(mesh, &slow);
    if (!find_slowest(mesh, &worst) || slow.known < 2) {
        snprintf(worst.sentence, sizeof worst.sentence,
                 "Fewer than two rates were measured: nothing can be compared.");
    } else if (slow.count == 0) {
        char low[TL_UNIT_TEXT_SIZE], usual[TL_UNIT_TEXT_SIZE];
        worst.where = TL_MESH_EVEN;
        snprintf(
            worst.sentence, sizeof worst.sentence,
            "No part stands out: the slowest way, %.100s to %.100s, has %s, and %s is usual here.",
            mesh->names[worst.from], mesh->names[worst.to],
            tl_format_bps(mesh->cells[worst.from][worst.to].rate_bps, low),
            tl_format_bps(slow.usual_bps, usual));
    } else if (mesh->count > 2 && find_node(mesh, &slow, &node, &from, &to)) {
        say_node(mesh, &slow, node, from, to, &worst);
    } else {
        say_way(mesh, &slow, &worst);
    }
    place_own(mesh, &worst);
    *ret_worst = worst;
}
