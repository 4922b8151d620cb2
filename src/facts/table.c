/* The definitions of the closed table of facts, and looking them up. */
#include "tightlink/facts/facts.h"

#include <pthread.h>
#include <string.h>

static const struct tl_fact_def table[] = {
#define ROW(name, subject, unit, stage, meaning)                                                   \
    {#name, TL_SUBJECT_##subject, TL_UNIT_##unit, stage, meaning},
#define HOST(name, unit, stage, meaning) ROW(name, HOST, unit, stage, meaning)
#define PATH(name, unit, stage, meaning) ROW(name, PATH, unit, stage, meaning)
#define FLOW(name, unit, stage, meaning) ROW(name, FLOW, unit, stage, meaning)
#include "tightlink/facts/table.def"
};

const struct tl_fact_def *tl_fact_def(enum tl_fact_name fact)
{
    return &table[fact];
}

/* Positions in the table, ordered by subject and name: rules look up many names. */
static unsigned short by_name[TL_FACT_COUNT];
static pthread_once_t by_name_once = PTHREAD_ONCE_INIT;

static int compare_defs(const struct tl_fact_def *def, enum tl_subject subject, const char *name)
{
    if (def->subject != subject)
        return def->subject < subject ? -1 : 1;
    return strcmp(def->name, name);
}

/* Insertion sort: once in a process, and the table is short. */
static void sort_names(void)
{
    for (size_t i = 0; i < TL_FACT_COUNT; i++) {
        size_t place = i;
        for (; place > 0 &&
               compare_defs(&table[by_name[place - 1]], table[i].subject, table[i].name) > 0;
             place--)
            by_name[place] = by_name[place - 1];
        by_name[place] = (unsigned short)i;
    }
}

bool tl_fact_find(enum tl_subject subject, const char *name, enum tl_fact_name *ret_fact)
{
    pthread_once(&by_name_once, sort_names);
    size_t low = 0, high = TL_FACT_COUNT;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = compare_defs(&table[by_name[middle]], subject, name);
        if (order == 0) {
            *ret_fact = (enum tl_fact_name)by_name[middle];
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}
