/* The record of a host becomes facts: the tables of host.h and of facts/table.def use
 * the same names, and a test holds them together. */
#include "tightlink/probes/host_facts.h"

#include <string.h>

static void set_number(struct tl_facts *facts, struct tl_fact_key key,
                       const struct tl_host_field *field, struct tl_host_value value)
{
    if (!tl_host_is_known(value))
        tl_facts_set_unknown(facts, key, "%s", tl_host_why_text(value.why));
    else if (strcmp(field->unit, "bool") == 0)
        tl_facts_set_bool(facts, key, value.number != 0, field->source);
    else
        tl_facts_set_number(facts, key, value.number, field->source);
}

void tl_host_facts_set(struct tl_facts *facts, enum tl_scope scope,
                       const struct tl_host_settings *settings)
{
#define FACT(id, name, ...) TL_FACT_HOST_##name,
    static const enum tl_fact_name numbers[] = {TL_HOST_NUMBER_MAP(FACT)};
    static const enum tl_fact_name texts[] = {TL_HOST_TEXT_MAP(FACT)};
#undef FACT
    for (unsigned i = 0; i < TL_HOST_NUMBER_COUNT; i++) {
        const struct tl_host_field *field = tl_host_number_field(i);
        set_number(facts, TL_KEY(scope, numbers[i]), field, settings->numbers[i]);
    }
    for (unsigned i = 0; i < TL_HOST_TEXT_COUNT; i++) {
        const struct tl_host_field *field = tl_host_text_field(i);
        const struct tl_host_text *text = &settings->texts[i];
        struct tl_fact_key key = TL_KEY(scope, texts[i]);
        if (text->why == TL_HOST_WHY_KNOWN)
            tl_facts_set_text(facts, key, text->text, field->source);
        else
            tl_facts_set_unknown(facts, key, "%s", tl_host_why_text(text->why));
    }
    tl_facts_set_text(facts, TL_HOST(scope, os), "linux", "what this program runs on");
}
