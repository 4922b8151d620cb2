/* A path between two perfSONAR nodes as a run: measured by them, judged here. */
#ifndef TL_APP_NODES_H
#define TL_APP_NODES_H

#include "tightlink/probes/nodes.h"
#include "tightlink/session/session.h"

/* Fills the result (the caller finishes it, also after a failure). spec->pin is left to this
 * function: the keys of nodes that nobody vouches for are kept in a file of the user's,
 * ~/.local/state/tightlink/node-keys. A key that is new there is told by `tell`. Errors of
 * tl_probe_nodes(); TL_AUTH names the file. */
enum tl_status tl_app_nodes_measure(const struct tl_nodes_spec *spec, const struct tl_rules *rules,
                                    int cancel_fd, tl_nodes_tell *tell, void *context,
                                    struct tl_session_result *result,
                                    struct tl_error *reterr) TL_WARN_UNUSED;

/* "pscheduler://host:port" or "host" into its parts; TL_USAGE with a sentence. */
struct tl_app_node {
    char host[256];
    uint16_t port; /* 0: not said */
};
enum tl_status tl_app_node_parse(const char *text, struct tl_app_node *ret_node,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

#endif
