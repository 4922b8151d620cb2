/* Messages by their tables. */
#include "wire_layout.h"

#include <math.h>

/* --- Members -------------------------------------------------------------------------------- */

/* Unsigned numbers of 1, 2, 4 and 8 bytes; enums and bools are such. */
static uint64_t load(const void *msg, size_t offset, size_t width)
{
    const unsigned char *at = (const unsigned char *)msg + offset;
    uint64_t v64;
    uint32_t v32;
    uint16_t v16;
    switch (width) {
    case 1:
        return *at;
    case 2:
        memcpy(&v16, at, sizeof v16);
        return v16;
    case 4:
        memcpy(&v32, at, sizeof v32);
        return v32;
    default:
        memcpy(&v64, at, sizeof v64);
        return v64;
    }
}

static void store(void *msg, size_t offset, size_t width, uint64_t value)
{
    unsigned char *at = (unsigned char *)msg + offset;
    uint32_t v32 = (uint32_t)value;
    uint16_t v16 = (uint16_t)value;
    switch (width) {
    case 1:
        *at = (unsigned char)value;
        return;
    case 2:
        memcpy(at, &v16, sizeof v16);
        return;
    case 4:
        memcpy(at, &v32, sizeof v32);
        return;
    default:
        memcpy(at, &value, sizeof value);
    }
}

static uint64_t number_of(const struct wire_field *field, const void *msg)
{
    return load(msg, field->offset, field->width);
}

/* How many parts a PART or a LIST has; no more than there is room for. */
static size_t parts_of(const struct wire_field *field, const void *msg)
{
    if (field->kind == WIRE_KIND_PART)
        return 1;
    uint64_t count = load(msg, field->other, field->other_width);
    return count < field->most ? (size_t)count : field->most;
}

size_t wire_layout_size(const struct wire_layout *layout)
{
    size_t size = 0;
    for (size_t i = 0; i < layout->count; i++) {
        const struct wire_field *field = &layout->fields[i];
        size += field->kind == WIRE_KIND_PART ? wire_layout_size(field->part) : field->size;
    }
    return size;
}

/* --- Writing -------------------------------------------------------------------------------- */

static unsigned flags_of(const struct wire_field *field, const void *msg)
{
    unsigned flags = number_of(field, msg) != 0;
    if (field->other_width && load(msg, field->other, field->other_width))
        flags |= 2;
    return flags;
}

static void put_field(const struct wire_field *field, const void *msg, struct wire_out *out)
{
    const char *member = (const char *)msg + field->offset;
    switch (field->kind) {
    case WIRE_KIND_ZERO:
    case WIRE_KIND_CRC:
        put_zero(out, field->size);
        return;
    case WIRE_KIND_CONST:
        put_bytes(out, field->text, field->size);
        return;
    case WIRE_KIND_TYPE:
        put_uint(out, field->low, field->size);
        return;
    case WIRE_KIND_FLAGS:
        put_uint(out, flags_of(field, msg), field->size);
        return;
    case WIRE_KIND_BYTES:
        put_bytes(out, member, field->size);
        return;
    case WIRE_KIND_TEXT:
    case WIRE_KIND_NAME:
        put_text(out, member, field->size);
        return;
    case WIRE_KIND_REST:
        put_bytes(out, member, strnlen(member, field->width - 1u));
        return;
    case WIRE_KIND_PART:
    case WIRE_KIND_LIST:
        for (size_t i = 0; i < parts_of(field, msg); i++)
            wire_put(field->part, member + i * field->stride, out);
        return;
    default:
        put_uint(out, number_of(field, msg), field->size);
    }
}

void wire_put(const struct wire_layout *layout, const void *msg, struct wire_out *out)
{
    for (size_t i = 0; i < layout->count; i++)
        put_field(&layout->fields[i], msg, out);
}

/* --- Reading -------------------------------------------------------------------------------- */

static enum tl_status get_const(const struct wire_layout *layout, const struct wire_field *field,
                                struct wire_in *in, struct tl_error *reterr)
{
    const uint8_t *p = get_bytes(in, field->size);
    if (p && memcmp(p, field->text, field->size) == 0)
        return TL_OK;
    return tl_error_set(reterr, TL_PROTOCOL, "a %s does not begin as one of tightlink",
                        layout->name);
}

/* Stands in front of what another version may have laid out in another way. */
static enum tl_status get_version(const struct wire_field *field, struct wire_in *in, void *msg,
                                  struct tl_error *reterr)
{
    uint64_t version = get_uint(in, field->size);
    store(msg, field->offset, field->width, version);
    if (in->bad || version == TL_WIRE_VERSION)
        return TL_OK;
    return tl_error_set(reterr, TL_VERSION,
                        "the other end speaks version %u of the protocol, this one version %u",
                        (unsigned)version, TL_WIRE_VERSION);
}

static void get_flags(const struct wire_field *field, struct wire_in *in, void *msg)
{
    uint64_t flags = get_uint(in, field->size);
    in->bad |= flags > (field->other_width ? 3 : 1);
    store(msg, field->offset, field->width, flags & 1);
    if (field->other_width)
        store(msg, field->other, field->other_width, flags >> 1 & 1);
}

static void get_rest(const struct wire_field *field, struct wire_in *in, char *ret_text)
{
    size_t left = (size_t)(in->end - in->at);
    in->bad |= left >= field->width || memchr(in->at, 0, left);
    if (!in->bad)
        memcpy(ret_text, get_bytes(in, left), left);
}

