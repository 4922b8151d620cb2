/* Opening and closing SQLite files, and their errors as sentences. What is in them is the
 * affair of history.c and outbox.c. */
#include "db.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tightlink/base/time.h"

#define BUSY_MS         5000
#define VALUE_BYTES_MAX (32 << 20) /* four times a document: what is longer is not ours */

/* --- Where ------------------------------------------------------------------------------ */

/* Makes the directory and those above it that are missing, for the owner alone. */
static enum tl_status make_directory(char *path, struct tl_error *reterr)
{
    for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    if (mkdir(path, 0700) == 0 || errno == EEXIST || errno == EROFS)
        return TL_OK;
    return tl_error_set(reterr, tl_status_from_errno(errno), "%.200s cannot be made: %s", path,
                        strerror(errno));
}

/* XDG base directory specification: a value that is not absolute is ignored. */
static enum tl_status default_path(const struct tl_db_schema *schema, char ret_path[PATH_MAX],
                                   struct tl_error *reterr)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    char directory[PATH_MAX - 64];
    bool given = data && data[0] == '/';
    if (!given && !(home && home[0] == '/'))
        return tl_error_set(reterr, TL_UNKNOWN,
                            "no place for the %s: neither XDG_DATA_HOME nor HOME is set",
                            schema->what);
    int n = snprintf(directory, sizeof directory, "%s%s/tightlink", given ? data : home,
                     given ? "" : "/.local/share");
    if (n < 0 || (size_t)n >= sizeof directory)
        return tl_error_set(reterr, TL_LIMIT, "the path of the %s is too long", schema->what);
    enum tl_status status = make_directory(directory, reterr);
    if (status == TL_OK)
        snprintf(ret_path, PATH_MAX, "%s/%s", directory, schema->file);
    return status;
}

/* --- Errors ------------------------------------------------------------------------------ */

static bool is_damage(int result)
{
    return (result & 0xff) == SQLITE_CORRUPT || (result & 0xff) == SQLITE_NOTADB;
}

static enum tl_status status_of(int result, int system_errno)
{
    switch (result & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
    case SQLITE_ROW:
        return TL_OK;
    case SQLITE_NOMEM:
        return TL_NOMEM;
    case SQLITE_FULL:
        return TL_NOSPACE;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return TL_BUSY;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return TL_DENIED;
    case SQLITE_TOOBIG:
        return TL_LIMIT;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        if (system_errno == EROFS)
            return TL_DENIED;
        return system_errno ? tl_status_from_errno(system_errno) : TL_IO;
    default:
        return TL_IO;
    }
}

enum tl_status tl_db_error(struct tl_db *db, int result, struct tl_error *reterr)
{
    int system_errno = db->handle ? sqlite3_system_errno(db->handle) : 0;
    enum tl_status status = status_of(result, system_errno);
    const char *what = db->schema->what;
    db->damaged |= is_damage(result);
    switch (status) {
    case TL_OK:
        return TL_OK;
    case TL_NOSPACE:
        return tl_error_set(reterr, status,
                            "the disk is full: the %s in %.200s was not changed; make room there",
                            what, db->path);
    case TL_BUSY:
        return tl_error_set(reterr, status,
                            "another program has been writing the %s in %.200s for %d s: try again",
                            what, db->path, BUSY_MS / 1000);
    case TL_DENIED:
        return tl_error_set(reterr, status, "the %s in %.200s cannot be written here: %s", what,
                            db->path, system_errno ? strerror(system_errno) : "it is read-only");
    default:
        if (is_damage(result))
            return tl_error_set(reterr, status,
                                "the %s in %.200s is damaged; the next run that is kept moves it "
                                "aside and begins a new one",
                                what, db->path);
        return tl_error_set(reterr, status, "the %s in %.200s: %s", what, db->path,
                            db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(result));
    }
}

/* --- Statements ---------------------------------------------------------------------------- */

enum tl_status tl_db_exec(struct tl_db *db, const char *sql, struct tl_error *reterr)
{
    return tl_db_error(db, sqlite3_exec(db->handle, sql, NULL, NULL, NULL), reterr);
}

enum tl_status tl_db_prepare(struct tl_db *db, const char *sql, sqlite3_stmt **ret_statement,
                             struct tl_error *reterr)
{
    return tl_db_error(db, sqlite3_prepare_v2(db->handle, sql, -1, ret_statement, NULL), reterr);
}

enum tl_status tl_db_finish(struct tl_db *db, sqlite3_stmt *statement, struct tl_error *reterr)
{
    int result = sqlite3_step(statement);
    enum tl_status status = tl_db_error(db, result, reterr);
    sqlite3_finalize(statement);
    return status;
}

