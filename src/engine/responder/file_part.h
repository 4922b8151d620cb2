/* The disk's part in a test of streams: stores of blocks, their checksums, what the disk did. */
#ifndef TL_ENGINE_FILE_PART_H
#define TL_ENGINE_FILE_PART_H

#include "session.h"

/* To the stream that was added last. */
enum tl_status file_part_give_store(struct session *session, unsigned stream,
                                    struct tl_error *reterr) TL_WARN_UNUSED;
/* Checksums that are new; all that is left, and FILE_END. Nothing in a test without a file. */
void file_part_send_sums(struct session *session);
void file_part_report(struct session *session);

#endif
