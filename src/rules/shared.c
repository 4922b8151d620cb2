/* What shared.json defines, found by its name; the last of one name counts. */
#include "shared.h"

#include <stdlib.h>
#include <string.h>

struct tl_shared *tl_shared_create(struct tl_arena *arena)
{
    struct tl_shared *shared = calloc(1, sizeof *shared);
    if (shared)
        shared->arena = arena;
    return shared;
}

void tl_shared_destroy(struct tl_shared *shared)
{
    if (!shared)
        return;
    for (size_t i = 0; i < shared->doc_count; i++)
        tl_json_destroy(shared->docs[i]);
    free(shared);
}

const struct tl_function *tl_shared_function(struct tl_shared *shared, const char *name)
{
    for (size_t i = shared ? shared->function_count : 0; i-- > 0;) {
        if (strcmp(shared->functions[i]->name, name) != 0)
            continue;
        shared->function_entries[i].used = true;
        return shared->functions[i];
    }
    return NULL;
}

size_t tl_shared_name_number(struct tl_shared *shared, const char *name, size_t below)
{
    size_t count = shared ? shared->name_count : 0;
    for (size_t i = below && below - 1 < count ? below - 1 : count; i-- > 0;) {
        if (strcmp(shared->names[i].name, name) != 0)
            continue;
        shared->name_entries[i].used = true;
        return i + 1;
    }
    return 0;
}

const struct tl_shared_name *tl_shared_name_at(const struct tl_shared *shared, size_t number)
{
    return &shared->names[number - 1];
}

bool tl_shared_test(struct tl_shared *shared, const char *id, struct tl_json_at *ret_at)
{
    for (size_t i = shared ? shared->test_count : 0; i-- > 0;) {
        if (strcmp(shared->tests[i].id, id) != 0)
            continue;
        shared->test_entries[i].used = true;
        *ret_at = shared->tests[i].at;
        return true;
    }
    return false;
}

size_t tl_shared_condition(struct tl_shared *shared, const char *id, size_t below,
                           struct tl_json_at *ret_at)
{
    size_t count = shared ? shared->condition_count : 0;
    for (size_t i = below && below - 1 < count ? below - 1 : count; i-- > 0;) {
        if (strcmp(shared->conditions[i].id, id) != 0)
            continue;
        shared->condition_entries[i].used = true;
        *ret_at = shared->conditions[i].at;
        return i + 1;
    }
    return 0;
}
