/* What this host did while a test ran. A session has one test at a time, of whatever kind. */
#ifndef TL_ENGINE_READINGS_H
#define TL_ENGINE_READINGS_H

#include "session.h"

/* The first reading, and READINGS about what lies between it and now: some 0.5 ms each. */
void readings_begin(struct session *session);
void readings_report(struct session *session, uint32_t test_id);

#endif
