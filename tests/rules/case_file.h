/* A case: facts, and what a rule must say about them. Read from tests/rules/<id>.json;
 * doc/rule-format.md, "Cases", tells the format. */
#ifndef TL_TESTS_CASE_FILE_H
#define TL_TESTS_CASE_FILE_H

#include "tightlink/base/json.h"
#include "tightlink/rules/rules.h"

struct tl_case {
    const char *rule;
    const char *name;
    enum tl_direction direction;
    struct tl_facts *facts; /* owned */
    struct tl_question question;
    struct tl_json_at expect; /* an object */
};

/* A file of cases, or the bases that all of them may build on; tl_json_destroy() frees. */
enum tl_status tl_case_open(const char *folder, const char *name, struct tl_json **ret_doc,
                            struct tl_error *reterr) TL_WARN_UNUSED;
#define TL_CASE_BASES "bases.json"

/* Reads case index of a parsed file. bases (may be NULL) is the parsed bases.json. On success
 * tl_case_finish() frees. */
enum tl_status tl_case_read(const struct tl_json_at *file, const struct tl_json *bases,
                            size_t index, struct tl_case *ret_case,
                            struct tl_error *reterr) TL_WARN_UNUSED;
void tl_case_finish(struct tl_case *test);

/* Compares findings with what is expected. True when all holds; else *ret_why says what does
 * not. TL-errors in the expectation itself count as not holding. */
bool tl_case_holds(const struct tl_case *test, const struct tl_findings *findings,
                   struct tl_error *ret_why);

#endif
