/* A SQLite file of ours: opened for its owner alone, brought to the newest schema, refused when
 * it is newer, moved aside when it is damaged. Private to src/store. */
#ifndef TL_STORE_DB_H
#define TL_STORE_DB_H

#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#include "tightlink/base/status.h"

/* One kind of file. Static storage. */
struct tl_db_schema {
    const char *what;   /* "history": used in sentences */
    const char *file;   /* "history.sqlite" */
    int application_id; /* PRAGMA application_id, so that no other program's file is taken */
    /* migrations[i] brings version i to i + 1; each runs in one transaction. */
    const char *const *migrations;
    int migration_count;
};

struct tl_db {
    sqlite3 *handle;
    const struct tl_db_schema *schema;
    bool read_only;
    bool damaged; /* an operation met damage since the opening */
    char path[PATH_MAX];
    char notice[512]; /* "" without */
};

/* path NULL: schema->file in the user's data directory, which is made. On failure nothing is
 * open. Errors as in tightlink/store/history.h. */
enum tl_status tl_db_open(struct tl_db *db, const char *path, const struct tl_db_schema *schema,
                          struct tl_error *reterr) TL_WARN_UNUSED;
void tl_db_close(struct tl_db *db); /* twice is fine */

/* The sentence behind SQLite's result; remembers damage in db->damaged. */
enum tl_status tl_db_error(struct tl_db *db, int result, struct tl_error *reterr);
/* Moves the file aside, begins a new one and says so in db->notice. */
enum tl_status tl_db_renew(struct tl_db *db, struct tl_error *reterr) TL_WARN_UNUSED;

enum tl_status tl_db_exec(struct tl_db *db, const char *sql,
                          struct tl_error *reterr) TL_WARN_UNUSED;
/* A statement to be finished with sqlite3_finalize(). */
enum tl_status tl_db_prepare(struct tl_db *db, const char *sql, sqlite3_stmt **ret_statement,
                             struct tl_error *reterr) TL_WARN_UNUSED;
/* Runs a statement that gives no rows, and finalizes it. */
enum tl_status tl_db_finish(struct tl_db *db, sqlite3_stmt *statement,
                            struct tl_error *reterr) TL_WARN_UNUSED;

/* Ends a transaction: commits where status is TL_OK, else rolls back and keeps status. */
enum tl_status tl_db_end(struct tl_db *db, enum tl_status status,
                         struct tl_error *reterr) TL_WARN_UNUSED;

/* Column as text, "" for NULL; as number, NAN for NULL. */
const char *tl_db_text(sqlite3_stmt *statement, int column);
double tl_db_number(sqlite3_stmt *statement, int column);
/* Binds a number, NULL for NAN. */
void tl_db_bind_number(sqlite3_stmt *statement, int index, double value);
void tl_db_bind_text(sqlite3_stmt *statement, int index, const char *text);

#endif