enum tl_status tl_db_end(struct tl_db *db, enum tl_status status, struct tl_error *reterr)
{
    if (status == TL_OK)
        status = tl_db_exec(db, "COMMIT", reterr);
    if (status != TL_OK && !sqlite3_get_autocommit(db->handle))
        (void)sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

const char *tl_db_text(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text ? text : "";
}

double tl_db_number(sqlite3_stmt *statement, int column)
{
    return sqlite3_column_type(statement, column) == SQLITE_NULL
               ? (double)NAN
               : sqlite3_column_double(statement, column);
}

void tl_db_bind_number(sqlite3_stmt *statement, int index, double value)
{
    if (isfinite(value))
        (void)sqlite3_bind_double(statement, index, value);
    else
        (void)sqlite3_bind_null(statement, index);
}

void tl_db_bind_text(sqlite3_stmt *statement, int index, const char *text)
{
    (void)sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT);
}

/* --- Opening ------------------------------------------------------------------------------ */

/* SQLite gives WAL and shared memory the file's own mode, so that 0600 holds for all three. */
static void make_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat info;
    if (fd >= 0 && fstat(fd, &info) == 0 && (info.st_mode & (S_IRWXG | S_IRWXO)))
        (void)fchmod(fd, 0600);
    if (fd >= 0)
        close(fd);
}

static int read_pragma(sqlite3 *handle, const char *sql, int *ret_value)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(handle, sql, -1, &statement, NULL);
    if (result == SQLITE_OK) {
        result = sqlite3_step(statement);
        if (result == SQLITE_ROW) {
            *ret_value = sqlite3_column_int(statement, 0);
            result = SQLITE_OK;
        }
    }
    sqlite3_finalize(statement);
    return result;
}

static enum tl_status migrate(struct tl_db *db, int version, struct tl_error *reterr)
{
    char pragma[96];
    for (; version < db->schema->migration_count; version++) {
        enum tl_status status = tl_db_exec(db, "BEGIN IMMEDIATE", reterr);
        if (status != TL_OK)
            return status;
        /* Another program may have been faster. */
        int now = version;
        (void)read_pragma(db->handle, "PRAGMA user_version", &now);
        if (now == version) {
            status = tl_db_exec(db, db->schema->migrations[version], reterr);
            snprintf(pragma, sizeof pragma, "PRAGMA user_version=%d;PRAGMA application_id=%d",
                     version + 1, db->schema->application_id);
            if (status == TL_OK)
                status = tl_db_exec(db, pragma, reterr);
        }
        status = tl_db_end(db, status, reterr);
        if (status != TL_OK)
            return status;
    }
    return TL_OK;
}

/* Version and owner of an open file. */
static enum tl_status check_schema(struct tl_db *db, struct tl_error *reterr)
{
    int version = 0, application = 0, tables = 0, programs = 0;
    const struct tl_db_schema *schema = db->schema;
    int result = read_pragma(db->handle, "PRAGMA user_version", &version);
    if (result == SQLITE_OK)
        result = read_pragma(db->handle, "PRAGMA application_id", &application);
    if (result == SQLITE_OK)
        result = read_pragma(db->handle, "SELECT count(*) FROM sqlite_master", &tables);
    /* What stands in a table's place or beside it and computes: it need not come to an end. */
    if (result == SQLITE_OK)
        result = read_pragma(db->handle,
                             "SELECT count(*) FROM sqlite_master WHERE type IN ('view', 'trigger') "
                             "OR sql LIKE 'CREATE VIRTUAL%'",
                             &programs);
    if (result != SQLITE_OK)
        return tl_db_error(db, result, reterr);
    if (application != schema->application_id && (application != 0 || tables > 0))
        return tl_error_set(reterr, TL_DENIED,
                            "%.200s is another program's database: name another file, or move it",
                            db->path);
    if (programs > 0)
        return tl_error_set(reterr, TL_DENIED,
                            "the %s in %.200s was changed by another program, which made views or "
                            "triggers in it: name another file, or move it",
                            schema->what, db->path);
    if (version > schema->migration_count)
        return tl_error_set(reterr, TL_VERSION,
                            "the %s in %.200s is of a newer tightlink (its version %d, this one "
                            "reads up to %d): it was left alone; use the newer tightlink",
                            schema->what, db->path, version, schema->migration_count);
    if (db->read_only && version < schema->migration_count)
        return tl_error_set(reterr, TL_DENIED,
                            "the %s in %.200s is empty or of an older tightlink, and cannot be "
                            "written here",
                            schema->what, db->path);
    return db->read_only ? TL_OK : migrate(db, version, reterr);
}

