/* Which units go together. Rates, amounts and times never multiply each other
 * silently: a factor of 8e9 hides there, so bps(), bytes() and ns() convert. */
#include "formula.h"

bool tl_unit_is_plain(enum tl_unit unit)
{
    return unit == TL_UNIT_NUMBER || unit == TL_UNIT_RATIO || unit == TL_UNIT_COUNT;
}

bool tl_unit_join(enum tl_unit a, enum tl_unit b, enum tl_unit *ret_unit)
{
    if (a == b)
        *ret_unit = a;
    else if (a == TL_UNIT_NUMBER && tl_unit_is_plain(b))
        *ret_unit = b;
    else if (b == TL_UNIT_NUMBER && tl_unit_is_plain(a))
        *ret_unit = a;
    else
        return false;
    return true;
}

static const char *conversion_hint(enum tl_unit a, enum tl_unit b)
{
    bool bps = a == TL_UNIT_BPS || b == TL_UNIT_BPS;
    bool bytes = a == TL_UNIT_BYTES || b == TL_UNIT_BYTES;
    bool ns = a == TL_UNIT_NS || b == TL_UNIT_NS;
    if (bps && ns)
        return "use bytes(bps, ns)";
    if (bytes && ns)
        return "use bps(bytes, ns)";
    if (bps && bytes)
        return "use ns(bytes, bps)";
    if (a == TL_UNIT_TEXT || b == TL_UNIT_TEXT || a == TL_UNIT_BOOL || b == TL_UNIT_BOOL)
        return "only numbers can be calculated with";
    return "no fact has such a unit";
}

bool tl_unit_product(enum tl_unit a, enum tl_unit b, enum tl_unit *ret_unit, const char **ret_hint)
{
    bool plain_a = tl_unit_is_plain(a), plain_b = tl_unit_is_plain(b);
    bool odd = a == TL_UNIT_TEXT || b == TL_UNIT_TEXT || a == TL_UNIT_BOOL || b == TL_UNIT_BOOL;
    if (odd || (!plain_a && !plain_b)) {
        *ret_hint = conversion_hint(a, b);
        return false;
    }
    if (!plain_a || !plain_b)
        *ret_unit = plain_a ? b : a;
    else if (a == TL_UNIT_COUNT || b == TL_UNIT_COUNT)
        *ret_unit = a == b ? TL_UNIT_NUMBER : TL_UNIT_COUNT; /* loss ratio x segments */
    else
        *ret_unit = a == TL_UNIT_RATIO || b == TL_UNIT_RATIO ? TL_UNIT_RATIO : TL_UNIT_NUMBER;
    return true;
}

bool tl_unit_quotient(enum tl_unit a, enum tl_unit b, enum tl_unit *ret_unit, const char **ret_hint)
{
    bool odd = a == TL_UNIT_TEXT || b == TL_UNIT_TEXT || a == TL_UNIT_BOOL || b == TL_UNIT_BOOL;
    if (odd || (!tl_unit_is_plain(b) && a != b)) {
        *ret_hint = conversion_hint(a, b);
        return false;
    }
    /* Like over like has no unit; a dimension or a count survives division by a plain number. */
    if (a == b || (tl_unit_is_plain(a) && b != TL_UNIT_NUMBER))
        *ret_unit = TL_UNIT_NUMBER;
    else
        *ret_unit = a;
    return true;
}
