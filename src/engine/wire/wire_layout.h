/* One description of a message for both ways: a table of its fields, in their order on the wire,
 * each with its place in the message's struct, its range and its meaning. Encoder, decoder and
 * doc/wire.md are made of it. Private to this room.
 *
 * A message's file has, with MSG defined as the struct's name without "struct":
 *
 *     static const struct wire_field busy_fields[] = {
 *         UINT(place, 2, 1, 1024, "place in the queue, 1 = next"),
 *         ZERO(2),
 *         ...
 *     };
 *     WIRE_FRAME(busy, BUSY, NULL)
 *
 * What is not well formed (lengths, reserved bytes, texts) is TL_PROTOCOL, a number out of its
 * range TL_RANGE, another version TL_VERSION; the sentence names the field. */
#ifndef TL_ENGINE_WIRE_LAYOUT_H
#define TL_ENGINE_WIRE_LAYOUT_H

#include "tightlink/engine/limits.h"
#include "tightlink/engine/udp_wire.h"
#include "wire_pack.h"

enum wire_kind {
    WIRE_KIND_ZERO,    /* reserved */
    WIRE_KIND_CONST,   /* text: bytes that are always the same (a magic) */
    WIRE_KIND_TYPE,    /* low: the type of a datagram; tl_wire_udp_type() has looked at it */
    WIRE_KIND_CRC,     /* of a datagram: zero until it is sealed, not read here */
    WIRE_KIND_VERSION, /* TL_VERSION unless TL_WIRE_VERSION, whatever follows */
    WIRE_KIND_UINT,    /* low to high */
    WIRE_KIND_INT,     /* two's complement, low (as int64_t) to high */
    WIRE_KIND_LIMITED, /* at least low, and what a limit holds (tl_limit_holds) */
    WIRE_KIND_RATE,    /* a double, 0 to WIRE_BPS_MAX */
    WIRE_KIND_FLAGS,   /* bit 0 and bit 1 into bools; the rest is reserved */
    WIRE_KIND_BYTES,   /* as they are: tokens, addresses */
    WIRE_KIND_TEXT,    /* fixed size: get_text() */
    WIRE_KIND_NAME,    /* the same, [a-z0-9_-] alone */
    WIRE_KIND_REST,    /* a sentence to the end, without zero bytes */
    WIRE_KIND_PART,    /* another layout, inside */
    WIRE_KIND_LIST,    /* as many parts as a member counts */
};

/* Nobody's disk moves more, and no test lasts longer: what is above is not believed. */
#define WIRE_BPS_MAX   1e15
#define WIRE_NS_MAX    (INT64_C(3600) * 1000000000)
#define WIRE_BYTES_MAX ((uint64_t)1 << 60)

struct wire_layout;

struct wire_field {
    enum wire_kind kind;
    uint8_t size;           /* on the wire; PART, LIST, REST: 0 */
    uint16_t offset, width; /* of the member */
    const char *member;     /* its name, for sentences */
    uint64_t low, high;
    enum tl_limit limit;            /* LIMITED */
    const struct wire_layout *part; /* PART, LIST */
    uint16_t other, other_width; /* LIST: the member that counts. FLAGS: of bit 1; width 0: none */
    uint16_t stride, most;       /* LIST */
    const char *text;            /* meaning, as doc/wire.md has it; CONST: the bytes */
};

struct wire_layout {
    const char *name; /* "READY" */
    uint8_t type;
    const struct wire_field *fields;
    size_t count;
    /* What a single field's range cannot say: a sentence, or NULL. NULL: nothing. */
    const char *(*refuse)(const void *msg);
};

#define WIRE_MEMBER(name_)                                                                         \
    .member = #name_, .offset = offsetof(struct MSG, name_),                                       \
    .width = sizeof(((struct MSG *)0)->name_)
#define ZERO(size_)                                                                                \
    {                                                                                              \
        .kind = WIRE_KIND_ZERO, .size = size_, .text = "zero"                                      \
    }
#define CONST(bytes_)                                                                              \
    {                                                                                              \
        .kind = WIRE_KIND_CONST, .size = sizeof(bytes_) - 1, .text = bytes_                        \
    }
