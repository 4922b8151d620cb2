/* What a fuzz target gives its driver: libFuzzer's entry, and seeds to mutate. */
#ifndef TL_TESTS_FUZZ_H
#define TL_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FUZZ_INPUT_MAX 8192

/* What must hold whatever the input is: the place and the condition, then abort(). */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* libFuzzer's entry. Aborts when something that must hold does not. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Waits until what inputs began in other threads has ended, before memory is looked at: only where
 * a target has such. */
void fuzz_rest(void) __attribute__((weak));

/* Messages that were accepted so far: a run in which nothing is, tests nothing. */
extern unsigned long fuzz_accepted;

/* Good inputs: writes the one with that number (0 .. fuzz_seed_count - 1) into
 * FUZZ_INPUT_MAX bytes and returns its length. */
extern const unsigned fuzz_seed_count;
size_t fuzz_seed(unsigned number, uint8_t *bytes);

#endif
