/* A buffer that no socket may have is tried as several connections. */
#include <criterion/criterion.h>
#include <math.h>

#include "tightlink/probes/trial.h"

Test(verify, as_many_connections_as_the_promised_rate_needs)
{
    cr_expect_eq(tl_trial_connections(96e6, 45e6), 3);
    cr_expect_eq(tl_trial_connections(90e6, 45e6), 2);
    cr_expect_eq(tl_trial_connections(30e6, 4e6), 8);
}

Test(verify, one_connection_where_one_suffices)
{
    cr_expect_eq(tl_trial_connections(40e6, 45e6), 1);
    cr_expect_eq(tl_trial_connections(45e6, 45e6), 1);
}

Test(verify, connections_are_bounded_and_unknown_rates_need_no_more)
{
    cr_expect_eq(tl_trial_connections(1e12, 1), 32);
    cr_expect_eq(tl_trial_connections(96e6, 0), 32);
    cr_expect_eq(tl_trial_connections((double)NAN, 45e6), 1);
    cr_expect_eq(tl_trial_connections(96e6, (double)NAN), 1);
}
