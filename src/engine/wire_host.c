/* Host settings as records, by walking the tables of host.h. */
#include <assert.h>
#include <string.h>

#include "tightlink/engine/wire.h"
#include "tightlink/host/host.h"

unsigned tl_wire_host_record_count(void)
{
    return (unsigned)TL_HOST_NUMBER_COUNT + (unsigned)TL_HOST_TEXT_COUNT;
}

void tl_wire_host_record(const struct tl_host_settings *settings, unsigned index,
                         struct tl_wire_record *ret_record)
{
    struct tl_wire_record record = {.kind = TL_WIRE_RECORD_UNKNOWN};
    const struct tl_host_field *field;
    if (index < TL_HOST_NUMBER_COUNT) {
        field = tl_host_number_field(index);
        record.why = (uint8_t)settings->numbers[index].why;
        record.number = settings->numbers[index].number;
        if (record.why == TL_HOST_WHY_KNOWN)
            record.kind = TL_WIRE_RECORD_NUMBER;
    } else {
        const struct tl_host_text *text = &settings->texts[index - TL_HOST_NUMBER_COUNT];
        field = tl_host_text_field(index - TL_HOST_NUMBER_COUNT);
        record.why = (uint8_t)text->why;
        if (record.why == TL_HOST_WHY_KNOWN)
            record.kind = TL_WIRE_RECORD_TEXT;
        memcpy(record.text, text->text, sizeof record.text);
    }
    memcpy(record.name, field->name, strlen(field->name) + 1);
    *ret_record = record;
}

static_assert(TL_WIRE_RECORD_TEXT_SIZE == TL_HOST_TEXT_SIZE, "texts travel whole");

/* The row of a name in both tables; false when this program does not know it. */
static bool find_row(const char *name, unsigned *ret_index, bool *ret_is_text)
{
    for (unsigned i = 0; i < tl_wire_host_record_count(); i++) {
        bool is_text = i >= TL_HOST_NUMBER_COUNT;
        unsigned row = is_text ? i - TL_HOST_NUMBER_COUNT : i;
        const struct tl_host_field *field =
            is_text ? tl_host_text_field(row) : tl_host_number_field(row);
        if (strcmp(field->name, name) == 0) {
            *ret_index = row;
            *ret_is_text = is_text;
            return true;
        }
    }
    return false;
}

bool tl_wire_host_store(struct tl_host_settings *settings, const struct tl_wire_record *record)
{
    unsigned row;
    bool is_text;
    if (!find_row(record->name, &row, &is_text))
        return false;
    if (record->kind == TL_WIRE_RECORD_UNKNOWN) {
        enum tl_host_why why =
            record->why < TL_HOST_WHY_COUNT ? (enum tl_host_why)record->why : TL_HOST_WHY_NOT_READ;
        if (is_text)
            tl_host_text_unknown(&settings->texts[row], why);
        else
            settings->numbers[row] = tl_host_unknown(why);
        return true;
    }
    if (is_text != (record->kind == TL_WIRE_RECORD_TEXT))
        return false;
    if (is_text)
        tl_host_text_set(&settings->texts[row], record->text);
    else
        settings->numbers[row] = tl_host_known(record->number);
    return true;
}
