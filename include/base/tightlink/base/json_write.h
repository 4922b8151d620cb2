/* Writing JSON, append-only, onto a tl_buf.
 *
 * Every call adds one value: key is its name inside an object and NULL inside an
 * array or at the root. Commas, indentation and escapes are the writer's task;
 * text that is not UTF-8 has its bad bytes replaced by U+FFFD, so that the result
 * always parses. Integers are exact, doubles are the shortest text that reads
 * back as the same double, in any locale. NAN and infinity are never written:
 * such a member is left out (in an array: null), because a missing number is
 * absent and never 0.
 *
 * A failed allocation shows in buf->status at the end. */
#ifndef TL_BASE_JSON_WRITE_H
#define TL_BASE_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/buf.h"

#define TL_JSON_WRITE_DEPTH_MAX 32

/* Plain data on the caller's stack. */
struct tl_json_writer {
    struct tl_buf *out;
    bool compact; /* one line, for --json-lines; else indented by one space a level */
    unsigned depth;
    bool is_array[TL_JSON_WRITE_DEPTH_MAX];
    bool has_items[TL_JSON_WRITE_DEPTH_MAX];
};

void tl_json_writer_init(struct tl_json_writer *writer, struct tl_buf *out, bool compact);

/* Opens an object or array; tl_json_end closes the innermost one. Deeper than
 * TL_JSON_WRITE_DEPTH_MAX, a close too many or a missing key is our bug (assert). */
void tl_json_begin_object(struct tl_json_writer *writer, const char *key);
void tl_json_begin_array(struct tl_json_writer *writer, const char *key);
void tl_json_end(struct tl_json_writer *writer);

void tl_json_add_null(struct tl_json_writer *writer, const char *key);
void tl_json_add_bool(struct tl_json_writer *writer, const char *key, bool value);
void tl_json_add_integer(struct tl_json_writer *writer, const char *key, int64_t value);
void tl_json_add_number(struct tl_json_writer *writer, const char *key, double value);
/* NULL leaves the member out (in an array: null). */
void tl_json_add_string(struct tl_json_writer *writer, const char *key, const char *text);

#endif
