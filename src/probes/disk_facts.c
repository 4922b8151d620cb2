/* From disk tests to facts. */
#include "disk_facts.h"

#include <math.h>

void tl_disk_facts_set(struct tl_facts *facts, struct tl_fact_key key, double value,
                       const char *reason)
{
    if (isfinite(value))
        tl_facts_set_number(facts, key, value, "");
    else
        tl_facts_set_unknown(facts, key, "%s", reason);
}

static void set_host_number(struct tl_facts *facts, struct tl_fact_key key,
                            struct tl_host_value value)
{
    if (!tl_host_is_known(value))
        tl_facts_set_unknown(facts, key, "%s", tl_host_why_text(value.why));
    else if (tl_fact_def(key.fact)->unit == TL_UNIT_BOOL)
        tl_facts_set_bool(facts, key, value.number != 0, "");
    else
        tl_facts_set_number(facts, key, value.number, "");
}

void tl_disk_facts_set_host(struct tl_facts *facts, enum tl_scope scope,
                            const struct tl_host_disk *disk)
{
#define FACT(id, name, ...) TL_FACT_HOST_disk_##name,
    static const enum tl_fact_name numbers[] = {TL_HOST_DISK_NUMBER_MAP(FACT)};
    static const enum tl_fact_name texts[] = {TL_HOST_DISK_TEXT_MAP(FACT)};
#undef FACT
    for (unsigned i = 0; i < TL_HOST_DISK_NUMBER_COUNT; i++)
        set_host_number(facts, TL_KEY(scope, numbers[i]), disk->numbers[i]);
    for (unsigned i = 0; i < TL_HOST_DISK_TEXT_COUNT; i++) {
        struct tl_fact_key key = TL_KEY(scope, texts[i]);
        if (disk->texts[i].why == TL_HOST_WHY_KNOWN)
            tl_facts_set_text(facts, key, disk->texts[i].text, "");
        else
            tl_facts_set_unknown(facts, key, "%s", tl_host_why_text(disk->texts[i].why));
    }
}

static double known_ns(int64_t ns)
{
    return ns >= 0 ? (double)ns : (double)NAN;
}

/* The facts of one operation. */
static const struct operation {
    enum tl_fact_name rate, p50, p99, max, cpu;
} operations[] = {
#define OPERATION(verb)                                                                            \
    {                                                                                              \
        TL_FACT_HOST_disk_##verb##_bps, TL_FACT_HOST_disk_##verb##_p50_ns,                         \
            TL_FACT_HOST_disk_##verb##_p99_ns, TL_FACT_HOST_disk_##verb##_max_ns,                  \
            TL_FACT_HOST_disk_##verb##_cpu_ratio                                                   \
    }
    [TL_DISK_WRITE] = OPERATION(write),
    [TL_DISK_READ] = OPERATION(read),
#undef OPERATION
};

void tl_disk_facts_set_result(struct tl_facts *facts, enum tl_scope scope,
                              const struct tl_disk_result *result, const char *reason)
{
    const struct operation *names = &operations[result->operation];
    if (!isfinite(result->rate_bps)) {
        tl_facts_set_unknown(facts, TL_KEY(scope, names->rate), "%s", reason);
        return;
    }
    tl_facts_set_range(
        facts, TL_KEY(scope, names->rate), result->rate_bps, result->low_bps, result->high_bps,
        result->mode == TL_DISK_MODE_DIRECT ? "past the page cache" : "through the page cache");
    tl_disk_facts_set(facts, TL_KEY(scope, names->p50), known_ns(result->p50_ns), reason);
    tl_disk_facts_set(facts, TL_KEY(scope, names->p99), known_ns(result->p99_ns), reason);
    tl_disk_facts_set(facts, TL_KEY(scope, names->max), known_ns(result->max_ns), reason);
    tl_disk_facts_set(facts, TL_KEY(scope, names->cpu),
                      (double)result->cpu_ns / (double)result->elapsed_ns, reason);
    tl_disk_facts_set(facts, TL_HOST(scope, disk_threads_count), result->threads, reason);
    if (result->operation == TL_DISK_WRITE)
        tl_disk_facts_set(facts, TL_HOST(scope, disk_sync_ns), known_ns(result->sync_ns),
                          "it was not awaited");
    else
        tl_facts_set_bool(facts, TL_HOST(scope, disk_read_cached),
                          result->cache == TL_DISK_CACHE_POSSIBLE,
                          tl_disk_cache_text(result->cache));
}
