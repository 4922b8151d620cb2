/* What the command line of tightlinkd asks for. */
#ifndef TL_RESPONDER_SETTINGS_H
#define TL_RESPONDER_SETTINGS_H

#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>

#include "key_reader.h"
#include "sandbox.h"
#include "tightlink/engine/responder.h"

enum { PEERS_MAX = 16 };

struct settings {
    struct tl_responder_options options;
    const char *key_file; /* NULL: none */
    struct in6_addr peers[PEERS_MAX];
    int ready_fd;     /* -1: none */
    const char *user; /* NULL: the standard one */
    bool no_sandbox, partial_sandbox, check, status;
    struct sandbox_policy policy;
    struct key_reader key_reader;
    char key_folder[PATH_MAX];
};

enum { SETTINGS_GOOD = -1 };

/* From the command line, whose words it borrows; *settings has what stands without. SETTINGS_GOOD,
 * or what the program ends with, all being said. */
int settings_read(int argc, char **argv, struct settings *settings);

#endif
