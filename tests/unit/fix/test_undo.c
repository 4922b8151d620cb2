/* The undo file: there before anything changes, this user's alone, as foreign as a rule; and
 * that a process killed at any step leaves what restores. The last part changes real settings,
 * in a network namespace of its own. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tightlink/fix/fix.h"

static char folder[64];

static void set_up(void)
{
    strcpy(folder, "/tmp/tl-undo-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void tear_down(void)
{
    char path[512];
    struct dirent *entry;
    DIR *dir = opendir(folder);
    while (dir && (entry = readdir(dir))) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    if (dir)
        closedir(dir);
    rmdir(folder);
}

TestSuite(undo, .init = set_up, .fini = tear_down);

static struct tl_fix example(void)
{
    struct tl_fix fix = {.root = TL_FIX_ROOT};
    struct tl_error error;
    cr_assert_eq(tl_fix_parse("sysctl -w net.ipv4.tcp_rmem=\"4096 131072 1073741824\" "
                              "net.ipv4.tcp_wmem=\"4096 131072 1073741824\" "
                              "net.ipv4.tcp_max_reordering=9999",
                              &fix, &error),
                 TL_OK, "%s", error.text);
    strcpy(fix.settings[0].before, "4096 131072 6291456");
    strcpy(fix.settings[1].before, "4096 16384 4194304");
    strcpy(fix.settings[2].before, "300");
    return fix;
}

Test(undo, comes_back_as_it_was_written)
{
    struct tl_fix fix = example(), read;
    struct tl_error error = {.text = ""};
    char path[TL_FIX_PATH_SIZE], found[TL_FIX_PATH_SIZE];
    struct stat info;
    size_t left = 9;
    cr_expect_eq(tl_fix_undo_find(folder, found, &left, &error), TL_UNKNOWN);
    cr_assert_eq(tl_fix_undo_write(&fix, folder, path, &error), TL_OK, "%s", error.text);
    cr_assert_eq(stat(path, &info), 0);
    cr_expect_eq(info.st_mode & 07777, 0600);
    cr_assert_eq(tl_fix_undo_find(folder, found, &left, &error), TL_OK);
    cr_expect_str_eq(found, path);
    cr_expect_eq(left, 0);
    cr_assert_eq(tl_fix_undo_read(path, &read, &error), TL_OK, "%s", error.text);
    cr_assert_eq(read.count, 3);
    for (size_t i = 0; i < 3; i++) {
        cr_expect_str_eq(read.settings[i].key, fix.settings[i].key);
        cr_expect_str_eq(read.settings[i].before, fix.settings[i].before);
        cr_expect_str_eq(read.settings[i].after, fix.settings[i].after);
    }
    /* A second one is the newer. */
    cr_assert_eq(tl_fix_undo_write(&fix, folder, path, &error), TL_OK);
    cr_assert_eq(tl_fix_undo_find(folder, found, &left, &error), TL_OK);
    cr_expect_str_eq(found, path);
    cr_expect_eq(left, 1);
    cr_expect_eq(tl_fix_undo_remove(path, &error), TL_OK);
}

Test(undo, of_others_is_refused)
{
    struct tl_fix fix = example(), read;
    struct tl_error error = {.text = ""};
    char path[TL_FIX_PATH_SIZE], link[TL_FIX_PATH_SIZE];
    cr_assert_eq(tl_fix_undo_write(&fix, folder, path, &error), TL_OK);
    cr_assert_eq(chmod(path, 0644), 0);
    cr_expect_eq(tl_fix_undo_read(path, &read, &error), TL_DENIED);
    cr_assert_eq(chmod(path, 0600), 0);
    snprintf(link, sizeof link, "%s/link", folder);
    cr_assert_eq(symlink(path, link), 0);
    cr_expect_neq(tl_fix_undo_read(link, &read, &error), TL_OK, "a link was followed");
    cr_expect_neq(tl_fix_undo_read(folder, &read, &error), TL_OK, "a folder was read");
}

Test(undo, names_only_settings_of_the_list)
{
    static const char *const texts[] = {
        "",
        "{}",
        "[]",
        "null",
        "{\"format\":\"tightlink.undo/2\",\"settings\":[]}",
        "{\"format\":\"tightlink.undo/1\"}",
        "{\"format\":\"tightlink.undo/1\",\"settings\":5}",
        "{\"format\":\"tightlink.undo/1\",\"settings\":[{\"key\":\"kernel.core_pattern\","
        "\"before\":\"|/x\",\"after\":\"core\"}]}",
        "{\"format\":\"tightlink.undo/1\",\"settings\":[{\"key\":\"net.ipv4.tcp_sack\","
        "\"before\":\"1; id\",\"after\":\"0\"}]}",
        "{\"format\":\"tightlink.undo/1\",\"settings\":[{\"key\":\"net.ipv4.tcp_sack\"}]}",
        "{\"format\":\"tightlink.undo/1\",\"settings\":[{\"key\":\"net.ipv4.tcp_sack\","
        "\"before\":\"0\",\"after\":\"1\",\"run\":\"id\"}]}",
        "{\"format\":\"tightlink.undo/1\",\"settings\":[{},{},{},{},{},{},{},{},{}]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct tl_fix fix;
        struct tl_error error;
        cr_expect_neq(tl_fix_undo_parse(texts[i], strlen(texts[i]), &fix, &error), TL_OK,
                      "%s passed", texts[i]);
    }
}

