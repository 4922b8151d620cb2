/* Collecting rules into a set, with all faults counted. Private to the rules layer. */
#ifndef TL_RULES_SOURCE_H
#define TL_RULES_SOURCE_H

#include "load.h"

struct tl_source {
    struct tl_rules *rules;
    size_t errors, files;
    struct tl_error first;    /* with errors > 0 */
    struct tl_buf *report;    /* may be NULL */
    bool may_disable;         /* see struct tl_load */
    bool check_used;          /* a definition of the folder's own shared.json that no rule uses is a
                               * fault */
    struct tl_shared *shared; /* while files are read */
};

/* Adds all *.json below path; faults in files are counted, a directory that cannot be read is an
 * error. Sorts the set. */
enum tl_status tl_source_directory(struct tl_source *source, const char *path,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

/* By id. */
void tl_source_sort(struct tl_rules *rules);

#endif