#define TYPE(type_)                                                                                \
    {                                                                                              \
        .kind = WIRE_KIND_TYPE, .size = 1, .low = type_                                            \
    }
#define CRC(meaning_)                                                                              \
    {                                                                                              \
        .kind = WIRE_KIND_CRC, .size = 4, .text = meaning_                                         \
    }
#define VERSION(member_, meaning_)                                                                 \
    {                                                                                              \
        .kind = WIRE_KIND_VERSION, .size = 2, WIRE_MEMBER(member_), .text = meaning_               \
    }
#define UINT(member_, size_, low_, high_, meaning_)                                                \
    {                                                                                              \
        .kind = WIRE_KIND_UINT, .size = size_, WIRE_MEMBER(member_), .low = low_, .high = high_,   \
        .text = meaning_                                                                           \
    }
#define ANY(member_, size_, meaning_) UINT(member_, size_, 0, UINT64_MAX, meaning_)
#define INT(member_, low_, high_, meaning_)                                                        \
    {                                                                                              \
        .kind = WIRE_KIND_INT, .size = 8, WIRE_MEMBER(member_), .low = (uint64_t)(low_),           \
        .high = (uint64_t)(high_), .text = meaning_                                                \
    }
#define LIMITED(member_, size_, low_, limit_, meaning_)                                            \
    {                                                                                              \
        .kind = WIRE_KIND_LIMITED, .size = size_, WIRE_MEMBER(member_), .low = low_,               \
        .limit = TL_LIMIT_##limit_, .text = meaning_                                               \
    }
#define RATE(member_, meaning_)                                                                    \
    {                                                                                              \
        .kind = WIRE_KIND_RATE, .size = 8, WIRE_MEMBER(member_), .text = meaning_                  \
    }
#define FLAG(member_, meaning_)                                                                    \
    {                                                                                              \
        .kind = WIRE_KIND_FLAGS, .size = 1, WIRE_MEMBER(member_), .text = meaning_                 \
    }
#define FLAGS(bit0_, bit1_, meaning_)                                                              \
    {                                                                                              \
        .kind = WIRE_KIND_FLAGS, .size = 1, WIRE_MEMBER(bit0_),                                    \
        .other = offsetof(struct MSG, bit1_), .other_width = 1, .text = meaning_                   \
    }
#define BYTES(member_, meaning_)                                                                   \
    {                                                                                              \
        .kind = WIRE_KIND_BYTES, .size = sizeof(((struct MSG *)0)->member_), WIRE_MEMBER(member_), \
        .text = meaning_                                                                           \
    }
#define TEXT(member_, meaning_)                                                                    \
    {                                                                                              \
        .kind = WIRE_KIND_TEXT, .size = sizeof(((struct MSG *)0)->member_), WIRE_MEMBER(member_),  \
        .text = meaning_                                                                           \
    }
#define NAME(member_, meaning_)                                                                    \
    {                                                                                              \
        .kind = WIRE_KIND_NAME, .size = sizeof(((struct MSG *)0)->member_), WIRE_MEMBER(member_),  \
        .text = meaning_                                                                           \
    }
#define REST(member_, meaning_)                                                                    \
    {                                                                                              \
        .kind = WIRE_KIND_REST, WIRE_MEMBER(member_), .text = meaning_                             \
    }
#define PART(member_, layout_, meaning_)                                                           \
    {                                                                                              \
        .kind = WIRE_KIND_PART, WIRE_MEMBER(member_), .part = &layout_, .text = meaning_           \
    }
#define LIST(member_, count_, layout_, meaning_)                                                   \
    {                                                                                              \
        .kind = WIRE_KIND_LIST, WIRE_MEMBER(member_), .part = &layout_,                            \
        .other = offsetof(struct MSG, count_), .other_width = sizeof(((struct MSG *)0)->count_),   \
        .stride = sizeof(((struct MSG *)0)->member_[0]),                                           \
        .most = sizeof(((struct MSG *)0)->member_) / sizeof(((struct MSG *)0)->member_[0]),        \
        .text = meaning_                                                                           \
    }

