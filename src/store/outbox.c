/* The outbox's rows. Who sends them is src/ticket. */
#include "tightlink/store/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "db.h"
#include "tightlink/base/time.h"

struct tl_outbox {
    struct tl_db db;
    int lock_fd; /* -1 while not held */
};

static const char *const migrations[] = {
    "CREATE TABLE outbox("
    " id INTEGER PRIMARY KEY, run TEXT NOT NULL, target TEXT NOT NULL, comment_on TEXT NOT NULL,"
    " state INTEGER NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL, json TEXT NOT NULL,"
    " html TEXT NOT NULL, ticket TEXT NOT NULL DEFAULT '', error TEXT NOT NULL DEFAULT '',"
    " attempts INTEGER NOT NULL DEFAULT 0, created_ns INTEGER NOT NULL,"
    " next_ns INTEGER NOT NULL, UNIQUE(run, target, comment_on));",
};

static const struct tl_db_schema schema = {
    .what = "outbox",
    .file = "outbox.sqlite",
    .application_id = 0x746c6f75, /* "tlou" */
    .migrations = migrations,
    .migration_count = sizeof migrations / sizeof *migrations,
};

const char *tl_outbox_state_name(enum tl_outbox_state state)
{
    static const char *const names[] = {"new", "sending", "waiting", "sent", "failed"};
    return names[state];
}

enum tl_status tl_outbox_open(const char *path, struct tl_outbox **ret_outbox,
                              struct tl_error *reterr)
{
    struct tl_outbox *outbox = calloc(1, sizeof *outbox);
    if (!outbox)
        return tl_error_set(reterr, TL_NOMEM, "no memory for the outbox");
    outbox->lock_fd = -1;
    enum tl_status status = tl_db_open(&outbox->db, path, &schema, reterr);
    /* A row must be on disk before the request leaves. */
    if (status == TL_OK && !outbox->db.read_only)
        status = tl_db_exec(&outbox->db, "PRAGMA synchronous=FULL", reterr);
    if (status == TL_OK) {
        *ret_outbox = outbox;
        return TL_OK;
    }
    tl_outbox_close(outbox);
    return status;
}

void tl_outbox_close(struct tl_outbox *outbox)
{
    if (!outbox)
        return;
    tl_outbox_unlock(outbox);
    tl_db_close(&outbox->db);
    free(outbox);
}

const char *tl_outbox_notice(const struct tl_outbox *outbox)
{
    return outbox->db.notice;
}

enum tl_status tl_outbox_lock(struct tl_outbox *outbox, struct tl_error *reterr)
{
    char path[PATH_MAX + 8];
    snprintf(path, sizeof path, "%s-lock", outbox->db.path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return tl_error_set(reterr, tl_status_from_errno(errno), "%.300s: %s", path,
                            strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        close(fd);
        return tl_error_set(reterr, TL_BUSY,
                            "another tightlink is sending: try again when it has ended");
    }
    outbox->lock_fd = fd;
    return TL_OK;
}

void tl_outbox_unlock(struct tl_outbox *outbox)
{
    if (outbox->lock_fd >= 0)
        close(outbox->lock_fd);
    outbox->lock_fd = -1;
}

static void bind_row(sqlite3_stmt *statement, const struct tl_outbox_row *row)
{
    const char *const texts[] = {row->run,  row->target, row->comment_on, row->title,
                                 row->text, row->json,   row->html};
    for (int i = 0; i < 7; i++)
        tl_db_bind_text(statement, i + 1, texts[i] ? texts[i] : "");
    (void)sqlite3_bind_int64(statement, 8, tl_realtime_ns());
}

enum tl_status tl_outbox_add(struct tl_outbox *outbox, const struct tl_outbox_row *row,
                             int64_t *ret_id, bool *ret_new, struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    /* attempts = 0 tells a new row, and is 1 at least once its sending began. */
    enum tl_status status = tl_db_prepare(
        &outbox->db,
        "INSERT INTO outbox(run, target, comment_on, title, text, json, html, created_ns, state,"
        " next_ns) VALUES(?,?,?,?,?,?,?,?,0,0)"
        " ON CONFLICT(run, target, comment_on) DO UPDATE SET"
        " title = CASE WHEN state = 3 THEN title ELSE excluded.title END,"
        " text = CASE WHEN state = 3 THEN text ELSE excluded.text END,"
        " json = CASE WHEN state = 3 THEN json ELSE excluded.json END,"
        " html = CASE WHEN state = 3 THEN html ELSE excluded.html END"
        " RETURNING id, created_ns = ?8 AND attempts = 0",
        &statement, reterr);
    if (status != TL_OK)
        return status;
    bind_row(statement, row);
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        *ret_id = sqlite3_column_int64(statement, 0);
        *ret_new = sqlite3_column_int(statement, 1) != 0;
        result = sqlite3_step(statement); /* the change is made by the end of the statement */
    }
    if (result != SQLITE_DONE)
        status = tl_db_error(&outbox->db, result, reterr);
    sqlite3_finalize(statement);
    return status;
}

