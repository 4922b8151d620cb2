/* What leaves has passed the redactor, whoever sends it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixtures.h"
#include "tightlink/app/leave.h"

static struct tl_session_result result_of(struct fixture *fixture)
{
    return (struct tl_session_result){
        .run = fixture->run, .facts = fixture->facts, .findings = &fixture->findings};
}

static void expect_name(bool unmask, bool expected)
{
    struct fixture fixture;
    struct tl_app_leaving leaving = {0};
    cr_assert(fixture_make("limited", &fixture));
    struct tl_session_result result = result_of(&fixture);
    enum tl_app_masks masks = unmask ? TL_APP_MASKS_NONE : TL_APP_MASKS_NEW;
    cr_assert(tl_app_leave(&result, masks, &leaving, NULL) == TL_OK);
    for (int format = 0; format < TL_EXPORT_FORMAT_COUNT; format++) {
        struct tl_buf out = TL_BUF_INIT;
        cr_assert(tl_export_write(leaving.export, (enum tl_export_format)format, &out) == TL_OK);
        cr_expect((strstr(tl_buf_text(&out), fixture.run.target_name) != NULL) == expected);
        tl_buf_finish(&out);
    }
    tl_app_leaving_finish(&leaving);
    fixture_finish(&fixture);
}

Test(leave, names_leave_only_when_asked_for)
{
    expect_name(false, false);
    expect_name(true, true);
}

/* The mask of the far end's name in an export of its own. */
static void mask_of(const struct tl_session_result *result, enum tl_app_masks masks,
                    char ret_mask[64])
{
    struct tl_app_leaving leaving = {0};
    struct tl_error error = {.text = ""};
    cr_assert(tl_app_leave(result, masks, &leaving, &error) == TL_OK, "%s", error.text);
    snprintf(ret_mask, 64, "%.63s", tl_export_run(leaving.export)->target_name);
    tl_app_leaving_finish(&leaving);
}

Test(leave, masks_of_a_site_are_the_same_in_each_export_and_others_never)
{
    char home[] = "/tmp/tightlink-test-XXXXXX", path[600], first[64], second[64];
    struct fixture fixture;
    cr_assert(mkdtemp(home));
    setenv("XDG_STATE_HOME", home, 1);
    cr_assert(fixture_make("limited", &fixture));
    struct tl_session_result result = result_of(&fixture);
    mask_of(&result, TL_APP_MASKS_NEW, first);
    mask_of(&result, TL_APP_MASKS_NEW, second);
    cr_expect_str_neq(first, second);
    mask_of(&result, TL_APP_MASKS_SITE, first);
    mask_of(&result, TL_APP_MASKS_SITE, second);
    cr_expect_str_eq(first, second);
    cr_expect(strncmp(first, "host-", 5) == 0, "%s", first);
    static const char *const made[] = {"/tightlink/masks/site.json", "/tightlink/masks",
                                       "/tightlink", ""};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        snprintf(path, sizeof path, "%s%s", home, made[i]);
        cr_expect(remove(path) == 0, "%s", path);
    }
    fixture_finish(&fixture);
}

Test(leave, masks_are_kept_for_the_user_and_nothing_is_kept_without)
{
    char home[] = "/tmp/tightlink-test-XXXXXX", path[600];
    struct fixture fixture;
    struct tl_app_leaving leaving = {0};
    cr_assert(mkdtemp(home));
    setenv("XDG_STATE_HOME", home, 1);
    cr_assert(fixture_make("limited", &fixture));
    struct tl_session_result result = result_of(&fixture);
    cr_assert(tl_app_leave(&result, TL_APP_MASKS_NEW, &leaving, NULL) == TL_OK);
    cr_assert(tl_app_keep_masks(leaving.redactor, fixture.run.id, path, sizeof path, NULL) ==
              TL_OK);
    cr_expect(strstr(path, fixture.run.id) && access(path, R_OK) == 0, "%s", path);
    char *end = path + strlen(path);
    (void)unlink(path);
    /* The directories that it made, up to the home. */
    while ((size_t)(end - path) > strlen(home)) {
        while (*--end != '/')
            continue;
        *end = '\0';
        (void)rmdir(path);
    }
    cr_expect(access(home, F_OK) != 0);
    cr_assert(tl_app_keep_masks(NULL, fixture.run.id, path, sizeof path, NULL) == TL_OK);
    cr_expect_str_eq(path, "");
    tl_app_leaving_finish(&leaving);
    fixture_finish(&fixture);
}
