/* A kept run is opened the same way whatever it lies in. */
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixtures.h"
#include "tightlink/app/files.h"
#include "tightlink/app/keep.h"
#include "tightlink/app/open.h"

static char home[] = "/tmp/tightlink-test-XXXXXX";

/* Without rules and a history of whoever runs the tests. */
static void make_home(void)
{
    cr_assert(mkdtemp(home));
    setenv("XDG_CONFIG_HOME", home, 1);
    setenv("XDG_DATA_HOME", home, 1);
}

static int forget(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status, (void)type, (void)ftw;
    return remove(path);
}

static void remove_home(void)
{
    cr_expect(nftw(home, forget, 4, FTW_DEPTH | FTW_PHYS) == 0);
}

static void open_it(const char *name, struct tl_session_result *result)
{
    struct tl_buf notices = TL_BUF_INIT;
    struct tl_error error = {0};
    cr_assert(tl_app_open(name, result, &notices, &error) == TL_OK, "%s", error.text);
    cr_expect(notices.len == 0, "%s", tl_buf_text(&notices));
    cr_assert(result->facts && result->findings);
    cr_expect(result->rules_version[0]);
    tl_buf_finish(&notices);
}

static void write_document(const struct fixture *fixture, const char *path)
{
    struct tl_buf json = TL_BUF_INIT;
    cr_assert(tl_document_write(&fixture->run, fixture->facts, &fixture->findings, true, &json) ==
              TL_OK);
    cr_assert(tl_app_create_file(path, json.data, json.len) == 0);
    tl_buf_finish(&json);
}

Test(open, file_and_history_give_the_same_verdict, .init = make_home, .fini = remove_home)
{
    struct fixture fixture;
    struct tl_session_result file = {0}, kept = {0};
    struct tl_history *history = NULL;
    struct tl_buf notices = TL_BUF_INIT;
    struct tl_error error = {0};
    char path[64];
    cr_assert(fixture_make("limited", &fixture));
    snprintf(path, sizeof path, "%s/run.json", home);
    write_document(&fixture, path);
    open_it(path, &file);
    cr_assert(tl_app_open_history(&history, &notices, &error) == TL_OK, "%s", error.text);
    cr_assert(tl_app_keep(history, &file, NULL, &notices, &error) == TL_OK, "%s", error.text);
    tl_history_close(history);
    open_it("last", &kept);
    cr_expect_str_eq(kept.run.id, file.run.id);
    cr_expect_str_eq(kept.findings->verdict.sentence, file.findings->verdict.sentence);
    cr_expect(kept.findings->verdict.state == file.findings->verdict.state);
    tl_app_result_finish(&file);
    tl_app_result_finish(&kept);
    fixture_finish(&fixture);
    tl_buf_finish(&notices);
}

Test(open, a_bundle_opens_with_its_readings, .init = make_home, .fini = remove_home)
{
    struct tl_session_result result = {0};
    open_it(BUNDLE_FILE, &result);
    cr_expect(result.samples && result.samples->count > 0);
    tl_app_result_finish(&result);
}

Test(open, what_is_no_run_is_named, .init = make_home, .fini = remove_home)
{
    static const struct {
        const char *text, *part;
    } files[] = {{"{}", "is no saved run"}, {"words", "is no saved run"}};
    struct tl_error error = {0};
    struct tl_buf notices = TL_BUF_INIT;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct tl_session_result result = {0};
        char path[80];
        snprintf(path, sizeof path, "%s/bad-%zu", home, i);
        cr_assert(tl_app_create_file(path, files[i].text, strlen(files[i].text)) == 0);
        cr_expect(tl_app_open(path, &result, &notices, &error) != TL_OK);
        cr_expect(strstr(error.text, path) && strstr(error.text, files[i].part), "%s", error.text);
        tl_app_result_finish(&result);
    }
    struct tl_session_result result = {0};
    cr_expect(tl_app_open("01NOSUCHRUN", &result, &notices, &error) == TL_USAGE);
    cr_expect(strstr(error.text, "neither a file nor a run"), "%s", error.text);
    tl_buf_finish(&notices);
}

Test(open, measuring_again_asks_for_the_same)
{
    struct fixture fixture;
    struct tl_session_config config = {0};
    cr_assert(fixture_make("both", &fixture));
    struct tl_app_target target;
    tl_app_target_of_run(&fixture.run, NULL, &target);
    tl_app_config_of_run(&fixture.run, &target, &config);
    cr_expect(config.download && config.upload);
    cr_expect(config.goal.bps == fixture.run.goal.bps);
    cr_expect_str_eq(config.target_name, fixture.run.target_name);
    fixture.run.target_port = 6000;
    fixture.run.target_only = 6;
    config.port = 5411;
    tl_app_config_of_run(&fixture.run, &target, &config);
    cr_expect(config.port == 6000 && config.family == 6);
    config.port = 7000; /* somebody said so */
    tl_app_config_of_run(&fixture.run, &target, &config);
    cr_expect(config.port == 7000);
    fixture_finish(&fixture);
}

Test(open, measuring_again_reaches_the_same_kind_of_far_end)
{
    static const struct {
        const char *name, *address, *kind, *written, *target;
    } runs[] = {
        {"srv-b", "192.0.2.7", "tightlink", NULL, "192.0.2.7"},
        {"srv-b", "192.0.2.7", "iperf3", NULL, "iperf3://192.0.2.7"},
        {"srv-b", "2001:db8::7", "nuttcp", NULL, "nuttcp://[2001:db8::7]"},
        {"iperf3://srv-b:5209", "192.0.2.7", "iperf3", NULL, "iperf3://srv-b:5209"},
        {"https://srv-b/big?x=1", "192.0.2.7", "http", NULL, "https://srv-b/big?x=1"},
        {"srv-b", "", "iperf3", NULL, "iperf3://srv-b"},
        {"black-hole", "10.99.3.2", "demo", NULL, "10.99.3.2"},
        {"srv-b", "192.0.2.7", "iperf3", "srv-c", "iperf3://192.0.2.7"},
        {"srv-b", "192.0.2.7", "tightlink", "srv-c", "srv-c"},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct tl_run *run = calloc(1, sizeof *run);
        struct tl_app_target target;
        snprintf(run->target_name, sizeof run->target_name, "%s", runs[i].name);
        snprintf(run->target_address, sizeof run->target_address, "%s", runs[i].address);
        snprintf(run->target_kind, sizeof run->target_kind, "%s", runs[i].kind);
        tl_app_target_of_run(run, runs[i].written, &target);
        cr_expect_str_eq(target.text, runs[i].target);
        free(run);
    }
}
