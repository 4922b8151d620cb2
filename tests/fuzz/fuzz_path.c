/* What strangers' packets become before anything else sees them: a saved SYN, and a message of
 * the error queue. The first byte chooses. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "path_error.h"
#include "path_syn.h"
#include "tightlink/engine/wire.h"

unsigned long fuzz_accepted;

static void one_syn(const uint8_t *bytes, size_t len)
{
    struct tl_wire_syn_report report = {0};
    if (path_syn_parse(bytes, len, &report)) {
        if (!report.saved)
            abort();
        fuzz_accepted++;
    } else if (report.saved || report.options || report.ttl) {
        abort(); /* refused means untouched */
    }
}

/* The control message comes from the kernel, but what is in it comes from a router: lengths
 * hold, contents need not. */
static void one_error(const uint8_t *bytes, size_t len)
{
    union {
        struct cmsghdr align;
        uint8_t bytes[256];
    } control = {0};
    size_t body = len > 128 ? 128 : len;
    control.align.cmsg_level = len & 1 ? IPPROTO_IP : IPPROTO_IPV6;
    control.align.cmsg_type = len & 1 ? IP_RECVERR : IPV6_RECVERR;
    control.align.cmsg_len = CMSG_LEN(body);
    memcpy(CMSG_DATA(&control.align), bytes, body);
    struct iovec iov = {(void *)bytes, len};
    struct msghdr msg = {.msg_control = &control,
                         .msg_controllen = CMSG_SPACE(body),
                         .msg_iov = &iov,
                         .msg_iovlen = 1};
    struct path_error error;
    if (!path_error_parse(&msg, len, 1, &error))
        return;
    if (error.quote_len > sizeof error.quote || error.quote_len > len)
        abort();
    fuzz_accepted++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t *copy = malloc(size - 1 ? size - 1 : 1);
    if (!copy)
        abort();
    memcpy(copy, data + 1, size - 1);
    if (data[0] & 1)
        one_error(copy, size - 1);
    else
        one_syn(copy, size - 1);
    free(copy);
    return 0;
}

const unsigned fuzz_seed_count = 3;

size_t fuzz_seed(unsigned number, uint8_t *bytes)
{
    static const uint8_t tcp[40] = {0xc3, 0x9c, 0x15, 0x23, 0, 0, 0, 1, 0, 0,    0, 0, 0xa0, 2,
                                    4,    0,    0,    0,    0, 0, 2, 4, 5, 0xb4, 4, 2, 8,    10,
                                    1,    2,    3,    4,    0, 0, 0, 0, 1, 3,    3, 7};
    bytes[0] = number == 2;
    memset(bytes + 1, 0, 200);
    if (number == 0) {
        bytes[1] = 0x45;
        bytes[9] = 64;
        bytes[10] = IPPROTO_TCP;
        memcpy(bytes + 21, tcp, sizeof tcp);
        return 61;
    }
    if (number == 1) {
        bytes[1] = 0x60;
        bytes[7] = IPPROTO_TCP;
        memcpy(bytes + 41, tcp, sizeof tcp);
        return 81;
    }
    bytes[1] = 90;
    bytes[5] = 2;
    bytes[6] = 3;
    bytes[7] = 4;
    bytes[17] = AF_INET;
    return 34;
}
