/* The record of a host becomes facts: the tables of host.h and of facts/table.c use
 * the same names, and a test holds them together. */
#include "tightlink/probes/host_facts.h"

#include <stdio.h>
#include <string.h>

#define FACT_ID_SIZE 96

static void set_number(struct tl_facts *facts, const char *id, const struct tl_host_field *field,
                       struct tl_host_value value)
{
    if (!tl_host_is_known(value))
        tl_facts_set_unknown(facts, id, "%s", tl_host_why_text(value.why));
    else if (strcmp(field->unit, "bool") == 0)
        tl_facts_set_bool(facts, id, value.number != 0, field->source);
    else
        tl_facts_set_number(facts, id, value.number, field->source);
}

void tl_host_facts_set(struct tl_facts *facts, enum tl_scope scope,
                       const struct tl_host_settings *settings)
{
    char id[FACT_ID_SIZE];
    for (unsigned i = 0; i < TL_HOST_NUMBER_COUNT; i++) {
        const struct tl_host_field *field = tl_host_number_field(i);
        snprintf(id, sizeof id, "%s.%s", tl_scope_name(scope), field->name);
        set_number(facts, id, field, settings->numbers[i]);
    }
    for (unsigned i = 0; i < TL_HOST_TEXT_COUNT; i++) {
        const struct tl_host_field *field = tl_host_text_field(i);
        const struct tl_host_text *text = &settings->texts[i];
        snprintf(id, sizeof id, "%s.%s", tl_scope_name(scope), field->name);
        if (text->why == TL_HOST_WHY_KNOWN)
            tl_facts_set_text(facts, id, text->text, field->source);
        else
            tl_facts_set_unknown(facts, id, "%s", tl_host_why_text(text->why));
    }
    snprintf(id, sizeof id, "%s.os", tl_scope_name(scope));
    tl_facts_set_text(facts, id, "linux", "what this program runs on");
}
