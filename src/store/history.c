/* Opening the history, keeping runs, getting their documents. Lists are in history_list.c,
 * changes in history_change.c, trends and scores in history_time.c. */
#include "history_private.h"

#include <stdlib.h>

#include "summary.h"
#include "tightlink/document/pack.h"

/* Rows are clustered by the time of their start, so that "the newest" and "since" read
 * neighbours. Documents lie apart, packed, so that a list does not read past them. */
static const char *const migrations[] = {
    "CREATE TABLE runs("
    " at INTEGER PRIMARY KEY," /* ns since 1970, the next free number where it is taken */
    " id TEXT NOT NULL UNIQUE, started_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL,"
    " target TEXT NOT NULL, target_kind TEXT NOT NULL, direction TEXT NOT NULL,"
    " state TEXT NOT NULL, cause TEXT NOT NULL, segment TEXT NOT NULL, sentence TEXT NOT NULL,"
    " quality TEXT NOT NULL, confidence REAL, measured_bps REAL, stream_bps REAL,"
    " streams_bps REAL, rtt_ns REAL, loaded_rtt_ns REAL, retrans_ratio REAL, fixed_bps REAL,"
    " tried_predicted_bps REAL, tried_measured_bps REAL, hit INTEGER NOT NULL,"
    " note TEXT NOT NULL DEFAULT '', tags TEXT NOT NULL DEFAULT '');"
    "CREATE INDEX runs_target ON runs(target, at);"
    "CREATE INDEX runs_cause ON runs(cause, at);"
    "CREATE TABLE documents("
    " at INTEGER PRIMARY KEY REFERENCES runs(at) ON DELETE CASCADE, document BLOB NOT NULL);"
    "CREATE TABLE tags("
    " tag TEXT NOT NULL, at INTEGER NOT NULL REFERENCES runs(at) ON DELETE CASCADE,"
    " PRIMARY KEY(tag, at)) WITHOUT ROWID;"
    "CREATE INDEX tags_at ON tags(at);",
    "ALTER TABLE runs ADD COLUMN stream_doubt_bps REAL;"
    "ALTER TABLE runs ADD COLUMN streams_doubt_bps REAL;"
    "ALTER TABLE runs ADD COLUMN tried_doubt_bps REAL;",
};

static const struct tl_db_schema schema = {
    .what = "history",
    .file = "history.sqlite",
    .application_id = 0x746c6869, /* "tlhi" */
    .migrations = migrations,
    .migration_count = sizeof migrations / sizeof *migrations,
};

enum tl_status tl_history_open(const char *path, struct tl_history **ret_history,
                               struct tl_error *reterr)
{
    struct tl_history *history = calloc(1, sizeof *history);
    if (!history)
        return tl_error_set(reterr, TL_NOMEM, "no memory for the history");
    enum tl_status status = tl_db_open(&history->db, path, &schema, reterr);
    if (status == TL_OK)
        *ret_history = history;
    else
        free(history);
    return status;
}

void tl_history_close(struct tl_history *history)
{
    if (!history)
        return;
    tl_db_close(&history->db);
    free(history);
}

const char *tl_history_path(const struct tl_history *history)
{
    return history->db.path;
}

const char *tl_history_notice(const struct tl_history *history)
{
    return history->db.notice;
}

enum tl_status tl_history_find(struct tl_history *history, const char *id, int64_t *ret_at,
                               struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    enum tl_status status =
        tl_db_prepare(&history->db, "SELECT at FROM runs WHERE id = ?", &statement, reterr);
    if (status != TL_OK)
        return status;
    tl_db_bind_text(statement, 1, id);
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        *ret_at = sqlite3_column_int64(statement, 0);
    else if (result == SQLITE_DONE)
        status = tl_error_set(reterr, TL_UNKNOWN, "the history has no run %.40s", id);
    else
        status = tl_db_error(&history->db, result, reterr);
    sqlite3_finalize(statement);
    return status;
}

/* The key of a new row: its start, or the next number that is free. */
static enum tl_status free_key(struct tl_history *history, int64_t started_ns, int64_t *ret_at,
                               struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    enum tl_status status =
        tl_db_prepare(&history->db, "SELECT 1 FROM runs WHERE at = ?", &statement, reterr);
    if (status != TL_OK)
        return status;
    int result = SQLITE_ROW;
    int64_t at = started_ns;
    for (;; at++) {
        (void)sqlite3_bind_int64(statement, 1, at);
        result = sqlite3_step(statement);
        if (result != SQLITE_ROW)
            break;
        (void)sqlite3_reset(statement);
    }
    if (result == SQLITE_DONE)
        *ret_at = at;
    else
        status = tl_db_error(&history->db, result, reterr);
    sqlite3_finalize(statement);
    return status;
}