Test(undo, keeps_a_second_process_out)
{
    struct tl_error error = {.text = ""};
    int first, second = -1;
    cr_assert_eq(tl_fix_lock(folder, &first, &error), TL_OK);
    cr_expect_eq(tl_fix_lock(folder, &second, &error), TL_BUSY);
    close(first);
    cr_assert_eq(tl_fix_lock(folder, &second, &error), TL_OK);
    close(second);
}

Test(undo, directory_is_ones_own)
{
    struct tl_error error = {.text = ""};
    char path[TL_FIX_PATH_SIZE], inner[TL_FIX_PATH_SIZE];
    setenv("XDG_STATE_HOME", folder, 1);
    cr_assert_eq(tl_fix_directory(path, &error), TL_OK, "%s", error.text);
    snprintf(inner, sizeof inner, "%s/tightlink", folder);
    cr_expect_str_eq(path, inner);
    cr_assert_eq(chmod(inner, 0777), 0);
    cr_expect_eq(tl_fix_directory(path, &error), TL_DENIED);
    rmdir(inner);
}

/* Dies as hard as a process can, after so many steps. */
static void die_after(const char *step, const char *key, void *context)
{
    int *left = context;
    (void)step;
    (void)key;
    if (--*left == 0)
        raise(SIGKILL);
}

/* What `tightlink fix --apply` does, killed after `steps` steps: 1 is the undo file alone. */
static void apply_and_die(int steps)
{
    struct tl_fix fix = {.root = TL_FIX_ROOT};
    struct tl_error error;
    char path[TL_FIX_PATH_SIZE];
    if (tl_fix_parse("sysctl -w net.ipv4.tcp_rmem=\"5000 200000 33554432\" "
                     "net.ipv4.tcp_wmem=\"5000 200000 33554432\" "
                     "net.ipv4.tcp_max_reordering=999",
                     &fix, &error) != TL_OK ||
        tl_fix_read(&fix, &error) != TL_OK || fix.count != 3 ||
        tl_fix_undo_write(&fix, folder, path, &error) != TL_OK)
        _exit(1);
    die_after("undo", "", &steps);
    if (tl_fix_apply(&fix, die_after, &steps, &error) != TL_OK ||
        tl_fix_restore(&fix, die_after, &steps, &error) != TL_OK)
        _exit(1);
    _exit(2);
}

static FILE *open_setting(size_t number, const char *mode)
{
    static const char *const keys[] = {"tcp_rmem", "tcp_wmem", "tcp_max_reordering"};
    char path[128];
    snprintf(path, sizeof path, "/proc/sys/net/ipv4/%s", keys[number]);
    FILE *file = fopen(path, mode);
    cr_assert_not_null(file, "%s", path);
    return file;
}

/* A new namespace begins with this machine's own, which may be what the test wants to set. */
static void set_stock(void)
{
    static const char *const stock[] = {"4096 131072 6291456", "4096 16384 4194304", "300"};
    for (size_t i = 0; i < 3; i++) {
        FILE *file = open_setting(i, "w");
        cr_assert_gt(fprintf(file, "%s", stock[i]), 0);
        cr_assert_eq(fclose(file), 0, "%s", strerror(errno));
    }
}

static void read_settings(char ret_text[256])
{
    ret_text[0] = '\0';
    for (size_t i = 0; i < 3; i++) {
        char line[80] = "";
        FILE *file = open_setting(i, "r");
        cr_assert_not_null(fgets(line, sizeof line, file));
        fclose(file);
        strcat(ret_text, line);
    }
}

Test(undo, restores_what_a_killed_process_left)
{
    char before[256], after[256], path[TL_FIX_PATH_SIZE];
    struct tl_error error = {.text = ""};
    if (unshare(CLONE_NEWNET) != 0)
        cr_skip_test("skipped: no network namespace can be made here: %s", strerror(errno));
    set_stock();
    read_settings(before);
    /* Undo file, three settings, and two of three set back. */
    for (int steps = 1; steps <= 6; steps++) {
        struct tl_fix fix;
        int status;
        pid_t child = fork();
        cr_assert_geq(child, 0);
        if (child == 0)
            apply_and_die(steps);
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFSIGNALED(status), "step %d: it was not killed: %d", steps, status);
        read_settings(after);
        if (steps >= 2 && steps <= 6)
            cr_expect_str_neq(after, before, "step %d: nothing was changed", steps);
        cr_assert_eq(tl_fix_undo_find(folder, path, NULL, &error), TL_OK, "%s", error.text);
        cr_assert_eq(tl_fix_undo_read(path, &fix, &error), TL_OK, "%s", error.text);
        cr_assert_eq(tl_fix_restore(&fix, NULL, NULL, &error), TL_OK, "%s", error.text);
        read_settings(after);
        cr_expect_str_eq(after, before, "step %d", steps);
        cr_assert_eq(tl_fix_undo_remove(path, &error), TL_OK);
    }
}
