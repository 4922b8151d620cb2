/* Watched transfers as lines of text and as lines of JSON. Private to src/cli. */
#ifndef TL_CLI_LIVE_TABLE_H
#define TL_CLI_LIVE_TABLE_H

#include "tightlink/app/live.h"
#include "tightlink/base/buf.h"

/* A table of the first rows, within `width` columns; the verdict's sentence follows in the report.
 */
void cli_live_table(const struct tl_app_live_row *rows, size_t count, size_t max,
                    const struct tl_app_live_sum *sum, size_t width, struct tl_buf *out);

/* One object a second: {"event":"live", "time_ns", "sum", "flows"}, one line. */
void cli_live_json(const struct tl_app_live_row *rows, size_t count,
                   const struct tl_app_live_sum *sum, int64_t time_ns, struct tl_buf *out);

#endif
