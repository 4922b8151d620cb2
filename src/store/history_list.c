/* Lists: a filter becomes one statement, its rows go to a visitor or into an array. */
#include "history_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/buf.h"
#include "tightlink/base/cause_name.h"

/* --- The statement -------------------------------------------------------------------------- */

/* Escapes what LIKE would take for a pattern. */
static char *like_pattern(const char *text)
{
    struct tl_buf pattern = TL_BUF_INIT;
    tl_buf_adds(&pattern, "%");
    for (; *text; text++) {
        if (strchr("%_\\", *text))
            tl_buf_adds(&pattern, "\\");
        tl_buf_add(&pattern, text, 1);
    }
    tl_buf_adds(&pattern, "%");
    return tl_buf_steal(&pattern);
}

/* Lists name causes by words that are not kept: those whose name has the text. The ids are ours. */
static void add_named_causes(const char *text, struct tl_buf *sql)
{
    size_t at = 0;
    for (const char *id; (id = tl_cause_named_like(text, &at));)
        tl_buf_addf(sql, " OR cause = '%s'", id);
    tl_buf_adds(sql, ")");
}

static void build(const struct tl_history_filter *filter, const char *columns, const char *tail,
                  bool paged, struct tl_buf *sql)
{
    tl_buf_addf(sql, "SELECT %s FROM runs WHERE 1", columns);
    if (filter->target)
        tl_buf_adds(sql, " AND target = ?1");
    if (filter->cause)
        tl_buf_adds(sql, " AND cause = ?2");
    if (filter->direction)
        tl_buf_adds(sql, " AND direction = ?9");
    if (filter->tag)
        tl_buf_adds(sql, " AND at IN (SELECT at FROM tags WHERE tag = ?3)");
    if (filter->text) {
        tl_buf_adds(sql, " AND (target LIKE ?4 ESCAPE '\\' OR cause LIKE ?4 ESCAPE '\\' OR"
                         " sentence LIKE ?4 ESCAPE '\\' OR note LIKE ?4 ESCAPE '\\' OR"
                         " tags LIKE ?4 ESCAPE '\\'");
        add_named_causes(filter->text, sql);
    }
    if (filter->since_ns)
        tl_buf_adds(sql, " AND at >= ?5");
    if (filter->until_ns)
        tl_buf_adds(sql, " AND at < ?6");
    tl_buf_adds(sql, tail);
    if (paged && (filter->limit || filter->offset))
        tl_buf_adds(sql, " LIMIT ?7 OFFSET ?8");
}

static enum tl_status bind(sqlite3_stmt *statement, const struct tl_history_filter *filter,
                           bool paged, struct tl_error *reterr)
{
    if (filter->target)
        tl_db_bind_text(statement, 1, filter->target);
    if (filter->cause)
        tl_db_bind_text(statement, 2, filter->cause);
    if (filter->direction)
        tl_db_bind_text(statement, 9, filter->direction);
    if (filter->tag)
        tl_db_bind_text(statement, 3, filter->tag);
    if (filter->text) {
        char *pattern = like_pattern(filter->text);
        if (!pattern)
            return tl_error_set(reterr, TL_NOMEM, "no memory for the filter");
        (void)sqlite3_bind_text(statement, 4, pattern, -1, free);
    }
    if (filter->since_ns)
        (void)sqlite3_bind_int64(statement, 5, filter->since_ns);
    if (filter->until_ns)
        (void)sqlite3_bind_int64(statement, 6, filter->until_ns);
    if (paged && (filter->limit || filter->offset)) {
        (void)sqlite3_bind_int64(statement, 7, filter->limit ? (sqlite3_int64)filter->limit : -1);
        (void)sqlite3_bind_int64(statement, 8, (sqlite3_int64)filter->offset);
    }
    return TL_OK;
}

enum tl_status tl_history_select(struct tl_history *history, const char *columns,
                                 const struct tl_history_filter *filter, const char *tail,
                                 bool paged, sqlite3_stmt **ret_statement, struct tl_error *reterr)
{
    static const struct tl_history_filter all;
    struct tl_buf sql = TL_BUF_INIT;
    sqlite3_stmt *statement = NULL;
    if (!filter)
        filter = &all;
    build(filter, columns, tail, paged, &sql);
    enum tl_status status = sql.status;
    if (status == TL_OK)
        status = tl_db_prepare(&history->db, tl_buf_text(&sql), &statement, reterr);
    if (status == TL_OK)
        status = bind(statement, filter, paged, reterr);
    tl_buf_finish(&sql);
    if (status == TL_OK)
        *ret_statement = statement;
    else
        sqlite3_finalize(statement);
    return status;
}

/* --- Rows ------------------------------------------------------------------------------------ */

