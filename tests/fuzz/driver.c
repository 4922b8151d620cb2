/* Runs a fuzz target without libFuzzer: N mutations of its seeds, repeatable by seed, and
 * looks whether memory grows. Arguments: N, seed of the generator (default 1).
 *
 * P1: no fault, and the resident set grows by at most 1 MB. Under the address sanitizer, whose own
 * memory grows for long, its search for leaks says so instead. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

#define GROWTH_MAX (1 << 20)
#define SEEDS_MAX  64

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

/* Every seed, made once: to make one can take longer than to read it. */
static struct seed {
    uint8_t bytes[FUZZ_INPUT_MAX];
    size_t len;
} seeds[SEEDS_MAX];

static long resident_bytes(void)
{
    long pages = -1;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*d %ld", &pages) != 1)
        pages = -1;
    if (file)
        fclose(file);
    return pages < 0 ? -1 : pages * sysconf(_SC_PAGESIZE);
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
        const struct seed *other = &seeds[below(rng, fuzz_seed_count)];
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
    const struct seed *seed = &seeds[below(rng, fuzz_seed_count)];
    size_t len = seed->len;
    memcpy(bytes, seed->bytes, len);
    for (size_t steps = below(rng, 6); steps > 0; steps--)
        len = mutate_once(rng, bytes, len);
    LLVMFuzzerTestOneInput(bytes, len);
}

/* A seed that is refused as it is would test one refusal, over and over. */
static bool make_seeds(void)
{
    MUST(fuzz_seed_count <= SEEDS_MAX);
    for (unsigned i = 0; i < fuzz_seed_count; i++) {
        unsigned long before = fuzz_accepted;
        seeds[i].len = fuzz_seed(i, seeds[i].bytes);
        LLVMFuzzerTestOneInput(seeds[i].bytes, seeds[i].len);
        if (fuzz_accepted == before) {
            fprintf(stderr, "seed %u is refused\n", i);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 100000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (count < 2) {
        fprintf(stderr, "usage: %s MUTATIONS(> 1) [SEED]\n", argv[0]);
        return 2;
    }
    if (!make_seeds())
        return 1;
    struct tl_random rng;
    tl_random_seed(&rng, seed);
    int64_t begin_ns = tl_now_ns();
    long before = 0;
    for (long i = 0; i < count; i++) {
        if (i == count / 2)
            before = resident_bytes();
        run_mutation(&rng);
    }
    long grown = resident_bytes() - before;
    printf("%ld mutations of %u seeds (seed %llu) in %.1f s, %lu messages accepted, resident set "
           "grew by %ld bytes\n",
           count, fuzz_seed_count, (unsigned long long)seed, (double)(tl_now_ns() - begin_ns) / 1e9,
           fuzz_accepted, grown);
    if (!SANITIZED && (before < 0 || grown > GROWTH_MAX)) {
        fprintf(stderr, "the resident set grew by more than %d bytes\n", GROWTH_MAX);
        return 1;
    }
    return 0;
}
