/* Notes, tags, deleting and pruning. */
#include "history_private.h"

#include <stdint.h>
#include <string.h>

#include "tightlink/base/buf.h"
#include "tightlink/base/utf8.h"

/* Printable UTF-8 throughout; controls only where asked for (a note may have lines). */
static bool is_text(const char *text, bool lines)
{
    size_t len = strlen(text);
    for (size_t at = 0; at < len;) {
        uint32_t c;
        size_t step = tl_utf8_decode(text + at, len - at, &c);
        if (step == 0 || (c < 0x20 && !(lines && (c == '\n' || c == '\t'))) || c == 0x7f)
            return false;
        at += step;
    }
    return true;
}

enum tl_status tl_history_set_note(struct tl_history *history, const char *id, const char *note,
                                   struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    int64_t at;
    if (strlen(note) > TL_HISTORY_NOTE_MAX)
        return tl_error_set(reterr, TL_LIMIT, "a note has at most %d bytes", TL_HISTORY_NOTE_MAX);
    if (!is_text(note, true))
        return tl_error_set(reterr, TL_SYNTAX,
                            "a note is text in UTF-8 without control characters");
    enum tl_status status = tl_history_find(history, id, &at, reterr);
    if (status == TL_OK)
        status = tl_db_prepare(&history->db, "UPDATE runs SET note = ? WHERE at = ?", &statement,
                               reterr);
    if (status != TL_OK)
        return status;
    tl_db_bind_text(statement, 1, note);
    (void)sqlite3_bind_int64(statement, 2, at);
    return tl_db_finish(&history->db, statement, reterr);
}

/* --- Tags ---------------------------------------------------------------------------------- */

static enum tl_status check_tag(const char *tag, struct tl_error *reterr)
{
    size_t len = strlen(tag);
    if (len == 0 || len > TL_HISTORY_TAG_MAX || strchr(tag, ',') || tag[0] == ' ' ||
        tag[len - 1] == ' ' || !is_text(tag, false))
        return tl_error_set(reterr, TL_SYNTAX,
                            "a tag is 1 to %d bytes of text without commas, for instance \"after "
                            "fix\"",
                            TL_HISTORY_TAG_MAX);
    return TL_OK;
}

static enum tl_status change_tag(struct tl_history *history, int64_t at, const char *tag, bool on,
                                 struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    enum tl_status status = tl_db_prepare(&history->db,
                                          on ? "INSERT OR IGNORE INTO tags(tag, at) VALUES(?, ?)"
                                             : "DELETE FROM tags WHERE tag = ? AND at = ?",
                                          &statement, reterr);
    if (status != TL_OK)
        return status;
    tl_db_bind_text(statement, 1, tag);
    (void)sqlite3_bind_int64(statement, 2, at);
    return tl_db_finish(&history->db, statement, reterr);
}

/* The row's own copy of its tags, "before, after fix", from the table; refuses too many. */
static enum tl_status gather_tags(struct tl_history *history, int64_t at, struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    struct tl_buf tags = TL_BUF_INIT;
    int count = 0, result;
    enum tl_status status = tl_db_prepare(
        &history->db, "SELECT tag FROM tags WHERE at = ? ORDER BY tag", &statement, reterr);
    if (status != TL_OK)
        return status;
    (void)sqlite3_bind_int64(statement, 1, at);
    while ((result = sqlite3_step(statement)) == SQLITE_ROW)
        tl_buf_addf(&tags, "%s%s", count++ ? ", " : "", tl_db_text(statement, 0));
    status = result == SQLITE_DONE ? tags.status : tl_db_error(&history->db, result, reterr);
    sqlite3_finalize(statement);
    if (status == TL_OK && count > TL_HISTORY_TAGS_MAX)
        status = tl_error_set(reterr, TL_LIMIT, "a run has at most %d tags", TL_HISTORY_TAGS_MAX);
    if (status == TL_OK)
        status = tl_db_prepare(&history->db, "UPDATE runs SET tags = ? WHERE at = ?", &statement,
                               reterr);
    if (status == TL_OK) {
        tl_db_bind_text(statement, 1, tl_buf_text(&tags));
        (void)sqlite3_bind_int64(statement, 2, at);
        status = tl_db_finish(&history->db, statement, reterr);
    }
    tl_buf_finish(&tags);
    return status;
}

enum tl_status tl_history_tag(struct tl_history *history, const char *id, const char *tag, bool on,
                              struct tl_error *reterr)
{
    int64_t at;
    enum tl_status status = check_tag(tag, reterr);
    if (status == TL_OK)
        status = tl_db_exec(&history->db, "BEGIN IMMEDIATE", reterr);
    if (status != TL_OK)
        return status;
    status = tl_history_find(history, id, &at, reterr);
    if (status == TL_OK)
        status = change_tag(history, at, tag, on, reterr);
    if (status == TL_OK)
        status = gather_tags(history, at, reterr);
    return tl_db_end(&history->db, status, reterr);
}

/* --- Deleting ------------------------------------------------------------------------------ */

/* Gives the pages of deleted runs back to the file system. That it fails loses nothing. */
static void shrink(struct tl_history *history)
{
    (void)sqlite3_exec(history->db.handle,
                       "PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL,
                       NULL);
}

enum tl_status tl_history_delete(struct tl_history *history, const char *id,
                                 struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    int64_t at;
    enum tl_status status = tl_history_find(history, id, &at, reterr);
    if (status == TL_OK)
        status = tl_db_prepare(&history->db, "DELETE FROM runs WHERE at = ?", &statement, reterr);
    if (status != TL_OK)
        return status;
    (void)sqlite3_bind_int64(statement, 1, at);
    status = tl_db_finish(&history->db, statement, reterr);
    if (status == TL_OK)
        shrink(history);
    return status;
}

enum tl_status tl_history_prune(struct tl_history *history, int64_t before_ns, size_t keep_count,
                                bool all, size_t *ret_count, struct tl_error *reterr)
{
    sqlite3_stmt *statement;
    enum tl_status status = tl_db_prepare(
        &history->db,
        "DELETE FROM runs WHERE (at < ?1 OR (?2 > 0 AND at <= (SELECT at FROM runs"
        " ORDER BY at DESC LIMIT 1 OFFSET ?2))) AND (?3 OR (note = '' AND tags = ''))",
        &statement, reterr);
    if (status != TL_OK)
        return status;
    (void)sqlite3_bind_int64(statement, 1, before_ns);
    (void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)keep_count);
    (void)sqlite3_bind_int(statement, 3, all);
    status = tl_db_finish(&history->db, statement, reterr);
    if (status != TL_OK)
        return status;
    *ret_count = (size_t)sqlite3_changes64(history->db.handle);
    shrink(history);
    return TL_OK;
}