#define WIRE_LAYOUT(name_, type_, text_, refuse_)                                                  \
    const struct wire_layout wire_layout_##name_ = {                                               \
        text_, type_, name_##_fields, sizeof name_##_fields / sizeof *name_##_fields, refuse_};

/* The layout of a frame, its encoder and its decoder. */
#define WIRE_FRAME(name_, NAME_, refuse_)                                                          \
    WIRE_LAYOUT(name_, TL_WIRE_##NAME_, #NAME_, refuse_)                                           \
    size_t tl_wire_encode_##name_(const struct tl_wire_##name_ *msg,                               \
                                  uint8_t ret_frame[TL_WIRE_FRAME_MAX])                            \
    {                                                                                              \
        return wire_encode(&wire_layout_##name_, msg, ret_frame);                                  \
    }                                                                                              \
    enum tl_status tl_wire_decode_##name_(const uint8_t *payload, size_t len,                      \
                                          struct tl_wire_##name_ *ret_msg,                         \
                                          struct tl_error *reterr)                                 \
    {                                                                                              \
        struct tl_wire_##name_ msg = {0};                                                          \
        enum tl_status status = wire_decode(&wire_layout_##name_, payload, len, &msg, reterr);     \
        if (status == TL_OK)                                                                       \
            *ret_msg = msg;                                                                        \
        return status;                                                                             \
    }

#define WIRE_DECLARE(name_, NAME_) extern const struct wire_layout wire_layout_##name_;
TL_WIRE_MESSAGE_MAP(WIRE_DECLARE)
TL_WIRE_UDP_MESSAGE_MAP(WIRE_DECLARE)
#undef WIRE_DECLARE
extern const struct wire_layout wire_layout_total, wire_layout_disk_times, wire_layout_sum,
    wire_layout_samples, wire_layout_readings, wire_layout_udp_prove, wire_layout_udp_probe,
    wire_layout_udp_reply, wire_layout_udp_data, wire_layout_udp_feedback,
    wire_layout_udp_path_probe, wire_layout_udp_path_answer, wire_layout_udp_path_report;

/* Bytes of a layout on the wire, without REST and lists. */
size_t wire_layout_size(const struct wire_layout *layout);

void wire_put(const struct wire_layout *layout, const void *msg, struct wire_out *out);
/* Reads into *msg, which begins as zero. TL_PROTOCOL for a magic, TL_VERSION; all else that is not
 * well formed sets in->bad. */
enum tl_status wire_get(const struct wire_layout *layout, struct wire_in *in, void *msg,
                        struct tl_error *reterr) TL_WARN_UNUSED;
/* TL_RANGE. */
enum tl_status wire_check(const struct wire_layout *layout, const void *msg,
                          struct tl_error *reterr) TL_WARN_UNUSED;

/* Both: the head of a message whose ranges say how to read what follows. */
enum tl_status wire_get_head(const struct wire_layout *layout, struct wire_in *in, void *msg,
                             struct tl_error *reterr) TL_WARN_UNUSED;

/* A whole frame: its length. */
size_t wire_encode(const struct wire_layout *layout, const void *msg,
                   uint8_t ret_frame[TL_WIRE_FRAME_MAX]);
/* Its payload, to the last byte. msg begins as zero and is of no use after a failure. */
enum tl_status wire_decode(const struct wire_layout *layout, const uint8_t *payload, size_t len,
                           void *msg, struct tl_error *reterr) TL_WARN_UNUSED;

/* Writes the head of a datagram (the caller has padded behind it) and seals it by its CRC. */
void wire_seal_datagram(const struct wire_layout *layout, const void *msg, uint8_t *datagram,
                        size_t len);
/* Type, CRC, head and ranges of a datagram; what follows the head is padding. */
enum tl_status wire_open_datagram(const struct wire_layout *layout, const uint8_t *datagram,
                                  size_t len, void *msg, struct tl_error *reterr) TL_WARN_UNUSED;

/* Those with a table in doc/wire.md. */
struct wire_documented {
    const struct wire_layout *layout;
    const char *heading; /* the line before the table begins so; NULL: "### NAME" */
};
extern const struct wire_documented wire_documented[];
extern const size_t wire_documented_count;

#endif
