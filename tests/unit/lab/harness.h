/* What the programs that make real labs share: cases in processes of their own
 * (a user namespace is for life), checks that name their line, a far-end server.
 *
 * Exit codes: 0 all passed, 1 some failed, 77 none could run here. */
#ifndef TL_TEST_LAB_HARNESS_H
#define TL_TEST_LAB_HARNESS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tightlink/lab/lab.h"

#define SKIPPED 77

/* Ends the case's process: cases do not go on after a failure. */
#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

struct test_case {
    const char *name;
    void (*run)(void);
    unsigned how; /* of enum test_how */
};

enum test_how {
    NEEDS_ROOT = 1,
    AS_NOBODY = 2, /* root steps down first */
    TIMED = 4,     /* it measures real time: tests/realtime decides when it is run */
};

/* Runs the case of this name, once (all without one); main's result, which is 128 and the signal's
 * number where a case crashed. "--list" prints the names, each behind "timed" or "once". */
int run_cases(const struct test_case *cases, size_t count, const char *name);

/* Ends the case as skipped, with a sentence. */
_Noreturn void skip_case(const char *why);

/* A lab of this specification, with the serving process of server.c on s, and
 * this thread on c. A missing permission skips the case. */
struct tl_lab *make_lab(const char *spec);

/* The same without entering c and without a server. */
struct tl_lab *make_bare_lab(const char *spec);

/* main of the far-end process: TCP and UDP on PORT, see server.c. */
int serve_main(void);
#define SERVE_ARGUMENT "--serve"
#define PORT           5411

/* First byte of a TCP connection: what the server does with it. */
#define ASK_DOWNLOAD 'd' /* it sends its congestion control's name in 16 bytes, then data */

#endif
