/* Checksums of a transfer's blocks from both ends, laid side by side. Private to the client.
 *
 * Either end's sum may come first. A block is compared when both ends had all of it: the last
 * one of a stream that was cut differs in length and says nothing. One thread. */
#ifndef TL_ENGINE_TRANSFER_CHECK_H
#define TL_ENGINE_TRANSFER_CHECK_H

#include "tightlink/engine/disk.h"
#include "transfer_store.h"

struct transfer_check;

struct transfer_check *transfer_check_create(unsigned streams); /* NULL: no memory */
void transfer_check_destroy(struct transfer_check *check);      /* NULL is fine */

/* A sum of one end. Sums that cannot be kept (far ahead of the near end's, or no memory) are
 * left out: their blocks count as not checked. */
void transfer_check_add(struct transfer_check *check, unsigned stream, bool near,
                        const struct transfer_sum *sum);
void transfer_check_result(const struct transfer_check *check,
                           struct tl_transfer_check *ret_result);

#endif
