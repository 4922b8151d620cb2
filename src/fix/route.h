/* The congestion control of a route to one address, as a setting: read, written and taken back by
 * rtnetlink. Private to the fix layer.
 *
 * Its value is a text, "ADDRESS [via ADDRESS] dev NAME congctl WORD", or "ADDRESS none" where no
 * route leads to that address alone. */
#ifndef TL_FIX_ROUTE_H
#define TL_FIX_ROUTE_H

#include "tightlink/fix/fix.h"

/* Whether it is the name of a congestion control of the list: another word would make the kernel
 * load a module of that name. */
bool tl_route_knows_congestion(const char *word, size_t len);

/* Brings a text into its one form; TL_RANGE for anything else. With `bounds` "none" is refused: it
 * is what an undo says, never a remedy. */
enum tl_status tl_route_normalise(const char *text, size_t len, bool bounds,
                                  char ret_value[TL_FIX_VALUE_SIZE],
                                  struct tl_error *reterr) TL_WARN_UNUSED;

/* The value now of the route that `like` is about. TL_UNSUPPORTED where a route of somebody else's
 * leads there, with more than this module can put back. */
enum tl_status tl_route_get(const char *like, char ret_value[TL_FIX_VALUE_SIZE],
                            struct tl_error *reterr) TL_WARN_UNUSED;

/* Adds the route, or removes it ("none"). Never replaces one that is there. */
enum tl_status tl_route_set(const char *value, struct tl_error *reterr) TL_WARN_UNUSED;

#endif
