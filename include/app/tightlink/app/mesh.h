/* Pairs of nodes as a matrix of rates, and which part of it is slow. Pure. */
#ifndef TL_APP_MESH_H
#define TL_APP_MESH_H

#include <stdbool.h>
#include <stddef.h>

#define TL_MESH_NODES_MAX     8
#define TL_MESH_OWN_MAX       4
#define TL_MESH_SENTENCE_SIZE 600

/* From one node to another; NAN where it was not measured. */
struct tl_mesh_cell {
    double rate_bps, rtt_ns;
    char failed[200]; /* why not, "" without */
};

/* A path of this PC's own, from a kept run. */
struct tl_mesh_own {
    const char *far; /* borrowed */
    bool is_upload;
    double bps; /* NAN: not measured */
};

struct tl_mesh {
    size_t count;
    const char *names[TL_MESH_NODES_MAX];                            /* borrowed */
    struct tl_mesh_cell cells[TL_MESH_NODES_MAX][TL_MESH_NODES_MAX]; /* [from][to] */
    /* The first is placed; others, to nodes on the way of it, tell where it is slow. */
    struct tl_mesh_own own[TL_MESH_OWN_MAX];
    size_t own_count;
};

/* What the slow cells have in common: a node, one way, or nothing. */
enum tl_mesh_where {
    TL_MESH_UNKNOWN,  /* fewer than two rates */
    TL_MESH_EVEN,     /* none is slow beside the others */
    TL_MESH_NODE,     /* all ways to or from one node */
    TL_MESH_WAY,      /* some ways between nodes that are fast to others */
    TL_MESH_SCATTERED /* several, with nothing in common */
};

struct tl_mesh_worst {
    enum tl_mesh_where where;
    size_t from, to; /* the slowest cell; NODE: `from` is the node */
    char sentence[TL_MESH_SENTENCE_SIZE];
    char own[TL_MESH_SENTENCE_SIZE]; /* where this PC's own path stands; "" without */
};

void tl_app_mesh_judge(const struct tl_mesh *mesh, struct tl_mesh_worst *ret_worst);

#endif
