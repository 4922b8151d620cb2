/* Reading JSON that may be hostile.
 *
 * The text must be exactly one RFC 8259 value in UTF-8. Refused with a place:
 * duplicate keys, single quotes, comments, NaN and Infinity, numbers that
 * overflow a double, integers beyond 64 bits, lone surrogates, NUL in a string,
 * invalid UTF-8, bytes after the value, too many bytes or values, too deep nesting. json-c
 * keeps the tree; it does not parse, because version 0.16 lets most of these pass.
 *
 * A cursor (struct tl_json_at) is a place in the document and its JSON pointer
 * (RFC 6901), so that every error says where: "/when/all/0: expected a number,
 * found a string". Each getter checks the type first. Pointers are cleaned of
 * control characters (base/utf8.h) and cut when long; they are for people.
 *
 * Errors: TL_SYNTAX not JSON or the wrong type, TL_RANGE a number out of range,
 * TL_LIMIT a limit of struct tl_json_limits, TL_UNKNOWN a key that is missing or
 * unknown, TL_NOMEM. Outputs are untouched on failure.
 *
 * A document is immutable: several threads may read it. Cursors and strings live
 * as long as their document. */
#ifndef TL_BASE_JSON_H
#define TL_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

/* What a hostile text can make us do. One value costs at most about 1 KB of memory. */
struct tl_json_limits {
    size_t bytes_max;
    size_t values_max;  /* scalars, arrays and objects together */
    unsigned depth_max; /* arrays and objects inside each other; at most TL_JSON_DEPTH_MAX */
};
#define TL_JSON_DEPTH_MAX 64 /* the parser recurses: about 200 bytes of stack a level */

struct tl_json;

/* text need not end with NUL. *ret_doc is owned by the caller. */
enum tl_status tl_json_parse(const char *text, size_t len, const struct tl_json_limits *limits,
                             struct tl_json **ret_doc, struct tl_error *reterr) TL_WARN_UNUSED;
void tl_json_destroy(struct tl_json *doc); /* NULL is fine */

enum tl_json_type {
    TL_JSON_NULL,
    TL_JSON_BOOL,
    TL_JSON_INTEGER, /* written without fraction and exponent; fits int64_t */
    TL_JSON_NUMBER,  /* any other number; finite */
    TL_JSON_STRING,
    TL_JSON_ARRAY,
    TL_JSON_OBJECT,
};

#define TL_JSON_POINTER_SIZE 192

/* A place in a document. Plain data, copied freely. */
struct tl_json_at {
    const void *value;                  /* private */
    char pointer[TL_JSON_POINTER_SIZE]; /* "" at the root */
};

struct tl_json_at tl_json_root(const struct tl_json *doc);
enum tl_json_type tl_json_type(const struct tl_json_at *at);

/* An error about this place, "POINTER: sentence" ("/" stands for the root). */
enum tl_status tl_json_error(const struct tl_json_at *at, struct tl_error *reterr,
                             enum tl_status status, const char *fmt, ...) TL_PRINTF(4, 5);

/* The value here, if it has the type. Strings are NUL-terminated UTF-8 without NUL inside.
 * tl_json_integer also takes 5.0; tl_json_number takes integers too. */
enum tl_status tl_json_bool(const struct tl_json_at *at, bool *ret_value,
                            struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_json_integer(const struct tl_json_at *at, int64_t min, int64_t max,
                               int64_t *ret_value, struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_json_number(const struct tl_json_at *at, double *ret_value,
                              struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_json_string(const struct tl_json_at *at, const char **ret_value,
                              struct tl_error *reterr) TL_WARN_UNUSED;
/* Checks only: the value here has the type (TL_JSON_NUMBER: any number). */
enum tl_status tl_json_expect(const struct tl_json_at *at, enum tl_json_type type,
                              struct tl_error *reterr) TL_WARN_UNUSED;

/* The member of an object. False when it is absent or when this is no object. */
bool tl_json_find(const struct tl_json_at *object, const char *key, struct tl_json_at *ret_at);

/* Members that must be there, with their types. tl_json_get takes any type. */
enum tl_status tl_json_get(const struct tl_json_at *object, const char *key,
                           struct tl_json_at *ret_at, struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_json_get_bool(const struct tl_json_at *object, const char *key, bool *ret_value,
                                struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_json_get_integer(const struct tl_json_at *object, const char *key, int64_t min,
                                   int64_t max, int64_t *ret_value,
                                   struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_json_get_number(const struct tl_json_at *object, const char *key,
                                  double *ret_value, struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_json_get_string(const struct tl_json_at *object, const char *key,
                                  const char **ret_value, struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_json_get_array(const struct tl_json_at *object, const char *key,
                                 struct tl_json_at *ret_at, struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_json_get_object(const struct tl_json_at *object, const char *key,
                                  struct tl_json_at *ret_at,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

/* This is an object and has no key outside the list (which ends with NULL). */
enum tl_status tl_json_check_keys(const struct tl_json_at *object, const char *const *keys,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

/* Items of an array (0 for other types) or members of an object. */
size_t tl_json_count(const struct tl_json_at *at);
/* Item of an array; index must be below tl_json_count (assert). */
struct tl_json_at tl_json_item(const struct tl_json_at *array, size_t index);

/* Members of an object, in the order of the text:
 *     struct tl_json_members members = tl_json_members(&object);
 *     while (tl_json_next(&members, &key, &value)) ... */
struct tl_json_members {
    struct tl_json_at object;
    const void *entry; /* private */
};
struct tl_json_members tl_json_members(const struct tl_json_at *object);
bool tl_json_next(struct tl_json_members *members, const char **ret_key,
                  struct tl_json_at *ret_value);

#endif
