/* Secure and seeded randomness, ULIDs. */
#include "tightlink/base/random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "tightlink/base/time.h"

enum tl_status tl_random_secure(void *ret_bytes, size_t len)
{
    unsigned char *p = ret_bytes;
    while (len) {
        ssize_t n = getrandom(p, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return TL_IO;
        p += n;
        len -= (size_t)n;
    }
    return TL_OK;
}

/* splitmix64 spreads a small seed over the whole state. */
void tl_random_seed(struct tl_random *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = (seed += UINT64_C(0x9e3779b97f4a7c15));
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        rng->s[i] = z ^ (z >> 31);
    }
}

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t tl_random_next(struct tl_random *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

double tl_random_unit(struct tl_random *rng)
{
    return (double)(tl_random_next(rng) >> 11) * 0x1.0p-53;
}

void tl_random_fill(struct tl_random *rng, void *ret_bytes, size_t len)
{
    unsigned char *p = ret_bytes;
    while (len) {
        uint64_t word = tl_random_next(rng);
        size_t n = len < sizeof word ? len : sizeof word;
        memcpy(p, &word, n);
        p += n;
        len -= n;
    }
}

enum tl_status tl_ulid_make(char ret_text[TL_ULID_SIZE])
{
    static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    unsigned char raw[10];
    enum tl_status status = tl_random_secure(raw, sizeof raw);
    if (status != TL_OK)
        return status;
    uint64_t ms = (uint64_t)(tl_realtime_ns() / TL_NS_PER_MS);
    for (int i = 9; i >= 0; i--, ms >>= 5)
        ret_text[i] = alphabet[ms & 31];
    for (int i = 0; i < 16; i++) {
        unsigned bit = (unsigned)i * 5, byte = bit / 8, shift = bit % 8;
        unsigned word = (unsigned)raw[byte] << 8 | (byte + 1 < sizeof raw ? raw[byte + 1] : 0u);
        ret_text[10 + i] = alphabet[(word >> (11 - shift)) & 31];
    }
    ret_text[26] = '\0';
    return TL_OK;
}
