/* Runs a fuzz target without libFuzzer: replays its kept corpus, then makes N mutations of it and
 * of the target's seeds, repeatable by seed, and looks whether memory grows.
 *
 *     fuzz-TARGET N [SEED [CORPUS]]   N 0: replays alone. CORPUS: a file, one input a line in hex
 *     fuzz-TARGET --seeds             prints the target's seeds in that form
 *
 * P1: no fault, and the memory that is held grows by at most 1 MB: what was allocated and not
 * freed, since a kernel that takes back idle pages makes the resident set grow and shrink by
 * itself. Under the address sanitizer, whose own memory grows for long, its search for leaks says
 * so instead. */
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

#define GROWTH_MAX (1 << 20)
#define INPUTS_MAX 4096

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
/* Freed memory would be kept for long, which is not growth of ours. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=1:detect_leaks=1";
}
#else
#define SANITIZED false
#endif

/* Seeds, made once, since to make one can take longer than to read it, and behind them what the
 * corpus keeps. */
static struct input {
    uint8_t *bytes;
    size_t len;
} inputs[INPUTS_MAX];
static size_t input_count;

/* Allocated and not freed, in all arenas and mapped blocks. */
static long held_bytes(void)
{
    if (fuzz_rest)
        fuzz_rest();
#ifdef __GLIBC__
    struct mallinfo2 all = mallinfo2();
    return (long)(all.uordblks + all.hblkhd);
#else
    return 0; /* musl does not tell */
#endif
}

static size_t below(struct tl_random *rng, size_t bound)
{
    return bound ? (size_t)(tl_random_next(rng) % bound) : 0;
}

/* Numbers at the edges of what fits, in 1 to 8 bytes, big-endian. */
static void put_edge(struct tl_random *rng, uint8_t *bytes, size_t len)
{
    static const uint64_t edges[] = {0,          1,
                                     0x7f,       0x80,
                                     0xff,       0x7fff,
                                     0x8000,     0xffff,
                                     0x7fffffff, 0x80000000,
                                     0xffffffff, INT64_MAX,
                                     UINT64_MAX, UINT64_C(0x7ff8000000000000)};
    uint64_t edge = edges[below(rng, sizeof edges / sizeof *edges)];
    size_t width = (size_t)1 << below(rng, 4);
    size_t at = below(rng, len);
    for (size_t i = 0; i < width && at + i < len; i++)
        bytes[at + i] = (uint8_t)(edge >> 8 * (width - 1 - i));
}

static size_t mutate_once(struct tl_random *rng, uint8_t *bytes, size_t len)
{
    size_t at = below(rng, len), count = 1 + below(rng, 16);
    switch (below(rng, 8)) {
    case 0:
        bytes[at] ^= (uint8_t)(1u << below(rng, 8));
        return len;
    case 1:
        bytes[at] = (uint8_t)tl_random_next(rng);
        return len;
    case 2: /* cut */
        return at ? at : 1;
    case 3: /* take out */
        count = count < len - at ? count : len - at;
        memmove(bytes + at, bytes + at + count, len - at - count);
        return len - count ? len - count : 1;
    case 4: /* put in */
        if (len + count > FUZZ_INPUT_MAX)
            return len;
        memmove(bytes + at + count, bytes + at, len - at);
        tl_random_fill(rng, bytes + at, count);
        return len + count;
    case 5: { /* another seed behind it: frames that follow each other */
        const struct input *other = &inputs[below(rng, input_count)];
        if (len + other->len > FUZZ_INPUT_MAX)
            return len;
        memcpy(bytes + len, other->bytes + 1, other->len - 1);
        return len + other->len - 1;
    }
    default:
        put_edge(rng, bytes, len);
        return len;
    }
}

