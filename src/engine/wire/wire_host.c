/* Host settings, processor time and counters as records, by walking the tables of host.h,
 * cpu.h and counters.h. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/engine/limits.h"
#include "tightlink/engine/wire.h"
#include "tightlink/host/counters.h"
#include "tightlink/host/cpu.h"
#include "tightlink/host/disk.h"
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

/* A later version may have more reasons. */
static enum tl_host_why stranger_why(const struct tl_wire_record *record)
{
    return record->why < TL_HOST_WHY_COUNT ? (enum tl_host_why)record->why : TL_HOST_WHY_NOT_READ;
}

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
        enum tl_host_why why = stranger_why(record);
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

#define CPU_PREFIX  "cpu."
#define CPU_ELAPSED CPU_PREFIX "elapsed_ns"

unsigned tl_wire_cpu_record_count(void)
{
    return TL_CPU_USAGE_COUNT + 1u;
}

void tl_wire_cpu_record(const struct tl_cpu_usage *usage, unsigned index,
                        struct tl_wire_record *ret_record)
{
    struct tl_wire_record record = {.kind = TL_WIRE_RECORD_NUMBER};
    if (index < TL_CPU_USAGE_COUNT) {
        const struct tl_host_value *value = &usage->values[index];
        snprintf(record.name, sizeof record.name, CPU_PREFIX "%s", tl_cpu_usage_name(index));
        if (!tl_host_is_known(*value))
            record.kind = TL_WIRE_RECORD_UNKNOWN;
        record.why = (uint8_t)value->why;
        record.number = value->number;
    } else {
        snprintf(record.name, sizeof record.name, CPU_ELAPSED);
        record.number = (double)usage->elapsed_ns;
    }
    *ret_record = record;
}

/* A test is no longer than that; see also TEST_END. */
static bool store_elapsed(struct tl_cpu_usage *usage, const struct tl_wire_record *record)
{
    double longest_ns = 2e6 * (double)tl_limit_row(TL_LIMIT_DURATION_MS)->max;
    if (record->kind != TL_WIRE_RECORD_NUMBER || record->number < 0 || record->number > longest_ns)
        return false;
    usage->elapsed_ns = (int64_t)record->number;
    return true;
}

bool tl_wire_cpu_store(struct tl_cpu_usage *usage, const struct tl_wire_record *record)
{
    if (strcmp(record->name, CPU_ELAPSED) == 0)
        return store_elapsed(usage, record);
    if (strncmp(record->name, CPU_PREFIX, strlen(CPU_PREFIX)) != 0)
        return false;
    for (unsigned i = 0; i < TL_CPU_USAGE_COUNT; i++) {
        if (strcmp(record->name + strlen(CPU_PREFIX), tl_cpu_usage_name(i)) != 0)
            continue;
        if (record->kind == TL_WIRE_RECORD_NUMBER)
            usage->values[i] = tl_host_known(record->number);
        else if (record->kind == TL_WIRE_RECORD_UNKNOWN)
            usage->values[i] = tl_host_unknown(stranger_why(record));
        return record->kind != TL_WIRE_RECORD_TEXT;
    }
    return false;
}

#define COUNTER_PREFIX "net."

unsigned tl_wire_counters_record_count(void)
{
    return TL_HOST_COUNTER_COUNT;
}

void tl_wire_counters_record(const struct tl_host_counters_growth *growth, unsigned index,
                             bool open_mode, struct tl_wire_record *ret_record)
{
    struct tl_wire_record record = {.kind = TL_WIRE_RECORD_NUMBER};
    struct tl_host_value value = growth->values[index];
    if (open_mode && !tl_host_counter_open(index))
        value = tl_host_unknown(TL_HOST_WHY_WITHHELD);
    snprintf(record.name, sizeof record.name, COUNTER_PREFIX "%s", tl_host_counter_name(index));
    if (!tl_host_is_known(value))
        record.kind = TL_WIRE_RECORD_UNKNOWN;
    record.why = (uint8_t)value.why;
    record.number = value.number;
    *ret_record = record;
}

