/* The seal of datagrams: SipHash as published, and what it lets through. */
#include <criterion/criterion.h>
#include <string.h>

#include "tightlink/engine/udp_wire.h"
#include "udp_datagram.h"
#include "udp_seal.h"

/* The vector of the paper (Aumasson and Bernstein 2012, appendix A). */
Test(udp_seal, is_siphash_2_4)
{
    uint8_t key[UDP_SEAL_KEY_SIZE], text[15];
    struct udp_seal seal;
    for (unsigned i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)i;
    memcpy(text, key, sizeof text);
    udp_seal_init(&seal, key);
    cr_expect_eq(udp_seal_of(&seal, text, sizeof text), UINT64_C(0xa129ca6149be45e5));
}

Test(udp_seal, without_the_key_no_bit_of_a_head_can_be_changed)
{
    static const uint8_t key[UDP_SEAL_KEY_SIZE] = {1}, other_key[UDP_SEAL_KEY_SIZE] = {2};
    struct udp_seal seal, other, none = {.on = false};
    struct tl_wire_udp_feedback feedback = {.cookie = 7, .test_id = 1, .received_count = 3}, back;
    uint8_t bytes[TL_WIRE_UDP_FEEDBACK_SIZE], copy[sizeof bytes];
    udp_seal_init(&seal, key);
    udp_seal_init(&other, other_key);
    (void)tl_wire_encode_udp_feedback(&feedback, bytes);
    udp_seal_turn(&seal, bytes, sizeof bytes);
    struct udp_seal wrong[] = {other, none};
    for (unsigned i = 0; i < 2; i++) {
        memcpy(copy, bytes, sizeof copy);
        udp_seal_turn(&wrong[i], copy, sizeof copy);
        cr_expect_neq(tl_wire_decode_udp_feedback(copy, sizeof copy, &back, NULL), TL_OK);
    }
    udp_seal_turn(&seal, bytes, sizeof bytes);
    cr_assert_eq(tl_wire_decode_udp_feedback(bytes, sizeof bytes, &back, NULL), TL_OK);
    udp_seal_turn(&seal, bytes, sizeof bytes);
    /* A forger knows a sealed datagram and may change it, with what its CRC changes by. */
    for (unsigned bit = 0; bit < sizeof bytes * 8; bit++) {
        if (bit / 8 - UDP_CRC_AT < 4)
            continue;
        uint8_t was[sizeof bytes], forged[sizeof bytes];
        memcpy(was, bytes, sizeof was);
        memset(was + UDP_CRC_AT, 0, 4);
        memcpy(forged, was, sizeof forged);
        forged[bit / 8] ^= (uint8_t)(1u << bit % 8);
        uint32_t change = udp_crc32c(UDP_CRC_BEGIN, was, sizeof was) ^
                          udp_crc32c(UDP_CRC_BEGIN, forged, sizeof forged);
        udp_put32(forged + UDP_CRC_AT, udp_get32(bytes + UDP_CRC_AT) ^ change);
        udp_seal_turn(&seal, forged, sizeof forged);
        cr_expect_neq(tl_wire_decode_udp_feedback(forged, sizeof forged, &back, NULL), TL_OK,
                      "bit %u", bit);
    }
}
