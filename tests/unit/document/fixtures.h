/* Runs with findings, made by hand: one for each kind of verdict. The first has the
 * numbers of a 512 KiB receive buffer over 42 ms on a gigabit path. */
#ifndef TL_TESTS_REPORT_FIXTURES_H
#define TL_TESTS_REPORT_FIXTURES_H

#include "tightlink/document/document.h"

struct fixture {
    struct tl_run run;
    struct tl_facts *facts;      /* owned */
    struct tl_findings findings; /* points to static data */
};

extern const char *const fixture_names[]; /* ends with NULL */

/* The named fixture; false if there is none. fixture_finish() frees. */
bool fixture_make(const char *name, struct fixture *ret_fixture);
void fixture_finish(struct fixture *fixture);

#endif
