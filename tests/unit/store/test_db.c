/* Files that are damaged, newer, of another program, read-only or on a full disk. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "documents.h"
#include "tightlink/base/time.h"
#include "tightlink/store/history.h"

#define NOON (INT64_C(1700000000) * TL_NS_PER_S)

static enum tl_status keep(struct tl_history *history, int number, struct tl_error *reterr)
{
    struct tl_buf document = make_document(&(struct made_run){.number = number,
                                                              .started_ns = NOON + number,
                                                              .stream_bps = 9.61e7,
                                                              .half_width = 0.02,
                                                              .hit = -1});
    enum tl_status status = tl_history_add(history, document.data, document.len, reterr);
    tl_buf_finish(&document);
    return status;
}

static struct tl_history *open_file(const char *path)
{
    struct tl_history *history = NULL;
    struct tl_error error = {0};
    cr_assert(tl_history_open(path, &history, &error) == TL_OK, "%s", error.text);
    return history;
}

static size_t count(struct tl_history *history)
{
    size_t n = 999;
    cr_assert(tl_history_count(history, NULL, &n, NULL) == TL_OK);
    return n;
}

static void write_file(const char *path, const char *bytes, size_t len)
{
    FILE *file = fopen(path, "we");
    cr_assert(file && fwrite(bytes, 1, len, file) == len && fclose(file) == 0);
}

static void change(const char *path, const char *sql)
{
    sqlite3 *db;
    cr_assert(sqlite3_open(path, &db) == SQLITE_OK);
    cr_assert(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
}

Test(db, the_file_and_its_directory_are_for_their_owner_alone)
{
    struct stat info;
    char data[4096], path[4200];
    snprintf(data, sizeof data, "%s", test_path("data/deep"));
    cr_assert(setenv("XDG_DATA_HOME", data, 1) == 0);
    umask(0);
    struct tl_history *history = open_file(NULL);
    cr_assert(keep(history, 1, NULL) == TL_OK);
    snprintf(path, sizeof path, "%s/tightlink", data);
    cr_assert(stat(path, &info) == 0 && (info.st_mode & 07777) == 0700);
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", tl_history_path(history), ends[i]);
        cr_assert(stat(path, &info) == 0 && (info.st_mode & 07777) == 0600, "%s", path);
    }
    tl_history_close(history);
    cr_assert(setenv("XDG_DATA_HOME", "relative", 1) == 0 && unsetenv("HOME") == 0);
    struct tl_error error = {0};
    cr_expect(tl_history_open(NULL, &history, &error) == TL_UNKNOWN && error.text[0]);
}

/* Its runs stay; what they did not keep is not known, and a run kept now has all. */
Test(db, a_file_of_an_older_tightlink_is_taken_on)
{
    char path[4200];
    struct tl_history_list list = {0};
    snprintf(path, sizeof path, "%s", test_path("older.sqlite"));
    struct tl_history *history = open_file(path);
    cr_assert(keep(history, 1, NULL) == TL_OK);
    tl_history_close(history);
    change(path, "ALTER TABLE runs DROP COLUMN stream_doubt_bps;"
                 "ALTER TABLE runs DROP COLUMN streams_doubt_bps;"
                 "ALTER TABLE runs DROP COLUMN tried_doubt_bps; PRAGMA user_version = 1");
    history = open_file(path);
    cr_assert(keep(history, 2, NULL) == TL_OK);
    cr_assert(tl_history_list(history, NULL, &list, NULL) == TL_OK && list.count == 2);
    cr_expect(list.runs[0].stream_doubt_bps > 0 && isnan(list.runs[1].stream_doubt_bps));
    cr_expect(list.runs[1].stream_bps == list.runs[0].stream_bps);
    tl_history_list_finish(&list);
    tl_history_close(history);
}

Test(db, a_file_that_is_no_database_is_moved_aside_with_a_sentence)
{
    const char *path = test_path("h.sqlite");
    char junk[8192];
    memset(junk, 'x', sizeof junk);
    write_file(path, junk, sizeof junk);
    struct tl_history *history = open_file(path);
    cr_expect(strstr(tl_history_notice(history), "damaged") != NULL);
    cr_expect(keep(history, 1, NULL) == TL_OK && count(history) == 1);
    char kept[512];
    cr_assert(sscanf(strstr(tl_history_notice(history), "kept as "), "kept as %500[^,]", kept) ==
              1);
    struct stat info;
    cr_expect(stat(kept, &info) == 0 && info.st_size == sizeof junk, "%s", kept);
    tl_history_close(history);
}

Test(db, damage_that_shows_when_a_run_is_kept_loses_no_new_run)
{
    char path[4200];
    snprintf(path, sizeof path, "%s", test_path("h.sqlite"));
    struct tl_history *history = open_file(path);
    for (int i = 0; i < 5; i++)
        cr_assert(keep(history, i, NULL) == TL_OK);
    tl_history_close(history);
    /* The header stays good; every page behind it is overwritten. */
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat info;
    char junk[4096];
    memset(junk, 0x5a, sizeof junk);
    cr_assert(fd >= 0 && fstat(fd, &info) == 0 && info.st_size > 4096);
    for (off_t at = 4096; at < info.st_size; at += 4096)
        cr_assert(pwrite(fd, junk, sizeof junk, at) == sizeof junk);
    close(fd);
    history = open_file(path);
    cr_assert(keep(history, 9, NULL) == TL_OK);
    cr_expect(strstr(tl_history_notice(history), "damaged") != NULL);
    cr_expect(count(history) == 1);
    tl_history_close(history);
}

