/* What all rules may use: the functions, names, tests and conditions of rules/shared.json.
 *
 * One place for knowledge that several rules share, each with its reason and, for a function, with
 * examples that are computed when it is loaded. The built-in file is read first; a directory's own
 * shared.json comes after it, and goes before it where both define a name. A definition uses those
 * above it only, so there are no circles.
 *
 * Needed while rules are loaded, and gone afterwards: what a rule uses is compiled into that rule.
 * Functions live in the set's arena, as calls point to them. Private to the rules layer. */
#ifndef TL_RULES_SHARED_H
#define TL_RULES_SHARED_H

#include "formula.h"
#include "tightlink/base/buf.h"
#include "tightlink/base/json.h"

/* Limits on what a file may define (P13), built-in and own ones together. */
#define TL_SHARED_FUNCTIONS_MAX  64
#define TL_SHARED_NAMES_MAX      128
#define TL_SHARED_TESTS_MAX      512
#define TL_SHARED_CONDITIONS_MAX 128

#define TL_SHARED_FILE "shared.json"

struct tl_load;

struct tl_shared_name {
    const char *name, *text, *because;
};

struct tl_shared_entry {
    bool is_own, used;
};

struct tl_shared {
    struct tl_arena *arena;
    struct tl_json *docs[2]; /* the text of tests and conditions */
    size_t doc_count;
    size_t function_count, name_count, test_count, condition_count;
    struct tl_function *functions[TL_SHARED_FUNCTIONS_MAX];
    struct tl_shared_entry function_entries[TL_SHARED_FUNCTIONS_MAX];
    struct tl_shared_name names[TL_SHARED_NAMES_MAX];
    struct tl_shared_entry name_entries[TL_SHARED_NAMES_MAX];
    struct tl_shared_written {
        const char *id;
        struct tl_json_at at;
    } tests[TL_SHARED_TESTS_MAX], conditions[TL_SHARED_CONDITIONS_MAX];
    struct tl_shared_entry test_entries[TL_SHARED_TESTS_MAX],
        condition_entries[TL_SHARED_CONDITIONS_MAX];
};

struct tl_shared *tl_shared_create(struct tl_arena *arena); /* NULL: out of memory */
void tl_shared_destroy(struct tl_shared *shared);           /* NULL is fine */

/* Adds the definitions of one file; faults go to load. is_own: they must be used in the end. */
void tl_shared_add(struct tl_shared *shared, struct tl_load *load, const char *text, size_t len,
                   bool is_own);

/* All of these note that the definition is used, and take NULL for "there are none". */

/* NULL where there is none. */
const struct tl_function *tl_shared_function(struct tl_shared *shared, const char *name);
/* The number of a name, from 1, among those below a number (0: among all); 0 where there is none.
 */
size_t tl_shared_name_number(struct tl_shared *shared, const char *name, size_t below);
const struct tl_shared_name *tl_shared_name_at(const struct tl_shared *shared, size_t number);
/* A test, as the object that stands in the file. */
bool tl_shared_test(struct tl_shared *shared, const char *id, struct tl_json_at *ret_at);
/* A condition of several tests, likewise. Its number, from 1, among those below a number (0: among
 * all); 0 where there is none. */
size_t tl_shared_condition(struct tl_shared *shared, const char *id, size_t below,
                           struct tl_json_at *ret_at);

/* Notes each definition of the own file that nothing uses. */
void tl_shared_check_used(const struct tl_shared *shared, struct tl_load *load);

#endif
