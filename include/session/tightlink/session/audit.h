/* What can be said of this host without a responder and without traffic. */
#ifndef TL_SESSION_AUDIT_H
#define TL_SESSION_AUDIT_H

#include "tightlink/base/status.h"
#include "tightlink/facts/facts.h"
#include "tightlink/probes/permits.h"

/* The near host's facts. host may be NULL: then the interface of the default route
 * is looked at. Resolving a name may take up to 5 s. *ret_facts is the caller's.
 * TL_NOHOST with a sentence, TL_NOMEM. */
enum tl_status tl_session_audit(const char *host, struct tl_facts **ret_facts,
                                struct tl_error *reterr) TL_WARN_UNUSED;

/* Adds what this host can do alone (stage calibrate): half a second of loopback and memory. */
enum tl_status tl_session_audit_alone(struct tl_facts *facts,
                                      struct tl_error *reterr) TL_WARN_UNUSED;

#endif
