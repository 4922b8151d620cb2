/* The bytes of a file, unpacked: a window that moves over them. Private to src/flow. */
#ifndef TL_FLOW_INPUT_H
#define TL_FLOW_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

enum input_packing { INPUT_PLAIN, INPUT_GZIP, INPUT_ZSTD };

struct input {
    uint8_t *bytes; /* the window; [begin, end) is read and not yet taken */
    size_t begin, end, size;
    uint64_t taken; /* bytes before begin */
    bool ended;     /* nothing follows */
    enum input_packing packing;
    struct input_packed *packed; /* NULL for a plain file */
    int fd;
    bool owns_fd;
};

/* Opens path, or standard input for "-", and finds out how it is packed. */
enum tl_status input_open(struct input *input, const char *path,
                          struct tl_error *reterr) TL_WARN_UNUSED;
void input_close(struct input *input);

/* Makes at least want bytes stand at input->bytes + input->begin, or as many as there are.
 * Invalidates pointers into the window. TL_IO, TL_NOMEM; TL_SYNTAX where the packing is broken. */
enum tl_status input_fill(struct input *input, size_t want, struct tl_error *reterr) TL_WARN_UNUSED;

static inline size_t input_has(const struct input *input)
{
    return input->end - input->begin;
}

static inline const uint8_t *input_at(const struct input *input)
{
    return input->bytes + input->begin;
}

static inline void input_take(struct input *input, size_t count)
{
    input->begin += count;
    input->taken += count;
}

/* "the file ends in the middle of …", which begins where the window does. */
enum tl_status input_cut(const struct input *input, const char *what, struct tl_error *reterr);

const char *input_packing_name(enum input_packing packing);

#endif
