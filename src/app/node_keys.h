/* Keys of perfSONAR nodes that sign their own certificates, as they were at first: a file of the
 * user's, a line each, "host:port sha256//base64". Private to src/app. */
#ifndef TL_APP_NODE_KEYS_H
#define TL_APP_NODE_KEYS_H

#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/probes/nodes.h"

/* "" where the node was never met. */
enum tl_status node_key_find(const char *host, uint16_t port, char ret_key[TL_NODES_PIN_SIZE],
                             struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status node_key_add(const char *host, uint16_t port, const char *key,
                            struct tl_error *reterr) TL_WARN_UNUSED;
/* Where the file is, for a sentence; "" without a home. */
const char *node_keys_path(char ret_path[4096]);

#endif
