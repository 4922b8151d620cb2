/* A run as this machine keeps it: the document of findings.schema.json with the readings of its
 * transfers as one more member at its end, "samples", so that the plots of a run that is opened
 * again have data. Readers of format 1 skip what they do not know.
 *
 *   "samples": {
 *     "download": {"rate_bps": [...]},   rates from reading to reading of the steady part of one
 *     "upload": ...                      stream: the noise of a run (tightlink/store/compare.h)
 *     "readings": [                      a transfer each, in columns of the same length
 *       {"stage": "stream", "direction": "download", "elapsed_ns": [...], "rate_bps": [...],
 *        "rtt_ns": [...], "retrans_count": [...],
 *        "last": {"cwnd_bytes": ..., "rwnd_ratio": ...}}]}   the rest, of the last reading alone
 *
 * Of a long transfer every other reading is left out until TL_KEPT_READINGS_MAX are left, the
 * last one never. All of them are in a bundle (document/bundle.h).
 *
 * For this machine alone: nothing is masked. What leaves is made by document/export.h. */
#ifndef TL_DOCUMENT_KEPT_H
#define TL_DOCUMENT_KEPT_H

#include <stdbool.h>

#include "tightlink/document/document.h"
#include "tightlink/facts/samples.h"

/* Of one transfer, and transfers of one run: some 20 KiB of text for a usual run. */
#define TL_KEPT_READINGS_MAX  240
#define TL_KEPT_TRANSFERS_MAX 24

/* Adds the document. samples NULL: without the member. TL_NOMEM. */
enum tl_status tl_kept_write(const struct tl_run *run, const struct tl_facts *facts,
                             const struct tl_findings *findings, const struct tl_samples *samples,
                             bool pretty, struct tl_buf *out) TL_WARN_UNUSED;

/* The readings of such a document, which may be hostile: what is wrong in them is left out, for
 * they are an adornment. Numbers that are not kept are NAN. Empty where there are none. The
 * caller finishes *ret_samples. */
void tl_kept_read_samples(const char *text, size_t len, struct tl_samples *ret_samples);

#endif
