/* Documents of made-up runs, and a folder for each test. */
#ifndef TL_TESTS_STORE_DOCUMENTS_H
#define TL_TESTS_STORE_DOCUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/buf.h"

struct made_run {
    int number;         /* becomes part of the id */
    int64_t started_ns; /* wall clock */
    const char *target; /* NULL: srv-b.example.net */
    const char *proxy;  /* NULL: straight */
    const char *cause;  /* NULL: the fixture's, receive-window */
    double stream_bps;  /* 0: the fixture's */
    double half_width;  /* of its bounds, relative; 0: none */
    bool upload;        /* the verdict and the rate are of that direction */
    int hit;            /* 1, 0, or -1: nothing was tried */
};

/* The id of the run with that number. Static, until the next call. */
const char *made_id(int number);
/* The document; free with tl_buf_finish. */
struct tl_buf make_document(const struct made_run *made);

/* A path in a new folder of this test, gone when the process ends. */
const char *test_path(const char *name);

#endif