static void bind_summary(sqlite3_stmt *statement, int64_t at, const struct tl_summary *summary)
{
    const char *const texts[] = {summary->target,   summary->target_kind, summary->direction,
                                 summary->state,    summary->cause,       summary->segment,
                                 summary->sentence, summary->quality};
    const double numbers[] = {
        summary->confidence,         summary->measured_bps,     summary->stream_bps,
        summary->streams_bps,        summary->rtt_ns,           summary->loaded_rtt_ns,
        summary->retrans_ratio,      summary->fixed_bps,        summary->tried_predicted_bps,
        summary->tried_measured_bps, summary->stream_doubt_bps, summary->streams_doubt_bps,
        summary->tried_doubt_bps};
    int index = 0;
    (void)sqlite3_bind_int64(statement, ++index, at);
    tl_db_bind_text(statement, ++index, summary->id);
    (void)sqlite3_bind_int64(statement, ++index, summary->started_ns);
    (void)sqlite3_bind_int64(statement, ++index, summary->duration_ns);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        tl_db_bind_text(statement, ++index, texts[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        tl_db_bind_number(statement, ++index, numbers[i]);
    (void)sqlite3_bind_int(statement, ++index, summary->hit);
}

static enum tl_status put_row(struct tl_history *history, int64_t at,
                              const struct tl_summary *summary, struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    enum tl_status status = tl_db_prepare(
        &history->db,
        "INSERT INTO runs(at, id, started_ns, duration_ns, target, target_kind, direction, state,"
        " cause, segment, sentence, quality, confidence, measured_bps, stream_bps, streams_bps,"
        " rtt_ns, loaded_rtt_ns, retrans_ratio, fixed_bps, tried_predicted_bps,"
        " tried_measured_bps, stream_doubt_bps, streams_doubt_bps, tried_doubt_bps, hit)"
        " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
        " ON CONFLICT(id) DO UPDATE SET started_ns = excluded.started_ns,"
        " duration_ns = excluded.duration_ns, target = excluded.target,"
        " target_kind = excluded.target_kind, direction = excluded.direction,"
        " state = excluded.state, cause = excluded.cause, segment = excluded.segment,"
        " sentence = excluded.sentence, quality = excluded.quality,"
        " confidence = excluded.confidence, measured_bps = excluded.measured_bps,"
        " stream_bps = excluded.stream_bps, streams_bps = excluded.streams_bps,"
        " rtt_ns = excluded.rtt_ns, loaded_rtt_ns = excluded.loaded_rtt_ns,"
        " retrans_ratio = excluded.retrans_ratio, fixed_bps = excluded.fixed_bps,"
        " tried_predicted_bps = excluded.tried_predicted_bps,"
        " tried_measured_bps = excluded.tried_measured_bps,"
        " stream_doubt_bps = excluded.stream_doubt_bps,"
        " streams_doubt_bps = excluded.streams_doubt_bps,"
        " tried_doubt_bps = excluded.tried_doubt_bps, hit = excluded.hit",
        &statement, reterr);
    if (status != TL_OK)
        return status;
    bind_summary(statement, at, summary);
    return tl_db_finish(&history->db, statement, reterr);
}

static enum tl_status put_document(struct tl_history *history, int64_t at, const char *document,
                                   size_t len, struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    struct tl_buf packed = TL_BUF_INIT;
    enum tl_status status = tl_pack(document, len, &packed, reterr);
    if (status == TL_OK)
        status = tl_db_prepare(&history->db,
                               "INSERT OR REPLACE INTO documents(at, document) VALUES(?,?)",
                               &statement, reterr);
    if (status == TL_OK) {
        (void)sqlite3_bind_int64(statement, 1, at);
        (void)sqlite3_bind_blob64(statement, 2, packed.data, packed.len, SQLITE_STATIC);
        status = tl_db_finish(&history->db, statement, reterr);
    }
    tl_buf_finish(&packed);
    return status;
}

static enum tl_status add(struct tl_history *history, const struct tl_summary *summary,
                          const char *document, size_t len, struct tl_error *reterr)
{
    int64_t at = 0;
    enum tl_status status = tl_db_exec(&history->db, "BEGIN IMMEDIATE", reterr);
    if (status != TL_OK)
        return status;
    status = tl_history_find(history, summary->id, &at, reterr);
    if (status == TL_UNKNOWN)
        status = free_key(history, summary->started_ns, &at, reterr);
    if (status == TL_OK)
        status = put_row(history, at, summary, reterr);
    if (status == TL_OK)
        status = put_document(history, at, document, len, reterr);
    return tl_db_end(&history->db, status, reterr);
}

enum tl_status tl_history_add(struct tl_history *history, const char *document, size_t len,
                              struct tl_error *reterr)
{
    struct tl_json *doc = NULL;
    struct tl_summary summary;
    enum tl_status status = tl_summary_parse(document, len, &doc, reterr);
    if (status == TL_OK)
        status = tl_summary_read(doc, &summary, reterr);
    tl_json_destroy(doc);
    if (status != TL_OK)
        return status;
    status = add(history, &summary, document, len, reterr);
    /* What was just measured is kept, whatever became of the file. */
    if (status != TL_OK && history->db.damaged) {
        status = tl_db_renew(&history->db, reterr);
        if (status == TL_OK)
            status = add(history, &summary, document, len, reterr);
    }
    return status;
}

enum tl_status tl_history_document(struct tl_history *history, const char *id, char **ret_text,
                                   size_t *ret_len, struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    enum tl_status status = tl_db_prepare(
        &history->db,
        "SELECT document FROM documents WHERE at = (SELECT at FROM runs WHERE id = ?)", &statement,
        reterr);
    if (status != TL_OK)
        return status;
    tl_db_bind_text(statement, 1, id);
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        const void *blob = sqlite3_column_blob(statement, 0);
        status =
            tl_unpack(blob, (size_t)sqlite3_column_bytes(statement, 0), ret_text, ret_len, reterr);
        if (status != TL_OK)
            tl_error_prefix(reterr, "run %.40s", id);
    } else if (result == SQLITE_DONE) {
        status = tl_error_set(reterr, TL_UNKNOWN, "the history has no run %.40s", id);
    } else {
        status = tl_db_error(&history->db, result, reterr);
    }
    sqlite3_finalize(statement);
    return status;
}
