/* CRC32C by instruction or by tables. */
#include "udp_crc.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL UINT32_C(0x82f63b78)

static uint32_t tables[8][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        tables[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int t = 1; t < 8; t++)
            tables[t][i] = tables[t - 1][i] >> 8 ^ tables[0][tables[t - 1][i] & 255];
}

/* Eight bytes at a time (Kounavis and Berry 2005, "slicing by 8"). */
uint32_t udp_crc32c_by_table(uint32_t crc, const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    (void)pthread_once(&tables_once, make_tables);
    for (; len >= 8; p += 8, len -= 8) {
        crc ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        crc = tables[7][crc & 255] ^ tables[6][crc >> 8 & 255] ^ tables[5][crc >> 16 & 255] ^
              tables[4][crc >> 24] ^ tables[3][p[4]] ^ tables[2][p[5]] ^ tables[1][p[6]] ^
              tables[0][p[7]];
    }
    for (; len > 0; p++, len--)
        crc = crc >> 8 ^ tables[0][(crc ^ *p) & 255];
    return crc;
}

#if defined(__x86_64__)
/* The instruction gives its result after three cycles, but begins one each cycle: three parts of
 * the bytes go side by side and are put together by shifting. Long parts for blocks of a file,
 * short ones for datagrams. */
#define LANE_LONG_BYTES  4096
#define LANE_SHORT_BYTES 256

static struct udp_crc_shift long_shift, short_shift;
static pthread_once_t shifts_once = PTHREAD_ONCE_INIT;

static void make_shifts(void)
{
    udp_crc_shift_init(&long_shift, LANE_LONG_BYTES);
    udp_crc_shift_init(&short_shift, LANE_SHORT_BYTES);
}

static inline uint64_t word_at(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

__attribute__((target("sse4.2"))) static uint32_t
by_lanes(uint32_t crc, const uint8_t *p, size_t lane_bytes, const struct udp_crc_shift *shift)
{
    uint64_t first = crc, second = 0, third = 0;
    for (const uint8_t *end = p + lane_bytes; p < end; p += 8) {
        first = __builtin_ia32_crc32di(first, word_at(p));
        second = __builtin_ia32_crc32di(second, word_at(p + lane_bytes));
        third = __builtin_ia32_crc32di(third, word_at(p + 2 * lane_bytes));
    }
    crc = udp_crc_shift(shift, (uint32_t)first) ^ (uint32_t)second;
    return udp_crc_shift(shift, crc) ^ (uint32_t)third;
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const void *bytes,
                                                                 size_t len)
{
    const uint8_t *p = bytes;
    if (len >= (size_t)3 * LANE_SHORT_BYTES) /* making the tables needs less than that */
        (void)pthread_once(&shifts_once, make_shifts);
    for (; len >= (size_t)3 * LANE_LONG_BYTES; p += 3 * LANE_LONG_BYTES, len -= 3 * LANE_LONG_BYTES)
        crc = by_lanes(crc, p, LANE_LONG_BYTES, &long_shift);
    for (; len >= (size_t)3 * LANE_SHORT_BYTES;
         p += 3 * LANE_SHORT_BYTES, len -= 3 * LANE_SHORT_BYTES)
        crc = by_lanes(crc, p, LANE_SHORT_BYTES, &short_shift);
    uint64_t wide = crc;
    for (; len >= 8; p += 8, len -= 8)
        wide = __builtin_ia32_crc32di(wide, word_at(p));
    crc = (uint32_t)wide;
    for (; len > 0; p++, len--)
        crc = __builtin_ia32_crc32qi(crc, *p);
    return crc;
}

uint32_t udp_crc32c(uint32_t crc, const void *bytes, size_t len)
{
    return __builtin_cpu_supports("sse4.2") ? by_instruction(crc, bytes, len)
                                            : udp_crc32c_by_table(crc, bytes, len);
}
#else
uint32_t udp_crc32c(uint32_t crc, const void *bytes, size_t len)
{
    return udp_crc32c_by_table(crc, bytes, len);
}
#endif

void udp_crc_shift_init(struct udp_crc_shift *ret_shift, size_t len)
{
    static const uint8_t zero[256];
    uint32_t column[32];
    for (int bit = 0; bit < 32; bit++) {
        uint32_t crc = UINT32_C(1) << bit;
        for (size_t left = len; left > 0;) {
            size_t piece = left < sizeof zero ? left : sizeof zero;
            crc = udp_crc32c(crc, zero, piece);
            left -= piece;
        }
        column[bit] = crc;
    }
    for (int t = 0; t < 4; t++)
        for (uint32_t value = 0; value < 256; value++) {
            uint32_t sum = 0;
            for (int bit = 0; bit < 8; bit++)
                sum ^= value >> bit & 1 ? column[8 * t + bit] : 0;
            ret_shift->table[t][value] = sum;
        }
}
