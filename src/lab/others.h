/* Other people's transfers: real TCP connections between the two routers of the main link,
 * through the same queue as everything else. One process, one thread; it ends with the guard. */
#ifndef TL_LAB_OTHERS_H
#define TL_LAB_OTHERS_H

#include <stdbool.h>

#include "tightlink/base/status.h"
#include "tightlink/lab/config.h"
#include "topology.h"

/* Sockets of one direction, made in the routers' namespaces: the listener where data goes to,
 * connections under way from where it comes from. */
struct tl_lab_others_way {
    int listen_fd; /* -1: nobody sends in this direction */
    int count;
    int send_fd[TL_LAB_OTHERS_MAX];
    double on_ns, off_ns; /* means; 0: always on */
};

struct tl_lab_others {
    struct tl_lab_others_way way[TL_LAB_DIRECTION_COUNT];
};

/* Whether the configuration asks for any. */
bool tl_lab_others_wanted(const struct tl_lab_config *config);

/* Opens the sockets; the calling process ends up in some namespace of the path. On failure
 * nothing stays open. */
enum tl_status tl_lab_others_init(struct tl_lab_others *others,
                                  const struct tl_lab_topology *topology,
                                  const struct tl_lab_config *config,
                                  struct tl_error *reterr) TL_WARN_UNUSED;
void tl_lab_others_finish(struct tl_lab_others *others);

/* Sends and receives for ever. Writes one byte to ready_fd and closes it once every
 * connection stands and they have had two seconds. */
_Noreturn void tl_lab_others_main(const struct tl_lab_others *others, int ready_fd);

#endif
