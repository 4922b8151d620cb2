/* The bytes of a file, plain or unpacked with zlib and libzstd as they come. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

/* Fits the second-level cache, so that what read() copies is still there when it is looked at. */
#define WINDOW_BYTES ((size_t)256 << 10)

/* Compressed bytes on their way. */
struct input_packed {
    uint8_t bytes[WINDOW_BYTES];
    size_t begin, end;
    uint64_t taken;
    bool ended;  /* of the file */
    bool inside; /* of a member or frame */
    z_stream gzip;
    bool gzip_made;
    ZSTD_DStream *zstd;
};

const char *input_packing_name(enum input_packing packing)
{
    static const char *const names[] = {"none", "gzip", "zstd"};
    return names[packing];
}

static enum tl_status read_some(struct input *input, uint8_t *bytes, size_t room, size_t *ret_count,
                                struct tl_error *reterr)
{
    ssize_t count;
    do
        count = read(input->fd, bytes, room);
    while (count < 0 && errno == EINTR);
    unsigned long long at = input->taken + input_has(input);
    if (count < 0 && at == 0) /* a folder */
        return tl_error_set(reterr, TL_IO, "%s", strerror(errno));
    if (count < 0)
        return tl_error_set(reterr, TL_IO, "reading failed at byte %llu: %s", at, strerror(errno));
    *ret_count = (size_t)count;
    return TL_OK;
}

static enum tl_status fill_packed(struct input *input, struct tl_error *reterr)
{
    struct input_packed *packed = input->packed;
    size_t count;
    if (packed->begin < packed->end || packed->ended)
        return TL_OK;
    enum tl_status status = read_some(input, packed->bytes, sizeof packed->bytes, &count, reterr);
    if (status != TL_OK)
        return status;
    packed->begin = 0;
    packed->end = count;
    packed->ended = count == 0;
    return TL_OK;
}

static enum tl_status broken(const struct input *input, const char *what, struct tl_error *reterr)
{
    return tl_error_set(
        reterr, TL_SYNTAX, "the %s data is broken at byte %llu of the packed file: %s",
        input_packing_name(input->packing), (unsigned long long)input->packed->taken, what);
}

static void take_packed(struct input_packed *packed, size_t count)
{
    packed->begin += count;
    packed->taken += count;
}

/* Unpacks into the window. A gzip file may have several members, behind the last of which tape
 * blocks leave zeros. */
static enum tl_status inflate_some(struct input *input, size_t *ret_count, struct tl_error *reterr)
{
    struct input_packed *packed = input->packed;
    if (!packed->inside && packed->bytes[packed->begin] == 0) {
        packed->ended = true;
        packed->begin = packed->end;
        return TL_OK;
    }
    if (!packed->inside && inflateReset(&packed->gzip) != Z_OK)
        return broken(input, "it cannot be started again", reterr);
    packed->inside = true;
    packed->gzip.next_in = packed->bytes + packed->begin;
    packed->gzip.avail_in = (unsigned)(packed->end - packed->begin);
    packed->gzip.next_out = input->bytes + input->end;
    packed->gzip.avail_out = (unsigned)(input->size - input->end);
    int result = inflate(&packed->gzip, Z_NO_FLUSH);
    take_packed(packed, packed->end - packed->begin - packed->gzip.avail_in);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return broken(input, packed->gzip.msg ? packed->gzip.msg : "no gzip", reterr);
    packed->inside = result != Z_STREAM_END;
    *ret_count = input->size - input->end - packed->gzip.avail_out;
    return TL_OK;
}

static enum tl_status unzstd_some(struct input *input, size_t *ret_count, struct tl_error *reterr)
{
    struct input_packed *packed = input->packed;
    ZSTD_inBuffer in = {packed->bytes + packed->begin, packed->end - packed->begin, 0};
    ZSTD_outBuffer out = {input->bytes + input->end, input->size - input->end, 0};
    size_t left = ZSTD_decompressStream(packed->zstd, &out, &in);
    take_packed(packed, in.pos);
    if (ZSTD_isError(left))
        return broken(input, ZSTD_getErrorName(left), reterr);
    packed->inside = left != 0;
    *ret_count = out.pos;
    return TL_OK;
}