#define COLUMNS                                                                                    \
    "SELECT id, run, target, comment_on, state, title, text, json, html, ticket, error, attempts," \
    " created_ns, next_ns FROM outbox "

static void read_row(sqlite3_stmt *s, struct tl_outbox_row *row)
{
    *row = (struct tl_outbox_row){
        .id = sqlite3_column_int64(s, 0),
        .run = tl_db_text(s, 1),
        .target = tl_db_text(s, 2),
        .comment_on = tl_db_text(s, 3),
        .state = (enum tl_outbox_state)(sqlite3_column_int(s, 4) % (TL_OUTBOX_FAILED + 1)),
        .title = tl_db_text(s, 5),
        .text = tl_db_text(s, 6),
        .json = tl_db_text(s, 7),
        .html = tl_db_text(s, 8),
        .ticket = tl_db_text(s, 9),
        .error = tl_db_text(s, 10),
        .attempts_count = sqlite3_column_int64(s, 11),
        .created_ns = sqlite3_column_int64(s, 12),
        .next_ns = sqlite3_column_int64(s, 13),
    };
}

enum tl_status tl_outbox_each(struct tl_outbox *outbox, int64_t due_ns, tl_outbox_visit *visit,
                              void *context, struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    struct tl_outbox_row row;
    int result;
    enum tl_status status = tl_db_prepare(
        &outbox->db, COLUMNS "WHERE ?1 = 0 OR (state IN (0, 1, 2) AND next_ns <= ?1) ORDER BY id",
        &statement, reterr);
    if (status != TL_OK)
        return status;
    (void)sqlite3_bind_int64(statement, 1, due_ns);
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        read_row(statement, &row);
        if (!visit(&row, context)) {
            result = SQLITE_DONE;
            break;
        }
    }
    if (result != SQLITE_DONE)
        status = tl_db_error(&outbox->db, result, reterr);
    sqlite3_finalize(statement);
    return status;
}

#define FOR_EACH_TEXT(row, DO)                                                                     \
    do {                                                                                           \
        DO((row)->run);                                                                            \
        DO((row)->target);                                                                         \
        DO((row)->comment_on);                                                                     \
        DO((row)->title);                                                                          \
        DO((row)->text);                                                                           \
        DO((row)->json);                                                                           \
        DO((row)->html);                                                                           \
        DO((row)->ticket);                                                                         \
        DO((row)->error);                                                                          \
    } while (0)

enum tl_status tl_outbox_get(struct tl_outbox *outbox, int64_t id, struct tl_outbox_row *ret_row,
                             struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    struct tl_outbox_row row;
    bool whole = true;
    enum tl_status status = tl_db_prepare(&outbox->db, COLUMNS "WHERE id = ?", &statement, reterr);
    if (status != TL_OK)
        return status;
    (void)sqlite3_bind_int64(statement, 1, id);
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        read_row(statement, &row);
#define COPY(text) whole = (text = strdup(text)) && whole
        FOR_EACH_TEXT(&row, COPY);
#undef COPY
        if (whole) {
            *ret_row = row;
        } else {
            tl_outbox_row_finish(&row);
            status = tl_error_set(reterr, TL_NOMEM, "no memory for the outbox");
        }
    } else if (result == SQLITE_DONE) {
        status = tl_error_set(reterr, TL_UNKNOWN, "the outbox has no row %lld", (long long)id);
    } else {
        status = tl_db_error(&outbox->db, result, reterr);
    }
    sqlite3_finalize(statement);
    return status;
}

void tl_outbox_row_finish(struct tl_outbox_row *row)
{
#define FREE(text) free((void *)(uintptr_t)(text))
    FOR_EACH_TEXT(row, FREE);
#undef FREE
    *row = (struct tl_outbox_row){0};
}

enum tl_status tl_outbox_mark(struct tl_outbox *outbox, int64_t id, enum tl_outbox_state state,
                              const char *ticket, const char *error, int64_t next_ns,
                              struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    enum tl_status status = tl_db_prepare(
        &outbox->db,
        "UPDATE outbox SET state = ?2, ticket = coalesce(?3, ticket), error = coalesce(?4, error),"
        " next_ns = ?5, attempts = attempts + (?2 = 1),"
        " text = CASE WHEN ?2 = 3 THEN '' ELSE text END,"
        " json = CASE WHEN ?2 = 3 THEN '' ELSE json END,"
        " html = CASE WHEN ?2 = 3 THEN '' ELSE html END WHERE id = ?1",
        &statement, reterr);
    if (status != TL_OK)
        return status;
    (void)sqlite3_bind_int64(statement, 1, id);
    (void)sqlite3_bind_int(statement, 2, (int)state);
    if (ticket)
        tl_db_bind_text(statement, 3, ticket);
    if (error)
        tl_db_bind_text(statement, 4, error);
    (void)sqlite3_bind_int64(statement, 5, next_ns);
    return tl_db_finish(&outbox->db, statement, reterr);
}
