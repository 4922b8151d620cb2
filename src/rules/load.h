/* Loading one rule file: strict, and able to report more than the first fault.
 * Private to the rules layer. */
#ifndef TL_RULES_LOAD_H
#define TL_RULES_LOAD_H

#include "rule.h"
#include "shared.h"
#include "tightlink/base/json.h"

/* One file being loaded. Faults are counted and, where a report is given, written there. */
struct tl_load {
    struct tl_arena *arena;
    struct tl_rule *rule;
    const char *file;
    size_t errors;
    struct tl_error first;
    struct tl_buf *report;    /* may be NULL */
    struct tl_shared *shared; /* what shared.json defines; NULL: nothing */
    const char *end;          /* "sender" or "receiver" of a rule for either; NULL */
    size_t within;            /* the number of the shared condition that is being put in; 0: none */
    struct tl_json_at own;    /* the rule's own "conditions", where it has_own */
    bool has_own, own_begun[TL_RULE_GROUPS_MAX]; /* those that a part of the rule named */
    bool may_disable; /* {"format", "id", "disabled": true} is a rule that removes another */
};

/* Notes a fault, "file: error's text". */
void tl_load_fault(struct tl_load *load, const struct tl_error *error);
/* Notes "file: pointer: sentence" about a place in the document. */
void tl_load_fault_at(struct tl_load *load, const struct tl_json_at *at, enum tl_status status,
                      const char *fmt, ...) TL_PRINTF(4, 5);

/* The member's place, or the object's where it is absent. */
struct tl_json_at tl_load_member(const struct tl_json_at *object, const char *key);

/* The string under a key; false when it is absent or faulty. */
bool tl_load_string(struct tl_load *load, const struct tl_json_at *object, const char *key,
                    bool required, struct tl_json_at *ret_at, const char **ret_text);

/* The readers below note their faults themselves and go on where they can. */
bool tl_load_text(struct tl_load *load, const struct tl_json_at *object, const char *key,
                  bool required, const char **ret_text);
void tl_load_template(struct tl_load *load, const struct tl_json_at *object, const char *key,
                      bool required, struct tl_template *ret_template);
void tl_load_formula(struct tl_load *load, const struct tl_json_at *object, const char *key,
                     bool required, bool results, enum tl_unit unit,
                     struct tl_formula *ret_formula);
/* Logic under a key; NULL when the key is absent or faulty. is_for: see struct tl_test. */
const struct tl_logic *tl_load_logic(struct tl_load *load, const struct tl_json_at *object,
                                     const char *key, bool is_for);
/* One test object; its index, or TL_RULE_TESTS_MAX after a fault. */
size_t tl_load_test(struct tl_load *load, const struct tl_json_at *at, bool is_for);
/* A test of shared.json: the same, but the id is the key that it stands under, and its formulas
 * know no names of a rule. */
size_t tl_load_shared_test(struct tl_load *load, const struct tl_json_at *at, const char *id,
                           bool is_for);
/* A condition of shared.json, of that number: put into the rule under its id, or what was put in
 * before. It knows the shared tests, and the shared conditions of lower numbers. */
const struct tl_logic *tl_load_shared_condition(struct tl_load *load, const struct tl_json_at *at,
                                                const char *id, size_t number, bool is_for,
                                                unsigned depth);
/* The rule's own "conditions": looked at, and after all other parts whether each was named. One is
 * put in where it is first named, as if it stood there. */
void tl_load_own_conditions(struct tl_load *load, const struct tl_json_at *root);
void tl_load_check_own(struct tl_load *load);
/* A condition or test above, by its id; NULL where there is none. load: struct tl_load. */
const struct tl_logic *tl_load_condition(void *load, const char *id);
/* A test above, or TL_RULE_TESTS_MAX; a condition above, or NULL. */
size_t tl_load_find_test(const struct tl_load *load, const char *id);
const struct tl_logic *tl_load_group(const struct tl_load *load, const char *id);
/* {"is": "id"}: a test above this place, or one of shared.json, which is taken into the rule where
 * it is first named; there its sentences may be the rule's own. */
size_t tl_load_reference(struct tl_load *load, const struct tl_json_at *at, bool is_for);
/* Fit for the terminal, where rule texts stand as they are; a rule file is foreign (P12, P13). */
bool tl_load_is_printable(const char *text);
#define TL_LOAD_TEXT_CHARS_MAX 512
/* Small letters, digits and hyphens, or underscores in a name. */
#define TL_LOAD_ID_CHARS_MAX 64
bool tl_load_is_id(const char *text, bool name);
/* Small letters, digits and _, and none of the words that judging defines. */
bool tl_load_is_name(const char *text);
void tl_load_ceilings(struct tl_load *load, const struct tl_json_at *root);
void tl_load_remedies(struct tl_load *load, const struct tl_json_at *root);
/* False after a fault. */
bool tl_load_role(struct tl_load *load, const struct tl_json_at *object, const char *key,
                  enum tl_role *ret_role);

extern const struct tl_json_limits tl_load_json_limits;

/* Parses a whole file into load->rule. Returns load->errors == 0. */
bool tl_load_rule(struct tl_load *load, const char *text, size_t len);

#endif