bool tl_wire_counters_store(struct tl_host_counters_growth *growth,
                            const struct tl_wire_record *record)
{
    if (strncmp(record->name, COUNTER_PREFIX, strlen(COUNTER_PREFIX)) != 0)
        return false;
    for (unsigned i = 0; i < TL_HOST_COUNTER_COUNT; i++) {
        if (strcmp(record->name + strlen(COUNTER_PREFIX), tl_host_counter_name(i)) != 0)
            continue;
        if (record->kind == TL_WIRE_RECORD_NUMBER && record->number >= 0)
            growth->values[i] = tl_host_known(record->number);
        else if (record->kind == TL_WIRE_RECORD_UNKNOWN)
            growth->values[i] = tl_host_unknown(stranger_why(record));
        else
            return false;
        return true;
    }
    return false;
}

/* --- What is under the directory for disk tests --- */

#define DISK_PREFIX "disk."

unsigned tl_wire_disk_record_count(void)
{
    return (unsigned)TL_HOST_DISK_NUMBER_COUNT + (unsigned)TL_HOST_DISK_TEXT_COUNT;
}

void tl_wire_disk_record(const struct tl_host_disk *disk, unsigned index,
                         struct tl_wire_record *ret_record)
{
    struct tl_wire_record record = {.kind = TL_WIRE_RECORD_UNKNOWN};
    bool is_text = index >= TL_HOST_DISK_NUMBER_COUNT;
    unsigned row = is_text ? index - TL_HOST_DISK_NUMBER_COUNT : index;
    const char *name = is_text ? tl_host_disk_text_name(row) : tl_host_disk_number_name(row);
    record.why = (uint8_t)(is_text ? disk->texts[row].why : disk->numbers[row].why);
    if (record.why == TL_HOST_WHY_KNOWN)
        record.kind = is_text ? TL_WIRE_RECORD_TEXT : TL_WIRE_RECORD_NUMBER;
    if (is_text)
        memcpy(record.text, disk->texts[row].text, sizeof record.text);
    else
        record.number = disk->numbers[row].number;
    memcpy(record.name, DISK_PREFIX, strlen(DISK_PREFIX));
    memcpy(record.name + strlen(DISK_PREFIX), name, strlen(name) + 1);
    *ret_record = record;
}

/* Stores into a row whose name fits; false when the kind does not. */
static bool store_number(struct tl_host_value *value, const char *unit,
                         const struct tl_wire_record *record, enum tl_host_why why)
{
    bool is_bool = strcmp(unit, "bool") == 0;
    if (record->kind == TL_WIRE_RECORD_UNKNOWN)
        *value = tl_host_unknown(why);
    else if (record->kind == TL_WIRE_RECORD_NUMBER && record->number >= 0 &&
             (!is_bool || record->number == 0 || record->number == 1))
        *value = tl_host_known(record->number);
    else
        return false;
    return true;
}

bool tl_wire_disk_store(struct tl_host_disk *disk, const struct tl_wire_record *record)
{
    size_t prefix = strlen(DISK_PREFIX);
    if (strncmp(record->name, DISK_PREFIX, prefix) != 0)
        return false;
    const char *name = record->name + prefix;
    enum tl_host_why why = stranger_why(record);
    for (unsigned i = 0; i < TL_HOST_DISK_NUMBER_COUNT; i++)
        if (strcmp(tl_host_disk_number_name(i), name) == 0)
            return store_number(&disk->numbers[i], tl_host_disk_number_unit(i), record, why);
    for (unsigned i = 0; i < TL_HOST_DISK_TEXT_COUNT; i++) {
        if (strcmp(tl_host_disk_text_name(i), name) != 0)
            continue;
        if (record->kind == TL_WIRE_RECORD_UNKNOWN)
            tl_host_text_unknown(&disk->texts[i], why);
        else if (record->kind == TL_WIRE_RECORD_TEXT)
            tl_host_text_set(&disk->texts[i], record->text);
        else
            return false;
        return true;
    }
    return false;
}
