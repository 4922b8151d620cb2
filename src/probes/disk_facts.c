/* From disk tests to facts. */
#include "disk_facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FACT_ID_SIZE 96

static const char *fact_id(char ret_id[FACT_ID_SIZE], enum tl_scope scope, const char *name)
{
    snprintf(ret_id, FACT_ID_SIZE, "%s.disk_%s", tl_scope_name(scope), name);
    return ret_id;
}

void tl_disk_facts_set(struct tl_facts *facts, enum tl_scope scope, const char *name, double value,
                       const char *reason)
{
    char id[FACT_ID_SIZE];
    fact_id(id, scope, name);
    if (isfinite(value))
        tl_facts_set_number(facts, id, value, "");
    else
        tl_facts_set_unknown(facts, id, "%s", reason);
}

static void set_host_number(struct tl_facts *facts, enum tl_scope scope, unsigned row,
                            struct tl_host_value value)
{
    char id[FACT_ID_SIZE];
    fact_id(id, scope, tl_host_disk_number_name(row));
    if (!tl_host_is_known(value))
        tl_facts_set_unknown(facts, id, "%s", tl_host_why_text(value.why));
    else if (strcmp(tl_host_disk_number_unit(row), "bool") == 0)
        tl_facts_set_bool(facts, id, value.number != 0, "");
    else
        tl_facts_set_number(facts, id, value.number, "");
}

void tl_disk_facts_set_host(struct tl_facts *facts, enum tl_scope scope,
                            const struct tl_host_disk *disk)
{
    char id[FACT_ID_SIZE];
    for (unsigned i = 0; i < TL_HOST_DISK_NUMBER_COUNT; i++)
        set_host_number(facts, scope, i, disk->numbers[i]);
    for (unsigned i = 0; i < TL_HOST_DISK_TEXT_COUNT; i++) {
        fact_id(id, scope, tl_host_disk_text_name(i));
        if (disk->texts[i].why == TL_HOST_WHY_KNOWN)
            tl_facts_set_text(facts, id, disk->texts[i].text, "");
        else
            tl_facts_set_unknown(facts, id, "%s", tl_host_why_text(disk->texts[i].why));
    }
}

static double known_ns(int64_t ns)
{
    return ns >= 0 ? (double)ns : (double)NAN;
}

void tl_disk_facts_set_result(struct tl_facts *facts, enum tl_scope scope,
                              const struct tl_disk_result *result, const char *reason)
{
    char id[FACT_ID_SIZE], name[32];
    bool writes = result->operation == TL_DISK_WRITE;
    const char *verb = writes ? "write" : "read";
    snprintf(name, sizeof name, "%s_bps", verb);
    fact_id(id, scope, name);
    if (!isfinite(result->rate_bps)) {
        tl_facts_set_unknown(facts, id, "%s", reason);
        return;
    }
    tl_facts_set_range(facts, id, result->rate_bps, result->low_bps, result->high_bps,
                       result->mode == TL_DISK_MODE_DIRECT ? "past the page cache"
                                                           : "through the page cache");
    snprintf(name, sizeof name, "%s_p50_ns", verb);
    tl_disk_facts_set(facts, scope, name, known_ns(result->p50_ns), reason);
    snprintf(name, sizeof name, "%s_p99_ns", verb);
    tl_disk_facts_set(facts, scope, name, known_ns(result->p99_ns), reason);
    snprintf(name, sizeof name, "%s_max_ns", verb);
    tl_disk_facts_set(facts, scope, name, known_ns(result->max_ns), reason);
    snprintf(name, sizeof name, "%s_cpu_ratio", verb);
    tl_disk_facts_set(facts, scope, name, (double)result->cpu_ns / (double)result->elapsed_ns,
                      reason);
    tl_disk_facts_set(facts, scope, "threads_count", result->threads, reason);
    if (writes)
        tl_disk_facts_set(facts, scope, "sync_ns", known_ns(result->sync_ns), "it was not awaited");
    else
        tl_facts_set_bool(facts, fact_id(id, scope, "read_cached"),
                          result->cache == TL_DISK_CACHE_POSSIBLE,
                          tl_disk_cache_text(result->cache));
}