#define COLUMNS                                                                                    \
    "id, started_ns, duration_ns, target, target_kind, direction, state, cause, segment,"          \
    " sentence, quality, confidence, measured_bps, stream_bps, streams_bps, rtt_ns,"               \
    " loaded_rtt_ns, retrans_ratio, fixed_bps, tried_predicted_bps, tried_measured_bps, hit,"      \
    " note, tags, stream_doubt_bps, streams_doubt_bps, tried_doubt_bps"

static void read_row(sqlite3_stmt *s, struct tl_history_run *row)
{
    *row = (struct tl_history_run){
        .id = tl_db_text(s, 0),
        .started_ns = sqlite3_column_int64(s, 1),
        .duration_ns = sqlite3_column_int64(s, 2),
        .target = tl_db_text(s, 3),
        .target_kind = tl_db_text(s, 4),
        .direction = tl_db_text(s, 5),
        .state = tl_db_text(s, 6),
        .cause = tl_db_text(s, 7),
        .segment = tl_db_text(s, 8),
        .sentence = tl_db_text(s, 9),
        .quality = tl_db_text(s, 10),
        .confidence = tl_db_number(s, 11),
        .measured_bps = tl_db_number(s, 12),
        .stream_bps = tl_db_number(s, 13),
        .streams_bps = tl_db_number(s, 14),
        .rtt_ns = tl_db_number(s, 15),
        .loaded_rtt_ns = tl_db_number(s, 16),
        .retrans_ratio = tl_db_number(s, 17),
        .fixed_bps = tl_db_number(s, 18),
        .tried_predicted_bps = tl_db_number(s, 19),
        .tried_measured_bps = tl_db_number(s, 20),
        .hit = sqlite3_column_int(s, 21),
        .note = tl_db_text(s, 22),
        .tags = tl_db_text(s, 23),
        .stream_doubt_bps = tl_db_number(s, 24),
        .streams_doubt_bps = tl_db_number(s, 25),
        .tried_doubt_bps = tl_db_number(s, 26),
    };
}

enum tl_status tl_history_each(struct tl_history *history, const struct tl_history_filter *filter,
                               tl_history_visit *visit, void *context, struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    struct tl_history_run row;
    int result;
    enum tl_status status =
        tl_history_select(history, COLUMNS, filter, " ORDER BY at DESC", true, &statement, reterr);
    if (status != TL_OK)
        return status;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        read_row(statement, &row);
        if (!visit(&row, context)) {
            result = SQLITE_DONE;
            break;
        }
    }
    if (result != SQLITE_DONE)
        status = tl_db_error(&history->db, result, reterr);
    sqlite3_finalize(statement);
    return status;
}

enum tl_status tl_history_count(struct tl_history *history, const struct tl_history_filter *filter,
                                size_t *ret_count, struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    enum tl_status status =
        tl_history_select(history, "count(*)", filter, "", false, &statement, reterr);
    if (status != TL_OK)
        return status;
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        *ret_count = (size_t)sqlite3_column_int64(statement, 0);
    else
        status = tl_db_error(&history->db, result, reterr);
    sqlite3_finalize(statement);
    return status;
}

/* --- Arrays ---------------------------------------------------------------------------------- */

/* Texts first by their place in the pool, which moves while it grows. */
struct collector {
    struct tl_buf rows, pool;
};

static const char *keep(struct tl_buf *pool, const char *text)
{
    size_t at = pool->len;
    tl_buf_add(pool, text, strlen(text) + 1);
    return (const char *)(uintptr_t)at;
}

#define FOR_EACH_TEXT(row, DO)                                                                     \
    do {                                                                                           \
        DO((row)->id);                                                                             \
        DO((row)->target);                                                                         \
        DO((row)->target_kind);                                                                    \
        DO((row)->direction);                                                                      \
        DO((row)->state);                                                                          \
        DO((row)->cause);                                                                          \
        DO((row)->segment);                                                                        \
        DO((row)->sentence);                                                                       \
        DO((row)->quality);                                                                        \
        DO((row)->note);                                                                           \
        DO((row)->tags);                                                                           \
    } while (0)

static bool collect(const struct tl_history_run *run, void *context)
{
    struct collector *collector = context;
    struct tl_history_run row = *run;
#define KEEP(text) text = keep(&collector->pool, text)
    FOR_EACH_TEXT(&row, KEEP);
#undef KEEP
    tl_buf_add(&collector->rows, &row, sizeof row);
    return collector->rows.status == TL_OK && collector->pool.status == TL_OK;
}

