/* The table of limits. */
#include "tightlink/engine/limits.h"

#include <stddef.h>

static const struct tl_limit_row rows[TL_LIMIT_COUNT] = {
#define TL_LIMIT_ROW(id, name, min, max, standard) {#id, name, min, max, standard},
    TL_LIMIT_MAP(TL_LIMIT_ROW)
#undef TL_LIMIT_ROW
};

const struct tl_limit_row *tl_limit_row(enum tl_limit id)
{
    return (unsigned)id < TL_LIMIT_COUNT ? &rows[id] : NULL;
}

int64_t tl_limit_clamp(enum tl_limit id, uint64_t asked)
{
    const struct tl_limit_row *row = &rows[id];
    if (asked == 0)
        return row->standard;
    if (asked > (uint64_t)row->max)
        return row->max;
    return asked < (uint64_t)row->min ? row->min : (int64_t)asked;
}

bool tl_limit_holds(enum tl_limit id, uint64_t value)
{
    const struct tl_limit_row *row = &rows[id];
    return value == 0 || (value >= (uint64_t)row->min && value <= (uint64_t)row->max);
}
