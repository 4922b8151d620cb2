/* Files are written whole or not at all, and what is there is not lost by accident. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tightlink/app/files.h"

static char directory[] = "/tmp/tightlink-test-XXXXXX";
static char path[64], link_path[64];

static void make(void)
{
    cr_assert(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/file", directory);
    snprintf(link_path, sizeof link_path, "%s/link", directory);
}

static void clear(void)
{
    (void)unlink(path);
    (void)unlink(link_path);
    cr_expect(rmdir(directory) == 0, "something was left behind: %s", strerror(errno));
}

static void expect_text(const char *expected)
{
    char *text;
    size_t len;
    struct tl_error error = {0};
    cr_assert(tl_app_read_file(path, 100, &text, &len, &error) == TL_OK, "%s", error.text);
    cr_expect_str_eq(text, expected);
    cr_expect(len == strlen(expected));
    free(text);
}

Test(files, a_new_file_is_the_owners_alone_and_never_replaces_one, .init = make, .fini = clear)
{
    struct stat status;
    cr_assert(tl_app_create_file(path, "one", 3) == 0);
    cr_assert(stat(path, &status) == 0);
    cr_expect((status.st_mode & 0777) == 0600);
    cr_expect(tl_app_create_file(path, "two", 3) == EEXIST);
    expect_text("one");
    cr_assert(symlink("/nonexistent/target", link_path) == 0);
    cr_expect(tl_app_create_file(link_path, "two", 3) != 0, "a link was followed");
}

Test(files, a_file_is_replaced_whole, .init = make, .fini = clear)
{
    cr_assert(tl_app_create_file(path, "longer than the next", 20) == 0);
    cr_assert(tl_app_replace_file(path, "short", 5, 0600));
    expect_text("short");
    cr_expect(!tl_app_replace_file("/nonexistent/file", "x", 1, 0600));
    cr_expect(tl_app_replace_file("/dev/null", "x", 1, 0600), "/dev/null takes all");
}

Test(files, what_cannot_be_read_is_named, .init = make, .fini = clear)
{
    char *text = NULL;
    size_t len;
    struct tl_error error = {0};
    cr_expect(tl_app_read_file(path, 100, &text, &len, &error) == TL_USAGE);
    cr_expect(strstr(error.text, path) && strstr(error.text, "run --save"), "%s", error.text);
    cr_assert(tl_app_create_file(path, "0123456789", 10) == 0);
    cr_expect(tl_app_read_file(path, 9, &text, &len, &error) == TL_LIMIT);
    cr_expect(!text);
}

Test(files, a_free_name_is_found_beside_a_taken_one, .init = make, .fini = clear)
{
    char name[80], taken[80], wanted[80];
    cr_assert(tl_app_create_file(path, "one", 3) == 0);
    cr_assert(tl_app_free_name(path, name, sizeof name));
    snprintf(wanted, sizeof wanted, "%s-2", path);
    cr_expect_str_eq(name, wanted);
    snprintf(taken, sizeof taken, "%s/report.html", directory);
    snprintf(wanted, sizeof wanted, "%s/report-2.html", directory);
    cr_assert(tl_app_free_name(taken, name, sizeof name));
    cr_expect_str_eq(name, wanted);
    cr_expect(!tl_app_free_name(taken, name, 5), "it does not fit");
}

Test(files, what_is_there_is_not_written_over, .init = make, .fini = clear)
{
    char name[80], beside[80];
    cr_expect(!tl_app_is_taken(path) && tl_app_untaken(path, name, sizeof name));
    cr_expect_str_eq(name, path);
    cr_assert(tl_app_create_file(path, "one", 3) == 0);
    snprintf(beside, sizeof beside, "%s-2", path);
    cr_expect(tl_app_is_taken(path) && tl_app_untaken(path, name, sizeof name));
    cr_expect_str_eq(name, beside);
    cr_assert(symlink("/nonexistent/target", link_path) == 0);
    cr_expect(tl_app_is_taken(link_path), "a link to nothing");
    cr_assert(unlink(link_path) == 0 && symlink("/dev/null", link_path) == 0);
    cr_expect(!tl_app_is_taken(link_path) && !tl_app_is_taken("/dev/null"), "these take all");
}
