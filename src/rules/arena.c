/* Chunks of at least 16 KiB, handed out from the newest. */
#include "arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (16 * 1024)

struct tl_arena_chunk {
    struct tl_arena_chunk *next;
    size_t used, size;
    alignas(max_align_t) unsigned char data[];
};

void tl_arena_finish(struct tl_arena *arena)
{
    struct tl_arena_chunk *chunk = arena->chunks;
    while (chunk) {
        struct tl_arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    *arena = (struct tl_arena){0};
}

void *tl_arena_alloc(struct tl_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4) {
        arena->failed = true;
        return NULL;
    }
    bytes = (bytes + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    struct tl_arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->size - chunk->used < bytes) {
        size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        chunk = calloc(1, sizeof *chunk + room);
        if (!chunk) {
            arena->failed = true;
            return NULL;
        }
        chunk->size = room;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    void *result = chunk->data + chunk->used;
    chunk->used += bytes;
    return result;
}

char *tl_arena_copy(struct tl_arena *arena, const char *text, size_t len)
{
    char *copy = tl_arena_alloc(arena, len + 1, 1);
    if (copy)
        memcpy(copy, text, len);
    return copy;
}

char *tl_arena_strdup(struct tl_arena *arena, const char *text)
{
    return tl_arena_copy(arena, text, strlen(text));
}

char *tl_arena_printf(struct tl_arena *arena, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    char *text = n < 0 ? NULL : tl_arena_alloc(arena, (size_t)n + 1, 1);
    if (text)
        vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(args);
    return text;
}
