/* The host's record and the table of facts name the same things. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/probes/host_facts.h"

/* A "mode" of the kernel is a number without a unit; all else is spelled alike. */
static bool same_unit(const char *host_unit, enum tl_unit unit)
{
    return strcmp(host_unit, tl_unit_name(unit)) == 0 ||
           (unit == TL_UNIT_NUMBER && strcmp(host_unit, "mode") == 0);
}

Test(host_facts, every_row_of_the_record_is_a_fact_with_the_same_unit)
{
    for (unsigned i = 0; i < TL_HOST_NUMBER_COUNT; i++) {
        const struct tl_host_field *field = tl_host_number_field(i);
        enum tl_fact_name fact;
        cr_assert(tl_fact_find(TL_SUBJECT_HOST, field->name, &fact), "%s is no fact", field->name);
        const struct tl_fact_def *def = tl_fact_def(fact);
        cr_expect(same_unit(field->unit, def->unit), "%s: %s is not %s", field->name, field->unit,
                  tl_unit_name(def->unit));
    }
    for (unsigned i = 0; i < TL_HOST_TEXT_COUNT; i++) {
        const struct tl_host_field *field = tl_host_text_field(i);
        enum tl_fact_name fact;
        cr_assert(tl_fact_find(TL_SUBJECT_HOST, field->name, &fact), "%s is no fact", field->name);
        cr_assert(tl_fact_def(fact)->unit == TL_UNIT_TEXT, "%s is no text fact", field->name);
    }
}

Test(host_facts, values_reasons_and_texts_arrive)
{
    struct tl_host_settings settings;
    struct tl_facts *facts = tl_facts_create();
    struct tl_fact fact;
    tl_host_settings_init(&settings);
    settings.numbers[TL_HOST_TCP_RMEM_MAX] = tl_host_known(524288);
    settings.numbers[TL_HOST_TCP_SACK] = tl_host_known(1);
    settings.numbers[TL_HOST_CORE_RMEM_MAX] = tl_host_unknown(TL_HOST_WHY_ABSENT);
    tl_host_text_set(&settings.texts[TL_HOST_TEXT_CC_CURRENT], "cubic");
    tl_host_facts_set(facts, TL_SCOPE_FAR, &settings);
    cr_expect(tl_facts_number(facts, TL_FAR(tcp_rmem_max_bytes), 0) == 524288);
    cr_expect(tl_facts_number(facts, TL_FAR(tcp_sack), 0) == 1);
    tl_facts_get(facts, TL_FAR(core_rmem_max_bytes), &fact);
    cr_expect(fact.state == TL_FACT_UNKNOWN);
    cr_expect_str_eq(fact.reason, tl_host_why_text(TL_HOST_WHY_ABSENT));
    tl_facts_get(facts, TL_FAR(cc_current), &fact);
    cr_expect_str_eq(fact.text, "cubic");
    tl_facts_get(facts, TL_NEAR(cc_current), &fact);
    cr_expect(fact.state == TL_FACT_UNKNOWN, "the other host is left alone");
    tl_facts_destroy(facts);
}
