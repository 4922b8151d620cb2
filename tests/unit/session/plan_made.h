/* Findings and states of the plan, made by hand. */
#ifndef TL_TEST_PLAN_MADE_H
#define TL_TEST_PLAN_MADE_H

#include <math.h>

#include "plan.h"

#define NONE ((double)NAN)

/* Facts of one test: fresh in each. */
extern struct tl_facts *facts;
void plan_made_setup(void);
void plan_made_teardown(void);

extern struct tl_fact_key streams_missing[1], paced_missing[1], window_missing[1], udp_missing[1];

/* A cause that cannot be told yet, for which so many of its three tests speak. */
struct tl_finding open_cause(const char *cause, struct tl_fact_key *missing, int speaking);
struct tl_findings findings_of(struct tl_finding *list, size_t count, struct tl_verdict verdict);
struct tl_verdict unknown(void);
/* By a receive window. */
struct tl_verdict limited(double confidence, double fixed_bps);
/* A download whose first stream is done, with a responder, 20 s and 1 GB. */
struct tl_plan_state after_stream(const struct tl_findings *findings);

#endif
