/* Memory that is given back all at once: what a rule set or a judgement owns.
 *
 * A failed allocation is remembered, so that a builder checks once at its end.
 * Private to the rules layer. */
#ifndef TL_RULES_ARENA_H
#define TL_RULES_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct tl_arena {
    struct tl_arena_chunk *chunks; /* newest first; owned */
    bool failed;
};

void tl_arena_finish(struct tl_arena *arena);

/* Zeroed, aligned for any type; NULL (and arena->failed) when out of memory. */
void *tl_arena_alloc(struct tl_arena *arena, size_t count, size_t size);
#define TL_ARENA_NEW(arena, type)          ((type *)tl_arena_alloc(arena, 1, sizeof(type)))
#define TL_ARENA_ARRAY(arena, count, type) ((type *)tl_arena_alloc(arena, count, sizeof(type)))

/* A NUL-terminated copy; NULL when out of memory. */
char *tl_arena_copy(struct tl_arena *arena, const char *text, size_t len);
char *tl_arena_strdup(struct tl_arena *arena, const char *text);
char *tl_arena_printf(struct tl_arena *arena, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
