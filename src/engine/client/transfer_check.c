/* Checksums from both ends, side by side. */
#include "transfer_check.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS_MAX (1u << 20) /* of a stream: 256 GiB, more than 60 s of any link */
#define AHEAD_MAX  16384      /* blocks by which a far end may be ahead: 4 GiB on the way */

struct pair {
    uint32_t near_bytes, near_crc, far_bytes, far_crc; /* bytes 0: not known yet */
};

struct column {
    struct pair *pairs;
    uint32_t size;
    uint32_t near_end; /* one more than the highest block of the near end */
};

struct transfer_check {
    unsigned streams;
    struct column *columns;
    struct tl_transfer_check result;
};

struct transfer_check *transfer_check_create(unsigned streams)
{
    struct transfer_check *check = calloc(1, sizeof *check);
    struct column *columns = calloc(streams, sizeof *columns);
    if (!check || !columns) {
        free(check);
        free(columns);
        return NULL;
    }
    check->streams = streams;
    check->columns = columns;
    return check;
}

void transfer_check_destroy(struct transfer_check *check)
{
    if (!check)
        return;
    for (unsigned i = 0; i < check->streams; i++)
        free(check->columns[i].pairs);
    free(check->columns);
    free(check);
}

static bool make_room(struct column *column, uint32_t block)
{
    uint32_t size = column->size ? column->size : 1024;
    if (block < column->size)
        return true;
    if (block >= BLOCKS_MAX)
        return false;
    while (size <= block)
        size *= 2;
    struct pair *pairs = realloc(column->pairs, size * sizeof *pairs);
    if (!pairs)
        return false;
    memset(pairs + column->size, 0, (size - column->size) * sizeof *pairs);
    column->pairs = pairs;
    column->size = size;
    return true;
}

static void compare(struct tl_transfer_check *result, uint32_t block, const struct pair *pair)
{
    uint64_t offset = (uint64_t)block * TL_TRANSFER_BLOCK_BYTES;
    if (pair->near_bytes == 0 || pair->near_bytes != pair->far_bytes)
        return;
    result->checked_bytes += pair->near_bytes;
    if (pair->near_crc == pair->far_crc)
        return;
    if (result->wrong_count++ == 0 || offset < result->first_wrong_bytes)
        result->first_wrong_bytes = offset;
}

void transfer_check_add(struct transfer_check *check, unsigned stream, bool near,
                        const struct transfer_sum *sum)
{
    if (stream >= check->streams)
        return;
    struct column *column = &check->columns[stream];
    if (!near && sum->block >= column->near_end + AHEAD_MAX)
        return;
    if (!make_room(column, sum->block))
        return;
    struct pair *pair = &column->pairs[sum->block];
    if (near && sum->block >= column->near_end)
        column->near_end = sum->block + 1;
    if ((near ? pair->near_bytes : pair->far_bytes) != 0)
        return; /* told twice: the first one stands */
    *(near ? &pair->near_bytes : &pair->far_bytes) = sum->bytes;
    *(near ? &pair->near_crc : &pair->far_crc) = sum->crc;
    compare(&check->result, sum->block, pair);
}

void transfer_check_result(const struct transfer_check *check, struct tl_transfer_check *ret_result)
{
    *ret_result = check->result;
}
