/* The tables: names are unique, wear their unit, and fit the wire. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/host/host.h"

TestSuite(host_fields);

static const char *const units[] = {"bytes", "count", "bool", "ratio", "bps", "ns", "number"};

static bool is_unit(const char *unit)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(units[i], unit) == 0)
            return true;
    return false;
}

static bool ends_with(const char *text, const char *end)
{
    size_t text_len = strlen(text), end_len = strlen(end);

    return text_len > end_len && strcmp(text + text_len - end_len, end) == 0;
}

Test(host_fields, numbers_wear_their_unit)
{
    for (unsigned i = 0; i < TL_HOST_NUMBER_COUNT; i++) {
        const struct tl_host_field *field = tl_host_number_field(i);
        char suffix[16];

        cr_assert(is_unit(field->unit), "%s has unit %s", field->name, field->unit);
        snprintf(suffix, sizeof(suffix), "_%s", field->unit);
        if (strcmp(field->unit, "bool") != 0 && strcmp(field->unit, "number") != 0)
            cr_expect(ends_with(field->name, suffix), "%s lacks %s", field->name, suffix);
    }
}

Test(host_fields, names_are_unique)
{
    const char *names[TL_HOST_NUMBER_COUNT + TL_HOST_TEXT_COUNT];
    size_t n = 0;

    for (unsigned i = 0; i < TL_HOST_NUMBER_COUNT; i++)
        names[n++] = tl_host_number_field(i)->name;
    for (unsigned i = 0; i < TL_HOST_TEXT_COUNT; i++)
        names[n++] = tl_host_text_field(i)->name;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            cr_expect(strcmp(names[i], names[j]) != 0, "%s is there twice", names[i]);
}

Test(host_fields, ids_outside_the_table_have_no_row)
{
    cr_expect_null(tl_host_number_field(TL_HOST_NUMBER_COUNT));
    cr_expect_null(tl_host_text_field(TL_HOST_TEXT_COUNT));
    cr_expect_str_eq(tl_host_why_text(TL_HOST_WHY_COUNT), "for an unknown reason");
    cr_expect_lt(TL_HOST_NUMBER_COUNT, 256, "an id is one byte on the wire");
}

Test(host_fields, nothing_is_known_at_first)
{
    struct tl_host_settings settings;

    tl_host_settings_init(&settings);
    for (unsigned i = 0; i < TL_HOST_NUMBER_COUNT; i++)
        cr_expect_eq(settings.numbers[i].why, TL_HOST_WHY_NOT_READ);
    for (unsigned i = 0; i < TL_HOST_TEXT_COUNT; i++)
        cr_expect_eq(settings.texts[i].why, TL_HOST_WHY_NOT_READ);
}

Test(host_fields, open_mode_withholds_what_no_diagnosis_needs)
{
    struct tl_host_settings settings;

    tl_host_settings_init(&settings);
    settings.numbers[TL_HOST_TCP_RMEM_MAX] = tl_host_known(6291456);
    settings.numbers[TL_HOST_LOAD_1MIN] = tl_host_known(3);
    tl_host_text_set(&settings.texts[TL_HOST_TEXT_KERNEL], "6.1.0-13-amd64");
    tl_host_text_set(&settings.texts[TL_HOST_TEXT_CC_CURRENT], "cubic");
    tl_host_settings_withhold(&settings);
    cr_expect_eq(settings.numbers[TL_HOST_TCP_RMEM_MAX].number, 6291456);
    cr_expect_eq(settings.numbers[TL_HOST_LOAD_1MIN].why, TL_HOST_WHY_WITHHELD);
    cr_expect_eq(settings.numbers[TL_HOST_LOAD_1MIN].number, 0);
    cr_expect_eq(settings.texts[TL_HOST_TEXT_KERNEL].why, TL_HOST_WHY_WITHHELD);
    cr_expect_str_empty(settings.texts[TL_HOST_TEXT_KERNEL].text);
    cr_expect_str_eq(settings.texts[TL_HOST_TEXT_CC_CURRENT].text, "cubic");
}

Test(host_fields, hostile_text_is_refused)
{
    struct tl_host_text text;
    char longest[TL_HOST_TEXT_SIZE], longer[TL_HOST_TEXT_SIZE + 1];

    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    tl_host_text_set(&text, longest);
    cr_expect_eq(text.why, TL_HOST_WHY_KNOWN);
    cr_expect_str_eq(text.text, longest);
    tl_host_text_set(&text, longer);
    cr_expect_eq(text.why, TL_HOST_WHY_TOO_LONG);
    cr_expect_str_empty(text.text);
    tl_host_text_set(&text, "cubic\033[31m");
    cr_expect_eq(text.why, TL_HOST_WHY_MALFORMED);
    cr_expect_str_empty(text.text);
}