enum tl_status tl_history_list(struct tl_history *history, const struct tl_history_filter *filter,
                               struct tl_history_list *ret_list, struct tl_error *reterr)
{
    struct collector collector = {TL_BUF_INIT, TL_BUF_INIT};
    size_t total = 0;
    enum tl_status status = tl_history_count(history, filter, &total, reterr);
    if (status == TL_OK)
        status = tl_history_each(history, filter, collect, &collector, reterr);
    if (status == TL_OK && (collector.rows.status != TL_OK || collector.pool.status != TL_OK))
        status = tl_error_set(reterr, TL_NOMEM, "no memory for the list of runs");
    if (status == TL_OK) {
        size_t count = collector.rows.len / sizeof(struct tl_history_run);
        char *pool = tl_buf_steal(&collector.pool);
        struct tl_history_run *runs =
            (struct tl_history_run *)(void *)tl_buf_steal(&collector.rows);
        if (!pool || !runs) {
            free(pool);
            free(runs);
            return tl_error_set(reterr, TL_NOMEM, "no memory for the list of runs");
        }
#define PLACE(text) text = pool + (uintptr_t)(text)
        for (size_t i = 0; i < count; i++)
            FOR_EACH_TEXT(&runs[i], PLACE);
#undef PLACE
        *ret_list =
            (struct tl_history_list){.runs = runs, .count = count, .total = total, .memory = pool};
    }
    tl_buf_finish(&collector.rows);
    tl_buf_finish(&collector.pool);
    return status;
}

void tl_history_list_finish(struct tl_history_list *list)
{
    free(list->runs);
    free(list->memory);
    *list = (struct tl_history_list){0};
}

/* --- Names ----------------------------------------------------------------------------------- */

static enum tl_status newest(struct tl_history *history, const char *name, size_t steps,
                             char ret_id[TL_HISTORY_ID_SIZE], struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    enum tl_status status = tl_db_prepare(
        &history->db, "SELECT id FROM runs ORDER BY at DESC LIMIT 1 OFFSET ?", &statement, reterr);
    if (status != TL_OK)
        return status;
    (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)steps);
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        snprintf(ret_id, TL_HISTORY_ID_SIZE, "%s", tl_db_text(statement, 0));
    else if (result == SQLITE_DONE)
        status = tl_error_set(reterr, TL_UNKNOWN, "%.40s: the history has not so many runs", name);
    else
        status = tl_db_error(&history->db, result, reterr);
    sqlite3_finalize(statement);
    return status;
}

static enum tl_status by_beginning(struct tl_history *history, const char *name,
                                   char ret_id[TL_HISTORY_ID_SIZE], struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    enum tl_status status = tl_db_prepare(
        &history->db, "SELECT id FROM runs WHERE id >= upper(?1) AND id < upper(?1) || '~' LIMIT 2",
        &statement, reterr);
    if (status != TL_OK)
        return status;
    tl_db_bind_text(statement, 1, name);
    char id[TL_HISTORY_ID_SIZE] = "";
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        snprintf(id, sizeof id, "%s", tl_db_text(statement, 0));
        result = sqlite3_step(statement);
        if (result == SQLITE_ROW)
            status = tl_error_set(reterr, TL_RANGE,
                                  "several runs begin with %.40s: write more of the id", name);
        else if (result == SQLITE_DONE)
            snprintf(ret_id, TL_HISTORY_ID_SIZE, "%s", id);
    } else if (result == SQLITE_DONE) {
        status = tl_error_set(reterr, TL_UNKNOWN, "the history has no run %.40s", name);
    }
    if (result != SQLITE_ROW && result != SQLITE_DONE)
        status = tl_db_error(&history->db, result, reterr);
    sqlite3_finalize(statement);
    return status;
}

enum tl_status tl_history_resolve(struct tl_history *history, const char *name,
                                  char ret_id[TL_HISTORY_ID_SIZE], struct tl_error *reterr)
{
    if (strcmp(name, "last") == 0)
        return newest(history, name, 0, ret_id, reterr);
    if (strncmp(name, "last-", 5) == 0 && name[5] >= '0' && name[5] <= '9' && strlen(name) < 14)
        return newest(history, name, (size_t)strtoul(name + 5, NULL, 10), ret_id, reterr);
    if (!*name)
        return tl_error_set(reterr, TL_UNKNOWN, "a run's id, its beginning, or last");
    return by_beginning(history, name, ret_id, reterr);
}

#define ID_LENGTH_MIN 8

enum tl_status tl_history_id_length(struct tl_history *history, size_t *ret_length,
                                    struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    char before[TL_HISTORY_ID_SIZE] = "";
    size_t most = ID_LENGTH_MIN;
    int result;
    enum tl_status status =
        tl_db_prepare(&history->db, "SELECT id FROM runs ORDER BY id", &statement, reterr);
    if (status != TL_OK)
        return status;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *id = tl_db_text(statement, 0);
        size_t same = 0;
        while (before[same] && before[same] == id[same])
            same++;
        most = same + 1 > most ? same + 1 : most;
        snprintf(before, sizeof before, "%s", id);
    }
    if (result == SQLITE_DONE)
        *ret_length = most;
    else
        status = tl_db_error(&history->db, result, reterr);
    sqlite3_finalize(statement);
    return status;
}
