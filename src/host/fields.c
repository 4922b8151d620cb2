/* The two tables of host.h as data, and the operations that only walk them. */
#include "tightlink/host/host.h"

#include <stddef.h>

static const struct tl_host_field number_fields[] = {
#define TL_HOST_NUMBER_ROW(id, field_name, field_unit, field_open, field_source, field_index)      \
    {.name = #field_name,                                                                          \
     .unit = (field_unit),                                                                         \
     .source = (field_source),                                                                     \
     .index = (field_index),                                                                       \
     .open = (field_open)},
    TL_HOST_NUMBER_MAP(TL_HOST_NUMBER_ROW)
#undef TL_HOST_NUMBER_ROW
};

static const struct tl_host_field text_fields[] = {
#define TL_HOST_TEXT_ROW(id, field_name, field_open, field_source)                                 \
    {.name = #field_name, .unit = "", .source = (field_source), .open = (field_open)},
    TL_HOST_TEXT_MAP(TL_HOST_TEXT_ROW)
#undef TL_HOST_TEXT_ROW
};

const struct tl_host_field *tl_host_number_field(unsigned id)
{
    return id < TL_HOST_NUMBER_COUNT ? &number_fields[id] : NULL;
}

const struct tl_host_field *tl_host_text_field(unsigned id)
{
    return id < TL_HOST_TEXT_COUNT ? &text_fields[id] : NULL;
}

void tl_host_settings_init(struct tl_host_settings *ret_settings)
{
    for (unsigned i = 0; i < TL_HOST_NUMBER_COUNT; i++)
        ret_settings->numbers[i] = tl_host_unknown(TL_HOST_WHY_NOT_READ);
    for (unsigned i = 0; i < TL_HOST_TEXT_COUNT; i++)
        tl_host_text_unknown(&ret_settings->texts[i], TL_HOST_WHY_NOT_READ);
}

void tl_host_settings_withhold(struct tl_host_settings *settings)
{
    for (unsigned i = 0; i < TL_HOST_NUMBER_COUNT; i++)
        if (!number_fields[i].open)
            settings->numbers[i] = tl_host_unknown(TL_HOST_WHY_WITHHELD);
    for (unsigned i = 0; i < TL_HOST_TEXT_COUNT; i++)
        if (!text_fields[i].open)
            tl_host_text_unknown(&settings->texts[i], TL_HOST_WHY_WITHHELD);
}
