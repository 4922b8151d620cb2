/* What the files of the history share. Private to src/store. */
#ifndef TL_STORE_HISTORY_PRIVATE_H
#define TL_STORE_HISTORY_PRIVATE_H

#include "db.h"
#include "tightlink/store/history.h"

struct tl_history {
    struct tl_db db;
};

/* The row's key of a run: its start in ns, or the next free number. TL_UNKNOWN. */
enum tl_status tl_history_find(struct tl_history *history, const char *id, int64_t *ret_at,
                               struct tl_error *reterr) TL_WARN_UNUSED;

/* Prepares "SELECT columns FROM runs" with the filter's conditions and the tail ("ORDER BY ...");
 * limit and offset only where paged. */
enum tl_status tl_history_select(struct tl_history *history, const char *columns,
                                 const struct tl_history_filter *filter, const char *tail,
                                 bool paged, sqlite3_stmt **ret_statement,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

#endif