static int open_handle(struct tl_db *db, const char *name, int flags)
{
    int result = sqlite3_open_v2(name, &db->handle, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_extended_result_codes(db->handle, 1);
    if (result == SQLITE_OK)
        result = sqlite3_busy_timeout(db->handle, BUSY_MS);
    if (result == SQLITE_OK)
        (void)sqlite3_limit(db->handle, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
    return result;
}

static int open_to_write(struct tl_db *db)
{
    make_file(db->path);
    int result = open_handle(db, db->path, SQLITE_OPEN_READWRITE);
    if (result == SQLITE_OK && sqlite3_db_readonly(db->handle, "main") == 1)
        result = SQLITE_READONLY;
    if (result == SQLITE_OK)
        result = sqlite3_exec(db->handle,
                              /* the first while the file is still empty */
                              "PRAGMA auto_vacuum=INCREMENTAL;"
                              "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                              "PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF;"
                              /* all rows of some 100,000 runs */
                              "PRAGMA cache_size=-65536",
                              NULL, NULL, NULL);
    return result;
}

static void close_handle(struct tl_db *db)
{
    (void)sqlite3_close(db->handle);
    db->handle = NULL;
}

/* A file that lies where nothing can be written: as it is, without its log. */
static int open_to_read(struct tl_db *db)
{
    char uri[PATH_MAX * 3 + 32];
    size_t at = (size_t)snprintf(uri, sizeof uri, "file:");
    for (const char *c = db->path; *c && at + 24 < sizeof uri; c++)
        at += (size_t)snprintf(uri + at, sizeof uri - at, strchr("?#%", *c) ? "%%%02x" : "%c",
                               (unsigned char)*c);
    snprintf(uri + at, sizeof uri - at, "?immutable=1");
    db->read_only = true;
    return open_handle(db, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

static enum tl_status open_once(struct tl_db *db, struct tl_error *reterr)
{
    struct tl_error why = {0};
    db->damaged = db->read_only = false;
    int result = open_to_write(db);
    enum tl_status status = tl_db_error(db, result, &why);
    if (status == TL_OK)
        status = check_schema(db, &why);
    if ((status == TL_DENIED || (result & 0xff) == SQLITE_CANTOPEN) &&
        access(db->path, R_OK) == 0 && access(db->path, W_OK) < 0) {
        close_handle(db);
        status = tl_db_error(db, open_to_read(db), &why);
        if (status == TL_OK)
            status = check_schema(db, &why);
        if (status == TL_OK)
            snprintf(db->notice, sizeof db->notice,
                     "the %s in %.300s cannot be written here: it is shown as it was",
                     db->schema->what, db->path);
    }
    if (status != TL_OK) {
        close_handle(db);
        return tl_error_set(reterr, status, "%s", why.text);
    }
    return TL_OK;
}

/* Renames the file and what belongs to it. */
static enum tl_status move_aside(struct tl_db *db, struct tl_error *reterr)
{
    char from[PATH_MAX + 8], to[PATH_MAX + 48], stamp[TL_TIME_TEXT_SIZE];
    tl_time_format_utc(tl_realtime_ns(), stamp);
    snprintf(to, sizeof to, "%s.damaged-%s", db->path, stamp);
    if (rename(db->path, to) < 0)
        return tl_error_set(reterr, tl_status_from_errno(errno),
                            "the %s in %.200s is damaged and cannot be moved aside: %s",
                            db->schema->what, db->path, strerror(errno));
    snprintf(db->notice, sizeof db->notice,
             "the %s was damaged: it is kept as %.300s, and a new one was begun", db->schema->what,
             to);
    static const char *const ends[] = {"-wal", "-shm"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(from, sizeof from, "%s%s", db->path, ends[i]);
        snprintf(to, sizeof to, "%s.damaged-%s%s", db->path, stamp, ends[i]);
        (void)rename(from, to);
    }
    return TL_OK;
}

enum tl_status tl_db_renew(struct tl_db *db, struct tl_error *reterr)
{
    close_handle(db);
    enum tl_status status = move_aside(db, reterr);
    return status == TL_OK ? open_once(db, reterr) : status;
}

enum tl_status tl_db_open(struct tl_db *db, const char *path, const struct tl_db_schema *schema,
                          struct tl_error *reterr)
{
    *db = (struct tl_db){.schema = schema};
    if (path) {
        int n = snprintf(db->path, sizeof db->path, "%s", path);
        if (n < 0 || (size_t)n >= sizeof db->path)
            return tl_error_set(reterr, TL_LIMIT, "the path of the %s is too long", schema->what);
    } else {
        enum tl_status status = default_path(schema, db->path, reterr);
        if (status != TL_OK)
            return status;
    }
    enum tl_status status = open_once(db, reterr);
    return status != TL_OK && db->damaged ? tl_db_renew(db, reterr) : status;
}

void tl_db_close(struct tl_db *db)
{
    close_handle(db);
}