/* At least one more byte into the window, or input->ended. */
static enum tl_status unpack_some(struct input *input, struct tl_error *reterr)
{
    struct input_packed *packed = input->packed;
    size_t count = 0;
    while (count == 0) {
        enum tl_status status = fill_packed(input, reterr);
        if (status != TL_OK)
            return status;
        bool starved = packed->begin == packed->end;
        if (starved && packed->ended && !packed->inside) {
            input->ended = true;
            return TL_OK;
        }
        status = input->packing == INPUT_GZIP && !(starved && packed->inside)
                     ? inflate_some(input, &count, reterr)
                 : input->packing == INPUT_ZSTD ? unzstd_some(input, &count, reterr)
                                                : TL_OK;
        if (status != TL_OK)
            return status;
        if (count == 0 && starved) {
            input->ended = true;
            return broken(input, "it ends in the middle", reterr);
        }
    }
    input->end += count;
    return TL_OK;
}

static enum tl_status plain_some(struct input *input, struct tl_error *reterr)
{
    size_t count;
    enum tl_status status =
        read_some(input, input->bytes + input->end, input->size - input->end, &count, reterr);
    if (status != TL_OK)
        return status;
    input->end += count;
    input->ended = count == 0;
    return TL_OK;
}

/* Room for more bytes behind those that are there. The window doubles where it is full: what a
 * broken file claims to hold takes no memory before it is there. */
static enum tl_status make_room(struct input *input, struct tl_error *reterr)
{
    if (input->begin > 0) {
        memmove(input->bytes, input->bytes + input->begin, input_has(input));
        input->end -= input->begin;
        input->begin = 0;
    }
    if (input->end < input->size)
        return TL_OK;
    uint8_t *bytes = realloc(input->bytes, 2 * input->size);
    if (!bytes)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    input->bytes = bytes;
    input->size *= 2;
    return TL_OK;
}

enum tl_status input_fill(struct input *input, size_t want, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    while (status == TL_OK && !input->ended && input_has(input) < want) {
        status = make_room(input, reterr);
        if (status == TL_OK)
            status = input->packed ? unpack_some(input, reterr) : plain_some(input, reterr);
    }
    return status;
}

/* What was read to find out the packing becomes the first packed bytes. */
static enum tl_status begin_packed(struct input *input, struct tl_error *reterr)
{
    struct input_packed *packed = calloc(1, sizeof *packed);
    if (!packed)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    input->packed = packed;
    packed->end = input_has(input);
    memcpy(packed->bytes, input_at(input), packed->end);
    packed->ended = input->ended;
    input->begin = input->end = 0;
    input->ended = false;
    if (input->packing == INPUT_GZIP)
        packed->gzip_made = inflateInit2(&packed->gzip, 15 + 16) == Z_OK;
    else
        packed->zstd = ZSTD_createDStream();
    if (!packed->gzip_made && !packed->zstd)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    return TL_OK;
}

static enum input_packing find_packing(const struct input *input)
{
    static const uint8_t gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    if (input_has(input) >= sizeof gzip && memcmp(input_at(input), gzip, sizeof gzip) == 0)
        return INPUT_GZIP;
    if (input_has(input) >= sizeof zstd && memcmp(input_at(input), zstd, sizeof zstd) == 0)
        return INPUT_ZSTD;
    return INPUT_PLAIN;
}

enum tl_status input_open(struct input *input, const char *path, struct tl_error *reterr)
{
    *input = (struct input){.fd = STDIN_FILENO, .size = WINDOW_BYTES};
    if (strcmp(path, "-") != 0) {
        input->fd = open(path, O_RDONLY | O_CLOEXEC);
        input->owns_fd = input->fd >= 0;
    }
    if (input->fd < 0)
        return tl_error_set(reterr, TL_IO, "%s", strerror(errno));
    (void)posix_fadvise(input->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    input->bytes = malloc(input->size);
    if (!input->bytes)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    enum tl_status status = input_fill(input, 4, reterr);
    if (status != TL_OK)
        return status;
    input->packing = find_packing(input);
    return input->packing == INPUT_PLAIN ? TL_OK : begin_packed(input, reterr);
}

void input_close(struct input *input)
{
    if (input->owns_fd)
        close(input->fd);
    if (input->packed && input->packed->gzip_made)
        inflateEnd(&input->packed->gzip);
    if (input->packed)
        ZSTD_freeDStream(input->packed->zstd);
    free(input->packed);
    free(input->bytes);
    *input = (struct input){.fd = -1};
}

enum tl_status input_cut(const struct input *input, const char *what, struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_SYNTAX,
                        "the file ends in the middle of %s that begins at byte %llu", what,
                        (unsigned long long)input->taken);
}
