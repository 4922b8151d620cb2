/* Facts by their text, for tests that hold ids in tables or take them from files. */
#ifndef TL_TESTS_KEY_OF_H
#define TL_TESTS_KEY_OF_H

#include <stdio.h>
#include <stdlib.h>

#include "tightlink/facts/facts.h"

/* "download.goodput_bps"; a fact that does not exist ends the test. */
static inline struct tl_fact_key key_of(const char *id)
{
    struct tl_fact_key key;
    if (!tl_fact_id_parse(id, &key)) {
        fprintf(stderr, "there is no fact %s\n", id);
        abort();
    }
    return key;
}

#endif
