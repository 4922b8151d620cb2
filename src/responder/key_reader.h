/* Who reads the key file again once tightlinkd has given root up: a process that stays root, can
 * read below the file's folder and nothing else, and does so whenever it is asked. It parses
 * nothing. */
#ifndef TL_RESPONDER_KEY_READER_H
#define TL_RESPONDER_KEY_READER_H

#include <stdbool.h>

#include "tightlink/base/key.h"

struct key_reader {
    int fd;           /* to the process; -1: the file is read by ourselves */
    const char *path; /* of the file, borrowed */
};

/* Before any thread exists. own_process: start one. folder: the file's. */
enum tl_status key_reader_start(struct key_reader *reader, const char *path, const char *folder,
                                bool own_process, struct tl_error *reterr) TL_WARN_UNUSED;

/* For tl_responder_options.load_keys; context is the reader. Errors as tl_keys_load(), TL_TIMEOUT
 * after a second. */
enum tl_status key_reader_load(void *context, struct tl_keys **ret_keys,
                               struct tl_error *reterr) TL_WARN_UNUSED;

#endif