/* A list is the last field: what is left must be as long as its count says. */
static enum tl_status get_parts(const struct wire_field *field, struct wire_in *in, void *msg,
                                struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    if (field->kind == WIRE_KIND_LIST)
        in->bad |= (uint64_t)(in->end - in->at) !=
                   load(msg, field->other, field->other_width) * wire_layout_size(field->part);
    for (size_t i = 0; !in->bad && i < parts_of(field, msg) && status == TL_OK; i++)
        status = wire_get(field->part, in, (char *)msg + field->offset + i * field->stride, reterr);
    return status;
}

static void get_field(const struct wire_field *field, struct wire_in *in, void *msg)
{
    char *member = (char *)msg + field->offset;
    const uint8_t *bytes;
    switch (field->kind) {
    case WIRE_KIND_ZERO:
        get_zero(in, field->size);
        return;
    case WIRE_KIND_TYPE:
    case WIRE_KIND_CRC:
        (void)get_bytes(in, field->size);
        return;
    case WIRE_KIND_FLAGS:
        get_flags(field, in, msg);
        return;
    case WIRE_KIND_BYTES:
        bytes = get_bytes(in, field->size);
        if (bytes)
            memcpy(member, bytes, field->size);
        return;
    case WIRE_KIND_TEXT:
    case WIRE_KIND_NAME:
        get_text(in, member, field->size);
        return;
    case WIRE_KIND_REST:
        get_rest(field, in, member);
        return;
    default:
        store(msg, field->offset, field->width, get_uint(in, field->size));
    }
}

enum tl_status wire_get(const struct wire_layout *layout, struct wire_in *in, void *msg,
                        struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    for (size_t i = 0; i < layout->count && status == TL_OK; i++) {
        const struct wire_field *field = &layout->fields[i];
        if (field->kind == WIRE_KIND_CONST)
            status = get_const(layout, field, in, reterr);
        else if (field->kind == WIRE_KIND_VERSION)
            status = get_version(field, in, msg, reterr);
        else if (field->part)
            status = get_parts(field, in, msg, reterr);
        else
            get_field(field, in, msg);
    }
    return status;
}

/* --- Ranges --------------------------------------------------------------------------------- */

static bool is_rate(const struct wire_field *field, const void *msg)
{
    double bps;
    memcpy(&bps, (const char *)msg + field->offset, sizeof bps);
    return isfinite(bps) && bps >= 0 && bps <= WIRE_BPS_MAX && !signbit(bps);
}

/* Names of congestion controls as the kernel's modules have them; nothing else reaches
 * setsockopt. */
static bool is_name(const char *name)
{
    return name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")] == '\0';
}

static bool in_range(const struct wire_field *field, const void *msg)
{
    switch (field->kind) {
    case WIRE_KIND_UINT:
        return number_of(field, msg) >= field->low && number_of(field, msg) <= field->high;
    case WIRE_KIND_INT:
        return (int64_t)number_of(field, msg) >= (int64_t)field->low &&
               (int64_t)number_of(field, msg) <= (int64_t)field->high;
    case WIRE_KIND_LIMITED:
        return number_of(field, msg) >= field->low &&
               tl_limit_holds(field->limit, number_of(field, msg));
    case WIRE_KIND_RATE:
        return is_rate(field, msg);
    case WIRE_KIND_NAME:
        return is_name((const char *)msg + field->offset);
    default:
        return true;
    }
}

static enum tl_status check_parts(const struct wire_field *field, const void *msg,
                                  struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    for (size_t i = 0; i < parts_of(field, msg) && status == TL_OK; i++)
        status =
            wire_check(field->part, (const char *)msg + field->offset + i * field->stride, reterr);
    return status;
}

enum tl_status wire_check(const struct wire_layout *layout, const void *msg,
                          struct tl_error *reterr)
{
    for (size_t i = 0; i < layout->count; i++) {
        const struct wire_field *field = &layout->fields[i];
        enum tl_status status = TL_OK;
        if (field->kind == WIRE_KIND_NAME && !in_range(field, msg))
            status = tl_error_set(reterr, TL_RANGE, "%s: no %s has such a name", layout->name,
                                  field->member);
        else if (!in_range(field, msg))
            status =
                tl_error_set(reterr, TL_RANGE, "%s: %s is out of its range (%llu)", layout->name,
                             field->member, (unsigned long long)number_of(field, msg));
        else if (field->part)
            status = check_parts(field, msg, reterr);
        if (status != TL_OK)
            return status;
    }
    const char *refused = layout->refuse ? layout->refuse(msg) : NULL;
    return refused ? tl_error_set(reterr, TL_RANGE, "%s %s", layout->name, refused) : TL_OK;
}

enum tl_status wire_get_head(const struct wire_layout *layout, struct wire_in *in, void *msg,
                             struct tl_error *reterr)
{
    enum tl_status status = wire_get(layout, in, msg, reterr);
    if (status != TL_OK)
        return status;
    return in->bad ? wire_close(in, layout->name, reterr) : wire_check(layout, msg, reterr);
}

/* --- Frames --------------------------------------------------------------------------------- */

size_t wire_encode(const struct wire_layout *layout, const void *msg,
                   uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct wire_out out = {ret_frame + TL_WIRE_HEADER_SIZE};
    wire_put(layout, msg, &out);
    return wire_seal_frame(ret_frame, layout->type, out.at);
}

enum tl_status wire_decode(const struct wire_layout *layout, const uint8_t *payload, size_t len,
                           void *msg, struct tl_error *reterr)
{
    struct wire_in in = {payload, payload + len, false};
    enum tl_status status = wire_get(layout, &in, msg, reterr);
    if (status == TL_OK)
        status = wire_close(&in, layout->name, reterr);
    return status == TL_OK ? wire_check(layout, msg, reterr) : status;
}
