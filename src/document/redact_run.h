/* Copies of run, facts and findings with their texts masked; private to src/document. */
#ifndef TL_DOCUMENT_REDACT_RUN_H
#define TL_DOCUMENT_REDACT_RUN_H

#include "tightlink/document/document.h"
#include "tightlink/document/redact.h"
#include "tightlink/facts/samples.h"

struct copier_piece {
    struct copier_piece *next;
    void *memory; /* owned */
};

struct copier {
    struct tl_redactor *redactor; /* borrowed; NULL: copies are as they were */
    const char *listed;           /* a demo's name, which is nobody's secret; else NULL */
    struct copier_piece *pieces;  /* what copied findings point to; owned */
    enum tl_status status;        /* the first failure; what was copied may then not be used */
};

void redact_copy_run(struct copier *c, const struct tl_run *from, struct tl_run *run);
/* In place: its stage. */
void redact_copy_reading(struct copier *c, struct tl_reading *reading);
struct tl_facts *redact_copy_facts(struct copier *c, const struct tl_facts *from);
/* The copy lives as long as the copier; never for tl_findings_destroy(). */
void redact_copy_findings(struct copier *c, const struct tl_findings *from,
                          struct tl_findings *findings);
void redact_copier_finish(struct copier *c);

#endif
