/* What the document holds, as tables: one row a member, for its writer (json.c), its reader
 * (read.c) and the copy that leaves (redact_run.c). A member that is added to a record gets one
 * row in layout.c; private to src/document. */
#ifndef TL_DOCUMENT_LAYOUT_H
#define TL_DOCUMENT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "tightlink/base/json.h"
#include "tightlink/base/json_write.h"
#include "tightlink/facts/run.h"
#include "tightlink/rules/findings.h"

enum layout_kind {
    LAYOUT_TEXT,    /* char[size]; absent where it is "" */
    LAYOUT_TEXTS,   /* char[max][size], the first count of them */
    LAYOUT_STRING,  /* char *, that its record owns; absent where it is "" or NULL */
    LAYOUT_STRINGS, /* char **, count of them */
    LAYOUT_COUNT,   /* long long, 0 or more */
    LAYOUT_INT,     /* int, 0 to a million */
    LAYOUT_NUMBER,  /* double; absent where it is not finite, NAN where it is absent */
    LAYOUT_WHOLE,   /* the same, written without a fraction */
    LAYOUT_BOOL,
    LAYOUT_WORD,   /* an enum, by the names of its values */
    LAYOUT_CHOICE, /* char[size], one of words */
    LAYOUT_FACTS,  /* struct tl_fact_key *, count of them */
    LAYOUT_GROUP,  /* an object whose members are of the same record */
    LAYOUT_LIST,   /* records of sub, inside this one: the first count of at most max */
    LAYOUT_ARRAY,  /* records of sub, in memory of their own: count of them */
    LAYOUT_TRIED,  /* the record of sub, of the run, that tried this finding's remedy */
    LAYOUT_OTHER   /* by functions of its own */
};

enum layout_flag {
    LAYOUT_NEEDED = 1,   /* a document without it is refused; a text is written even if "" */
    LAYOUT_NULLABLE = 2, /* null rather than absent */
    LAYOUT_SPARSE = 4,   /* absent where it is 0, no or empty */
    LAYOUT_UNREAD = 8,   /* judged or computed anew */
    LAYOUT_SIGNED = 16   /* a number that may be below 0 */
};

/* How a text goes into a document that leaves. */
enum layout_mask {
    LAYOUT_MASK_TEXT, /* what it tells is masked inside it */
    LAYOUT_MASK_NONE, /* of a closed form or set */
    LAYOUT_MASK_HOST, /* as a whole, one name */
    LAYOUT_MASK_PATH,
    LAYOUT_MASK_SEGMENT_ID, /* ours stay */
    LAYOUT_MASK_SEGMENT_NAME
};

/* What writers look at beside their own record. */
struct layout_context {
    const struct tl_run *run;
    const struct tl_facts *facts;
};

typedef void layout_write(struct tl_json_writer *w, const char *key, const void *member,
                          const struct layout_context *context);
typedef enum tl_status layout_read(const struct tl_json_at *object, const char *key, void *member,
                                   struct tl_error *reterr);

struct layout {
    const struct layout_field *fields;
    size_t count;
    size_t size; /* of a record, bytes */
};

struct layout_field {
    const char *key; /* NULL: not in the document, but copied with the record */
    enum layout_kind kind;
    unsigned flags; /* of enum layout_flag */
    enum layout_mask mask;
    size_t offset, size;               /* of the member in its record, of one text, bytes */
    size_t count_offset, count_size;   /* of an int, long long or size_t */
    size_t max;                        /* 0: as many as count says */
    bool (*when)(const void *record);  /* NULL: always written */
    const char *(*name)(size_t value); /* of LAYOUT_WORD, for values below word_count */
    const char *const *words;          /* of LAYOUT_CHOICE */
    size_t word_count;
    const struct layout *sub;
    layout_write *write;
    layout_read *read; /* NULL: LAYOUT_UNREAD */
};

extern const struct layout layout_run;      /* struct tl_run: the object "run" */
extern const struct layout layout_measured; /* struct tl_run: lists of the document itself */
extern const struct layout layout_verified; /* struct tl_verified_record, inside its finding */
extern const struct layout layout_verdict;  /* struct tl_verdict */
extern const struct layout layout_judged;   /* struct tl_findings: lists of the document itself */

/* How many of a LIST, ARRAY, TEXTS, STRINGS or FACTS the record has. */
size_t layout_count(const struct layout_field *field, const void *record);

/* Members that are no plain value (members.c). */
layout_write layout_write_directions, layout_write_goal_lines, layout_write_values,
    layout_write_span, layout_write_at_least, layout_write_hit, layout_write_planned;
layout_read layout_read_directions, layout_read_at_least, layout_read_planned;
/* A whole number of nanoseconds or bytes; absent when unknown. */
void layout_add_whole(struct tl_json_writer *w, const char *key, double value);
enum tl_status layout_read_direction(const struct tl_json_at *at, enum tl_direction *ret_direction,
                                     struct tl_error *reterr);

#endif