static void run_mutation(struct tl_random *rng)
{
    static uint8_t bytes[FUZZ_INPUT_MAX];
    const struct input *input = &inputs[below(rng, input_count)];
    size_t len = input->len;
    memcpy(bytes, input->bytes, len);
    for (size_t steps = below(rng, 6); steps > 0; steps--)
        len = mutate_once(rng, bytes, len);
    LLVMFuzzerTestOneInput(bytes, len);
}

static void keep(const uint8_t *bytes, size_t len)
{
    MUST(len > 0 && len <= FUZZ_INPUT_MAX && input_count < INPUTS_MAX);
    struct input *input = &inputs[input_count++];
    input->bytes = malloc(len);
    MUST(input->bytes);
    memcpy(input->bytes, bytes, len);
    input->len = len;
}

/* A seed that is refused as it is would test one refusal, over and over. */
static bool make_seeds(void)
{
    static uint8_t bytes[FUZZ_INPUT_MAX];
    for (unsigned i = 0; i < fuzz_seed_count; i++) {
        unsigned long before = fuzz_accepted;
        size_t len = fuzz_seed(i, bytes);
        keep(bytes, len);
        LLVMFuzzerTestOneInput(bytes, len);
        if (fuzz_accepted == before) {
            fprintf(stderr, "seed %u is refused\n", i);
            return false;
        }
    }
    return true;
}

static void print_seeds(void)
{
    for (size_t i = 0; i < input_count; i++) {
        for (size_t at = 0; at < inputs[i].len; at++)
            printf("%02x", inputs[i].bytes[at]);
        printf("\n");
    }
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Every line of a corpus: reads it once as it is, and keeps it for mutations. */
static bool replay(const char *path)
{
    static char line[2 * FUZZ_INPUT_MAX + 2];
    static uint8_t bytes[FUZZ_INPUT_MAX];
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return false;
    }
    while (fgets(line, sizeof line, file)) {
        size_t len = strcspn(line, "\n") / 2;
        for (size_t i = 0; i < len; i++) {
            int high = digit(line[2 * i]), low = digit(line[2 * i + 1]);
            MUST(high >= 0 && low >= 0);
            bytes[i] = (uint8_t)(high << 4 | low);
        }
        keep(bytes, len);
        LLVMFuzzerTestOneInput(bytes, len);
    }
    fclose(file);
    return true;
}

/* The growth of what is held over the second half of so many mutations. */
static long mutate(long count, uint64_t seed)
{
    struct tl_random rng;
    long before = held_bytes();
    tl_random_seed(&rng, seed);
    for (long i = 0; i < count; i++) {
        if (i == count / 2)
            before = held_bytes();
        run_mutation(&rng);
    }
    return held_bytes() - before;
}

int main(int argc, char **argv)
{
    bool only_seeds = argc == 2 && strcmp(argv[1], "--seeds") == 0;
    char *end = NULL;
    long count = argc > 1 && !only_seeds ? strtol(argv[1], &end, 10) : 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (!only_seeds && (argc < 2 || argc > 4 || *end || count < 0)) {
        fprintf(stderr, "usage: %s MUTATIONS [SEED [CORPUS]] | --seeds\n", argv[0]);
        return 2;
    }
    int64_t begin_ns = tl_now_ns();
    if (!make_seeds() || (argc > 3 && !replay(argv[3])))
        return 1;
    if (only_seeds) {
        print_seeds();
        return 0;
    }
    long grown = mutate(count, seed);
    printf("%zu kept inputs, then %ld mutations of them and of %u seeds (seed %llu) in %.1f s, %lu "
           "messages accepted, memory held grew by %ld bytes\n",
           input_count - fuzz_seed_count, count, fuzz_seed_count, (unsigned long long)seed,
           (double)(tl_now_ns() - begin_ns) / 1e9, fuzz_accepted, grown);
    if (!SANITIZED && grown > GROWTH_MAX) {
        fprintf(stderr, "the memory held grew by more than %d bytes\n", GROWTH_MAX);
        return 1;
    }
    return 0;
}
