/* CRC32C (Castagnoli; RFC 3720 appendix B.4; iSCSI, SCTP), reflected polynomial 0x82f63b78.
 *
 * The functions work on the register as it is: begin with UDP_CRC_BEGIN, turn the bits of
 * the last result (~crc). By the processor's own instruction where it has one (SSE4.2,
 * looked for at run time), else by tables. Any thread. Private to the engine. */
#ifndef TL_ENGINE_UDP_CRC_H
#define TL_ENGINE_UDP_CRC_H

#include <stddef.h>
#include <stdint.h>

#define UDP_CRC_BEGIN UINT32_C(0xffffffff)

uint32_t udp_crc32c(uint32_t crc, const void *bytes, size_t len);
/* The same by tables, for comparison in tests. */
uint32_t udp_crc32c_by_table(uint32_t crc, const void *bytes, size_t len);

/* What becomes of a register over len bytes, as far as it does not depend on them: the
 * register is linear in its begin and in the bytes, so
 *     crc(a, bytes) = shift(a) ^ crc(0, bytes),
 * and a head in front of a payload whose crc(0, …) is known costs the head alone. */
struct udp_crc_shift {
    uint32_t table[4][256];
};

void udp_crc_shift_init(struct udp_crc_shift *ret_shift, size_t len);

static inline uint32_t udp_crc_shift(const struct udp_crc_shift *shift, uint32_t crc)
{
    return shift->table[0][crc & 255] ^ shift->table[1][crc >> 8 & 255] ^
           shift->table[2][crc >> 16 & 255] ^ shift->table[3][crc >> 24];
}

#endif
