/* What the tests of engine/tcp/steady share. */
#ifndef TL_TEST_STEADY_EXPECT_H
#define TL_TEST_STEADY_EXPECT_H

#include <criterion/criterion.h>
#include <math.h>

#include "tightlink/engine/steady.h"

#define MS   INT64_C(1000000)
#define S    (1000 * MS)
#define GRID (50 * MS) /* between points of a curve */

static inline void assert_near(double got, double want, double ratio, const char *what)
{
    cr_assert(fabs(got - want) <= ratio * fabs(want), "%s: %g, expected %g", what, got, want);
}

#endif