Test(db, a_newer_database_is_refused_and_left_alone)
{
    char path[4200];
    snprintf(path, sizeof path, "%s", test_path("h.sqlite"));
    struct tl_history *history = open_file(path);
    cr_assert(keep(history, 1, NULL) == TL_OK);
    tl_history_close(history);
    change(path, "PRAGMA user_version = 99");
    struct tl_error error = {0};
    cr_expect(tl_history_open(path, &history, &error) == TL_VERSION);
    cr_expect(strstr(error.text, "newer") != NULL, "%s", error.text);
    change(path, "PRAGMA user_version = 2");
    history = open_file(path);
    cr_expect(count(history) == 1);
    tl_history_close(history);
}

Test(db, another_programs_database_is_left_alone)
{
    char path[4200];
    snprintf(path, sizeof path, "%s", test_path("h.sqlite"));
    change(path, "CREATE TABLE theirs(a); INSERT INTO theirs VALUES(1)");
    struct tl_history *history;
    struct tl_error error = {0};
    cr_expect(tl_history_open(path, &history, &error) == TL_DENIED);
    cr_expect(strstr(error.text, "another program") != NULL, "%s", error.text);
    change(path, "INSERT INTO theirs VALUES(2)");
}

/* What computes stands in a table's place: to list runs would never end. */
Test(db, a_file_with_views_or_triggers_is_refused)
{
    static const char endless[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                                  "SELECT i AS at, i AS id FROM n";
    char path[4200], sql[512];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s%d", test_path("endless.sqlite"), i);
        struct tl_history *history = open_file(path);
        cr_assert(keep(history, 1, NULL) == TL_OK);
        tl_history_close(history);
        snprintf(sql, sizeof sql,
                 i == 0 ? "ALTER TABLE runs RENAME TO theirs; CREATE VIEW runs AS %s"
                        : "CREATE TRIGGER t AFTER DELETE ON runs BEGIN INSERT INTO tags "
                          "SELECT at, id FROM (%s); END",
                 endless);
        change(path, sql);
        struct tl_error error = {0};
        cr_expect(tl_history_open(path, &history, &error) == TL_DENIED);
        cr_expect(strstr(error.text, "views or triggers") != NULL, "%s", error.text);
    }
}

Test(db, a_value_that_is_far_too_long_is_not_read)
{
    char path[4200];
    struct tl_history_list list = {0};
    struct tl_error error = {0};
    snprintf(path, sizeof path, "%s", test_path("long.sqlite"));
    struct tl_history *history = open_file(path);
    cr_assert(keep(history, 1, NULL) == TL_OK);
    tl_history_close(history);
    change(path, "UPDATE runs SET sentence = CAST(zeroblob(40000000) AS TEXT)");
    history = open_file(path);
    cr_expect(tl_history_list(history, NULL, &list, &error) == TL_LIMIT);
    cr_expect(strstr(error.text, "too big") != NULL, "%s", error.text);
    tl_history_close(history);
}

/* Runs part as a child that may lose its rights; its exit code is 0 when all held. */
static void in_child(void (*part)(void))
{
    int how;
    pid_t pid = fork();
    cr_assert(pid >= 0);
    if (pid == 0) {
        part();
        _exit(0);
    }
    cr_assert(waitpid(pid, &how, 0) == pid);
    cr_expect(WIFEXITED(how) && WEXITSTATUS(how) == 0, "line %d",
              WIFEXITED(how) ? WEXITSTATUS(how) : -1);
}

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            _exit((__LINE__ % 255) + 1);                                                           \
    } while (0)

static char shared_path[4200];

static void read_what_cannot_be_written(void)
{
    struct tl_history *history;
    struct tl_error error = {0};
    size_t n = 0;
    MUST(geteuid() != 0 || setuid(65534) == 0);
    MUST(tl_history_open(shared_path, &history, &error) == TL_OK);
    MUST(strstr(tl_history_notice(history), "cannot be written") != NULL);
    MUST(tl_history_count(history, NULL, &n, NULL) == TL_OK && n == 1);
    MUST(tl_history_set_note(history, made_id(1), "x", &error) == TL_DENIED && error.text[0]);
    tl_history_close(history);
}

Test(db, what_cannot_be_written_can_be_read)
{
    snprintf(shared_path, sizeof shared_path, "%s", test_path("h.sqlite"));
    char folder[4200];
    snprintf(folder, sizeof folder, "%s", test_path(""));
    struct tl_history *history = open_file(shared_path);
    cr_assert(keep(history, 1, NULL) == TL_OK);
    tl_history_close(history);
    cr_assert(chmod(shared_path, 0444) == 0 && chmod(folder, 0555) == 0);
    in_child(read_what_cannot_be_written);
    cr_assert(chmod(folder, 0755) == 0);
}

static void fill_the_disk(void)
{
    struct tl_history *history;
    struct tl_error error = {0};
    struct rlimit limit = {.rlim_cur = 200000, .rlim_max = 200000};
    MUST(tl_history_open(shared_path, &history, &error) == TL_OK);
    MUST(keep(history, 1, &error) == TL_OK);
    signal(SIGXFSZ, SIG_IGN);
    MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    enum tl_status status = TL_OK;
    int number = 2;
    for (; status == TL_OK && number < 1000; number++)
        status = keep(history, number, &error);
    MUST(status != TL_OK && error.text[0]);
    size_t n = 0;
    MUST(tl_history_count(history, NULL, &n, NULL) == TL_OK && n == (size_t)number - 2);
    tl_history_close(history);
}

Test(db, a_full_disk_is_one_sentence_and_what_was_kept_stays)
{
    snprintf(shared_path, sizeof shared_path, "%s", test_path("h.sqlite"));
    in_child(fill_the_disk);
    struct tl_history *history = open_file(shared_path);
    cr_expect(count(history) > 0 && tl_history_notice(history)[0] == '\0');
    tl_history_close(history);
}
